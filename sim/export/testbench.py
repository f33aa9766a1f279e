"""Writes a recording as a Verilog test bench that checks itself."""

from collections.abc import Iterator

from .recording import Recording

__all__ = ["stimulus_text", "bench_text"]

_TEXT = """\
// Test bench of {top}: applies the inputs of {cycles} recorded cycles and compares
// every output in every cycle. {what}
// Prints PASS, or FAIL with the first differences. Words of the stimulus: the inputs, above them
// the expected outputs. +stimulus=FILE and +cycles=N choose another recording of at most as many
// cycles.
`timescale 1ns / 1ps

module {top}_tb;
  localparam CYCLES = {cycles};
  localparam SHOWN = 10;  // differences
  reg clk, rst;
  reg [{last_input}:0] inputs;
  wire [{last_output}:0] outputs;
  reg [{last_output}:0] expected;
  reg [{last_bit}:0] words [0:CYCLES - 1];
  reg [8191:0] stimulus;
  integer cycles, cycle, errors;

  {top} dut (
{connections}
  );

  initial begin
    if (!$value$plusargs("stimulus=%s", stimulus)) stimulus = "{stimulus}";
    if (!$value$plusargs("cycles=%d", cycles)) cycles = CYCLES;
    $readmemh(stimulus, words, 0, cycles - 1);
    errors = 0;
    clk = 0;
    rst = 1;
    inputs = 0;
    #5 clk = 1;
    #5 clk = 0;
    rst = 0;
    for (cycle = 0; cycle < cycles; cycle = cycle + 1) begin
      {{expected, inputs}} = words[cycle];
      #5;
      if (outputs !== expected) begin
        errors = errors + 1;
        if (errors <= SHOWN) show;
      end
      clk = 1;
      #5 clk = 0;
    end
    if (errors == 0) $display("PASS: %0d cycles", cycles);
    else $display("FAIL: outputs differ in %0d of %0d cycles", errors, cycles);
    $finish;
  end

  task show;
    begin
{differences}
    end
  endtask
endmodule
"""


def bench_text(recording: Recording, top: str, clocking: list[str], stimulus: str, what: str
                   ) -> str:
    """The test bench.

    Parameters
    ----------
    recording : Recording
    top : str
        Module.
    clocking : list of str
        Which of clk and rst it has.
    stimulus : str
        Name of the file of :func:`stimulus_text`, for a simulator started in its folder.
    what : str
        A sentence about the recorded run.
    """
    connections = [f"    .{name}({name})" for name in clocking]
    differences = []
    lows = {True: 0, False: 0}
    for column in recording.columns:
        low = lows[column.is_input]
        lows[column.is_input] += column.bits
        bits = f"[{low + column.bits - 1}:{low}]"
        vector = "inputs" if column.is_input else "outputs"
        connections.append(f"    .{column.name}({vector}{bits})")
        if not column.is_input:
            differences.append(
                f"      if (outputs{bits} !== expected{bits}) $display(\"cycle %0d: {column.name} "
                f"is %h, expected %h\", cycle, outputs{bits}, expected{bits});")
    # A component without inputs or without outputs still has a vector of one bit for them.
    inputs, outputs = max(lows[True], 1), max(lows[False], 1)
    return _TEXT.format(
        top=top, cycles=len(recording.cycles), what=what, last_input=inputs - 1,
        last_output=outputs - 1, last_bit=inputs + outputs - 1, stimulus=stimulus,
        connections=",\n".join(connections), differences="\n".join(differences))


def stimulus_text(recording: Recording) -> Iterator[str]:
    """Lines for `$readmemh`, one a cycle."""
    inputs = [place for place, column in enumerate(recording.columns) if column.is_input]
    outputs = [place for place, column in enumerate(recording.columns) if not column.is_input]
    order = [(place, recording.columns[place].bits) for place in inputs]
    order += [(place, recording.columns[place].bits) for place in outputs]
    if not inputs:
        order.insert(0, (-1, 1))
    digits = -(-sum(bits for _place, bits in order) // 4)
    for values in recording.cycles:
        word = low = 0
        for place, bits in order:
            word |= (values[place] if place >= 0 else 0) << low
            low += bits
        yield f"{word:0{digits}x}\n"
