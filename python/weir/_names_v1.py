"""Names of tf.compat.v1 beyond those of TensorFlow 2: a part of the table in weir/_names.py."""

_V = "weir.compat.v1."

_LOSS_SCALES = ("DynamicLossScale FixedLossScale LossScale MixedPrecisionLossScaleOptimizer "
                "disable_mixed_precision_graph_rewrite enable_mixed_precision_graph_rewrite")

# Names in one module: {namespace: {module: names}}.
_HOMES = {
    "": {
        "scopes": "AUTO_REUSE VariableScope get_variable get_local_variable get_variable_scope variable_scope "
                  "variable_op_scope no_regularizer create_partitioned_variables",
        "partitioners": "fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner",
        "graph_ops": "tuple add_to_collections model_variables moving_average_variables tables_initializer "
                     "is_variable_initialized report_uninitialized_variables assert_variables_initialized "
                     "sparse_placeholder container scatter_add scatter_sub scatter_update scatter_max scatter_min "
                     "scatter_mul scatter_div scatter_nd_add scatter_nd_sub scatter_nd_update count_up_to Print "
                     "control_dependencies import_graph_def",
        "wrappers": "reduce_sum reduce_mean reduce_prod reduce_max reduce_min reduce_all reduce_any reduce_logsumexp "
                    "count_nonzero argmax argmin expand_dims squeeze where gather gather_nd boolean_mask transpose "
                    "zeros_like ones_like shape size pad concat norm reverse_sequence to_float to_double to_int32 "
                    "to_int64 to_bfloat16 to_complex64 to_complex128 div lin_space accumulate_n random_uniform "
                    "multinomial cond while_loop map_fn foldl foldr scan substr string_split reduce_join "
                    "string_to_number string_to_hash_bucket decode_raw space_to_depth depth_to_space confusion_matrix "
                    "sparse_to_dense sparse_matmul sparse_concat sparse_add sparse_reduce_sum sparse_reduce_max "
                    "clip_by_average_norm verify_tensor_all_finite setdiff1d sparse_reduce_sum_sparse "
                    "sparse_reduce_max_sparse batch_gather",
        "session": "SparseTensorValue",
        "accumulators": "ConditionalAccumulatorBase ConditionalAccumulator SparseConditionalAccumulator",
        "settings": "control_flow_v2_enabled disable_control_flow_v2 enable_control_flow_v2 disable_resource_variables "
                    "enable_resource_variables resource_variables_enabled disable_tensor_equality enable_tensor_equality "
                    "disable_v2_tensorshape enable_v2_tensorshape dimension_at_index dimension_value get_seed op_scope",
        "queues": "QueueBase FIFOQueue RandomShuffleQueue PaddingFIFOQueue PriorityQueue ReaderBase WholeFileReader "
                  "TextLineReader TFRecordReader FixedLengthRecordReader IdentityReader",
    },
    "nn": {"rnn": "dynamic_rnn bidirectional_dynamic_rnn static_rnn static_bidirectional_rnn static_state_saving_rnn raw_rnn",
           
        "wrappers": "softmax log_softmax softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 "
                    "sparse_softmax_cross_entropy_with_logits sigmoid_cross_entropy_with_logits dropout moments "
                    "l2_normalize max_pool avg_pool conv1d conv2d conv2d_transpose conv3d depthwise_conv2d "
                    "depthwise_conv2d_native convolution xw_plus_b relu_layer fused_batch_norm embedding_lookup "
                    "space_to_depth depth_to_space conv2d_backprop_input conv2d_backprop_filter",
    },
    "image": {"wrappers": "resize_bilinear resize_nearest_neighbor resize_bicubic resize_area"},
    "sparse": {"accumulators": "SparseConditionalAccumulator"},
    "ragged": {"session": "RaggedTensorValue"},
    "math": {
        "wrappers": "reduce_sum reduce_mean reduce_prod reduce_max reduce_min reduce_all reduce_any reduce_logsumexp "
                    "count_nonzero argmax argmin confusion_matrix",
    },
    "train": {
        "optimizers": "Optimizer GradientDescentOptimizer MomentumOptimizer AdagradOptimizer AdamOptimizer "
                      "RMSPropOptimizer AdadeltaOptimizer FtrlOptimizer ProximalGradientDescentOptimizer "
                      "ProximalAdagradOptimizer AdagradDAOptimizer",
        "global_step": "assert_global_step create_global_step get_global_step get_or_create_global_step global_step",
        "schedules": "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay "
                     "natural_exp_decay noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay "
                     "polynomial_decay ExponentialMovingAverage",
        "saver": "Saver export_meta_graph import_meta_graph checkpoint_exists generate_checkpoint_state_proto "
                 "get_checkpoint_mtimes remove_checkpoint update_checkpoint_state NewCheckpointReader "
                 "init_from_checkpoint",
        "devices": "replica_device_setter",
        "cluster": "ClusterSpec Server",
        "queues": "QueueRunner add_queue_runner start_queue_runners",
        "coordinator": "Coordinator LooperThread",
        "warm_starting": "VocabInfo warm_start",
        "input": "batch batch_join maybe_batch_join maybe_shuffle_batch_join shuffle_batch shuffle_batch_join input_producer limit_epochs maybe_batch "
                 "maybe_shuffle_batch range_input_producer slice_input_producer string_input_producer "
                 "match_filenames_once",
        "monitored": "ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold SessionCreator "
                     "SingularMonitoredSession WorkerSessionCreator",
        "session_manager": "SessionManager",
        "hooks": "CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook "
                 "LoggingTensorHook NanLossDuringTrainingError NanTensorHook ProfilerHook SecondOrStepTimer "
                 "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues StepCounterHook StopAtStepHook "
                 "SummarySaverHook",
        "supervisor": "Supervisor",
        "sync_replicas": "SyncReplicasOptimizer",
        "graph_io": "write_graph summary_iterator basic_train_loop",
    },
    "train.experimental": {"loss_scales": _LOSS_SCALES}, "mixed_precision": {"loss_scales": _LOSS_SCALES},
    "mixed_precision.experimental": {"loss_scales": "DynamicLossScale FixedLossScale LossScale"},
    "train.queue_runner": {"queues": "QueueRunner add_queue_runner start_queue_runners"},
    "io": {"graph_io": "write_graph", "input": "match_filenames_once",
           "queues": "QueueBase RandomShuffleQueue PaddingFIFOQueue PriorityQueue"},
    "summary": {"summaries": "FileWriter FileWriterCache scalar histogram image audio text tensor_summary merge merge_all "
                             "get_summary_description"},
    "graph_util": {"graph_util": "convert_variables_to_constants extract_sub_graph must_run_on_cpu remove_training_nodes "
                                 "tensor_shape_from_node_def_name"},
    "gfile": {"gfile": "Copy DeleteRecursively Exists FastGFile GFile Glob IsDirectory ListDirectory MakeDirs MkDir Open "
                       "Remove Rename Stat Walk"},
    "data": {"dataset": "Iterator get_output_classes get_output_shapes get_output_types make_initializable_iterator "
                        "make_one_shot_iterator",
             "dataset_v1": "FixedLengthRecordDataset TFRecordDataset TextLineDataset"},
    "data.experimental": {"dataset_v1": "Counter CsvDataset RandomDataset choose_from_datasets make_csv_dataset "
                                        "make_batched_features_dataset sample_from_datasets"},
}

