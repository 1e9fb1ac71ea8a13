"""tf.compat.v1: graphs, sessions and what TensorFlow 1 programs call."""

import weir

__getattr__ = weir.names_of(__name__)
