"""Cases for compare_keras.py: every layer of keras.layers with usual arguments.

A layer is called eagerly with `training` both ways, inside a tf.function whose batch size is unknown, symbolically, and
differentiated by its weights; its weights' shapes and its configuration are compared, too.
"""

import json

import keras
import numpy as np
import tensorflow as tf

_random = np.random.RandomState(1)
L = keras.layers


def f(*shape):
    return _random.uniform(-1, 1, shape).astype("float32")


def i(*shape, high=5):
    return _random.randint(0, high, shape).astype("int32")


def images(*shape):
    return _random.uniform(0, 255, shape).astype("float32")


SEQUENCE, IMAGE, VOLUME, FLAT = (2, 6, 4), (2, 8, 9, 4), (2, 5, 6, 5, 4), (3, 5)


def _layers():
    """(label, maker of the layer, inputs)"""
    x = f(*FLAT)
    yield "Dense", lambda: L.Dense(4), x
    yield "Dense.relu", lambda: L.Dense(4, activation="relu", use_bias=False), f(*SEQUENCE)
    yield "Dense.regularized", lambda: L.Dense(4, kernel_regularizer="l1_l2", bias_constraint="non_neg"), x
    yield "Dense.lora", lambda: L.Dense(4, lora_rank=2), x
    yield "EinsumDense", lambda: L.EinsumDense("abc,cd->abd", output_shape=(None, 3), bias_axes="d"), f(*SEQUENCE)
    yield "Embedding", lambda: L.Embedding(6, 3), i(2, 4)
    yield "Embedding.mask", lambda: L.Embedding(6, 3, mask_zero=True), i(2, 4)
    yield "ReversibleEmbedding", lambda: L.ReversibleEmbedding(6, 3), i(2, 4)
    yield "Masking", lambda: L.Masking(), f(*SEQUENCE)
    yield "Lambda", lambda: L.Lambda(lambda v: v * 2), x
    yield "Identity", lambda: L.Identity(), x
    for name in ("relu", "gelu", "softmax", "selu", "elu", "tanh", "sigmoid", "softplus", "softsign", "swish", "mish",
                 "hard_sigmoid", "exponential", "linear", "leaky_relu", "relu6", "glu", "celu", "log_softmax", "squareplus",
                 "soft_shrink", "hard_shrink", "sparse_plus", "sparsemax", "threshold", "tanh_shrink", "hard_tanh"):
        yield "Activation." + name, lambda n=name: L.Activation(n), f(3, 4)
    for name in ("ReLU", "LeakyReLU", "ELU", "PReLU", "Softmax"):
        yield name, lambda n=name: getattr(L, n)(), x
    for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"):
        yield name, lambda n=name: getattr(L, n)(), [f(2, 3), f(2, 3)]
    yield "Dot", lambda: L.Dot(axes=1), [f(2, 3), f(2, 3)]
    yield "Dot.normalize", lambda: L.Dot(axes=(1, 2), normalize=True), [f(2, 3, 4), f(2, 5, 3)]

    for d, shape in ((1, SEQUENCE), (2, IMAGE), (3, VOLUME)):
        conv = getattr(L, f"Conv{d}D")
        for padding in ("valid", "same") + (("causal",) if d == 1 else ()):
            yield f"Conv{d}D.{padding}", lambda c=conv, q=padding: c(3, 3, padding=q), f(*shape)
            if padding != "causal":
                yield f"Conv{d}D.{padding}.strides", lambda c=conv, q=padding: c(3, 2, strides=2, padding=q), f(*shape)
        yield f"Conv{d}D.dilation", lambda c=conv: c(3, 2, dilation_rate=2), f(*shape)
        yield f"Conv{d}D.groups", lambda c=conv: c(4, 2, groups=2), f(*shape)
        yield f"Conv{d}D.first", lambda c=conv: c(3, 2, data_format="channels_first"), f(*shape)
        yield f"Conv{d}D.lora", lambda c=conv: c(3, 2, lora_rank=1), f(*shape)
        transpose = getattr(L, f"Conv{d}DTranspose")
        for padding in ("valid", "same"):
            for strides in (1, 2):
                yield f"Conv{d}DTranspose.{padding}.{strides}", \
                    lambda c=transpose, q=padding, s=strides: c(3, 3, strides=s, padding=q), f(*shape)
        yield f"Conv{d}DTranspose.output_padding", lambda c=transpose: c(2, 3, strides=2, output_padding=1), f(*shape)
        for pool in ("MaxPooling", "AveragePooling"):
            layer = getattr(L, f"{pool}{d}D")
            yield f"{pool}{d}D", lambda c=layer: c(2), f(*shape)
            yield f"{pool}{d}D.same", lambda c=layer: c(3, strides=2, padding="same"), f(*shape)
            yield f"{pool}{d}D.first", lambda c=layer: c(2, data_format="channels_first"), f(*shape)
        for pool in ("GlobalMaxPooling", "GlobalAveragePooling"):
            layer = getattr(L, f"{pool}{d}D")
            yield f"{pool}{d}D", lambda c=layer: c(), f(*shape)
            yield f"{pool}{d}D.keepdims", lambda c=layer: c(keepdims=True, data_format="channels_first"), f(*shape)
        for pool in ("AdaptiveMaxPooling", "AdaptiveAveragePooling"):
            yield f"{pool}{d}D", lambda c=getattr(L, f"{pool}{d}D"): c(2), f(*shape)
        yield f"UpSampling{d}D", lambda c=getattr(L, f"UpSampling{d}D"): c(2), f(*shape)
        yield f"ZeroPadding{d}D", lambda c=getattr(L, f"ZeroPadding{d}D"): c(1), f(*shape)
        yield f"Cropping{d}D", lambda c=getattr(L, f"Cropping{d}D"): c(1), f(*shape)
        yield f"SpatialDropout{d}D", lambda c=getattr(L, f"SpatialDropout{d}D"): c(0.5, seed=3), f(*shape)
        if d < 3:
            yield f"SeparableConv{d}D", lambda c=getattr(L, f"SeparableConv{d}D"): c(3, 2, depth_multiplier=2), f(*shape)
            yield f"DepthwiseConv{d}D", lambda c=getattr(L, f"DepthwiseConv{d}D"): c(2, depth_multiplier=2), f(*shape)
            yield f"DepthwiseConv{d}D.same", lambda c=getattr(L, f"DepthwiseConv{d}D"): c(
                3, strides=2, padding="same"), f(*shape)
    yield "UpSampling2D.bilinear", lambda: L.UpSampling2D(2, interpolation="bilinear"), f(*IMAGE)
    yield "ConvLSTM1D", lambda: L.ConvLSTM1D(2, 2), f(2, 3, 5, 2)
    yield "ConvLSTM2D", lambda: L.ConvLSTM2D(2, 2, return_sequences=True), f(1, 3, 4, 4, 2)
    yield "ConvLSTM3D", lambda: L.ConvLSTM3D(2, 2), f(1, 2, 3, 3, 3, 2)

    yield "BatchNormalization", lambda: L.BatchNormalization(), f(*IMAGE)
    yield "BatchNormalization.axis", lambda: L.BatchNormalization(axis=1, scale=False), f(*IMAGE)
    yield "BatchNormalization.2d", lambda: L.BatchNormalization(center=False, momentum=0.5), x
    yield "LayerNormalization", lambda: L.LayerNormalization(), f(*SEQUENCE)
    yield "LayerNormalization.axes", lambda: L.LayerNormalization(axis=[1, 2]), f(*SEQUENCE)
    yield "GroupNormalization", lambda: L.GroupNormalization(groups=2), f(*IMAGE)
    yield "RMSNormalization", lambda: L.RMSNormalization(), f(*SEQUENCE)
    yield "UnitNormalization", lambda: L.UnitNormalization(), x
    yield "SpectralNormalization", lambda: L.SpectralNormalization(L.Dense(3)), x

    yield "Attention", lambda: L.Attention(), [f(2, 3, 4), f(2, 5, 4)]
    yield "Attention.scale", lambda: L.Attention(use_scale=True, score_mode="concat"), [f(2, 3, 4), f(2, 5, 4)]
    yield "AdditiveAttention", lambda: L.AdditiveAttention(), [f(2, 3, 4), f(2, 5, 4)]

    for name in ("SimpleRNN", "GRU", "LSTM"):
        layer = getattr(L, name)
        yield name, lambda c=layer: c(3), f(*SEQUENCE)
        yield name + ".sequences", lambda c=layer: c(3, return_sequences=True, return_state=True), f(*SEQUENCE)
        yield name + ".backwards", lambda c=layer: c(3, go_backwards=True, return_sequences=True), f(*SEQUENCE)
        yield name + ".unroll", lambda c=layer: c(3, unroll=True), f(*SEQUENCE)
        yield name + ".bidirectional", lambda c=layer: L.Bidirectional(c(3, return_sequences=True)), f(*SEQUENCE)
        yield name + ".merge", lambda c=layer: L.Bidirectional(c(3), merge_mode="ave"), f(*SEQUENCE)
        yield name + ".dropout", lambda c=layer: c(3, dropout=0.3, recurrent_dropout=0.2, seed=5), f(*SEQUENCE)
        yield name + ".cell", lambda c=name: L.RNN(getattr(L, c + "Cell")(3)), f(*SEQUENCE)
        yield name + ".masked", lambda c=layer: keras.Sequential([L.Masking(), c(3, return_sequences=True)]), \
            np.where(np.arange(6)[None, :, None] < np.array([4, 6])[:, None, None], f(*SEQUENCE), 0).astype("float32")
    yield "GRU.before", lambda: L.GRU(3, reset_after=False), f(*SEQUENCE)
    yield "RNN.stacked", lambda: L.RNN(L.StackedRNNCells([L.LSTMCell(3), L.GRUCell(2)])), f(*SEQUENCE)
    yield "TimeDistributed", lambda: L.TimeDistributed(L.Dense(3)), f(*SEQUENCE)

    yield "Flatten", lambda: L.Flatten(), f(*IMAGE)
    yield "Reshape", lambda: L.Reshape((-1, 2)), f(2, 4, 3)
    yield "Permute", lambda: L.Permute((2, 1)), f(*SEQUENCE)
    yield "RepeatVector", lambda: L.RepeatVector(3), x
    yield "ActivityRegularization", lambda: L.ActivityRegularization(0.1, 0.1), x
    for name, arguments in (("Dropout", (0.5,)), ("AlphaDropout", (0.5,)), ("GaussianDropout", (0.5,)), ("GaussianNoise", (0.5,))):
        yield name, lambda n=name, a=arguments: getattr(L, n)(*a, seed=4), f(3, 8)

    # Preprocessing.
    yield "Rescaling", lambda: L.Rescaling(1 / 255.0, offset=-1), images(*IMAGE)
    yield "Normalization.given", lambda: L.Normalization(mean=[1.0] * 5, variance=[2.0] * 5), x
    yield "Normalization.adapt", lambda: _adapted(L.Normalization(), x), x
    yield "Discretization", lambda: L.Discretization([-0.5, 0.0, 0.5]), x
    yield "Discretization.adapt", lambda: _adapted(L.Discretization(num_bins=3), x), x
    yield "Discretization.one_hot", lambda: L.Discretization([0.0, 0.5], output_mode="multi_hot"), x
    for mode in ("one_hot", "multi_hot", "count"):
        yield "CategoryEncoding." + mode, lambda m=mode: L.CategoryEncoding(6, output_mode=m), i(3, 1) if mode == "one_hot" \
            else i(3, 4)
    yield "Hashing", lambda: L.Hashing(5), i(3, 2)
    yield "Hashing.strings", lambda: L.Hashing(5, salt=[1, 2]), np.array([["a"], ["bc"]])
    yield "HashedCrossing", lambda: L.HashedCrossing(7), (np.array(["a", "b"]), i(2))
    yield "IntegerLookup", lambda: L.IntegerLookup(vocabulary=[3, 1, 4]), i(2, 4)
    yield "IntegerLookup.invert", lambda: L.IntegerLookup(vocabulary=[3, 1, 4], invert=True), i(2, 3, high=4)
    yield "IntegerLookup.hot", lambda: L.IntegerLookup(vocabulary=[3, 1, 4], output_mode="multi_hot"), i(2, 4)
    yield "StringLookup", lambda: L.StringLookup(vocabulary=["a", "b"]), np.array([["a", "x"], ["b", "a"]])
    yield "StringLookup.adapt", lambda: _adapted(L.StringLookup(), np.array(["q", "r", "q"])), np.array([["q", "x"]])
    yield "StringLookup.count", lambda: L.StringLookup(vocabulary=["a", "b"], output_mode="count"), np.array([["a", "a"]])
    yield "StringLookup.tfidf", lambda: L.StringLookup(vocabulary=["a", "b"], idf_weights=[0.3, 0.6], output_mode="tf_idf"), \
        np.array([["a", "a"]])
    text = np.array([["The cat sat."], ["the Dog, the cat!"]])
    yield "TextVectorization", lambda: _adapted(L.TextVectorization(), text), text
    yield "TextVectorization.length", lambda: _adapted(L.TextVectorization(output_sequence_length=3), text), text
    yield "TextVectorization.ngrams", lambda: _adapted(L.TextVectorization(ngrams=2, output_mode="count"), text), text
    yield "TextVectorization.tfidf", lambda: _adapted(L.TextVectorization(output_mode="tf_idf"), text), text
    yield "TextVectorization.chars", lambda: _adapted(L.TextVectorization(split="character", max_tokens=8), text), text

    yield "CenterCrop", lambda: L.CenterCrop(4, 5), images(*IMAGE)
    yield "Resizing", lambda: L.Resizing(5, 6), images(*IMAGE)
    yield "Resizing.crop", lambda: L.Resizing(5, 5, crop_to_aspect_ratio=True), images(*IMAGE)
    picture = images(2, 10, 12, 3)
    for name, arguments in (("RandomFlip", {}), ("RandomRotation", {"factor": 0.2}), ("RandomZoom", {"height_factor": 0.3}),
                            ("RandomTranslation", {"height_factor": 0.2, "width_factor": 0.2}),
                            ("RandomContrast", {"factor": 0.4}), ("RandomBrightness", {"factor": 0.4}),
                            ("RandomCrop", {"height": 6, "width": 7}), ("RandomShear", {"x_factor": 0.2, "y_factor": 0.2}),
                            ("RandomHue", {"factor": 0.3}), ("RandomSaturation", {"factor": 0.4}),
                            ("RandomColorJitter", {"brightness_factor": 0.2, "hue_factor": 0.2}),
                            ("RandomGrayscale", {"factor": 0.5}), ("RandomPosterization", {"factor": 4}),
                            ("RandomSharpness", {"factor": 0.5}), ("RandomInvert", {}), ("RandomErasing", {}),
                            ("RandomGaussianBlur", {}), ("RandomPerspective", {}), ("RandomElasticTransform", {}),
                            ("RandomColorDegeneration", {"factor": 0.5}), ("Solarization", {}), ("AutoContrast", {}),
                            ("Equalization", {}), ("RandAugment", {}), ("AugMix", {}), ("MixUp", {}), ("CutMix", {}),
                            ("ContrastLimitedAdaptiveHistogramEqualization", {"tile_grid_size": (2, 2)})):
        seeded = {} if name in ("AutoContrast", "Equalization", "ContrastLimitedAdaptiveHistogramEqualization") else {"seed": 9}
        yield name, lambda n=name, a=arguments, s=seeded: getattr(L, n)(**a, **s), \
            {"images": picture, "labels": np.eye(2, dtype="float32")} if name in ("MixUp", "CutMix") else picture
    yield "Pipeline", lambda: L.Pipeline([L.RandomFlip(seed=2), L.Rescaling(0.5)]), picture
    yield "MelSpectrogram", lambda: L.MelSpectrogram(fft_length=16, sequence_stride=8, num_mel_bins=5), f(2, 64)
    yield "STFTSpectrogram", lambda: L.STFTSpectrogram(frame_length=16, frame_step=8, fft_length=16), f(2, 64, 1)


