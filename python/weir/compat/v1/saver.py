"""tf.train.Saver: variables written to and read from checkpoints by operations of the graph; meta graphs."""

import collections
import os
import re
import time


from weir.compat.v1 import logging, scopes
from weir.compat.v1.graph_ops import group, import_graph_def
from weir.compat.v1.ref_variable import RefVariable, is_reference, variable_ops
from weir.framework import convert_to_tensor, dtypes, errors, protos, raw_ops
from weir.framework.graph import GraphKeys, Operation, eager_mode, executing_eagerly, get_default_graph, name_scope
from weir.framework.tensor import Tensor
from weir.train import checkpoint as checkpoints
from weir.variables import Variable, VariableV1

__all__ = ["Saver", "export_meta_graph", "import_meta_graph", "checkpoint_exists", "generate_checkpoint_state_proto",
           "get_checkpoint_mtimes", "remove_checkpoint", "update_checkpoint_state", "NewCheckpointReader",
           "init_from_checkpoint"]


def _slice_spec(variable):
    info = variable._get_save_slice_info() if isinstance(variable, Variable) else None
    if info is None:
        return ""
    sizes = " ".join(str(d) for d in info.full_shape)
    return sizes + " " + ":".join(f"{o},{s}" for o, s in zip(info.var_offset, info.var_shape))


def _variables_by_name(var_list):
    """[(name in the checkpoint, variable)] of a list or dict of variables, parts of partitioned ones apart."""
    out = []
    if isinstance(var_list, dict):
        for name, value in sorted(var_list.items()):
            if isinstance(value, scopes.PartitionedVariable):
                out += [(name, part) for part in value._get_variable_list()]
            elif isinstance(value, (list, tuple)):
                out += [(name, part) for part in value]
            else:
                out.append((name, value))
        return out
    names = set()
    for value in var_list:
        parts = value._get_variable_list() if isinstance(value, scopes.PartitionedVariable) else [value]
        for part in parts:
            if not hasattr(part, "handle") and not hasattr(part, "_restore_from_tensors"):
                raise TypeError(f"names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a "
                                f"variable: {part}")
            info = part._get_save_slice_info() if isinstance(part, Variable) else None
            name = info.full_name if info is not None else _own_name(part)
            if info is None and name in names:
                raise ValueError(f"At least two variables have the same name: {name}")
            names.add(name)
            out.append((name, part))
    return sorted(out, key=lambda pair: pair[0])


def _own_name(variable):
    if isinstance(variable, Variable):
        return variable._shared_name
    return variable.name.split(":")[0]


def _strings(values):
    return convert_to_tensor([v.encode() for v in values], dtypes.string)


