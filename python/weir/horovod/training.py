"""DistributedGradientTape and DistributedOptimizer: gradients that are averaged over the processes."""

from weir.eager.tape import GradientTape, UnconnectedGradients
from weir.horovod.collectives import Adasum, Average, Sum, reduce_when_ready, unique_name
from weir.horovod.compression import Compression
from weir.horovod.process import global_process_set

__all__ = ["DistributedGradientTape", "DistributedOptimizer", "Exchange", "PartialDistributedGradientTape"]


class Exchange:
    """How gradients are exchanged."""

    def __init__(self, compression=Compression.none, sparse_as_dense=False, op=Average, gradient_predivide_factor=1.0,
                 num_groups=0, groups=None, process_set=global_process_set, scale_local_gradients=True):
        del num_groups, groups  # what is ready at the same time travels together
        if op not in (Average, Sum, Adasum):
            raise ValueError(f"`op` must be hvd.Average, hvd.Sum or hvd.Adasum, not {op!r}")
        if gradient_predivide_factor != 1.0 and op is not Average:
            raise ValueError("gradient_predivide_factor not supported with op != Average")
        self.compression, self.sparse_as_dense, self.op, self.process_set = compression, sparse_as_dense, op, process_set
        self.factor, self.scale_local_gradients = gradient_predivide_factor, scale_local_gradients
        self.local = set()  # ids of variables whose gradients stay here

    def register_local(self, *variables):
        """The gradients of these variables are not exchanged."""
        self.local.update(id(v) for v in variables)

    def __call__(self, gradients, variables, name=None):
        """The gradients as all processes together have them, in a list; None stays None."""
        import weir as tf
        gradients, variables = list(gradients), list(variables)
        if self.process_set.size() == 1:
            return gradients
        places, given = [], []
        for i, (gradient, variable) in enumerate(zip(gradients, variables)):
            if gradient is None:
                continue
            if id(variable) in self.local:
                if self.scale_local_gradients and self.op is Average:
                    gradients[i] = tf.math.scalar_mul(1.0 / self.process_set.size(), gradient)
                continue
            if isinstance(gradient, tf.IndexedSlices) and (self.sparse_as_dense or self.op is Adasum):
                gradient = tf.convert_to_tensor(gradient)
            places.append(i)
            given.append(gradient)
        if not given:
            return gradients
        if self.factor != 1.0:
            given = [tf.convert_to_tensor(g) if isinstance(g, tf.IndexedSlices) else g for g in given]
        reduced = reduce_when_ready(given, self.op, unique_name("HorovodGroupedAllreduce", name, False), self.compression,
                                    1.0 / self.factor, self.factor, self.process_set)
        for i, value in zip(places, reduced):
            gradients[i] = value
        return gradients


class _DistributedGradientTape(GradientTape):
    """A tape whose gradients are those of all processes together."""

    def __init__(self, tape, exchange):  # pylint: disable=super-init-not-called
        self.__dict__.update(tape.__dict__)
        self.__dict__["_inner"], self.__dict__["_exchange"] = tape, exchange

    def __enter__(self):
        super().__enter__()
        return self

    def register_local_source(self, source):
        """The gradient of this variable is not exchanged."""
        self._exchange.register_local(source)

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE,
                 use_generic_names=False):
        """The derivative of `target` by each of `sources`, averaged over the processes."""
        del use_generic_names
        from weir import nest
        gradients = super().gradient(target, sources, output_gradients, unconnected_gradients)
        flat_sources = nest.flatten(sources)
        flat = nest.flatten_up_to(sources, gradients) if nest.is_nested(sources) else [gradients]
        exchanged = self._exchange(flat, flat_sources)
        return nest.pack_sequence_as(sources, exchanged) if nest.is_nested(sources) else exchanged[0]


def DistributedGradientTape(gradtape, device_dense="", device_sparse="", compression=Compression.none,
                            sparse_as_dense=False, op=Average, gradient_predivide_factor=1.0, num_groups=0, groups=None,
                            process_set=global_process_set, scale_local_gradients=True):
    """The tape, with gradients that are averaged over the processes (or combined by `op`)."""
    del device_dense, device_sparse
    return _DistributedGradientTape(gradtape, Exchange(compression, sparse_as_dense, op, gradient_predivide_factor,
                                                       num_groups, groups, process_set, scale_local_gradients))


def PartialDistributedGradientTape(gradtape, device_dense="", device_sparse="", compression=Compression.none,
                                   sparse_as_dense=False, op=Average, gradient_predivide_factor=1.0, num_groups=0,
                                   groups=None, process_set=global_process_set, local_layers=None,
                                   scale_local_gradients=True):
    """The same, but the gradients of `local_layers` stay here."""
    tape = DistributedGradientTape(gradtape, device_dense, device_sparse, compression, sparse_as_dense, op,
                                   gradient_predivide_factor, num_groups, groups, process_set, scale_local_gradients)
    layers = [] if local_layers is None else local_layers if isinstance(local_layers, (list, tuple)) else [local_layers]
    for layer in layers:
        for variable in layer.trainable_weights:
            tape.register_local_source(getattr(variable, "_value", variable))
            tape.register_local_source(variable)
    return tape


def _graph_optimizer(optimizer, exchange, backward_passes_per_step, name):
    """For optimizers of compat.v1."""
    import weir as tf
    if backward_passes_per_step != 1:
        raise NotImplementedError("backward_passes_per_step is for optimizers of Keras; with those of compat.v1 add the "
                                  "gradients up in variables")

    class Distributed(tf.compat.v1.train.Optimizer):
        """An optimizer whose gradients are those of all processes together."""

        def __init__(self):
            super().__init__(name=name or f"Distributed{type(optimizer).__name__}", use_locking=False)

        def compute_gradients(self, *args, **kwargs):
            pairs = optimizer.compute_gradients(*args, **kwargs)
            gradients, variables = zip(*pairs)
            return list(zip(exchange(gradients, variables), variables))

        def register_local_var(self, variable):
            exchange.register_local(variable)

        def apply_gradients(self, *args, **kwargs):
            return optimizer.apply_gradients(*args, **kwargs)

        def get_slot(self, *args, **kwargs):
            return optimizer.get_slot(*args, **kwargs)

        def get_slot_names(self, *args, **kwargs):
            return optimizer.get_slot_names(*args, **kwargs)

        def variables(self, *args, **kwargs):
            return optimizer.variables(*args, **kwargs)
    return Distributed()


def DistributedOptimizer(optimizer, name=None, use_locking=False, device_dense="", device_sparse="",
                         compression=Compression.none, sparse_as_dense=False, backward_passes_per_step=1, op=Average,
                         gradient_predivide_factor=1.0, average_aggregated_gradients=False, num_groups=0, groups=None,
                         process_set=global_process_set, scale_local_gradients=True):
    """The optimizer, of Keras or of compat.v1, with gradients that are averaged over the processes before they are
    applied. With `backward_passes_per_step` n they are added up here and exchanged in every n-th step."""
    import weir as tf
    del use_locking, device_dense, device_sparse
    exchange = Exchange(compression, sparse_as_dense, op, gradient_predivide_factor, num_groups, groups, process_set,
                        scale_local_gradients)
    if isinstance(optimizer, tf.compat.v1.train.Optimizer):
        return _graph_optimizer(optimizer, exchange, backward_passes_per_step, name)
    from weir.horovod.keras_optimizer import distributed
    return distributed(optimizer, exchange, backward_passes_per_step, average_aggregated_gradients)
