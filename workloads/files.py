"""Arrays from files."""

import os

import numpy as np

from .errors import WorkloadError

__all__ = ["read_npy"]

NPY_MAGIC = b"\x93NUMPY"


def read_npy(path: str) -> np.ndarray:
    """The array in a .npy file. Pickled objects are never loaded.

    Raises
    ------
    WorkloadError
        One line that says why the file was refused, without its name.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise WorkloadError("not a file; expected a .npy file")
    try:
        with open(path, "rb") as file:
            magic = file.read(len(NPY_MAGIC))
        if magic != NPY_MAGIC:
            raise WorkloadError("not a .npy file; expected an array of integers as numpy.save "
                                "writes it")
        # Mapping compares the size that the header claims with the file's before any use.
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    except OSError as error:
        raise WorkloadError(f"cannot be read: {error.strerror or error}; expected a .npy "
                            f"file") from None
    except (WorkloadError, MemoryError):
        raise
    except Exception as error:  # a damaged header can raise anything
        if "Python objects" in str(error):
            raise WorkloadError("holds pickled Python objects, which are never loaded; expected "
                                "an array of integers") from None
        reason = " ".join(str(error).split())
        raise WorkloadError(f"a damaged .npy file ({reason}); expected an array of integers as "
                            f"numpy.save writes it") from None
