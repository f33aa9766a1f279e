"""Broken copies of components: a proof that finds nothing wrong in them would prove nothing."""

import importlib
import inspect
from types import ModuleType

from proofs.prover import bounded_check

__all__ = ["assert_caught", "broken"]


def broken(component, text, replacement):
    """The class `component` from a copy of its file in which `text` is replaced.

    The text must occur once, so that a change of the file cannot leave a copy unbroken.
    """
    module = importlib.import_module(component.__module__)
    source = inspect.getsource(module)
    if source.count(text) != 1:
        raise ValueError(f"{source.count(text)} times in {module.__file__}: {text}")
    copy = ModuleType(module.__name__)
    copy.__package__ = module.__package__
    exec(compile(source.replace(text, replacement), module.__file__, "exec"), copy.__dict__)
    return getattr(copy, component.__name__)


def assert_caught(spec, cycles, sentence):
    """In a broken copy that sentence is wrong within so many cycles from reset."""
    failure = bounded_check(spec, cycles, only=sentence)
    assert failure is not None, "the planted bug is not found"
    assert failure.kind == "reset", str(failure)
