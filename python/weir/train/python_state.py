"""tf.train.experimental.PythonState: values of Python in checkpoints; tf.train.CheckpointView: checkpoints as objects."""

from weir import _core
from weir.framework import dtypes
from weir.framework.raw_ops import raw_ops
from weir.train.checkpoint import _OBJECT_GRAPH, _read, object_graph
from weir.trackable import Trackable

__all__ = ["PythonState", "CheckpointView"]


class PythonState(Trackable):
    """The base of objects that put themselves into checkpoints as one string."""

    def serialize(self):
        """The string that stands for the object."""
        raise NotImplementedError("PythonState.serialize")

    def deserialize(self, string_value):
        """Takes over what `serialize` gave."""
        raise NotImplementedError("PythonState.deserialize")

    def _serialize_to_tensors(self):
        value = self.serialize()
        value = value.encode() if isinstance(value, str) else value
        return {"py_state": _core.from_bytes([value], dtypes.string, [])}

    def _restore_from_tensors(self, restored_tensors):
        self.deserialize(raw_ops.Identity(input=restored_tensors["py_state"]).numpy())


class CheckpointView:
    """The objects in a checkpoint by number, without their values."""

    def __init__(self, save_path):
        types = {name: dtype for name, dtype, _ in _core.list_checkpoint(str(save_path))}
        if _OBJECT_GRAPH not in types:
            raise ValueError(f"{save_path} was not written by tf.train.Checkpoint: it has no object graph")
        self._nodes = object_graph.parse(_read(str(save_path), [_OBJECT_GRAPH], [dtypes.string])[0].numpy())

    def children(self, node_id):
        """{name: number} of the objects that belong to one."""
        return dict(self._nodes[node_id].children)

    def descendants(self):
        """The numbers of all objects, breadth first."""
        return list(self._paths())

    def _paths(self):
        paths, todo = {0: ""}, [0]
        while todo:
            number = todo.pop(0)
            for name, child in self._nodes[number].children.items():
                if child not in paths:
                    paths[child] = f"{paths[number]}.{name}"
                    todo.append(child)
        return paths

    def match(self, obj):
        """{number: object} for the objects that are reached from `obj` by the same names."""
        found, todo = {0: obj}, [0]
        while todo:
            number = todo.pop(0)
            children = found[number]._trackable_children()
            for name, child in self._nodes[number].children.items():
                if child not in found and name in children:
                    found[child] = children[name]
                    todo.append(child)
        return found

    def diff(self, obj):
        """The objects that match, the numbers of those that only the checkpoint has, and the objects it has not."""
        found = self.match(obj)
        known, seen, todo, missing = {id(o) for o in found.values()}, {id(obj)}, [obj], []
        for other in todo:
            for child in other._trackable_children().values():
                if id(child) not in seen:
                    seen.add(id(child))
                    todo.append(child)
                    if id(child) not in known:
                        missing.append(child)
        return found, [n for n in self.descendants() if n not in found], missing


PythonState.__module__ = "tensorflow.python.trackable.python_state"
CheckpointView.__module__ = "tensorflow.python.checkpoint.checkpoint_view"
