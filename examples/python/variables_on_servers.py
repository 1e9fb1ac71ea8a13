"""Where variables go among parameter servers: in turn, by size, or in parts.

    python -m weir examples/python/variables_on_servers.py
"""

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

SHAPES = {"embedding": [1000, 64], "hidden": [64, 32], "bias": [32], "output": [32, 10]}
SERVERS = 2


class LeastLoaded:
    """Chooses the server that has the fewest bytes so far."""

    def __init__(self, servers):
        self.bytes = [0] * servers

    def __call__(self, operation):
        server = self.bytes.index(min(self.bytes))
        self.bytes[server] += operation.get_attr("shape").num_elements() * operation.get_attr("dtype").size \
            if hasattr(operation.get_attr("shape"), "num_elements") else size_of(operation)
        return server


def size_of(operation):
    """The same where attributes are messages, as TensorFlow gives them."""
    elements = 1
    for dimension in operation.get_attr("shape").dim:
        elements *= dimension.size
    return elements * tf.as_dtype(operation.get_attr("dtype")).size


def show(title, setter, partitioner=None):
    print(title)
    with tf.Graph().as_default():
        with tf.device(setter), tf.variable_scope("", partitioner=partitioner):
            for name, shape in SHAPES.items():
                tf.get_variable(name, shape)
        for variable in tf.global_variables():
            print("  %-18s %-12s %s" % (variable.op.name, variable.shape, variable.device))


def main():
    show("in turn:", tf.train.replica_device_setter(ps_tasks=SERVERS))
    show("by size:", tf.train.replica_device_setter(ps_tasks=SERVERS, ps_strategy=LeastLoaded(SERVERS)))
    show("in parts, in turn:", tf.train.replica_device_setter(ps_tasks=SERVERS),
         tf.fixed_size_partitioner(SERVERS))


if __name__ == "__main__":
    main()
