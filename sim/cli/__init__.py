"""The command `cubewave`."""

from .interrupt import quiet_interrupt

with quiet_interrupt():
    from .group import CommandGroup

__all__ = ["main"]

main = CommandGroup(
    "cubewave",
    commands_in=__package__,
    names=("run", "designs", "workloads", "waves", "model", "figures", "flip",
           "export", "fpga"),
    help="Simulate matrix accelerators by the cycle, and see where every cycle went.\n\n"
         "Exit status: 0 all checks hold; 1 a check failed or the run cannot end; 2 bad input, "
         "and nothing was written; 130 interrupted.",
)
