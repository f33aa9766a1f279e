"""`python -m cubewave.sim.cli`."""

from . import main

if __name__ == "__main__":
    main(prog_name="cubewave")
