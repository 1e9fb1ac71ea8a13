"""Cases for compare_keras.py: losses, metrics, optimizers, schedules, initializers, regularizers, constraints,
activations, variables and dtype policies of Keras, each by itself."""

import inspect
import json

import keras
import numpy as np
import tensorflow as tf

_random = np.random.RandomState(2)


def f(*shape, low=0.05, high=0.95):
    return _random.uniform(low, high, shape).astype("float32")


def labels(*shape, high=3):
    return _random.randint(0, high, shape).astype("int32")


def _classes(module, base):
    for name in sorted(dir(module)):
        value = getattr(module, name)
        if inspect.isclass(value) and issubclass(value, base) and value is not base:
            yield name, value


def _config(thing):
    return json.dumps(keras.saving.serialize_keras_object(thing), sort_keys=True, default=str)


LOSS_DATA = {
    "SparseCategoricalCrossentropy": (labels(4), f(4, 3)), "CategoricalFocalCrossentropy": (np.eye(3)[labels(4)], f(4, 3)),
    "CategoricalGeneralizedCrossEntropy": (labels(4), f(4, 3)), "CTC": (labels(2, 3, high=4) + 1, f(2, 6, 6)),
    "Circle": (labels(4), f(4, 3)), "Dice": (np.round(f(2, 3, 3, 1)), f(2, 3, 3, 1)),
    "Tversky": (np.round(f(2, 3, 3, 1)), f(2, 3, 3, 1))}


def _losses():
    for name, kind in _classes(keras.losses, keras.losses.Loss):
        y, x = LOSS_DATA.get(name, (np.round(f(4, 3)), f(4, 3)))
        for reduction in ("sum_over_batch_size", "sum", "none", None, "mean", "mean_with_sample_weight"):
            yield f"loss.{name}.{reduction}", lambda k=kind, a=y, b=x, r=reduction: k(reduction=r)(a, b)
        yield f"loss.{name}.weights", lambda k=kind, a=y, b=x: k()(a, b, sample_weight=np.linspace(0, 1, len(a)))
        for dtype in ("float16", "bfloat16", "float64"):
            yield f"loss.{name}.{dtype}", lambda k=kind, a=y, b=x, d=dtype: k(dtype=d)(a, b)
        yield f"loss.{name}.gradient", lambda k=kind, a=y, b=x: _loss_gradient(k(), a, b)
        yield f"loss.{name}.symbolic", lambda k=kind, a=y, b=x: k()(
            keras.KerasTensor((None,) + a.shape[1:], "float32"), keras.KerasTensor((None,) + b.shape[1:], "float32"))
        yield f"loss.{name}.config", lambda k=kind: _config(k())
        yield f"loss.{name}.mask", lambda k=kind, a=y, b=x: _masked_loss(k(), a, b)
        for option in ("from_logits", "label_smoothing", "axis"):
            if option in inspect.signature(kind.__init__).parameters:
                value = {"from_logits": True, "label_smoothing": 0.1, "axis": 1}[option]
                yield f"loss.{name}.{option}", lambda k=kind, a=y, b=x, o=option, v=value: k(**{o: v})(a, b)
    for name in sorted(dir(keras.losses)):
        function = getattr(keras.losses, name)
        if inspect.isfunction(function) and name not in ("get", "serialize", "deserialize"):
            y, x = np.round(f(4, 3)), f(4, 3)
            if "sparse" in name:
                y = labels(4)
            yield f"loss.{name}.function", lambda g=function, a=y, b=x: g(a, b)
            yield f"loss.{name}.traced", lambda g=function, a=y, b=x: tf.function(g, autograph=False)(a, b)


def _loss_gradient(loss, y, x):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = loss(y, x)
    return tape.gradient(value, x)


def _masked_loss(loss, y, x):
    x = tf.constant(x)
    keras.src.backend.set_keras_mask(x, tf.constant(np.arange(len(x)) % 2 == 0))
    return loss(y, x)


METRIC_DATA = {
    "SparseCategoricalAccuracy": (labels(5), f(5, 3)), "SparseTopKCategoricalAccuracy": (labels(5), f(5, 3)),
    "SparseCategoricalCrossentropy": (labels(5), f(5, 3)), "MeanIoU": (labels(6), labels(6)),
    "IoU": (labels(6, high=2), labels(6, high=2)), "BinaryIoU": (labels(6, high=2), f(6)),
    "OneHotIoU": (np.eye(3)[labels(6)], f(6, 3)), "OneHotMeanIoU": (np.eye(3)[labels(6)], f(6, 3)),
    "F1Score": (np.eye(3)[labels(6)], f(6, 3)), "FBetaScore": (np.eye(3)[labels(6)], f(6, 3)),
    "R2Score": (f(5, 2), f(5, 2)), "PearsonCorrelation": (f(5, 2), f(5, 2)), "ConcordanceCorrelation": (f(5, 2), f(5, 2))}
