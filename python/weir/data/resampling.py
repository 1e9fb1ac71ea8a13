"""Drawing from a dataset so that its classes come in wanted proportions: `Dataset.rejection_resample`.

Elements of class i are kept with a probability a_i that makes the wanted out of the present proportions. So that few
are lost, a part m of the elements is taken as it comes: with r_i = target_i / initial_i, m is the least and M the
greatest of them, a_i = (r_i - m) / (M - m).
"""

import numpy as np

from weir.framework import convert_to_tensor, raw_ops
from weir.ops import array, dtypes, math

__all__ = ["rejection_resample"]

_SMOOTHING = 10  # elements that each class is taken to have before any was seen
_ESTIMATED_FROM = 32  # elements between two estimates of the proportions


def _acceptance(initial, target):
    """(how likely an element of each class is kept, how many elements are taken as they come)."""
    ratio = target / raw_ops.Maximum(x=initial, y=np.finfo(np.float32).tiny)
    least, most = math.reduce_min(ratio), math.reduce_max(ratio)
    span = array.where(most == least, array.ones_like(most), most - least)
    return (ratio - least) / span, least


def _estimates(labels, classes):
    """A dataset of the proportions of the classes, as far as they are known at each element."""
    def update(seen, batch):
        seen = seen + math.reduce_sum(array.one_hot(batch, classes, dtype=dtypes.int64), 0)
        share = math.cast(seen, dtypes.float32) / math.cast(math.reduce_sum(seen), dtypes.float32)
        return seen, array.tile(array.expand_dims(share, 0), [_ESTIMATED_FROM, 1])
    return labels.batch(_ESTIMATED_FROM).scan(array.fill([classes], np.int64(_SMOOTHING)), update).unbatch()


def rejection_resample(dataset, class_func, target_dist, initial_dist=None, seed=None):
    """(class, element) pairs in the proportions `target_dist`."""
    from weir.data.dataset import Dataset
    from weir.ops import random
    target = convert_to_tensor(target_dist, dtype=dtypes.float32)
    if target.shape.rank != 1 or target.shape[0] is None:
        raise ValueError(f"`target_dist` must be a vector of known length, not of shape {target.shape}")

    def label(*element):
        return math.cast(class_func(*element), dtypes.int32)

    def whole(element):
        return element if len(element) > 1 else element[0]

    if initial_dist is not None:
        known = convert_to_tensor(initial_dist, dtype=dtypes.float32)
        proportions = Dataset.from_tensors(_acceptance(known, target)).repeat()
    else:
        proportions = _estimates(dataset.map(label), target.shape[0]).map(lambda p: _acceptance(p, target))
    labelled = dataset.map(lambda *e: (class_func(*e), whole(e)))
    kept = Dataset.zip((proportions, labelled)).filter(
        lambda chance, pair: random.uniform([], seed=seed) < array.gather(chance[0], math.cast(pair[0], dtypes.int32)))
    kept = kept.map(lambda _, pair: pair)
    if initial_dist is not None:
        known_part = _acceptance(known, target)[1]
        if hasattr(known_part, "numpy") and float(known_part) == 0.0:
            return kept
    weights = proportions.map(lambda _, part: array.stack([part, 1.0 - part]))
    return Dataset.sample_from_datasets([labelled, kept], weights=weights, seed=seed, stop_on_empty_dataset=True)
