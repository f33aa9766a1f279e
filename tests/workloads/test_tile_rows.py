"""Whole tiles of M, and the shape efficiency that the hardware counts."""

from fractions import Fraction

import pytest
from designs import designs, small
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.sim.analytic import executed_macs, shape_efficiency, tile_shape
from cubewave.workloads import QProjection, Sequence, WorkloadError
from cubewave.workloads.tiling import Tiling


def failures(result):
    return [check for check in result.checks if not check["ok"]]


def tiles(design, tile_rows):
    return dict(zip(("m_tile", "k_tile", "n_tile"), tile_shape(design, tile_rows)))


def test_one_row_in_a_tile_of_sixteen():
    """pad-single-row-efficiency of chapter 4.2.1, by formula and by counting."""
    assert shape_efficiency(1, 16, 16, m_tile=16, k_tile=16, n_tile=16) == Fraction(1, 16)
    assert shape_efficiency(1, 1, 1, m_tile=16) == 0.0625
    product = QProjection(1, 16, 16, tile_rows=16)
    for level in ("rtl", "cycle", "analytic"):
        result = simulate(Design(rows=4, cols=8), product, level=level)
        assert not failures(result)
        assert result.useful_macs == 256 and result.counters["activation_rows"] == 16 * 4 * 2
        assert result.shape_efficiency == 0.0625 == result.to_dict()["shape_efficiency"]


@pytest.mark.parametrize("dataflow, m_tile", [("weight_stationary", 1), ("output_stationary", 16)])
def test_an_array_pads_what_its_dataflow_holds(dataflow, m_tile):
    """One row: the weight-stationary array streams it alone, the other fills 16 rows of cells."""
    design = Design(rows=16, cols=16, dataflow=dataflow)
    result = simulate(design, QProjection(1, 20, 16), level="cycle")
    k_tile = {1: 16, 16: 1}[m_tile]
    assert tile_shape(design) == (m_tile, k_tile, 16)
    assert result.shape_efficiency == shape_efficiency(
        1, 20, 16, m_tile=m_tile, k_tile=k_tile, n_tile=16)


def allowed_tile_rows(design):
    if design.dataflow == "output_stationary":
        return [rows for rows in {1, design.rows} if rows <= design.accumulator_rows]
    return [rows for rows in (1, 2, 3, 7, 16) if rows <= design.accumulator_rows]


def rtl_counts_the_formula(data):
    design = data.draw(designs())
    tile_rows = data.draw(small(*allowed_tile_rows(design)))
    m, k, n = (data.draw(small(1, 2, 5, 9)) for _ in range(3))
    product = QProjection(m, k, n, tile_rows=tile_rows)
    result = simulate(design, product)
    assert not failures(result), (design, product.describe())
    tile = tiles(design, tile_rows)
    if design.dataflow != "output_stationary" or design.accumulator_rows >= min(m, design.rows):
        expected = shape_efficiency(m, k, n, **tile)
        executed = executed_macs(design, result.counters["activation_rows"])
        assert Fraction(result.useful_macs, executed) == expected
    assert result.useful_macs == m * k * n
    ideal = simulate(design, product, level="cycle", timing="ideal")
    assert not failures(ideal)


def padded_products_after_each_other(data):
    design = data.draw(designs())
    rows = max(allowed_tile_rows(design))
    jobs = [QProjection(m, k, n, tile_rows=rows) for m, k, n in ((1, 5, 3), (5, 9, 2), (3, 2, 7))]
    result = simulate(design, Sequence(jobs))
    assert not failures(result), design
    assert result.useful_macs == 15 + 90 + 42


@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_designs(data):
    rtl_counts_the_formula(data)


@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_random_designs_and_sequences(data):
    padded_products_after_each_other(data)


@pytest.mark.long
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_many_random_designs(data):
    rtl_counts_the_formula(data)
    padded_products_after_each_other(data)


def test_padding_takes_the_time_of_rows_but_no_bytes():
    design = Design.preset("tiny")
    plain, padded, full = (simulate(design, QProjection(m, 8, 8, tile_rows=rows)) for m, rows in
                           ((2, 1), (2, 16), (16, 16)))
    assert padded.units["array"].busy == full.units["array"].busy == 8 * plain.units["array"].busy
    for name in ("bytes_read", "bytes_written", "useful_macs"):
        assert getattr(padded, name) == getattr(plain, name)


@pytest.mark.parametrize("fields, choices, message", [
    ({}, {"tile_rows": 0}, "tile_rows must be an integer from 1 to 256, not 0"),
    ({"accumulator_rows": 8}, {"tile_rows": 9}, "tile_rows must be an integer from 1 to 8, not 9"),
    ({}, {"tile_rows": 4, "m_tile": 6}, "m_tile must be a multiple of tile_rows = 4, not 6"),
    ({"dataflow": "output_stationary"}, {"tile_rows": 8},
     "tile_rows must be 1 or 4, the rows of the array, with dataflow output_stationary, not 8"),
])
def test_refusals(fields, choices, message):
    with pytest.raises(WorkloadError) as error:
        Tiling.choose(Design(**fields), 9, 9, 9, **choices)
    assert str(error.value) == message
