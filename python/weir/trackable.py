"""Trackable objects: what a checkpoint or SavedModel finds by following attributes."""

import functools

__all__ = ["Trackable", "AutoTrackable", "TrackableReference", "ListWrapper", "DictWrapper",
           "no_automatic_dependency_tracking", "wrap_or_unwrap"]


class TrackableReference:
    """A child and the name by which its parent knows it."""
    __slots__ = ("name", "ref")

    def __init__(self, name, ref):
        self.name = name
        self.ref = ref

    def __iter__(self):
        return iter((self.name, self.ref))


class Trackable:
    """Something with named children that checkpoints save."""

    def _maybe_initialize_trackable(self):
        if "_self_unconditional_checkpoint_dependencies" in self.__dict__:
            return
        self.__dict__["_self_unconditional_checkpoint_dependencies"] = []
        self.__dict__["_self_unconditional_dependency_names"] = {}
        self.__dict__.setdefault("_self_setattr_tracking", True)
        self.__dict__.setdefault("_self_deferred_restores", {})

    @property
    def _setattr_tracking(self):
        return self.__dict__.get("_self_setattr_tracking", True)

    @_setattr_tracking.setter
    def _setattr_tracking(self, value):
        self.__dict__["_self_setattr_tracking"] = value

    @property
    def _unconditional_checkpoint_dependencies(self):
        self._maybe_initialize_trackable()
        return self.__dict__["_self_unconditional_checkpoint_dependencies"]

    @property
    def _checkpoint_dependencies(self):
        return self._unconditional_checkpoint_dependencies

    def _track_trackable(self, trackable, name, overwrite=False):
        """Makes `trackable` a child under `name`."""
        self._maybe_initialize_trackable()
        if not isinstance(trackable, Trackable):
            raise TypeError(f"Trackable._track_trackable() can only be used to track objects of type Trackable. Got "
                            f"type {type(trackable)}.")
        names = self.__dict__["_self_unconditional_dependency_names"]
        current = names.get(name)
        if current is not None and current is not trackable:
            if not overwrite:
                raise ValueError(f"Called Trackable._track_trackable() with name='{name}', but a Trackable with this "
                                 "name is already declared as a dependency.")
            for reference in self.__dict__["_self_unconditional_checkpoint_dependencies"]:
                if reference.name == name:
                    reference.ref = trackable
        elif current is None:
            self.__dict__["_self_unconditional_checkpoint_dependencies"].append(TrackableReference(name, trackable))
        names[name] = trackable
        self._handle_deferred_dependencies(name, trackable)
        return trackable

    def _lookup_dependency(self, name, cached_dependencies=None):
        self._maybe_initialize_trackable()
        return self.__dict__["_self_unconditional_dependency_names"].get(name)

    def _handle_deferred_dependencies(self, name, trackable):
        restores = self.__dict__.get("_self_deferred_restores")
        if restores:
            for restore in restores.pop(name, []):
                restore(trackable)

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return {name: ref for name, ref in self._checkpoint_dependencies}

    def _serialize_to_tensors(self):
        raise NotImplementedError

    def _restore_from_tensors(self, restored_tensors):
        raise NotImplementedError

    def _gather_saveables_for_checkpoint(self):
        return {}

    def _copy_trackable_to_cpu(self, object_map):
        raise NotImplementedError

    def _export_to_saved_model_graph(self, object_map=None, tensor_map=None, options=None, **kwargs):
        return []

    def _map_resources(self, save_options):
        return {}, {}

    _object_identifier = "_generic_user_object"

    def _preload_simple_restoration(self, name):
        return None


Trackable.__module__ = "tensorflow.python.trackable.base"


def no_automatic_dependency_tracking(method):
    """Decorator: attributes that the method sets are not tracked."""
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        before = getattr(self, "_self_setattr_tracking", True)
        self._self_setattr_tracking = False
        try:
            return method(self, *args, **kwargs)
        finally:
            self._self_setattr_tracking = before
    return call


class AutoTrackable(Trackable):
    """Tracks what is assigned to its attributes."""

    def __setattr__(self, name, value):
        if name[:6] != "_self_" and self.__dict__.get("_self_setattr_tracking", True):
            if type(value) in _WRAPPED or isinstance(value, tuple):
                value = wrap_or_unwrap(value)
            if isinstance(value, Trackable):
                self._track_trackable(value, name, overwrite=True)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        names = self.__dict__.get("_self_unconditional_dependency_names")
        if names and name in names:
            del names[name]
            self.__dict__["_self_unconditional_checkpoint_dependencies"][:] = [
                r for r in self.__dict__["_self_unconditional_checkpoint_dependencies"] if r.name != name]
        super().__delattr__(name)

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        children = super()._trackable_children(save_type, **kwargs)
        if save_type != "savedmodel":
            return children
        from weir.eager.function import ConcreteFunction, Function
        for name in dir(self):
            if name.startswith("__") and name != "__call__":
                continue
            try:
                value = getattr(self, name)
            except Exception:  # a property that cannot be read yet
                continue
            if isinstance(value, (Function, ConcreteFunction)):
                children[name] = value
        return children


AutoTrackable.__module__ = "tensorflow.python.trackable.autotrackable"


