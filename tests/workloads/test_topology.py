"""SCALE-Sim topology files."""

import pytest
from click.testing import CliRunner

from cubewave.rtl import Design
from cubewave.sim.cli import main
from cubewave.sim.network import simulate_network
from cubewave.workloads import WorkloadError
from cubewave.workloads.topology import EXAMPLE, parse_topology, read_topology

CONV = ("Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, "
        "Num Filter, Strides,\n")
GEMM = "Layer, M, N, K,\n"
COLUMNS = CONV.strip().rstrip(",")


def shapes(text):
    return [(layer.name, layer.count, layer.product.shape) for layer in
            parse_topology(text).layers()]


def refusal(text):
    with pytest.raises(WorkloadError) as error:
        parse_topology(text)
    assert "\n" not in str(error.value)
    return str(error.value)


def run(*arguments):
    result = CliRunner().invoke(main, ["run", "topology", *arguments])
    assert isinstance(result.exception, SystemExit | None)
    return result


def test_gemm_layout():
    assert shapes(GEMM + "qkv, 128, 1536, 512,\nscore,512,128,64\n") == [
        ("qkv", 1, (128, 512, 1536)), ("score", 1, (512, 64, 128))]


@pytest.mark.parametrize("row, m, k, n", [
    ("x,224,224,7,7,3,64,2,", 110 * 110, 147, 64),    # SCALE-Sim prints 110 for it
    ("x,58,58,3,3,64,64,1,", 3136, 576, 64),
    ("x,1,1,1,1,2048,1000,1,", 1, 2048, 1000),
    ("x,10,12,3,5,2,4,3,", 4 * 4, 30, 4),
    ("x,5,5,1,1,1,1,3,", 3 * 3, 1, 1),
    ("x,5,7,5,7,3,2,9,", 1, 105, 2),
])
def test_a_convolution_is_its_im2col_product(row, m, k, n):
    assert shapes(CONV + row) == [("x", 1, (m, k, n))]


def test_output_size_is_that_of_scale_sim():
    """ceil((size - filter + stride) / stride): a last, partial window counts."""
    for size in range(1, 12):
        for part in range(1, size + 1):
            for stride in range(1, 5):
                (_, _, (m, _, _)), = shapes(
                    CONV + f"x,{size},{part},{part},{part},1,1,{stride},")
                assert m == len(range(0, size - part + stride, stride))


def test_names_are_kept_and_may_repeat():
    assert [name for name, _, _ in shapes(GEMM + "fc 1,1,2,3,\nfc 1,4,5,6,\n MoE-E0,1,1,1,")] == [
        "fc 1", "fc 1", "MoE-E0"]


def test_depthwise_layers_run_once_a_channel():
    assert shapes(CONV + "Conv2_DP,114,114,3,3,32,1,1,") == [("Conv2_DP", 32, (12544, 9, 1))]


@pytest.mark.parametrize("text", [
    "\ufeffLAYER ,m,  N , k\r\n\r\na,1,2,3\r\n,,,,\r\n   \r\n",
    "# made by hand\nlayer,M,N,K,\n#b,9,9,9,\na,1,2,3,#note, and more\n",
    "K,N,M,Layer\n3,2,1,a\n",
    "layer name,M,N,K,,Batch size, Sparsity\na,1,2,3,,1,1:1\n",
    "Layer,M,N,K,Sparsity ratio,\na,1,2,3,2:2,\n",
    "Layer,M,N,K\na,1,2,3",
])
def test_what_is_read_over(tmp_path, text):
    path = tmp_path / "net.csv"
    path.write_text(text, encoding="utf-8", newline="")
    network = read_topology(str(path))
    assert [(layer.name, layer.product.shape) for layer in network.layers()] == [("a", (1, 3, 2))]


def test_strides_of_two_directions_and_checked_output_sizes():
    header = CONV.replace("Strides", "Stride height, Stride width")
    assert shapes(header + "x,10,12,3,5,1,1,2,3,") == [("x", 1, (5 * 4, 15, 1))]
    sizes = CONV.replace("Strides,", "Strides,,,Eh,Ew,e2")
    text = sizes + ",,,,,,,,,,,,\nConv1,224,224,7,7,3,64,2,,,110,110,12100\nb,9,9,1,1,1,1,1,,,,,\n"
    assert [shape for _, _, shape in shapes(text)] == [(12100, 147, 64), (81, 1, 1)]
    assert refusal(text.replace("12100", "12099")) == (
        'line 3, column "e2": expected 12100, which the sizes before give, not 12099')