def _adapted(layer, data):
    layer.adapt(data)
    return layer


def _config(layer):
    return json.dumps(keras.saving.serialize_keras_object(layer), sort_keys=True, default=str)


def _call(make, inputs):
    layer = make()
    training = [layer(inputs)]
    try:
        training.append(layer(inputs, training=True))
    except TypeError:
        pass
    return [training, [list(w.shape) for w in layer.weights], [w.path for w in layer.weights]]


def _as_tensors(inputs):
    return tf.nest.map_structure(tf.constant, inputs)


def _in_function(make, inputs):
    layer = make()
    layer(inputs)
    signature = tf.nest.map_structure(lambda a: tf.TensorSpec((None,) + a.shape[1:], tf.constant(a).dtype), inputs)
    function = tf.function(lambda v: layer(v), autograph=False, input_signature=[signature])
    outputs = function.get_concrete_function().structured_outputs
    shapes = [v.shape.as_list() if v.shape.rank is not None else None for v in keras.tree.flatten(outputs)]
    return [shapes, function(_as_tensors(inputs))]


def _symbolic(make, inputs):
    tensors = tf.nest.map_structure(
        lambda a: keras.Input(a.shape[1:], dtype="string" if a.dtype.kind in "US" else str(a.dtype)), inputs)
    outputs = make()(tensors)
    return outputs


