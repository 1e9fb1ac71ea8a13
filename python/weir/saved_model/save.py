"""tf.saved_model.save: objects, their functions and variables as a folder.

Two forms are written side by side: the graph of objects, which tf.saved_model.load reads, and a graph of TensorFlow 1
with signatures, which servers and sessions read.
"""

import os
import shutil

from weir import _core, nest
from weir.compat.v1.graph_ops import group
from weir.eager.function import ConcreteFunction, Function
from weir.eager.function_arguments import Keywords
from weir.framework import convert_to_tensor, dtypes, protos, raw_ops
from weir.framework.graph import Graph, eager_mode
from weir.framework.tensor import EagerTensor, Tensor
from weir.framework.type_spec import TensorSpec
from weir.saved_model import constants, fingerprint, gradients, loops, structures
from weir.saved_model.objects import Asset, CapturableResource, SaveOptions
from weir.trackable import DictWrapper, ListWrapper, Trackable
from weir.train import checkpoint as checkpoints
from weir.variables import Variable

__all__ = ["save"]


class _Signatures(Trackable):
    """The signatures of a model by name."""

    def __init__(self, functions):
        self.functions = functions

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return dict(self.functions) if save_type == "savedmodel" else {}


def _to_concrete(function, key):
    if isinstance(function, ConcreteFunction):
        return function
    if isinstance(function, Function):
        if function.input_signature is not None:
            return function.get_concrete_function()
        traces = function._list_all_concrete_functions()
        if len(traces) == 1:
            return traces[0]
        raise ValueError(f"The function for the signature {key!r} has {len(traces)} traces; a signature needs one: give the "
                         "tf.function an input_signature, or pass function.get_concrete_function(...)")
    raise ValueError(f"Expected a TensorFlow function for which to generate a signature, but got {function}. Only "
                     "`tf.functions` with an input signature or concrete functions can be used as a signature.")


def _default_signature(root):
    """The function that becomes serving_default if none is given: the only one of the root that could."""
    found = []
    for child in root._trackable_children(save_type="savedmodel").values():
        if isinstance(child, ConcreteFunction) or isinstance(child, Function) and child.input_signature is not None:
            concrete = _to_concrete(child, constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY)
            if _fits_signature(concrete):
                found.append(concrete)
    return found[0] if len(found) == 1 else None


def _fits_signature(concrete):
    names = concrete._arg_keywords or []
    try:
        _outputs_by_name(concrete.structured_outputs)
    except ValueError:
        return False
    return all(names) and len(set(names)) == len(names)


def _outputs_by_name(outputs):
    if isinstance(outputs, dict):
        if not all(isinstance(v, (Tensor, TensorSpec)) for v in outputs.values()):
            raise ValueError("Got a dictionary containing non-Tensor value in the output of a function used to generate "
                             "SavedModel signatures. Dictionaries outputs for functions used as signatures should have one "
                             "Tensor output per string key.")
        return dict(outputs)
    flat = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    if outputs is None or not all(isinstance(v, (Tensor, TensorSpec)) for v in flat):
        raise ValueError(f"Got non-flat/non-unique argument names or outputs for SavedModel signatures: {outputs}")
    return {f"output_{i}": v for i, v in enumerate(flat)}


def _wrapper(concrete, key):
    """A function that takes named tensors and gives a dict of tensors."""
    specs = []
    names = concrete._arg_keywords or []
    for i, tensor in enumerate(concrete.argument_specs if hasattr(concrete, "argument_specs") else concrete.graph.inputs):
        name = names[i] if i < len(names) and names[i] else f"arg_{i}"
        specs.append(TensorSpec(tensor.shape, tensor.dtype, name))
    names = [s.name for s in specs]
    if len(set(names)) != len(names):
        raise ValueError(f"Got non-unique argument names for the SavedModel signature {key!r}: {names}")
    keys = list(_outputs_by_name(concrete.structured_outputs))

    def call(*tensors):
        results = concrete.run_flat(list(tensors))
        return dict(zip(sorted(keys) if isinstance(concrete.structured_outputs, dict) else keys, results))
    function = Function(call, f"signature_wrapper_{concrete._name.replace('__inference_', '').rsplit('_', 2)[0]}", specs,
                        autograph=False)
    made = function._make(tuple(specs), list(specs), specs, False)
    made._arg_keywords = names
    made._signature = ((), {s.name: s for s in specs})
    made._named_outputs = {k: TensorSpec(t.shape, t.dtype, k) for k, t in made.structured_outputs.items()}
    return made


