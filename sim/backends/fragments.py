"""Walks an elaborated design."""

__all__ = ["fragments"]


def fragments(fragment):
    """A fragment and all that it contains, the outer ones first."""
    yield fragment
    for subfragment, _name, _src_loc in fragment.subfragments:
        yield from fragments(subfragment)
