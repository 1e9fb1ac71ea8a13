"""tf.train.TrackableView: the objects that can be reached from one."""

from weir.trackable import Trackable

__all__ = ["TrackableView"]


class TrackableView:
    """A root and everything below it."""

    def __init__(self, root):
        self._root = root

    @classmethod
    def children(cls, obj, save_type="checkpoint", **kwargs):
        """The children of an object by name."""
        if not hasattr(obj, "_trackable_children"):
            return {}
        return {name: child for name, child in obj._trackable_children(save_type, **kwargs).items()
                if isinstance(child, Trackable) or hasattr(child, "_trackable_children")}

    @property
    def root(self):
        return self._root

    def descendants(self):
        """All objects below the root, the root first."""
        found, todo = {id(self._root): self._root}, [self._root]
        while todo:
            for child in self.children(todo.pop(0)).values():
                if id(child) not in found:
                    found[id(child)] = child
                    todo.append(child)
        return list(found.values())


TrackableView.__module__ = "tensorflow.python.checkpoint.trackable_view"
