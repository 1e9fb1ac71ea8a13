"""The table of public names: "math.reduce_sum": ("weir.ops.math", "reduce_sum"). An empty attribute means the module.

Names of the core are written here by hand; those of functions over ops come from the generated table weir._api.
"""

from weir import _api, _names_graphs, _names_v1

_F = "weir.framework"

TABLE = {
    "Tensor": (_F, "Tensor"),
    "DType": (_F, "DType"),
    "TensorShape": (_F, "TensorShape"),
    "TensorSpec": (_F, "TensorSpec"),
    "TypeSpec": (_F, "TypeSpec"),
    "as_dtype": (_F, "as_dtype"),
    "constant": (_F, "constant"),
    "convert_to_tensor": (_F, "convert_to_tensor"),
    "is_tensor": (_F, "is_tensor"),
    "register_tensor_conversion_function": (_F, "register_tensor_conversion_function"),
    "get_static_value": ("weir.framework.conversion", "public_static_value"),
    "type_spec_from_value": (_F, "type_spec_from_value"),
    "raw_ops": ("weir.framework.raw_ops", "raw_ops"),
    "errors": ("weir.framework.errors", ""),
    "executing_eagerly": (_F, "executing_eagerly"),
    "inside_function": (_F, "inside_function"),
    "init_scope": (_F, "init_scope"),
    "name_scope": (_F, "name_scope"),
    "control_dependencies": (_F, "control_dependencies"),
    "device": (_F, "device"),
    "Graph": (_F, "Graph"),
    "Operation": (_F, "Operation"),
    "Variable": ("weir.variables", "Variable"),
    "VariableAggregation": ("weir.variables", "VariableAggregation"),
    "VariableSynchronization": ("weir.variables", "VariableSynchronization"),
    "variable_creator_scope": ("weir.variables", "variable_creator_scope"),
    "IndexedSlices": ("weir.ops.indexed_slices", "IndexedSlices"),
    "IndexedSlicesSpec": ("weir.ops.indexed_slices", "IndexedSlicesSpec"),
    "Module": ("weir.module", "Module"),
    "GradientTape": ("weir.eager.tape", "GradientTape"),
    "UnconnectedGradients": ("weir.eager.tape", "UnconnectedGradients"),
    "custom_gradient": ("weir.eager.custom_gradient", "custom_gradient"),
    "recompute_grad": ("weir.eager.custom_gradient", "recompute_grad"),
    "grad_pass_through": ("weir.eager.custom_gradient", "grad_pass_through"),
    "gradients": ("weir.eager.tape", "gradients"),
    "hessians": ("weir.eager.tape", "hessians"),
    "stop_gradient": ("weir.eager.tape", "stop_gradient"),
    "autodiff.GradientTape": ("weir.eager.tape", "GradientTape"),
    "autodiff.ForwardAccumulator": ("weir.eager.forwardprop", "ForwardAccumulator"),
    "function": ("weir.eager.function", "function"),
    "py_function": ("weir.eager.py_function", "py_function"),
    "numpy_function": ("weir.eager.py_function", "numpy_function"),
    "compat.v1.py_func": ("weir.eager.py_function", "py_func"),
    "types.experimental.GenericFunction": ("weir.eager.function", "GenericFunction"),
    "types.experimental.PolymorphicFunction": ("weir.eager.function", "GenericFunction"),
    "types.experimental.ConcreteFunction": ("weir.eager.function", "ConcreteFunction"),
    "types.experimental.Callable": ("weir.eager.function", "GenericFunction"),
    "types.experimental.TensorLike": ("weir.framework.tensor", "types_Tensor"),
    "config.list_physical_devices": ("weir.framework.config", "list_physical_devices"),
    "config.list_logical_devices": ("weir.framework.config", "list_logical_devices"),
    "config.get_visible_devices": ("weir.framework.config", "get_visible_devices"),
    "config.set_visible_devices": ("weir.framework.config", "set_visible_devices"),
    "config.set_logical_device_configuration": ("weir.framework.config", "set_logical_device_configuration"),
    "config.get_logical_device_configuration": ("weir.framework.config", "get_logical_device_configuration"),
    "config.experimental.set_virtual_device_configuration": ("weir.framework.config", "set_logical_device_configuration"),
    "config.experimental.VirtualDeviceConfiguration": ("weir.framework.config", "LogicalDeviceConfiguration"),
    "config.experimental.list_logical_devices": ("weir.framework.config", "list_logical_devices"),
    "config.LogicalDeviceConfiguration": ("weir.framework.config", "LogicalDeviceConfiguration"),
    "config.PhysicalDevice": ("weir.framework.config", "PhysicalDevice"),
    "config.LogicalDevice": ("weir.framework.config", "LogicalDevice"),
    "config.set_soft_device_placement": ("weir.framework.config", "set_soft_device_placement"),
    "config.get_soft_device_placement": ("weir.framework.config", "get_soft_device_placement"),
    "config.run_functions_eagerly": ("weir.framework.config", "run_functions_eagerly"),
    "config.functions_run_eagerly": ("weir.framework.config", "functions_run_eagerly"),
    "config.threading": ("weir.framework.config", "threading_config"),
    "config.experimental.list_physical_devices": ("weir.framework.config", "list_physical_devices"),
    "config.experimental.set_memory_growth": ("weir.framework.config", "set_memory_growth"),
    "config.experimental.get_memory_growth": ("weir.framework.config", "get_memory_growth"),
    "config.experimental.enable_op_determinism": ("weir.framework.config", "enable_op_determinism"),
    "config.experimental.enable_tensor_float_32_execution": ("weir.framework.config",
                                                             "enable_tensor_float_32_execution"),
    "config.experimental.tensor_float_32_execution_enabled": ("weir.framework.config",
                                                              "tensor_float_32_execution_enabled"),
    "experimental.dispatch_for_api": (_F, "dispatch_for_api"),
    **{f"experimental.{_name}": ("weir.framework.elementwise_dispatch", _name) for _name in (
        "dispatch_for_binary_elementwise_apis", "dispatch_for_binary_elementwise_assert_apis",
        "dispatch_for_unary_elementwise_apis", "unregister_dispatch_for")},
    "random.experimental.stateless_split": ("weir.ops.random", "split"),
    "random.experimental.stateless_fold_in": ("weir.ops.random", "fold_in"),
    "DeviceSpec": ("weir.framework.device_spec", "DeviceSpec"),
    "is_symbolic_tensor": ("weir.framework.conversion", "is_symbolic"),
    "get_current_name_scope": ("weir.framework.graph", "get_current_name_scope"),
    "quantization.quantize": ("weir.ops.quantization", "quantize"),
    "quantization.dequantize": ("weir.ops.quantization", "dequantize"),
    "quantization.quantize_and_dequantize": ("weir.ops.quantization", "quantize_and_dequantize"),
    "quantization.quantize_and_dequantize_v2": ("weir.ops.quantization", "quantize_and_dequantize_v2"),
    "experimental.dlpack": ("weir.dlpack", ""),
    "experimental.ExtensionType": ("weir.framework.extension_type", "ExtensionType"),
    "experimental.BatchableExtensionType": ("weir.framework.extension_type", "BatchableExtensionType"),
    "experimental.ExtensionTypeSpec": ("weir.framework.extension_type", "ExtensionTypeSpec"),
    "experimental.ExtensionTypeBatchEncoder": ("weir.framework.extension_type", "ExtensionTypeBatchEncoder"),
    "experimental.numpy": ("weir.numpy_functions", ""),
    "random.set_seed": ("weir.framework.random_seed", "set_seed"),
    "__internal__.EagerTensor": (_F, "EagerTensor"),
    "__internal__.CompositeTensor": (_F, "CompositeTensor"),
    "__internal__.FuncGraph": ("weir.framework.graph", "FuncGraph"),
    "__internal__.types.Tensor": ("weir.framework.tensor", "types_Tensor"),
    "__internal__.tracking.Trackable": ("weir.trackable", "Trackable"),
    "__internal__.tracking.AutoTrackable": ("weir.trackable", "AutoTrackable"),
    "__internal__.tracking.TrackableSaver": ("weir.trackable", "Trackable"),
    "__internal__.tracking.no_automatic_dependency_tracking": ("weir.trackable", "no_automatic_dependency_tracking"),
    "__internal__.eager_context.eager_mode": ("weir.framework.graph", "eager_mode"),
    "__internal__.tf2.enabled": ("weir.framework.graph", "executing_eagerly_outside_functions"),
    "__internal__.smart_cond.smart_cond": ("weir.ops.control_flow", "smart_cond"),
    "nest": ("weir.nest", ""),
    "autograph.to_graph": ("weir.autograph", "to_graph"),
    "autograph.to_code": ("weir.autograph", "to_code"),
    "autograph.set_verbosity": ("weir.autograph", "set_verbosity"),
    "autograph.trace": ("weir.autograph", "trace"),
    "autograph.experimental.do_not_convert": ("weir.autograph", "do_not_convert"),
    "autograph.experimental.Feature": ("weir.autograph", "Feature"),
    "__internal__.autograph.tf_convert": ("weir.autograph", "tf_convert"),
    "__internal__.autograph.control_status_ctx": ("weir.autograph.context", "control_status"),
    "compat.v1.Session": ("weir.compat.v1.session", "Session"),
    "compat.v1.InteractiveSession": ("weir.compat.v1.session", "InteractiveSession"),
    "compat.v1.get_default_session": ("weir.compat.v1.session", "get_default_session"),
    "compat.v1.disable_eager_execution": ("weir.framework.graph", "disable_eager_execution"),
    "compat.v1.enable_eager_execution": ("weir.framework.graph", "enable_eager_execution"),
    "compat.v1.disable_v2_behavior": ("weir.compat.v1.settings", "disable_v2_behavior"),
    "compat.v1.enable_v2_behavior": ("weir.compat.v1.settings", "enable_v2_behavior"),
    "compat.v1.executing_eagerly_outside_functions": ("weir.compat.v1.settings", "executing_eagerly_outside_functions"),
    "compat.v1.reset_default_graph": ("weir.framework.graph", "reset_default_graph"),
    "compat.v1.get_default_graph": ("weir.framework.graph", "get_default_graph"),
    "compat.v1.GraphKeys": ("weir.framework.graph", "GraphKeys"),
    "compat.v1.placeholder": ("weir.compat.v1.graph_ops", "placeholder"),
    "compat.v1.placeholder_with_default": ("weir.compat.v1.graph_ops", "placeholder_with_default"),
    "compat.v1.get_collection": ("weir.compat.v1.graph_ops", "get_collection"),
    "compat.v1.get_collection_ref": ("weir.compat.v1.graph_ops", "get_collection_ref"),
    "compat.v1.add_to_collection": ("weir.compat.v1.graph_ops", "add_to_collection"),
    "compat.v1.global_variables": ("weir.compat.v1.graph_ops", "global_variables"),
    "compat.v1.local_variables": ("weir.compat.v1.graph_ops", "local_variables"),
    "compat.v1.trainable_variables": ("weir.compat.v1.graph_ops", "trainable_variables"),
    "compat.v1.global_variables_initializer": ("weir.compat.v1.graph_ops", "global_variables_initializer"),
    "compat.v1.local_variables_initializer": ("weir.compat.v1.graph_ops", "local_variables_initializer"),
    "compat.v1.variables_initializer": ("weir.compat.v1.graph_ops", "variables_initializer"),
    "compat.v1.initialize_all_variables": ("weir.compat.v1.graph_ops", "global_variables_initializer"),
    "compat.v1.set_random_seed": ("weir.framework.random_seed", "set_seed"),
    "compat.v1.Dimension": ("weir.framework.shapes", "Dimension"),
    "compat.v1.colocate_with": ("weir.compat.v1.graph_ops", "colocate_with"),
    "compat.v1.group": ("weir.compat.v1.graph_ops", "group"),
    "group": ("weir.compat.v1.graph_ops", "group"),
    "no_op": ("weir.compat.v1.graph_ops", "no_op"),
    "compat.v1.no_op": ("weir.compat.v1.graph_ops", "no_op"),
    "compat.v1.import_graph_def": ("weir.compat.v1.graph_ops", "import_graph_def"),
    "graph_util.import_graph_def": ("weir.compat.v1.graph_ops", "import_graph_def"),
    "compat.v1.assign": ("weir.compat.v1.graph_ops", "assign"),
    "compat.v1.assign_add": ("weir.compat.v1.graph_ops", "assign_add"),
    "compat.v1.assign_sub": ("weir.compat.v1.graph_ops", "assign_sub"),
    "compat.v1.Variable": ("weir.variables", "VariableV1"),
    "train.Checkpoint": ("weir.train.checkpoint", "Checkpoint"),
    "train.CheckpointManager": ("weir.train.checkpoint", "CheckpointManager"),
    "train.CheckpointOptions": ("weir.train.checkpoint", "CheckpointOptions"),
    "train.latest_checkpoint": ("weir.train.checkpoint", "latest_checkpoint"),
    "train.list_variables": ("weir.train.checkpoint", "list_variables"),
    "train.load_checkpoint": ("weir.train.checkpoint", "load_checkpoint"),
    "train.load_variable": ("weir.train.checkpoint", "load_variable"),
    "train.checkpoints_iterator": ("weir.train.checkpoint", "checkpoints_iterator"),
    "train.get_checkpoint_state": ("weir.train.checkpoint", "get_checkpoint_state"),
}

