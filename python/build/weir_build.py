"""A build backend (PEP 517) of its own: CMake builds the extension, this packs the wheel. It needs nothing but Python.

    WEIR_BUILD_DIR   the build tree to use; by default build/release below the project, made if it is not there

A tree that is made for Python 3.12 or later gives a wheel for all versions from 3.12 on.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _metadata():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {d}" for d in project["dependencies"]]
    for extra, packages in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {p}; extra == "{extra}"' for p in packages]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / project["readme"]).read_text()]
    return project["name"], project["version"], "\n".join(lines)


def _tree():
    return pathlib.Path(os.environ.get("WEIR_BUILD_DIR", ROOT / "build" / "release"))


def _tag():
    python = f"cp{sysconfig.get_config_var('py_version_nodot')}"
    abi = python
    if re.search(r"^WEIR_PYTHON_ABI3:BOOL=(ON|1|TRUE)$", (_tree() / "CMakeCache.txt").read_text(), re.MULTILINE):
        python, abi = "cp312", "abi3"
    return f"{python}-{abi}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _build(target):
    """Builds the extension and installs the package into the folder `target`."""
    tree = _tree()
    if not (tree / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "-S", ROOT, "-B", tree, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DWEIR_PYTHON=ON", "-DWEIR_TESTS=OFF", f"-DPython3_EXECUTABLE={sys.executable}",
                        f"-DWEIR_PYTHON_ABI3={'ON' if sys.version_info >= (3, 12) else 'OFF'}"], check=True)
    subprocess.run(["cmake", "--build", tree, "--target", "weir_python_stubs"], check=True)
    subprocess.run(["cmake", "--install", tree, "--component", "python", "--prefix", target, "--strip"], check=True)


def _row(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name, version, metadata = _metadata()
    info = f"{name}-{version}.dist-info"
    with tempfile.TemporaryDirectory() as folder:
        _build(folder)
        files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(pathlib.Path(folder).rglob("*"))
                 if p.is_file()}
    wheel_name = f"{name}-{version}-{_tag()}.whl"
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: weir_build\nRoot-Is-Purelib: false\nTag: {_tag()}\n").encode()
    record = f"{info}/RECORD"
    rows = [_row(n, d) for n, d in files.items()] + [f"{record},,"]
    files[record] = ("\n".join(rows) + "\n").encode()
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel_name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return wheel_name


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("weir is built from a clone: scripts/wheel")
