"""`import tensorflow as tf` under python -m weir --tf1: compat.v1 first, TensorFlow 2's names where it has none."""


def module(weir, proxy):
    """The module that programs of TensorFlow 1 import."""
    v1 = weir.compat.v1

    class Names:
        __version__ = "1.15.0"

        def __getattr__(self, name):
            try:
                return getattr(v1, name)
            except AttributeError:
                return getattr(weir, name)

        def __dir__(self):
            return sorted(set(dir(v1)) | set(dir(weir)))

    return proxy("tensorflow", Names())
