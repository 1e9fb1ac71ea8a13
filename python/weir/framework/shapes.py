"""TensorShape: the dimensions of a tensor, each known or not, or an unknown number of them."""

import sys

__all__ = ["Dimension", "TensorShape", "as_shape", "set_v2_behavior"]

_dimensions = False  # whether programs see the sizes of shapes as Dimensions


def set_v2_behavior(enabled):
    """Whether sizes are ints and None; else they are Dimensions, and shapes are printed as TensorFlow 1's were."""
    global _dimensions
    _dimensions = not enabled


def _asked_by_program():
    """Whether the caller's caller is the program: this package, and Keras, work with ints."""
    return sys._getframe(2).f_globals.get("__name__", "").partition(".")[0] not in ("weir", "keras")


class Dimension:
    """One size of a shape as TensorFlow 1 had it: a number or None that spreads None."""
    __slots__ = ("_value",)

    def __init__(self, value):
        if isinstance(value, Dimension):
            value = value._value
        if value is not None:
            if not hasattr(value, "__index__"):
                raise TypeError(f"Dimension value must be integer or None or have an __index__ method, got value "
                                f"'{value!r}' with type '{type(value)!r}'")
            value = value.__index__()
            if value < 0:
                raise ValueError(f"Dimension {value} must be >= 0")
        self._value = value

    @property
    def value(self):
        return self._value

    def is_compatible_with(self, other):
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def merge_with(self, other):
        other = as_dimension(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")
        return other if self._value is None else self

    def _with(self, other, function):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return Dimension(None)
        return Dimension(function(self._value, other._value))

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    def __radd__(self, other):
        return self._with(other, lambda a, b: b + a)

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other):
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    def __rmul__(self, other):
        return self._with(other, lambda a, b: b * a)

    def __floordiv__(self, other):
        return self._with(other, lambda a, b: a // b)

    def __rfloordiv__(self, other):
        return self._with(other, lambda a, b: b // a)

    def __mod__(self, other):
        return self._with(other, lambda a, b: a % b)

    def __rmod__(self, other):
        return self._with(other, lambda a, b: b % a)

    def _compare(self, other, function):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other._value is None:
            return None
        return function(self._value, other._value)

    def __eq__(self, other):
        return self._compare(other, lambda a, b: a == b)

    def __ne__(self, other):
        return self._compare(other, lambda a, b: a != b)

    def __lt__(self, other):
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other):
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other):
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other):
        return self._compare(other, lambda a, b: a >= b)

    def __hash__(self):
        return hash(self._value)

    def __int__(self):
        return self._value

    def __index__(self):
        return self._value

    def __repr__(self):
        return f"Dimension({self._value})"

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def __reduce__(self):
        return Dimension, (self._value,)


def as_dimension(value):
    return value if isinstance(value, Dimension) else Dimension(value)


def _size(value):
    if value is None:
        return None
    if isinstance(value, int):
        if value < -1:
            raise ValueError(f"Dimension {value} must be >= 0")
        return None if value == -1 else int(value)
    if isinstance(value, Dimension):
        return value.value
    if hasattr(value, "__index__"):
        try:
            index = value.__index__()
        except TypeError:
            index = None
        if index is not None:
            return _size(index)
    raise TypeError(f"Dimension value must be integer or None or have an __index__ method, got value '{value!r}' "
                    f"with type '{type(value)!r}'")


