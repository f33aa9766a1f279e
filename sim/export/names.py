"""Names that Verilog takes without escapes."""

import re
from collections.abc import Container

__all__ = ["KEYWORDS", "safe_name", "tidy_names", "unused_name"]

#: Keywords of IEEE 1364-2005 and of IEEE 1800-2023.
KEYWORDS = frozenset("""
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
    before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
    checker class clocking cmos config const constraint context continue cover covergroup
    coverpoint cross deassign default defparam design disable dist do edge else end endcase
    endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface
    endmodule endpackage endprimitive endprogram endproperty endspecify endsequence endtable
    endtask enum event eventually expect export extends extern final first_match for force
    foreach forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone
    ignore_bins illegal_bins implements implies import incdir include initial inout input inside
    instance int integer interconnect interface intersect join join_any join_none large let
    liblist library local localparam logic longint macromodule matches medium modport module nand
    negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 null or output package
    packed parameter pmos posedge primitive priority program property protected pull0 pull1
    pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence
    rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran
    rtranif0 rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence
    shortint shortreal showcancelled signed small soft solve specify specparam static string strong
    strong0 strong1 struct super supply0 supply1 sync_accept_on sync_reject_on table tagged task
    this throughout time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior
    trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var
    vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within
    wor xnor xor
    """.split())

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PUBLIC = re.compile(r"\\(\S+)")
_MEMORY = re.compile(r'(?<=parameter \\MEMID "\\\\)([^"]+)')


def safe_name(name: str) -> str:
    """A plain identifier: a keyword gets the ending `_signal`, other characters become `_`."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", re.sub(r"\$\d+$", "", name))
    if not _IDENTIFIER.fullmatch(name):
        name = f"n_{name}"
    return f"{name}_signal" if name in KEYWORDS else name


def unused_name(name: str, taken: Container[str]) -> str:
    """The name, or the first of name_2, name_3, ... that is not taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def tidy_names(rtlil: str) -> str:
    """RTLIL text of a module in which every public name of a wire, memory or cell is plain.

    Amaranth numbers names that several signals have (`row$12`), and joins those of a field with
    a dot.
    """
    declared = [match[1] for match in re.finditer(
        r"^  (?:wire|memory|cell) .*\\(\S+)$", rtlil, re.MULTILINE)]
    taken = {name for name in declared if safe_name(name) == name}
    renamed = {}
    for name in declared:
        if name not in taken and name not in renamed:
            renamed[name] = unused_name(safe_name(name), taken)
            taken.add(renamed[name])
    rtlil = _PUBLIC.sub(lambda match: "\\" + renamed.get(match[1], match[1]), rtlil)
    return _MEMORY.sub(lambda match: renamed.get(match[1], match[1]), rtlil)
