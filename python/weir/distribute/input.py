"""Datasets whose elements have a part for each replica."""

from weir import nest
from weir.data.iterator import OwnedIterator
from weir.distribute.values import PerReplica

__all__ = ["DistributedDataset", "DistributedDatasetsFromFunction", "DistributedIterator"]


class DistributedIterator(OwnedIterator):
    """An iterator over a DistributedDataset."""


def _ends(count, replicas):
    """Where each replica's part of a batch of `count` ends."""
    import weir as tf
    part = (count + replicas - 1) // replicas
    return [tf.minimum(count, part * (i + 1)) for i in range(replicas)]


def _split(element, replicas, extended):
    """The parts of an element for this process's replicas, of `replicas` that share it."""
    if replicas == 1:
        return element  # the only replica takes elements as they are
    parts = _split_all(element, replicas)
    first, step = extended.first_part, extended.step_of_parts
    if step == 1:
        return parts
    return nest.map_structure(lambda v: None if v is None else PerReplica(v._values[first::step]), parts)


def _split_all(element, replicas):
    import weir as tf
    dense = [v for v in nest.flatten(element) if isinstance(v, tf.Tensor) and v.shape.rank != 0]
    if not dense:
        return nest.map_structure(lambda v: None if v is None else PerReplica([v] * replicas), element)
    ends = _ends(tf.shape(dense[0])[0], replicas)

    def parts(leaf):
        if leaf is None:
            return None
        if isinstance(leaf, tf.SparseTensor):
            rest = tf.shape(leaf)[1:]
            begins = [0] + ends[:-1]
            return PerReplica([tf.sparse.slice(leaf, tf.concat([[b], tf.zeros_like(rest)], 0),
                                               tf.concat([[e - b], rest], 0)) for b, e in zip(begins, ends)])
        if getattr(leaf, "shape", None) is not None and leaf.shape.rank == 0:
            return PerReplica([leaf] * replicas)
        begin, out = 0, []
        for end in ends:
            out.append(leaf[begin:end])
            begin = end
        return PerReplica(out)
    return nest.map_structure(parts, element)


def _is_sharded(dataset):
    """Whether each worker is to take a part of the dataset: unless its options say otherwise."""
    from weir.data.options import AutoShardPolicy
    return dataset.options().experimental_distribute.auto_shard_policy != AutoShardPolicy.OFF


class DistributedDataset:
    """A dataset of global batches, each of which the replicas share."""

    def __init__(self, strategy, dataset):
        self._strategy = strategy
        replicas = strategy.num_replicas_in_sync
        count = len(strategy.extended.worker_devices)
        self._original = dataset

        def whole(*parts):
            return parts if len(parts) > 1 else parts[0]
        if count == replicas or _is_sharded(dataset):
            self._dataset = dataset.map(lambda *e: _split(whole(*e), replicas, strategy.extended)).prefetch(2)
        else:  # every worker gets everything, in batches of its replicas' size
            from weir.data.dataset import Dataset
            self._dataset = dataset.flat_map(lambda *e: Dataset.range(0, replicas, count).map(
                lambda at: _part_at(whole(*e), replicas, at, count))).prefetch(2)

    def __iter__(self):
        return DistributedIterator(self._dataset)

    @property
    def element_spec(self):
        """The spec of the elements."""
        return self._dataset.element_spec

    @property
    def cardinality(self):
        """The number of global batches."""
        return self._original.cardinality()

    def __len__(self):
        return len(self._original)


def _part_at(element, replicas, first, count):
    """The same as `_split`, for a `first` that is a tensor."""
    import weir as tf
    parts = _split_all(element, replicas)

    def choose(leaf):
        if leaf is None:
            return None
        if not all(isinstance(v, tf.Tensor) for v in leaf._values):
            raise NotImplementedError("AutoShardPolicy.OFF is for datasets of plain tensors")
        branches = [lambda i=i: [leaf._values[i + k] for k in range(count)] for i in range(0, replicas, count)]
        return PerReplica(tf.switch_case(tf.cast(first // count, tf.int32), branches))
    return nest.map_structure(choose, parts)


DistributedDataset.__module__ = "tensorflow.python.distribute.input_lib"


class DistributedDatasetsFromFunction(DistributedDataset):
    """A dataset of batches for one replica each, dealt out in turn."""

    def __init__(self, strategy, dataset):  # pylint: disable=super-init-not-called
        self._strategy = strategy
        replicas = len(strategy.extended.worker_devices)
        dataset = strategy.extended.equally_long(dataset)
        self._original = dataset
        if strategy.num_replicas_in_sync == 1:
            self._dataset = dataset
            return
        if replicas == 1:
            self._dataset = dataset.map(lambda *e: nest.map_structure(
                lambda v: None if v is None else PerReplica([v]), e if len(e) > 1 else e[0]))
            return
        shards = [dataset.shard(replicas, i) for i in range(replicas)]
        zipped = type(dataset).zip(tuple(shards))
        self._dataset = zipped.map(lambda *parts: nest.map_structure(
            lambda *v: None if v[0] is None else PerReplica(v), *parts)).prefetch(2)


DistributedDatasetsFromFunction.__module__ = "tensorflow.python.distribute.input_lib"