# Modules as they are.
_MODULES = {"distributions": _V + "distributions", "losses": _V + "losses", "metrics": _V + "metrics",
            "logging": _V + "logging", "flags": _V + "flags", "app": _V + "app"}

# Classes under other names: initializers.
_INITIALIZERS = {"zeros": "Zeros", "ones": "Ones", "constant": "Constant", "random_uniform": "RandomUniform",
                 "random_normal": "RandomNormal", "truncated_normal": "TruncatedNormal",
                 "uniform_unit_scaling": "UniformUnitScaling", "variance_scaling": "VarianceScaling",
                 "glorot_uniform": "GlorotUniform", "glorot_normal": "GlorotNormal", "orthogonal": "Orthogonal",
                 "identity": "Identity", "lecun_normal": "lecun_normal", "lecun_uniform": "lecun_uniform",
                 "he_normal": "he_normal", "he_uniform": "he_uniform"}

_ADAPTED = {"constant": "constant", "convert_to_tensor": "convert_to_tensor", "space_to_batch": "space_to_batch",
            "nn.space_to_batch": "space_to_batch", "batch_to_space": "batch_to_space", "nn.erosion2d": "erosion2d",
            "nn.fractional_max_pool": "fractional_max_pool", "nn.fractional_avg_pool": "fractional_avg_pool",
            "nn.ctc_loss": "ctc_loss", "nn.ctc_beam_search_decoder": "ctc_beam_search_decoder",
            "strings.split": "split", "hessians": "hessians"}

