"""Commands as the integers that program memories hold."""

from amaranth.hdl import Shape

from ...rtl.commands import Load

__all__ = ["pack_commands"]


def pack_commands(layout, commands):
    """Pack named tuples into integers by a layout whose fields have the tuples' order.

    The shape of a load with `keep_shape` is left out: hardware must not look at it.
    """
    fields = [(field.offset, Shape.cast(field.shape)) for _name, field in layout]
    packed = []
    for command in commands:
        if isinstance(command, Load) and command.keep_shape:
            command = command._replace(rows=0, bytes_per_row=0, row_stride=0)
        word = 0
        for (offset, shape), value in zip(fields, command):
            value = getattr(value, "value", value)
            if value >> shape.width - shape.signed not in (0, -shape.signed):
                raise ValueError(f"{command} does not fit its layout")
            word |= (value & (1 << shape.width) - 1) << offset
        packed.append(word)
    return packed
