"""`cubewave waves`: open a waveform in GTKWave."""

import os

import click

from ..errors import OptionError
from .options import check_outputs

__all__ = ["command"]


@click.command("waves", short_help="Open a waveform in GTKWave.")
@click.argument("file", metavar="FILE.vcd")
def command(file: str) -> None:
    """Write the save file of a waveform and open it in GTKWave, where there is one.

    The save file, FILE.gtkw, has groups for each unit, colours and markers at phases.
    """
    _check(file)
    from ..waves import open_waves, write_gtkw
    save_file = write_gtkw(file)
    click.echo(f"save file  {save_file}")
    if not open_waves(file):
        click.echo(f"GTKWave could not be started here; where it can: gtkwave {save_file}")


def _check(file: str) -> None:
    """Refuse what is not a readable VCD."""
    if os.path.exists(file) and not (os.path.isfile(file) or os.path.isdir(file)):
        raise OptionError(f"{file}: not a regular file; expected a .vcd file")
    try:
        with open(file, "rb") as stream:
            start = stream.read(4096)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise OptionError(f"{file}: cannot be read: {reason}; expected a .vcd file") from None
    if not start.lstrip().startswith(b"$"):
        raise OptionError(f"{file}: not a VCD; expected a .vcd file as `cubewave run --vcd` "
                          f"writes it")
    save_file = os.path.splitext(file)[0] + ".gtkw"
    check_outputs({"the save file": save_file}, inputs=[file])