def test_f088_malformed_file(tmp_path):
    """F088: file, line, column and what was expected; an empty line at the end is fine."""
    path = tmp_path / "net.csv"
    rows = {
        "a,8,8,3,3,4,2,1,\nb,8,8,3,3,4,2,\n":
            'line 3, column "Strides": missing; expected an integer from 1 to 1048576',
        "a,8,8,3,3,4,2,1,7,\n":
            f'line 2, column 9 (after "Strides"): extra value "7"; expected 8 values: {COLUMNS}',
        "a,8,8,3,x3,4,2,1,\n":
            'line 2, column "Filter Width": expected an integer from 1 to 1048576, not "x3"',
    }
    for text, message in rows.items():
        path.write_text(CONV + text)
        result = run("-p", f"file={path}")
        assert result.exit_code == 2 and result.stdout == ""
        assert result.stderr == f"error: -p file={path}: {message}\n"
    path.write_text(CONV + "a,8,8,3,3,4,2,1,\n\n")
    assert run("-p", f"file={path}", "--level", "analytic").exit_code == 0


@pytest.mark.parametrize("text, message", [
    ("", "line 1: no header; expected Layer, M, N, K or Layer name, IFMAP Height, "),
    ("a,1,2,3\n", "line 1: no header; "),
    (GEMM, "line 2: expected a layer (Layer, M, N, K), but the file ends"),
    ("Layer,M,K\na,1,2\n",
     'line 1, column "N": missing; expected the columns Layer, M, N, K'),
    (CONV.replace("Channels, ", "") + "a,1,1,1,1,1,1,\n", 'line 1, column "Channels": missing; '),
    ("Layer,M,N,K,Target\na,1,2,3,GPU\n", 'line 1, column "Target": has no meaning here; '),
    ("Layer,M,N,K,M\na,1,2,3,1\n", 'line 1, column "M": is there twice; '),
    (CONV[:-1] + "Stride height,\na,1,1,1,1,1,1,1,1\n",
     'line 1, column "Stride height": expected either Strides or Stride height and Stride width'),
    (CONV.replace("Strides", "Stride width") + "a,1,1,1,1,1,1,1,\n",
     'line 1, column "Stride height": missing; '),
    (GEMM + "a,1,2,\n", 'line 2, column "K": missing; expected an integer from 1 to 1048576'),
    (GEMM + ",1,2,3\n", "line 2, column \"Layer\": missing; expected the layer's name"),
    (GEMM + "a,0,2,3\n", 'line 2, column "M": expected an integer from 1 to 1048576, not "0"'),
    (GEMM + "a,1,-2,3\n", 'line 2, column "N": expected an integer from 1 to 1048576, not "-2"'),
    (GEMM + "a,1,2,3.5\n", 'line 2, column "K": expected an integer from 1 to 1048576, not "3.5"'),
    (GEMM + "a,1,2,3,4\n", 'line 2, column 5 (after "K"): extra value "4"; expected 4 values: '),
    (CONV + "a,4,4,3,5,1,1,1\n",
     'line 2, column "Filter Width": expected at most IFMAP Width = 4, not 5'),
    ("Layer,M,N,K,Sparsity\na,1,2,3,1:1\nb,1,2,3,2:4\n",
     'line 3, column "Sparsity": expected dense weights, such as 1:1, for sparse ones are not '
     'modelled, not "2:4"'),
    ("Layer,M,N,K,Batch size\na,1,2,3,8\n",
     'line 2, column "Batch size": expected 1, for a batch is not modelled, not 8'),
    (CONV + "a,1048576,1048576,1,1,1,1,1,\n", "line 2: m must be an integer from 1 to 2147483647"),
])
def test_refusals_say_where_and_what(text, message):
    assert refusal(text).startswith(message)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, message in (("none", "cannot be read: No such file or directory; expected a topology "
                           "file (CSV)"),
                          (".", "not a file; expected a topology file (CSV)"),
                          ("binary", "not a text file; expected a topology file (CSV)")):
        with pytest.raises(WorkloadError) as error:
            read_topology(str(tmp_path / name))
        assert str(error.value) == message


def test_the_example_runs_on_the_hardware():
    result = simulate_network(Design.preset("tiny"), parse_topology(EXAMPLE), level="rtl")
    assert result.ok and [layer.layer.name for layer in result.layers] == ["conv1", "conv2", "fc"]
    assert result.useful_macs == 25 * 27 * 8 + 16 * 72 * 8 + 1280


def test_resnet_like_layers_at_size_in_the_model():
    text = CONV + "Conv1,230,230,7,7,3,64,2,\nCB,58,58,3,3,64,64,1,\nFC,1,1,1,1,2048,1000,1,\n"
    result = simulate_network(Design.preset("tpu-v1"), parse_topology(text))
    assert result.ok
    assert result.useful_macs == 113 * 113 * 147 * 64 + 3136 * 576 * 64 + 2048000
