"""tf.train.Checkpoint and CheckpointManager, with TensorFlow's files both ways.

A checkpoint is a table of tensors plus the graph of objects they belong to. Saving walks from a root through
`_trackable_children`; restoring walks both graphs together by the children's names, and what does not exist yet is
restored when it is assigned.
"""

import glob
import os
import re
import time

from weir import _core
from weir.framework import dtypes, errors, protos
from weir.framework.raw_ops import raw_ops
from weir.trackable import AutoTrackable, Trackable
from weir.train import object_graph

__all__ = ["Checkpoint", "CheckpointManager", "CheckpointOptions", "checkpoints_iterator", "get_checkpoint_state",
           "latest_checkpoint", "list_variables", "load_checkpoint", "load_variable"]

_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


class CheckpointOptions:
    """Accepted for TensorFlow's sake; files are written by this process."""

    def __init__(self, experimental_io_device=None, experimental_enable_async_checkpoint=False, **kwargs):
        self.experimental_io_device = experimental_io_device
        self.experimental_enable_async_checkpoint = experimental_enable_async_checkpoint


def _escape(name):
    return name.replace(".", "..").replace("/", ".S")


def _walk(root):
    """Objects breadth first, with the path to each: [(object, path, {child name: index})]."""
    index, rows, todo = {id(root): 0}, [[root, "", {}]], [0]
    while todo:
        row = rows[todo.pop(0)]
        for name, child in row[0]._trackable_children().items():
            if id(child) not in index:
                index[id(child)] = len(rows)
                rows.append([child, (row[1] + "/" if row[1] else "") + _escape(name), {}])
                todo.append(index[id(child)])
            row[2][name] = index[id(child)]
    return rows


def _values(obj):
    """The tensors of an object by attribute name, or functions that give them."""
    try:
        return obj._serialize_to_tensors()
    except NotImplementedError:
        return {}


def _strings(values):
    return _core.from_bytes([v.encode() if isinstance(v, str) else v for v in values], dtypes.string, [len(values)])


def _save(root, prefix):
    names, tensors, nodes = [], [], []
    for obj, path, children in _walk(root):
        node = object_graph.Node()
        node.children = children
        for attribute, value in _values(obj).items():
            key = f"{path}/.ATTRIBUTES/{_escape(attribute)}" if path else f".ATTRIBUTES/{_escape(attribute)}"
            node.attributes.append((attribute, getattr(obj, "_shared_name", "") or "", key))
            names.append(key)
            tensors.append(value() if callable(value) else value)
        nodes.append(node)
    names.append(_OBJECT_GRAPH)
    tensors.append(_core.from_bytes([object_graph.serialize(nodes)], dtypes.string, []))
    folder = os.path.dirname(prefix)
    if folder:
        os.makedirs(folder, exist_ok=True)
    raw_ops.SaveV2(prefix=prefix, tensor_names=_strings(names), shape_and_slices=_strings([""] * len(names)),
                   tensors=tensors)
    return prefix


def _read(prefix, names, types):
    return raw_ops.RestoreV2(prefix=prefix, tensor_names=_strings(names), shape_and_slices=_strings([""] * len(names)),
                             dtypes=types)