for _name in ("RegisterGradient", "no_gradient"):
    TABLE[_name] = ("weir.framework.gradient_registry", _name)
for _name in ("NoGradient", "NotDifferentiable"):
    TABLE["compat.v1." + _name] = ("weir.framework.gradient_registry", "no_gradient")
TABLE["linalg.LinearOperator"] = ("weir.ops.linear_operator", "LinearOperator")
for _module, _names in (("basic", "FullMatrix Diag LowerTriangular Identity ScaledIdentity Zeros"),
                        ("composed", "Adjoint Inversion Composition LowRankUpdate"),
                        ("blocks", "BlockDiag Kronecker BlockLowerTriangular"),
                        ("structured", "Circulant Circulant2D Circulant3D Householder Permutation Toeplitz Tridiag")):
    for _name in _names.split():
        TABLE["linalg.LinearOperator" + _name] = ("weir.ops.linear_operators_" + _module, "LinearOperator" + _name)
for _name in ("adjust_jpeg_quality", "random_jpeg_quality", "stateless_random_jpeg_quality", "extract_glimpse",
              "non_max_suppression_padded", "generate_bounding_box_proposals"):
    TABLE["image." + _name] = ("weir.ops.image_quality", _name)
for _name in ("async_scope", "async_clear_error", "function_executor_type"):
    TABLE["experimental." + _name] = ("weir.eager.executor", _name)
