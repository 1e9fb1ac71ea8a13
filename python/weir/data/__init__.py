"""tf.data."""

import weir

__getattr__ = weir.names_of(__name__)
