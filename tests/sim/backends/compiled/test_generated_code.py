# amaranth: UnusedElaboratable=no
"""What is done to the netlist and to the code of CXXRTL."""

from amaranth.hdl import Fragment, Module, Signal
from amaranth.lib import data
from amaranth.sim import Simulator

from cubewave.sim.backends.compiled.pieces import split_signals
from cubewave.sim.backends.compiled.split_eval import split_eval

CODE = """class p_machine {
\tbool eval(performer *performer = nullptr) override;
};
bool p_machine::eval(performer *performer) {
\tbool converged = true;
\tbool posedge_p_clk = this->posedge_p_clk();
\tvalue<3> i_a;
\t// a comment
\tvalue<2> i_b;
STATEMENTS
\tif (x) {
\t\ti_b = i_a;
\t}
\treturn converged;
}
void after() {}
"""


def test_eval_is_cut_into_parts():
    code = split_eval(CODE.replace("STATEMENTS", "\n".join(["\ti_a = p;"] * 200)))
    first, second = (code.split(f"p_machine::eval_{number}(")[1].split("\n}")[0]
                     for number in range(2))
    assert "\tauto &i_a = shared.i_a;" in first and "i_b" not in first
    assert "\tvalue<2> i_b;" in second and "\tif (x) {\n\t\ti_b = i_a;\n\t}" in second
    assert code.count("i_a = p;") == 200 and code.endswith("\nvoid after() {}\n")


def test_fields_that_depend_on_each_other_become_signals():
    m, a = Module(), Signal(4)
    fields = Signal(data.StructLayout({"low": 2, "gap": 1, "high": 3}))
    m.d.comb += [fields.low.eq(a), fields.high.eq(fields.low + 1)]
    fragment = Fragment.get(m, None)
    split_signals(fragment)
    assert not any(fields.as_value() in statement.rhs._rhs_signals()
                   for statement in fragment.statements["comb"])
    simulator = Simulator(fragment)

    async def bench(ctx):
        for value in range(16):
            ctx.set(a, value)
            assert ctx.get(fields.as_value()) == (value & 3) | (value & 3) + 1 << 3

    simulator.add_testbench(bench)
    simulator.run()
