"""tf.Module: a named container of variables, other modules and functions."""

import functools
import re

from weir.framework.graph import name_scope
from weir.trackable import AutoTrackable

__all__ = ["Module"]

_CAMEL = re.compile("((?<=[a-z0-9])[A-Z]|(?!^)(?<!_)[A-Z](?=[a-z]))")


def _snake(name):
    return _CAMEL.sub(r"_\1", name).lower()


class Module(AutoTrackable):
    """Finds the variables and modules that are reachable through its attributes."""

    # Attributes that are not searched.
    _TF_MODULE_IGNORED_PROPERTIES = frozenset(("_self_unconditional_checkpoint_dependencies",
                                               "_self_unconditional_dependency_names", "_self_deferred_restores"))

    def __init__(self, name=None):
        if name is None:
            name = _snake(type(self).__name__)
        elif not re.match(r"^[a-zA-Z_]\w*$", name):
            raise ValueError(f"{name!r} is not a valid module name. Module names must be valid Python identifiers "
                             "(e.g. a valid class name).")
        self._name = name
        with name_scope(name) as scope:
            self._name_scope_name = scope

    @property
    def name(self):
        """The name that was given to the constructor."""
        return self._name

    @property
    def name_scope(self):
        """A tf.name_scope for what the module makes."""
        return name_scope(self.__dict__.get("_name_scope_name") or self._name + "/")

    @property
    def variables(self):
        """All variables of this module and its submodules."""
        return tuple(self._flatten(predicate=_is_variable, expand_composites=True))

    @property
    def trainable_variables(self):
        return tuple(self._flatten(predicate=lambda v: _is_variable(v) and getattr(v, "trainable", False),
                                   expand_composites=True))

    @property
    def non_trainable_variables(self):
        return tuple(self._flatten(predicate=lambda v: _is_variable(v) and not getattr(v, "trainable", False),
                                   expand_composites=True))

    @property
    def submodules(self):
        """All modules below this one."""
        return tuple(self._flatten(predicate=lambda v: isinstance(v, Module)))

    def _flatten(self, recursive=True, predicate=None, attribute_traversal_key=None, with_path=False,
                 expand_composites=False):
        if predicate is None:
            predicate = lambda _: True  # noqa: E731
        return _walk(self, recursive, predicate, attribute_traversal_key, with_path, set(), ())

    @classmethod
    def with_name_scope(cls, method):
        """Decorator: operations of the method are named after the module."""
        @functools.wraps(method)
        def call(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)
        return call


Module.__module__ = "tensorflow.python.module.module"


def _is_variable(value):
    from weir.variables import Variable
    return isinstance(value, Variable)


def _leaves(value, path):
    """What an attribute holds, lists and dicts opened."""
    if isinstance(value, dict):
        for key in _sorted(value):
            yield from _leaves(value[key], path + (key,))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _leaves(item, path + (i,))
    else:
        yield path, value


def _sorted(mapping):
    try:
        return sorted(mapping)
    except TypeError:
        return list(mapping)


def _walk(module, recursive, predicate, key, with_path, seen, prefix):
    seen.add(id(module))
    found = []
    attributes = vars(module)
    below = []
    for name in sorted(attributes, key=key) if key else sorted(attributes):
        if name in module._TF_MODULE_IGNORED_PROPERTIES:
            continue
        for path, leaf in _leaves(attributes[name], prefix + (name,)):
            if id(leaf) in seen and (isinstance(leaf, Module) or _is_variable(leaf)):
                continue
            if predicate(leaf):
                if not isinstance(leaf, Module):
                    seen.add(id(leaf))
                found.append((path, leaf) if with_path else leaf)
            if recursive and isinstance(leaf, Module) and id(leaf) not in seen:
                seen.add(id(leaf))
                below.append((path, leaf))
    for path, leaf in below:
        found.extend(_walk(leaf, recursive, predicate, key, with_path, seen, path))
    return found