class _Restoration:
    """A checkpoint that is being restored: which of its nodes have found their object."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.types = {name: dtype for name, dtype, _ in _core.list_checkpoint(prefix)}
        if _OBJECT_GRAPH not in self.types:
            raise ValueError(f"{prefix} was not written by tf.train.Checkpoint: it has no object graph")
        graph = _read(prefix, [_OBJECT_GRAPH], [dtypes.string])[0]
        self.nodes = object_graph.parse(graph.numpy())
        self.matched = {}  # node -> object

    def restore(self, obj, number):
        if number in self.matched:
            return
        self.matched[number] = obj
        node = self.nodes[number]
        keys = [(a, key) for a, _, key in node.attributes if key in self.types]
        if keys:
            values = _read(self.prefix, [key for _, key in keys], [self.types[key] for _, key in keys])
            obj._restore_from_tensors({attribute: value for (attribute, _), value in zip(keys, values)})
        children = obj._trackable_children()
        for name, child in node.children.items():
            found = children.get(name)
            if found is None:
                found = obj._lookup_dependency(name)
            if found is not None:
                self.restore(found, child)
            else:
                obj._maybe_initialize_trackable()
                waiting = obj.__dict__["_self_deferred_restores"].setdefault(name, [])
                waiting.append(lambda later, child=child: self.restore(later, child))


class LoadStatus:
    """What restore returns: asks for completeness, or gives it up."""

    def __init__(self, restoration, root):
        self._restoration = restoration
        self._root = root

    def assert_consumed(self):
        """Raises unless everything in the checkpoint and every object has found the other."""
        self.assert_existing_objects_matched()
        missing = [i for i, node in enumerate(self._restoration.nodes)
                   if node.attributes and i not in self._restoration.matched]
        if missing:
            keys = [key for i in missing for _, _, key in self._restoration.nodes[i].attributes]
            raise AssertionError(f"Unresolved object in checkpoint: {keys[0]} and {len(keys) - 1} more")
        return self

    def assert_existing_objects_matched(self):
        found = {id(obj) for obj in self._restoration.matched.values()}
        unmatched = [obj for obj, _, _ in _walk(self._root) if _values(obj) and id(obj) not in found]
        if unmatched:
            raise AssertionError(
                f"Found {len(unmatched)} Python objects that were not bound to checkpointed values, likely due to changes in "
                f"the Python program. Showing {min(10, len(unmatched))} of {len(unmatched)} unmatched objects: "
                f"{unmatched[:10]}")
        return self

    def assert_nontrivial_match(self):
        if len(self._restoration.matched) <= 1:
            raise AssertionError("Nothing except the root object matched a checkpointed value.")
        return self

    def expect_partial(self):
        return self

    def run_restore_ops(self, session=None):
        pass

    def initialize_or_restore(self, session=None):
        pass


LoadStatus.__name__ = LoadStatus.__qualname__ = "CheckpointLoadStatus"
LoadStatus.__module__ = "tensorflow.python.checkpoint.checkpoint"


class Checkpoint(AutoTrackable):
    """Saves and restores the objects that are given as keyword arguments, or `root`."""

    def __init__(self, root=None, **kwargs):
        self.__dict__["_root"] = root
        self.__dict__["_counter"] = None
        for name, value in sorted(kwargs.items()):  # which of several ways to an object names it depends on the order
            setattr(self, name, value)
            if not isinstance(getattr(self, name), Trackable):
                raise ValueError(f"`Checkpoint` was expecting {name} to be a trackable object (an object derived from "
                                 f"`Trackable`), got {value}.")

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        children = super()._trackable_children(save_type, **kwargs)
        if self.__dict__["_root"] is not None:
            children = dict(self.__dict__["_root"]._trackable_children(save_type, **kwargs), **children)
        return children

    def _lookup_dependency(self, name, cached_dependencies=None):
        return self._trackable_children().get(name)

    def _serialize_to_tensors(self):
        root = self.__dict__["_root"]
        return _values(root) if root is not None else {}

    def _restore_from_tensors(self, restored_tensors):
        self.__dict__["_root"]._restore_from_tensors(restored_tensors)

    @property
    def save_counter(self):
        """How often this checkpoint was saved."""
        if self.__dict__["_counter"] is None:
            from weir.variables import Variable
            counter = Variable(0, dtype=dtypes.int64, trainable=False, name="save_counter")
            self.__dict__["_counter"] = counter
            self._track_trackable(counter, "save_counter", overwrite=True)
        return self.__dict__["_counter"]

    def write(self, file_prefix, options=None):
        """Writes a checkpoint under exactly this prefix."""
        return _save(self, os.fspath(file_prefix))

    def save(self, file_prefix, options=None):
        """Writes a checkpoint under the prefix and the number of saves, and notes it as the latest."""
        self.save_counter.assign_add(1)
        path = self.write(f"{os.fspath(file_prefix)}-{int(self.save_counter)}")
        _update_state(os.path.dirname(path) or ".", path, [path])
        return path

    def read(self, save_path, options=None):
        """Restores what `write` has written."""
        restoration = _Restoration(os.fspath(save_path))
        restoration.restore(self, 0)
        return LoadStatus(restoration, self)

    def restore(self, save_path, options=None):
        """Restores what `save` has written; None restores nothing."""
        if save_path is None:
            return _InitializationOnly()
        path = os.fspath(save_path)
        if os.path.isdir(path):
            path = latest_checkpoint(path) or path
        status = self.read(path)
        self.save_counter  # it is made, and restored with the rest
        return status


class _InitializationOnly:
    """Of restore(None): there was no checkpoint."""

    def assert_consumed(self):
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self):
        return self

    def run_restore_ops(self, session=None):
        raise AssertionError("No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore).")

    def initialize_or_restore(self, session=None):
        pass


class CheckpointState:
    """The file `checkpoint` of a folder: the latest prefix and all that are kept."""

    def __init__(self, model_checkpoint_path="", all_model_checkpoint_paths=(), last_preserved_timestamp=0.0,
                 all_model_checkpoint_timestamps=()):
        self.model_checkpoint_path = model_checkpoint_path
        self.all_model_checkpoint_paths = list(all_model_checkpoint_paths)
        self.all_model_checkpoint_timestamps = list(all_model_checkpoint_timestamps)
        self.last_preserved_timestamp = last_preserved_timestamp


def _update_state(folder, latest, everything, latest_filename="checkpoint"):
    def shown(path):
        return os.path.relpath(path, folder) if os.path.dirname(os.path.abspath(path)) == os.path.abspath(folder) else path
    lines = [f'model_checkpoint_path: "{shown(latest)}"'] + [f'all_model_checkpoint_paths: "{shown(p)}"'
                                                              for p in everything]
    target = os.path.join(folder, latest_filename)
    with open(target + ".tmp", "w") as file:
        file.write("\n".join(lines) + "\n")
    os.replace(target + ".tmp", target)


def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """What the folder's file `checkpoint` says, or None."""
    folder = os.fspath(checkpoint_dir)
    try:
        with open(os.path.join(folder, latest_filename or "checkpoint")) as file:
            text = file.read()
    except OSError:
        return None

    def full(path):
        return path if os.path.isabs(path) else os.path.join(folder, path)
    latest = re.search(r'^model_checkpoint_path: "(.*)"', text, re.MULTILINE)
    if latest is None:
        return None
    paths = [full(p) for p in re.findall(r'^all_model_checkpoint_paths: "(.*)"', text, re.MULTILINE)]
    return CheckpointState(full(latest.group(1)), paths or [full(latest.group(1))])


