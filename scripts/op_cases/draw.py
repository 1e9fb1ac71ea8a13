"""Random inputs of operations: what the generators of cases are written with."""

import zlib

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import kernels as kernel_registry

GENERATORS = {}
TOLERANCES = {}
SKIPPED = {}

WORDS = [b"", b"a", b"b", b"abc", b"Hello World", b" padded ", b"12", b"-3.5", b"a,b;c", b"x y  z", "grüße".encode(), "日本語".encode(), "😀e\u0301".encode(), b"\xff\xfe", b"tab\tnew\n", b"0x1F", b"1e3", b"nan"]
OPAQUE = {tf.resource.as_datatype_enum, tf.variant.as_datatype_enum}
QUANTIZED = {"qint8": np.int8, "quint8": np.uint8, "qint16": np.int16, "quint16": np.uint16, "qint32": np.int32}


def cases(*names, tolerance=None):
    """Registers a function `Draw -> inputs and attributes, by name` for these operations."""

    def register(function):
        for name in names:
            assert name not in GENERATORS, name
            GENERATORS[name] = function
            if tolerance:
                TOLERANCES[name] = tolerance
        return function

    return register


def skip(reason, *names):
    """Operations that are not compared, and why."""
    SKIPPED.update(dict.fromkeys(names, reason))


class Var:
    """An input that is a variable: given this value first, read back at the end."""

    def __init__(self, value):
        self.value = value


class Made:
    """An input that other operations make: `function()` is called when the graph is built."""

    def __init__(self, function):
        self.function = function


class Program:
    """A case of several operations: `build(feed)` makes them, and returns a list of steps, each a list of what is fetched."""

    def __init__(self, build, what=""):
        self.build = build
        self.what = what


