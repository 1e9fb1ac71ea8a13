"""Modules of TensorFlow that are not public, under their own names: tensorflow.python.ops.math_ops and the like.

TensorFlow's own tests import them. `module(name)` makes one whose attributes are weir's own objects: first those written
here by hand, then the public names and ops of the generated table (weir/_internal_names.py).
"""

import functools
import importlib
import re
import types

__all__ = ["module", "packages"]

_PREFIX = "tensorflow.python."

# Names that are not public in TensorFlow, or stand for another object there: {module: "name=module:attribute"}. An
# attribute alone is a public name of weir.
_BY_HAND = {
    "framework.ops": "Tensor name_scope=compat.v1.name_scope convert_to_tensor convert_to_tensor_v2=convert_to_tensor "
                     "convert_to_tensor_v1=compat.v1.convert_to_tensor convert_to_tensor_v2_with_dispatch=convert_to_tensor "
                     "convert_to_tensor_v1_with_dispatch=compat.v1.convert_to_tensor device=compat.v1.device "
                     "convert_n_to_tensor=weir.framework.conversion:convert_n_to_tensor "
                     "register_tensor_conversion_function colocate_with=compat.v1.colocate_with "
                     "get_gradient_function=weir.framework.gradient_registry:get_gradient_function "
                     "internal_convert_to_tensor=convert_to_tensor IndexedSlices "
                     "NullContextmanager=contextlib:nullcontext "
                     "control_dependencies=compat.v1.control_dependencies",
    "framework.constant_op": "constant constant_v1=compat.v1.constant is_constant=weir._internal:is_constant",
    "framework.tensor": "Tensor TensorSpec",
    "framework.tensor_spec": "TensorSpec",
    "framework.tensor_shape": "TensorShape TensorShapeV2=TensorShape as_shape=weir.framework.shapes:as_shape "
                              "as_dimension=weir.framework.shapes:as_dimension unknown_shape=weir._internal:unknown_shape "
                              "dimension_value=weir._internal:dimension_value scalar=weir._internal:scalar_shape "
                              "vector=weir._internal:vector_shape matrix=weir._internal:matrix_shape",
    "framework.tensor_util": "make_tensor_proto MakeNdarray=make_ndarray constant_value=get_static_value "
                             "is_tensor is_tf_type=is_tensor "
                             "constant_value_as_shape=weir.framework.conversion:static_shape_value",
    "framework.tensor_conversion": "convert_to_tensor_v2=convert_to_tensor "
                                   "convert_to_tensor_v2_with_dispatch=convert_to_tensor "
                                   "convert_to_tensor_v1=compat.v1.convert_to_tensor "
                                   "convert_to_tensor_v1_with_dispatch=compat.v1.convert_to_tensor",
    "framework.tensor_conversion_registry": "convert=convert_to_tensor register_tensor_conversion_function",
    "framework.random_seed": "set_seed=random.set_seed set_random_seed=compat.v1.set_random_seed "
                             "get_seed=compat.v1.get_seed",
    "framework.importer": "import_graph_def=graph_util.import_graph_def",
    "framework.func_graph": "FuncGraph=weir.framework.graph:FuncGraph",
    "framework.composite_tensor": "CompositeTensor=__internal__.CompositeTensor",
    "framework.type_spec": "TypeSpec type_spec_from_value",
    "framework.sparse_tensor": "SparseTensor SparseTensorSpec SparseTensorValue=compat.v1.SparseTensorValue "
                               "convert_to_tensor_or_sparse_tensor=compat.v1.convert_to_tensor_or_sparse_tensor",
    "framework.indexed_slices": "IndexedSlices IndexedSlicesSpec IndexedSlicesValue=weir.compat.v1.session:IndexedSlicesValue",
    "framework.function": "Defun=weir.compat.v1.defun:Defun",
    "framework.combinations": "combine=weir.framework.test_util:combine generate=weir.framework.test_util:generate",
    "framework.test_combinations": "combine=weir.framework.test_util:combine generate=weir.framework.test_util:generate "
                                   "times=weir.framework.test_util:times NamedObject=weir.framework.test_util:NamedObject",
    "eager.context": "graph_mode=weir._internal:graph_mode context=weir._internal:context "
                     "num_gpus=weir._internal:num_gpus executing_eagerly eager_mode=weir.framework.graph:eager_mode "
                     "device async_wait=weir._internal:async_wait Context=weir._internal:Context "
                     "ensure_initialized=weir._internal:async_wait in_graph_mode=weir._internal:in_graph_mode "
                     "run_eager_op_as_function_enabled=weir._internal:false "
                     "get_server_def=weir._internal:none is_tfrt_enabled=weir._internal:false "
                     "is_custom_device=weir._internal:false",
    "eager.def_function": "function run_functions_eagerly=config.run_functions_eagerly "
                          "functions_run_eagerly=config.functions_run_eagerly",
    "eager.polymorphic_function.polymorphic_function": "function",
    "eager.function": "defun=weir._internal:defun ConcreteFunction=types.experimental.ConcreteFunction",
    "eager.backprop": "GradientTape gradients_function=weir.eager.implicit:gradients_function "
                      "val_and_grad_function=weir.eager.implicit:val_and_grad_function "
                      "implicit_grad=weir.eager.implicit:implicit_grad "
                      "implicit_val_and_grad=weir.eager.implicit:implicit_val_and_grad "
                      "make_vjp=weir.eager.implicit:make_vjp",
    "eager.forwardprop": "ForwardAccumulator=autodiff.ForwardAccumulator",
    "eager.record": "stop_recording=weir.eager.tape:stop_recording",
    "eager.tape": "stop_recording=weir.eager.tape:stop_recording",
    "ops.variables": "Variable VariableV1=compat.v1.Variable",
    "ops.variable_v1": "VariableV1=compat.v1.Variable",
    "ops.ref_variable": "RefVariable=compat.v1.Variable is_variable_initialized=compat.v1.is_variable_initialized",
    "ops.resource_variable_ops": "VariableSpec=weir.variable_spec:VariableSpec ResourceVariable=Variable BaseResourceVariable=Variable "
                                 "is_resource_variable=weir._internal:is_variable",
    "ops.gradients": "gradients=compat.v1.gradients gradients_v2=gradients hessians=compat.v1.hessians "
                     "HessiansV2=hessians UnconnectedGradients AggregationMethod",
    "ops.gradients_impl": "gradients=compat.v1.gradients gradients_v2=gradients hessians=compat.v1.hessians "
                          "HessiansV2=hessians",
    "ops.gradient_checker": "compute_gradient=compat.v1.test.compute_gradient "
                            "compute_gradient_error=compat.v1.test.compute_gradient_error",
    "ops.gradient_checker_v2": "compute_gradient=test.compute_gradient max_error=weir.test:max_error",
    "ops.control_flow_ops": "with_dependencies=weir._internal:with_dependencies cond=compat.v1.cond "
                            "while_loop=compat.v1.while_loop case=compat.v1.case",
    "ops.data_flow_ops": "StagingArea=weir.compat.v1.staging:StagingArea",
    "ops.cond": "cond=compat.v1.cond cond_for_tf_v2=cond",
    "ops.while_loop": "while_loop=compat.v1.while_loop while_loop_v2=while_loop",
    "ops.control_flow_case": "case=compat.v1.case case_v2=case",
    "ops.control_flow_assert": "Assert",
    "ops.control_flow_switch_case": "switch_case",
    "ops.tensor_array_ops": "TensorArray TensorArraySpec",
    "ops.ragged.ragged_tensor": "RaggedTensor RaggedTensorSpec is_ragged=weir._internal:is_ragged",
    "ops.ragged.ragged_factory_ops": "constant=ragged.constant constant_value=compat.v1.ragged.constant_value "
                                     "placeholder=compat.v1.ragged.placeholder",
    "ops.linalg_ops": "matrix_solve=linalg.solve matrix_inverse=linalg.inv matrix_determinant=linalg.det "
                      "cholesky=linalg.cholesky qr=linalg.qr svd=linalg.svd eye norm=compat.v1.norm norm_v2=norm "
                      "matrix_triangular_solve=linalg.triangular_solve self_adjoint_eig=linalg.eigh "
                      "matrix_logarithm=linalg.logm matrix_square_root=linalg.sqrtm matrix_exponential=linalg.expm",
    "platform.googletest": "main=test.main TestCase=test.TestCase GetTempDir=test.get_temp_dir",
    "platform.test": "mock=unittest.mock:",
    "eager.test": "main=test.main TestCase=test.TestCase get_temp_dir=test.get_temp_dir Benchmark=test.Benchmark "
                  "is_gpu_available=test.is_gpu_available gpu_device_name=test.gpu_device_name "
                  "is_built_with_cuda=test.is_built_with_cuda is_built_with_rocm=test.is_built_with_rocm",
    "util.tf_inspect": "getfullargspec=inspect:getfullargspec getargspec=inspect:getfullargspec isfunction=inspect:isfunction "
                       "isclass=inspect:isclass ismethod=inspect:ismethod signature=inspect:signature "
                       "getsource=inspect:getsource getdoc=inspect:getdoc getmro=inspect:getmro FullArgSpec=inspect:FullArgSpec",
    "util.nest": "flatten map_structure=nest.map_structure is_nested=nest.is_nested is_sequence=nest.is_nested "
                 "flatten=nest.flatten pack_sequence_as=nest.pack_sequence_as "
                 "assert_same_structure=nest.assert_same_structure "
                 "flatten_with_joined_string_paths=weir.nest:flatten_with_joined_string_paths",
    "util.compat": "integral_types=compat.integral_types real_types=compat.real_types complex_types=compat.complex_types "
                   "bytes_or_text_types=compat.bytes_or_text_types",
    "util.tf_contextlib": "contextmanager=contextlib:contextmanager",
    "util.tf_decorator": "make_decorator=__internal__.decorator.make_decorator unwrap=__internal__.decorator.unwrap",
    "data.ops.dataset_ops": "Dataset=data.Dataset DatasetV2=data.Dataset DatasetV1=compat.v1.data.Dataset AUTOTUNE=data.AUTOTUNE "
                            "get_structure=compat.v1.data.get_output_types "
                            "make_one_shot_iterator=compat.v1.data.make_one_shot_iterator "
                            "make_initializable_iterator=compat.v1.data.make_initializable_iterator",
    "data.ops.readers": "TextLineDataset=data.TextLineDataset TFRecordDataset=data.TFRecordDataset "
                        "FixedLengthRecordDataset=data.FixedLengthRecordDataset",
    "module.module": "Module",
}