METRIC_ARGUMENTS = {
    "MeanIoU": {"num_classes": 3}, "IoU": {"num_classes": 2, "target_class_ids": [0]}, "BinaryIoU": {},
    "OneHotIoU": {"num_classes": 3, "target_class_ids": [0, 2]}, "OneHotMeanIoU": {"num_classes": 3},
    "PrecisionAtRecall": {"recall": 0.5}, "RecallAtPrecision": {"precision": 0.5}, "SensitivityAtSpecificity": {"specificity": 0.5},
    "SpecificityAtSensitivity": {"sensitivity": 0.5}, "MeanRelativeError": {"normalizer": [1.0, 2.0, 3.0]},
    "MeanMetricWrapper": {"fn": lambda y, x: keras.ops.mean(keras.ops.abs(y - x), axis=-1)}}
VALUES = {"Mean", "Sum"}


def _update(metric, name, y, x, weight=None):
    for _ in range(2):
        if name in VALUES:
            metric.update_state(x, sample_weight=weight)
        else:
            metric.update_state(y, x, sample_weight=weight)
    result = metric.result()
    state = [v.numpy() for v in metric.variables]
    metric.reset_state()
    return [result, state, [v.numpy() for v in metric.variables], [v.path for v in metric.variables]]


def _traced_metric(metric, name, y, x):
    @tf.function(autograph=False)
    def step(a, b):
        metric.update_state(b) if name in VALUES else metric.update_state(a, b)
        return metric.result()
    return [step(y, x), step(y, x)]


def _metrics():
    for name, kind in _classes(keras.metrics, keras.metrics.Metric):
        y, x = METRIC_DATA.get(name, (np.round(f(5, 3)), f(5, 3)))
        arguments = METRIC_ARGUMENTS.get(name, {})
        yield f"metric.{name}", lambda k=kind, n=name, a=y, b=x, g=arguments: _update(k(**g), n, a, b)
        yield f"metric.{name}.weights", lambda k=kind, n=name, a=y, b=x, g=arguments: _update(
            k(**g), n, a, b, np.linspace(0.1, 1, len(a)).astype("float32"))
        yield f"metric.{name}.float16", lambda k=kind, n=name, a=y, b=x, g=arguments: _update(k(dtype="float16", **g), n, a, b)
        yield f"metric.{name}.traced", lambda k=kind, n=name, a=y, b=x, g=arguments: _traced_metric(
            k(**g), n, tf.constant(a), tf.constant(b))
        yield f"metric.{name}.config", lambda k=kind, g=arguments: _config(k(**g))
        yield f"metric.{name}.stateless", lambda k=kind, n=name, a=y, b=x, g=arguments: _stateless(k(**g), n, a, b)
    yield "metric.AUC.pr", lambda: _update(keras.metrics.AUC(curve="PR", num_thresholds=20), "", np.round(f(20)), f(20))
    yield "metric.AUC.multi", lambda: _update(keras.metrics.AUC(multi_label=True), "", np.round(f(9, 3)), f(9, 3))
    yield "metric.AUC.minoring", lambda: _update(
        keras.metrics.AUC(summation_method="minoring", thresholds=[0.2, 0.7]), "", np.round(f(9)), f(9))
    yield "metric.Precision.top", lambda: _update(keras.metrics.Precision(top_k=2), "", np.round(f(5, 3)), f(5, 3))
    yield "metric.Precision.class", lambda: _update(
        keras.metrics.Precision(class_id=1, thresholds=[0.3, 0.6]), "", np.round(f(5, 3)), f(5, 3))
    yield "metric.Recall.top", lambda: _update(keras.metrics.Recall(top_k=2, class_id=0), "", np.round(f(5, 3)), f(5, 3))
    yield "metric.F1.macro", lambda: _update(keras.metrics.F1Score("macro", threshold=0.5), "", np.eye(3)[labels(6)], f(6, 3))


def _stateless(metric, name, y, x):
    variables = [v.value for v in metric.variables]
    variables = metric.stateless_update_state(variables, x) if name in VALUES else \
        metric.stateless_update_state(variables, y, x)
    return [variables, metric.stateless_result(variables), metric.stateless_reset_state()]


