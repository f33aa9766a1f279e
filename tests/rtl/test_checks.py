"""Parameter checks and small integer helpers."""

import pytest

from cubewave.rtl.checks import ceil_div, ceil_log2, check_integer


def test_accepts_both_ends():
    check_integer("depth", 1, 1, 4)
    check_integer("depth", 4, 1, 4)


@pytest.mark.parametrize("value,error,message", [
    (0, ValueError, r"^depth must be from 1 to 4, not 0$"),
    (5, ValueError, r"^depth must be from 1 to 4, not 5$"),
    (True, TypeError, r"^depth must be an integer, not True$"),
    (2.0, TypeError, r"^depth must be an integer, not 2.0$"),
    ("2", TypeError, r"^depth must be an integer, not '2'$"),
])
def test_refuses(value, error, message):
    with pytest.raises(error, match=message):
        check_integer("depth", value, 1, 4)


def test_ceil_div():
    assert [ceil_div(value, 4) for value in (0, 1, 3, 4, 5, 8, 9)] == [0, 1, 1, 1, 2, 2, 3]


def test_ceil_log2():
    assert [ceil_log2(value) for value in (1, 2, 3, 4, 5, 8, 9)] == [0, 1, 2, 2, 3, 3, 4]
