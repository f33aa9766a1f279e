"""A top with four pins around a component, for place and route."""

from collections.abc import Sequence

from ..export.parts import Port

__all__ = ["INSTANCE", "TOP", "harness_text"]

TOP = "harness"
INSTANCE = "dut"   # of the component in it
FAN_IN = 4         # bits that a register of the tree combines

_TEXT = """\
(* blackbox *)
module {module} (
{declarations}
);
endmodule

module {top} (input clk, input rst, input data_in, output data_out);
  reg [{last_input}:0] inputs;
  wire [{last_output}:0] outputs;
{registers}
  {module} {instance} (
{connections}
  );
  always @(posedge clk) begin
    inputs <= {shifted};
{steps}
  end
  assign data_out = {result};
endmodule
"""


def harness_text(module: str, clocking: Sequence[str], ports: Sequence[Port]) -> str:
    """Verilog of a module whose few pins reach every port of `module`.

    The inputs come from a shift register. Every output is registered; a tree of exclusive-ors,
    with registers at each level, makes one bit of them. So all paths begin and end in
    registers, and none of the component can be left out.

    Parameters
    ----------
    module : str
    clocking : sequence of str
        Which of clk and rst it has.
    ports : sequence of Port
    """
    connections = [f"    .{name}({name})" for name in clocking]
    declarations = [f"  input {name}" for name in clocking]
    lows = {True: 0, False: 0}
    for port in ports:
        low, high = lows[port.is_input], lows[port.is_input] + len(port.signal)
        lows[port.is_input] = high
        vector = "inputs" if port.is_input else "outputs"
        declarations.append(f"  {vector[:-1]} [{high - low - 1}:0] {port.name}")
        connections.append(f"    .{port.name}({vector}[{high - 1}:{low}])")
    inputs, outputs = max(lows[True], 1), max(lows[False], 1)
    names, widths = ["outputs"], [outputs]
    registers: list[str] = []
    steps: list[str] = []
    while not registers or widths[-1] > 1:
        level = len(registers)
        # The first level only catches the outputs.
        width = outputs if level == 0 else -(-widths[-1] // FAN_IN)
        name = f"level_{level}"
        registers.append(f"  reg [{width - 1}:0] {name};")
        if level == 0:
            steps.append(f"    {name} <= {names[-1]};")
        else:
            steps += [f"    {name}[{place}] <= ^{names[-1]}[{FAN_IN * place}"
                      f" +: {min(FAN_IN, widths[-1] - FAN_IN * place)}];"
                      for place in range(width)]
        names.append(name)
        widths.append(width)
    return _TEXT.format(
        top=TOP, module=module, instance=INSTANCE, last_input=inputs - 1,
        last_output=outputs - 1, connections=",\n".join(connections),
        declarations=",\n".join(declarations),
        shifted=f"{{inputs[{inputs - 2}:0], data_in}}" if inputs > 1 else "data_in",
        registers="\n".join(registers), steps="\n".join(steps), result=names[-1])
