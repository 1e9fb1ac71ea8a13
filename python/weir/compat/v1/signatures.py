"""Functions of tf.compat.v1 that are those of TensorFlow 2 with other parameters: their names, order and defaults.

An entry reads "parameter parameter:new_name=default"; `new_name` is TensorFlow 2's, "-" marks one that has no effect on the
result (what an assertion prints, how shards of a table that is one tensor are cut).
"""

__all__ = ["SPECS"]

_ASSERT_PAIR = "x y data:-=None summarize=None message=None name=None"
_ASSERT_ONE = "x data:-=None summarize=None message=None name=None"
_SEGMENT = "data indices segment_ids name=None num_segments=None sparse_gradient=False"
_SERIALIZE = "sp_input name=None out_type=tf.string"
_REDUCE_SPARSE = "sp_input axis=None keepdims=None reduction_axes:axis=None keep_dims:keepdims=None"
_PATCHES = "images ksizes:sizes=None strides=None rates=None padding=None name=None sizes=None"
_BINCOUNT = "arr weights=None minlength=None maxlength=None dtype=tf.int32"
_SPLIT = "keyword_required:-=None sp_input=None num_split=None axis=None name=None split_dim:axis=None"
_CSV = "records record_defaults field_delim=',' use_quote_delim=True name=None na_value='' select_cols=None"
_IN_TOP_K = "predictions targets k name=None"
_SOFTMAX = "logits axis=None name=None dim:axis=None"

