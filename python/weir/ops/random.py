"""Random numbers: stateful functions with seeds, stateless ones, and `Generator`.

An op's two seeds come from the global seed (`set_seed`) and the op's own. Without either they are 0 and the numbers
differ from run to run. With a global seed only, eager ops draw their second seed from a generator that `set_seed`
restarts, so the n-th call after it is the same in every run.
"""

import contextlib
import enum
import random as _python_random

import numpy as np

from weir import _core
from weir.framework import as_dtype, convert_to_tensor, is_tensor, raw_ops
from weir.framework.random_seed import get_seed, global_seed, set_seed  # noqa: F401
from weir.ops import array, dtypes, math
from weir.ops.dtypes import cast

_MAX_INT32 = 2**31 - 1


def _op_seeds(seed):
    first, second = get_seed(seed)
    return {"seed": 0 if first is None else first, "seed2": 0 if second is None else second}


def _shape(shape):
    return array.shape_tensor(shape)


def _scope(name, default):
    """The name scope of a function; the last node of the function takes its name."""
    graph = _core.current_graph()
    return contextlib.nullcontext(name) if graph is None else graph.name_scope(name or default)


def _drawn_around(op, default, shape, mean, stddev, dtype, seed, name):
    dtype = as_dtype(dtype)
    with _scope(name, default) as scope:
        shape = _shape(shape)
        mean = convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
        drawn = getattr(raw_ops, op)(shape=shape, dtype=dtype, **_op_seeds(seed))
        return math.add(drawn * stddev, mean, name=scope)


def normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Normally distributed numbers."""
    return _drawn_around("RandomStandardNormal", "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Normally distributed numbers, drawn anew while they are more than two standard deviations from the mean."""
    return _drawn_around("TruncatedNormal", "truncated_normal", shape, mean, stddev, dtype, seed, name)


_UNIFORM_TYPES = ("bfloat16", "float16", "float32", "float64", "int32", "int64")


def uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    """Uniformly distributed numbers from `minval` up to but without `maxval` (1 for floats; needed for integers)."""
    dtype = as_dtype(dtype)
    if dtype.name not in _UNIFORM_TYPES:
        raise ValueError(f"Argument `dtype` got invalid value {dtype}. Accepted dtypes are {_UNIFORM_TYPES}.")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    from_zero, to_one = type(minval) is int and minval == 0, type(maxval) is int and maxval == 1
    with _scope(name, "random_uniform") as scope:
        shape = _shape(shape)
        if not from_zero or not to_one or dtype.is_integer:
            minval = convert_to_tensor(minval, dtype=dtype, name="min")
            maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
        seeds = _op_seeds(seed)
        if dtype.is_integer:
            return raw_ops.RandomUniformInt(shape=shape, minval=minval, maxval=maxval, name=scope, **seeds)
        unit = raw_ops.RandomUniform(shape=shape, dtype=dtype, **seeds)
        if from_zero:
            return unit if to_one else raw_ops.Mul(x=unit, y=maxval)
        return math.add(unit * (maxval - minval), minval, name=scope)


def shuffle(value, seed=None, name=None):
    """The rows of `value` in random order."""
    return raw_ops.RandomShuffle(value=value, name=name, **_op_seeds(seed))


def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    """Samples class numbers from unnormalised log probabilities, `num_samples` for each row."""
    with _scope(name, "categorical"):
        logits = convert_to_tensor(logits, name="logits")
        return raw_ops.Multinomial(logits=logits, num_samples=num_samples,
                                   output_dtype=dtypes.int64 if dtype is None else as_dtype(dtype), **_op_seeds(seed))


def _broadcast_pair(alpha, beta):
    full = array.broadcast_dynamic_shape(array.shape(alpha), array.shape(beta))
    return array.broadcast_to(alpha, full)


def gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None):
    """Gamma distributed numbers with shape `alpha` and rate `beta`; `shape` samples for each pair."""
    dtype = as_dtype(dtype)
    with _scope(name, "random_gamma"):
        shape = array.shape_tensor(shape, dtype=dtypes.int32)
        alpha = convert_to_tensor(alpha, dtype=dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype=dtype, name="beta")
        alpha = _broadcast_pair(alpha, beta)
        samples = raw_ops.RandomGamma(shape=shape, alpha=alpha, **_op_seeds(seed)) / beta
        return raw_ops.Maximum(x=np.array(np.finfo(dtype.as_numpy_dtype).tiny, dtype.as_numpy_dtype), y=samples)


