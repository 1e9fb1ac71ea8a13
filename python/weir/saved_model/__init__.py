"""tf.saved_model: models in folders that TensorFlow, TensorFlow Serving and weir load."""

import weir

__getattr__ = weir.names_of(__name__)