OPTIMIZER_OPTIONS = [{}, {"clipnorm": 0.1}, {"clipvalue": 0.05}, {"global_clipnorm": 0.2}, {"weight_decay": 0.01},
                     {"use_ema": True, "ema_momentum": 0.9, "ema_overwrite_frequency": 2}, {"loss_scale_factor": 4.0},
                     {"gradient_accumulation_steps": 2}, {"name": "mine"},
                     {"learning_rate": keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.9)}]


def _steps(optimizer, sparse=False, traced=False):
    table = keras.Variable(np.sin(np.arange(12)).reshape(4, 3).astype("float32"), name="table")
    bias = keras.Variable(np.cos(np.arange(3)).astype("float32"), name="bias")

    def step():
        with tf.GradientTape() as tape:
            taken = tf.gather(table.value, [0, 2, 2]) if sparse else table.value
            loss = tf.reduce_sum(tf.square(taken)) + tf.reduce_sum(bias.value * 0.5)
        variables = [table, bias]
        optimizer.apply(tape.gradient(loss, [v.value for v in variables]), variables)
        return loss

    optimizer.build([table, bias])
    run = tf.function(step, autograph=False) if traced else step
    values = [run() for _ in range(4)]
    optimizer.finalize_variable_values([table, bias])
    return [values, table.numpy(), bias.numpy(), [v.path for v in optimizer.variables], [v.numpy() for v in optimizer.variables],
            optimizer.iterations.numpy()]


def _optimizers():
    for name, kind in _classes(keras.optimizers, keras.optimizers.Optimizer):
        if name == "LossScaleOptimizer":
            yield "optimizer.LossScale", lambda: _steps(keras.optimizers.LossScaleOptimizer(
                keras.optimizers.SGD(0.1), initial_scale=8.0, dynamic_growth_steps=2))
            yield "optimizer.LossScale.traced", lambda: _steps(keras.optimizers.LossScaleOptimizer(
                keras.optimizers.Adam(0.1), initial_scale=8.0, dynamic_growth_steps=2), traced=True)
            continue
        for number, options in enumerate(OPTIMIZER_OPTIONS):
            yield f"optimizer.{name}#{number}", lambda k=kind, o=options: _steps(k(**o))
            yield f"optimizer.{name}#{number}.traced", lambda k=kind, o=options: _steps(k(**o), traced=True)
            yield f"optimizer.{name}#{number}.sparse", lambda k=kind, o=options: _steps(k(**o), sparse=True)
        yield f"optimizer.{name}.sparse.traced", lambda k=kind: _steps(k(), sparse=True, traced=True)
        yield f"optimizer.{name}.config", lambda k=kind: _config(k())
        yield f"optimizer.{name}.reload", lambda k=kind: _reload_optimizer(k)
    yield "optimizer.SGD.nesterov", lambda: _steps(keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True), sparse=True)
    yield "optimizer.RMSprop.centered", lambda: _steps(keras.optimizers.RMSprop(0.1, momentum=0.9, centered=True), sparse=True)
    yield "optimizer.Adam.amsgrad", lambda: _steps(keras.optimizers.Adam(0.1, amsgrad=True), sparse=True)
    yield "optimizer.exclude", _excluded


