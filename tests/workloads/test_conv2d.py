"""Convolutions: results on an independent loop, what is refused, and how they are described."""

import itertools
import json

import numpy as np
import pytest

from cubewave.rtl import Design
from cubewave.sim import simulate
from cubewave.workloads import Conv2d, OperandTypeError, RandomConv2d, WorkloadError

TINY = Design.preset("tiny")
WAYS = ("loader", "memory")


def ones(*shape):
    return np.ones(shape, np.int64)


def naive(work, x, w):
    """Every product of every output, one by one. x and w as `operands` gives them."""
    shape = work.shape
    (top, _), (left, _) = shape.padding
    total = np.zeros((shape.batch, *shape.output, shape.filters), np.int64)
    for n, i, j, f in itertools.product(*map(range, total.shape)):
        group = f // (shape.filters // shape.groups)
        for r, s, c in itertools.product(*map(range, w.shape[:3])):
            y = i * shape.stride[0] + r * shape.dilation[0] - top
            z = j * shape.stride[1] + s * shape.dilation[1] - left
            inside = 0 <= y < shape.height and 0 <= z < shape.width
            value = (x[n, y, z, group * shape.group_channels + c] if inside
                     else work.padding_value)
            total[n, i, j, f] += value * w[r, s, c, f]
    return total


def output(work, level="rtl", design=TINY):
    result = simulate(design, work, level=level)
    assert result.ok, [check for check in result.checks if not check["ok"]]
    return result.output


@pytest.mark.parametrize("fields", [
    {},
    {"batch": 2, "stride": (2, 3), "padding": ((0, 2), (1, 0)), "dilation": (2, 1)},
    {"groups": 2, "padding": 1, "padding_value": -5},
    {"groups": 4, "filters": 8, "layout": "NCHW", "dilation": 2},
    {"stride": 4, "kernel": (1, 2), "unsigned": True, "padding_value": 9, "padding": 2},
])
def test_reference_is_the_sum_of_all_products(fields):
    sizes = {"height": 6, "width": 8, "channels": 4, "filters": 4, "kernel": (3, 2), **fields}
    work = RandomConv2d(seed=3, **sizes)
    values, overflow = work.reference(TINY)
    expected = naive(work, *work.operands(TINY))
    assert (values == (expected if work.shape.batch > 1 else expected[0])).all()
    assert not overflow and values.shape == work.output_shape


@pytest.mark.parametrize("im2col", WAYS)
def test_f044_height_and_width(im2col):
    work = Conv2d(ones(10, 12, 1), ones(3, 5, 1, 1), dilation=(1, 2), im2col=im2col)
    assert output(work).tolist() == np.full((8, 4, 1), 15).tolist()


@pytest.mark.parametrize("im2col", WAYS)
def test_f046_one_sided_padding(im2col):
    x = np.arange(16).reshape(4, 4, 1)
    work = Conv2d(x, ones(2, 2, 1, 1), padding=((0, 1), (0, 1)), im2col=im2col)
    assert output(work)[..., 0].tolist() == [
        [10, 14, 18, 10], [26, 30, 34, 18], [42, 46, 50, 26], [25, 27, 29, 15]]


@pytest.mark.parametrize("im2col", WAYS)
def test_f048_stride_larger_than_the_kernel(im2col):
    work = Conv2d(np.arange(25).reshape(5, 5, 1), ones(1, 1, 1, 1), stride=3, im2col=im2col)
    assert output(work)[..., 0].tolist() == [[0, 3], [15, 18]]


@pytest.mark.parametrize("im2col", WAYS)
def test_f050_every_channel_has_a_kernel_of_its_own(im2col):
    x = np.stack([ones(4, 4), 2 * ones(4, 4)], axis=-1)
    w = np.stack([ones(3, 3), -ones(3, 3)], axis=-1).reshape(3, 3, 1, 2)
    result = output(Conv2d(x, w, groups=2, im2col=im2col))
    assert result[..., 0].tolist() == [[9, 9], [9, 9]]
    assert result[..., 1].tolist() == [[-18, -18], [-18, -18]]


def test_layouts_are_the_same_convolution():
    rng = np.random.default_rng(0)
    x, w = rng.integers(-9, 9, (2, 5, 6, 3)), rng.integers(-9, 9, (2, 3, 3, 4))
    channels_first = Conv2d(x.transpose(0, 3, 1, 2), w, layout="NCHW", padding=1)
    assert (output(channels_first) == output(Conv2d(x, w, padding=1))).all()
    one = Conv2d(x[0].transpose(2, 0, 1), w, layout="NCHW", padding=1)
    assert (output(one, "cycle") == output(channels_first, "cycle")[0]).all()


def test_padding_value_is_a_zero_point():
    """An image of the zero point alone, less what the zero point adds, is nothing."""
    x, w = np.full((4, 4, 2), 17), np.arange(-9, 9).reshape(3, 3, 2, 1)
    work = Conv2d(x, w, padding=1, padding_value=17, unsigned=True)
    assert (output(work) == 17 * w.sum()).all()


def test_batch_of_one_keeps_its_dimension():
    assert Conv2d(ones(1, 3, 3, 1), ones(2, 2, 1, 1)).output_shape == (1, 2, 2, 1)
    assert Conv2d(ones(3, 3, 1), ones(2, 2, 1, 1)).output_shape == (2, 2, 1)