class ListWrapper(Trackable, list):
    """A list that tracks its elements."""

    def __init__(self, values=()):
        list.__init__(self, [wrap_or_unwrap(v) for v in values])

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return {str(i): v for i, v in enumerate(self) if isinstance(v, Trackable)}

    def _lookup_dependency(self, name, cached_dependencies=None):
        return self._trackable_children().get(name)

    def _added(self, index):
        value = self[index]
        if isinstance(value, Trackable):
            try:
                self._handle_deferred_dependencies(str(index), value)
            except ValueError:  # lists that grow in another order than the saved one keep what does not fit
                pass

    def append(self, value):
        list.append(self, wrap_or_unwrap(value))
        self._added(len(self) - 1)

    def extend(self, values):
        for value in values:
            self.append(value)

    def __iadd__(self, values):
        self.extend(values)
        return self

    def insert(self, index, value):
        list.insert(self, index, wrap_or_unwrap(value))

    def __setitem__(self, key, value):
        if isinstance(key, slice):
            list.__setitem__(self, key, [wrap_or_unwrap(v) for v in value])
        else:
            list.__setitem__(self, key, wrap_or_unwrap(value))

    def __copy__(self):
        return ListWrapper(self)

    def __deepcopy__(self, memo):
        import copy
        return ListWrapper([copy.deepcopy(v, memo) for v in self])

    def __reduce_ex__(self, protocol):
        return ListWrapper, (list(self),)

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return list.__eq__(self, list(other) if isinstance(other, list) else other)

    def __repr__(self):
        return f"ListWrapper({list.__repr__(self)})"

    @property
    def trainable_variables(self):
        return [v for item in self for v in _variables_of(item) if v.trainable]

    @property
    def variables(self):
        return [v for item in self for v in _variables_of(item)]


class DictWrapper(Trackable, dict):
    """A dict that tracks its values."""

    def __init__(self, values=(), **more):
        dict.__init__(self)
        for key, value in dict(values, **more).items():
            self[key] = value

    def __setitem__(self, key, value):
        value = wrap_or_unwrap(value)
        dict.__setitem__(self, key, value)
        if isinstance(key, str) and isinstance(value, Trackable):
            self._handle_deferred_dependencies(key, value)

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return {k: v for k, v in self.items() if isinstance(v, Trackable) and isinstance(k, str)}

    def _lookup_dependency(self, name, cached_dependencies=None):
        return self._trackable_children().get(name)

    def __copy__(self):
        return DictWrapper(self)

    def __deepcopy__(self, memo):
        import copy
        return DictWrapper({k: copy.deepcopy(v, memo) for k, v in self.items()})

    def __reduce_ex__(self, protocol):
        return DictWrapper, (dict(self),)

    def __hash__(self):
        return id(self)


DictWrapper.__name__ = DictWrapper.__qualname__ = "_DictWrapper"
ListWrapper.__module__ = DictWrapper.__module__ = "tensorflow.python.trackable.data_structures"
_DictWrapper = DictWrapper


class NoDependency:
    """Assigned to an attribute, its value is not tracked."""

    def __init__(self, value):
        self.value = value


class _TupleWrapper(Trackable, tuple):
    """A tuple that tracks its elements, by number and, in a named tuple, by name."""

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        children = {name: v for name, v in zip(getattr(self, "_fields", ()), self) if isinstance(v, Trackable)}
        children.update({str(i): v for i, v in enumerate(self) if isinstance(v, Trackable)})
        return children

    def _lookup_dependency(self, name, cached_dependencies=None):
        return self._trackable_children().get(name)

    def __copy__(self):
        return self

    def __reduce_ex__(self, protocol):
        return _wrap_tuple, (self._plain(),)

    def _plain(self):
        original = type(self)._original
        return original._make(self) if hasattr(original, "_make") else tuple(self)

    def __repr__(self):
        return repr(self._plain()) if hasattr(self, "_fields") else f"_TupleWrapper({tuple.__repr__(self)})"

    def __str__(self):
        return repr(self._plain())

    __hash__ = tuple.__hash__


_TUPLE_CLASSES = {}  # by the class of the tuple that is wrapped


def _wrap_tuple(value):
    """The tuple with its elements wrapped and tracked, or itself if there is nothing to track."""
    elements = [wrap_or_unwrap(v) for v in value]
    if not any(isinstance(v, Trackable) for v in elements):
        return value
    original = type(value)
    made = _TUPLE_CLASSES.get(original)
    if made is None:
        bases = (_TupleWrapper,) if original is tuple else (_TupleWrapper, original)
        made = type("_TupleWrapper", bases, {"_original": original})
        made.__module__ = "tensorflow.python.trackable.data_structures"
        _TUPLE_CLASSES[original] = made
    return tuple.__new__(made, elements)


def _variables_of(item):
    if hasattr(item, "handle") and hasattr(item, "assign"):
        return [item]
    return list(getattr(item, "variables", []))


def wrap_or_unwrap(value):
    if isinstance(value, NoDependency):
        return value.value
    if type(value) is list:
        return ListWrapper(value)
    if type(value) is dict:
        return DictWrapper(value)
    if type(value) is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")
                                and not isinstance(value, _TupleWrapper)):
        return _wrap_tuple(value)
    return value


_WRAPPED = frozenset([list, dict, tuple, NoDependency])
