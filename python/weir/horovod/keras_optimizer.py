"""Keras optimizers whose gradients are those of all processes together."""

__all__ = ["distribute_class", "distributed"]


class _Distributed:
    """What is put before an optimizer's class."""

    _exchange = None
    _passes = 1
    _average_passes = False

    def apply(self, grads, trainable_variables=None):
        """Exchanges the gradients and applies them; in between, with several passes for a step, adds them up."""
        variables = list(trainable_variables if trainable_variables is not None else self._trainable_variables)
        grads = list(grads)
        if self._passes == 1:
            return super().apply(self._exchange(grads, variables), trainable_variables)
        return self._apply_sometimes(grads, variables)

    def register_local_var(self, variable):
        """The gradient of this variable is not exchanged."""
        self._exchange.register_local(variable)

    def _apply_sometimes(self, grads, variables):
        import weir as tf
        if any(g is None or isinstance(g, tf.IndexedSlices) for g in grads):
            grads = [tf.zeros(v.shape, v.dtype) if g is None else tf.convert_to_tensor(g)
                     for g, v in zip(grads, variables)]
        if not self.built:
            with tf.init_scope():
                self.build(variables)
        sums = self.__dict__.get("_sums")
        if sums is None:
            with tf.init_scope():
                sums = [tf.Variable(tf.zeros(v.shape, g.dtype), trainable=False) for v, g in zip(variables, grads)]
                count = tf.Variable(0, trainable=False)
            # Past Keras, which would take the variables for its own.
            self.__dict__["_sums"], self.__dict__["_count"] = sums, count
        count = self.__dict__["_count"]
        for total, gradient in zip(sums, grads):
            total.assign_add(gradient)

        def step():
            scale = self._passes if self._average_passes else 1
            exchanged = self._exchange([s.read_value() / tf.cast(scale, s.dtype) for s in sums], variables)
            super(_Distributed, self).apply(exchanged, variables)
            for total in sums:
                total.assign(tf.zeros_like(total))
            return tf.constant(0)

        def wait():
            self.iterations.assign_add(1)
            return tf.constant(0)
        tf.cond(tf.equal(count.assign_add(1) % self._passes, 0), step, wait)
        return self.iterations


def distribute_class(optimizer_class, exchange, passes=1, average_passes=False):
    """A class with the same name as the optimizer's, so that saved models load without weir.horovod."""
    return type(optimizer_class.__name__, (_Distributed, optimizer_class),
                {"__module__": optimizer_class.__module__, "__qualname__": optimizer_class.__qualname__,
                 "_exchange": exchange, "_passes": passes, "_average_passes": average_passes})


def distributed(optimizer, exchange, passes=1, average_passes=False):
    """A new optimizer with the settings of `optimizer`."""
    if isinstance(optimizer, _Distributed):
        raise ValueError("The optimizer is a DistributedOptimizer already")
    if not hasattr(optimizer, "get_config") or not hasattr(optimizer, "apply"):
        raise ValueError(f"Provided optimizer doesn't inherit from either legacy TensorFlow or Keras optimizer: {optimizer}")
    made = distribute_class(type(optimizer), exchange, passes, average_passes)
    return made.from_config(optimizer.get_config())
