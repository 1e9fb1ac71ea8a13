"""tf.sysconfig: how the package was built."""

import os

CXX11_ABI_FLAG = 1
CXX_VERSION = 202002
MONOLITHIC_BUILD = 0


def get_build_info():
    """What the build has. CUDA's libraries are loaded at run time, so it is for no release of them."""
    from weir import _core
    return {"is_cuda_build": _core.cuda_build(), "is_rocm_build": False, "is_tensorrt_build": False}


def get_include():
    """weir's headers are not part of the package: programs in C++ use the CMake package instead."""
    raise NotImplementedError("the Python package has no C++ headers; install weir's CMake package (docs/public_api.md)")


def get_lib():
    """The folder of the extension."""
    return os.path.dirname(os.path.abspath(__file__))


def get_compile_flags():
    return ["-std=c++20"]


def get_link_flags():
    return ["-L" + get_lib()]
