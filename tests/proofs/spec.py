"""What a proof says of a component: the shape of every `...Spec` in this folder."""

from amaranth import ClockDomain, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import wiring

__all__ = ["Spec"]


class Spec(Elaboratable):
    """A component among free inputs, and sentences about it.

    All inputs of the component that :meth:`describe` does not drive may have any value in any
    cycle, within the assumptions. Time begins at reset, which never comes again.

    Parameters
    ----------
    dut : Component

    Attributes
    ----------
    claims, assumptions, covers : dict of str to Signal
        Sentences, with the signal that is 1 while they hold. A claim must always hold; the prover
        looks at runs in which every assumption always holds; a cover must hold in some cycle of
        some such run, which shows that the assumptions leave it possible.
    probes : dict of str to Signal
        Signals inside the component, by their names in the design: "dut.head".
    inputs : list of Signal
        Further free inputs.
    """

    def __init__(self, dut):
        self.dut = dut
        self.claims, self.assumptions, self.covers = {}, {}, {}
        self.probes, self.inputs = {}, []
        self._clock = ClockDomain("sync", reset_less=True)

    def describe(self, m):
        """Add the sentences to the module `m`; for subclasses."""
        raise NotImplementedError

    def elaborate(self, platform):
        m = Module()
        m.domains += self._clock
        m.submodules.dut = self.dut
        self.describe(m)
        return m

    def claim(self, m, sentence, condition):
        self._say(m, self.claims, "claim", sentence, condition)

    def assume(self, m, sentence, condition):
        self._say(m, self.assumptions, "assumption", sentence, condition)

    def cover(self, m, sentence, condition):
        self._say(m, self.covers, "cover", sentence, condition)

    def _say(self, m, sentences, kind, sentence, condition):
        if sentence in sentences:
            raise ValueError(f"said twice: {sentence}")
        sentences[sentence] = signal = Signal(name=f"{kind}_{len(sentences)}")
        m.d.comb += signal.eq(Value.cast(condition).any())

    def free(self, shape, name):
        """A signal that may have any value in any cycle."""
        self.inputs.append(signal := Signal(shape, name=name))
        return signal

    def chosen(self, m, shape, name):
        """A signal that may have any value, the same in all cycles."""
        begins = Signal(name=f"{name}_begins", init=1)
        kept = Signal(shape, name=f"{name}_kept")
        value = Signal(shape, name=name)
        m.d.comb += value.eq(Mux(begins, self.free(shape, f"{name}_free"), kept))
        m.d.sync += [kept.eq(value), begins.eq(0)]
        return value

    def before(self, m, signal, name):
        """What `signal` was in the cycle before; its initial value in the first one."""
        was = Signal.like(signal, name=name)
        m.d.sync += was.eq(signal)
        return was

    def probe(self, path, shape):
        """The signal inside the component that the design calls `path`."""
        if path not in self.probes:
            self.probes[path] = Signal(shape, name=f"probe_{len(self.probes)}")
        return self.probes[path]

    @property
    def ports(self):
        """All signals that the prover drives or looks at; known after elaboration."""
        members = [Value.cast(member) for _, _, member in
                   wiring.Signature(self.dut.signature.members).flatten(self.dut)]
        said = [*self.claims.values(), *self.assumptions.values(), *self.covers.values()]
        members = [member for member in members if isinstance(member, Signal)]  # no constants
        return [self._clock.clk, *members, *self.inputs, *self.probes.values(), *said]