for _name in ("compile", "jit_scope"):
    TABLE["xla.experimental." + _name] = ("weir.ops.xla", _name)
TABLE["train.experimental.PythonState"] = ("weir.train.python_state", "PythonState")
TABLE["train.CheckpointView"] = ("weir.train.python_state", "CheckpointView")
TABLE["experimental.extension_type.as_dict"] = ("weir.framework.extension_type", "as_dict")
TABLE["CriticalSection"] = ("weir.ops.critical_section", "CriticalSection")
for _name in ("get_device_details", "get_memory_info", "get_memory_usage", "reset_memory_stats", "get_device_policy",
              "set_device_policy", "get_synchronous_execution", "set_synchronous_execution", "get_visible_devices",
              "set_visible_devices"):
    TABLE["config.experimental." + _name] = ("weir.framework.config", _name)
TABLE["config.experimental.get_virtual_device_configuration"] = ("weir.framework.config", "get_logical_device_configuration")
TABLE["config.experimental_run_functions_eagerly"] = ("weir.framework.config", "run_functions_eagerly")
TABLE["config.experimental_functions_run_eagerly"] = ("weir.framework.config", "functions_run_eagerly")
TABLE["config.optimizer"] = ("weir.framework.config", "optimizer_config")
for _name in ("eigh_tridiagonal",):
    TABLE["linalg." + _name] = ("weir.ops.linalg_iterative", _name)