def poisson(shape, lam, dtype=dtypes.float32, seed=None, name=None):
    """Poisson distributed numbers with mean `lam`; `shape` samples for each."""
    with _scope(name, "random_poisson"):
        shape = array.shape_tensor(shape, dtype=dtypes.int32)
        return raw_ops.RandomPoissonV2(shape=shape, rate=lam, dtype=as_dtype(dtype), **_op_seeds(seed))


# Stateless functions: the numbers depend on the seed, a pair of integers, and the shape only.


class Algorithm(enum.Enum):
    """How random bits are made."""
    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def _algorithm(alg):
    if isinstance(alg, Algorithm):
        return alg.value
    if isinstance(alg, str):
        names = {"philox": 1, "threefry": 2, "auto_select": 3}
        if alg.lower() not in names:
            raise ValueError(f"Argument `alg` got unsupported string value {alg}. Supported string values are 'philox' "
                             "for the Philox algorithm, 'threefry' for the ThreeFry algorithm, and 'auto_select' for "
                             "auto-selection.")
        return names[alg.lower()]
    if is_tensor(alg):
        return alg
    return int(alg)


def _key_counter(seed, alg):
    algorithm = _algorithm(alg)
    seed = convert_to_tensor(seed)
    if seed.dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"seed must be of type int32 or int64, got {seed.dtype}")
    if algorithm == 3:
        key, counter, chosen = raw_ops.StatelessRandomGetKeyCounterAlg(seed=seed)
        return key, counter, chosen
    if algorithm == 1:
        key, counter = raw_ops.StatelessRandomGetKeyCounter(seed=seed)
        return key, counter, algorithm
    seed = raw_ops.Bitcast(input=cast(seed, dtypes.int64), type=dtypes.uint64)
    return seed[:1], seed[1:], algorithm


def _stateless_shape(shape):
    return array.shape_tensor(shape)


def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None, alg="auto_select"):
    """Uniform numbers; for integers with `minval` and `maxval` None, from the whole range of the type."""
    dtype = as_dtype(dtype)
    if dtype.name not in _UNIFORM_TYPES + ("uint32", "uint64"):
        raise ValueError(f"Argument `dtype` got invalid value {dtype}.")
    if dtype.is_integer:
        if (minval is None) != (maxval is None):
            raise ValueError(f"For integer `dtype` argument {dtype}, argument `minval` and `maxval` must be both None "
                             "or not None.")
        if minval is not None and dtype in (dtypes.uint32, dtypes.uint64):
            raise ValueError(f"Argument `dtype` got invalid value {dtype} when argument `minval` is not None. Please "
                             "don't use unsigned integers in this case.")
    elif maxval is None:
        maxval = 1
    shape = _stateless_shape(shape)
    key, counter, algorithm = _key_counter(seed, alg)
    if dtype.is_integer and minval is None:
        return raw_ops.StatelessRandomUniformFullIntV2(shape=shape, key=key, counter=counter, alg=algorithm,
                                                       dtype=dtype, name=name)
    minval, maxval = convert_to_tensor(minval, dtype=dtype), convert_to_tensor(maxval, dtype=dtype)
    if dtype.is_integer:
        return raw_ops.StatelessRandomUniformIntV2(shape=shape, key=key, counter=counter, alg=algorithm,
                                                   minval=minval, maxval=maxval, name=name)
    unit = raw_ops.StatelessRandomUniformV2(shape=shape, key=key, counter=counter, alg=algorithm, dtype=dtype)
    return math.add(unit * (maxval - minval), minval, name=name)


def _scaled(op, shape, seed, mean, stddev, dtype, name, alg):
    dtype = as_dtype(dtype)
    mean, stddev = convert_to_tensor(mean, dtype=dtype), convert_to_tensor(stddev, dtype=dtype)
    key, counter, algorithm = _key_counter(seed, alg)
    values = op(shape=_stateless_shape(shape), key=key, counter=counter, alg=algorithm, dtype=dtype)
    return math.add(values * stddev, mean, name=name)


def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None, alg="auto_select"):
    """Normally distributed numbers."""
    return _scaled(raw_ops.StatelessRandomNormalV2, shape, seed, mean, stddev, dtype, name, alg)


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None, alg="auto_select"):
    """Normally distributed numbers within two standard deviations of the mean."""
    return _scaled(raw_ops.StatelessTruncatedNormalV2, shape, seed, mean, stddev, dtype, name, alg)


