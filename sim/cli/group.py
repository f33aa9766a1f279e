"""The group of commands, with one line and one exit status for each kind of end."""

import errno
import importlib
import importlib.metadata
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from ...rtl import DesignError
from ...rtl.design_fields import unknown_name
from ...workloads import WorkloadError
from ..errors import DeadlockError, OptionError
from .interrupt import INTERRUPTED, drop_unused

__all__ = ["BAD_INPUT", "FAILED", "CommandGroup"]

FAILED = 1         # a check, or a deadlock
BAD_INPUT = 2


def _fail(message: str) -> None:
    """One line on stderr."""
    click.echo(f"error: {' '.join(message.split())}", err=True)


class CommandGroup(click.Group):
    """Commands that live in one module each, as its `command`.

    Parameters
    ----------
    commands_in : str
        Package of the modules.
    names : sequence of str
        Modules, which are the commands' names too.
    """

    def __init__(self, name: str, *, commands_in: str, names: Sequence[str], **settings: Any):
        super().__init__(name, context_settings={"help_option_names": ["-h", "--help"]},
                         **settings)
        self._package, self._names = commands_in, tuple(names)
        self.params.append(click.Option(
            ["--version"], is_flag=True, expose_value=False, is_eager=True,
            callback=_print_version, help="Show the version and exit."))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._names:
            return None
        command = importlib.import_module(f"{self._package}.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._names and not args[0].startswith("-"):
            raise click.UsageError(unknown_name("command", args[0], self._names), ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _refuse_repeats(command, rest, ctx)
        return name, command, rest

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None,
             complete_var: str | None = None, standalone_mode: bool = True,
             windows_expand_args: bool = True, **extra: Any) -> Any:
        """Run a command and exit with its status."""
        _check_streams()
        try:
            status = super().main(args, prog_name or "cubewave", complete_var,
                                  standalone_mode=False,
                                  windows_expand_args=windows_expand_args, **extra)
            sys.stdout.flush()
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.ctx.get_help() if error.ctx else "")
            status = 0
        except click.ClickException as error:
            _fail(_usage_message(error))
            status = BAD_INPUT
        except (DesignError, WorkloadError, OptionError) as error:
            _fail(str(error))
            status = BAD_INPUT
        except MemoryError:
            _fail("this host has too little memory for the workload; choose smaller sizes")
            status = BAD_INPUT
        except DeadlockError as error:
            _fail(str(error))
            status = FAILED
        except (click.Abort, KeyboardInterrupt):
            drop_unused()
            click.echo("interrupted", err=True)
            status = INTERRUPTED
        except OSError as error:  # a full disk, or nobody reads stdout any more
            _drop_stdout()
            if error.errno == errno.EPIPE:
                status = FAILED
            else:
                _fail(f"{error.filename or 'output'}: cannot be written: {error.strerror}")
                status = BAD_INPUT
        sys.exit(status)


def _check_streams() -> None:
    """Refuse a closed stdout, on which every command writes; a closed stderr drops messages."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    if sys.stdout is None:
        _fail("stdout is closed; to drop the output send it to /dev/null")
        sys.exit(BAD_INPUT)


def _refuse_repeats(command: click.Command, args: Sequence[str], parent: click.Context) -> None:
    """Refuse an option of one value that is given twice, for one of them would be ignored."""
    context = click.Context(command, parent)
    try:
        _values, _rest, order = command.make_parser(context).parse_args(list(args))
    except click.UsageError:   # the command itself says so
        return
    single = [parameter.opts[-1] for parameter in order if isinstance(parameter, click.Option)
              and not parameter.multiple and not parameter.is_flag]
    for option in single:
        if single.count(option) > 1:
            raise OptionError(f"{option}: given more than once, but it takes one value")


def _drop_stdout() -> None:
    """Let what stdout still holds go nowhere, or Python would complain once more at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # not a file of the system
        pass
    finally:
        os.close(nowhere)


def _print_version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"cubewave {importlib.metadata.version('cubewave')}")
        ctx.exit()


def _usage_message(error: click.ClickException) -> str:
    """One line about a wrong command line, with the nearest option that exists."""
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        options = [name for parameter in error.ctx.command.get_params(error.ctx)
                   for name in parameter.opts if name.startswith("-")]
        return (unknown_name(f"option of {error.ctx.command_path}", error.option_name, options)
                + f"; valid are {', '.join(options)}")
    return error.format_message()
