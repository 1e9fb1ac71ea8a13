"""tf.saved_model.load: the objects of a SavedModel, with functions that can be called."""

import itertools
import os

import numpy as np

from weir import _core, nest
from weir.eager import function as functions
from weir.eager import tape as tapes
from weir.eager.function import ConcreteFunction, Function, GenericFunction
from weir.framework import as_dtype, convert_to_tensor, errors, protos
from weir.framework.graph import eager_mode, init_scope
from weir.framework.operators import kind_name
from weir.framework.tensor import Tensor
from weir.framework.tensor_proto import make_ndarray
from weir.framework.type_spec import CompositeTensor, TensorSpec, TypeSpec
from weir.saved_model import constants, gradients, structures
from weir.saved_model.objects import Asset, LoadOptions, TrackableResource
from weir.trackable import AutoTrackable, DictWrapper, ListWrapper, Trackable
from weir.train import checkpoint as checkpoints
from weir.variables import Variable, VariableAggregation, VariableSynchronization

__all__ = ["load", "contains_saved_model", "read_saved_model"]

_loads = itertools.count()


def contains_saved_model(export_dir):
    """Whether a folder holds a SavedModel."""
    folder = os.fspath(export_dir)
    return any(os.path.isfile(os.path.join(folder, name)) for name in (constants.SAVED_MODEL_FILENAME_PB,
                                                                      constants.SAVED_MODEL_FILENAME_PBTXT))


def read_saved_model(export_dir):
    """The SavedModel message of a folder."""
    folder = os.fspath(export_dir)
    message = protos.message("SavedModel")
    path = os.path.join(folder, constants.SAVED_MODEL_FILENAME_PB)
    if os.path.isfile(path):
        with open(path, "rb") as file:
            return message.FromString(file.read())
    path = os.path.join(folder, constants.SAVED_MODEL_FILENAME_PBTXT)
    if os.path.isfile(path):
        from google.protobuf import text_format
        with open(path) as file:
            return text_format.Parse(file.read(), message())
    raise OSError(f"SavedModel file does not exist at: {folder}{os.sep}{{saved_model.pbtxt|saved_model.pb}}")


def find_meta_graph(model, tags):
    """The MetaGraphDef with exactly these tags."""
    for meta in model.meta_graphs:
        if set(meta.meta_info_def.tags) == set(tags):
            return meta
    raise RuntimeError(f"MetaGraphDef associated with tags {str(sorted(tags))[1:-1]} could not be found in SavedModel, with "
                       f"available tags '{[set(m.meta_info_def.tags) for m in model.meta_graphs]}'.")


def _rename_functions(library, suffix):
    """Gives functions names that nothing in this process has; {old: new}."""
    names = {f.signature.name: f"{f.signature.name}_{suffix}" for f in library.function}

    def attributes(attrs):
        for attr in attrs.values():
            kind = attr.WhichOneof("value")
            if kind == "func":
                attr.func.name = names.get(attr.func.name, attr.func.name)
                attributes(attr.func.attr)
            elif kind == "list":
                for function in attr.list.func:
                    function.name = names.get(function.name, function.name)
                    attributes(function.attr)
    for function in library.function:
        function.signature.name = names[function.signature.name]
        for node in function.node_def:
            node.op = names.get(node.op, node.op)
            attributes(node.attr)
        attributes(function.attr)
    for gradient in library.gradient:
        gradient.function_name = names.get(gradient.function_name, gradient.function_name)
        gradient.gradient_func = names.get(gradient.gradient_func, gradient.gradient_func)
    for gradient in library.registered_gradients:
        gradient.gradient_func = names.get(gradient.gradient_func, gradient.gradient_func)
    return names