def is_constant(tensor_or_op):
    return getattr(tensor_or_op, "op", tensor_or_op).type == "Const"


def unknown_shape(rank=None, **kwargs):
    from weir.framework.shapes import TensorShape
    rank = kwargs.get("ndims", rank)
    return TensorShape(None) if rank is None else TensorShape([None] * rank)


def dimension_value(dimension):
    return getattr(dimension, "value", dimension)


def scalar_shape():
    from weir.framework.shapes import TensorShape
    return TensorShape([])


def vector_shape(length):
    from weir.framework.shapes import TensorShape
    return TensorShape([length])


def matrix_shape(rows, cols):
    from weir.framework.shapes import TensorShape
    return TensorShape([rows, cols])


def graph_mode():
    """Operations go into the default graph of compat.v1 inside this context."""
    from weir.framework.graph import get_default_graph
    return get_default_graph().as_default()


class Context:
    """What tests ask of the eager context. The engine has no state of its own that these would change."""

    ones_rank_cache = None

    def executing_eagerly(self):
        from weir.framework.graph import executing_eagerly
        return executing_eagerly()

    def num_gpus(self):
        return num_gpus()

    def ensure_initialized(self):
        pass

    def clear_kernel_cache(self):
        pass

    def list_physical_devices(self, device_type=None):
        from weir.framework import config
        return config.list_physical_devices(device_type)

    def list_logical_devices(self, device_type=None):
        from weir.framework import config
        return config.list_logical_devices(device_type)

    @property
    def device_name(self):
        from weir.framework import config
        return config.list_logical_devices()[0].name