# {name in compat.v1: (name in TensorFlow 2, parameters)}
SPECS = {
    "arg_max": ("math.argmax", "input dimension:axis output_type=tf.int64 name=None"),
    "arg_min": ("math.argmin", "input dimension:axis output_type=tf.int64 name=None"),
    "bincount": ("math.bincount", _BINCOUNT),
    "math.bincount": ("math.bincount", _BINCOUNT),
    "debugging.assert_all_finite": ("debugging.assert_all_finite",
                                    "t:x=None msg:message=None name=None x=None message=None"),
    "decode_csv": ("io.decode_csv", _CSV),
    "io.decode_csv": ("io.decode_csv", _CSV),
    "extract_image_patches": ("image.extract_patches", _PATCHES),
    "image.extract_image_patches": ("image.extract_patches", _PATCHES),
    "image.crop_and_resize": ("image.crop_and_resize",
                              "image boxes box_ind:box_indices=None crop_size=None method='bilinear' extrapolation_value=0 "
                              "name=None box_indices=None"),
    "image.draw_bounding_boxes": ("image.draw_bounding_boxes", "images boxes name=None colors=None"),
    "io.decode_raw": ("io.decode_raw", "input_bytes=None out_type=None little_endian=True name=None bytes:input_bytes=None"),
    "decode_raw": ("io.decode_raw", "input_bytes=None out_type=None little_endian=True name=None bytes:input_bytes=None"),
    "linalg.norm": ("norm", "tensor ord='euclidean' axis=None keepdims=None name=None keep_dims:keepdims=None"),
    "manip.gather_nd": ("gather_nd", "params indices name=None batch_dims=0 bad_indices_policy=''"),
    "math.in_top_k": ("math.in_top_k", _IN_TOP_K),
    "nn.in_top_k": ("math.in_top_k", _IN_TOP_K),
    "math.log_softmax": ("nn.log_softmax", _SOFTMAX),
    "math.softmax": ("nn.softmax", _SOFTMAX),
    "nn.avg_pool2d": ("nn.avg_pool2d", "value:input=None ksize=None strides=None padding=None data_format='NHWC' name=None "
                                       "input=None"),
    "nn.batch_norm_with_global_normalization": (
        "nn.batch_norm_with_global_normalization",
        "t:input=None m:mean=None v:variance=None beta=None gamma=None variance_epsilon=None "
        "scale_after_normalization=None name=None input=None mean=None variance=None"),
    "nn.conv3d_transpose": ("nn.conv3d_transpose",
                            "value:input filter:filters=None output_shape=None strides=None padding='SAME' "
                            "data_format='NDHWC' name=None input=None filters=None dilations=None"),
    "nn.crelu": ("nn.crelu", "features name=None axis=-1"),
    "nn.ctc_beam_search_decoder_v2": ("nn.ctc_beam_search_decoder", "inputs sequence_length beam_width=100 top_paths=1"),
    "nn.dilation2d": ("compat.v1.__dilation2d", "input filter=None strides=None rates=None padding=None name=None "
                                                "filters:filter=None dilations:rates=None"),
    "nn.max_pool_with_argmax": ("nn.max_pool_with_argmax",
                                "input ksize strides padding data_format='NHWC' Targmax:output_dtype=None name=None "
                                "output_dtype=None include_batch_in_index=False"),
    "nn.nce_loss": ("nn.nce_loss", "weights biases labels inputs num_sampled num_classes num_true=1 sampled_values=None "
                                   "remove_accidental_hits=False partition_strategy:-='mod' name='nce_loss'"),
    "nn.sampled_softmax_loss": ("nn.sampled_softmax_loss",
                                "weights biases labels inputs num_sampled num_classes num_true=1 sampled_values=None "
                                "remove_accidental_hits=True partition_strategy:-='mod' name='sampled_softmax_loss' "
                                "seed=None"),
    "nn.embedding_lookup_sparse": ("nn.embedding_lookup_sparse",
                                   "params sp_ids sp_weights partition_strategy:-='mod' name=None combiner=None "
                                   "max_norm=None allow_fast_lookup=False"),
    "nn.safe_embedding_lookup_sparse": ("nn.safe_embedding_lookup_sparse",
                                        "embedding_weights sparse_ids sparse_weights=None combiner='mean' default_id=None "
                                        "name=None partition_strategy:-='div' max_norm=None allow_fast_lookup=False"),
    "nn.pool": ("nn.pool", "input window_shape pooling_type padding dilation_rate:dilations=None strides=None name=None "
                           "data_format=None dilations=None"),
    "nn.separable_conv2d": ("nn.separable_conv2d",
                            "input depthwise_filter pointwise_filter strides padding rate:dilations=None name=None "
                            "data_format=None dilations=None"),
    "nn.silu": ("nn.silu", "features beta=1.0"),
    "nn.swish": ("nn.silu", "features beta=1.0"),
    "nn.sufficient_statistics": ("nn.sufficient_statistics",
                                 "x axes shift=None keep_dims:keepdims=None name=None keepdims=None"),
    "nn.weighted_cross_entropy_with_logits": ("nn.weighted_cross_entropy_with_logits",
                                              "labels=None logits=None pos_weight=None name=None targets:labels=None"),
    "nn.weighted_moments": ("nn.weighted_moments",
                            "x axes frequency_weights name=None keep_dims:keepdims=None keepdims=None"),
    "random.poisson": ("random.poisson", "lam shape dtype=tf.float32 seed=None name=None"),
    "random_poisson": ("random.poisson", "lam shape dtype=tf.float32 seed=None name=None"),
    "sparse.add": ("sparse.add", "a b threshold=None thresh:threshold=None"),
    "sparse_add": ("sparse.add", "a b threshold=None thresh:threshold=None"),
    "sparse.concat": ("sparse.concat", "axis sp_inputs name=None expand_nonconcat_dim:expand_nonconcat_dims=False "
                                       "concat_dim:axis=None expand_nonconcat_dims=None"),
    "sparse_concat": ("sparse.concat", "axis sp_inputs name=None expand_nonconcat_dim:expand_nonconcat_dims=False "
                                       "concat_dim:axis=None expand_nonconcat_dims=None"),
    "sparse.reduce_max": ("sparse.reduce_max", _REDUCE_SPARSE),
    "sparse.reduce_sum": ("sparse.reduce_sum", _REDUCE_SPARSE),
    "sparse_reduce_max": ("sparse.reduce_max", _REDUCE_SPARSE),
    "sparse_reduce_sum": ("sparse.reduce_sum", _REDUCE_SPARSE),
    "sparse.split": ("sparse.split", _SPLIT),
    "sparse_split": ("sparse.split", _SPLIT),
    "strings.length": ("strings.length", "input name=None unit='BYTE'"),
    "string_length": ("strings.length", "input name=None unit='BYTE'"),
    "strings.substr": ("strings.substr", "input pos len name=None unit='BYTE'"),
    "substr": ("strings.substr", "input pos len name=None unit='BYTE'"),
    "strings.reduce_join": ("strings.reduce_join",
                            "inputs axis=None keep_dims:keepdims=None separator='' name=None reduction_indices:axis=None "
                            "keepdims=None"),
    "strings.to_number": ("strings.to_number", "string_tensor:input=None out_type=tf.float32 name=None input=None"),
    "string_to_number": ("strings.to_number", "string_tensor:input=None out_type=tf.float32 name=None input=None"),
}
for _name in ("equal", "greater", "greater_equal", "less", "less_equal", "none_equal"):
    SPECS["assert_" + _name] = SPECS["debugging.assert_" + _name] = ("debugging.assert_" + _name, _ASSERT_PAIR)