TABLE["linalg.experimental.conjugate_gradient"] = ("weir.ops.linalg_iterative", "conjugate_gradient")
for _name in ("fftnd", "ifftnd", "rfftnd", "irfftnd"):
    TABLE["signal." + _name] = ("weir.ops.linalg_iterative", _name)
for _name in ("integral_types", "real_types", "complex_types", "bytes_or_text_types", "dimension_value",
              "dimension_at_index", "forward_compatible", "forward_compatibility_horizon"):
    TABLE["compat." + _name] = ("weir.compat.values", _name)
for _name in ("Reducer", "group_by_reducer", "at", "from_list", "enable_debug_mode", "pad_to_cardinality",
              "table_from_dataset", "index_table_from_dataset", "make_batched_features_dataset", "parse_example_dataset",
              "SHARD_HINT"):
    TABLE["data.experimental." + _name] = ("weir.data.reducing", _name)
TABLE["data.experimental.Optional"] = ("weir.data.optional", "Optional")
TABLE["data.experimental.DatasetInitializer"] = ("weir.ops.lookup", "DatasetInitializer")
TABLE["OptionalSpec"] = ("weir.data.optional", "OptionalSpec")
TABLE["NoneTensorSpec"] = ("weir.data.structure", "NoneTensorSpec")
TABLE["import_graph_def"] = ("weir.compat.v1.graph_ops", "import_graph_def")
for _name in ("float4_e2m1fn", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
              "int2", "int4", "uint2", "uint4"):
    TABLE["dtypes.experimental." + _name] = TABLE["experimental." + _name] = ("weir.framework.dtypes", _name)