def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The prefix of the newest checkpoint in a folder, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    path = state.model_checkpoint_path
    return path if os.path.exists(path + ".index") or os.path.exists(path) else None


class CheckpointManager:
    """Keeps the last `max_to_keep` checkpoints of a folder."""

    def __init__(self, checkpoint, directory, max_to_keep, keep_checkpoint_every_n_hours=None, checkpoint_name="ckpt",
                 step_counter=None, checkpoint_interval=None, init_fn=None, last_checkpoint_step=None):
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError("Expected a positive integer or `None` for `max_to_keep`, got {}.".format(max_to_keep))
        self._checkpoint = checkpoint
        self._directory = os.fspath(directory)
        self._max_to_keep = max_to_keep
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._step_counter = step_counter
        self._interval = checkpoint_interval
        self._init_fn = init_fn
        self._last_step = last_checkpoint_step
        state = get_checkpoint_state(self._directory)
        self._kept = [p for p in state.all_model_checkpoint_paths if os.path.exists(p + ".index")] if state else []
        self._latest = state.model_checkpoint_path if state else None

    directory = property(lambda self: self._directory)
    checkpoint = property(lambda self: self._checkpoint)
    latest_checkpoint = property(lambda self: self._latest)
    checkpoints = property(lambda self: list(self._kept))
    checkpoint_interval = property(lambda self: self._interval)

    def save(self, checkpoint_number=None, check_interval=True, options=None):
        """Writes a checkpoint and removes the oldest beyond `max_to_keep`; None if the interval is not over."""
        if self._interval is not None and self._step_counter is not None:
            step = int(self._step_counter)
            if check_interval and self._last_step is not None and step < self._last_step + self._interval:
                return None
            self._last_step = step
        if checkpoint_number is None:
            self._checkpoint.save_counter.assign_add(1)
            checkpoint_number = int(self._checkpoint.save_counter)
        path = self._checkpoint.write(f"{self._prefix}-{int(checkpoint_number)}")
        self._kept = [p for p in self._kept if p != path] + [path]
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            for file in glob.glob(glob.escape(self._kept.pop(0)) + ".*"):
                if re.search(r"\.(index|data-\d{5}-of-\d{5})$", file):
                    os.remove(file)
        self._latest = path
        _update_state(self._directory, path, self._kept)
        return path

    def restore_or_initialize(self):
        """Restores the latest checkpoint, or calls `init_fn`; gives the restored prefix or None."""
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
        return None

    def sync(self):
        pass