class Saver:
    """Saves variables and restores them."""

    def __init__(self, var_list=None, reshape=False, sharded=False, max_to_keep=5, keep_checkpoint_every_n_hours=10000.0,
                 name=None, restore_sequentially=False, saver_def=None, builder=None, defer_build=False,
                 allow_empty=False, write_version=2, pad_step_number=False, save_relative_paths=False, filename=None):
        if defer_build and var_list:
            raise ValueError("If `var_list` is provided then build cannot be deferred. Either set defer_build=False or "
                             "var_list=None.")
        self._var_list, self._reshape, self._sharded = var_list, reshape, sharded
        self._max_to_keep, self._every = max_to_keep, keep_checkpoint_every_n_hours
        self._name, self._allow_empty, self._filename = name, allow_empty, filename
        self._pad, self._relative = pad_step_number, save_relative_paths
        self._last = []  # [(path, time)]
        self._next_kept = time.time() + keep_checkpoint_every_n_hours * 3600
        self._pairs = None
        self.saver_def = saver_def
        self._is_empty = False
        self._is_built = False
        if executing_eagerly():
            if var_list is None:
                raise RuntimeError("When eager execution is enabled, `var_list` must specify a list or dict of variables to "
                                   "save")
            self._pairs = _variables_by_name(var_list)
            self._is_built = True
        elif not defer_build:
            self.build()

    def build(self):
        """Adds the operations to the graph."""
        if self._is_built:
            return
        self._is_built = True
        if self.saver_def is not None:
            return
        graph = get_default_graph()
        if self._var_list is None:
            self._var_list = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(
                GraphKeys.SAVEABLE_OBJECTS)
        if not self._var_list:
            if not self._allow_empty:
                raise ValueError("No variables to save")
            self._is_empty = True
            return
        self._pairs = _variables_by_name(self._var_list)
        with graph.name_scope(self._name or "save"), graph.control_dependencies(None):
            given = convert_to_tensor((self._filename or "model").encode(), dtypes.string)
            prefix = raw_ops.PlaceholderWithDefault(input=given, shape=[], name="filename")
            prefix = raw_ops.PlaceholderWithDefault(input=prefix, shape=[], name="Const")
            saved = self._add_save(graph, prefix)
            restore = self._add_restore(graph, prefix)
        self.saver_def = protos.message("SaverDef")(
            filename_tensor_name=prefix.name, save_tensor_name=saved.name, restore_op_name=restore.name,
            max_to_keep=self._max_to_keep or 0, sharded=self._sharded, version=2,
            keep_checkpoint_every_n_hours=self._every)

    def _add_save(self, graph, prefix):
        if not self._sharded:
            operation = self._save_op(prefix, self._pairs)
            with graph.control_dependencies([operation]):
                return raw_ops.Identity(input=prefix, name="control_dependency")
        groups = collections.OrderedDict()
        for name, variable in self._pairs:
            groups.setdefault(variable.device or "", []).append((name, variable))
        base = raw_ops.StringJoin(inputs=[prefix, convert_to_tensor(b"_temp/part")])
        parts, done = [], []
        for number, (device, pairs) in enumerate(sorted(groups.items())):
            with graph.device(device or None) if device else _nothing():
                part = raw_ops.ShardedFilename(basename=base, shard=number, num_shards=len(groups))
                operation = self._save_op(part, pairs)
            done.append(operation)
            parts.append(part)
        with graph.control_dependencies(done):
            merged = raw_ops.MergeV2Checkpoints(checkpoint_prefixes=_stack(parts), destination_prefix=prefix,
                                                delete_old_dirs=True)
        with graph.control_dependencies([merged]):
            return raw_ops.Identity(input=prefix)

    @staticmethod
    def _save_op(prefix, pairs):
        return raw_ops.SaveV2(prefix=prefix, tensor_names=_strings([n for n, _ in pairs]),
                              shape_and_slices=_strings([_slice_spec(v) for _, v in pairs]),
                              tensors=[v._read_for_saving() if isinstance(v, Variable) else convert_to_tensor(v)
                                       for _, v in pairs])

    def _add_restore(self, graph, prefix):
        values = raw_ops.RestoreV2(prefix=prefix, tensor_names=_strings([n for n, _ in self._pairs]),
                                   shape_and_slices=_strings([_slice_spec(v) for _, v in self._pairs]),
                                   dtypes=[v.dtype.base_dtype for _, v in self._pairs])
        assigned = []
        for (_, variable), value in zip(self._pairs, values):
            with graph.colocate_with(variable.op):
                if self._reshape and variable.shape.is_fully_defined():
                    value = raw_ops.Reshape(tensor=value, shape=variable.shape.as_list())
                value = raw_ops.Identity(input=value)
                assigned.append(variable_ops.AssignVariableOp(resource=variable.handle, value=value,
                                                         validate_shape=not self._reshape and
                                                         variable.shape.is_fully_defined()))
        return group(*assigned, name="restore_all")

    # Saving.

    def save(self, sess, save_path, global_step=None, latest_filename=None, meta_graph_suffix="meta",
             write_meta_graph=True, write_state=True, strip_default_attrs=False, save_debug_info=False):
        """Writes a checkpoint; gives its prefix."""
        save_path = os.fspath(save_path)
        if not self._is_built and not executing_eagerly():
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        if os.path.split(latest_filename or "")[0]:
            raise ValueError("'latest_filename' must not contain path components")
        if global_step is not None:
            if not isinstance(global_step, int):
                global_step = int(global_step.numpy() if executing_eagerly() and hasattr(global_step, "numpy")
                                  else sess.run(global_step) if isinstance(global_step, (Tensor, Variable)) else global_step)
            path = f"{save_path}-{global_step:08d}" if self._pad else f"{save_path}-{global_step}"
        else:
            path = save_path
        folder = os.path.dirname(path)
        if folder and not os.path.isdir(folder):
            raise ValueError(f"Parent directory of {path} doesn't exist, can't save.")
        if self._is_empty:
            return path
        if executing_eagerly():
            self._save_op(convert_to_tensor(path.encode()), self._pairs)
        else:
            sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: path.encode()})
        if write_state:
            self._keep(path, meta_graph_suffix)
            kept = [p for p, _ in self._last]
            update_checkpoint_state(folder or ".", path, kept, latest_filename, save_relative_paths=self._relative)
        if write_meta_graph and not executing_eagerly():
            with sess.graph.as_default():
                self.export_meta_graph(f"{path}.{meta_graph_suffix}")
        return path

    def _keep(self, path, suffix):
        if not self._max_to_keep:
            self._last = [(p, t) for p, t in self._last if p != path] + [(path, time.time())]
            return
        self._last = [(p, t) for p, t in self._last if p != path] + [(path, time.time())]
        while len(self._last) > self._max_to_keep:
            old, when = self._last.pop(0)
            if when > self._next_kept:
                self._next_kept += self._every * 3600
                continue
            remove_checkpoint(old, meta_graph_suffix=suffix)

    def restore(self, sess, save_path):
        """Reads a checkpoint into the variables."""
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = os.fspath(save_path)
        logging.info("Restoring parameters from %s", path)
        if not checkpoint_exists(path):
            raise ValueError("The passed save_path is not a valid checkpoint: " + path)
        if executing_eagerly():
            names, variables = [n for n, _ in self._pairs], [v for _, v in self._pairs]
            values = raw_ops.RestoreV2(prefix=convert_to_tensor(path.encode()), tensor_names=_strings(names),
                                       shape_and_slices=_strings([_slice_spec(v) for v in variables]),
                                       dtypes=[v.dtype for v in variables])
            for variable, value in zip(variables, values):
                variable.assign(value)
            return
        try:
            sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: path.encode()})
        except errors.NotFoundError as error:
            if self._restore_by_objects(sess, path):
                return
            raise errors.NotFoundError(error.node_def, error.op,
                                       "Restoring from checkpoint failed. This is most likely due to a Variable name or "
                                       "other graph key that is missing from the checkpoint. Please ensure that you have "
                                       f"not altered the graph expected based on the checkpoint. Original error:\n\n"
                                       f"{error.message}") from None
        except errors.InvalidArgumentError as error:
            raise errors.InvalidArgumentError(error.node_def, error.op,
                                              "Restoring from checkpoint failed. This is most likely due to a mismatch "
                                              "between the current graph and the graph from the checkpoint. Please ensure "
                                              "that you have not altered the graph expected based on the checkpoint. "
                                              f"Original error:\n\n{error.message}") from None

    def _restore_by_objects(self, sess, path):
        """A checkpoint of tf.train.Checkpoint names variables beside their keys."""
        if self._pairs is None:
            return False
        with eager_mode():
            try:
                restoration = checkpoints._Restoration(path)
            except ValueError:
                return False
            keys = {full: key for node in restoration.nodes for _, full, key in node.attributes}
            if not all(name in keys for name, _ in self._pairs):
                return False
            values = checkpoints._read(path, [keys[n] for n, _ in self._pairs], [v.dtype for _, v in self._pairs])
        for (_, variable), value in zip(self._pairs, values):
            variable.load(value.numpy(), sess)
        return True

    # What was saved last.

    @property
    def last_checkpoints(self):
        return [path for path, _ in self._last]

    def set_last_checkpoints(self, last_checkpoints):
        self._last = [(path, float("inf")) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time):
        self._last = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths):
        """Goes on from these checkpoints, as far as they exist."""
        self._last = [(p, os.path.getmtime(p + ".index")) for p in checkpoint_paths if os.path.exists(p + ".index")]

    def as_saver_def(self):
        return self.saver_def

    def to_proto(self, export_scope=None):
        return self.saver_def

    @staticmethod
    def from_proto(saver_def, import_scope=None):
        copy = protos.message("SaverDef")()
        copy.CopyFrom(saver_def)
        if import_scope:
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(copy, field, f"{import_scope}/{getattr(copy, field)}")
        return Saver(saver_def=copy, name=import_scope, max_to_keep=copy.max_to_keep or None,
                     keep_checkpoint_every_n_hours=copy.keep_checkpoint_every_n_hours or 10000.0)

    def export_meta_graph(self, filename=None, collection_list=None, as_text=False, export_scope=None,
                          clear_devices=False, clear_extraneous_savers=False, strip_default_attrs=False,
                          save_debug_info=False):
        """Writes the graph with its collections and this saver."""
        return export_meta_graph(filename, None, get_default_graph().as_graph_def(), self.saver_def, collection_list,
                                 as_text, clear_devices=clear_devices)


