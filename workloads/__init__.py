"""Problems and their programs."""

from .attention import Attention, RandomAttention
from .attention_head import AttentionHead
from .conv2d import Conv2d, RandomConv2d
from .errors import OperandTypeError, WorkloadError
from .gemm import Gemm, QProjection, Sequence
from .moe import MoE
from .network import Layer, Network
from .qwen3 import Qwen3
from .residual import RandomResidual, Residual
from .rope import RandomRope, Rope
from .split_k import SplitK
from .topology import read_topology

__all__ = ["Attention", "AttentionHead", "Conv2d", "Gemm", "Layer", "MoE", "Network",
           "OperandTypeError", "QProjection", "Qwen3", "RandomAttention", "RandomConv2d",
           "RandomResidual", "RandomRope", "Residual", "Rope", "Sequence", "SplitK",
           "WorkloadError", "read_topology"]
