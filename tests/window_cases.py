"""Random loads of convolution windows and the geometry that they need."""

from cubewave.rtl.commands import ADDRESS_BITS, Destination, Load, WindowRegister
from cubewave.rtl.window_format import Windows

__all__ = ["MASK", "configured", "geometry", "random_case"]

R = WindowRegister
MASK = (1 << ADDRESS_BITS) - 1


def geometry(*, height=5, width=6, columns=4, taps=3, runs=1, run_bytes=2, stride=(1, 2),
             dilation=(2, 1), row_pitch=24, pixel_pitch=4, run_pitch=100):
    """Values of all registers, steps back negative."""
    back = (runs - 1) * run_pitch
    right, down = dilation[1] * pixel_pitch, dilation[0] * row_pitch
    return {
        R.HEIGHT: height, R.WIDTH: width, R.PADDING: 7, R.COLUMNS: columns - 1,
        R.COLUMN_X: stride[1], R.COLUMN_ADDRESS: stride[1] * pixel_pitch, R.ROW_Y: stride[0],
        R.ROW_X: -(columns - 1) * stride[1],
        R.ROW_ADDRESS: stride[0] * row_pitch - (columns - 1) * stride[1] * pixel_pitch,
        R.TAPS: taps - 1, R.TAP_X: dilation[1], R.TAP_ADDRESS: right - back,
        R.KERNEL_ROW_Y: dilation[0], R.KERNEL_ROW_X: -(taps - 1) * dilation[1],
        R.KERNEL_ROW_ADDRESS: down - (taps - 1) * right - back, R.RUNS: runs - 1,
        R.RUN_ADDRESS: run_pitch, R.RUN_BYTES: run_bytes}


def configured(values, output_stationary):
    windows = Windows(output_stationary)
    for register, value in values.items():
        windows.configure(Load(Destination.OPERAND, value & MASK, 0, 0, 0, configure=register))
    return windows


def random_case(rng):
    shape = {"height": rng.randint(1, 6), "width": rng.randint(1, 6),
             "columns": rng.randint(1, 4), "taps": rng.randint(1, 3), "runs": rng.randint(1, 3),
             "run_bytes": rng.randint(1, 4), "stride": (rng.randint(1, 3), rng.randint(1, 4)),
             "dilation": (rng.randint(1, 3), rng.randint(1, 2)),
             "row_pitch": rng.randint(1, 50), "pixel_pitch": rng.randint(1, 9),
             "run_pitch": rng.randint(1, 99)}
    segments = rng.randint(1, 4)
    skip = rng.randrange(shape["run_bytes"])
    total = segments * shape["run_bytes"] - skip
    nbytes = rng.randint(max(1, total - shape["run_bytes"] + 1), total)
    load = Load(Destination.OPERAND, rng.randrange(1 << ADDRESS_BITS), rng.randint(1, 7), nbytes,
                0, window=1, segments=segments, y=rng.randint(-4, 4), x=rng.randint(-4, 4),
                column=rng.randrange(shape["columns"]), tap=rng.randrange(shape["taps"]),
                run=rng.randrange(shape["runs"]), skip=skip)
    return shape, load