def _gradient(make, inputs):
    layer = make()
    layer(inputs)
    with tf.GradientTape() as tape:
        outputs = [tf.cast(v, tf.float32) for v in keras.tree.flatten(layer(inputs))
                   if getattr(v.dtype, "is_floating", False)]
        total = tf.add_n([tf.reduce_sum(v * v) for v in outputs] + list(layer.losses)) if outputs else None
    return None if total is None else tape.gradient(total, layer.trainable_weights)


def _saved(make, inputs):
    import os
    import tempfile
    tensors = tf.nest.map_structure(
        lambda a: keras.Input(a.shape[1:], dtype="string" if a.dtype.kind in "US" else str(a.dtype)), inputs)
    model = keras.Model(tensors, make()(tensors))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        loaded = keras.saving.load_model(path, safe_mode=False)
        model.save_weights(os.path.join(folder, "w.weights.h5"))
        loaded.load_weights(os.path.join(folder, "w.weights.h5"))
    return [loaded(_as_tensors(inputs)), loaded.count_params()]


def _quantized(mode):
    def run():
        model = keras.Sequential([keras.Input((6,)), L.Dense(5, activation="relu"), L.Dense(3)])
        model.build((None, 6))
        model.quantize(mode)
        return [model(f(4, 6) * 0 + 0.3), [w.dtype for w in model.weights]]
    return run


