"""tf.metrics of compat.v1: each gives the value so far and the operation that adds a batch to it."""

from weir.framework import convert_to_tensor, dtypes, raw_ops
from weir.framework.graph import GraphKeys, executing_eagerly, get_default_graph
from weir.compat.v1.scopes import variable_scope
from weir.ops import array, math
from weir.variables import VariableV1


def _variable(shape, dtype, name):
    return VariableV1(lambda: array.zeros(shape, dtype), trainable=False, name=name, validate_shape=True,
                      collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES])


def _check(name):
    if executing_eagerly():
        raise RuntimeError(f"tf.metrics.{name} is not supported when eager execution is enabled.")


def _done(value, update, metrics_collections, updates_collections):
    for key in _keys(metrics_collections):
        get_default_graph().add_to_collection(key, value)
    for key in _keys(updates_collections):
        get_default_graph().add_to_collection(key, update)
    return value, update


def _keys(collections):
    return [] if not collections else [collections] if isinstance(collections, str) else list(collections)


def _safe(a, b, name):
    return raw_ops.DivNoNan(x=a, y=b, name=name)


def _same_shape(predictions, labels):
    """Drops a last dimension of one where the other has none."""
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    a, b = predictions.shape.rank, labels.shape.rank
    if a is not None and b is not None:
        if a - b == 1 and predictions.shape[-1] == 1:
            predictions = array.squeeze(predictions, [-1])
        elif b - a == 1 and labels.shape[-1] == 1:
            labels = array.squeeze(labels, [-1])
    return predictions, labels


def _weighted(values, weights):
    if weights is None:
        return values, None
    weights = math.cast(weights, dtypes.float32)
    if weights.shape.rank is not None and values.shape.rank is not None and weights.shape.rank not in (0,):
        while weights.shape.rank < values.shape.rank:
            weights = array.expand_dims(weights, -1)
    weights = array.ones_like(values) * weights
    return values * weights, weights


def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The mean of all values so far."""
    _check("mean")
    with variable_scope(name, "mean", (values, weights)):
        values = math.cast(values, dtypes.float32)
        total, count = _variable([], dtypes.float32, "total"), _variable([], dtypes.float32, "count")
        weighted, weights = _weighted(values, weights)
        number = math.cast(array.size(values), dtypes.float32) if weights is None else math.reduce_sum(weights)
        value = _safe(total.value(), count.value(), "value")
        added = total.assign_add(math.reduce_sum(weighted))
        with get_default_graph().control_dependencies([weighted]):
            counted = count.assign_add(number)
        return _done(value, _safe(added, counted, "update_op"), metrics_collections, updates_collections)


def accuracy(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """How often predictions equal labels."""
    _check("accuracy")
    predictions, labels = _same_shape(predictions, labels)
    predictions.shape.assert_is_compatible_with(labels.shape)
    if labels.dtype != predictions.dtype:
        predictions = math.cast(predictions, labels.dtype)
    return mean(math.cast(math.equal(predictions, labels), dtypes.float32), weights, metrics_collections,
                updates_collections, name or "accuracy")


def mean_absolute_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    predictions, labels = _same_shape(math.cast(predictions, dtypes.float32), math.cast(labels, dtypes.float32))
    return mean(math.abs(predictions - labels), weights, metrics_collections, updates_collections,
                name or "mean_absolute_error")


def mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    predictions, labels = _same_shape(math.cast(predictions, dtypes.float32), math.cast(labels, dtypes.float32))
    return mean(raw_ops.Square(x=labels - predictions), weights, metrics_collections, updates_collections,
                name or "mean_squared_error")


def root_mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None,
                            name=None):
    value, update = mean_squared_error(labels, predictions, weights, None, None, name or "root_mean_squared_error")
    return _done(math.sqrt(value), math.sqrt(update), metrics_collections, updates_collections)


def mean_relative_error(labels, predictions, normalizer, weights=None, metrics_collections=None, updates_collections=None,
                        name=None):
    predictions, labels = _same_shape(math.cast(predictions, dtypes.float32), math.cast(labels, dtypes.float32))
    normalizer = math.cast(normalizer, dtypes.float32)
    error = array.where(math.equal(normalizer, 0.0), array.zeros_like(labels), math.abs(labels - predictions) / normalizer)
    return mean(error, weights, metrics_collections, updates_collections, name or "mean_relative_error")


def mean_cosine_distance(labels, predictions, dim, weights=None, metrics_collections=None, updates_collections=None,
                         name=None):
    predictions, labels = _same_shape(math.cast(predictions, dtypes.float32), math.cast(labels, dtypes.float32))
    products = math.reduce_sum(predictions * labels, axis=[dim], keepdims=True)
    value, update = mean(products, weights, None, None, name or "mean_cosine_distance")
    return _done(1.0 - value, 1.0 - update, metrics_collections, updates_collections)


def percentage_below(values, threshold, weights=None, metrics_collections=None, updates_collections=None, name=None):
    return mean(math.cast(convert_to_tensor(values) < threshold, dtypes.float32), weights, metrics_collections,
                updates_collections, name or "percentage_below_threshold")


def mean_tensor(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The mean of all values so far, element by element."""
    _check("mean_tensor")
    with variable_scope(name, "mean", (values, weights)):
        values = math.cast(values, dtypes.float32)
        total = _variable(values.shape, dtypes.float32, "total_tensor")
        count = _variable(values.shape, dtypes.float32, "count_tensor")
        weighted, weights = _weighted(values, weights)
        value = _safe(total.value(), raw_ops.Maximum(x=count.value(), y=0.0), "value")
        added = total.assign_add(weighted)
        counted = count.assign_add(array.ones_like(values) if weights is None else weights)
        return _done(value, _safe(added, counted, "update_op"), metrics_collections, updates_collections)


