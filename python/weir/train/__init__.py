"""tf.train: checkpoints."""

import weir

__getattr__ = weir.names_of(__name__)