for _name in ("negative", "non_negative", "non_positive", "positive"):
    SPECS["assert_" + _name] = SPECS["debugging.assert_" + _name] = ("debugging.assert_" + _name, _ASSERT_ONE)
for _name, _what in (("rank", "rank"), ("rank_at_least", "rank"), ("rank_in", "ranks")):
    SPECS["assert_" + _name] = SPECS["debugging.assert_" + _name] = (
        "debugging.assert_" + _name, f"x {_what} data:-=None summarize:-=None message=None name=None")
SPECS["assert_near"] = SPECS["debugging.assert_near"] = (
    "debugging.assert_near", "x y rtol=None atol=None data:-=None summarize=None message=None name=None")
SPECS["assert_scalar"] = SPECS["debugging.assert_scalar"] = ("debugging.assert_scalar", "tensor name=None message=None")
for _name in ("segment_mean", "segment_sqrt_n", "segment_sum"):
    SPECS["sparse." + _name] = SPECS["sparse_" + _name] = ("sparse." + _name, _SEGMENT)
for _name in ("serialize_sparse", "serialize_many_sparse"):
    SPECS[_name] = SPECS["io." + _name] = ("io." + _name, _SERIALIZE)


def _default(text):
    if text.startswith("tf."):
        from weir.framework import dtypes
        return getattr(dtypes, text[3:])
    import ast
    return ast.literal_eval(text)


def _words(spec):
    """Splits at blanks outside of quotes."""
    out, quoted, word = [], False, ""
    for letter in spec:
        quoted ^= letter == "'"
        if letter == " " and not quoted:
            out.append(word)
            word = ""
        else:
            word += letter
    return [*out, word]


def adapt(name, target, spec):
    """A function with the parameters of `spec` that calls `target`."""
    import inspect
    parameters, new_names = [], {}
    for word in _words(spec):
        head, _, default = word.partition("=")
        old, _, new = head.partition(":")
        new_names[old] = new or old
        parameters.append(inspect.Parameter(old, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                            default=_default(default) if default else inspect.Parameter.empty))
    signature = inspect.Signature(parameters)
    required = {new_names[p.name]: p.name for p in parameters if p.default is p.empty}

    def call(*args, **kwargs):
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            # Another name may stand for a required argument: filters= for filter=.
            given = {new_names.get(key) for key in kwargs}
            for new, old in required.items():
                if new in given and old not in kwargs:
                    kwargs[old] = None
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{call.__name__}() {error}") from None
        passed = {}
        for old, value in bound.arguments.items():
            parameter, new = signature.parameters[old], new_names[old]
            optional = parameter.default is not parameter.empty
            if new == "-" or (value is None and (new in passed or (optional and parameter.default is not None))):
                continue
            if new in passed and passed[new] is not None and new != old:
                raise ValueError(f"Cannot specify both '{old}' and '{new}'.")
            passed[new] = value
        for parameter in parameters:
            new = new_names[parameter.name]
            if new not in passed and new != "-" and parameter.default not in (None, parameter.empty):
                passed[new] = parameter.default
        return target(**passed)

    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    call.__doc__ = target.__doc__
    call.__signature__ = signature
    return call


def __getattr__(key):
    name = key.replace("__", ".")
    if name not in SPECS:
        raise AttributeError(key)
    import functools

    import weir
    path, spec = SPECS[name]
    if path.startswith("compat.v1.__"):
        from weir.compat.v1 import adapted
        target = getattr(adapted, path[len("compat.v1.__"):])
    else:
        target = functools.reduce(getattr, path.split("."), weir)
    made = adapt(name, target, spec)
    globals()[key] = made
    return made
