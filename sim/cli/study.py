"""`cubewave run WORKLOAD --study NAME`: a study of the chapter instead of one run."""

import json
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from .. import study_im2col
from ..backends.choice import Backend
from ..errors import OptionError
from ..report import differing
from ..report_im2col import print_im2col
from ..report_study import print_study
from ..study import DESIGNS, STUDIES, cases, run_case, study_document
from .group import FAILED, INTERRUPTED
from .options import check_outputs
from .output import output_console
from .progress import RunProgress

__all__ = ["run_study"]

LEVELS = ("rtl", "cycle")
OPTIONS = {"workload": "", "study": "--study", "design": "--design", "level": "--level",
           "backend": "--backend", "mesh": "--mesh", "rebuild": "--rebuild",
           "json_path": "--json"}


@dataclass(frozen=True)
class _Parts:
    """What a study consists of: its designs, rows, report and JSON; and its level by default."""
    designs: Collection[str]
    cases: Callable[[str], Iterable[Any]]
    run_case: Callable[..., Any]
    report: Callable[..., None]
    document: Callable[[str, Iterable[Any]], dict[str, Any]]
    level: str = "rtl"


def _chapter(study: str) -> _Parts:
    """One of the two studies of `sim/study.py`."""
    return _Parts(DESIGNS, partial(cases, study), run_case,
                  lambda console, *rest: print_study(console, study, *rest),
                  partial(study_document, study))


PARTS = {
    **{study: _chapter(study) for study in ("handoff", "slots")},
    "im2col": _Parts(study_im2col.DESIGNS, study_im2col.cases, study_im2col.run_case,
                     print_im2col, study_im2col.study_document, "cycle"),
}


def run_study(context: click.Context, options: dict[str, Any], backend: Backend) -> int:
    """Check the command line, run every row, report; the exit status."""
    study, json_path = options["study"], options["json_path"]
    parts = PARTS[study]
    level = options["level"]
    if context.get_parameter_source("level") is ParameterSource.DEFAULT:
        level = parts.level
    design_name = _check(context, {**options, "level": level})
    rows: list[Any] = []
    total = list(parts.cases(design_name))
    for number, case in enumerate(total, start=1):
        progress = RunProgress(f"row {number} of {len(total)}: {case.name}",
                               "building the core" if level == "rtl" else "")
        try:
            with progress:
                rows.append(parts.run_case(case, level, backend, progress))
        except KeyboardInterrupt:
            click.echo(f"interrupted in row {number} of {len(total)}, {case.name}", err=True)
            return INTERRUPTED
    text = json.dumps(parts.document(design_name, rows), indent=2) + "\n"
    if json_path == "-":
        sys.stdout.write(text)
    else:
        files = {}
        if json_path is not None:
            with open(json_path, "w", encoding="utf-8") as file:
                file.write(text)
            files["json"] = json_path
        with output_console() as console:
            parts.report(console, design_name, rows, files)
    failed = [check for row in rows for check in row.checks if not check["ok"]]
    for check in failed:
        expected, actual = differing(check)
        click.echo(f"check {check['name']} failed: expected {expected}, actual {actual}",
                   err=True)
    return FAILED if failed else 0


def _check(context: click.Context, options: dict[str, Any]) -> str:
    """Refuse what a study has no use for; the name of its design."""
    study, level = options["study"], options["level"]
    workload, designs = STUDIES[study], PARTS[study].designs
    if options["workload"] != workload:
        raise OptionError(f"--study {study}: needs workload {workload}, not "
                          f"{options['workload']}")
    for parameter in context.command.params:
        name = str(parameter.name)
        if (name not in OPTIONS and context.get_parameter_source(name)
                is not ParameterSource.DEFAULT):
            raise OptionError(f"{parameter.opts[0]}: not with --study, which fixes workload and "
                              f"machine; possible are {', '.join(filter(None, OPTIONS.values()))}")
    if level not in LEVELS:
        raise OptionError(f"--study {study}: needs --level {' or '.join(LEVELS)}, not {level}")
    for name in ("backend", "mesh", "rebuild"):
        if (level != "rtl" and context.get_parameter_source(name)
                is not ParameterSource.DEFAULT):
            raise OptionError(f"--{name}: needs --level rtl, not {level}")
    check_outputs({"--json": options["json_path"]})
    if context.get_parameter_source("design") is ParameterSource.DEFAULT:
        return next(iter(designs))
    if options["design"] not in designs:
        raise OptionError(f"--design {options['design']}: --study needs "
                          f"{' or '.join(designs)}")
    return str(options["design"])