def test_description_is_json():
    described = RandomConv2d(5, 6, 4, 8, (3, 2), padding=((0, 1), (2, 3)), stride=2, bias="random",
                             relu=True, requantize=(3, 2, 8), m_tile=4).describe()
    assert json.loads(json.dumps(described)) == described
    assert described["padding"] == [[0, 1], [2, 3]] and described["stride"] == [2, 2]
    assert described["bias"] == "random" and described["requantize"] == [3, 2, 8]
    assert Conv2d(ones(3, 3, 1), ones(2, 2, 1, 1), bias=[1]).describe()["bias"] == "given"


def test_equal_seeds_are_equal_operands():
    one, other = RandomConv2d(4, 5, 2, 3), RandomConv2d(4, 5, 2, 3).seeded(1)
    assert (one.operands(TINY)[0] == RandomConv2d(4, 5, 2, 3).operands(TINY)[0]).all()
    assert (one.operands(TINY)[0] != other.operands(TINY)[0]).any()
    assert other.describe()["seed"] == 1


REFUSED = [
    (((3, 4), (2, 2, 1, 1)), {}, "x must have 3 dimensions, or 4 with a batch, not 2"),
    (((3, 4, 1), (2, 2, 1)), {}, "w must have 4 dimensions, not 3"),
    (((0, 4, 1), (2, 2, 1, 1)), {}, "x must have at least 1 element, not shape (0, 4, 1)"),
    (((4, 4, 3), (2, 2, 1, 1)), {},
     "w must have channels / groups = 3 / 1 channels in its third dimension, not 1: x is NHWC, w "
     "[kernel height, kernel width, channels / groups, filters]"),
    (((4, 4, 4), (2, 2, 2, 3)), {"groups": 2}, "groups must divide filters = 3, not 2"),
    (((4, 4, 1), (5, 2, 1, 1)), {},
     "kernel height must be at most the padded input's 4, not 5 (with dilation): there is no "
     "output"),
    (((4, 4, 1), (1, 3, 1, 1)), {"dilation": (1, 3), "padding": ((0, 0), (1, 1))},
     "kernel width must be at most the padded input's 6, not 7 (with dilation): there is no "
     "output"),
    (((4, 4, 1), (1, 1, 1, 1)), {"stride": 0}, "stride must be an integer from 1 to 65535, not 0"),
    (((4, 4, 1), (1, 1, 1, 1)), {"stride": (1, 0)},
     "stride width must be an integer from 1 to 65535, not 0"),
    (((4, 4, 1), (1, 1, 1, 1)), {"stride": (1, 1, 1)},
     "stride must be one integer or two, for height and width, not 3"),
    (((4, 4, 1), (1, 1, 1, 1)), {"padding": (1, 1)},
     "padding must be ((top, bottom), (left, right)), not (1, 1)"),
    (((4, 4, 1), (1, 1, 1, 1)), {"padding": ((0, -1), (0, 0))},
     "padding bottom must be an integer from 0 to 65535, not -1"),
    (((4, 4, 1), (1, 1, 1, 1)), {"dilation": True},
     "dilation must be an integer from 1 to 65535, not True"),
    (((4, 4, 1), (1, 1, 1, 1)), {"groups": 0}, "groups must be an integer from 1 to 2147483647, "
                                               "not 0"),
    (((4, 4, 1), (1, 1, 1, 1)), {"layout": "HWNC"}, "layout must be NHWC or NCHW, not 'HWNC'"),
    (((4, 4, 1), (1, 1, 1, 1)), {"im2col": "dma"},
     "im2col must be one of loader, memory, not 'dma'"),
    (((4, 4, 1), (1, 1, 1, 1)), {"relu": 1}, "relu must be true or false, not 1"),
    (((4, 4, 1), (1, 1, 1, 1)), {"bias": [1, 2]},
     "bias must have shape (1,), one element for each filter, not (2,)"),
]


@pytest.mark.parametrize("sizes,choices,message", REFUSED)
def test_refusals(sizes, choices, message):
    with pytest.raises(WorkloadError) as error:
        Conv2d(*(ones(*shape) for shape in sizes), **choices)
    assert str(error.value) == message


def test_layout_and_shape_that_disagree():
    """[height, width, channels] given as channels first: the axes are named."""
    with pytest.raises(WorkloadError, match="channels in its third dimension, not 3: x is NCHW"):
        Conv2d(ones(8, 8, 3), ones(3, 3, 3, 4), layout="NCHW")


def test_elements_are_integers_of_the_format():
    with pytest.raises(OperandTypeError, match="^x must hold integers"):
        Conv2d(np.full((3, 3, 1), 0.5), ones(2, 2, 1, 1))
    for x, w, name in ((200, 1, "x"), (1, 200, "w")):
        work = Conv2d(x * ones(3, 3, 1), w * ones(2, 2, 1, 1))
        with pytest.raises(WorkloadError, match=f"^{name} must be from -128 to 127 for this des"):
            work.program(TINY)
    with pytest.raises(WorkloadError, match="^padding_value must be from -128 to 127 for this"):
        Conv2d(ones(3, 3, 1), ones(2, 2, 1, 1), padding_value=200).program(TINY)


def test_matrix_in_memory_needs_whole_bytes():
    design = Design(activation_bits=4)
    work = RandomConv2d(3, 3, 1, 1, 2, im2col="memory")
    with pytest.raises(WorkloadError, match="^im2col memory needs activation_bits 8 or 16, whole"):
        work.program(design)
    assert simulate(design, RandomConv2d(3, 3, 1, 1, 2), level="cycle").ok