class LoadedFunction(ConcreteFunction):
    """A concrete function of a SavedModel."""

    def __init__(self, name, definition, saved, keywords=None):  # pylint: disable=super-init-not-called
        self._name = name
        self.graph = None
        self._stateful = True
        signature = definition.signature
        self._input_types = [as_dtype(a.type) for a in signature.input_arg]
        self._output_types = [as_dtype(a.type) for a in signature.output_arg]
        self._call = _core.Call(name, True, self._input_types, self._output_types)
        self._captured, self._variables, self._trainable = [], (), ()
        self._num_inputs = len(self._input_types) - len(saved.bound_inputs)
        self._signature = structures.decode(saved.canonicalized_input_signature) or ((), {})
        self._outputs = structures.decode(saved.output_signature)
        self._python_function = None
        flat = [s for s in nest.flatten(self._signature, expand_composites=False) if isinstance(s, TypeSpec)]
        self.argument_specs = [part for s in flat for part in (s._flat_tensor_specs if not isinstance(s, TensorSpec)
                                                               else [s])]
        self._arg_keywords = list(keywords) if keywords is not None else [s.name for s in self.argument_specs]
        self._shapes = [s.shape for s in _flat_specs(self._outputs)]

    name = property(lambda self: self._name.encode())
    inputs = property(lambda self: list(self.argument_specs))
    outputs = property(lambda self: _flat_specs(self._outputs))
    structured_outputs = property(lambda self: self._outputs)

    def bind(self, tensors, variables):
        """The tensors that the function captured when it was saved."""
        self._captured = list(tensors)
        self._variables = tuple(variables)
        self._trainable = tuple(v for v in variables if v.trainable)

    def run_flat(self, tensors):
        graph = _core.current_graph()
        if self._trainable and (tapes._TAPES or graph is not None):
            for variable in self._trainable:
                tapes.variable_accessed(variable)
        if graph is not None and graph.building_function:
            for variable in self._variables:
                graph.watch_variable(variable)
        results = self._call.run(list(tensors) + self._captured)
        if graph is not None:
            for result, shape in zip(results, self._shapes):
                result.set_shape(shape)
        return results

    def pack(self, results):
        if self._outputs is None:
            return None
        rest = iter(results)

        def one(spec):
            if isinstance(spec, TensorSpec):
                return next(rest)
            if isinstance(spec, TypeSpec):
                return _composite(spec, rest)
            return spec
        return nest.map_structure(one, self._outputs, expand_composites=False)

    def __call__(self, *args, **kwargs):
        flat = nest.flatten(list(args), expand_composites=True)
        if kwargs:
            for name in self._arg_keywords[len(flat):]:
                if name in kwargs:
                    flat.extend(nest.flatten(kwargs.pop(name), expand_composites=True))
            if kwargs:
                raise TypeError(f"{self._name} got unexpected keyword arguments: {', '.join(sorted(kwargs))}.")
        given = [v for v in flat if isinstance(v, (Tensor, np.ndarray, np.generic, int, float, bool, str, bytes))
                 or hasattr(v, "__tf_tensor__")]
        if len(given) != self._num_inputs:
            raise TypeError(f"{self._name}({', '.join(str(n) for n in self._arg_keywords)}) takes {self._num_inputs} tensors "
                            f"but {len(given)} were given")
        tensors = []
        for value, dtype, i in zip(given, self._input_types, itertools.count()):
            tensor = value if isinstance(value, Tensor) else convert_to_tensor(value, dtype)
            if tensor.dtype is not dtype:
                raise errors.InvalidArgumentError(None, None, f"cannot compute {self._name} as input #{i}(zero-based) was "
                                                  f"expected to be a {kind_name(dtype)} tensor but is a {kind_name(tensor.dtype)} tensor "
                                                  f"[Op:{self._name}]")
            tensors.append(tensor)
        return self.pack(self.run_flat(tensors))


def _composite(spec, rest):
    parts = [next(rest) for _ in spec._flat_tensor_specs]
    components = spec._component_specs
    return spec._from_components(nest.pack_sequence_as(components, parts, expand_composites=True))


def _flat_specs(structure):
    out = []
    for leaf in nest.flatten(structure, expand_composites=False):
        if isinstance(leaf, TensorSpec):
            out.append(leaf)
        elif isinstance(leaf, TypeSpec):
            out.extend(leaf._flat_tensor_specs)
    return out


