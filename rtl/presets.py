"""The named designs: every field of each with where its value comes from.

"4.4.2" and the like are sections of the textbook chapter whose systems the presets model; "our
choice" means that the source says nothing. The array takes integers so far: where the machine
computes in FP16, 16-bit integers stand in for it, so that bytes and cycles are the machine's.
"""

from fractions import Fraction
from typing import NamedTuple

__all__ = ["PRESETS", "Preset"]

Value = int | str | bool | Fraction
OURS = "our choice"


class Preset(NamedTuple):
    """One line about a design, and of each field its value and the source of the value."""

    summary: str
    fields: dict[str, tuple[Value, str]]

    def values(self) -> dict[str, Value]:
        return {name: value for name, (value, _) in self.fields.items()}

    def derive(self, summary: str, **changes: tuple[Value, str]) -> "Preset":
        """The same design with some fields changed, each given with its source."""
        return Preset(summary, {**self.fields, **changes})


TINY = Preset(
    "4x4, int8: small enough to read every register in a waveform",
    {
        "rows": (4, OURS),
        "cols": (4, OURS),
        "dataflow": ("weight_stationary", OURS),
        "activation_bits": (8, OURS),
        "weight_bits": (8, OURS),
        "accumulator_bits": (32, OURS),
        # The sticky overflow flag reports a wrap, and wrapped sums do not depend on the K order.
        "accumulator_overflow": ("wrap", OURS),
        "weight_double_buffer": (True, OURS),
        "mac_latency": (1, OURS),
        "weight_fifo_depth": (4, "our choice: enough for a tile interval of max(M, rows)"),
        "input_slots": (4, "our choice: enough for a tile interval of max(M, rows)"),
        "slot_bytes": (1024, OURS),
        "accumulator_banks": (2, "our choice: one drains while the other fills"),
        "accumulator_rows": (256, OURS),
        "memory_bytes_per_cycle": (16, OURS),
        "memory_latency_cycles": (2, OURS),
        "memory_outstanding": (16, OURS),
        "memory_transaction_bytes": (64, OURS),
        "buffer_port_rows": (1, OURS),
        "lanes": (4, OURS),
        "sfu_lanes": (1, OURS),
        "vector_units": (1, OURS),
        "vector_schedule": ("sequential", "4.4.3: the phases follow each other"),
        "handoff": ("direct", OURS),
        "handoff_bytes_per_cycle": (16, "our choice: one accumulator row per cycle"),
        "handoff_slots": (2, "4.4.3: two groups in flight hide the hand-off"),
        "score_bits": (32, "4.4.3: scores of 4 bytes"),
        "probability_bits": (16, "4.4.3: probabilities of 2 bytes"),
        "im2col_line_buffer": (True, "4.6.2: windows are formed while data moves"),
        "clock_hz": (100_000_000, OURS),
    },
)

EDGE = TINY.derive(
    "16x16, int8: the size of a small edge accelerator",
    rows=(16, OURS),
    cols=(16, OURS),
    slot_bytes=(4096, OURS),
    memory_bytes_per_cycle=(64, OURS),
    memory_latency_cycles=(20, OURS),
    memory_outstanding=(32, OURS),
    lanes=(16, OURS),
    sfu_lanes=(4, OURS),
    handoff_bytes_per_cycle=(64, "our choice: one accumulator row per cycle"),
    clock_hz=(500_000_000, OURS),
)

CHAPTER = TINY.derive(
    "8x8, int8: the tick tables of 4.4.2 and 4.4.3 at an eighth of the array's side",
    rows=(8, "4.4.2 scaled: four blocks of M = N = 16, K = 32 compute for 128 ticks each"),
    cols=(8, "4.4.2 scaled; 16 is the doubled matrix rate"),
    weight_fifo_depth=(32, "4.4.3 scaled: the 16 + 16 weight tiles of 128 keys, head dimension 8"),
    slot_bytes=(8192, OURS),
    accumulator_rows=(512, "4.4.3 scaled: the scores of 32 rows and 128 keys"),
    memory_bytes_per_cycle=(16, "4.4.2 scaled: a block of 1024 bytes transfers in 64 ticks"),
    memory_latency_cycles=(128, "4.4.2: the extra wait after the transfer"),
    memory_outstanding=(64, "our choice: never the limit of a block"),
    buffer_port_rows=(2, "our choice: the write port is never slower than the channel"),
    lanes=(32, "4.4.3 scaled: softmax of 8 rows of 128 keys in 96 + 32 + 256 + 256 ticks"),
    sfu_lanes=(4, "4.4.3 scaled, as lanes"),
    handoff_bytes_per_cycle=(32, "4.4.3 scaled: the scores of 8 rows in 128 ticks"),
    handoff_slots=(4, "4.4.3: the largest number of the table"),
    clock_hz=(1_000_000_000, "our choice: the chapter counts ticks, here of 1 ns"),
)

