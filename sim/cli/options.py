"""What the options of several commands mean, checked before anything runs."""

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

import click

from ...rtl import Design, DesignError
from ..analytic.model import Model
from ..errors import OptionError
from ..ledger import check_energies
from ..simulation import VcdOptions

__all__ = ["Choice", "Number", "check_outputs", "energy_table", "given_parameters",
           "load_design", "pairs", "vcd_options"]

INTEGER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)
PRINTED = ("--json", "--csv")   # options whose file "-" is stdout
CYCLES = re.compile(r"([0-9]{1,15}):([0-9]{1,15})", re.ASCII)


class Choice(click.Choice[str]):
    """One of several words; the refusal names them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            valid = " or ".join(", ".join(self.choices).rsplit(", ", 1))
            raise OptionError(f"{_option(param)} {value}: must be {valid}")
        return str(value)


class Number(click.ParamType):
    """An integer of a range."""

    name = "integer"

    def __init__(self, low: int, high: int):
        self.low, self.high = low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if INTEGER.fullmatch(str(value)) and self.low <= int(value) <= self.high:
            return int(value)
        raise OptionError(f"{_option(param)} {value}: must be an integer from {self.low} to "
                          f"{self.high}")


def _option(param: click.Parameter | None) -> str:
    return "" if param is None else param.opts[0]


def pairs(option: str, what: str, texts: Sequence[str]) -> dict[str, str]:
    """Texts NAME=VALUE of a repeatable option as a dict; a name given twice is refused."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise OptionError(f"{option} {text}: must be {what}=VALUE")
        if name in values:
            raise OptionError(f"{option} {text}: {name} is given twice, before as "
                              f"{name}={values[name]}")
        values[name] = value.strip()
    return values


def load_design(name: str, settings: dict[str, str]) -> Design:
    """A preset or the design in a TOML file, with fields set.

    A preset's name wins over a file of the same name; `./tiny` is the file.
    """
    try:
        if name not in Design.presets() and (name.endswith(".toml") or os.path.exists(name)
                                             or os.path.dirname(name)):
            design = Design.from_toml(name)
        else:
            design = Design.preset(name)
    except DesignError as error:
        hint = "" if str(error).startswith(name) else ", or name a FILE.toml"
        raise DesignError(f"--design {name}: {error}{hint}" if hint else f"{error}") from None
    return design.override(settings)


def vcd_options(path: str | None, depth: str | None, signals: str | None, cycles: str | None
                ) -> VcdOptions | None:
    """The options of a waveform, or None without one."""
    given = {"--vcd-depth": depth, "--vcd-signals": signals, "--vcd-cycles": cycles}
    given = {option: value for option, value in given.items() if value is not None}
    text = " ".join(f"{option} {value}" for option, value in given.items())
    if path is None:
        if given:
            raise OptionError(f"{text}: needs --vcd FILE")
        return None
    window = None
    if cycles is not None:
        match = CYCLES.fullmatch(cycles)
        if match is None or int(match[1]) > int(match[2]):
            raise OptionError(f"--vcd-cycles {cycles}: must be FIRST:LAST, two numbers of cycles "
                              f"with 0 <= FIRST <= LAST")
        window = int(match[1]), int(match[2])
    try:
        return VcdOptions(path, depth or "control", signals, window)
    except OptionError as error:
        raise OptionError(f"{text}: {error}") from None


def given_parameters(model: Model, texts: Sequence[str]) -> dict[str, str]:
    """Texts PARAM=VALUE for an analytic model; a refusal lists the valid parameters."""
    try:
        return pairs("", "PARAM", texts)
    except OptionError as error:
        raise OptionError(f"{str(error).strip()}; valid are {', '.join(model.names)}") from None


def energy_table(energy: bool, energies: str | None) -> str | None:
    """The table of energies that a run asks for, checked, or None without --energy."""
    if not energy:
        if energies is not None:
            raise OptionError(f"--energies {energies}: needs --energy")
        return None
    name = energies or "chapter"
    try:
        check_energies(name)
    except OptionError as error:
        raise OptionError(f"--energies {name}: {error}") from None
    return name


def check_outputs(outputs: dict[str, str | None], inputs: Iterable[str] = ()) -> None:
    """Refuse output files that cannot be written, clash, or are inputs; creates nothing.

    Parameters
    ----------
    outputs : dict of str to (str or None)
        Files by their option; None is no file, nor is "-" with an option of :data:`PRINTED`.
    inputs : iterable of str
        Files that the run reads.
    """
    taken = {os.path.realpath(path): "an input of the same command" for path in inputs}
    for option, path in outputs.items():
        if path is None or path == "-" and option in PRINTED:
            continue
        if path == "-":
            raise OptionError(f"{option} -: must be the name of a file")
        problem = taken.get(os.path.realpath(path)) or _unwritable(path, option.startswith("--vcd"))
        if problem:
            raise OptionError(f"{option} {path}: cannot be written: {problem}")
        taken[os.path.realpath(path)] = f"the file of {option} too"


def _unwritable(path: str, is_read_again: bool) -> str:
    folder = os.path.dirname(path) or "."
    try:
        if os.path.isdir(path) or not os.path.basename(path):
            return "not a file name"
        if os.path.exists(path):
            if is_read_again and not os.path.isfile(path):
                return "not a regular file"
            return "" if os.access(path, os.W_OK) else "no permission"
        if not os.path.isdir(folder):
            return f"there is no folder {folder}"
        return "" if os.access(folder, os.W_OK | os.X_OK) else f"no permission in {folder}"
    except ValueError as error:
        return str(error)