_context = Context()


def context():
    return _context


def num_gpus():
    from weir.framework import config
    return len(config.list_logical_devices("GPU"))


def async_wait():
    pass


def in_graph_mode():
    return not _context.executing_eagerly()


def false(*_args):
    return False


def none(*_args):
    return None


def is_ragged(value):
    return type(value).__name__ in ("RaggedTensor", "RaggedTensorValue")


def is_variable(value):
    from weir.variables import Variable
    return isinstance(value, Variable)


def defun(func=None, input_signature=None, autograph=True, **_):
    """tf.function under its name of TensorFlow 1."""
    from weir.eager.function import function
    return function(func, input_signature=input_signature, autograph=autograph)


def with_dependencies(dependencies, output_tensor, name=None):
    """`output_tensor`, computed after `dependencies`."""
    from weir.framework import control_dependencies
    from weir.framework.conversion import identity
    with control_dependencies(dependencies):
        return identity(output_tensor, name=name)


def _value(path):
    if ":" in path:
        home, _, attribute = path.partition(":")
        if not attribute:
            return importlib.import_module(home)
        return functools.reduce(getattr, attribute.split("."), importlib.import_module(home))
    import weir
    return functools.reduce(getattr, path.split("."), weir)


def _words(text, prefix=""):
    out = {}
    for word in text.split():
        name, _, path = word.partition("=")
        out[name] = prefix + (path or name)
    return out


