"""Makes `import tensorflow` give weir, and the internals of TensorFlow that Keras imports.

`install()` adds a finder in front of all others: tensorflow[.x.y] are weir's own modules and namespaces, the same
objects; tensorflow.python.* are the modules of weir/_internal.py and, like tensorflow.compiler.*, of the table below, made
on demand.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types

__all__ = ["install"]


def _names(module, *names):
    def make():
        loaded = importlib.import_module(module)
        return {name: getattr(loaded, name) for name in names} if names else vars(loaded)
    return make


def _dynamic_update_slice():
    def dynamic_update_slice(x, update, indices):
        """`x` with `update` written at `indices`, which are clamped so that it fits."""
        import weir as tf
        x, update = tf.convert_to_tensor(x), tf.convert_to_tensor(update)
        limits = tf.shape(x) - tf.shape(update)
        start = tf.clip_by_value(tf.cast(tf.stack(indices) if isinstance(indices, (list, tuple)) else indices, tf.int32),
                                 0, limits)
        return tf.raw_ops.TensorStridedSliceUpdate(input=x, begin=start, end=start + tf.shape(update),
                                                   strides=tf.ones_like(start), value=update)
    return {"dynamic_update_slice": dynamic_update_slice}


_MODULES = {
    "tensorflow.python.ops.linalg.sparse.sparse_csr_matrix_ops": lambda: {
        "sparse_tensor_to_csr_sparse_matrix": _raw("SparseTensorToCSRSparseMatrix"),
        "sparse_matrix_sparse_mat_mul": _raw("SparseMatrixSparseMatMul"),
        "csr_sparse_matrix_to_sparse_tensor": _raw("CSRSparseMatrixToSparseTensor")},
    "tensorflow.compiler.tf2xla.python.xla": _dynamic_update_slice,
    "tensorflow.python.trackable.data_structures": _names("weir.trackable", "ListWrapper", "_DictWrapper"),
    "tensorflow.python.trackable.base": _names("weir.trackable", "Trackable"),
    "tensorflow.python.trackable.autotrackable": _names("weir.trackable", "AutoTrackable"),
    "tensorflow.python.framework.config": _names("weir.framework.config"),
    "tensorflow.python.framework.type_spec_registry": _names("weir.framework.type_spec", "get_name", "lookup"),
    "tensorflow.python.framework.dtypes": _names("weir.framework.dtypes"),
    "tensorflow.python.framework.tensor_shape": _names("weir.framework.shapes"),
    "tensorflow.python.framework.errors_impl": _names("weir.framework.errors"),
    "tensorflow.python.framework.ops": _names("weir.framework.graph"),
    "tensorflow.python.types.core": lambda: {"Tensor": importlib.import_module("weir.framework.tensor").types_Tensor},
    "tensorflow.experimental.dtensor": lambda: {},
    "tensorflow.python.framework.convert_to_constants": _names("weir.saved_model.freeze",
                                                               "convert_variables_to_constants_v2"),
    "tensorflow.python.client.timeline": _names("weir.compat.v1.timeline", "Timeline"),
    "tensorflow.python.lib.io.tf_record": _names("weir.io.records"),
    "tensorflow.python.framework.tensor_util": _names("weir.framework.tensor_proto"),
}


def _raw(name):
    def call(*args, **kwargs):
        from weir.framework.raw_ops import raw_ops
        return getattr(raw_ops, name)(*args, **kwargs)
    return call


def _packages():
    out = set()
    from weir.framework.proto_modules import MODULES
    for name in [*_MODULES, *MODULES]:
        parts = name.split(".")
        out.update(".".join(parts[:i]) for i in range(1, len(parts)))
    return out


class _Loader(importlib.abc.Loader):
    def __init__(self, module):
        self._module = module

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        pass


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, v1):
        self._v1 = v1
        self._known = _packages()

    def find_spec(self, name, path=None, target=None):
        if name != "tensorflow" and not name.startswith("tensorflow."):
            return None
        module = self._module(name)
        if module is None:
            return None
        loader = _Loader(module)
        spec = importlib.machinery.ModuleSpec(name, loader, is_package=True)
        spec.submodule_search_locations = []
        # An existing module keeps its own name and spec.
        self._keep = (getattr(module, "__spec__", None), getattr(module, "__name__", None))
        return spec

    @staticmethod
    def _is_package(name):
        from weir import _internal
        return name in _internal.packages()

    def _module(self, name):
        import weir
        if name == "tensorflow":
            return _wrap(weir, "tensorflow") if not self._v1 else _wrap_v1(weir)
        if name.startswith("tensorflow.python."):
            from weir import _internal
            module = _internal.module(name, _MODULES.get(name))
            if module is not None:
                return module
        if name in _MODULES:
            module = types.ModuleType(name)
            module.__path__ = []
            module.__dict__.update({k: v for k, v in _MODULES[name]().items() if not k.startswith("__")})
            return module
        if name.endswith("_pb2"):
            module = types.ModuleType(name)
            from weir.framework import protos
            module.__dict__.update(protos.module(name))
            return module if "DESCRIPTOR" in vars(module) else None
        if name == "tensorflow.keras" or name.startswith("tensorflow.keras."):
            inner = importlib.import_module("keras._tf_keras.keras" + name[len("tensorflow.keras"):])
            return inner
        for root in [weir.compat.v1, weir] if self._v1 and not name.startswith("tensorflow.compat") else [weir]:
            value = root
            for part in name.split(".")[1:]:
                value = getattr(value, part, None)
            if isinstance(value, types.ModuleType):
                return _wrap(value, name)
        if name in self._known or (name.startswith("tensorflow.python") and self._is_package(name)):
            module = types.ModuleType(name)
            module.__path__ = []
            return module
        return None


class _Proxy(types.ModuleType):
    """A module under TensorFlow's name that gives the attributes of weir's."""

    def __init__(self, name, target):
        super().__init__(name)
        self.__dict__["_target"] = target
        self.__path__ = []
        for key in ("__version__", "__doc__", "__git_version__"):
            if hasattr(target, key):
                self.__dict__[key] = getattr(target, key)

    def __getattr__(self, name):
        if name == "keras" and self.__dict__.get("__name__") == "tensorflow":
            value = importlib.import_module("tensorflow.keras")
        elif name in ("python", "compiler", "core") and self.__dict__.get("__name__") == "tensorflow":
            value = importlib.import_module("tensorflow." + name)
        else:
            value = getattr(self.__dict__["_target"], name)
            if isinstance(value, types.ModuleType) and value.__name__.startswith("weir."):
                value = importlib.import_module(self.__name__ + "." + name)
        self.__dict__[name] = value
        return value

    def __dir__(self):
        return dir(self.__dict__["_target"])


def _wrap(module, name):
    return _Proxy(name, module)


def _wrap_v1(weir):
    from weir.compat.v1 import removed
    return removed.module(weir, _Proxy)


class _HorovodFinder(importlib.abc.MetaPathFinder):
    """horovod.tensorflow and horovod.keras are weir.horovod where Horovod itself is not installed."""

    NAMES = {"horovod.tensorflow": "weir.horovod", "horovod.keras": "weir.horovod.keras",
             "horovod.tensorflow.keras": "weir.horovod.keras", "horovod.keras.callbacks": "weir.horovod.callbacks",
             "horovod.tensorflow.keras.callbacks": "weir.horovod.callbacks",
             "horovod.tensorflow.elastic": "weir.horovod.elastic", "horovod.keras.elastic": "weir.horovod.elastic",
             "horovod.tensorflow.keras.elastic": "weir.horovod.elastic"}

    def find_spec(self, name, path=None, target=None):
        if name == "horovod":
            module = types.ModuleType(name, "Horovod's names for weir.horovod.")
        elif name in self.NAMES:
            module = _Proxy(name, importlib.import_module(self.NAMES[name]))
        else:
            return None
        spec = importlib.machinery.ModuleSpec(name, _Loader(module), is_package=True)
        spec.submodule_search_locations = []
        return spec


def install(v1=False):
    """From now on `import tensorflow` gives weir; with `v1` it gives TensorFlow 1's names."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path[:1]):
        return
    loaded = sys.modules.get("tensorflow")
    if loaded is not None and not isinstance(loaded, _Proxy):
        raise RuntimeError("TensorFlow itself has been imported already; weir must be installed in its place before")
    sys.meta_path.insert(0, _Finder(v1))
    sys.meta_path.append(_HorovodFinder())  # behind all others: Horovod itself goes first


def offer():
    """`import tensorflow` gives weir where TensorFlow itself is not installed."""
    if "tensorflow" not in sys.modules and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder(False))