Saver.__module__ = "tensorflow.python.training.saver"


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def _stack(tensors):
    return raw_ops.Pack(values=tensors)


# Files.

def checkpoint_exists(checkpoint_prefix):
    """Whether there is a checkpoint with this prefix, of either format."""
    path = os.fspath(checkpoint_prefix)
    import glob
    return os.path.exists(path + ".index") or os.path.isfile(path) or bool(glob.glob(glob.escape(path) + "-?????-of-?????"))


def remove_checkpoint(checkpoint_prefix, checkpoint_format_version=2, meta_graph_suffix="meta"):
    """Deletes the files of a checkpoint and its meta graph."""
    import glob
    for path in glob.glob(glob.escape(checkpoint_prefix) + ".*"):
        if re.search(r"\.(index|data-\d{5}-of-\d{5}|" + re.escape(meta_graph_suffix) + r")$", path):
            os.remove(path)


def get_checkpoint_mtimes(checkpoint_prefixes):
    return [os.path.getmtime(p + ".index") for p in checkpoint_prefixes if os.path.exists(p + ".index")]


def generate_checkpoint_state_proto(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, **kwargs):
    return protos.message("CheckpointState")(model_checkpoint_path=model_checkpoint_path,
                                             all_model_checkpoint_paths=all_model_checkpoint_paths or
                                             [model_checkpoint_path])


