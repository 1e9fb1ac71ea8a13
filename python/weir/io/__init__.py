"""tf.io: files (`gfile`), records, Examples, images."""

import weir

__getattr__ = weir.names_of(__name__)
