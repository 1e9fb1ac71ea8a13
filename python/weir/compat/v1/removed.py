"""`import tensorflow as tf` under python -m weir --tf1: compat.v1 first, TensorFlow 2's names where it has none.

Of what TensorFlow 1 had beyond that, tf.contrib.training is here as far as it chooses parameter servers.
"""

import types


def _contrib():
    from weir.compat.v1 import devices
    contrib = types.ModuleType("tensorflow.contrib")
    training = types.ModuleType("tensorflow.contrib.training")
    for name in ("GreedyLoadBalancingStrategy", "RandomStrategy", "byte_size_load_fn"):
        setattr(training, name, getattr(devices, name))
    contrib.training = training
    return contrib


def module(weir, proxy):
    """The module that programs of TensorFlow 1 import."""
    v1 = weir.compat.v1

    class Names:
        __version__ = "1.15.0"

        def __getattr__(self, name):
            if name == "contrib":
                return _contrib()
            try:
                return getattr(v1, name)
            except AttributeError:
                return getattr(weir, name)

        def __dir__(self):
            return sorted(set(dir(v1)) | set(dir(weir)))

    return proxy("tensorflow", Names())
