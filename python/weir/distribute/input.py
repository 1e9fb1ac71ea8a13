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


def _split(element, replicas):
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


class DistributedDataset:
    """A dataset of global batches, each of which the replicas share."""

    def __init__(self, strategy, dataset):
        self._strategy = strategy
        replicas = strategy.num_replicas_in_sync
        self._original = dataset
        self._dataset = dataset.map(lambda *e: _split(e if len(e) > 1 else e[0], replicas)).prefetch(2)

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


DistributedDataset.__module__ = "tensorflow.python.distribute.input_lib"


class DistributedDatasetsFromFunction(DistributedDataset):
    """A dataset of batches for one replica each, dealt out in turn."""

    def __init__(self, strategy, dataset):  # pylint: disable=super-init-not-called
        self._strategy = strategy
        replicas = strategy.num_replicas_in_sync
        self._original = dataset
        if replicas == 1:
            self._dataset = dataset.map(lambda *e: nest.map_structure(
                lambda v: None if v is None else PerReplica([v]), e if len(e) > 1 else e[0]))
            return
        shards = [dataset.shard(replicas, i) for i in range(replicas)]
        zipped = type(dataset).zip(tuple(shards))
        self._dataset = zipped.map(lambda *parts: nest.map_structure(
            lambda *v: None if v[0] is None else PerReplica(v), *parts)).prefetch(2)


DistributedDatasetsFromFunction.__module__ = "tensorflow.python.distribute.input_lib"