class Draw:
    """Everything random about one case. The same seed, operation and number give the same case."""

    def __init__(self, op_def, seed, number):
        self.op = op_def.name
        self.op_def = op_def
        self.random = np.random.RandomState(zlib.crc32(f"{seed}/{op_def.name}/{number}".encode()))
        self.constants = False
        self.ignored = ()
        self.unique = f"{op_def.name}_{seed}_{number}"
        self.types = self._types()

    def _types(self):
        """A type for every attribute of kind `type` that a CPU kernel of TensorFlow takes."""
        listed = [k for k in kernel_registry.get_registered_kernels_for_op(self.op).kernel if k.device_type in ("CPU", "DEFAULT") and not k.label]
        listed = [k for k in listed if not any(set(c.allowed_values.list.type) <= OPAQUE for c in k.constraint if c.allowed_values.list.type)] or listed
        kernel = listed[self.random.randint(len(listed))] if listed else None
        types = {}
        for attr in self.op_def.attr:
            if attr.type != "type":
                continue
            allowed = list(attr.allowed_values.list.type) or [tf.as_dtype(x).as_datatype_enum for x in ("float32", "float64", "int32", "int64", "string", "bool", "uint8", "complex64", "float16")]
            for constraint in kernel.constraint if kernel else ():
                if constraint.name == attr.name:
                    inside = [x for x in constraint.allowed_values.list.type if x in allowed or not attr.allowed_values.list.type]
                    allowed = inside or allowed
            allowed = [x for x in allowed if x not in OPAQUE] or allowed
            types[attr.name] = tf.as_dtype(allowed[self.random.randint(len(allowed))])
        return types

    def t(self, name="T"):
        return self.types[name]

    def among(self, name, *types):
        """Draws the type of an attribute again, among these."""
        self.types[name] = tf.as_dtype(self.choice(types))
        return self.types[name]

    def int(self, low, high):
        """From low to high, both included."""
        return int(self.random.randint(low, high + 1))

    def float(self, low=0.0, high=1.0):
        return float(np.float32(self.random.uniform(low, high)))

    def chance(self, probability=0.5):
        return self.random.uniform() < probability

    def choice(self, of):
        of = list(of)
        return of[self.random.randint(len(of))]

    def shape(self, least=0, most=3, size=4, zero=0.05):
        """Mostly small sizes, rarely an empty dimension."""
        shape = [self.int(1, size) for _ in range(self.int(least, most))]
        if shape and self.chance(zero):
            shape[self.random.randint(len(shape))] = 0
        return tuple(shape)

    def of(self, dtype, shape=(), low=None, high=None):
        """Values of a type. Without limits also the odd ones: infinities, NaN, extremes."""
        dtype = tf.as_dtype(dtype)
        shape = tuple(shape)
        r = self.random
        if dtype.name in QUANTIZED:
            plain = QUANTIZED[dtype.name]
            info = np.iinfo(plain)
            most = min(info.max, 100000)
            return r.randint(max(info.min, -most) if low is None else low, most if high is None else high + 1, shape).astype(plain).view(dtype.as_numpy_dtype)
        if dtype == tf.string:
            out = np.empty(shape, object)
            out[...] = b""
            for i in np.ndindex(shape):
                out[i] = WORDS[r.randint(len(WORDS))]
            return out
        if dtype == tf.bool:
            return np.asarray(r.randint(0, 2, shape) == 1)
        if dtype.is_complex:
            part = "float32" if dtype == tf.complex64 else "float64"
            return np.asarray(self.of(part, shape, low, high) + 1j * self.of(part, shape, low, high)).astype(dtype.as_numpy_dtype)
        if dtype.is_integer:
            info = np.iinfo(dtype.as_numpy_dtype) if dtype.name not in ("int4", "uint4", "int2", "uint2") else None
            unsigned = dtype.is_unsigned
            least, most = (0 if unsigned else -9) if low is None else low, 9 if high is None else high
            if unsigned:
                least, most = max(least, 0), max(most, 0)
            x = np.asarray(r.randint(least, most + 1, shape)).astype(dtype.as_numpy_dtype)
            if low is None and high is None and info is not None and x.size and self.chance(0.1):
                x = x.copy()
                x.reshape(-1)[r.randint(x.size)] = self.choice([info.max, info.min, info.max // 2])
            return x
        if low is None and high is None:
            x = np.asarray(r.standard_normal(shape) * self.choice([0.3, 1, 2, 10]))
            if x.size and self.chance(0.08):
                x.reshape(-1)[r.randint(x.size)] = self.choice([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-30, 60000.0, -1.0, 1.0, 0.5])
            if self.chance(0.1):
                x = np.round(x)
        else:
            x = np.asarray(r.uniform(-1 if low is None else low, 1 if high is None else high, shape))
        with np.errstate(all="ignore"):
            return x.astype(dtype.as_numpy_dtype)

    def T(self, shape=(), low=None, high=None, attr="T"):
        return self.of(self.types[attr], shape, low, high)

    def i32(self, x):
        return np.asarray(x, np.int32)

    def i64(self, x):
        return np.asarray(x, np.int64)

    def index(self, x, attr="Tindices"):
        """As the type that an attribute has."""
        return np.asarray(x).astype(self.types[attr].as_numpy_dtype)

    def broadcast(self, count=2, most=3):
        """Shapes that broadcast to one."""
        full = self.shape(0, most)
        out = []
        for _ in range(count):
            shape = tuple(1 if self.chance(0.2) else n for n in full)
            out.append(shape[self.int(0, len(shape)):] if self.chance(0.25) else shape)
        return out

    def axis(self, rank):
        return self.int(-rank, rank - 1) if rank else 0


def default(d):
    """Inputs of one shape."""
    shape = d.shape()
    count = d.int(1, 3)
    given = {}
    for arg in d.op_def.input_arg:
        if arg.type_list_attr:
            given[arg.name] = [d.of(d.choice(["float32", "int32", "string", "int64", "bool"]), d.shape()) for _ in range(count)]
            continue
        dtype = d.types[arg.type_attr] if arg.type_attr else tf.as_dtype(arg.type)
        if dtype in (tf.resource, tf.variant):
            return None
        given[arg.name] = [d.of(dtype, shape) for _ in range(count)] if arg.number_attr else d.of(dtype, shape)
        if arg.is_ref:
            given[arg.name] = Var(given[arg.name])
    return given


def complete(d, given):
    """Attributes that a generator left open: types as drawn, booleans and enumerations at random."""
    inputs = {arg.name for arg in d.op_def.input_arg}
    inferred = {a for arg in d.op_def.input_arg if arg.name in given for a in (arg.type_attr, arg.number_attr, arg.type_list_attr) if a}
    for attr in d.op_def.attr:
        if attr.name in given or attr.name in inferred or attr.name in inputs:
            continue
        optional = attr.HasField("default_value")
        if attr.type == "type":
            if not optional or d.chance(0.8):
                given[attr.name] = d.types[attr.name]
        elif attr.type == "bool":
            if not optional or d.chance(0.5):
                given[attr.name] = d.chance()
        elif attr.type == "string" and attr.allowed_values.list.s:
            if not optional or d.chance(0.5):
                given[attr.name] = d.choice(attr.allowed_values.list.s).decode()
        elif not optional:
            return None
        if attr.name not in given:
            given[attr.name] = None
    return given


def _misshape(d, x):
    kind = d.int(0, 6)
    if kind == 0:
        return x[None]
    if kind == 1 and x.ndim:
        return x.reshape(-1)[0] if x.size else x[None]
    if kind == 2 and x.ndim:
        return np.delete(x, 0, d.int(0, x.ndim - 1)) if 0 not in x.shape else x
    if kind == 3 and x.ndim and x.size:
        axis = d.int(0, x.ndim - 1)
        return np.concatenate([x, np.take(x, [0], axis)], axis)
    if kind == 4 and x.dtype.kind in "iu" and x.size:
        y = x.copy()
        y.reshape(-1)[d.int(0, x.size - 1)] = np.array(d.choice([0, -1, 1, 2, 7, 100, -3])).astype(x.dtype)
        return y
    if kind == 5 and x.ndim:
        return x[:0]
    if kind == 6 and x.ndim > 1:
        return x.reshape(-1)
    return x[None]


def spoil(d, given):
    """One input or attribute made wrong, perhaps."""
    arrays = [k for k, v in given.items() if isinstance(v, (np.ndarray, np.generic))] + [k for k, v in given.items() if isinstance(v, list) and v and isinstance(v[0], (np.ndarray, np.generic))]
    numbers = [k for k, v in given.items() if isinstance(v, list) and v and isinstance(v[0], int) and not isinstance(v[0], bool)]
    if numbers and d.chance(0.25):
        name = d.choice(numbers)
        value = list(given[name])
        value[d.int(0, len(value) - 1)] = d.choice([0, -1, 1, 2, 3])
        return {**given, name: value}
    if not arrays:
        return given
    name = d.choice(arrays)
    value = given[name]
    if isinstance(value, list):
        at = d.int(0, len(value) - 1)
        return {**given, name: [_misshape(d, np.asarray(v)) if i == at else v for i, v in enumerate(value)]}
    return {**given, name: _misshape(d, np.asarray(value))}
