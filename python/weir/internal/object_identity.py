"""tensorflow.python.util.object_identity: dictionaries and sets that compare keys by identity."""

import collections.abc
import weakref

__all__ = ["ObjectIdentityDictionary", "ObjectIdentitySet", "ObjectIdentityWeakKeyDictionary", "ObjectIdentityWeakSet",
           "Reference"]


class _Wrapper:
    __slots__ = ["_wrapped", "__weakref__"]

    def __init__(self, wrapped):
        self._wrapped = wrapped

    @property
    def unwrapped(self):
        return self._wrapped

    def __eq__(self, other):
        return isinstance(other, _Wrapper) and self.unwrapped is other.unwrapped

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return id(self._wrapped)

    def __repr__(self):
        return f"<{type(self).__name__} wrapping {self.unwrapped!r}>"


class Reference(_Wrapper):
    """A key that is equal only to itself."""

    unwrapped = property()

    def deref(self):
        return self._wrapped


class _Weak(_Wrapper):
    __slots__ = ["_hash"]

    def __init__(self, wrapped):
        super().__init__(weakref.ref(wrapped))
        self._hash = id(wrapped)

    @property
    def unwrapped(self):
        return self._wrapped()

    def __eq__(self, other):
        return isinstance(other, _Weak) and (self.unwrapped is other.unwrapped and self.unwrapped is not None or
                                             self is other)

    def __hash__(self):
        return self._hash


class ObjectIdentityDictionary(collections.abc.MutableMapping):
    """A dictionary with keys that need not be hashable."""

    __slots__ = ["_storage"]

    def __init__(self):
        self._storage = {}

    def _wrap(self, key):
        return _Wrapper(key)

    def __getitem__(self, key):
        return self._storage[self._wrap(key)]

    def __setitem__(self, key, value):
        self._storage[self._wrap(key)] = value

    def __delitem__(self, key):
        del self._storage[self._wrap(key)]

    def __len__(self):
        return len(self._storage)

    def __iter__(self):
        for key in self._storage:
            yield key.unwrapped

    def __repr__(self):
        return f"ObjectIdentityDictionary({self._storage!r})"


class ObjectIdentityWeakKeyDictionary(ObjectIdentityDictionary):
    """... whose keys live only as long as others hold them."""

    __slots__ = ["__weakref__"]

    def _wrap(self, key):
        return _Weak(key)

    def __len__(self):
        return sum(1 for _ in self)

    def __iter__(self):
        for key in list(self._storage):
            value = key.unwrapped
            if value is None:
                del self._storage[key]
            else:
                yield value


class ObjectIdentitySet(collections.abc.MutableSet):
    """A set with members that need not be hashable."""

    __slots__ = ["_storage", "__weakref__"]

    def __init__(self, *args):
        self._storage = {self._wrap(value): None for value in list(*args)}

    def _wrap(self, value):
        return _Wrapper(value)

    def __contains__(self, value):
        return self._wrap(value) in self._storage

    def add(self, value):
        self._storage[self._wrap(value)] = None

    def discard(self, value):
        self._storage.pop(self._wrap(value), None)

    def update(self, items):
        for item in items:
            self.add(item)

    def clear(self):
        self._storage.clear()

    def __len__(self):
        return len(self._storage)

    def __iter__(self):
        for key in list(self._storage):
            yield key.unwrapped

    @classmethod
    def _from_storage(cls, storage):
        return cls(key.unwrapped for key in storage)


class ObjectIdentityWeakSet(ObjectIdentitySet):
    """... whose members live only as long as others hold them."""

    __slots__ = ()

    def _wrap(self, value):
        return _Weak(value)

    def __len__(self):
        return sum(1 for _ in self)

    def __iter__(self):
        for key in list(self._storage):
            value = key.unwrapped
            if value is None:
                del self._storage[key]
            else:
                yield value
