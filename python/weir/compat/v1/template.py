"""tf.compat.v1.make_template."""

from weir.compat.v1.scopes import variable_scope
from weir.framework.graph import GraphKeys, get_default_graph

__all__ = ["Template", "make_template"]


class Template:
    """A function that makes its variables at the first call and shares them afterwards."""

    def __init__(self, name, func, create_scope_now, unique_name, custom_getter, arguments):
        self._func, self._name, self._unique, self._getter = func, name, unique_name, custom_getter
        self._arguments, self._scope, self._called = arguments, None, False
        if create_scope_now:
            with self._open() as self._scope:
                pass

    def _open(self):
        if self._unique is not None:
            return variable_scope(self._unique, custom_getter=self._getter)
        return variable_scope(None, default_name=self._name, custom_getter=self._getter)

    def __call__(self, *args, **kwargs):
        if self._scope is None:
            with self._open() as self._scope:
                result = self._func(*args, **dict(self._arguments, **kwargs))
        else:
            with variable_scope(self._scope, reuse=True if self._called else None):
                result = self._func(*args, **dict(self._arguments, **kwargs))
        self._called = True
        return result

    name = property(lambda self: self._name)
    func = property(lambda self: self._func)
    variable_scope = property(lambda self: self._scope)

    @property
    def variable_scope_name(self):
        return None if self._scope is None else self._scope.name.rstrip("/")

    def _of(self, key):
        prefix = self.variable_scope_name
        return [] if prefix is None else get_default_graph().get_collection(key, f"{prefix}/")

    variables = property(lambda self: self.global_variables + self.local_variables)
    weights = variables
    global_variables = property(lambda self: self._of(GraphKeys.GLOBAL_VARIABLES))
    local_variables = property(lambda self: self._of(GraphKeys.LOCAL_VARIABLES))
    trainable_variables = property(lambda self: self._of(GraphKeys.TRAINABLE_VARIABLES))
    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self):
        trainable = {v.name for v in self.trainable_variables}
        return [v for v in self.variables if v.name not in trainable]

    non_trainable_weights = non_trainable_variables


def make_template(name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None, **kwargs):
    """A Template of a function."""
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_, kwargs)