def stateless_categorical(logits, num_samples, seed, dtype=dtypes.int64, name=None):
    """Class numbers drawn from unnormalised log probabilities."""
    return raw_ops.StatelessMultinomial(logits=logits, num_samples=num_samples, seed=seed,
                                        output_dtype=as_dtype(dtype), name=name)


def stateless_binomial(shape, seed, counts, probs, output_dtype=dtypes.int32, name=None):
    """Binomially distributed numbers."""
    probs = convert_to_tensor(probs, dtype_hint=dtypes.float32)
    counts = cast(convert_to_tensor(counts, dtype_hint=probs.dtype), probs.dtype)
    return raw_ops.StatelessRandomBinomial(shape=_stateless_shape(shape), seed=seed, counts=counts, probs=probs,
                                           dtype=as_dtype(output_dtype), name=name)


def stateless_gamma(shape, seed, alpha, beta=None, dtype=dtypes.float32, name=None):
    """Gamma distributed numbers; `shape` must end with the broadcast shape of `alpha` and `beta`."""
    dtype = as_dtype(dtype)
    shape = _stateless_shape(shape)
    alpha = convert_to_tensor(alpha, dtype=dtype)
    beta = convert_to_tensor(1 if beta is None else beta, dtype=dtype)
    full = array.broadcast_dynamic_shape(array.shape(alpha), array.shape(beta))
    alpha = array.broadcast_to(alpha, full)
    key, counter, algorithm = _key_counter(seed, "auto_select")
    samples = raw_ops.StatelessRandomGammaV3(shape=shape, key=key, counter=counter, alg=algorithm, alpha=alpha) / beta
    return raw_ops.Maximum(x=array.constant(np.finfo(dtype.as_numpy_dtype).tiny, dtype=dtype), y=samples, name=name)


def stateless_poisson(shape, seed, lam, dtype=dtypes.int32, name=None):
    """Poisson distributed numbers."""
    return raw_ops.StatelessRandomPoisson(shape=_stateless_shape(shape), seed=seed, lam=lam, dtype=as_dtype(dtype),
                                          name=name)


def stateless_parameterized_truncated_normal(shape, seed, means=0.0, stddevs=1.0, minvals=-2.0, maxvals=2.0,
                                             name=None):
    """Normally distributed numbers within given bounds."""
    return raw_ops.StatelessParameterizedTruncatedNormal(shape=_stateless_shape(shape), seed=seed, means=means,
                                                         stddevs=stddevs, minvals=minvals, maxvals=maxvals, name=name)


def stateless_shuffle(value, seed, alg="auto_select", name=None):
    """The rows of `value` in an order that depends on `seed` only."""
    value = convert_to_tensor(value, name="value")
    key, counter, algorithm = _key_counter(seed, alg)
    return raw_ops.StatelessShuffle(value=value, key=key, counter=counter, alg=algorithm, name=name)


def index_shuffle(index, seed, max_index, rounds=4, name=None):
    """Where `index` lands in a random permutation of 0..max_index, without making the permutation."""
    seed = convert_to_tensor(seed)
    if seed.shape[-1] == 2:
        # The op wants three words.
        sizes = array.concat([array.shape(seed)[:-1], [3]], 0)
        flat = seed if seed.shape.rank == 1 else seed[0]
        seed = stateless_uniform(sizes, flat, minval=None, maxval=None, dtype=dtypes.uint32)
    return raw_ops.RandomIndexShuffle(index=index, seed=seed, max_index=max_index, rounds=rounds, name=name)


def split(seed, num=2, alg="auto_select"):
    """`num` new seeds of one."""
    seed = convert_to_tensor(seed)
    return stateless_uniform([num, 2], seed, minval=None, maxval=None, dtype=seed.dtype, alg=alg)


def fold_in(seed, data, alg="auto_select"):
    """A new seed of a seed and an integer."""
    data = convert_to_tensor(data)
    fresh = stateless_uniform([1], seed, minval=None, maxval=None, dtype=data.dtype, alg=alg)
    return array.concat([fresh, array.reshape(data, [1])], 0)


# Generators with a state of their own.

_STATE_SIZE = {1: 3, 2: 2, 3: 3}


def _uint_to_int(value):
    value = int(value) % 2**64
    return value - 2**64 if value >= 2**63 else value