def _excluded():
    optimizer = keras.optimizers.AdamW(0.1, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    return _steps(optimizer)


def _reload_optimizer(kind):
    first = kind()
    _steps(first)
    store = {}
    first.save_own_variables(store)
    second = kind.from_config(first.get_config())
    _steps(second)
    second.load_own_variables(store)
    return [np.array(v) for v in second.variables]


def _schedules():
    s = keras.optimizers.schedules
    for name, schedule in (("exponential", s.ExponentialDecay(0.1, 4, 0.5)), ("staircase", s.ExponentialDecay(0.1, 4, 0.5, True)),
                           ("piecewise", s.PiecewiseConstantDecay([2, 5], [0.1, 0.05, 0.01])),
                           ("polynomial", s.PolynomialDecay(0.1, 5, 0.01, 2.0)),
                           ("cycle", s.PolynomialDecay(0.1, 5, 0.01, 2.0, cycle=True)), ("inverse", s.InverseTimeDecay(0.1, 3, 0.5)),
                           ("cosine", s.CosineDecay(0.1, 6, 0.1)), ("warm", s.CosineDecay(0.0, 6, 0.1, warmup_target=0.2, warmup_steps=3)),
                           ("restarts", s.CosineDecayRestarts(0.1, 3))):
        yield f"schedule.{name}", lambda x=schedule: [x(step) for step in range(9)] + [x(tf.constant(3, tf.int64))]
        yield f"schedule.{name}.config", lambda x=schedule: _config(x)


def _makers():
    for name, kind in _classes(keras.initializers, keras.initializers.Initializer):
        for shape in ((3, 4), (5,), (3, 3, 2, 4), ()):
            for dtype in ("float32", "float16", "bfloat16", "float64", "int32"):
                seeded = "seed" in inspect.signature(kind.__init__).parameters
                yield f"initializer.{name}.{shape}.{dtype}", lambda k=kind, s=shape, d=dtype, r=seeded: (
                    k(seed=3) if r else k())(s, dtype=d)
        yield f"initializer.{name}.config", lambda k=kind: _config(k())
    for name, kind in _classes(keras.regularizers, keras.regularizers.Regularizer):
        yield f"regularizer.{name}", lambda k=kind: k()(f(4, 4) * 0 + 0.3)
        yield f"regularizer.{name}.config", lambda k=kind: _config(k())
    for name, kind in _classes(keras.constraints, keras.constraints.Constraint):
        yield f"constraint.{name}", lambda k=kind: k()(tf.constant(np.sin(np.arange(36)).reshape(3, 3, 2, 2).astype("float32")))
        yield f"constraint.{name}.config", lambda k=kind: _config(k())
    for name in sorted(dir(keras.activations)):
        function = getattr(keras.activations, name)
        if callable(function) and name not in ("get", "serialize", "deserialize"):
            for dtype in ("float32", "float16", "bfloat16", "float64"):
                yield f"activation.{name}.{dtype}", lambda g=function, d=dtype: g(
                    tf.cast(np.linspace(-3, 3, 12).reshape(3, 4), d)) if g.__name__ != "threshold" else None
            yield f"activation.{name}.symbolic", lambda g=function: g(keras.KerasTensor((None, 4)))


def _variables():
    def made(**options):
        v = keras.Variable(np.arange(6).reshape(2, 3), **options)
        out = [v.dtype, list(v.shape), v.trainable, v.path, v.numpy(), repr(v), v.aggregation, v.synchronization]
        v.assign(v + 1)
        v.assign_add(np.ones((2, 3)))
        v.assign_sub([[1, 1, 1], [2, 2, 2]])
        return out + [v.numpy(), v[1], v > 2, v @ tf.ones((3, 1), v.dtype), -v, v / 2, 2 ** v, abs(v), v // 2, v % 2, np.asarray(v)]
    for number, options in enumerate(({"dtype": "float32"}, {"dtype": "int32"}, {"dtype": "float16", "name": "n"}, {
            "dtype": "bfloat16"}, {"dtype": "float64", "trainable": False}, {"dtype": "float32", "aggregation": "sum"},
            {"dtype": "float32", "autocast": False}, {"dtype": "uint8"}, {"dtype": "bool"}, {"dtype": "int8"}, {})):
        yield f"variable#{number}", lambda o=options: made(**o)
    yield "variable.shape", lambda: keras.Variable(initializer="zeros", shape=(2,)).assign([1, 2, 3])
    yield "variable.lazy", _lazy
    yield "variable.autocast", _autocast
    yield "variable.string", lambda: keras.Variable(["a"], dtype="string").numpy()
    yield "variable.stateless", _stateless_scope
    for policy in ("float32", "mixed_float16", "mixed_bfloat16", "float16", "bfloat16", "float64", "int8_from_float32",
                   "float8_from_mixed_bfloat16", "int4_from_float32", "int4/2_from_float32", "nonsense"):
        yield f"policy.{policy}", lambda p=policy: [
            keras.dtype_policies.get(p).compute_dtype, keras.dtype_policies.get(p).variable_dtype, _config(keras.dtype_policies.get(p))]


def _lazy():
    with keras.src.backend.common.variables.StatelessScope():
        v = keras.Variable(initializer="ones", shape=(2, 2))
        before = repr(v)
    return [before.split("object")[0], v.numpy()]


def _autocast():
    from keras.src.backend.common.variables import AutocastScope
    v = keras.Variable(np.ones((2,), "float32"))
    with AutocastScope("float16"):
        return [v.value, v + 1, keras.ops.add(v, 1), v.dtype]


def _stateless_scope():
    v = keras.Variable(np.ones((2,), "float32"))
    with keras.StatelessScope(state_mapping=[(v, tf.constant([3.0, 4.0]))]) as scope:
        v.assign(v + 1)
        inside = v.value
    return [inside, v.numpy(), scope.get_current_value(v)]


def cases():
    yield from _losses()
    yield from _metrics()
    yield from _optimizers()
    yield from _schedules()
    yield from _makers()
    yield from _variables()
