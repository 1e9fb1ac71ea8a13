"""Random numbers with given seeds."""

import numpy as np


from .draw import Var, cases


def seeds(d):
    return dict(seed=d.int(1, 999), seed2=d.int(0, 999))


@cases("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
def stateful(d):
    return dict(shape=d.index(d.shape(0, 3, 9), "T"), **seeds(d))


@cases("RandomUniformInt")
def uniform_int(d):
    return dict(shape=d.index(d.shape(), "T"), minval=d.T((), -9, 3, attr="Tout"), maxval=d.T((), 4, 99, attr="Tout"), **seeds(d))


@cases("RandomShuffle")
def shuffle(d):
    return dict(value=d.T(d.shape(0, 3)), **seeds(d))


@cases("RandomGamma")
def gamma(d):
    return dict(shape=d.index(d.shape(0, 2), "S"), alpha=d.T(d.shape(0, 2), 0.1, 5), **seeds(d))


@cases("RandomPoissonV2")
def poisson(d):
    return dict(shape=d.index(d.shape(0, 2), "S"), rate=d.T(d.shape(0, 2), 0.1, 15, attr="R"), **seeds(d))


@cases("Multinomial")
def multinomial(d):
    return dict(logits=d.T((d.int(1, 3), d.int(1, 5)), -3, 3), num_samples=d.i32(d.int(0, 9)), **seeds(d))


@cases("ParameterizedTruncatedNormal")
def truncated(d):
    one = lambda low, high: d.T((), low, high, attr="dtype")
    return dict(shape=d.index((d.int(1, 3), d.int(1, 5)), "T"), means=one(-1, 1), stdevs=one(0.5, 2), minvals=one(-3, -1), maxvals=one(1, 3), **seeds(d))


@cases("UniformCandidateSampler", "LogUniformCandidateSampler", "LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler", "FixedUnigramCandidateSampler", "AllCandidateSampler")
def sampler(d):
    true, most = d.int(1, 2), d.int(5, 20)
    given = dict(true_classes=d.i64(d.random.randint(0, most, (d.int(1, 3), true))), num_true=true, num_sampled=d.int(1, 5), unique=d.chance(), **seeds(d))
    if d.op == "AllCandidateSampler":
        return dict(given, num_sampled=most)
    if d.op == "FixedUnigramCandidateSampler":
        return dict(given, range_max=most, unigrams=[d.float(0.1, 2) for _ in range(most)], distortion=d.choice([1.0, 0.5]))
    return dict(given, range_max=most)


@cases("ComputeAccidentalHits")
def hits(d):
    true = d.int(1, 2)
    return dict(true_classes=d.of("int64", (d.int(1, 3), true), 0, 5), sampled_candidates=d.i64(d.random.permutation(6)[: d.int(1, 6)]), num_true=true)


def seed(d):
    return d.index([d.int(-99, 99), d.int(0, 99)], "Tseed")


@cases("StatelessRandomNormal", "StatelessRandomUniform", "StatelessTruncatedNormal", "StatelessRandomUniformFullInt")
def stateless(d):
    return dict(shape=d.index(d.shape(0, 3, 9), "T"), seed=seed(d))


@cases("StatelessRandomUniformInt")
def stateless_int(d):
    return dict(shape=d.index(d.shape(), "T"), seed=seed(d), minval=d.T((), -9, 3, attr="dtype"), maxval=d.T((), 4, 99, attr="dtype"))


def key(d):
    return dict(key=np.asarray([d.int(0, 2**31)], np.uint64), counter=np.asarray([d.int(0, 9), d.int(0, 9)], np.uint64), alg=d.i32(d.choice([1, 1, 2, 3])))


@cases("StatelessRandomNormalV2", "StatelessRandomUniformV2", "StatelessTruncatedNormalV2", "StatelessRandomUniformFullIntV2")
def stateless_v2(d):
    return dict(shape=d.index(d.shape(0, 3, 9), "Tshape"), **key(d))


@cases("StatelessRandomUniformIntV2")
def stateless_int_v2(d):
    return dict(shape=d.index(d.shape(), "Tshape"), minval=d.T((), -9, 3, attr="dtype"), maxval=d.T((), 4, 99, attr="dtype"), **key(d))


@cases("StatelessShuffle")
def stateless_shuffle(d):
    return dict(value=d.T(d.shape(0, 3)), **key(d))


@cases("StatelessRandomGammaV2")
def stateless_gamma(d):
    alpha = d.shape(0, 2)
    return dict(shape=d.index(d.shape(0, 1) + alpha, "T"), seed=seed(d), alpha=d.T(alpha, 0.1, 5, attr="dtype"))


@cases("StatelessRandomGammaV3")
def stateless_gamma_v3(d):
    alpha = d.shape(0, 2)
    return dict(shape=d.index(d.shape(0, 1) + alpha, "shape_dtype"), alpha=d.T(alpha, 0.1, 5, attr="dtype"), **key(d))


@cases("StatelessRandomPoisson")
def stateless_poisson(d):
    rate = d.shape(0, 2)
    return dict(shape=d.index(d.shape(0, 1) + rate, "T"), seed=seed(d), lam=d.T(rate, 0.1, 15, attr="Rtype"))


@cases("StatelessRandomBinomial")
def stateless_binomial(d):
    of = d.shape(0, 2)
    return dict(shape=d.index(d.shape(0, 1) + of, "S"), seed=seed(d), counts=d.T(of, 1, 20), probs=np.asarray(d.random.uniform(0, 1, of)).astype(d.t("T").as_numpy_dtype))


@cases("StatelessMultinomial")
def stateless_multinomial(d):
    return dict(logits=d.T((d.int(1, 3), d.int(1, 5)), -3, 3), num_samples=d.i32(d.int(0, 9)), seed=seed(d))


@cases("StatelessParameterizedTruncatedNormal")
def stateless_truncated(d):
    one = lambda low, high: d.T((), low, high, attr="dtype")
    return dict(shape=d.index(d.shape(), "S"), seed=seed(d), means=one(-1, 1), stddevs=one(0.5, 2), minvals=one(-3, -1), maxvals=one(1, 3))


@cases("StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg")
def get_key(d):
    return dict(seed=seed(d))


@cases("RandomIndexShuffle")
def index_shuffle(d):
    most = d.int(1, 20)
    t = d.t("dtype").as_numpy_dtype
    shape = () if d.chance() else (3,)
    return dict(index=np.asarray(d.random.randint(0, most + 1, shape)).astype(t), seed=d.index(d.random.randint(0, 99, shape + (3,)), "Tseed"), max_index=np.asarray(most).astype(t) if shape == () else np.full(shape, most).astype(t), rounds=d.choice([4, 6, 8]))


@cases("SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "StatelessSampleDistortedBoundingBox")
def distorted(d):
    n = d.int(0, 2)
    corners = np.sort(d.of("float32", (1, n, 2, 2), 0, 1), axis=2).reshape(1, n, 4)
    given = dict(image_size=d.index([d.int(20, 60), d.int(20, 60), 3], "T"), bounding_boxes=corners, max_attempts=d.choice([1, 100]), use_image_if_no_bounding_boxes=True, area_range=[0.05, 1.0], aspect_ratio_range=[0.75, 1.33])
    if d.op == "StatelessSampleDistortedBoundingBox":
        return dict(given, min_object_covered=d.of("float32", (), 0.1, 1), seed=seed(d))
    given.update(seeds(d))
    return dict(given, min_object_covered=d.of("float32", (), 0.1, 1)) if d.op.endswith("V2") else dict(given, min_object_covered=d.float(0.1, 1))


def state(d):
    return Var(np.asarray(d.random.randint(0, 2**31, 3), np.int64))


@cases("StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform", "StatefulUniformFullInt")
def generator(d):
    d.among("shape_dtype", "int32", "int64")
    return dict(resource=state(d), algorithm=d.i64(1), shape=d.index(d.shape(0, 3, 9), "shape_dtype"))


@cases("StatefulUniformInt")
def generator_int(d):
    d.among("shape_dtype", "int32", "int64")
    return dict(resource=state(d), algorithm=d.i64(1), shape=d.index(d.shape(), "shape_dtype"), minval=d.T((), -9, 3, attr="dtype"), maxval=d.T((), 4, 99, attr="dtype"))


@cases("StatefulRandomBinomial")
def generator_binomial(d):
    of = d.shape(0, 1)
    return dict(resource=state(d), algorithm=d.i64(1), shape=d.index(d.shape(0, 1) + of, "S"), counts=d.T(of, 1, 20), probs=np.asarray(d.random.uniform(0, 1, of)).astype(d.t("T").as_numpy_dtype))


@cases("RngSkip")
def rng_skip(d):
    return dict(resource=state(d), algorithm=d.i64(1), delta=d.i64(d.int(0, 999)))


@cases("RngReadAndSkip")
def rng_read(d):
    return dict(resource=state(d), alg=d.i32(1), delta=np.asarray(d.int(0, 999), np.uint64))