@functools.lru_cache(None)
def _ops_by_name():
    """{name of an op in snake case: the op}, as TensorFlow names its generated functions."""
    from weir import _core
    out = {}
    for op in _core.op_names():
        snake = re.sub(r"([A-Z]+)([A-Z][a-z])|([a-z0-9])([A-Z])",
                       lambda m: f"{m[1]}_{m[2]}" if m[1] else f"{m[3]}_{m[4]}", op)
        snake = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", snake).lower()
        out[snake] = op
        out.setdefault("_" + snake, op)
    return out


def _op(snake):
    from weir.ops import generated
    found = _ops_by_name().get(snake)
    if found is None:
        raise AttributeError(snake)
    return getattr(generated, found)


class _Internal(types.ModuleType):
    """One internal module; its names are resolved when they are first asked for."""

    def __init__(self, name, names, generated, base):
        super().__init__(name)
        self.__path__ = []
        self.__dict__.update(_names=names, _generated=generated, _base=base)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        path = self.__dict__["_names"].get(name)
        base = self.__dict__["_base"]
        missing = AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        try:
            if path is not None and path.startswith("raw."):
                value = _op(path[4:])
            elif path is not None:
                value = _value(path)
            elif base is not None and name in base():
                value = base()[name]
            elif self.__dict__["_generated"]:
                value = _op(name)
            else:
                raise missing
        except AttributeError:
            raise missing from None
        self.__dict__[name] = value
        return value

    def __dir__(self):
        return sorted({*self.__dict__["_names"], *(self.__dict__["_base"]() if self.__dict__["_base"] else ())})


@functools.lru_cache(None)
def packages():
    """Names of the packages that hold internal modules."""
    from weir import _internal_names
    out = set()
    for name in [*_internal_names.TABLE, *_BY_HAND, "ops.gen_array_ops"]:
        parts = (_PREFIX + name).split(".")
        out.update(".".join(parts[:i]) for i in range(1, len(parts)))
    return out


def module(name, base=None):
    """The internal module `name`, or None; `base()` gives more names, after those of the tables."""
    if not name.startswith(_PREFIX):
        return None
    from weir import _internal_names
    short = name[len(_PREFIX):]
    generated = short.startswith("ops.gen_") or "._gen_" in short or ".gen_" in short
    table = _internal_names.TABLE.get(short)
    by_hand = _BY_HAND.get(short)
    if short == "framework.test_util":
        base = lambda: vars(importlib.import_module("weir.framework.test_util"))  # noqa: E731
    elif table is None and not by_hand and not generated:
        return None
    names = {}
    for prefix, words in (table or {}).items():
        names.update(_words(words, prefix + "." if prefix else ""))
    names.update(_words(by_hand or ""))
    return _Internal(name, names, generated, base)
