"""Problems and the programs that solve them on a design."""
