"""Problems and their programs."""

from .attention import Attention, RandomAttention
from .errors import OperandTypeError, WorkloadError
from .gemm import Gemm, QProjection, Sequence
from .moe import MoE
from .network import Layer, Network
from .qwen3 import Qwen3
from .split_k import SplitK
from .topology import read_topology

__all__ = ["Attention", "Gemm", "Layer", "MoE", "Network", "OperandTypeError", "QProjection",
           "Qwen3", "RandomAttention", "Sequence", "SplitK", "WorkloadError", "read_topology"]
