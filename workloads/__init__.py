"""Problems and their programs."""

from .errors import OperandTypeError, WorkloadError
from .gemm import Gemm, QProjection, Sequence

__all__ = ["Gemm", "OperandTypeError", "QProjection", "Sequence", "WorkloadError"]