def update_checkpoint_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None,
                            save_relative_paths=False, **_):
    """Writes the file that says which checkpoint is the latest."""
    paths = list(all_model_checkpoint_paths or [model_checkpoint_path])
    if model_checkpoint_path not in paths:
        paths.append(model_checkpoint_path)

    def shown(path):
        return os.path.relpath(path, save_dir) if save_relative_paths or not os.path.isabs(save_dir) else path
    lines = [f'model_checkpoint_path: "{shown(model_checkpoint_path)}"']
    lines += [f'all_model_checkpoint_paths: "{shown(p)}"' for p in paths]
    target = os.path.join(save_dir, latest_filename or "checkpoint")
    with open(target + ".tmp", "w") as file:
        file.write("\n".join(lines) + "\n")
    os.replace(target + ".tmp", target)


def NewCheckpointReader(filepattern):
    return checkpoints.CheckpointReader(filepattern)


# Meta graphs.

def _variable_def(variable):
    refers = is_reference(variable)
    return protos.message("VariableDef")(
        variable_name=variable.name, initializer_name=variable.initializer.name,
        snapshot_name=(variable._snapshot if refers else variable._graph_element).name,
        initial_value_name=variable.initial_value.name if variable.initial_value is not None else "", is_resource=not refers,
        trainable=variable.trainable, synchronization=variable.synchronization.value,
        aggregation=variable.aggregation.value)


def _add_collection(meta, name, values):
    if not isinstance(name, str) or not values:
        return
    entry = meta.collection_def[name]
    first = values[0]
    if isinstance(first, Variable):
        entry.bytes_list.value.extend(_variable_def(v).SerializeToString() for v in values if isinstance(v, Variable))
    elif isinstance(first, (Tensor, Operation)):
        entry.node_list.value.extend(v.name for v in values if hasattr(v, "name"))
    elif isinstance(first, bool) or isinstance(first, int):
        entry.int64_list.value.extend(int(v) for v in values)
    elif isinstance(first, float):
        entry.float_list.value.extend(values)
    elif isinstance(first, (str, bytes)):
        entry.bytes_list.value.extend(v.encode() if isinstance(v, str) else v for v in values)
    elif hasattr(first, "to_proto"):
        entry.bytes_list.value.extend(v.to_proto().SerializeToString() for v in values)
    else:
        del meta.collection_def[name]