class TensorShape:
    """The shape of a tensor: fully known, of known rank with unknown (None) sizes, or of unknown rank."""
    __slots__ = ("_dims", "__weakref__")

    def __init__(self, dims):
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif isinstance(dims, (tuple, list)):
            self._dims = tuple([_size(d) for d in dims])
        elif isinstance(dims, str):
            raise TypeError(f"Failed to convert '{dims!r}' to a shape")
        elif hasattr(dims, "unknown_rank") and hasattr(dims, "dim"):  # a TensorShapeProto
            self._dims = None if dims.unknown_rank else tuple([None if d.size == -1 else int(d.size) for d in dims.dim])
        else:
            try:
                sizes = iter(dims)
            except TypeError:
                self._dims = (_size(dims),)
            else:
                self._dims = tuple([_size(d) for d in sizes])

    @classmethod
    def _of(cls, dims):
        """Without checks: a tuple of ints and None, or None."""
        shape = object.__new__(cls)
        shape._dims = dims
        return shape

    @property
    def rank(self):
        return None if self._dims is None else len(self._dims)

    ndims = rank

    @property
    def dims(self):
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    def as_list(self):
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self):
        if self._dims is None or None in self._dims:
            return None
        total = 1
        for size in self._dims:
            total *= size
        return total

    def is_fully_defined(self):
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self):
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        if len(self._dims) != len(other._dims):
            return False
        return all(a is None or b is None or a == b for a, b in zip(self._dims, other._dims))

    def assert_has_rank(self, rank):
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_same_rank(self, other):
        other = as_shape(other)
        if self._dims is not None and other._dims is not None and len(self._dims) != len(other._dims):
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def is_subtype_of(self, other):
        other = as_shape(other)
        if other._dims is None:
            return True
        if self._dims is None or len(self._dims) != len(other._dims):
            return False
        return all(b is None or a == b for a, b in zip(self._dims, other._dims))

    def most_specific_common_supertype(self, others):
        if any(not isinstance(o, TensorShape) for o in others):
            return None
        if self._dims is None or any(o._dims is None or len(o._dims) != len(self._dims) for o in others):
            return TensorShape(None)
        return TensorShape([d if all(o._dims[i] == d for o in others) else None for i, d in enumerate(self._dims)])

    def most_specific_compatible_shape(self, other):
        return self.most_specific_common_supertype([as_shape(other)])

    def merge_with(self, other):
        other = as_shape(other)
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return TensorShape._of(tuple([b if a is None else a for a, b in zip(self._dims, other._dims)]))

    def concatenate(self, other):
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return TensorShape._of(None)
        return TensorShape._of(self._dims + other._dims)

    def with_rank(self, rank):
        try:
            return self.merge_with(TensorShape._of((None,) * rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank):
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank):
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def __add__(self, other):
        return self.concatenate(other)

    def __radd__(self, other):
        return as_shape(other).concatenate(self)

    def __len__(self):
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self):
        return self._dims is not None

    def __iter__(self):
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.dims if _dimensions and _asked_by_program() else self._dims)

    def __getitem__(self, key):
        if self._dims is None:
            if isinstance(key, slice):
                start = key.start if key.start is not None else 0
                if key.step is not None:
                    raise ValueError("Steps are not yet handled")
                if key.stop is None or key.stop < 0 or start < 0:
                    return TensorShape._of(None)
                return TensorShape._of((None,) * max(0, key.stop - start))
            return Dimension(None) if _dimensions and _asked_by_program() else None
        if isinstance(key, slice):
            return TensorShape._of(self._dims[key])
        return Dimension(self._dims[key]) if _dimensions and _asked_by_program() else self._dims[key]

    def __eq__(self, other):
        if not isinstance(other, TensorShape):
            try:
                other = as_shape(other)
            except (TypeError, ValueError):
                return NotImplemented
        return self._dims == other._dims

    def __ne__(self, other):
        result = self.__eq__(other)
        return result if result is NotImplemented else not result

    def __hash__(self):
        return hash(self._dims)

    def __repr__(self):
        if self._dims is None:
            return "TensorShape(None)"
        return f"TensorShape({self.dims if _dimensions else list(self._dims)})"

    def __str__(self):
        if self._dims is None:
            return "<unknown>"
        sizes = ["?" if d is None and _dimensions else str(d) for d in self._dims]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def __reduce__(self):
        return TensorShape, (None if self._dims is None else list(self._dims),)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def placeholder_value(self, placeholder_context=None):
        raise NotImplementedError("A TensorShape has no placeholder")


TensorShape.__module__ = Dimension.__module__ = "tensorflow.python.framework.tensor_shape"


def as_shape(shape):
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)
