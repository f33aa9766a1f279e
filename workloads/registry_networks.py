"""The entries of the registry that are more than one product."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..rtl.design_fields import ChoiceField, FieldSpec
from .errors import WorkloadError
from .moe import MoE
from .network import Network
from .parameters import Parameter, WorkloadSpec, integer, option_text
from .qwen3 import PHASES, SCOPES, Qwen3
from .resnet50 import IM2COL_LAYERS, ResNet50
from .split_k import REDUCTIONS, SplitK
from .topology import EXAMPLE, parse_topology, read_text

__all__ = ["NETWORKS", "TopologyFile"]

Options = Mapping[str, str]
Values = dict[str, Any]


@dataclass(frozen=True)
class TopologyFile(FieldSpec):
    """A topology file of SCALE-Sim; the value is its text."""

    @property
    def range(self) -> str:
        return "a .csv file"

    def check(self, value: Any) -> str:
        return read_text(value)


def _topology(options: Options, values: Values, seed: int | None) -> Network:
    if "file" not in options:
        return parse_topology(EXAMPLE, seed or 0, values["im2col"])
    try:
        return parse_topology(values["file"], seed or 0, values["im2col"])
    except WorkloadError as error:
        raise WorkloadError(f"{option_text(options, ['file'])}: {error}") from None


def _resnet_50(options: Options, values: Values, seed: int | None) -> Network:
    return ResNet50(**values, seed=seed or 0)


def _moe(options: Options, values: Values, seed: int | None) -> MoE:
    try:
        return MoE(**values, seed=seed or 0)
    except WorkloadError as error:
        raise WorkloadError(f"{option_text(options, options)}: {error}") from None


def _split_k(options: Options, values: Values, seed: int | None) -> SplitK:
    try:
        return SplitK(**values, seed=seed or 0)
    except WorkloadError as error:
        raise WorkloadError(f"{option_text(options, options)}: {error}") from None


def _qwen3_8b(options: Options, values: Values, seed: int | None) -> Qwen3:
    try:
        return Qwen3(**values, seed=seed or 0)
    except WorkloadError as error:
        raise WorkloadError(f"{option_text(options, options)}: {error}") from None


NETWORKS = (
    WorkloadSpec("topology", "all layers of a topology file of SCALE-Sim, convolutions or "
                 "products, one after another", (
                     Parameter(TopologyFile("file", "", "layers, in the convolution or the GEMM "
                                            "layout"), None, "a small example"),
                     Parameter(ChoiceField("im2col", "", "where a convolution's windows come from: "
                                           "a matrix that is in memory, the loader, or a matrix "
                                           "that is written to memory first", IM2COL_LAYERS),
                               "matrix")), _topology),
    WorkloadSpec("resnet-50", "the convolutions of ResNet-50 at 224x224 pixels, and its last "
                 "product", (
                     Parameter(ChoiceField("im2col", "", "as of topology", IM2COL_LAYERS),
                               IM2COL_LAYERS[0]),
                     integer("batch", "images", "images at a time", 1, high=1 << 16)),
                 _resnet_50),
    WorkloadSpec("moe", "one layer of the experts that a batch of tokens goes to, each expert's "
                 "rows filled up to whole tiles", (
                     integer("tokens", "tokens", "rows before routing", 64),
                     integer("top_k", "experts", "experts of each token; at most experts", 8),
                     integer("experts", "experts", "experts that share the rows evenly", 256),
                     integer("k", "columns", "width of a row", 8),
                     integer("n", "columns", "columns of an expert's weights", 8),
                     integer("tile_rows", "rows", "rows of the matrix unit's tiles", 16)), _moe),
    WorkloadSpec("split-k", "matrix product with K cut into parts, whose partial results are "
                 "added", (
                     integer("m", "rows", "rows of a", 16),
                     integer("k", "columns", "columns of a, rows of b", 64),
                     integer("n", "columns", "columns of b", 16),
                     integer("splits", "parts", "parts of K; at most k", None,
                             "2 (m = 1: 1)"),
                     Parameter(ChoiceField("reduction", "", "where partial results are added: "
                                           "stored, then by a second kernel, or on chip",
                                           REDUCTIONS), REDUCTIONS[0])), _split_k),
    WorkloadSpec("qwen3-8b", "Qwen3-8B: a decode step or a prefill, every product, attention, "
                 "rotary embedding and residual of a layer or of the model", (
                     Parameter(ChoiceField("phase", "", "one decode step, or a whole prompt",
                                           PHASES), PHASES[0]),
                     Parameter(ChoiceField("scope", "", "all layers and the head, or one layer",
                                           SCOPES), SCOPES[0]),
                     integer("context", "tokens", "decode: positions that a step attends to",
                             None, "8192"),
                     integer("tokens", "tokens", "prefill: length of the prompt", None, "4096"),
                     integer("query_block", "rows", "prefill: rows of a head that pass the "
                             "hand-off at a time", None, "as fits"),
                     integer("batch", "requests", "requests at a time", 1)), _qwen3_8b),
)