def _signature_functions(root, signatures):
    if signatures is None:
        found = _default_signature(root)
        signatures = {} if found is None else {constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: found}
    elif not isinstance(signatures, dict):
        signatures = {constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    out = {}
    for key, function in signatures.items():
        if not isinstance(key, str):
            raise ValueError(f"The name of a signature must be a string, got {key!r}")
        if key == constants.INIT_OP:
            raise ValueError(f"{key!r} is reserved")
        out[key] = _wrapper(_to_concrete(function, key), key)
    return out


class _Writer:
    """One model on its way into a folder."""

    def __init__(self, root, signatures, options):
        self.root, self.options = root, options
        self.signatures = _signature_functions(root, signatures)
        self.objects, self.children, self.index = [], [], {}
        self.proto = protos.message("SavedObjectGraph")()
        self.graph = Graph()
        self.meta = protos.message("MetaGraphDef")()
        self.tensors = {}  # id of an eager tensor -> (node, tensor of the graph)
        self.assets = []  # [(path, file name, placeholder)]
        self.concrete = {}  # name -> ConcreteFunction
        self.names = set()

    # The objects.

    def walk(self):
        self._add(self.root)
        position = 0
        while position < len(self.objects):
            obj = self.objects[position]
            children = self._children(obj)
            if position == 0:
                children["signatures"] = _Signatures(self.signatures)
            for name, child in children.items():
                self.children[position].append((name, self._add(child)))
            position += 1

    @staticmethod
    def _children(obj):
        if isinstance(obj, (Function, ConcreteFunction, Variable, Tensor)) or not hasattr(obj, "_trackable_children"):
            return {}
        return {name: child for name, child in obj._trackable_children(save_type="savedmodel").items()}

    def _add(self, obj):
        if not isinstance(obj, Variable) and hasattr(obj, "_write_object_proto") and isinstance(
                getattr(obj, "value", None), Variable):
            obj = obj.value  # Keras's variables stand for TensorFlow's
        key = id(obj)
        if key not in self.index:
            self.index[key] = len(self.objects)
            self.objects.append(obj)
            self.children.append([])
        return self.index[key]

    # The graph of TensorFlow 1, and what functions capture.

    def place(self):
        """Nodes for variables, assets and resources, in the order in which functions may need them."""
        with self.graph.as_default():
            for number, obj in enumerate(list(self.objects)):
                if isinstance(obj, Variable):
                    name = self._free(obj._shared_name or "Variable")
                    handle = raw_ops.VarHandleOp(dtype=obj.dtype, shape=obj.shape, shared_name=name, name=name)
                    self.graph._set_handle_data(handle._node, 0, [(obj.dtype, obj.shape)])
                    self.tensors[obj.handle._id] = (number, handle)
                elif isinstance(obj, Asset):
                    self._place_asset(number, obj)
            for number, obj in enumerate(list(self.objects)):
                if isinstance(obj, CapturableResource):
                    self.tensors[obj.resource_handle._id] = (number, obj._create_resource())

    def _free(self, name):
        made, count = name, 0
        while made in self.names:
            count += 1
            made = f"{name}_{count}"
        self.names.add(made)
        return made

    def _place_asset(self, number, obj):
        with eager_mode():
            path = obj.asset_path.numpy().decode()
        known = {name for _, name, _ in self.assets}
        base = os.path.basename(path)
        name, count = base, 0
        while name in known:
            count += 1
            name = f"{base}_{count}"
        holder = raw_ops.Placeholder(dtype=dtypes.string, shape=[], name="asset_path_initializer")
        self.assets.append((path, name, holder))
        self.tensors[obj.asset_path._id] = (number, holder)

    def captured(self, concrete):
        """The nodes that a function's captures stand for; constants become nodes of their own."""
        nodes = []
        for tensor in concrete.captured_inputs:
            found = self.tensors.get(tensor._id)
            if found is None:
                if tensor.dtype._number in (20, 21) or not isinstance(tensor, EagerTensor):
                    raise AssertionError(
                        "Tried to export a function which references an 'untracked' resource. TensorFlow objects (e.g. "
                        "tf.Variable) captured by functions must be 'tracked' by assigning them to an attribute of a "
                        f"tracked object or assigned to an attribute of the main object directly. Function: "
                        f"{concrete._name}, captured: {tensor!r}")
                constant = self.graph.capture(tensor)
                number = self._add(_Constant(constant.op.name, tensor))
                found = self.tensors[tensor._id] = (number, constant)
            nodes.append(found[0])
        return nodes

    def captured_object(self, name, argument):
        """The node of the object that a function captured as this argument, if it captured one."""
        concrete = self.concrete.get(name)
        captured = [] if concrete is None else self.proto.concrete_functions[name].bound_inputs
        place = argument - (concrete._num_inputs if concrete is not None else 0)
        return captured[place] if 0 <= place < len(captured) else None

    # The messages.

    def note(self, concrete):
        if concrete._name not in self.concrete:
            self.concrete[concrete._name] = concrete
            made = self.proto.concrete_functions[concrete._name]
            made.bound_inputs.extend(self.captured(concrete))
            args, kwargs = concrete.structured_input_signature
            args = tuple(args)
            if args and isinstance(args[-1], Keywords):
                args, kwargs = args[:-1], dict(args[-1], **kwargs)
            made.canonicalized_input_signature.CopyFrom(_encode_or_none((args, dict(kwargs))))
            made.output_signature.CopyFrom(_encode_or_none(getattr(
                concrete, "_named_outputs", concrete.structured_outputs)))
        return concrete._name

    def describe(self):
        position = 0
        while position < len(self.objects):  # constants may be added on the way
            obj = self.objects[position]
            node = protos.message("SavedObject")()
            self._fill(node, obj)
            for name, child in self.children[position]:
                node.children.add(node_id=child, local_name=name)
            self.proto.nodes.append(node)
            position += 1

    def _fill(self, node, obj):
        if isinstance(obj, Variable):
            node.variable.dtype = obj.dtype.as_datatype_enum
            node.variable.shape.CopyFrom(structures.shape_proto(obj.shape))
            node.variable.trainable = obj.trainable
            node.variable.name = obj._shared_name
            node.variable.synchronization = obj.synchronization.value
            node.variable.aggregation = obj.aggregation.value
        elif isinstance(obj, Function):
            for concrete in obj._list_all_concrete_functions_for_serialization():
                try:
                    structures.encode(concrete.structured_input_signature[0])
                except TypeError:
                    continue  # a trace for a Python object cannot be called again
                node.function.concrete_functions.append(self.note(concrete))
            self._spec(node.function.function_spec, obj.python_function, obj.input_signature)
        elif isinstance(obj, ConcreteFunction):
            node.bare_concrete_function.concrete_function_name = self.note(obj)
            node.bare_concrete_function.argument_keywords.extend(n or "" for n in obj._arg_keywords or [])
            count = len(obj._arg_keywords or [])
            if hasattr(obj, "_named_outputs"):  # a signature takes its arguments by name, unless there is only one
                count = 1 if count == 1 else 0
            node.bare_concrete_function.allowed_positional_arguments = count
        elif isinstance(obj, _Constant):
            node.constant.operation = obj.operation
        elif isinstance(obj, Asset):
            with eager_mode():
                path = obj.asset_path.numpy().decode()
            node.asset.asset_file_def_index = next(i for i, (p, _, holder) in enumerate(self.assets)
                                                   if holder is self.tensors[obj.asset_path._id][1] or p == path)
        elif isinstance(obj, CapturableResource):
            node.resource.SetInParent()
        else:
            names = {ListWrapper: "trackable_list_wrapper", DictWrapper: "trackable_dict_wrapper",
                     _Signatures: "signature_map"}
            node.user_object.identifier = names.get(type(obj), "_generic_user_object")
            node.user_object.version.producer = node.user_object.version.min_consumer = 1

    @staticmethod
    def _spec(proto, python_function, input_signature):
        proto.fullargspec.CopyFrom(structures.encode(structures.argument_spec(python_function)))
        proto.input_signature.CopyFrom(structures.encode(None if input_signature is None else tuple(input_signature)))

    # Signatures, saving and restoring as TensorFlow 1 does it.

    def add_signatures(self):
        with self.graph.as_default():
            for key, concrete in self.signatures.items():
                entry = self.meta.signature_def[key]
                entry.method_name = constants.PREDICT_METHOD_NAME
                inputs = []
                for name, tensor in zip(concrete._arg_keywords, concrete.graph.inputs):
                    holder = raw_ops.Placeholder(dtype=tensor.dtype, shape=tensor.shape, name=f"{key}_{name}")
                    inputs.append(holder)
                    _info(entry.inputs[name], holder, tensor.shape)
                results = self._call(concrete, inputs)
                for name, result, inner in zip(sorted(concrete.structured_outputs), results, concrete.graph.outputs):
                    _info(entry.outputs[name], result, inner.shape)

    def _call(self, concrete, inputs):
        captures = [self.tensors[t._id][1] for t in concrete.captured_inputs]
        return concrete._call.run(list(inputs) + captures)

    def add_initializer(self):
        operations = []
        with self.graph.as_default():
            for obj in self.objects:
                if isinstance(obj, CapturableResource):
                    function = obj._trackable_children(save_type="savedmodel")["_initialize"]
                    results = self._call(function.get_concrete_function(), [])
                    operations.extend(r.op for r in results)
            init = group(*operations, name="init")
        self.meta.signature_def[constants.INIT_OP].outputs[constants.INIT_OP].name = init.name
        self.meta.signature_def[constants.INIT_OP].outputs[constants.INIT_OP].tensor_shape.unknown_rank = True

    def add_saver(self):
        keys, pairs = {}, []
        for obj, path, _ in checkpoints._walk(self.root):
            if isinstance(obj, Variable) and obj.handle._id in self.tensors and id(obj) not in keys:
                keys[id(obj)] = f"{path}/.ATTRIBUTES/VARIABLE_VALUE"
                pairs.append((keys[id(obj)], obj))
        with self.graph.as_default():
            prefix = raw_ops.Placeholder(dtype=dtypes.string, shape=[], name="saver_filename")
            names = convert_to_tensor([k.encode() for k, _ in pairs], dtypes.string)
            slices = convert_to_tensor([b""] * len(pairs), dtypes.string)
            done = []
            if pairs:
                handles = [self.tensors[v.handle._id][1] for _, v in pairs]
                values = [raw_ops.ReadVariableOp(resource=h, dtype=v.dtype) for h, (_, v) in zip(handles, pairs)]
                done.append(raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=slices, tensors=values))
                restored = raw_ops.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=slices,
                                             dtypes=[v.dtype for _, v in pairs])
                assigned = [raw_ops.AssignVariableOp(resource=h, value=raw_ops.Identity(input=r))
                            for h, r in zip(handles, restored)]
            else:
                assigned = []
            with self.graph.control_dependencies(done):
                saved = raw_ops.Identity(input=prefix, name="save_path")
            restore = group(*assigned, name="restore_all")
        self.meta.saver_def.filename_tensor_name = prefix.name
        self.meta.saver_def.save_tensor_name = saved.name
        self.meta.saver_def.restore_op_name = restore.name
        self.meta.saver_def.version = 2

    def finish(self):
        meta = self.meta
        meta.meta_info_def.tags.append(constants.SERVING)
        meta.meta_info_def.tags.extend(self.options.extra_tags or [])
        meta.meta_info_def.tensorflow_version = "2.21.0"
        meta.meta_info_def.tensorflow_git_version = "weir"
        meta.graph_def.ParseFromString(self.graph._to_graph_def())
        meta.graph_def.ClearField("library")
        needed = list(self.concrete)
        for node in meta.graph_def.node:
            needed.extend(a.func.name for a in node.attr.values() if a.HasField("func"))
        meta.graph_def.library.ParseFromString(_core.function_library(sorted(set(needed))))
        loops.write(meta.graph_def.library)
        gradients.write(meta.graph_def.library, self.proto, self.captured_object,
                        self.options.experimental_custom_gradients)
        meta.graph_def.versions.producer = protos.GRAPH_VERSION
        meta.object_graph_def.CopyFrom(self.proto)
        for _, name, holder in self.assets:
            entry = meta.asset_file_def.add(filename=name)
            entry.tensor_info.name = holder.name
            entry.tensor_info.dtype = 7
        for alias, function in self.options.function_aliases.items():
            for concrete in [function] if isinstance(function, ConcreteFunction) else \
                    function._list_all_concrete_functions():
                meta.meta_info_def.function_aliases[concrete._name] = alias
        return meta