class CheckpointReader:
    """The tensors of a checkpoint by name."""

    def __init__(self, prefix):
        self._prefix = prefix
        self._rows = {name: (dtype, shape) for name, dtype, shape in _core.list_checkpoint(prefix)}

    def get_variable_to_shape_map(self):
        return {name: shape.as_list() for name, (_, shape) in self._rows.items()}

    def get_variable_to_dtype_map(self):
        return {name: dtype for name, (dtype, _) in self._rows.items()}

    def has_tensor(self, name):
        return name in self._rows

    def debug_string(self):
        """The names, types and shapes of the tensors, a line for each."""
        kinds = protos.enum("DataType")
        return "".join(f"{name} ({kinds.Name(dtype.as_datatype_enum)}) [{','.join(str(d) for d in shape.as_list())}]\n"
                       for name, (dtype, shape) in sorted(self._rows.items())).encode()

    def get_tensor(self, name):
        if name not in self._rows:
            raise errors.NotFoundError(None, None, f"Key {name} not found in checkpoint")
        from weir.framework.graph import eager_mode
        with eager_mode():
            return _read(self._prefix, [name], [self._rows[name][0]])[0].numpy()


def load_checkpoint(ckpt_dir_or_file):
    """A reader of the checkpoint with this prefix, or of the latest in this folder."""
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        latest = latest_checkpoint(path)
        if latest is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
        path = latest
    return CheckpointReader(path)


def list_variables(ckpt_dir_or_file):
    return [(name, shape) for name, shape in sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())]


def load_variable(ckpt_dir_or_file, name):
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name[:-2] if name.endswith(":0") else name)


def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """Each new checkpoint of a folder as it appears, until `timeout` seconds pass without one."""
    seen = None
    while True:
        start = time.monotonic()
        while (latest := latest_checkpoint(checkpoint_dir)) in (None, seen):
            if timeout is not None and time.monotonic() - start > timeout:
                if timeout_fn is None or timeout_fn():
                    return
                start = time.monotonic()
            time.sleep(min(1.0, timeout if timeout else 1.0))
        seen = latest
        yield latest
        time.sleep(max(0.0, min_interval_secs - (time.monotonic() - start)))