class RestoredFunction(Function):
    """A tf.function of a SavedModel: calls find the trace that fits."""

    def __init__(self, concrete, spec, name):  # pylint: disable=super-init-not-called
        self._concrete = concrete
        self._name = name
        self._spec = structures.decode(spec.fullargspec)
        given = structures.decode(spec.input_signature)
        self._input_signature = None if given is None else tuple(given)
        self._signature = None if self._spec is None else structures.python_signature(self._spec)
        if self._signature is not None and spec.is_method and list(self._signature.parameters)[:1] == ["self"]:
            self._signature = self._signature.replace(parameters=list(self._signature.parameters.values())[1:])
        for function in concrete:
            function._python_signature = self._signature
        self._python_function = self.__call__
        self._bound, self._traces, self._count = {}, {}, len(concrete)
        self.__name__ = name
        self.__wrapped__ = None

    def _parameters(self):
        return self._signature

    def _list_all_concrete_functions(self):
        return list(self._concrete)

    _list_all_concrete_functions_for_serialization = _list_all_concrete_functions

    concrete_functions = property(lambda self: list(self._concrete))

    @property
    def python_function(self):
        function = lambda *args, **kwargs: self(*args, **kwargs)  # noqa: E731
        if self._signature is not None:
            function.__signature__ = self._signature
        return function

    def _bound_arguments(self, args, kwargs):
        if self._signature is None:
            return args, kwargs
        bound = self._signature.bind(*args, **kwargs)
        if self._input_signature is None or len(bound.args) > len(self._input_signature):
            bound.apply_defaults()  # an input signature leaves out the arguments that have defaults
        return bound.args, bound.kwargs

    def __call__(self, *args, **kwargs):
        try:
            arguments = self._bound_arguments(args, kwargs)
        except TypeError:
            arguments = args, kwargs
        for concrete in self._concrete:
            tensors = _matching(concrete._signature, arguments)
            if tensors is not None:
                return concrete.pack(concrete.run_flat(tensors))
        if self._input_signature is not None:
            self._refuse(args, kwargs)
        options = "\n\n".join(f"Option {i + 1}:\n{_described(*c.structured_input_signature)}"
                              for i, c in enumerate(self._concrete))
        raise ValueError("Could not find matching concrete function to call loaded from the SavedModel. Got:\n"
                         f"{_described(args, kwargs)}\n\n Expected these arguments to match one of the following "
                         f"{len(self._concrete)} option(s):\n\n{options}")

    def _refuse(self, args, kwargs):
        """Raises for the first argument that the input signature does not take."""
        for value, spec in zip(args, self._input_signature):
            if isinstance(value, Tensor) and isinstance(spec, TensorSpec) and not spec.is_compatible_with(value):
                raise TypeError(f"Binding inputs to tf.function failed due to `Can not cast "
                                f"{TensorSpec(value.shape, value.dtype)} to {spec}`. Received args: {args} and kwargs: {kwargs} "
                                f"for signature: {self.function_type}.")

    def get_concrete_function(self, *args, **kwargs):
        if not args and not kwargs and len(self._concrete) == 1:
            return self._concrete[0]
        arguments = self._bound_arguments(args, kwargs)
        for concrete in self._concrete:
            if _matching(concrete._signature, arguments, specs_too=True) is not None:
                return concrete
        raise ValueError("Could not find matching concrete function to call loaded from the SavedModel.")

    def __get__(self, instance, owner=None):
        return self


def _described(args, kwargs):
    """Arguments, or specs of them, as errors list them."""
    lines = "".join(f"    * {a}\n" for a in args)
    return f"  Positional arguments ({len(args)} total):\n{lines}  Keyword arguments: {kwargs}"


def _matching(signature, arguments, specs_too=False):
    """The flat tensors of a call if it fits a signature, else None."""
    expected_args, expected_kwargs = signature
    args, kwargs = arguments
    if len(args) != len(expected_args) or set(kwargs) != set(expected_kwargs):
        return None
    out = []

    def fits(expected, value):
        if isinstance(expected, TensorSpec):
            if specs_too and isinstance(value, TensorSpec):
                out.append(value)
                return expected.dtype == value.dtype and expected.shape.is_compatible_with(value.shape)
            try:
                tensor = value if isinstance(value, Tensor) else convert_to_tensor(
                    value, expected.dtype if not hasattr(value, "dtype") else None)
            except (TypeError, ValueError):
                return False
            out.append(tensor)
            return tensor.dtype == expected.dtype and expected.shape.is_compatible_with(tensor.shape)
        if isinstance(expected, TypeSpec):
            if not isinstance(value, CompositeTensor) or not expected.is_compatible_with(value):
                return False
            out.extend(nest.flatten(value, expand_composites=True))
            return True
        if isinstance(expected, dict):
            return isinstance(value, dict) and sorted(expected) == sorted(value) and all(
                [fits(expected[k], value[k]) for k in sorted(expected)])
        if isinstance(expected, (list, tuple)):
            return isinstance(value, (list, tuple)) and len(expected) == len(value) and all(
                [fits(e, v) for e, v in zip(expected, value)])
        if isinstance(value, (Tensor, TensorSpec)):
            return False
        return type(expected) is type(value) and expected == value or expected is value
    if not all([fits(e, v) for e, v in zip(expected_args, args)]):
        return None
    if not all([fits(expected_kwargs[k], kwargs[k]) for k in sorted(expected_kwargs)]):
        return None
    return out