def export_meta_graph(filename=None, meta_info_def=None, graph_def=None, saver_def=None, collection_list=None,
                      as_text=False, graph=None, export_scope=None, clear_devices=False, clear_extraneous_savers=False,
                      strip_default_attrs=False, save_debug_info=False, **kwargs):
    """A MetaGraphDef of the graph and its collections, written to a file if one is named."""
    if executing_eagerly() and graph is None:
        raise RuntimeError("Exporting/importing meta graphs is not supported when eager execution is enabled. No graph "
                           "exists when eager execution is enabled.")
    if export_scope is not None:
        raise NotImplementedError("export_meta_graph with an export_scope")
    graph = graph or get_default_graph()
    meta = protos.message("MetaGraphDef")()
    if meta_info_def is not None:
        meta.meta_info_def.CopyFrom(meta_info_def)
    meta.meta_info_def.tensorflow_version = "2.21.0"
    meta.meta_info_def.tensorflow_git_version = "weir"
    meta.graph_def.CopyFrom(graph_def if graph_def is not None else graph.as_graph_def())
    if clear_devices:
        for node in meta.graph_def.node:
            node.device = ""
    if saver_def is not None:
        meta.saver_def.CopyFrom(saver_def)
    for name in collection_list if collection_list is not None else graph.get_all_collection_keys():
        _add_collection(meta, name, graph.get_collection(name))
    if filename:
        folder = os.path.dirname(filename)
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(filename, "wb") as file:
            file.write(str(meta).encode() if as_text else meta.SerializeToString())
    return meta


def variable_from_proto(definition, graph, scope=""):
    """The variable that a VariableDef describes, over nodes that the graph has."""
    prefix = scope + "/" if scope else ""
    handle = graph.as_graph_element(prefix + definition.variable_name)
    refers = is_reference(handle)
    variable = RefVariable._over(definition, graph, prefix) if refers else object.__new__(VariableV1)
    variable._trainable = definition.trainable
    variable._constraint = None
    from weir.variables import VariableAggregation, VariableSynchronization
    variable._synchronization = VariableSynchronization(definition.synchronization)
    variable._aggregation = VariableAggregation(definition.aggregation)
    variable._save_slice_info = None
    if definition.HasField("save_slice_info_def"):
        info = definition.save_slice_info_def
        variable._save_slice_info = Variable.SaveSliceInfo(info.full_name, list(info.full_shape), list(info.var_offset),
                                                           list(info.var_shape))
    if not refers:
        variable._dtype = handle.op.get_attr("dtype")
        variable._shape = handle.op.get_attr("shape")
        graph._set_handle_data(handle._node, 0, [(variable._dtype, variable._shape)])
        variable._graph_element = graph.as_graph_element(prefix + definition.snapshot_name)
    variable._handle_name = prefix + definition.variable_name
    variable._unique_id = f"{variable._handle_name}_{id(variable)}"
    variable._graph_mode = graph
    variable._handle = handle
    variable._initializer_op = graph.as_graph_element(prefix + definition.initializer_name)
    variable._initial_value = graph.as_graph_element(prefix + definition.initial_value_name) \
        if definition.initial_value_name else None
    variable._is_initialized_op = None
    return variable


def _import_collections(meta, graph, scope):
    made = {}
    prefix = scope + "/" if scope else ""
    for name, entry in meta.collection_def.items():
        kind = entry.WhichOneof("kind")
        values = list(getattr(entry, kind).value) if kind else []
        if kind == "node_list":
            values = [graph.as_graph_element(prefix + v) for v in values]
        elif kind == "bytes_list" and name in _VARIABLE_COLLECTIONS:
            out = []
            for data in values:
                if data not in made:
                    made[data] = variable_from_proto(protos.message("VariableDef").FromString(data), graph, scope)
                out.append(made[data])
            values = out
        elif kind == "bytes_list" and name == GraphKeys.QUEUE_RUNNERS:
            from weir.compat.v1.queues import QueueRunner
            values = [QueueRunner.from_proto(protos.message("QueueRunnerDef").FromString(v), scope) for v in values]
        elif kind == "bytes_list":
            try:
                values = [v.decode() for v in values]
            except UnicodeDecodeError:
                pass
        for value in values:
            graph.add_to_collection(name, value)