def cases():
    numbers = {}
    for label, make, inputs in _layers():
        numbers[label] = number = numbers.get(label, -1) + 1
        name = f"layer.{label}" + (f"#{number}" if number else "")
        yield name + ".call", lambda m=make, x=inputs: _call(m, x)
        yield name + ".function", lambda m=make, x=inputs: _in_function(m, x)
        yield name + ".symbolic", lambda m=make, x=inputs: _symbolic(m, x)
        yield name + ".gradient", lambda m=make, x=inputs: _gradient(m, x)
        yield name + ".saved", lambda m=make, x=inputs: _saved(m, x)
        yield name + ".config", lambda m=make: _config(m())
    for mode in ("int8", "float8", "int4"):
        yield "layer.quantize." + mode, _quantized(mode)
    yield "layer.MultiHeadAttention", lambda: _attention(L.MultiHeadAttention(2, 3))
    yield "layer.MultiHeadAttention.causal", lambda: _attention(L.MultiHeadAttention(2, 3), use_causal_mask=True)
    yield "layer.GroupQueryAttention", lambda: _attention(L.GroupQueryAttention(4, 4, 2))
    yield "layer.LSTM.stateful", _stateful


def _attention(layer, **arguments):
    query, value = np.sin(np.arange(48, dtype="float32").reshape(2, 4, 6)), np.cos(np.arange(60, dtype="float32")).reshape(
        2, 5, 6)
    with tf.GradientTape() as tape:
        output, scores = layer(query, value, return_attention_scores=True, **arguments)
        loss = tf.reduce_sum(output * output)
    return [output, scores, tape.gradient(loss, layer.trainable_weights)]


def _stateful():
    model = keras.Sequential([keras.Input(batch_shape=(2, 3, 4)), L.LSTM(3, stateful=True)])
    x = np.sin(np.arange(24, dtype="float32")).reshape(2, 3, 4)
    first, second = model.predict(x, verbose=0), model.predict(x, verbose=0)
    model.layers[0].reset_states()
    return [first, second, model.predict(x, verbose=0)]