class _UserObject(AutoTrackable):
    """An object of a SavedModel, with the attributes that it had."""


class _SignatureMap(dict, Trackable):
    """The signatures of a model by name."""

    def __repr__(self):
        return f"_SignatureMap({dict.__repr__(self)})"

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return {}


class RestoredResource(TrackableResource):
    """A table or another resource of a SavedModel."""

    def _create_resource(self):
        return self.__dict__["_functions"]["_create_resource"]()

    def _initialize(self):
        return self.__dict__["_functions"]["_initialize"]()

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        children = Trackable._trackable_children(self, save_type, **kwargs)
        return dict(children, **self.__dict__.get("_functions", {})) if save_type == "savedmodel" else children


class _Loader:
    def __init__(self, export_dir, meta, options):
        self.folder, self.meta, self.options = export_dir, meta, options
        self.proto = meta.object_graph_def
        self.objects = {}
        self.functions = {}

    def load(self):
        library = self.meta.graph_def.library
        gradients.read(library, self.proto)
        self.names = _rename_functions(library, f"loaded_{next(_loads)}")
        _core.add_function_library(library.SerializeToString())
        # They stay, whatever else calls them and goes.
        getattr(functions, "live_functions", set()).update(self.names.values())
        definitions = {f.signature.name: f for f in library.function}
        keywords = {n.bare_concrete_function.concrete_function_name: n.bare_concrete_function.argument_keywords
                    for n in self.proto.nodes if n.HasField("bare_concrete_function")}
        for name, saved in self.proto.concrete_functions.items():
            new = self.names[name]
            self.functions[name] = LoadedFunction(new, definitions[new], saved)
            if name in keywords and not all(self.functions[name]._arg_keywords):
                self.functions[name]._arg_keywords = list(keywords[name])
        for number, node in enumerate(self.proto.nodes):
            self.objects[number] = self._make(node)
        for number, node in enumerate(self.proto.nodes):
            self._connect(number, node)
        self._bind([n for n in self.functions if not self._needs_resource(n)])
        self._make_resources()
        self._bind(list(self.functions))
        self._restore()
        self._initialize()
        root = self.objects[0]
        if not hasattr(root, "signatures"):
            object.__setattr__(root, "signatures", _SignatureMap())
        root.__dict__["graph_debug_info"] = None
        root.__dict__["tensorflow_version"] = self.meta.meta_info_def.tensorflow_version
        root.__dict__["tensorflow_git_version"] = self.meta.meta_info_def.tensorflow_git_version
        return root

    def _make(self, node):
        kind = node.WhichOneof("kind")
        if kind == "variable":
            return self._variable(node.variable)
        if kind == "asset":
            entry = self.meta.asset_file_def[node.asset.asset_file_def_index]
            return Asset(os.path.join(self.folder, constants.ASSETS_DIRECTORY, entry.filename))
        if kind == "constant":
            source = next(n for n in self.meta.graph_def.node if n.name == node.constant.operation)
            tensor = source.attr["value"].tensor
            return convert_to_tensor(make_ndarray(tensor), as_dtype(tensor.dtype))
        if kind == "function":
            concrete = [self.functions[n] for n in node.function.concrete_functions]
            return RestoredFunction(concrete, node.function.function_spec, concrete[0]._name if concrete else "function")
        if kind == "bare_concrete_function":
            made = self.functions[node.bare_concrete_function.concrete_function_name]
            if node.bare_concrete_function.argument_keywords:
                made._arg_keywords = list(node.bare_concrete_function.argument_keywords)
            return made
        if kind == "resource":
            return RestoredResource()
        identifier = node.user_object.identifier
        if identifier == "trackable_list_wrapper":
            return ListWrapper([])
        if identifier == "trackable_dict_wrapper":
            return DictWrapper({})
        if identifier == "signature_map":
            return _SignatureMap()
        return _UserObject()

    @staticmethod
    def _variable(saved):
        shape = structures.from_shape_proto(saved.shape)
        dtype = as_dtype(saved.dtype)
        sizes = [d or 0 for d in shape.as_list()] if shape.rank is not None else []
        with init_scope():
            from weir.ops import array
            first = array.zeros(sizes, dtype)
            return Variable(first, trainable=saved.trainable, name=saved.name or None, dtype=dtype, shape=shape,
                            synchronization=VariableSynchronization(saved.synchronization),
                            aggregation=VariableAggregation(saved.aggregation))

    def _connect(self, number, node):
        parent = self.objects[number]
        resource = {}
        for child in node.children:
            value = self.objects[child.node_id]
            if isinstance(parent, _SignatureMap):
                parent[child.local_name] = value
            elif isinstance(parent, ListWrapper):
                while len(parent) <= int(child.local_name):
                    list.append(parent, None)
                list.__setitem__(parent, int(child.local_name), value)
            elif isinstance(parent, DictWrapper):
                parent[child.local_name] = value
            elif isinstance(parent, RestoredResource):
                if isinstance(value, GenericFunction):
                    resource[child.local_name] = value
                else:
                    parent._track_trackable(value, child.local_name, overwrite=True)
            elif isinstance(parent, (Variable, GenericFunction, Tensor, Asset)):
                continue
            else:
                try:
                    setattr(parent, child.local_name, value)
                except AttributeError:
                    parent._track_trackable(value, child.local_name, overwrite=True)
                if child.local_name == "__call__" and isinstance(value, GenericFunction):
                    parent.__class__ = type("_UserObject", (_Callable,), {})
        if resource:
            parent.__dict__["_functions"] = resource

    def _needs_resource(self, name):
        return any(isinstance(self.objects[i], RestoredResource) for i in self.proto.concrete_functions[name].bound_inputs)

    def _bind(self, names):
        for name in names:
            function = self.functions[name]
            tensors, variables = [], []
            for i in self.proto.concrete_functions[name].bound_inputs:
                obj = self.objects[i]
                if isinstance(obj, Variable):
                    variables.append(obj)
                    tensors.append(obj.handle)
                elif isinstance(obj, Asset):
                    tensors.append(obj.asset_path)
                elif isinstance(obj, RestoredResource):
                    tensors.append(obj.resource_handle)
                elif isinstance(obj, Tensor):
                    tensors.append(obj)
                else:
                    raise NotImplementedError(f"a function of the SavedModel captures a {type(obj).__name__}")
            function.bind(tensors, variables)

    def _make_resources(self):
        for obj in self.objects.values():
            if isinstance(obj, RestoredResource) and "_functions" in obj.__dict__:
                obj.resource_handle  # noqa: B018  (makes it)

    def _restore(self):
        if self.options.experimental_skip_checkpoint:
            return
        prefix = os.path.join(self.folder, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME)
        if not os.path.exists(prefix + ".index"):
            return
        restoration = checkpoints._Restoration(prefix)
        restoration.restore(self.objects[0], 0)

    def _initialize(self):
        for obj in self.objects.values():
            if isinstance(obj, RestoredResource) and "_initialize" in obj.__dict__.get("_functions", {}):
                obj._initialize()


class _Callable(_UserObject):
    def __call__(self, *args, **kwargs):
        return self.__dict__["__call__"](*args, **kwargs)


def load(export_dir, tags=None, options=None):
    """The root object of a SavedModel."""
    export_dir = os.fspath(export_dir)
    if isinstance(tags, str):
        tags = [tags]
    model = read_saved_model(export_dir)
    if len(model.meta_graphs) != 1 or not model.meta_graphs[0].HasField("object_graph_def"):
        from weir.saved_model.load_v1 import load_v1
        return load_v1(export_dir, model, tags)
    meta = model.meta_graphs[0]
    if tags is not None and set(tags) != set(meta.meta_info_def.tags):
        raise ValueError(f"Got an incompatible argument to `tags`: {tags}. The SavedModel at {export_dir} has one MetaGraph "
                         f"with tags {list(meta.meta_info_def.tags)}. You may omit the argument, pass 'None', or pass "
                         "matching tags.")
    with init_scope() if _core.current_graph() is not None else eager_mode():
        return _Loader(export_dir, meta, options or LoadOptions()).load()
