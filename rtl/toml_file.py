"""TOML files of users."""

import os
import tomllib
from typing import Any

__all__ = ["read_toml"]


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The contents of a TOML file.

    Raises
    ------
    OSError
        It cannot be read. Pipes and devices are refused, for they may never end.
    ValueError
        It is not valid; the message is one line.
    """
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise OSError(0, "not a regular file")
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(" ".join(str(error).split())) from None