_CONVERSIONS = {
    "convert_to_tensor_or_sparse_tensor": "convert_to_tensor_or_sparse_tensor",
    "convert_to_tensor_or_indexed_slices": "convert_to_tensor_or_indexed_slices", "sparse_merge": "sparse_merge",
    "sparse.merge": "sparse_merge", "ragged.constant_value": "ragged_constant_value", "ragged.placeholder": "ragged_placeholder",
    "resource_loader.get_path_to_datafile": "get_path_to_datafile",
    "resource_loader.get_data_files_path": "get_data_files_path", "resource_loader.load_resource": "load_resource",
    "resource_loader.readahead_file_path": "readahead_file_path",
    "resource_loader.get_root_dir_with_all_resources": "get_root_dir_with_all_resources", "wrap_function": "wrap_function",
    "xla.experimental.compile": "xla_compile", "batch_scatter_update": "batch_scatter_update",
    "add_check_numerics_ops": "check_numerics_ops"}

# Old names of functions that exist: "old=new".
_ALIASES = """
log=math.log log1p=math.log1p log_sigmoid=math.log_sigmoid digamma=math.digamma erf=math.erf erfc=math.erfc
expm1=math.expm1 lgamma=math.lgamma lbeta=math.lbeta polygamma=math.polygamma zeta=math.zeta igamma=math.igamma
igammac=math.igammac betainc=math.betainc angle=math.angle conj=math.conj imag=math.imag real=math.real ceil=math.ceil
rint=math.rint rsqrt=math.rsqrt reciprocal=math.reciprocal mod=math.floormod floormod=math.floormod
floordiv=math.floordiv floor_div=math.floordiv is_finite=math.is_finite is_inf=math.is_inf is_nan=math.is_nan
logical_xor=math.logical_xor squared_difference=math.squared_difference segment_max=math.segment_max
segment_mean=math.segment_mean segment_min=math.segment_min segment_prod=math.segment_prod segment_sum=math.segment_sum
unsorted_segment_max=math.unsorted_segment_max unsorted_segment_mean=math.unsorted_segment_mean
unsorted_segment_min=math.unsorted_segment_min unsorted_segment_prod=math.unsorted_segment_prod
unsorted_segment_sqrt_n=math.unsorted_segment_sqrt_n unsorted_segment_sum=math.unsorted_segment_sum
bincount=math.bincount cumprod=math.cumprod div_no_nan=math.divide_no_nan invert_permutation=math.invert_permutation
is_non_decreasing=math.is_non_decreasing is_strictly_increasing=math.is_strictly_increasing arg_max=math.argmax
arg_min=math.argmin check_numerics=debugging.check_numerics global_norm=linalg.global_norm cholesky=linalg.cholesky
cholesky_solve=linalg.cholesky_solve matrix_band_part=linalg.band_part matrix_determinant=linalg.det
matrix_diag=linalg.diag matrix_diag_part=linalg.diag_part matrix_inverse=linalg.inv matrix_set_diag=linalg.set_diag
matrix_solve=linalg.solve matrix_solve_ls=linalg.lstsq matrix_transpose=linalg.matrix_transpose
matrix_triangular_solve=linalg.triangular_solve qr=linalg.qr svd=linalg.svd self_adjoint_eig=linalg.eigh
self_adjoint_eigvals=linalg.eigvalsh trace=linalg.trace diag=linalg.tensor_diag diag_part=linalg.tensor_diag_part
cross=linalg.cross linalg.transpose=linalg.matrix_transpose fft=signal.fft fft2d=signal.fft2d fft3d=signal.fft3d
ifft=signal.ifft ifft2d=signal.ifft2d ifft3d=signal.ifft3d spectral.fft=signal.fft spectral.fft2d=signal.fft2d
spectral.fft3d=signal.fft3d spectral.ifft=signal.ifft spectral.ifft2d=signal.ifft2d spectral.ifft3d=signal.ifft3d
spectral.rfft=signal.rfft spectral.irfft=signal.irfft spectral.dct=signal.dct spectral.idct=signal.idct
spectral.rfft2d=signal.rfft2d spectral.irfft2d=signal.irfft2d spectral.rfft3d=signal.rfft3d spectral.irfft3d=signal.irfft3d
random_normal=random.normal truncated_normal=random.truncated_normal random_gamma=random.gamma
random_poisson=random.poisson random_shuffle=random.shuffle random_crop=image.random_crop
random.set_random_seed=random.set_seed random.multinomial=compat.v1.multinomial regex_replace=strings.regex_replace
string_join=strings.join string_strip=strings.strip string_to_hash_bucket_fast=strings.to_hash_bucket_fast
string_to_hash_bucket_strong=strings.to_hash_bucket_strong strings.to_hash_bucket=compat.v1.string_to_hash_bucket
read_file=io.read_file write_file=io.write_file matching_files=io.matching_files parse_tensor=io.parse_tensor
serialize_tensor=io.serialize_tensor decode_base64=io.decode_base64 encode_base64=io.encode_base64 decode_csv=io.decode_csv
decode_compressed=io.decode_compressed decode_json_example=io.decode_json_example
serialize_sparse=io.serialize_sparse serialize_many_sparse=io.serialize_many_sparse
deserialize_many_sparse=io.deserialize_many_sparse sparse_fill_empty_rows=sparse.fill_empty_rows sparse_mask=sparse.mask
sparse_maximum=sparse.maximum sparse_minimum=sparse.minimum sparse_reorder=sparse.reorder
sparse_reset_shape=sparse.reset_shape sparse_reshape=sparse.reshape sparse_retain=sparse.retain
sparse_slice=sparse.slice sparse_softmax=sparse.softmax sparse_split=sparse.split
sparse_tensor_dense_matmul=sparse.sparse_dense_matmul sparse.matmul=sparse.sparse_dense_matmul
sparse_tensor_to_dense=sparse.to_dense sparse_to_indicator=sparse.to_indicator sparse_transpose=sparse.transpose
sparse_segment_mean=sparse.segment_mean sparse_segment_sqrt_n=sparse.segment_sqrt_n sparse_segment_sum=sparse.segment_sum
sparse.placeholder=compat.v1.sparse_placeholder extract_image_patches=image.extract_patches
image.extract_image_patches=image.extract_patches batch_to_space_nd=batch_to_space reverse_v2=reverse
tensor_scatter_add=tensor_scatter_nd_add tensor_scatter_sub=tensor_scatter_nd_sub tensor_scatter_update=tensor_scatter_nd_update
setdiff1d=sets.setdiff1d where_v2=where quantize=quantization.quantize dequantize=quantization.dequantize
fake_quant_with_min_max_args=quantization.fake_quant_with_min_max_args
fake_quant_with_min_max_vars=quantization.fake_quant_with_min_max_vars
fake_quant_with_min_max_vars_per_channel=quantization.fake_quant_with_min_max_vars_per_channel
assert_greater_equal=debugging.assert_greater_equal assert_integer=debugging.assert_integer
assert_less_equal=debugging.assert_less_equal assert_near=debugging.assert_near assert_negative=debugging.assert_negative
assert_non_negative=debugging.assert_non_negative assert_non_positive=debugging.assert_non_positive
assert_none_equal=debugging.assert_none_equal assert_positive=debugging.assert_positive
assert_proper_iterable=debugging.assert_proper_iterable assert_rank_at_least=debugging.assert_rank_at_least
assert_rank_in=debugging.assert_rank_in assert_same_float_dtype=debugging.assert_same_float_dtype
assert_scalar=debugging.assert_scalar assert_type=debugging.assert_type is_numeric_tensor=debugging.is_numeric_tensor
all_variables=compat.v1.global_variables initialize_variables=compat.v1.variables_initializer
initialize_local_variables=compat.v1.local_variables_initializer initialize_all_tables=compat.v1.tables_initializer
OpError=errors.OpError global_variables_initializer=compat.v1.global_variables_initializer
initializers.global_variables=compat.v1.global_variables_initializer
initializers.local_variables=compat.v1.local_variables_initializer initializers.variables=compat.v1.variables_initializer
initializers.tables_initializer=compat.v1.tables_initializer manip.batch_to_space_nd=batch_to_space
manip.gather_nd=gather_nd manip.reshape=reshape manip.reverse=reverse manip.roll=roll manip.scatter_nd=scatter_nd
manip.space_to_batch_nd=space_to_batch_nd manip.tile=tile image.resize_images=compat.v1.image.resize
image.resize_image_with_crop_or_pad=image.resize_with_crop_or_pad image.resize_image_with_pad=image.resize_with_pad
nn.ctc_loss_v2=nn.ctc_loss debugging.is_non_decreasing=math.is_non_decreasing
debugging.is_strictly_increasing=math.is_strictly_increasing random.stateless_multinomial=random.stateless_categorical
image.transpose_image=image.transpose nn.log_uniform_candidate_sampler=random.log_uniform_candidate_sampler
nn.uniform_candidate_sampler=random.uniform_candidate_sampler
nn.max_pool_v2=nn.max_pool nn.avg_pool_v2=nn.avg_pool sets.set_difference=sets.difference
sparse.reduce_max_sparse=compat.v1.sparse_reduce_max_sparse sparse.reduce_sum_sparse=compat.v1.sparse_reduce_sum_sparse
dtypes.as_string=strings.as_string saved_model.experimental.save=saved_model.save CXX_VERSION=sysconfig.CXX_VERSION
CXX11_ABI_FLAG=sysconfig.CXX11_ABI_FLAG MONOLITHIC_BUILD=sysconfig.MONOLITHIC_BUILD
sets.set_intersection=sets.intersection sets.set_size=sets.size sets.set_union=sets.union
debugging.is_finite=math.is_finite debugging.is_inf=math.is_inf debugging.is_nan=math.is_nan
summary.all_v2_summary_ops=compat.v1.__summary_ops summary.initialize=compat.v1.__summary_initialize
"""


