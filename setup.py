"""Map the folders rtl/, sim/ and workloads/ to packages inside ``cubewave``.

Everything else about the project is in pyproject.toml. A new sub-folder with an ``__init__.py``
is found by itself.
"""

from setuptools import find_packages, setup

FOLDERS = ("rtl", "sim", "workloads")

setup(
    package_dir={f"cubewave.{folder}": folder for folder in FOLDERS},
    packages=[
        package
        for folder in FOLDERS
        for package in (
            f"cubewave.{folder}",
            *(f"cubewave.{folder}.{sub}" for sub in find_packages(folder)),
        )
    ],
    package_data={"": ["py.typed", "*.toml", "*.cc", "*.h", "data/*"]},
)
