"""Which functions of the runtime's library objects of Python stand for, and which may be removed with them."""

from weir import _core

__all__ = ["Ownership", "live_functions"]

live_functions = set()  # names of functions that objects of Python stand for


class Ownership:
    """Removes a function from the runtime's library when the last object that can call it is gone. `parts` are those of
    functions that it names without calling them."""

    __slots__ = ("_name", "_for_good", "_parts", "__weakref__")

    def __init__(self, name, parts=()):
        self._name = name
        self._for_good = False
        self._parts = list(parts)
        live_functions.add(name)

    def give_up(self):
        """From now on something else may call the function, for as long as it likes."""
        self._for_good = True
        for part in self._parts:
            part.give_up()

    def __del__(self):
        if self._for_good or _core is None or live_functions is None:
            return
        live_functions.discard(self._name)
        try:
            _core.remove_function(self._name, live_functions)
        except Exception:  # noqa: BLE001 at the interpreter's end anything may be missing
            pass