TABLE["dtypes.QUANTIZED_DTYPES"] = ("weir.framework.dtypes", "QUANTIZED_DTYPES")
for _name in ("get_step", "set_step", "summary_scope", "write_raw_pb"):
    TABLE["summary.experimental." + _name] = ("weir.summary", _name)
for _name in ("numeric_column", "bucketized_column", "categorical_column_with_identity", "categorical_column_with_hash_bucket",
              "categorical_column_with_vocabulary_list", "categorical_column_with_vocabulary_file", "indicator_column",
              "embedding_column", "crossed_column", "weighted_categorical_column", "make_parse_example_spec"):
    TABLE["feature_column." + _name] = ("weir.ops.feature_column", _name)
for _name in ("sequence_numeric_column", "sequence_categorical_column_with_identity",
              "sequence_categorical_column_with_hash_bucket", "sequence_categorical_column_with_vocabulary_list",
              "sequence_categorical_column_with_vocabulary_file", "shared_embeddings"):
    TABLE["feature_column." + _name] = ("weir.ops.feature_column_sequences", _name)
TABLE["compat.v1.feature_column.shared_embedding_columns"] = ("weir.ops.feature_column_sequences",
                                                              "shared_embedding_columns")
for _name in ("input_layer", "linear_model"):
    TABLE["compat.v1.feature_column." + _name] = ("weir.ops.feature_column", _name)
TABLE["experimental.RowPartition"] = ("weir.ops.row_partition", "RowPartition")
TABLE["experimental.DynamicRaggedShape"] = ("weir.ops.dynamic_ragged_shape", "DynamicRaggedShape")
for _name in ("as_bytes", "as_str", "as_str_any", "as_text", "path_to_bytes", "path_to_str"):
    TABLE["compat." + _name] = ("weir.compat.strings", _name)