B200_SM = CHAPTER.derive(
    "64x64, int8: one B200 SM as 4.4 describes it, 8192 operations per cycle",
    rows=(64, "4.4.2: 8192 operations per tick are 4096 MACs"),
    cols=(64, "4.4.2, as rows; 128 is the doubled matrix rate"),
    weight_fifo_depth=(8, "4.4.3: the 4 + 4 weight tiles of 128 keys, head dimension 128"),
    slot_bytes=(16384, "4.4.2: 16 KiB per input slot"),
    accumulator_rows=(256, "4.6.1: a tile of 128 x 128 FP32 sums is 64 KiB, here one bank"),
    memory_bytes_per_cycle=(256, "4.4.2: 256 bytes per tick"),
    memory_outstanding=(256, "our choice: never the limit of a block"),
    memory_transaction_bytes=(256, "our choice: one transaction per tick"),
    buffer_port_rows=(4, "our choice: 256 bytes per tick, as the channel"),
    lanes=(128, "4.4.3: 128 ordinary operations per tick"),
    sfu_lanes=(16, "4.2.3: 16 exponentials per tick"),
    handoff_bytes_per_cycle=(128, "4.4.3: 128 bytes per tick"),
)

TPU_V1 = TINY.derive(
    "256x256, int8: the matrix unit of TPU v1 with its Unified Buffer",
    rows=(256, "4.1.3: array side"),
    cols=(256, "4.1.3: array side"),
    activation_bits=(8, "4.7.1"),
    weight_bits=(8, "4.7.1"),
    weight_fifo_depth=(4, "4.7.1: four tiles of 64 KiB"),
    input_slots=(24, "4.1.3: the 24 MiB Unified Buffer as 24 slots (the split is our choice)"),
    slot_bytes=(1 << 20, "4.1.3, as input_slots"),
    accumulator_rows=(2048, "4.1.3: 4 MiB are 4096 rows of 256 sums of 32 bits, in two banks"),
    memory_bytes_per_cycle=(Fraction(340, 7), "34 GB/s at 700 MHz, from the published TPU paper"),
    memory_latency_cycles=(100, OURS),
    memory_outstanding=(256, "our choice: 64 bytes each, above bandwidth times latency"),
    lanes=(256, "our choice: TPU v1 activates a row of 256 sums per cycle"),
    sfu_lanes=(16, OURS),
    handoff_bytes_per_cycle=(1024, "our choice: one accumulator row per cycle"),
    clock_hz=(700_000_000, "700 MHz, from the published TPU paper"),
)

ASCEND_910 = TINY.derive(
    "64x64, 16 bits: one Ascend 910 core, its 16x16x16 cube of 4096 MACs unrolled flat",
    rows=(64, "4.6.2: the 16x16x16 cube does 4096 MACs per cycle"),
    cols=(64, "4.6.2, as rows"),
    activation_bits=(16, "4.6.2: FP16 operands; integers of the same size stand in"),
    weight_bits=(16, "4.6.2, as activation_bits"),
    accumulator_bits=(32, "4.6.2: FP32 sums; integers of the same size stand in"),
    weight_fifo_depth=(8, "our choice: 64 KiB of weights"),
    slot_bytes=(16384, "our choice: 64 KiB in four slots"),
    accumulator_rows=(512, "our choice: 256 KiB of sums in two banks"),
    memory_bytes_per_cycle=(94, "4.6.2: 94 GB/s per core of the shared cache, at 1 GHz"),
    memory_latency_cycles=(200, OURS),
    memory_outstanding=(256, "our choice: 128 bytes each, above bandwidth times latency"),
    memory_transaction_bytes=(128, OURS),
    lanes=(128, "4.6.2: a vector of 256 bytes is 128 elements of 16 bits"),
    sfu_lanes=(16, "4.6.2: 256 exponential groups of an attention block in 1024 cycles"),
    handoff=("staged", "4.6.2: matrix and vector unit meet through the outer interface"),
    handoff_bytes_per_cycle=(94, "4.6.2: 94 GB/s of the outer interface, at 1 GHz"),
    clock_hz=(1_000_000_000, "1 GHz: 94 GB/s is then 94 bytes per cycle"),
)

ASCEND_950 = ASCEND_910.derive(
    "64x64, 16 bits: one Ascend 950 core, with a direct path and two vector units (4.6.2)",
    vector_units=(2, "4.6.2: two vector units beside one cube, which double the vector rate"),
    handoff=("direct", "4.6.2: a private path between matrix and vector unit"),
    handoff_bytes_per_cycle=(256, "4.6.2: 256 KiB in 1.024 us are 256 bytes per cycle at 1 GHz"),
)

PRESETS = {
    "tiny": TINY,
    "edge": EDGE,
    "chapter": CHAPTER,
    "b200-sm": B200_SM,
    "tpu-v1": TPU_V1,
    "ascend-910": ASCEND_910,
    "ascend-950": ASCEND_950,
}