_VARIABLE_COLLECTIONS = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES, GraphKeys.LOCAL_VARIABLES,
                         GraphKeys.MODEL_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES, GraphKeys.GLOBAL_STEP,
                         GraphKeys.METRIC_VARIABLES, GraphKeys.CONCATENATED_VARIABLES)


def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, input_map=None, **kwargs):
    """Adds a MetaGraphDef to the default graph; gives its Saver, or None if it has none."""
    if executing_eagerly():
        raise RuntimeError("Exporting/importing meta graphs is not supported when eager execution is enabled. No graph "
                           "exists when eager execution is enabled.")
    meta_class = protos.message("MetaGraphDef")
    if isinstance(meta_graph_or_file, meta_class):
        meta = meta_graph_or_file
    else:
        path = os.fspath(meta_graph_or_file)
        if not os.path.exists(path):
            raise OSError(f"File does not exist. Received: {path}.")
        with open(path, "rb") as file:
            data = file.read()
        try:
            meta = meta_class.FromString(data)
        except Exception:  # not the bytes of one: the text format
            from google.protobuf import text_format
            meta = text_format.Parse(data.decode(), meta_class())
    graph = get_default_graph()
    graph_def = meta.graph_def
    if clear_devices:
        for node in graph_def.node:
            node.device = ""
    scope = graph.unique_name(import_scope, mark_as_used=False) if import_scope else ""
    import_graph_def(graph_def, input_map=input_map, name=scope)
    _import_collections(meta, graph, scope)
    if meta.HasField("saver_def"):
        return Saver.from_proto(meta.saver_def, scope)
    if graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
        return Saver()
    return None


def init_from_checkpoint(ckpt_dir_or_file, assignment_map):
    """Variables begin with the values that a checkpoint holds under the names or scopes of `assignment_map`."""
    reader = checkpoints.load_checkpoint(ckpt_dir_or_file)
    shapes = reader.get_variable_to_shape_map()
    store = scopes._store()
    for source, target in assignment_map.items() if isinstance(assignment_map, dict) else assignment_map:
        if source and not source.endswith("/") and source != "/":
            variable = target if not isinstance(target, str) else store.variables.get(target)
            if variable is None:
                raise ValueError(f"Tensor {target} is not found in the graph")
            _begin_with(variable, source, shapes, reader)
            continue
        prefix = "" if source == "/" else source
        scope = target.rstrip("/")
        for name, variable in list(store.variables.items()):
            if scope and not name.startswith(scope + "/") and name != scope:
                continue
            inner = name[len(scope) + 1:] if scope else name
            if prefix + inner not in shapes:
                raise ValueError(f"Tensor {inner} ({prefix + inner} in {ckpt_dir_or_file}) is not found in checkpoint")
            _begin_with(variable, prefix + inner, shapes, reader)


def _begin_with(variable, name, shapes, reader):
    if name not in shapes:
        raise ValueError(f"Tensor {name} is not found in the checkpoint")
    for part in variable._get_variable_list() if isinstance(variable, scopes.PartitionedVariable) else [variable]:
        info = part._get_save_slice_info()
        whole = info.full_shape if info is not None else part.shape.as_list()
        if list(whole) != list(shapes[name]):
            raise ValueError(f"Shape of variable {part.name} ({tuple(whole)}) doesn't match with shape of tensor {name} "
                             f"({shapes[name]}) from checkpoint reader.")
        with get_default_graph().name_scope(None), name_scope("checkpoint_initializer"):
            value = raw_ops.RestoreV2(prefix=convert_to_tensor(reader._prefix.encode()), tensor_names=_strings([name]),
                                      shape_and_slices=_strings([_slice_spec(part)]), dtypes=[part.dtype])[0]
            part._initializer_op = raw_ops.AssignVariableOp(resource=part.handle, value=raw_ops.EnsureShape(
                input=value, shape=part.shape))
            part._initial_value = value