for _name in ("Strategy", "ReplicaContext", "ReduceOp", "get_strategy", "has_strategy", "get_replica_context",
              "in_cross_replica_context", "DistributedValues", "DistributedDataset", "DistributedIterator",
              "InputContext", "MirroredStrategy", "CentralStorageStrategy", "DistributedDatasetsFromFunction",
              "ParameterServerStrategy", "MultiWorkerMirroredStrategy", "TPUStrategy", "OneDeviceStrategy",
              "CrossDeviceOps", "HierarchicalCopyAllReduce", "InputOptions", "InputReplicationMode", "NcclAllReduce",
              "ReductionToOneDevice", "RunOptions", "StrategyExtended", "experimental_set_strategy"):
    TABLE["distribute." + _name] = ("weir.distribute", _name)
for _name in ("MultiWorkerMirroredStrategy", "ParameterServerStrategy", "CentralStorageStrategy", "CollectiveHints",
              "CommunicationImplementation", "CommunicationOptions", "ValueContext"):
    TABLE["distribute.experimental." + _name] = ("weir.distribute", _name)
for _name in ("PreemptionCheckpointHandler", "TerminationConfig"):
    TABLE["distribute.experimental." + _name] = ("weir.distribute.preemption", _name)
TABLE["distribute.experimental.CollectiveCommunication"] = ("weir.distribute", "CommunicationImplementation")
for _name in ("ClusterCoordinator", "RemoteValue", "experimental_get_current_worker_index"):
    TABLE["distribute.coordinator." + _name] = ("weir.distribute.coordinator", _name)
TABLE["distribute.coordinator.PerWorkerValue"] = ("weir.distribute.coordinator", "PerWorkerValues")
for _name in ("ClusterCoordinator", "RemoteValue", "PerWorkerValues"):
    TABLE["distribute.experimental.coordinator." + _name] = ("weir.distribute.coordinator", _name)
for _name in ("FixedShardsPartitioner", "MaxSizePartitioner", "MinSizePartitioner", "Partitioner"):
    TABLE["distribute.experimental.partitioners." + _name] = ("weir.distribute.partitioners", _name)
for _name in ("ClusterResolver", "KubernetesClusterResolver", "SimpleClusterResolver", "SlurmClusterResolver",
              "TFConfigClusterResolver", "UnionResolver"):
    TABLE["distribute.cluster_resolver." + _name] = ("weir.distribute.cluster_resolver", _name)
TABLE["__internal__.distribute.interim.maybe_merge_call"] = ("weir.distribute", "maybe_merge_call")
TABLE["__internal__.distribute.strategy_supports_no_merge_call"] = ("weir.distribute",
                                                                    "strategy_supports_no_merge_call")
for _name in ("float16", "float32", "float64", "bfloat16", "half", "double", "int8", "int16", "int32", "int64", "int4",
              "uint4", "uint8", "uint16", "uint32", "uint64", "bool", "string", "complex64", "complex128", "resource",
              "variant", "qint8", "quint8", "qint16", "quint16", "qint32"):
    TABLE[_name] = TABLE["dtypes." + _name] = ("weir.framework.dtypes", _name)
TABLE["dtypes.DType"] = TABLE["DType"]
TABLE["dtypes.as_dtype"] = TABLE["as_dtype"]

TABLE.update(_names_graphs.TABLE)
for _key, _entry in _api.TABLE.items():
    TABLE.setdefault(_key, _entry)
_names_v1.add(TABLE)
# What TensorFlow 1 programs find under tf.compat.v1 too.
for _key in list(TABLE):
    if not _key.startswith(("compat.", "__internal__")):
        TABLE.setdefault("compat.v1." + _key, TABLE[_key])
        TABLE.setdefault("compat.v2." + _key, TABLE[_key])
    elif _key.startswith("__internal__"):
        TABLE.setdefault("compat.v2." + _key, TABLE[_key])
TABLE["compat.v2.enable_v2_behavior"] = TABLE["compat.v1.enable_v2_behavior"]
# Keras's, where it is installed.
for _name in ("initializers", "losses", "metrics", "optimizers"):
    TABLE[_name] = ("keras._tf_keras.keras." + _name, "")