class _Constant:
    """A tensor that functions capture."""

    def __init__(self, operation, tensor):
        self.operation, self.tensor = operation, tensor


def _encode_or_none(value):
    try:
        return structures.encode(value)
    except TypeError:
        flat = nest.map_structure(lambda v: v if isinstance(v, (Tensor, TensorSpec)) else None, value)
        return structures.encode(flat)


def _info(entry, tensor, shape):
    entry.name = tensor.name
    entry.dtype = tensor.dtype.as_datatype_enum
    entry.tensor_shape.CopyFrom(structures.shape_proto(shape))


def save(obj, export_dir, signatures=None, options=None):
    """Writes `obj`, a tf.Module say, with its variables and functions to a folder."""
    export_dir = os.fspath(export_dir)
    if not isinstance(obj, Trackable):
        raise ValueError(f"Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the `Trackable` "
                         f"class, for export. Got {obj} with type {type(obj)}.")
    if _core.current_graph() is not None and _core.current_graph().building_function:
        raise AssertionError("`tf.saved_model.save` is not supported inside a traced `@tf.function`. Move the call to the "
                             "outer eagerly-executed context.")
    writer = _Writer(obj, signatures, options or SaveOptions())
    writer.walk()
    writer.place()
    writer.describe()
    writer.add_signatures()
    writer.add_initializer()
    writer.add_saver()
    meta = writer.finish()
    os.makedirs(os.path.join(export_dir, constants.VARIABLES_DIRECTORY), exist_ok=True)
    os.makedirs(os.path.join(export_dir, constants.ASSETS_DIRECTORY), exist_ok=True)
    with eager_mode():
        checkpoints._save(obj, os.path.join(export_dir, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME))
    for path, name, _ in writer.assets:
        shutil.copy(path, os.path.join(export_dir, constants.ASSETS_DIRECTORY, name))
    model = protos.message("SavedModel")(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
    model.meta_graphs.append(meta)
    with open(os.path.join(export_dir, constants.SAVED_MODEL_FILENAME_PB), "wb") as file:
        file.write(model.SerializeToString())
    fingerprint.write_fingerprint(export_dir, model)
