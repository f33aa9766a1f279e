"""Runs one GEMM on SCALE-Sim; for the interpreter of the environment that `compare.py` makes.

    python run_scalesim.py FOLDER ROWS COLS M K N

SCALE-Sim reads its machine and its layer from files, here in FOLDER. The last line printed is its
count of cycles, one more than the index of the last cycle that it reports. Offsets of the three
matrices lie further apart than the matrices are large, and rows of the topology end with a comma:
it needs both. Traces are left out.
"""

import os
import sys

from scalesim.scale_sim import scalesim

CONFIG = """
[general]
run_name = run
[architecture_presets]
ArrayHeight = {rows}
ArrayWidth = {cols}
IfmapSramSzkB = {buffer}
FilterSramSzkB = {buffer}
OfmapSramSzkB = {buffer}
IfmapOffset = 0
FilterOffset = {offset}
OfmapOffset = {twice}
Dataflow = ws
Bandwidth = 10
MemoryBanks = 1
ReadRequestBuffer = 32
WriteRequestBuffer = 32
[layout]
IfmapCustomLayout = False
IfmapSRAMBankBandwidth = 10
IfmapSRAMBankNum = 10
IfmapSRAMBankPort = 2
FilterCustomLayout = False
FilterSRAMBankBandwidth = 10
FilterSRAMBankNum = 10
FilterSRAMBankPort = 2
[sparsity]
SparsitySupport = false
[run_presets]
InterfaceBandwidth = CALC
UseRamulatorTrace = False
"""


def main(folder, rows, cols, m, k, n):
    offset = 1 << (max(m * k, k * n, m * n) - 1).bit_length()
    files = {
        "machine.cfg": CONFIG.format(rows=rows, cols=cols, offset=offset, twice=2 * offset,
                                     buffer=8192),
        "topology.csv": f"Layer, M, N, K,\nlayer, {m}, {n}, {k},\n",
        "layout.csv": "Layer,\nlayer," + " 1," * 18 + "\n",
    }
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    run = scalesim(save_disk_space=True, verbose=False, input_type_gemm=True, **{
        option: os.path.join(folder, name)
        for option, name in zip(("config", "topology", "layout"), files)})
    run.run_scale(top_path=folder)
    layer, = run.runner.single_layer_sim_object_list
    print(int(layer.get_compute_report_items()[1]) + 1)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