# What is true and what is predicted.

def _count_condition(condition, weights, metrics_collections, updates_collections):
    count = _variable([], dtypes.float32, "count")
    values = math.cast(condition, dtypes.float32)
    weighted, _ = _weighted(values, weights)
    value = array.identity(count.value())
    update = count.assign_add(math.reduce_sum(weighted))
    return _done(value, update, metrics_collections, updates_collections)


def _counter(label, name_):
    def metric(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
        _check(name_)
        with variable_scope(name, name_, (predictions, labels, weights)):
            guessed, given = _same_shape(math.cast(predictions, dtypes.bool), math.cast(labels, dtypes.bool))
            condition = raw_ops.LogicalAnd(x=math.equal(given, label[0]), y=math.equal(guessed, label[1]))
            return _count_condition(condition, weights, metrics_collections, updates_collections)
    metric.__name__ = name_
    return metric


true_positives = _counter((True, True), "true_positives")
true_negatives = _counter((False, False), "true_negatives")
false_positives = _counter((False, True), "false_positives")
false_negatives = _counter((True, False), "false_negatives")


def precision(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Of what was predicted, the part that is true."""
    _check("precision")
    with variable_scope(name, "precision", (predictions, labels, weights)):
        good, good_update = true_positives(labels, predictions, weights)
        bad, bad_update = false_positives(labels, predictions, weights)
        return _done(_part(good, bad, "value"), _part(good_update, bad_update, "update_op"), metrics_collections,
                     updates_collections)


def recall(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Of what is true, the part that was predicted."""
    _check("recall")
    with variable_scope(name, "recall", (predictions, labels, weights)):
        good, good_update = true_positives(labels, predictions, weights)
        bad, bad_update = false_negatives(labels, predictions, weights)
        return _done(_part(good, bad, "value"), _part(good_update, bad_update, "update_op"), metrics_collections,
                     updates_collections)


def _part(good, bad, name):
    both = good + bad
    return array.where(both > 0, raw_ops.DivNoNan(x=good, y=both), array.zeros_like(both), name=name)


def _confusion_at(labels, predictions, thresholds, weights, kinds):
    """Counts of true and false positives and negatives at thresholds, and what adds a batch to them."""
    predictions = array.reshape(math.cast(predictions, dtypes.float32), [1, -1])
    labels = array.reshape(math.cast(labels, dtypes.bool), [1, -1])
    count = len(thresholds)
    limits = array.reshape(convert_to_tensor(thresholds, dtypes.float32), [count, 1])
    guessed = predictions > limits
    given = raw_ops.LogicalAnd(x=labels, y=array.ones_like(guessed))
    scale = None
    if weights is not None:
        scale = array.reshape(array.ones_like(predictions) * array.reshape(math.cast(weights, dtypes.float32), [1, -1]),
                              [1, -1])
    values, updates = {}, {}
    for kind in kinds:
        truth = given if kind in ("tp", "fn") else raw_ops.LogicalNot(x=given)
        guess = guessed if kind in ("tp", "fp") else raw_ops.LogicalNot(x=guessed)
        hits = math.cast(raw_ops.LogicalAnd(x=truth, y=guess), dtypes.float32)
        if scale is not None:
            hits = hits * scale
        names = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives", "fp": "false_positives"}
        kept = _variable([count], dtypes.float32, names[kind])
        values[kind] = array.identity(kept.value())
        updates[kind] = kept.assign_add(math.reduce_sum(hits, 1))
    return values, updates


def _at_thresholds(kind, name_):
    def metric(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None,
               name=None):
        _check(name_)
        with variable_scope(name, name_, (predictions, labels, weights)):
            values, updates = _confusion_at(labels, predictions, list(thresholds), weights, [kind])
            return _done(values[kind], updates[kind], metrics_collections, updates_collections)
    metric.__name__ = name_
    return metric


true_positives_at_thresholds = _at_thresholds("tp", "true_positives")
true_negatives_at_thresholds = _at_thresholds("tn", "true_negatives")
false_positives_at_thresholds = _at_thresholds("fp", "false_positives")
false_negatives_at_thresholds = _at_thresholds("fn", "false_negatives")


def precision_at_thresholds(labels, predictions, thresholds, weights=None, metrics_collections=None,
                            updates_collections=None, name=None):
    _check("precision_at_thresholds")
    with variable_scope(name, "precision_at_thresholds", (predictions, labels, weights)):
        values, updates = _confusion_at(labels, predictions, list(thresholds), weights, ["tp", "fp"])
        ratio = lambda v: v["tp"] / (1e-7 + v["tp"] + v["fp"])  # noqa: E731
        return _done(ratio(values), ratio(updates), metrics_collections, updates_collections)


def recall_at_thresholds(labels, predictions, thresholds, weights=None, metrics_collections=None,
                         updates_collections=None, name=None):
    _check("recall_at_thresholds")
    with variable_scope(name, "recall_at_thresholds", (predictions, labels, weights)):
        values, updates = _confusion_at(labels, predictions, list(thresholds), weights, ["tp", "fn"])
        ratio = lambda v: v["tp"] / (1e-7 + v["tp"] + v["fn"])  # noqa: E731
        return _done(ratio(values), ratio(updates), metrics_collections, updates_collections)


def _thresholds(count):
    return [0.0 - 1e-7] + [(i + 1) * 1.0 / (count - 1) for i in range(count - 2)] + [1.0 + 1e-7]


def auc(labels, predictions, weights=None, num_thresholds=200, metrics_collections=None, updates_collections=None,
        curve="ROC", name=None, summation_method="trapezoidal", thresholds=None):
    """The area under the curve of hits against false alarms (ROC), or of precision against recall (PR)."""
    _check("auc")
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with variable_scope(name, "auc", (labels, predictions, weights)):
        limits = _thresholds(num_thresholds) if thresholds is None else [0.0 - 1e-7] + sorted(thresholds) + [1.0 + 1e-7]
        values, updates = _confusion_at(labels, predictions, limits, weights, ["tp", "fn", "tn", "fp"])

        def area(v, label):
            tiny = 1e-6
            hit = (v["tp"] + tiny) / (v["tp"] + v["fn"] + tiny)
            if curve == "ROC":
                x, y = v["fp"] / (v["fp"] + v["tn"] + tiny), hit
            else:
                if summation_method == "careful_interpolation":
                    return _interpolated(v, label)
                x, y = hit, (v["tp"] + tiny) / (v["tp"] + v["fp"] + tiny)
            if summation_method in ("trapezoidal", "careful_interpolation"):
                height = (y[:-1] + y[1:]) / 2.0
            elif summation_method == "minoring":
                height = raw_ops.Minimum(x=y[:-1], y=y[1:])
            elif summation_method == "majoring":
                height = raw_ops.Maximum(x=y[:-1], y=y[1:])
            else:
                raise ValueError(f"Invalid summation_method: {summation_method}")
            return math.reduce_sum((x[:-1] - x[1:]) * height, name=label)
        return _done(area(values, "value"), area(updates, "update_op"), metrics_collections, updates_collections)


def _interpolated(v, label):
    """Between thresholds, true positives go linearly with all positives."""
    steps = v["tp"][:-1] - v["tp"][1:]
    positives = v["tp"] + v["fp"]
    slope = raw_ops.DivNoNan(x=steps, y=raw_ops.Maximum(x=positives[:-1] - positives[1:], y=0.0))
    intercept = v["tp"][1:] - slope * positives[1:]
    ratio = array.where(raw_ops.LogicalAnd(x=positives[:-1] > 0, y=positives[1:] > 0),
                        raw_ops.DivNoNan(x=positives[:-1], y=raw_ops.Maximum(x=positives[1:], y=0.0)),
                        array.ones_like(positives[1:]))
    return math.reduce_sum(raw_ops.DivNoNan(x=slope * (steps + intercept * raw_ops.Log(x=ratio)),
                                            y=raw_ops.Maximum(x=v["tp"][1:] + v["fn"][1:], y=0.0)), name=label)


def sensitivity_at_specificity(labels, predictions, specificity, weights=None, num_thresholds=200,
                               metrics_collections=None, updates_collections=None, name=None):
    _check("sensitivity_at_specificity")
    with variable_scope(name, "sensitivity_at_specificity", (predictions, labels, weights)):
        values, updates = _confusion_at(labels, predictions, _thresholds(num_thresholds), weights, ["tp", "fn", "tn", "fp"])

        def at(v):
            rates = v["tn"] / (v["tn"] + v["fp"] + 1e-7)
            place = math.cast(raw_ops.ArgMin(input=math.abs(rates - specificity), dimension=0), dtypes.int32)
            return v["tp"][place] / (v["tp"][place] + v["fn"][place] + 1e-7)
        return _done(at(values), at(updates), metrics_collections, updates_collections)


def specificity_at_sensitivity(labels, predictions, sensitivity, weights=None, num_thresholds=200,
                               metrics_collections=None, updates_collections=None, name=None):
    _check("specificity_at_sensitivity")
    with variable_scope(name, "specificity_at_sensitivity", (predictions, labels, weights)):
        values, updates = _confusion_at(labels, predictions, _thresholds(num_thresholds), weights, ["tp", "fn", "tn", "fp"])

        def at(v):
            rates = v["tp"] / (v["tp"] + v["fn"] + 1e-7)
            place = math.cast(raw_ops.ArgMin(input=math.abs(rates - sensitivity), dimension=0), dtypes.int32)
            return v["tn"][place] / (v["tn"][place] + v["fp"][place] + 1e-7)
        return _done(at(values), at(updates), metrics_collections, updates_collections)


def _confusion_matrix(labels, predictions, num_classes, weights):
    kept = _variable([num_classes, num_classes], dtypes.float64, "total_confusion_matrix")
    predictions = array.reshape(math.cast(predictions, dtypes.int64), [-1])
    labels = array.reshape(math.cast(labels, dtypes.int64), [-1])
    scale = None if weights is None else array.reshape(math.cast(weights, dtypes.float64), [-1])
    batch = math.confusion_matrix(labels, predictions, num_classes, weights=scale, dtype=dtypes.float64)
    return kept, kept.assign_add(batch)


def mean_iou(labels, predictions, num_classes, weights=None, metrics_collections=None, updates_collections=None,
             name=None):
    """The mean, over classes, of hits divided by hits and misses of both kinds."""
    _check("mean_iou")
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        kept, update = _confusion_matrix(labels, predictions, num_classes, weights)
        matrix = math.cast(kept.value(), dtypes.float32)
        rows, columns = math.reduce_sum(matrix, 0), math.reduce_sum(matrix, 1)
        hits = raw_ops.MatrixDiagPart(input=matrix)
        union = rows + columns - hits
        present = math.reduce_sum(math.cast(math.not_equal(union, 0.0), dtypes.float32))
        ratio = hits / array.where(union > 0, union, array.ones_like(union))
        value = array.where(present > 0, math.reduce_sum(ratio) / present, 0.0)
        return _done(value, update, metrics_collections, updates_collections)


def mean_per_class_accuracy(labels, predictions, num_classes, weights=None, metrics_collections=None,
                            updates_collections=None, name=None):
    """The mean, over classes, of how often they are found."""
    _check("mean_per_class_accuracy")
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = array.reshape(math.cast(labels, dtypes.int64), [-1])
        predictions = array.reshape(math.cast(predictions, dtypes.int64), [-1])
        total, count = _variable([num_classes], dtypes.float32, "total"), _variable([num_classes], dtypes.float32, "count")
        hits = math.cast(math.equal(labels, predictions), dtypes.float32)
        ones = array.ones_like(hits)
        if weights is not None:
            scale = array.reshape(math.cast(weights, dtypes.float32), [-1])
            hits, ones = hits * scale, ones * scale
        sums = lambda data: raw_ops.UnsortedSegmentSum(data=data, segment_ids=labels, num_segments=num_classes)  # noqa: E731
        counted = count.assign_add(sums(ones))
        added = total.assign_add(sums(hits))
        value = math.reduce_mean(raw_ops.DivNoNan(x=total.value(), y=count.value()))
        return _done(value, raw_ops.DivNoNan(x=added, y=counted), metrics_collections, updates_collections)


def _top_hits(labels, predictions, k, class_id):
    """For each example: how many of the k best are labels, how many labels there are."""
    labels = math.cast(labels, dtypes.int64)
    predictions = math.cast(predictions, dtypes.float32)
    if labels.shape.rank == predictions.shape.rank - 1:
        labels = array.expand_dims(labels, -1)
    best = math.cast(raw_ops.TopKV2(input=predictions, k=k)[1], dtypes.int64)
    return best, labels, _match(best, labels, class_id)


def _match(best, labels, class_id):
    equal = math.equal(array.expand_dims(best, -1), array.expand_dims(labels, -2))
    if class_id is not None:
        equal = raw_ops.LogicalAnd(x=equal, y=math.equal(array.expand_dims(labels, -2), math.cast(class_id, dtypes.int64)))
    return math.cast(math.reduce_any(equal, -1), dtypes.float32)


def _at_k(name, k, class_id):
    """The name of a metric, or of one of its variables, at k and for one class."""
    return (f"{name}_at_{k}" if k is not None else name) + (f"_class{class_id}" if class_id is not None else "")


def recall_at_k(labels, predictions, k, class_id=None, weights=None, metrics_collections=None, updates_collections=None,
                name=None):
    """Of the labels, the part among the k best predictions."""
    _check("recall_at_k")
    with variable_scope(name, _at_k("recall", k, class_id), (predictions, labels, weights)):
        best, labels, hits = _top_hits(labels, predictions, k, class_id)
        found = math.reduce_sum(hits, -1)
        relevant = math.cast(array.ones_like(labels), dtypes.float32) if class_id is None else math.cast(
            math.equal(labels, math.cast(class_id, dtypes.int64)), dtypes.float32)
        there = math.reduce_sum(relevant, -1)
        return _ratio_of_sums(found, there - found, weights, _at_k("true_positive", k, class_id), _at_k("false_negative", k, class_id),
                              metrics_collections, updates_collections)


def precision_at_k(labels, predictions, k, class_id=None, weights=None, metrics_collections=None, updates_collections=None,
                   name=None):
    """Of the k best predictions, the part that are labels."""
    _check("precision_at_k")
    with variable_scope(name, _at_k("precision", k, class_id), (predictions, labels, weights)):
        best, labels, hits = _top_hits(labels, predictions, k, class_id)
        found = math.reduce_sum(hits, -1)
        shown = math.cast(array.ones_like(best), dtypes.float32) if class_id is None else math.cast(
            math.equal(best, math.cast(class_id, dtypes.int64)), dtypes.float32)
        return _ratio_of_sums(found, math.reduce_sum(shown, -1) - found, weights, _at_k("true_positive", k, class_id),
                              _at_k("false_positive", k, class_id), metrics_collections, updates_collections)


sparse_precision_at_k = precision_at_k


def precision_at_top_k(labels, predictions_idx, k=None, class_id=None, weights=None, metrics_collections=None,
                       updates_collections=None, name=None):
    """As precision_at_k, of classes that are chosen already."""
    _check("precision_at_top_k")
    with variable_scope(name, _at_k("precision", k, class_id), (predictions_idx, labels, weights)):
        best, labels = math.cast(predictions_idx, dtypes.int64), _wide_labels(labels, predictions_idx)
        found = math.reduce_sum(_match(best, labels, class_id), -1)
        shown = math.cast(array.ones_like(best), dtypes.float32) if class_id is None else math.cast(
            math.equal(best, math.cast(class_id, dtypes.int64)), dtypes.float32)
        return _ratio_of_sums(found, math.reduce_sum(shown, -1) - found, weights, _at_k("true_positive", k, class_id),
                              _at_k("false_positive", k, class_id), metrics_collections, updates_collections)


def recall_at_top_k(labels, predictions_idx, k=None, class_id=None, weights=None, metrics_collections=None,
                    updates_collections=None, name=None):
    """As recall_at_k, of classes that are chosen already."""
    _check("recall_at_top_k")
    with variable_scope(name, _at_k("recall", k, class_id), (predictions_idx, labels, weights)):
        best, labels = math.cast(predictions_idx, dtypes.int64), _wide_labels(labels, predictions_idx)
        found = math.reduce_sum(_match(best, labels, class_id), -1)
        relevant = math.cast(array.ones_like(labels), dtypes.float32) if class_id is None else math.cast(
            math.equal(labels, math.cast(class_id, dtypes.int64)), dtypes.float32)
        return _ratio_of_sums(found, math.reduce_sum(relevant, -1) - found, weights, _at_k("true_positive", k, class_id),
                              _at_k("false_negative", k, class_id), metrics_collections, updates_collections)


def _wide_labels(labels, best):
    labels = math.cast(labels, dtypes.int64)
    rank = convert_to_tensor(best).shape.rank
    return array.expand_dims(labels, -1) if labels.shape.rank == rank - 1 else labels


def average_precision_at_k(labels, predictions, k, weights=None, metrics_collections=None, updates_collections=None,
                           name=None):
    """The mean of each example's average of the precisions at the places where the k best hit a label."""
    _check("average_precision_at_k")
    with variable_scope(name, f"average_precision_at_{k}", (predictions, labels, weights)):
        if k < 1:
            raise ValueError(f"Invalid k={k}.")
        _, labels, hits = _top_hits(labels, predictions, k, None)
        hits = math.cast(hits, dtypes.float64)
        precision = math.cumsum(hits, axis=-1) / math.cast(array.range(1, k + 1), dtypes.float64)
        possible = math.cast(raw_ops.Minimum(x=array.shape(labels)[-1], y=k), dtypes.float64)
        average = math.reduce_sum(precision * hits, -1) / possible
        scale = array.ones_like(average) if weights is None else math.cast(weights, dtypes.float64) + array.zeros_like(average)
        total, count = _variable([], dtypes.float64, "total"), _variable([], dtypes.float64, "max")
        value = raw_ops.DivNoNan(x=total.value(), y=count.value())
        update = raw_ops.DivNoNan(x=total.assign_add(math.reduce_sum(average * scale)),
                                  y=count.assign_add(math.reduce_sum(scale)))
        return _done(value, update, metrics_collections, updates_collections)


sparse_average_precision_at_k = average_precision_at_k


def _ratio_of_sums(good, bad, weights, good_name, bad_name, metrics_collections, updates_collections):
    if weights is not None:
        weights = math.cast(weights, dtypes.float32)
        good, bad = good * weights, bad * weights
    first, second = _variable([], dtypes.float64, good_name), _variable([], dtypes.float64, bad_name)
    ratio = lambda a, b: math.cast(raw_ops.DivNoNan(x=a, y=a + b), dtypes.float64)  # noqa: E731
    value = ratio(first.value(), second.value())
    update = ratio(first.assign_add(math.cast(math.reduce_sum(good), dtypes.float64)),
                   second.assign_add(math.cast(math.reduce_sum(bad), dtypes.float64)))
    return _done(value, update, metrics_collections, updates_collections)