def _make_state(seed, algorithm):
    size = _STATE_SIZE[algorithm]
    if is_tensor(seed):
        seed = array.reshape(cast(seed, dtypes.int64), [-1])
        pad = size - (seed.shape[0] or 1)
        return array.concat([array.zeros([pad], dtypes.int64), seed], 0) if pad > 0 else seed[:size]
    if isinstance(seed, (int, np.integer)):  # its words, the lowest first
        words = [_uint_to_int((int(seed) >> (64 * i)) % 2**64) for i in range(size)]
    else:
        words = [int(v) for v in np.asarray(seed).reshape(-1)][:size]
        words = [0] * (size - len(words)) + words
    return array.constant(np.array(words, np.int64))


def create_rng_state(seed, alg):
    """The state vector of a generator made from `seed`."""
    return _make_state(seed, _algorithm(alg))


class Generator:
    """A random number generator whose state is a variable: it can be saved, split and reset."""

    def __init__(self, copy_from=None, state=None, alg=None):
        from weir.framework import Variable
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError("`state` and `alg` are not allowed with `copy_from`")
            state, alg = copy_from.state.read_value(), copy_from.algorithm
        if state is None or alg is None:
            raise ValueError("A Generator needs `copy_from`, or `state` and `alg`; use Generator.from_seed")
        self._alg = _algorithm(alg)
        self._state_var = Variable(cast(convert_to_tensor(state), dtypes.int64), dtype=dtypes.int64,
                                   name="StateVar", trainable=False)

    @classmethod
    def from_state(cls, state, alg):
        """A generator that continues from a state vector."""
        return cls(alg=alg, state=state)

    @classmethod
    def from_seed(cls, seed, alg=None):
        """A generator that gives the same numbers for the same seed."""
        algorithm = 1 if alg is None else _algorithm(alg)
        return cls(state=_make_state(seed, algorithm), alg=algorithm)

    @classmethod
    def from_non_deterministic_state(cls, alg=None):
        """A generator seeded from the system's entropy."""
        algorithm = 1 if alg is None else _algorithm(alg)
        state = np.frombuffer(_python_random.SystemRandom().randbytes(8 * _STATE_SIZE[algorithm]), np.int64)
        return cls(state=state.copy(), alg=algorithm)

    @classmethod
    def from_key_counter(cls, key, counter, alg):
        """A generator with a given key and counter."""
        counter = array.reshape(cast(convert_to_tensor(counter), dtypes.int64), [-1])
        key = array.reshape(cast(convert_to_tensor(key), dtypes.int64), [-1])
        return cls(state=array.concat([counter, key], 0), alg=alg)

    @property
    def state(self):
        """The variable that holds counter and key."""
        return self._state_var

    @property
    def algorithm(self):
        """The number of the algorithm."""
        return self._alg

    @property
    def key(self):
        """The key, which changes with the seed only."""
        return self._state_var.read_value()[2 if self._alg == 1 else 1]

    def reset(self, state):
        """Continues from another state vector."""
        self._state_var.assign(cast(convert_to_tensor(state), dtypes.int64))

    def reset_from_seed(self, seed):
        """Starts again from a seed."""
        self.reset(_make_state(seed, self._alg))

    def reset_from_key_counter(self, key, counter):
        """Starts again from a key and a counter."""
        counter = array.reshape(cast(convert_to_tensor(counter), dtypes.int64), [-1])
        key = array.reshape(cast(convert_to_tensor(key), dtypes.int64), [-1])
        self.reset(array.concat([counter, key], 0))

    def skip(self, delta):
        """Advances the counter as if `delta` numbers had been drawn; the state before that."""
        return raw_ops.RngReadAndSkip(resource=self._state_var.handle, alg=array.constant(self._alg, dtypes.int32),
                                      delta=cast(delta, dtypes.uint64))

    def _key_counter(self, shape):
        count = raw_ops.Prod(input=cast(shape, dtypes.int64), axis=[0])
        state = raw_ops.Bitcast(input=self.skip(count), type=dtypes.uint64)
        counters = 2 if self._alg == 1 else 1
        return state[counters:counters + 1], state[:counters]

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """Normally distributed numbers."""
        return self._scaled(raw_ops.StatelessRandomNormalV2, shape, mean, stddev, dtype, name)

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
        """Normally distributed numbers within two standard deviations of the mean."""
        return self._scaled(raw_ops.StatelessTruncatedNormalV2, shape, mean, stddev, dtype, name)

    def _scaled(self, op, shape, mean, stddev, dtype, name):
        dtype = as_dtype(dtype)
        shape = array.shape_tensor(shape)
        key, counter = self._key_counter(shape)
        values = op(shape=shape, key=key, counter=counter, alg=self._alg, dtype=dtype)
        return math.add(values * convert_to_tensor(stddev, dtype=dtype), convert_to_tensor(mean, dtype=dtype),
                        name=name)

    def uniform(self, shape, minval=0, maxval=None, dtype=dtypes.float32, name=None):
        """Uniform numbers from `minval` up to but without `maxval`."""
        dtype = as_dtype(dtype)
        if dtype.is_integer and (minval is None) != (maxval is None):
            raise ValueError(f"For integer dtype {dtype}, minval and maxval must be both `None` or both non-`None`")
        if dtype.is_integer and minval is None:
            return self.uniform_full_int(shape, dtype, name)
        shape = array.shape_tensor(shape)
        minval = convert_to_tensor(minval, dtype=dtype)
        maxval = convert_to_tensor(1 if maxval is None else maxval, dtype=dtype)
        key, counter = self._key_counter(shape)
        if dtype.is_integer:
            return raw_ops.StatelessRandomUniformIntV2(shape=shape, key=key, counter=counter, alg=self._alg,
                                                       minval=minval, maxval=maxval, name=name)
        unit = raw_ops.StatelessRandomUniformV2(shape=shape, key=key, counter=counter, alg=self._alg, dtype=dtype)
        return math.add(unit * (maxval - minval), minval, name=name)

    def uniform_full_int(self, shape, dtype=dtypes.uint64, name=None):
        """Integers from the whole range of the type."""
        shape = array.shape_tensor(shape)
        key, counter = self._key_counter(shape)
        return raw_ops.StatelessRandomUniformFullIntV2(shape=shape, key=key, counter=counter, alg=self._alg,
                                                       dtype=as_dtype(dtype), name=name)

    def binomial(self, shape, counts, probs, dtype=dtypes.int32, name=None):
        """Binomially distributed numbers."""
        probs = convert_to_tensor(probs, dtype_hint=dtypes.float32)
        counts = cast(convert_to_tensor(counts, dtype_hint=probs.dtype), probs.dtype)
        return raw_ops.StatefulRandomBinomial(resource=self._state_var.handle, algorithm=self._alg,
                                              shape=array.shape_tensor(shape), counts=counts, probs=probs,
                                              dtype=as_dtype(dtype), name=name)

    def make_seeds(self, count=1):
        """Seeds for stateless functions: a matrix [2, count] of int64."""
        keys = self.uniform_full_int([count], dtype=dtypes.int64)
        return array.stack([keys, array.zeros_like(keys)])

    def split(self, count=1):
        """`count` generators that are independent of this one and of each other."""
        keys = array.unstack(self.uniform_full_int([count], dtype=dtypes.int64), num=count)
        zeros = array.zeros([2 if self._alg == 1 else 1], dtypes.int64)
        return [Generator(state=array.concat([zeros, array.reshape(key, [1])], 0), alg=self._alg) for key in keys]


_global_generator = None


def get_global_generator():
    """The generator of the process, seeded from the system's entropy on first use."""
    global _global_generator
    if _global_generator is None:
        from weir.framework import init_scope
        with init_scope():
            _global_generator = Generator.from_non_deterministic_state()
    return _global_generator


def set_global_generator(generator):
    """Replaces the generator of the process."""
    global _global_generator
    _global_generator = generator


def random_crop(value, size, seed=None, name=None):
    """A random window of the given size."""
    del name
    value, size = convert_to_tensor(value), array.shape_tensor(size)
    limit = array.shape(value) - size + 1
    offset = raw_ops.FloorMod(x=uniform(array.shape(limit), dtype=size.dtype, maxval=size.dtype.max, seed=seed),
                              y=limit)
    return array.slice(value, offset, size)


def stateless_random_crop(value, size, seed, name=None):
    """A window of the given size whose place depends on `seed` only."""
    del name
    value, size = convert_to_tensor(value), array.shape_tensor(size)
    limit = array.shape(value) - size + 1
    offset = raw_ops.FloorMod(
        x=stateless_uniform(array.shape(limit), dtype=size.dtype, maxval=size.dtype.max, seed=seed), y=limit)
    return array.slice(value, offset, size)
