"""How long the functions of datasets stay in the runtime's library.

A dataset that is made eagerly knows its functions by name. They go when the last tensor that stands for the dataset, for
one made of it, or for an iterator over it is gone; not before the next dataset's function is made, because an iterator may
still be on its way out.
"""

import threading

from weir import _core
from weir.eager.function import live_functions

__all__ = ["adopt", "keep_for_good", "new_owner", "release", "remove_unowned", "share"]

_unowned = []  # names of functions that can be removed


class _Owner:
    __slots__ = ("_name", "kept")

    def __init__(self, name):
        self._name, self.kept = name, False
        live_functions.add(name)

    def __del__(self):
        if not self.kept and _unowned is not None:
            _unowned.append(self._name)


class _Made(threading.local):
    def __init__(self):
        self.owners = []  # of functions whose dataset is about to be made


_made = _Made()


def new_owner(name):
    """Called with the name of a function that an op is about to take; in a graph it belongs to the graph."""
    if _core.current_graph() is None:
        _made.owners.append(_Owner(name))


def adopt(tensor, others=()):
    """The functions made since the last call belong to `tensor`, as do those of the tensors `others`."""
    made, _made.owners = _made.owners, []
    owners = made + [owner for other in others for owner in getattr(other, "_function_owners", ())]
    if owners and _core.current_graph() is None:
        tensor._function_owners = tuple(dict.fromkeys(owners))


def release():
    """The functions made since the last call were for one operation, which is done."""
    _made.owners = []


def share(tensor, other):
    """`tensor` needs the functions of `other`, too."""
    owners = getattr(other, "_function_owners", ())
    if owners and _core.current_graph() is None:
        tensor._function_owners = owners


def keep_for_good(tensor):
    """From now on something else may use the functions, for as long as it likes."""
    for owner in getattr(tensor, "_function_owners", ()):
        owner.kept = True


def remove_unowned():
    """Removes functions that no dataset has any more."""
    while _unowned:
        name = _unowned.pop()
        live_functions.discard(name)
        _core.remove_function(name, live_functions)