def add(table):
    """Puts the names into the table, after those of TensorFlow 2."""
    for namespace, modules in _HOMES.items():
        prefix = "compat.v1." + (namespace + "." if namespace else "")
        for module, names in modules.items():
            for name in names.split():
                table[prefix + name] = (_V + module, name)
    from weir.compat.v1.signatures import SPECS
    for name in SPECS:
        table["compat.v1." + name] = (_V + "signatures", name.replace(".", "__"))
    for name, attribute in _ADAPTED.items():
        table["compat.v1." + name] = (_V + "adapted", attribute)
    for name, module in _MODULES.items():
        table["compat.v1." + name] = (module, "")
    for name, attribute in _INITIALIZERS.items():
        entry = ("weir.ops.initializers", attribute)
        table["compat.v1.initializers." + name] = entry
        if not name.startswith(("lecun", "he_", "identity")):
            table[f"compat.v1.{name}_initializer"] = entry
    table["compat.v1.test.compute_gradient"] = ("weir.gradient_checker", "compute_gradient_v1")
    for name, attribute in _CONVERSIONS.items():
        table["compat.v1." + name] = (_V + "conversions", attribute)
    for name in ("args", "vars", "vars_per_channel"):
        entry = ("weir.ops.generated", "FakeQuantWithMinMax" + name.title().replace("_", "") + "Gradient")
        table[f"compat.v1.fake_quant_with_min_max_{name}_gradient"] = entry
    for name, op in (("conv3d_backprop_filter", "Conv3DBackpropFilterV2"), ("quantized_conv2d", "QuantizedConv2D"),
                     ("conv3d_backprop_filter_v2", "Conv3DBackpropFilterV2"), ("quantized_relu_x", "QuantizedReluX"),
                     ("quantized_avg_pool", "QuantizedAvgPool"), ("quantized_max_pool", "QuantizedMaxPool")):
        table["compat.v1.nn." + name] = ("weir.ops.generated", op)
    for name in ("input", "filter"):
        table["compat.v1.nn.depthwise_conv2d_native_backprop_" + name] = ("weir.ops.conv",
                                                                          "depthwise_conv2d_backprop_" + name)
    table["compat.v1.quantize_v2"] = ("weir.ops.generated", "QuantizeV2")
    table["compat.v1.quantized_concat"] = ("weir.ops.generated", "QuantizedConcat")
    table["compat.v1.QUANTIZED_DTYPES"] = ("weir.framework.dtypes", "QUANTIZED_DTYPES")
    table["compat.v1.random.get_seed"] = ("weir.framework.random_seed", "get_seed")
    table["compat.v1.saved_model.constants"] = ("weir.saved_model.constants", "")
    table["compat.v1.image.extract_glimpse"] = ("weir.ops.image_quality", "extract_glimpse_v1")
    table["compat.v1.image.non_max_suppression_padded"] = ("weir.ops.image_quality", "non_max_suppression_padded_v1")
    table["compat.v1.image.resize"] = (_V + "wrappers", "resize_images")
    table["compat.v1.data.Dataset"] = (_V + "dataset_v1", "DatasetV1")
    table["compat.v1.__summary_ops"] = ("weir.summary", "all_v2_summary_ops")
    table["compat.v1.__summary_initialize"] = ("weir.summary", "initialize")
    for pair in _ALIASES.split():
        old, new = pair.split("=")
        if new in table:
            table.setdefault("compat.v1." + old, table[new])
            if old.startswith(("image.resize", "summary.")):
                table["compat.v1." + old] = table[new]
