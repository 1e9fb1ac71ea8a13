"""Internal modules of TensorFlow: {module: {namespace: "name name=public_name"}}, relative to tensorflow.python.

Written by tools/make_internal_names; read by weir/_internal.py. The namespace "raw" is that of ops in snake case.
"""

TABLE = {
    "autograph.core.ag_ctx": {
        "__internal__.autograph": "control_status_ctx",
    },
    "autograph.core.converter": {
        "autograph.experimental": "Feature",
    },
    "autograph.impl.api": {
        "__internal__.autograph": "tf_convert",
        "autograph": "to_code to_graph",
        "autograph.experimental": "do_not_convert",
        "compat.v1.autograph": "to_code_v1=to_code to_graph_v1=to_graph",
    },
    "autograph.lang.directives": {
        "autograph.experimental": "set_loop_options",
    },
    "autograph.utils.ag_logging": {
        "autograph": "set_verbosity trace",
    },
    "checkpoint.checkpoint": {
        "__internal__.tracking": "register_session_provider streaming_restore",
        "compat.v1.train": "CheckpointV1=Checkpoint",
        "train": "Checkpoint",
    },
    "checkpoint.checkpoint_management": {
        "__internal__.train": "update_checkpoint_state_internal=update_checkpoint_state",
        "compat.v1.train": "checkpoint_exists generate_checkpoint_state_proto get_checkpoint_mtimes "
            "remove_checkpoint update_checkpoint_state",
        "train": "CheckpointManager get_checkpoint_state latest_checkpoint",
    },
    "checkpoint.checkpoint_options": {
        "train": "CheckpointOptions",
    },
    "checkpoint.checkpoint_view": {
        "train": "CheckpointView",
    },
    "checkpoint.graph_view": {
        "__internal__.tracking": "ObjectGraphView",
    },
    "checkpoint.sharding.sharding_policies": {
        "train.experimental": "MaxShardSizePolicy ShardByTaskPolicy",
    },
    "checkpoint.sharding.sharding_util": {
        "train.experimental": "ShardableTensor ShardingCallback",
    },
    "checkpoint.trackable_view": {
        "train": "TrackableView",
    },
    "client.client_lib": {
        "compat.v1": "InteractiveSession Session get_default_session",
        "errors": "OpError",
    },
    "client.session": {
        "compat.v1": "InteractiveSession Session",
    },
    "data": {
        "compat.v1.data": "Iterator make_initializable_iterator make_one_shot_iterator",
        "data": "Dataset FixedLengthRecordDataset Options TFRecordDataset TextLineDataset",
    },
    "data.experimental": {
        "": "OptionalStructure=OptionalSpec Structure=TypeSpec",
        "compat.v1.data.experimental": "RaggedTensorStructure SparseTensorStructure TensorArrayStructure "
            "TensorStructure map_and_batch_with_legacy_function",
        "data": "DatasetStructure=DatasetSpec ThreadingOptions",
        "data.experimental": "AutoShardPolicy AutotuneAlgorithm AutotuneOptions Counter CsvDataset "
            "DatasetInitializer DistributeOptions ExternalStatePolicy OptimizationOptions Optional RandomDataset "
            "Reducer SqlDataset TFRecordWriter assert_cardinality at bucket_by_sequence_length cardinality "
            "choose_from_datasets copy_to_device dense_to_ragged_batch dense_to_sparse_batch distributed_save "
            "enable_debug_mode enumerate_dataset from_list from_variant get_model_proto get_next_as_optional "
            "get_single_element get_structure group_by_reducer group_by_window ignore_errors "
            "index_table_from_dataset load make_batched_features_dataset make_csv_dataset "
            "make_saveable_from_iterator map_and_batch pad_to_cardinality parallel_interleave parse_example_dataset "
            "prefetch_to_device rejection_resample sample_from_datasets save scan shuffle_and_repeat snapshot "
            "table_from_dataset take_while to_variant unbatch unique",
    },
    "data.experimental.ops.batching": {
        "compat.v1.data.experimental": "map_and_batch_with_legacy_function",
        "data.experimental": "dense_to_ragged_batch dense_to_sparse_batch map_and_batch unbatch",
    },
    "data.experimental.ops.cardinality": {
        "data.experimental": "assert_cardinality cardinality",
    },
    "data.experimental.ops.counter": {
        "compat.v1.data.experimental": "CounterV1=Counter",
        "data.experimental": "Counter CounterV2=Counter",
    },
    "data.experimental.ops.data_service_ops": {
        "data.experimental": "AutoShardPolicy ExternalStatePolicy",
        "data.experimental.service": "CrossTrainerCache ShardingPolicy distribute from_dataset_id register_dataset",
    },
    "data.experimental.ops.distribute": {
        "data.experimental": "ExternalStatePolicy",
    },
    "data.experimental.ops.distributed_save_op": {
        "data.experimental": "distributed_save",
    },
    "data.experimental.ops.enumerate_ops": {
        "data.experimental": "enumerate_dataset",
    },
    "data.experimental.ops.error_ops": {
        "data.experimental": "ignore_errors",
    },
    "data.experimental.ops.from_list": {
        "data.experimental": "from_list",
    },
    "data.experimental.ops.get_single_element": {
        "data.experimental": "get_single_element",
    },
    "data.experimental.ops.grouping": {
        "data.experimental": "Reducer bucket_by_sequence_length group_by_reducer group_by_window",
    },
    "data.experimental.ops.interleave_ops": {
        "compat.v1.data.experimental": "choose_from_datasets_v1=choose_from_datasets "
            "sample_from_datasets_v1=sample_from_datasets",
        "data.experimental": "choose_from_datasets choose_from_datasets_v2=choose_from_datasets parallel_interleave "
            "sample_from_datasets sample_from_datasets_v2=sample_from_datasets",
    },
    "data.experimental.ops.io": {
        "data.experimental": "load save",
    },
    "data.experimental.ops.iterator_model_ops": {
        "data.experimental": "get_model_proto",
    },
    "data.experimental.ops.iterator_ops": {
        "data.experimental": "make_saveable_from_iterator",
    },
    "data.experimental.ops.lookup_ops": {
        "data.experimental": "DatasetInitializer assert_cardinality index_table_from_dataset table_from_dataset",
    },
    "data.experimental.ops.pad_to_cardinality": {
        "data.experimental": "pad_to_cardinality",
    },
    "data.experimental.ops.parsing_ops": {
        "data.experimental": "parse_example_dataset",
    },
    "data.experimental.ops.prefetching_ops": {
        "data.experimental": "copy_to_device prefetch_to_device",
    },
    "data.experimental.ops.random_access": {
        "data.experimental": "at",
    },
    "data.experimental.ops.random_ops": {
        "compat.v1.data.experimental": "RandomDatasetV1=RandomDataset",
        "data.experimental": "RandomDataset RandomDatasetV2=RandomDataset",
    },
    "data.experimental.ops.readers": {
        "compat.v1.data.experimental": "CsvDatasetV1=CsvDataset SqlDatasetV1=SqlDataset "
            "make_batched_features_dataset_v1=make_batched_features_dataset make_csv_dataset_v1=make_csv_dataset",
        "data.experimental": "CsvDataset CsvDatasetV2=CsvDataset SqlDataset SqlDatasetV2=SqlDataset "
            "make_batched_features_dataset make_batched_features_dataset_v2=make_batched_features_dataset "
            "make_csv_dataset make_csv_dataset_v2=make_csv_dataset",
    },
    "data.experimental.ops.resampling": {
        "data.experimental": "rejection_resample",
    },
    "data.experimental.ops.scan_ops": {
        "data.experimental": "scan",
    },
    "data.experimental.ops.shuffle_ops": {
        "data.experimental": "shuffle_and_repeat",
    },
    "data.experimental.ops.snapshot": {
        "data.experimental": "snapshot",
    },
    "data.experimental.ops.take_while_ops": {
        "data.experimental": "take_while",
    },
    "data.experimental.ops.unique": {
        "data.experimental": "unique",
    },
    "data.experimental.ops.writers": {
        "data.experimental": "TFRecordWriter",
    },
    "data.experimental.service": {
        "data.experimental.service": "DispatchServer DispatcherConfig ShardingPolicy WorkerConfig WorkerServer "
            "distribute from_dataset_id register_dataset",
    },
    "data.experimental.service.server_lib": {
        "data.experimental.service": "DispatchServer DispatcherConfig WorkerConfig WorkerServer",
    },
    "data.ops.dataset_ops": {
        "compat.v1.data": "DatasetV1=Dataset get_legacy_output_classes=get_output_classes "
            "get_legacy_output_shapes=get_output_shapes get_legacy_output_types=get_output_types "
            "make_initializable_iterator make_one_shot_iterator",
        "data": "Dataset DatasetSpec DatasetV2=Dataset NumpyIterator",
        "data.experimental": "from_variant get_structure to_variant",
    },
    "data.ops.debug_mode": {
        "data.experimental": "enable_debug_mode",
    },
    "data.ops.iterator_ops": {
        "compat.v1.data": "Iterator",
        "data": "IteratorBase=Iterator IteratorSpec",
        "data.experimental": "get_next_as_optional",
    },
    "data.ops.optional_ops": {
        "": "OptionalSpec",
        "data.experimental": "Optional",
    },
    "data.ops.options": {
        "data": "Options ThreadingOptions",
        "data.experimental": "AutoShardPolicy AutotuneAlgorithm AutotuneOptions DistributeOptions "
            "ExternalStatePolicy OptimizationOptions ServiceOptions",
    },
    "data.ops.readers": {
        "compat.v1.data": "FixedLengthRecordDatasetV1=FixedLengthRecordDataset TFRecordDatasetV1=TFRecordDataset "
            "TextLineDatasetV1=TextLineDataset",
        "data": "FixedLengthRecordDataset FixedLengthRecordDatasetV2=FixedLengthRecordDataset TFRecordDataset "
            "TFRecordDatasetV2=TFRecordDataset TextLineDataset TextLineDatasetV2=TextLineDataset",
    },
    "data.util.structure": {
        "": "NoneTensorSpec",
    },
    "distribute.central_storage_strategy": {
        "compat.v1.distribute.experimental": "CentralStorageStrategyV1=CentralStorageStrategy",
        "distribute.experimental": "CentralStorageStrategy",
    },
    "distribute.cluster_resolver": {
        "distribute.cluster_resolver": "ClusterResolver ExecutableLocation=KubernetesExecutableLocation "
            "GCEClusterResolver KubernetesClusterResolver SimpleClusterResolver SlurmClusterResolver "
            "TFConfigClusterResolver TPUClusterResolver UnionClusterResolver=UnionResolver",
    },
    "distribute.cluster_resolver.cluster_resolver": {
        "distribute.cluster_resolver": "ClusterResolver SimpleClusterResolver UnionClusterResolver=UnionResolver",
        "train": "ClusterSpec",
    },
    "distribute.cluster_resolver.gce_cluster_resolver": {
        "distribute.cluster_resolver": "ClusterResolver GCEClusterResolver",
        "train": "ClusterSpec",
    },
    "distribute.cluster_resolver.kubernetes_cluster_resolver": {
        "distribute.cluster_resolver": "ClusterResolver ExecutableLocation=KubernetesExecutableLocation "
            "KubernetesClusterResolver",
    },
    "distribute.cluster_resolver.sagemaker_cluster_resolver": {
        "distribute.cluster_resolver": "ClusterResolver",
        "train": "ClusterSpec",
    },
    "distribute.cluster_resolver.slurm_cluster_resolver": {
        "distribute.cluster_resolver": "ClusterResolver SlurmClusterResolver",
        "train": "ClusterSpec",
    },
    "distribute.cluster_resolver.tfconfig_cluster_resolver": {
        "distribute.cluster_resolver": "ClusterResolver TFConfigClusterResolver",
        "train": "ClusterSpec",
    },
    "distribute.collective_all_reduce_strategy": {
        "compat.v1.distribute.experimental": "CollectiveAllReduceStrategyV1=MultiWorkerMirroredStrategy",
        "distribute": "CollectiveAllReduceStrategy=MultiWorkerMirroredStrategy",
    },
    "distribute.collective_util": {
        "distribute.experimental": "CollectiveCommunication CommunicationImplementation=CollectiveCommunication "
            "Hints=CollectiveHints",
    },
    "distribute.combinations": {
        "__internal__.distribute.combinations": "env generate in_main_process",
        "__internal__.test.combinations": "NamedObject combine times",
    },
    "distribute.coordinator.cluster_coordinator": {
        "distribute.coordinator": "ClusterCoordinator PerWorkerValues=PerWorkerValue RemoteValue",
    },
    "distribute.coordinator.coordinator_context": {
        "distribute.coordinator": "get_current_worker_index=experimental_get_current_worker_index",
    },
    "distribute.coordinator.fault_tolerance_test_base": {
        "distribute.cluster_resolver": "SimpleClusterResolver",
    },
    "distribute.coordinator.remote_value": {
        "distribute.coordinator": "RemoteValue",
    },
    "distribute.coordinator.values": {
        "data.experimental": "ExternalStatePolicy",
        "distribute.coordinator": "PerWorkerValues=PerWorkerValue",
    },
    "distribute.cross_device_ops": {
        "distribute": "CrossDeviceOps HierarchicalCopyAllReduce NcclAllReduce ReductionToOneDevice",
        "distribute.experimental": "CollectiveCommunication CommunicationImplementation=CollectiveCommunication",
    },
    "distribute.distribute_lib": {
        "__internal__.distribute": "variable_sync_on_read_context",
        "compat.v1.distribute": "ReplicaContextV1=ReplicaContext StrategyExtendedV1=StrategyExtended "
            "StrategyV1=Strategy",
        "distribute": "InputContext InputOptions InputReplicationMode ReplicaContext RunOptions Strategy "
            "StrategyExtendedV2=StrategyExtended experimental_set_strategy get_distribution_strategy=get_strategy "
            "get_replica_context get_strategy has_distribution_strategy=has_strategy has_strategy "
            "in_cross_replica_context",
        "distribute.experimental": "ValueContext",
    },
    "distribute.distribute_utils": {
        "compat.v1.distribute": "get_loss_reduction",
        "distribute": "ReduceOp",
    },
    "distribute.experimental.rpc.rpc_ops": {
        "distribute.experimental.rpc": "Client Server",
    },
    "distribute.failure_handling.failure_handling": {
        "distribute.experimental": "PreemptionCheckpointHandler TerminationConfig "
            "WorkerPreemptionHandler=PreemptionCheckpointHandler",
    },
    "distribute.failure_handling.preemption_watcher": {
        "distribute.experimental": "PreemptionWatcher",
        "errors": "AbortedError CancelledError InternalError UnavailableError",
    },
    "distribute.input_lib": {
        "distribute": "InputReplicationMode",
    },
    "distribute.input_ops": {
        "data.experimental": "AutoShardPolicy",
    },
    "distribute.load_context": {
        "__internal__": "load_context",
    },
    "distribute.merge_call_interim": {
        "__internal__.distribute": "strategy_supports_no_merge_call",
        "__internal__.distribute.interim": "maybe_merge_call",
    },
    "distribute.mirrored_strategy": {
        "compat.v1.distribute": "MirroredStrategyV1=MirroredStrategy",
        "distribute": "MirroredStrategy",
    },
    "distribute.multi_process_runner": {
        "__internal__.distribute.multi_process_runner": "NotInitializedError SubprocessTimeoutError "
            "UnexpectedSubprocessExitError get_barrier run test_main",
    },
    "distribute.multi_worker_test_base": {
        "__internal__.distribute.multi_process_runner": "create_cluster_spec",
    },
    "distribute.one_device_strategy": {
        "compat.v1.distribute": "OneDeviceStrategyV1=OneDeviceStrategy",
        "distribute": "OneDeviceStrategy",
    },
    "distribute.parameter_server_strategy": {
        "compat.v1.distribute.experimental": "ParameterServerStrategyV1=ParameterServerStrategy",
    },
    "distribute.parameter_server_strategy_v2": {
        "distribute": "ParameterServerStrategyV2=ParameterServerStrategy",
    },
    "distribute.reduce_util": {
        "distribute": "ReduceOp",
    },
    "distribute.sharded_variable": {
        "__internal__.distribute": "ShardedVariable",
        "distribute.experimental.partitioners": "FixedShardsPartitioner MaxSizePartitioner MinSizePartitioner "
            "Partitioner",
    },
    "distribute.strategy_combinations": {
        "distribute": "CollectiveAllReduceStrategy=MultiWorkerMirroredStrategy",
    },
    "eager.backprop": {
        "": "GradientTape UnconnectedGradients",
        "__internal__": "record_gradient",
    },
    "eager.context": {
        "": "executing_eagerly",
        "__internal__": "is_tfrt_enabled",
        "__internal__.eager_context": "eager_mode get_config get_device_name get_executor set_soft_device_placement",
        "compat.v1": "executing_eagerly_v1=executing_eagerly",
        "compat.v1.experimental": "async_clear_error async_scope function_executor_type",
        "config": "LogicalDevice LogicalDeviceConfiguration PhysicalDevice",
        "debugging": "get_log_device_placement set_log_device_placement",
    },
    "eager.def_function": {
        "": "function",
        "__internal__.function": "Function",
        "config": "functions_run_eagerly run_functions_eagerly",
    },
    "eager.execute": {
        "__internal__": "record_gradient",
    },
    "eager.forwardprop": {
        "": "UnconnectedGradients",
        "autodiff": "ForwardAccumulator",
    },
    "eager.imperative_grad": {
        "": "UnconnectedGradients",
    },
    "eager.lift_to_graph": {
        "__internal__": "lift_to_graph",
    },
    "eager.monitoring": {
        "__internal__.monitoring": "BoolGauge",
    },
    "eager.polymorphic_function.eager_function_run": {
        "config": "experimental_functions_run_eagerly experimental_run_functions_eagerly functions_run_eagerly "
            "run_functions_eagerly",
    },
    "eager.polymorphic_function.polymorphic_function": {
        "": "function",
        "__internal__.function": "Function",
    },
    "eager.remote": {
        "config": "connect_to_cluster=experimental_connect_to_cluster "
            "connect_to_remote_host=experimental_connect_to_host",
        "train": "ServerDef",
    },
    "eager.test": {
        "compat.v1.test": "StubOutForTesting compute_gradient compute_gradient_error get_temp_dir test_src_dir_path",
        "test": "Benchmark TestCase create_local_cluster disable_with_predicate gpu_device_name is_built_with_cuda "
            "is_built_with_gpu_support is_built_with_rocm is_built_with_xla is_cpu_target_available "
            "is_gpu_available",
    },
    "eager.wrap_function": {
        "compat.v1": "wrap_function",
    },
    "feature_column.feature_column": {
        "compat.v1.feature_column": "input_layer linear_model make_parse_example_spec",
    },
    "feature_column.feature_column_lib": {
        "__internal__.feature_column": "DenseColumn FeatureTransformationCache SequenceDenseColumn "
            "deserialize_feature_column serialize_feature_column",
        "compat.v1.feature_column": "categorical_column_with_vocabulary_file input_layer linear_model "
            "make_parse_example_spec shared_embedding_columns",
        "feature_column": "bucketized_column categorical_column_with_hash_bucket categorical_column_with_identity "
            "categorical_column_with_vocabulary_file_v2=categorical_column_with_vocabulary_file "
            "categorical_column_with_vocabulary_list crossed_column embedding_column indicator_column "
            "make_parse_example_spec_v2=make_parse_example_spec numeric_column "
            "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
            "sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list "
            "sequence_numeric_column shared_embedding_columns_v2=shared_embeddings weighted_categorical_column",
    },
    "feature_column.feature_column_v2": {
        "__internal__.feature_column": "DenseColumn FeatureTransformationCache SequenceDenseColumn",
        "compat.v1.feature_column": "categorical_column_with_vocabulary_file shared_embedding_columns",
        "feature_column": "bucketized_column categorical_column_with_hash_bucket categorical_column_with_identity "
            "categorical_column_with_vocabulary_file_v2=categorical_column_with_vocabulary_file "
            "categorical_column_with_vocabulary_list crossed_column embedding_column indicator_column "
            "make_parse_example_spec_v2=make_parse_example_spec numeric_column "
            "shared_embedding_columns_v2=shared_embeddings weighted_categorical_column",
    },
    "feature_column.feature_column_v2_types": {
        "__internal__.feature_column": "FeatureColumn",
    },
    "feature_column.sequence_feature_column": {
        "feature_column": "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
            "sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list "
            "sequence_numeric_column",
    },
    "feature_column.serialization": {
        "__internal__.feature_column": "deserialize_feature_column serialize_feature_column",
    },
    "framework.combinations": {
        "__internal__.test.combinations": "NamedObject combine generate times",
    },
    "framework.composite_tensor": {
        "__internal__": "CompositeTensor",
    },
    "framework.config": {
        "config": "get_logical_device_configuration get_soft_device_placement get_visible_devices "
            "list_logical_devices list_physical_devices set_logical_device_configuration set_soft_device_placement "
            "set_visible_devices",
        "config.experimental": "disable_mlir_bridge enable_mlir_bridge enable_op_determinism "
            "enable_tensor_float_32_execution get_device_details get_device_policy get_memory_growth "
            "get_memory_info get_memory_usage get_synchronous_execution reset_memory_stats set_device_policy "
            "set_memory_growth set_synchronous_execution tensor_float_32_execution_enabled",
        "config.optimizer": "get_optimizer_experimental_options=get_experimental_options get_optimizer_jit=get_jit "
            "set_optimizer_experimental_options=set_experimental_options set_optimizer_jit=set_jit",
        "config.threading": "get_inter_op_parallelism_threads get_intra_op_parallelism_threads "
            "set_inter_op_parallelism_threads set_intra_op_parallelism_threads",
    },
    "framework.constant_op": {
        "": "constant",
        "compat.v1": "constant_v1=constant",
    },
    "framework.convert_to_constants": {
        "compat.v1.graph_util": "convert_variables_to_constants",
        "compat.v1.train": "export_meta_graph",
    },
    "framework.device": {
        "": "DeviceSpec",
    },
    "framework.device_spec": {
        "": "DeviceSpecV2=DeviceSpec",
        "compat.v1": "DeviceSpecV1=DeviceSpec",
    },
    "framework.dtypes": {
        "": "DType as_dtype bfloat16 bool complex128 complex64 double float16 float32 float64=double half=float16 "
            "int16 int32 int64 int8 qint16 qint32 qint8 quint16 quint8 resource string uint16 uint32 uint64 uint8 "
            "variant",
        "dtypes.experimental": "float4_e2m1fn float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
            "float8_e5m2fnuz int2 int4 uint2 uint4",
    },
    "framework.errors": {
        "compat.v1.errors": "error_code_from_exception_type exception_type_from_error_code "
            "raise_exception_on_not_ok_status",
        "errors": "AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError "
            "FailedPreconditionError InternalError InvalidArgumentError NotFoundError OpError "
            "OperatorNotAllowedInGraphError OutOfRangeError PermissionDeniedError ResourceExhaustedError "
            "UnauthenticatedError UnavailableError UnimplementedError UnknownError",
    },
    "framework.errors_impl": {
        "compat.v1.errors": "error_code_from_exception_type exception_type_from_error_code "
            "raise_exception_on_not_ok_status",
        "errors": "AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError "
            "FailedPreconditionError InternalError InvalidArgumentError NotFoundError OpError "
            "OperatorNotAllowedInGraphError OutOfRangeError PermissionDeniedError ResourceExhaustedError "
            "UnauthenticatedError UnavailableError UnimplementedError UnknownError",
    },
    "framework.extension_type": {
        "compat.v1.experimental": "BatchableExtensionType ExtensionType ExtensionTypeBatchEncoder ExtensionTypeSpec",
        "compat.v1.experimental.extension_type": "as_dict",
    },
    "framework.framework_lib": {
        "": "DType DeviceSpec Graph IndexedSlices NoGradient=no_gradient NotDifferentiable=no_gradient Operation "
            "RegisterGradient SparseTensor Tensor TensorShape as_dtype bfloat16 bool complex128 complex64 "
            "control_dependencies double float16 float32 float64=double half=float16 import_graph_def int16 int32 "
            "int64 int8 load_library load_op_library make_ndarray make_tensor_proto qint16 qint32 qint8 quint16 "
            "quint8 register_tensor_conversion_function resource string uint16 uint32 uint64 uint8 variant",
        "compat.v1": "Dimension GraphKeys SparseTensorValue add_to_collection add_to_collections container "
            "convert_to_tensor_or_indexed_slices convert_to_tensor_or_sparse_tensor device get_collection "
            "get_collection_ref get_default_graph get_seed load_file_system_library op_scope reset_default_graph "
            "set_random_seed",
        "compat.v1.experimental": "register_filesystem_plugin",
        "dtypes.experimental": "float4_e2m1fn float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
            "float8_e5m2fnuz int2 int4 uint2 uint4",
    },
    "framework.func_graph": {
        "__internal__": "FuncGraph",
    },
    "framework.function_def_to_graph": {
        "__internal__": "FuncGraph",
    },
    "framework.graph_io": {
        "io": "write_graph",
    },
    "framework.graph_util": {
        "__internal__.graph_util": "graph_defs_equal",
        "compat.v1.graph_util": "extract_sub_graph must_run_on_cpu remove_training_nodes "
            "tensor_shape_from_node_def_name",
    },
    "framework.graph_util_impl": {
        "__internal__.graph_util": "graph_defs_equal",
        "compat.v1": "GraphDef",
        "compat.v1.graph_util": "extract_sub_graph must_run_on_cpu remove_training_nodes "
            "tensor_shape_from_node_def_name",
    },
    "framework.importer": {
        "": "import_graph_def",
    },
    "framework.indexed_slices": {
        "": "IndexedSlices IndexedSlicesSpec",
        "compat.v1": "convert_to_tensor_or_indexed_slices",
    },
    "framework.load_library": {
        "": "load_library load_op_library",
        "compat.v1": "load_file_system_library",
        "compat.v1.experimental": "register_filesystem_plugin",
    },
    "framework.none_tensor": {
        "": "NoneTensorSpec",
    },
    "framework.ops": {
        "": "Graph NoGradient=no_gradient NotDifferentiable=no_gradient Operation RegisterGradient "
            "control_dependencies device_v2=device get_current_name_scope init_scope inside_function "
            "is_symbolic_tensor name_scope_v2=name_scope no_gradient",
        "__internal__": "EagerTensor SymbolicTensor get_name_scope",
        "__internal__.ops": "get_resource_handle_data",
        "compat.v1": "GraphKeys add_to_collection add_to_collections container device disable_eager_execution "
            "enable_eager_execution executing_eagerly_outside_functions get_collection get_collection_ref "
            "get_default_graph get_default_session name_scope_v1=name_scope op_scope reset_default_graph",
    },
    "framework.random_seed": {
        "compat.v1": "get_seed set_random_seed",
        "random": "set_seed",
    },
    "framework.smart_cond": {
        "__internal__.smart_cond": "smart_cond",
    },
    "framework.sparse_tensor": {
        "": "SparseTensor SparseTensorSpec",
        "compat.v1": "SparseTensorValue convert_to_tensor_or_sparse_tensor",
    },
    "framework.stack": {
        "compat.v1": "get_default_session",
    },
    "framework.strict_mode": {
        "compat.v1.experimental": "enable_strict_mode",
    },
    "framework.tensor": {
        "": "Tensor TensorSpec",
        "compat.v1": "disable_tensor_equality enable_tensor_equality",
    },
    "framework.tensor_conversion": {
        "": "convert_to_tensor_v2_with_dispatch=convert_to_tensor",
        "compat.v1": "convert_to_tensor_v1_with_dispatch=convert_to_tensor",
    },
    "framework.tensor_conversion_registry": {
        "": "register_tensor_conversion_function",
    },
    "framework.tensor_shape": {
        "": "TensorShape",
        "compat": "dimension_at_index dimension_value",
        "compat.v1": "Dimension disable_v2_tensorshape enable_v2_tensorshape",
    },
    "framework.tensor_spec": {
        "": "TensorSpec",
    },
    "framework.tensor_util": {
        "": "MakeNdarray=make_ndarray constant_value=get_static_value is_tensor is_tf_type=is_tensor "
            "make_tensor_proto",
    },
    "framework.test_combinations": {
        "__internal__.test.combinations": "NamedObject OptionalParameter ParameterModifier TestCombination combine "
            "times",
    },
    "framework.test_util": {
        "compat": "forward_compatibility_horizon",
        "compat.v1.test": "assert_equal_graph_def_v1=assert_equal_graph_def",
        "test": "TensorFlowTestCase=TestCase assert_equal_graph_def_v2=assert_equal_graph_def create_local_cluster "
            "gpu_device_name is_gpu_available with_eager_op_as_function",
        "test.experimental": "sync_devices",
    },
    "framework.tfrt_utils": {
        "__internal__": "enabled=is_tfrt_enabled",
    },
    "framework.type_spec": {
        "": "TypeSpec type_spec_from_value",
    },
    "framework.type_utils": {
        "": "RaggedTensorSpec",
        "compat.v1.experimental": "StructuredTensor",
    },
    "lib.io.file_io": {
        "compat.v1.gfile": "copy=Copy create_dir=MkDir delete_file=Remove delete_recursively=DeleteRecursively "
            "file_exists=Exists get_matching_files=Glob is_directory=IsDirectory list_directory=ListDirectory "
            "recursive_create_dir=MakeDirs rename=Rename stat=Stat walk=Walk",
        "io.gfile": "copy_v2=copy create_dir_v2=mkdir delete_file_v2=remove delete_recursively_v2=rmtree "
            "file_exists_v2=exists get_matching_files_v2=glob get_registered_schemes is_directory_v2=isdir join "
            "list_directory_v2=listdir recursive_create_dir_v2=makedirs rename_v2=rename stat_v2=stat walk_v2=walk",
    },
    "lib.io.python_io": {
        "compat.v1.io": "TFRecordCompressionType tf_record_iterator",
        "io": "TFRecordOptions TFRecordWriter",
    },
    "lib.io.tf_record": {
        "compat.v1.io": "TFRecordCompressionType tf_record_iterator",
        "io": "TFRecordOptions TFRecordWriter",
    },
    "module.module": {
        "": "Module",
    },
    "ops.array_ops": {
        "": "batch_to_space_v2=batch_to_space bitcast boolean_mask_v2=boolean_mask broadcast_dynamic_shape "
            "broadcast_static_shape broadcast_to concat edit_distance expand_dims_v2=expand_dims "
            "extract_volume_patches fill fingerprint gather_nd_v2=gather_nd gather_v2=gather guarantee_const "
            "identity identity_n meshgrid one_hot ones ones_like_v2=ones_like pad_v2=pad parallel_stack rank repeat "
            "required_space_to_batch_paddings reshape reverse reverse_sequence_v2=reverse_sequence "
            "reverse_v2=reverse scatter_nd searchsorted sequence_mask shape_n shape_v2=shape size_v2=size slice "
            "space_to_batch_nd space_to_batch_v2=space_to_batch split squeeze_v2=squeeze stop_gradient "
            "strided_slice tensor_scatter_add=tensor_scatter_nd_add tensor_scatter_max=tensor_scatter_nd_max "
            "tensor_scatter_min=tensor_scatter_nd_min tensor_scatter_nd_update "
            "tensor_scatter_sub=tensor_scatter_nd_sub tile transpose_v2=transpose unique unique_with_counts "
            "unravel_index where_v2=where zeros zeros_like_v2=zeros_like",
        "compat.v1": "batch_gather batch_to_space batch_to_space_nd boolean_mask depth_to_space expand_dims "
            "extract_image_patches gather gather_nd ones_like pad placeholder placeholder_with_default quantize_v2 "
            "reverse_sequence setdiff1d shape size space_to_batch space_to_depth sparse_placeholder squeeze "
            "transpose where zeros_like",
        "compat.v1.debugging": "check_numerics",
        "image": "extract_image_patches_v2=extract_patches",
        "linalg": "diag=tensor_diag matrix_band_part=band_part matrix_diag=diag matrix_diag_part=diag_part "
            "matrix_set_diag=set_diag matrix_transpose tensor_diag_part",
        "math": "invert_permutation",
        "nn": "depth_to_space_v2=depth_to_space space_to_depth_v2=space_to_depth",
        "quantization": "dequantize fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient "
            "fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient "
            "fake_quant_with_min_max_vars_per_channel fake_quant_with_min_max_vars_per_channel_gradient quantize "
            "quantize_and_dequantize quantize_and_dequantize_v2 quantized_concat",
        "raw": "batch_matrix_band_part batch_matrix_diag batch_matrix_diag_part batch_matrix_set_diag "
            "broadcast_args broadcast_gradient_args check_numerics_v2 concat_offset concat_v2 conjugate_transpose "
            "const debug_gradient_identity debug_gradient_ref_identity deep_copy diag_part empty ensure_shape "
            "immutable_const inplace_add inplace_sub inplace_update list_diff lower_bound matrix_diag_part_v2 "
            "matrix_diag_part_v3 matrix_diag_v2 matrix_diag_v3 matrix_set_diag_v2 matrix_set_diag_v3 mirror_pad "
            "mirror_pad_grad pack parallel_concat placeholder_v2 prevent_gradient quantize_and_dequantize_v3 "
            "quantize_and_dequantize_v4 quantize_and_dequantize_v4_grad quantized_instance_norm quantized_reshape "
            "ref_identity resource_strided_slice_assign scatter_nd_non_aliasing_add snapshot split_v "
            "strided_slice_assign strided_slice_grad tensor_scatter_update tensor_strided_slice_update tile_grad "
            "unique_v2 unique_with_counts_v2 unpack upper_bound",
        "sparse": "sparse_mask=mask",
    },
    "ops.array_ops_stack": {
        "": "stack unstack",
    },
    "ops.batch_ops": {
        "": "batch_function=nondifferentiable_batch_function",
        "raw": "batch unbatch unbatch_grad",
    },
    "ops.bincount_ops": {
        "compat.v1": "bincount_v1=bincount",
        "math": "bincount",
    },
    "ops.bitwise_ops": {
        "bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
        "raw": "population_count",
    },
    "ops.boosted_trees_ops": {
        "raw": "boosted_trees_aggregate_stats boosted_trees_bucketize boosted_trees_sparse_aggregate_stats "
            "calculate_best_feature_split=boosted_trees_calculate_best_feature_split "
            "calculate_best_feature_split_v2=boosted_trees_calculate_best_feature_split_v2 "
            "calculate_best_gains_per_feature=boosted_trees_calculate_best_gains_per_feature "
            "center_bias=boosted_trees_center_bias "
            "create_quantile_stream_resource=boosted_trees_create_quantile_stream_resource "
            "example_debug_outputs=boosted_trees_example_debug_outputs "
            "get_bucket_boundaries=boosted_trees_quantile_stream_resource_get_bucket_boundaries "
            "is_quantile_resource_initialized=is_boosted_trees_quantile_stream_resource_initialized "
            "make_quantile_summaries=boosted_trees_make_quantile_summaries "
            "make_stats_summary=boosted_trees_make_stats_summary predict=boosted_trees_predict "
            "quantile_add_summaries=boosted_trees_quantile_stream_resource_add_summaries "
            "quantile_flush=boosted_trees_quantile_stream_resource_flush "
            "quantile_resource_deserialize=boosted_trees_quantile_stream_resource_deserialize "
            "quantile_resource_handle_op=boosted_trees_quantile_stream_resource_handle_op "
            "sparse_calculate_best_feature_split=boosted_trees_sparse_calculate_best_feature_split "
            "training_predict=boosted_trees_training_predict update_ensemble=boosted_trees_update_ensemble "
            "update_ensemble_v2=boosted_trees_update_ensemble_v2",
    },
    "ops.candidate_sampling_ops": {
        "nn": "all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler "
            "learned_unigram_candidate_sampler",
        "random": "log_uniform_candidate_sampler uniform_candidate_sampler",
    },
    "ops.check_ops": {
        "": "assert_equal_v2=assert_equal assert_greater_v2=assert_greater assert_less_v2=assert_less "
            "assert_rank_v2=assert_rank ensure_shape",
        "compat.v1": "assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal "
            "assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive "
            "assert_rank assert_rank_at_least assert_rank_in assert_scalar assert_type",
        "compat.v1.debugging": "assert_shapes",
        "debugging": "assert_greater_equal_v2=assert_greater_equal assert_integer_v2=assert_integer "
            "assert_less_equal_v2=assert_less_equal assert_near_v2=assert_near assert_negative_v2=assert_negative "
            "assert_non_negative_v2=assert_non_negative assert_non_positive_v2=assert_non_positive "
            "assert_none_equal_v2=assert_none_equal assert_positive_v2=assert_positive assert_proper_iterable "
            "assert_rank_at_least_v2=assert_rank_at_least assert_rank_in_v2=assert_rank_in assert_same_float_dtype "
            "assert_scalar_v2=assert_scalar assert_shapes_v2=assert_shapes assert_type_v2=assert_type "
            "is_numeric_tensor",
        "math": "is_non_decreasing is_strictly_increasing",
    },
    "ops.clip_ops": {
        "": "clip_by_global_norm clip_by_norm clip_by_value",
        "compat.v1": "clip_by_average_norm",
        "linalg": "global_norm",
    },
    "ops.clustering_ops": {
        "compat.v1.nn": "embedding_lookup",
        "raw": "kmc2_chain_initialization kmeans_plus_plus_initialization nearest_neighbors",
    },
    "ops.cond": {
        "": "cond_for_tf_v2=cond",
        "compat.v1": "cond",
    },
    "ops.confusion_matrix": {
        "compat.v1": "confusion_matrix_v1=confusion_matrix",
        "math": "confusion_matrix",
    },
    "ops.control_flow_assert": {
        "": "Assert",
    },
    "ops.control_flow_case": {
        "": "case_v2=case",
        "compat.v1": "case",
    },
    "ops.control_flow_grad": {
        "": "group no_op tuple_v2=tuple",
        "__internal__": "get_enclosing_xla_context",
        "compat.v1": "tuple",
        "raw": "abort control_trigger enter loop_cond next_iteration ref_enter ref_exit ref_merge "
            "ref_next_iteration ref_select ref_switch",
    },
    "ops.control_flow_ops": {
        "": "group no_op tuple_v2=tuple",
        "__internal__": "get_enclosing_xla_context",
        "compat.v1": "tuple",
        "raw": "abort control_trigger enter loop_cond next_iteration ref_enter ref_exit ref_merge "
            "ref_next_iteration ref_select ref_switch",
    },
    "ops.control_flow_switch_case": {
        "": "switch_case",
        "__internal__": "execute_fn_for_device",
    },
    "ops.control_flow_util_v2": {
        "__internal__": "FuncGraph",
        "compat.v1.experimental": "set_output_all_intermediates=output_all_intermediates",
    },
    "ops.control_flow_v2_toggles": {
        "compat.v1": "control_flow_v2_enabled disable_control_flow_v2 enable_control_flow_v2",
    },
    "ops.critical_section_ops": {
        "": "CriticalSection",
    },
    "ops.ctc_ops": {
        "compat.v1.nn": "ctc_beam_search_decoder ctc_loss ctc_loss_v2",
        "nn": "collapse_repeated ctc_beam_search_decoder_v2=ctc_beam_search_decoder ctc_greedy_decoder "
            "ctc_loss_v3=ctc_loss ctc_unique_labels",
    },
    "ops.custom_gradient": {
        "": "UnconnectedGradients custom_gradient grad_pass_through recompute_grad",
    },
    "ops.data_flow_ops": {
        "": "dynamic_partition dynamic_stitch",
        "compat.v1": "ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator",
        "queue": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
        "raw": "accumulator_apply_gradient accumulator_num_accumulated accumulator_set_global_step "
            "accumulator_take_gradient barrier barrier_close barrier_incomplete_size barrier_insert_many "
            "barrier_ready_size barrier_take_many conditional_accumulator delete_session_tensor fake_queue "
            "fifo_queue fifo_queue_v2 get_session_handle get_session_handle_v2 get_session_tensor map_clear "
            "map_incomplete_size map_peek map_size map_stage map_unstage map_unstage_no_key ordered_map_clear "
            "ordered_map_incomplete_size ordered_map_peek ordered_map_size ordered_map_stage ordered_map_unstage "
            "ordered_map_unstage_no_key padding_fifo_queue padding_fifo_queue_v2 parallel_dynamic_stitch "
            "priority_queue priority_queue_v2 queue_close queue_close_v2 queue_dequeue queue_dequeue_many "
            "queue_dequeue_many_v2 queue_dequeue_up_to queue_dequeue_up_to_v2 queue_dequeue_v2 queue_enqueue "
            "queue_enqueue_many queue_enqueue_many_v2 queue_enqueue_v2 queue_is_closed queue_is_closed_v2 "
            "queue_size queue_size_v2 random_shuffle_queue random_shuffle_queue_v2 record_input "
            "resource_accumulator_apply_gradient resource_accumulator_num_accumulated "
            "resource_accumulator_set_global_step resource_accumulator_take_gradient "
            "resource_conditional_accumulator sparse_accumulator_apply_gradient sparse_accumulator_take_gradient "
            "sparse_conditional_accumulator stack_close stack_close_v2 stack_pop stack_pop_v2 stack_push "
            "stack_push_v2 stack_v2 stage stage_clear stage_peek stage_size tensor_array tensor_array_close "
            "tensor_array_close_v2 tensor_array_close_v3 tensor_array_concat tensor_array_concat_v2 "
            "tensor_array_concat_v3 tensor_array_gather tensor_array_gather_v2 tensor_array_gather_v3 "
            "tensor_array_grad tensor_array_grad_v2 tensor_array_grad_v3 tensor_array_grad_with_shape "
            "tensor_array_pack tensor_array_read tensor_array_read_v2 tensor_array_read_v3 tensor_array_scatter "
            "tensor_array_scatter_v2 tensor_array_scatter_v3 tensor_array_size tensor_array_size_v2 "
            "tensor_array_size_v3 tensor_array_split tensor_array_split_v2 tensor_array_split_v3 "
            "tensor_array_unpack tensor_array_v2 tensor_array_v3 tensor_array_write tensor_array_write_v2 "
            "tensor_array_write_v3 unstage",
    },
    "ops.distributions.bernoulli": {
        "compat.v1.distributions": "Bernoulli",
    },
    "ops.distributions.beta": {
        "compat.v1.distributions": "Beta",
    },
    "ops.distributions.categorical": {
        "compat.v1.distributions": "Categorical",
    },
    "ops.distributions.dirichlet": {
        "compat.v1.distributions": "Dirichlet",
    },
    "ops.distributions.dirichlet_multinomial": {
        "compat.v1.distributions": "DirichletMultinomial",
    },
    "ops.distributions.distribution": {
        "compat.v1.distributions": "Distribution ReparameterizationType",
    },
    "ops.distributions.distributions": {
        "compat.v1.distributions": "Bernoulli Beta Categorical Dirichlet DirichletMultinomial Distribution "
            "Exponential Gamma Laplace Multinomial Normal RegisterKL ReparameterizationType StudentT Uniform "
            "kl_divergence",
    },
    "ops.distributions.exponential": {
        "compat.v1.distributions": "Exponential",
    },
    "ops.distributions.gamma": {
        "compat.v1.distributions": "Gamma",
    },
    "ops.distributions.kullback_leibler": {
        "compat.v1.distributions": "RegisterKL kl_divergence",
    },
    "ops.distributions.laplace": {
        "compat.v1.distributions": "Laplace",
    },
    "ops.distributions.multinomial": {
        "compat.v1.distributions": "Multinomial",
    },
    "ops.distributions.normal": {
        "compat.v1.distributions": "Normal",
    },
    "ops.distributions.student_t": {
        "compat.v1.distributions": "StudentT",
    },
    "ops.distributions.uniform": {
        "compat.v1.distributions": "Uniform",
    },
    "ops.embedding_ops": {
        "compat.v1.nn": "embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse",
        "nn": "embedding_lookup_sparse_v2=embedding_lookup_sparse embedding_lookup_v2=embedding_lookup "
            "safe_embedding_lookup_sparse_v2=safe_embedding_lookup_sparse",
    },
    "ops.functional_ops": {
        "": "foldl_v2=foldl foldr_v2=foldr scan_v2=scan",
        "compat.v1": "foldl foldr scan",
        "raw": "remote_call symbolic_gradient",
    },
    "ops.gradient_checker": {
        "compat.v1.test": "compute_gradient compute_gradient_error",
    },
    "ops.gradient_checker_v2": {
        "test": "compute_gradient",
    },
    "ops.gradients": {
        "": "AggregationMethod GradientTape UnconnectedGradients custom_gradient",
        "autodiff": "ForwardAccumulator",
        "compat.v1": "gradients hessians",
    },
    "ops.gradients_impl": {
        "": "HessiansV2=hessians UnconnectedGradients gradients_v2=gradients",
        "compat.v1": "gradients hessians",
    },
    "ops.gradients_util": {
        "": "AggregationMethod UnconnectedGradients",
    },
    "ops.handle_data_util": {
        "__internal__.ops": "get_resource_handle_data",
    },
    "ops.histogram_ops": {
        "": "histogram_fixed_width histogram_fixed_width_bins",
    },
    "ops.image_ops": {
        "compat.v1.image": "ResizeMethodV1=ResizeMethod crop_and_resize_v1=crop_and_resize draw_bounding_boxes "
            "extract_glimpse resize_area resize_bicubic resize_bilinear "
            "resize_image_with_pad_v1=resize_image_with_pad resize_images=resize resize_nearest_neighbor "
            "sample_distorted_bounding_box",
        "image": "ResizeMethod adjust_contrast adjust_hue adjust_jpeg_quality adjust_saturation central_crop "
            "combined_non_max_suppression convert_image_dtype crop_and_resize_v2=crop_and_resize "
            "crop_to_bounding_box decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_jxl "
            "decode_png decode_webp draw_bounding_boxes_v2=draw_bounding_boxes encode_jpeg encode_png "
            "extract_glimpse_v2=extract_glimpse extract_jpeg_shape flip_left_right flip_up_down "
            "generate_bounding_box_proposals grayscale_to_rgb hsv_to_rgb image_gradients is_jpeg "
            "non_max_suppression non_max_suppression_padded "
            "non_max_suppression_with_overlaps=non_max_suppression_overlaps non_max_suppression_with_scores "
            "pad_to_bounding_box per_image_standardization psnr random_contrast random_flip_left_right "
            "random_flip_up_down random_hue random_jpeg_quality random_saturation "
            "resize_image_with_crop_or_pad=resize_with_crop_or_pad resize_image_with_pad_v2=resize_with_pad "
            "resize_images_v2=resize rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90 "
            "sample_distorted_bounding_box_v2=sample_distorted_bounding_box sobel_edges ssim ssim_multiscale "
            "stateless_random_contrast stateless_random_flip_left_right stateless_random_flip_up_down "
            "stateless_random_hue stateless_random_jpeg_quality stateless_random_saturation "
            "stateless_sample_distorted_bounding_box total_variation transpose yiq_to_rgb yuv_to_rgb",
        "raw": "adjust_contrastv2 crop_and_resize crop_and_resize_grad_boxes crop_and_resize_grad_image "
            "decode_web_p encode_jpeg_variable_quality image_projective_transform_v2 image_projective_transform_v3 "
            "non_max_suppression_v2 non_max_suppression_v3 non_max_suppression_v4 non_max_suppression_v5 "
            "quantized_resize_bilinear random_crop resize_bicubic_grad resize_bilinear_grad "
            "resize_nearest_neighbor_grad scale_and_translate scale_and_translate_grad",
    },
    "ops.image_ops_impl": {
        "compat.v1.image": "ResizeMethodV1=ResizeMethod crop_and_resize_v1=crop_and_resize draw_bounding_boxes "
            "extract_glimpse resize_area resize_bicubic resize_bilinear "
            "resize_image_with_pad_v1=resize_image_with_pad resize_images=resize resize_nearest_neighbor "
            "sample_distorted_bounding_box",
        "image": "ResizeMethod adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality "
            "adjust_saturation central_crop combined_non_max_suppression convert_image_dtype "
            "crop_and_resize_v2=crop_and_resize crop_to_bounding_box decode_and_crop_jpeg decode_bmp decode_gif "
            "decode_image decode_jpeg decode_jxl decode_png decode_webp draw_bounding_boxes_v2=draw_bounding_boxes "
            "encode_jpeg encode_png extract_glimpse_v2=extract_glimpse extract_jpeg_shape flip_left_right "
            "flip_up_down generate_bounding_box_proposals grayscale_to_rgb image_gradients is_jpeg "
            "non_max_suppression non_max_suppression_padded "
            "non_max_suppression_with_overlaps=non_max_suppression_overlaps non_max_suppression_with_scores "
            "pad_to_bounding_box per_image_standardization psnr random_brightness random_contrast "
            "random_flip_left_right random_flip_up_down random_hue random_jpeg_quality random_saturation "
            "resize_image_with_crop_or_pad=resize_with_crop_or_pad resize_image_with_pad_v2=resize_with_pad "
            "resize_images_v2=resize rgb_to_grayscale rgb_to_yiq rgb_to_yuv rot90 "
            "sample_distorted_bounding_box_v2=sample_distorted_bounding_box sobel_edges ssim ssim_multiscale "
            "stateless_random_brightness stateless_random_contrast stateless_random_flip_left_right "
            "stateless_random_flip_up_down stateless_random_hue stateless_random_jpeg_quality "
            "stateless_random_saturation stateless_sample_distorted_bounding_box total_variation transpose "
            "yiq_to_rgb yuv_to_rgb",
    },
    "ops.init_ops": {
        "compat.v1": "Constant=constant_initializer GlorotNormal=glorot_normal_initializer "
            "GlorotUniform=glorot_uniform_initializer Ones=ones_initializer Orthogonal=orthogonal_initializer "
            "RandomNormal=random_normal_initializer RandomUniform=random_uniform_initializer "
            "TruncatedNormal=truncated_normal_initializer UniformUnitScaling=uniform_unit_scaling_initializer "
            "VarianceScaling=variance_scaling_initializer Zeros=zeros_initializer constant_initializer "
            "glorot_normal_initializer glorot_uniform_initializer ones_initializer orthogonal_initializer "
            "random_normal_initializer random_uniform_initializer truncated_normal_initializer "
            "uniform_unit_scaling_initializer variance_scaling_initializer zeros_initializer",
        "compat.v1.initializers": "Identity=identity he_normal he_uniform identity_initializer=identity "
            "lecun_normal lecun_uniform",
    },
    "ops.init_ops_v2": {
        "": "Constant=constant_initializer Ones=ones_initializer RandomNormal=random_normal_initializer "
            "RandomUniform=random_uniform_initializer Zeros=zeros_initializer constant=constant_initializer "
            "constant_initializer normal=random_normal_initializer one=ones_initializer ones=ones_initializer "
            "ones_initializer random_normal=random_normal_initializer random_normal_initializer "
            "random_uniform=random_uniform_initializer random_uniform_initializer "
            "uniform=random_uniform_initializer zero=zeros_initializer zeros=zeros_initializer zeros_initializer",
    },
    "ops.initializers_ns": {
        "compat.v1": "constant=constant_initializer global_variables=global_variables_initializer "
            "local_variables=local_variables_initializer ones=ones_initializer orthogonal=orthogonal_initializer "
            "random_normal=random_normal_initializer random_uniform=random_uniform_initializer "
            "truncated_normal=truncated_normal_initializer uniform_unit_scaling=uniform_unit_scaling_initializer "
            "variables=variables_initializer variance_scaling=variance_scaling_initializer zeros=zeros_initializer",
        "compat.v1.initializers": "identity",
    },
    "ops.inplace_ops": {
        "raw": "empty",
    },
    "ops.io_ops": {
        "compat.v1": "FixedLengthRecordReader IdentityReader LMDBReader ReaderBase TFRecordReader TextLineReader "
            "WholeFileReader",
        "io": "matching_files read_file serialize_tensor write_file",
        "raw": "fixed_length_record_reader fixed_length_record_reader_v2 identity_reader identity_reader_v2 "
            "lmdb_reader merge_v2_checkpoints reader_num_records_produced reader_num_records_produced_v2 "
            "reader_num_work_units_completed reader_num_work_units_completed_v2 reader_read reader_read_up_to "
            "reader_read_up_to_v2 reader_read_v2 reader_reset reader_reset_v2 reader_restore_state "
            "reader_restore_state_v2 reader_serialize_state reader_serialize_state_v2 restore restore_slice "
            "restore_v2 save save_slices save_v2 sharded_filename sharded_filespec text_line_reader "
            "text_line_reader_v2 tf_record_reader tf_record_reader_v2 whole_file_reader whole_file_reader_v2",
    },
    "ops.linalg.linalg": {
        "": "einsum eye sqrtm=matrix_square_root tensordot",
        "compat.v1": "norm",
        "compat.v1.linalg": "diag diag_part trace transpose=matrix_transpose",
        "linalg": "LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorBlockLowerTriangular "
            "LinearOperatorCirculant LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorComposition "
            "LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorHouseholder LinearOperatorIdentity "
            "LinearOperatorInversion LinearOperatorKronecker LinearOperatorLowRankUpdate "
            "LinearOperatorLowerTriangular LinearOperatorPermutation LinearOperatorScaledIdentity "
            "LinearOperatorToeplitz LinearOperatorTridiag LinearOperatorZeros adjoint band_part "
            "banded_triangular_solve cholesky cholesky_solve det eigh eigh_tridiagonal eigvalsh inv logdet logm "
            "lstsq lu lu_matrix_inverse lu_reconstruct lu_solve matrix_exponential=expm matrix_rank pinv qr "
            "set_diag slogdet solve svd triangular_solve tridiagonal_matmul tridiagonal_solve",
    },
    "ops.linalg.linalg_impl": {
        "": "einsum eye sqrtm=matrix_square_root tensordot",
        "compat.v1": "norm",
        "compat.v1.linalg": "diag diag_part trace transpose=matrix_transpose",
        "linalg": "adjoint band_part banded_triangular_solve cholesky cholesky_solve det eigh eigh_tridiagonal "
            "eigvalsh inv logdet logm lstsq lu lu_matrix_inverse lu_reconstruct lu_solve matrix_exponential=expm "
            "matrix_rank pinv qr set_diag slogdet solve svd triangular_solve tridiagonal_matmul tridiagonal_solve",
    },
    "ops.linalg.linear_operator": {
        "linalg": "LinearOperator",
    },
    "ops.linalg.linear_operator_adjoint": {
        "linalg": "LinearOperatorAdjoint",
    },
    "ops.linalg.linear_operator_block_diag": {
        "linalg": "LinearOperatorBlockDiag",
    },
    "ops.linalg.linear_operator_block_lower_triangular": {
        "linalg": "LinearOperatorBlockLowerTriangular",
    },
    "ops.linalg.linear_operator_circulant": {
        "linalg": "LinearOperatorCirculant LinearOperatorCirculant2D LinearOperatorCirculant3D",
    },
    "ops.linalg.linear_operator_composition": {
        "linalg": "LinearOperatorComposition",
    },
    "ops.linalg.linear_operator_diag": {
        "linalg": "LinearOperatorDiag",
    },
    "ops.linalg.linear_operator_full_matrix": {
        "linalg": "LinearOperatorFullMatrix",
    },
    "ops.linalg.linear_operator_householder": {
        "linalg": "LinearOperatorHouseholder",
    },
    "ops.linalg.linear_operator_identity": {
        "linalg": "LinearOperatorIdentity LinearOperatorScaledIdentity",
    },
    "ops.linalg.linear_operator_inversion": {
        "linalg": "LinearOperatorInversion",
    },
    "ops.linalg.linear_operator_kronecker": {
        "linalg": "LinearOperatorKronecker",
    },
    "ops.linalg.linear_operator_low_rank_update": {
        "linalg": "LinearOperatorLowRankUpdate",
    },
    "ops.linalg.linear_operator_lower_triangular": {
        "linalg": "LinearOperatorLowerTriangular",
    },
    "ops.linalg.linear_operator_permutation": {
        "linalg": "LinearOperatorPermutation",
    },
    "ops.linalg.linear_operator_toeplitz": {
        "linalg": "LinearOperatorToeplitz",
    },
    "ops.linalg.linear_operator_tridiag": {
        "linalg": "LinearOperatorTridiag",
    },
    "ops.linalg.linear_operator_zeros": {
        "linalg": "LinearOperatorZeros",
    },
    "ops.linalg.sparse.conjugate_gradient": {
        "linalg.experimental": "conjugate_gradient",
    },
    "ops.linalg.sparse.sparse": {
        "linalg.experimental": "conjugate_gradient",
    },
    "ops.linalg_ops": {
        "": "eig eigvals eye matrix_square_root norm_v2=norm",
        "compat.v1": "norm",
        "linalg": "cholesky cholesky_solve log_matrix_determinant=slogdet lu matrix_determinant=det "
            "matrix_inverse=inv matrix_logarithm=logm matrix_solve=solve matrix_solve_ls=lstsq "
            "matrix_triangular_solve=triangular_solve qr self_adjoint_eig=eigh self_adjoint_eigvals=eigvalsh svd",
        "raw": "banded_triangular_solve batch_cholesky batch_cholesky_grad batch_matrix_determinant "
            "batch_matrix_inverse batch_matrix_solve batch_matrix_solve_ls batch_matrix_triangular_solve "
            "batch_self_adjoint_eig batch_self_adjoint_eig_v2 batch_svd cholesky_grad einsum matrix_exponential "
            "self_adjoint_eig_v2 tridiagonal_mat_mul tridiagonal_solve",
    },
    "ops.list_ops": {
        "raw": "tensor_list_concat_lists tensor_list_concat_v2 tensor_list_element_shape tensor_list_length "
            "tensor_list_push_back tensor_list_push_back_batch tensor_list_resize "
            "tensor_list_scatter_into_existing_list tensor_list_scatter_v2",
    },
    "ops.logging_ops": {
        "": "print_v2=print timestamp",
        "compat.v1": "Print",
        "raw": "audio_summary_v2 tensor_summary tensor_summary_v2",
    },
    "ops.lookup_ops": {
        "compat.v1": "initialize_all_tables tables_initializer",
        "compat.v1.lookup": "StaticHashTableV1=StaticHashTable StaticVocabularyTableV1=StaticVocabularyTable",
        "lookup": "KeyValueTensorInitializer StaticHashTable StaticVocabularyTable TextFileIndex "
            "TextFileInitializer",
        "lookup.experimental": "DenseHashTable MutableHashTable",
        "raw": "anonymous_hash_table anonymous_mutable_dense_hash_table anonymous_mutable_hash_table "
            "anonymous_mutable_hash_table_of_tensors hash_table hash_table_v2 initialize_table "
            "initialize_table_from_text_file initialize_table_from_text_file_v2 initialize_table_v2 "
            "lookup_table_export lookup_table_export_v2 lookup_table_find lookup_table_find_v2 lookup_table_import "
            "lookup_table_import_v2 lookup_table_insert lookup_table_insert_v2 lookup_table_remove_v2 "
            "lookup_table_size lookup_table_size_v2 mutable_dense_hash_table mutable_dense_hash_table_v2 "
            "mutable_hash_table mutable_hash_table_of_tensors mutable_hash_table_of_tensors_v2 "
            "mutable_hash_table_v2",
    },
    "ops.losses.losses": {
        "compat.v1.losses": "Reduction absolute_difference add_loss compute_weighted_loss cosine_distance "
            "get_losses get_regularization_loss get_regularization_losses get_total_loss hinge_loss huber_loss "
            "log_loss mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy softmax_cross_entropy "
            "sparse_softmax_cross_entropy",
    },
    "ops.losses.losses_impl": {
        "compat.v1.losses": "Reduction absolute_difference compute_weighted_loss cosine_distance hinge_loss "
            "huber_loss log_loss mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy "
            "softmax_cross_entropy sparse_softmax_cross_entropy",
    },
    "ops.losses.util": {
        "compat.v1.losses": "add_loss get_losses get_regularization_loss get_regularization_losses get_total_loss",
    },
    "ops.manip_ops": {
        "": "roll",
    },
    "ops.map_fn": {
        "": "map_fn_v2=map_fn",
        "compat.v1": "map_fn",
    },
    "ops.math_ops": {
        "": "abs acos add add_n argmax_v2=argmax argmin_v2=argmin atan2 cast complex cumsum divide equal exp floor "
            "greater greater_equal less less_equal linspace linspace_nd=linspace logical_and logical_not logical_or "
            "matmul multiply not_equal pow range realdiv reduce_all reduce_any reduce_logsumexp reduce_max "
            "reduce_mean reduce_min reduce_prod reduce_sum round saturate_cast scalar_mul_v2=scalar_mul sigmoid "
            "sign sqrt subtract tensordot truediv truncatediv truncatemod",
        "compat.v1": "arg_max arg_min argmax argmin count_nonzero div floor_div reduce_all_v1=reduce_all "
            "reduce_any_v1=reduce_any reduce_logsumexp_v1=reduce_logsumexp reduce_max_v1=reduce_max "
            "reduce_mean_v1=reduce_mean reduce_min_v1=reduce_min reduce_prod_v1=reduce_prod "
            "reduce_sum_v1=reduce_sum scalar_mul sparse_matmul sparse_segment_mean sparse_segment_sqrt_n "
            "sparse_segment_sum to_bfloat16 to_complex128 to_complex64 to_double to_float to_int32 to_int64",
        "compat.v1.math": "acosh asin asinh atan atanh cos cosh digamma erf erfc expm1 floor_mod=floormod lgamma "
            "log log1p neg=negative negative reciprocal rint sin sinh square tan tanh",
        "linalg": "cross matvec trace",
        "math": "accumulate_n angle betainc ceil conj count_nonzero_v2=count_nonzero cumprod cumulative_logsumexp "
            "div_no_nan=divide_no_nan erfcinv erfinv floordiv floormod igamma igammac imag is_finite is_inf is_nan "
            "log_sigmoid logical_xor multiply_no_nan ndtri next_after=nextafter nextafter polygamma polyval real "
            "reciprocal_no_nan reduce_euclidean_norm reduce_std reduce_variance rsqrt segment_max segment_mean "
            "segment_min segment_prod segment_sum sobol_sample softplus squared_difference unsorted_segment_max "
            "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n "
            "unsorted_segment_sum xdivy xlog1py xlogy zeta",
        "raw": "accumulate_nv2 add_v2 approximate_equal batch_mat_mul batch_mat_mul_v2 batch_mat_mul_v3 bincount "
            "bucketize complex_abs dense_bincount euclidean_norm igamma_grad_a inv inv_grad lin_space mat_mul "
            "maximum mean minimum mul mul_no_nan prod quantize_down_and_shrink_range quantized_add "
            "quantized_mat_mul quantized_mul ragged_bincount real_div reciprocal_grad requantization_range "
            "requantization_range_per_channel requantize requantize_per_channel rsqrt_grad segment_max_v2 "
            "segment_min_v2 segment_prod_v2 segment_sum_v2 select select_v2 sigmoid_grad sparse_bincount "
            "sparse_mat_mul sparse_segment_mean_grad sparse_segment_mean_grad_v2 "
            "sparse_segment_mean_with_num_segments sparse_segment_sqrt_n_grad sparse_segment_sqrt_n_grad_v2 "
            "sparse_segment_sqrt_n_with_num_segments sparse_segment_sum_grad sparse_segment_sum_grad_v2 "
            "sparse_segment_sum_with_num_segments sqrt_grad sub tanh_grad truncate_div truncate_mod",
        "sparse": "sampled_addmm sparse_segment_mean_v2=segment_mean sparse_segment_sqrt_n_v2=segment_sqrt_n "
            "sparse_segment_sum_v2=segment_sum",
    },
    "ops.metrics": {
        "compat.v1.metrics": "accuracy auc average_precision_at_k false_negatives false_negatives_at_thresholds "
            "false_positives false_positives_at_thresholds mean mean_absolute_error mean_cosine_distance mean_iou "
            "mean_per_class_accuracy mean_relative_error mean_squared_error mean_tensor percentage_below precision "
            "precision_at_k precision_at_thresholds precision_at_top_k recall recall_at_k recall_at_thresholds "
            "recall_at_top_k root_mean_squared_error sensitivity_at_specificity sparse_average_precision_at_k "
            "sparse_precision_at_k specificity_at_sensitivity true_negatives true_negatives_at_thresholds "
            "true_positives true_positives_at_thresholds",
    },
    "ops.metrics_impl": {
        "compat.v1.metrics": "accuracy auc average_precision_at_k false_negatives false_negatives_at_thresholds "
            "false_positives false_positives_at_thresholds mean mean_absolute_error mean_cosine_distance mean_iou "
            "mean_per_class_accuracy mean_relative_error mean_squared_error mean_tensor percentage_below precision "
            "precision_at_k precision_at_thresholds precision_at_top_k recall recall_at_k recall_at_thresholds "
            "recall_at_top_k root_mean_squared_error sensitivity_at_specificity sparse_average_precision_at_k "
            "sparse_precision_at_k specificity_at_sensitivity true_negatives true_negatives_at_thresholds "
            "true_positives true_positives_at_thresholds",
    },
    "ops.nn": {
        "": "approx_top_k conv conv2d_backprop_filter_v2 conv2d_backprop_input_v2",
        "compat.v1.math": "in_top_k log_softmax sigmoid softmax tanh",
        "compat.v1.nn": "avg_pool batch_norm_with_global_normalization conv1d conv2d conv2d_backprop_filter "
            "conv2d_backprop_input conv2d_transpose conv3d_backprop_filter_v2=conv3d_backprop_filter "
            "conv3d_transpose conv3d_v1=conv3d convolution crelu ctc_beam_search_decoder ctc_loss ctc_loss_v2 "
            "depthwise_conv2d depthwise_conv2d_native dilation2d_v1=dilation2d dropout embedding_lookup "
            "embedding_lookup_sparse erosion2d fractional_avg_pool fractional_max_pool fused_batch_norm leaky_relu "
            "max_pool max_pool_with_argmax_v1=max_pool_with_argmax moments nce_loss pool quantized_avg_pool "
            "quantized_conv2d quantized_max_pool quantized_relu_x relu6 relu_layer safe_embedding_lookup_sparse "
            "sampled_softmax_loss separable_conv2d sigmoid_cross_entropy_with_logits "
            "softmax_cross_entropy_with_logits "
            "softmax_cross_entropy_with_logits_v2_helper=softmax_cross_entropy_with_logits_v2 "
            "sparse_softmax_cross_entropy_with_logits sufficient_statistics swish=silu "
            "weighted_cross_entropy_with_logits weighted_moments xw_plus_b",
        "linalg": "l2_normalize normalize",
        "math": "approx_max_k approx_min_k in_top_k_v2=in_top_k softmax_v2=softmax softsign top_k zero_fraction",
        "nn": "all_candidate_sampler atrous_conv2d atrous_conv2d_transpose avg_pool1d avg_pool2d avg_pool3d "
            "avg_pool_v2=avg_pool batch_norm_with_global_normalization_v2=batch_norm_with_global_normalization "
            "batch_normalization bias_add collapse_repeated compute_accidental_hits compute_average_loss "
            "conv1d_transpose conv1d_v2=conv1d conv2d_transpose_v2=conv2d_transpose conv2d_v2=conv2d "
            "conv3d_transpose_v2=conv3d_transpose conv3d_v2=conv3d conv_transpose convolution_v2=convolution "
            "crelu_v2=crelu ctc_beam_search_decoder_v2=ctc_beam_search_decoder ctc_greedy_decoder "
            "ctc_loss_v3=ctc_loss ctc_unique_labels "
            "depthwise_conv2d_native_backprop_filter=depthwise_conv2d_backprop_filter "
            "depthwise_conv2d_native_backprop_input=depthwise_conv2d_backprop_input "
            "depthwise_conv2d_v2=depthwise_conv2d dilation2d_v2=dilation2d dropout_v2=dropout elu "
            "embedding_lookup_sparse_v2=embedding_lookup_sparse embedding_lookup_v2=embedding_lookup "
            "erosion2d_v2=erosion2d fixed_unigram_candidate_sampler fractional_avg_pool_v2=fractional_avg_pool "
            "fractional_max_pool_v2=fractional_max_pool isotonic_regression l2_loss "
            "learned_unigram_candidate_sampler local_response_normalization log_poisson_loss "
            "lrn=local_response_normalization max_pool1d max_pool2d max_pool3d max_pool_v2=max_pool "
            "max_pool_with_argmax_v2=max_pool_with_argmax moments_v2=moments nce_loss_v2=nce_loss normalize_moments "
            "pool_v2=pool relu safe_embedding_lookup_sparse_v2=safe_embedding_lookup_sparse "
            "sampled_softmax_loss_v2=sampled_softmax_loss scale_regularization_loss selu "
            "separable_conv2d_v2=separable_conv2d "
            "sigmoid_cross_entropy_with_logits_v2=sigmoid_cross_entropy_with_logits "
            "softmax_cross_entropy_with_logits_v2=softmax_cross_entropy_with_logits "
            "sparse_softmax_cross_entropy_with_logits_v2=sparse_softmax_cross_entropy_with_logits "
            "sufficient_statistics_v2=sufficient_statistics "
            "weighted_cross_entropy_with_logits_v2=weighted_cross_entropy_with_logits "
            "weighted_moments_v2=weighted_moments with_space_to_batch",
        "nn.experimental": "general_dropout stateless_dropout",
        "random": "log_uniform_candidate_sampler uniform_candidate_sampler",
        "raw": "avg_pool3d_grad avg_pool_grad batch_norm_with_global_normalization_grad bias_add_grad conv3d "
            "conv3d_backprop_filter conv3d_backprop_input conv3d_backprop_input_v2 data_format_dim_map "
            "data_format_vec_permute dilation2d dilation2d_backprop_filter dilation2d_backprop_input elu_grad "
            "fractional_avg_pool_grad fractional_max_pool_grad fused_batch_norm_grad fused_batch_norm_grad_v2 "
            "fused_batch_norm_grad_v3 fused_batch_norm_v2 fused_batch_norm_v3 fused_pad_conv2d "
            "fused_resize_and_pad_conv2d in_top_kv2 leaky_relu_grad lrn_grad max_pool3d_grad max_pool3d_grad_grad "
            "max_pool_grad max_pool_grad_grad max_pool_grad_grad_v2 max_pool_grad_grad_with_argmax max_pool_grad_v2 "
            "max_pool_grad_with_argmax max_pool_with_argmax quantized_batch_norm_with_global_normalization "
            "quantized_bias_add quantized_conv2d_and_relu quantized_conv2d_and_relu_and_requantize "
            "quantized_conv2d_and_requantize quantized_conv2d_per_channel quantized_conv2d_with_bias "
            "quantized_conv2d_with_bias_and_relu quantized_conv2d_with_bias_and_relu_and_requantize "
            "quantized_conv2d_with_bias_and_requantize "
            "quantized_conv2d_with_bias_signed_sum_and_relu_and_requantize quantized_conv2d_with_bias_sum_and_relu "
            "quantized_conv2d_with_bias_sum_and_relu_and_requantize quantized_depthwise_conv2d "
            "quantized_depthwise_conv2d_with_bias quantized_depthwise_conv2d_with_bias_and_relu "
            "quantized_depthwise_conv2d_with_bias_and_relu_and_requantize quantized_mat_mul_with_bias "
            "quantized_mat_mul_with_bias_and_dequantize quantized_mat_mul_with_bias_and_relu "
            "quantized_mat_mul_with_bias_and_relu_and_requantize quantized_mat_mul_with_bias_and_requantize "
            "quantized_relu quantized_relu6 relu6_grad relu_grad selu_grad softplus softplus_grad softsign_grad "
            "top_kv2",
    },
    "ops.nn_impl": {
        "compat.v1.nn": "batch_norm_with_global_normalization depthwise_conv2d fused_batch_norm moments nce_loss "
            "relu_layer sampled_softmax_loss separable_conv2d sigmoid_cross_entropy_with_logits "
            "sufficient_statistics weighted_cross_entropy_with_logits weighted_moments",
        "linalg": "l2_normalize normalize",
        "math": "zero_fraction",
        "nn": "batch_norm_with_global_normalization_v2=batch_norm_with_global_normalization batch_normalization "
            "depthwise_conv2d_v2=depthwise_conv2d log_poisson_loss moments_v2=moments nce_loss_v2=nce_loss "
            "normalize_moments sampled_softmax_loss_v2=sampled_softmax_loss separable_conv2d_v2=separable_conv2d "
            "sigmoid_cross_entropy_with_logits_v2=sigmoid_cross_entropy_with_logits "
            "sufficient_statistics_v2=sufficient_statistics swish=silu "
            "weighted_cross_entropy_with_logits_v2=weighted_cross_entropy_with_logits "
            "weighted_moments_v2=weighted_moments",
    },
    "ops.nn_impl_distribute": {
        "nn": "compute_average_loss scale_regularization_loss",
    },
    "ops.nn_ops": {
        "": "approx_top_k conv conv2d_backprop_filter_v2 conv2d_backprop_input_v2",
        "compat.v1.math": "in_top_k softmax",
        "compat.v1.nn": "avg_pool conv1d conv2d conv2d_backprop_filter conv2d_backprop_input conv2d_transpose "
            "conv3d_backprop_filter_v2=conv3d_backprop_filter conv3d_transpose conv3d_v1=conv3d convolution crelu "
            "depthwise_conv2d_native dilation2d_v1=dilation2d dropout erosion2d fractional_avg_pool "
            "fractional_max_pool max_pool max_pool_with_argmax_v1=max_pool_with_argmax pool quantized_avg_pool "
            "quantized_conv2d quantized_max_pool quantized_relu_x softmax_cross_entropy_with_logits "
            "softmax_cross_entropy_with_logits_v2_helper=softmax_cross_entropy_with_logits_v2 "
            "sparse_softmax_cross_entropy_with_logits xw_plus_b",
        "math": "approx_max_k approx_min_k in_top_k_v2=in_top_k log_softmax_v2=log_softmax softmax_v2=softmax top_k",
        "nn": "atrous_conv2d atrous_conv2d_transpose avg_pool1d avg_pool2d avg_pool3d avg_pool_v2=avg_pool bias_add "
            "conv1d_transpose conv1d_v2=conv1d conv2d_transpose_v2=conv2d_transpose conv2d_v2=conv2d "
            "conv3d_transpose_v2=conv3d_transpose conv3d_v2=conv3d conv_transpose convolution_v2=convolution "
            "crelu_v2=crelu depthwise_conv2d_native_backprop_filter=depthwise_conv2d_backprop_filter "
            "depthwise_conv2d_native_backprop_input=depthwise_conv2d_backprop_input dilation2d_v2=dilation2d "
            "dropout_v2=dropout erosion2d_v2=erosion2d fractional_avg_pool_v2=fractional_avg_pool "
            "fractional_max_pool_v2=fractional_max_pool gelu isotonic_regression l2_loss leaky_relu "
            "local_response_normalization lrn=local_response_normalization max_pool1d max_pool2d max_pool3d "
            "max_pool_v2=max_pool max_pool_with_argmax_v2=max_pool_with_argmax pool_v2=pool relu6 "
            "softmax_cross_entropy_with_logits_v2=softmax_cross_entropy_with_logits "
            "sparse_softmax_cross_entropy_with_logits_v2=sparse_softmax_cross_entropy_with_logits "
            "with_space_to_batch",
        "nn.experimental": "general_dropout stateless_dropout",
        "raw": "avg_pool3d_grad avg_pool_grad batch_norm_with_global_normalization_grad bias_add_grad conv3d "
            "conv3d_backprop_filter conv3d_backprop_input conv3d_backprop_input_v2 data_format_dim_map "
            "data_format_vec_permute dilation2d dilation2d_backprop_filter dilation2d_backprop_input elu elu_grad "
            "fractional_avg_pool_grad fractional_max_pool_grad fused_batch_norm_grad fused_batch_norm_grad_v2 "
            "fused_batch_norm_grad_v3 fused_batch_norm_v2 fused_batch_norm_v3 fused_pad_conv2d "
            "fused_resize_and_pad_conv2d in_top_kv2 leaky_relu_grad lrn_grad max_pool3d_grad max_pool3d_grad_grad "
            "max_pool_grad max_pool_grad_grad max_pool_grad_grad_v2 max_pool_grad_grad_with_argmax max_pool_grad_v2 "
            "max_pool_grad_with_argmax max_pool_with_argmax quantized_batch_norm_with_global_normalization "
            "quantized_bias_add quantized_conv2d_and_relu quantized_conv2d_and_relu_and_requantize "
            "quantized_conv2d_and_requantize quantized_conv2d_per_channel quantized_conv2d_with_bias "
            "quantized_conv2d_with_bias_and_relu quantized_conv2d_with_bias_and_relu_and_requantize "
            "quantized_conv2d_with_bias_and_requantize "
            "quantized_conv2d_with_bias_signed_sum_and_relu_and_requantize quantized_conv2d_with_bias_sum_and_relu "
            "quantized_conv2d_with_bias_sum_and_relu_and_requantize quantized_depthwise_conv2d "
            "quantized_depthwise_conv2d_with_bias quantized_depthwise_conv2d_with_bias_and_relu "
            "quantized_depthwise_conv2d_with_bias_and_relu_and_requantize quantized_mat_mul_with_bias "
            "quantized_mat_mul_with_bias_and_dequantize quantized_mat_mul_with_bias_and_relu "
            "quantized_mat_mul_with_bias_and_relu_and_requantize quantized_mat_mul_with_bias_and_requantize "
            "quantized_relu quantized_relu6 relu relu6_grad relu_grad selu selu_grad softplus softplus_grad "
            "softsign softsign_grad top_kv2",
    },
    "ops.numerics": {
        "compat.v1": "add_check_numerics_ops verify_tensor_all_finite",
        "debugging": "verify_tensor_all_finite_v2=assert_all_finite",
    },
    "ops.numpy_ops.np_arrays": {
        "": "ndarray=Tensor",
    },
    "ops.parallel_for.control_flow_ops": {
        "": "vectorized_map",
    },
    "ops.parsing_config": {
        "io": "FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature VarLenFeature",
    },
    "ops.parsing_ops": {
        "compat.v1": "decode_csv decode_raw_v1=decode_raw parse_example parse_single_example",
        "io": "FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature VarLenFeature decode_compressed "
            "decode_csv_v2=decode_csv decode_json_example decode_raw parse_example_v2=parse_example "
            "parse_sequence_example parse_single_example_v2=parse_single_example parse_single_sequence_example "
            "parse_tensor",
        "raw": "decode_padded_raw parse_sequence_example_v2 serialize_tensor string_to_number",
    },
    "ops.partitioned_variables": {
        "compat.v1": "create_partitioned_variables fixed_size_partitioner min_max_variable_partitioner "
            "variable_axis_size_partitioner",
    },
    "ops.proto_ops": {
        "io": "decode_proto encode_proto",
    },
    "ops.ragged.dynamic_ragged_shape": {
        "compat.v1.experimental": "DynamicRaggedShape RowPartition",
    },
    "ops.ragged.ragged_array_ops": {
        "ragged": "boolean_mask cross cross_hashed stack_dynamic_partitions",
    },
    "ops.ragged.ragged_concat_ops": {
        "ragged": "stack",
    },
    "ops.ragged.ragged_factory_ops": {
        "compat.v1.ragged": "constant_value placeholder",
        "ragged": "constant",
    },
    "ops.ragged.ragged_functional_ops": {
        "ragged": "map_flat_values",
    },
    "ops.ragged.ragged_math_ops": {
        "ragged": "range",
    },
    "ops.ragged.ragged_squeeze_op": {
        "": "RaggedTensor",
    },
    "ops.ragged.ragged_string_ops": {
        "compat.v1": "string_split",
        "compat.v1.strings": "strings_split_v1=split",
        "strings": "ngrams string_bytes_split=bytes_split string_split_v2=split unicode_decode "
            "unicode_decode_with_offsets unicode_encode unicode_split unicode_split_with_offsets",
    },
    "ops.ragged.ragged_tensor": {
        "": "RaggedTensor RaggedTensorSpec",
        "compat.v1.experimental": "RowPartition",
    },
    "ops.ragged.ragged_tensor_value": {
        "compat.v1.experimental": "RowPartition",
        "compat.v1.ragged": "RaggedTensorValue",
    },
    "ops.ragged.row_partition": {
        "compat.v1.experimental": "RowPartition",
    },
    "ops.ragged.segment_id_ops": {
        "ragged": "row_splits_to_segment_ids segment_ids_to_row_splits",
    },
    "ops.random_crop_ops": {
        "image": "random_crop stateless_random_crop",
    },
    "ops.random_ops": {
        "compat.v1": "multinomial random_poisson",
        "random": "categorical random_gamma=gamma random_normal=normal random_poisson_v2=poisson "
            "random_shuffle=shuffle random_uniform=uniform truncated_normal",
        "raw": "random_gamma_grad random_standard_normal random_uniform_int",
    },
    "ops.random_ops_util": {
        "random": "Algorithm",
    },
    "ops.resource_variable_ops": {
        "__internal__.ops": "get_resource_handle_data is_resource_variable",
        "raw": "assign_add_variable_op assign_sub_variable_op assign_variable_op consume_mutex_lock "
            "destroy_resource_op disable_copy_on_read mutex_lock mutex_v2 read_variable_op resource_gather "
            "resource_gather_nd resource_scatter_add resource_scatter_div resource_scatter_max resource_scatter_min "
            "resource_scatter_mul resource_scatter_sub resource_scatter_update var_handle_op var_is_initialized_op",
    },
    "ops.resource_variables_toggle": {
        "compat.v1": "disable_resource_variables enable_resource_variables resource_variables_enabled",
    },
    "ops.rnn": {
        "compat.v1.nn": "bidirectional_dynamic_rnn dynamic_rnn raw_rnn static_bidirectional_rnn static_rnn "
            "static_state_saving_rnn",
    },
    "ops.script_ops": {
        "": "eager_py_func=py_function numpy_function",
        "compat.v1": "py_func",
    },
    "ops.sdca_ops": {
        "compat.v1.train": "sdca_fprint sdca_optimizer sdca_shrink_l1",
        "raw": "sdca_optimizer_v2",
    },
    "ops.session_ops": {
        "compat.v1": "delete_session_tensor get_session_handle get_session_tensor",
    },
    "ops.sets": {
        "sets": "set_difference=difference set_intersection=intersection set_size=size set_union=union",
    },
    "ops.sets_impl": {
        "sets": "set_difference=difference set_intersection=intersection set_size=size set_union=union",
    },
    "ops.signal.dct_ops": {
        "signal": "dct idct",
    },
    "ops.signal.fft_ops": {
        "signal": "fft fft2d fft3d fftnd fftshift ifft ifft2d ifft3d ifftnd ifftshift irfft irfft2d irfft3d irfftnd "
            "rfft rfft2d rfft3d rfftnd",
    },
    "ops.signal.mel_ops": {
        "signal": "linear_to_mel_weight_matrix",
    },
    "ops.signal.mfcc_ops": {
        "signal": "mfccs_from_log_mel_spectrograms",
    },
    "ops.signal.reconstruction_ops": {
        "signal": "overlap_and_add",
    },
    "ops.signal.shape_ops": {
        "signal": "frame",
    },
    "ops.signal.signal": {
        "signal": "dct fft fft2d fft3d fftshift frame hamming_window hann_window idct ifft ifft2d ifft3d ifftshift "
            "inverse_stft inverse_stft_window_fn irfft irfft2d irfft3d linear_to_mel_weight_matrix "
            "mfccs_from_log_mel_spectrograms overlap_and_add rfft rfft2d rfft3d stft",
    },
    "ops.signal.spectral_ops": {
        "signal": "inverse_mdct inverse_stft inverse_stft_window_fn mdct stft",
    },
    "ops.signal.window_ops": {
        "signal": "hamming_window hann_window kaiser_bessel_derived_window kaiser_window vorbis_window",
    },
    "ops.sort_ops": {
        "": "argsort sort",
    },
    "ops.sparse_ops": {
        "compat.v1": "serialize_many_sparse serialize_sparse sparse_add sparse_concat sparse_merge "
            "sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum sparse_reduce_sum_sparse sparse_split "
            "sparse_to_dense",
        "compat.v1.math": "unary_op=bessel_i1e",
        "io": "deserialize_many_sparse serialize_many_sparse_v2=serialize_many_sparse "
            "serialize_sparse_v2=serialize_sparse",
        "raw": "add_many_sparse_to_tensors_map add_sparse_to_tensors_map sparse_add_grad sparse_cross_v2 "
            "sparse_dense_cwise_div sparse_dense_cwise_mul sparse_fill_empty_rows_grad sparse_slice_grad "
            "sparse_sparse_maximum sparse_sparse_minimum sparse_tensor_dense_add sparse_tensor_dense_mat_mul "
            "take_many_sparse_from_tensors_map",
        "sparse": "from_dense map_values sparse_add_v2=add sparse_bincount=bincount sparse_concat_v2=concat "
            "sparse_cross=cross sparse_cross_hashed=cross_hashed sparse_expand_dims=expand_dims sparse_eye=eye "
            "sparse_fill_empty_rows=fill_empty_rows sparse_maximum=maximum sparse_minimum=minimum "
            "sparse_reduce_max_v2=reduce_max sparse_reduce_sum_v2=reduce_sum sparse_reorder=reorder "
            "sparse_reset_shape=reset_shape sparse_reshape=reshape sparse_retain=retain sparse_slice=slice "
            "sparse_softmax=softmax sparse_split_v2=split sparse_tensor_dense_matmul=sparse_dense_matmul "
            "sparse_tensor_to_dense=to_dense sparse_to_indicator=to_indicator sparse_transpose=transpose",
    },
    "ops.special_math_ops": {
        "": "einsum",
        "math": "bessel_i0 bessel_i0e bessel_i1 bessel_i1e lbeta",
        "math.special": "bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1 dawsn "
            "expint fresnel_cos fresnel_sin spence",
    },
    "ops.standard_ops": {
        "": "AggregationMethod Assert CriticalSection GradientTape TensorArray TensorArraySpec UnconnectedGradients "
            "Variable VariableAggregationV2=VariableAggregation VariableSynchronization add_n argmax_v2=argmax "
            "argmin_v2=argmin argsort as_string atan2 batch_function=nondifferentiable_batch_function "
            "batch_to_space_v2=batch_to_space bitcast boolean_mask_v2=boolean_mask broadcast_dynamic_shape "
            "broadcast_static_shape broadcast_to cast clip_by_global_norm clip_by_norm complex concat cumsum "
            "custom_gradient dynamic_partition dynamic_stitch edit_distance eig eigvals equal "
            "extract_volume_patches eye fill fingerprint foldl_v2=foldl foldr_v2=foldr gather_nd_v2=gather_nd "
            "gather_v2=gather greater greater_equal group guarantee_const histogram_fixed_width "
            "histogram_fixed_width_bins identity_n less less_equal linspace linspace_nd=linspace logical_and "
            "logical_not logical_or matrix_square_root meshgrid no_op norm_v2=norm not_equal one_hot ones "
            "pad_v2=pad parallel_stack pow range rank reduce_all reduce_any repeat required_space_to_batch_paddings "
            "reverse reverse_sequence_v2=reverse_sequence reverse_v2=reverse roll saturate_cast "
            "scalar_mul_v2=scalar_mul scan_v2=scan scatter_nd searchsorted sequence_mask shape_n shape_v2=shape "
            "size_v2=size slice sort space_to_batch_nd space_to_batch_v2=space_to_batch strided_slice subtract "
            "tensor_scatter_add=tensor_scatter_nd_add tensor_scatter_max=tensor_scatter_nd_max "
            "tensor_scatter_min=tensor_scatter_nd_min tensor_scatter_nd_update "
            "tensor_scatter_sub=tensor_scatter_nd_sub tensordot tile timestamp truediv unique unique_with_counts "
            "unravel_index vectorized_map where_v2=where zeros",
        "autodiff": "ForwardAccumulator",
        "compat.v1": "ConditionalAccumulator ConditionalAccumulatorBase Constant=constant_initializer "
            "FixedLengthRecordReader GlorotNormal=glorot_normal_initializer "
            "GlorotUniform=glorot_uniform_initializer IdentityReader LMDBReader Ones=ones_initializer "
            "Orthogonal=orthogonal_initializer Print RandomNormal=random_normal_initializer ReaderBase "
            "SparseConditionalAccumulator TFRecordReader TextLineReader "
            "UniformUnitScaling=uniform_unit_scaling_initializer VariableAggregation VariableScope "
            "VarianceScaling=variance_scaling_initializer WholeFileReader Zeros=zeros_initializer "
            "add_check_numerics_ops all_variables arg_max arg_min argmax argmin assert_equal assert_greater "
            "assert_greater_equal assert_integer assert_less assert_less_equal assert_near assert_negative "
            "assert_non_negative assert_non_positive assert_none_equal assert_positive assert_rank "
            "assert_rank_at_least assert_rank_in assert_scalar assert_type assert_variables_initialized assign "
            "assign_add assign_sub batch_gather batch_to_space batch_to_space_nd boolean_mask case "
            "clip_by_average_norm constant_initializer count_nonzero count_up_to create_partitioned_variables "
            "decode_csv decode_raw_v1=decode_raw delete_session_tensor div fixed_size_partitioner foldl foldr "
            "gather gather_nd get_local_variable get_session_handle get_session_tensor get_variable "
            "get_variable_scope global_variables global_variables_initializer glorot_normal_initializer "
            "glorot_uniform_initializer gradients hessians initialize_all_tables initialize_all_variables "
            "initialize_local_variables initialize_variables local_variables local_variables_initializer "
            "make_template min_max_variable_partitioner model_variables moving_average_variables multinomial "
            "no_regularizer norm ones_initializer orthogonal_initializer pad parse_example parse_single_example "
            "placeholder placeholder_with_default py_func quantize_v2 random_normal_initializer random_poisson "
            "random_uniform_initializer reduce_all_v1=reduce_all reduce_any_v1=reduce_any reduce_join "
            "reduce_logsumexp_v1=reduce_logsumexp report_uninitialized_variables reverse_sequence scan scatter_add "
            "scatter_div scatter_max scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update "
            "scatter_sub scatter_update serialize_many_sparse serialize_sparse setdiff1d shape size space_to_batch "
            "sparse_add sparse_concat sparse_matmul sparse_merge sparse_placeholder sparse_reduce_max "
            "sparse_reduce_max_sparse sparse_reduce_sum sparse_reduce_sum_sparse sparse_segment_mean "
            "sparse_segment_sqrt_n sparse_segment_sum sparse_split sparse_to_dense "
            "string_to_hash_bucket_v1=string_to_hash_bucket string_to_number_v1=string_to_number "
            "substr_deprecated=substr tables_initializer to_bfloat16 to_complex128 to_complex64 to_double to_float "
            "to_int32 to_int64 trainable_variables truncated_normal_initializer tuple "
            "uniform_unit_scaling_initializer variable_axis_size_partitioner variable_op_scope variable_scope "
            "variables_initializer variance_scaling_initializer verify_tensor_all_finite where zeros_initializer",
        "compat.v1.debugging": "assert_shapes check_numerics",
        "compat.v1.image": "extract_image_patches extract_image_patches_v2=extract_patches",
        "compat.v1.initializers": "Identity=identity he_normal he_uniform identity_initializer=identity "
            "lecun_normal lecun_uniform",
        "compat.v1.linalg": "matmul matrix_diag=diag matrix_diag_part=diag_part matrix_transpose tensor_diag_part",
        "compat.v1.manip": "reshape",
        "compat.v1.math": "abs acos acosh add angle asin asinh atan atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e "
            "ceil conj cos cosh digamma div_no_nan=divide_no_nan divide erf erfc erfcinv erfinv exp expm1 floor "
            "floor_mod=floormod floormod imag lgamma log log1p log_sigmoid maximum minimum multiply multiply_no_nan "
            "ndtri neg=negative negative real reciprocal reciprocal_no_nan reduce_euclidean_norm "
            "reduce_max_v1=reduce_max reduce_mean_v1=reduce_mean reduce_min_v1=reduce_min "
            "reduce_prod_v1=reduce_prod reduce_std reduce_sum_v1=reduce_sum reduce_variance rint round rsqrt "
            "scalar_mul sigmoid sign sin sinh softplus sqrt square tan tanh unary_op=bessel_i1e",
        "compat.v1.math.special": "bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 "
            "bessel_y1 dawsn expint fresnel_cos fresnel_sin spence",
        "compat.v1.nn": "depth_to_space space_to_depth",
        "compat.v1.random": "stateless_multinomial",
        "compat.v1.strings": "string_length=length substr",
        "debugging": "assert_proper_iterable assert_same_float_dtype is_numeric_tensor "
            "verify_tensor_all_finite_v2=assert_all_finite",
        "io": "FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature VarLenFeature decode_base64 "
            "decode_compressed decode_csv_v2=decode_csv decode_json_example decode_proto decode_raw "
            "deserialize_many_sparse encode_base64 encode_proto matching_files parse_example_v2=parse_example "
            "parse_sequence_example parse_single_example_v2=parse_single_example parse_single_sequence_example "
            "parse_tensor read_file serialize_many_sparse_v2=serialize_many_sparse "
            "serialize_sparse_v2=serialize_sparse write_file",
        "linalg": "cholesky cholesky_solve cross diag=tensor_diag global_norm log_matrix_determinant=slogdet lu "
            "matrix_band_part=band_part matrix_determinant=det matrix_inverse=inv matrix_logarithm=logm "
            "matrix_set_diag=set_diag matrix_solve=solve matrix_solve_ls=lstsq "
            "matrix_triangular_solve=triangular_solve matvec qr self_adjoint_eig=eigh self_adjoint_eigvals=eigvalsh "
            "svd",
        "math": "accumulate_n betainc confusion_matrix count_nonzero_v2=count_nonzero cumprod cumulative_logsumexp "
            "floordiv igamma igammac invert_permutation is_finite is_inf is_nan is_non_decreasing "
            "is_strictly_increasing lbeta logical_xor next_after=nextafter nextafter polygamma polyval segment_max "
            "segment_mean segment_min segment_prod segment_sum sobol_sample squared_difference unsorted_segment_max "
            "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n "
            "unsorted_segment_sum xdivy xlog1py xlogy zeta",
        "quantization": "dequantize fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient "
            "fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient "
            "fake_quant_with_min_max_vars_per_channel fake_quant_with_min_max_vars_per_channel_gradient quantize "
            "quantize_and_dequantize quantize_and_dequantize_v2 quantized_concat",
        "queue": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
        "random": "categorical fold_in random_gamma=gamma random_normal=normal random_poisson_v2=poisson "
            "random_shuffle=shuffle random_uniform=uniform split stateless_categorical "
            "stateless_parameterized_truncated_normal stateless_random_binomial=stateless_binomial "
            "stateless_random_gamma=stateless_gamma stateless_random_normal=stateless_normal "
            "stateless_random_poisson=stateless_poisson stateless_random_uniform=stateless_uniform "
            "stateless_truncated_normal truncated_normal",
        "random.experimental": "index_shuffle stateless_shuffle",
        "raw": "accumulate_nv2 accumulator_apply_gradient accumulator_num_accumulated accumulator_set_global_step "
            "accumulator_take_gradient add_many_sparse_to_tensors_map add_sparse_to_tensors_map add_v2 "
            "approximate_equal banded_triangular_solve barrier barrier_close barrier_incomplete_size "
            "barrier_insert_many barrier_ready_size barrier_take_many batch batch_cholesky batch_cholesky_grad "
            "batch_mat_mul batch_mat_mul_v2 batch_mat_mul_v3 batch_matrix_band_part batch_matrix_determinant "
            "batch_matrix_diag batch_matrix_diag_part batch_matrix_inverse batch_matrix_set_diag batch_matrix_solve "
            "batch_matrix_solve_ls batch_matrix_triangular_solve batch_self_adjoint_eig batch_self_adjoint_eig_v2 "
            "batch_svd broadcast_args broadcast_gradient_args bucketize check_numerics_v2 cholesky_grad complex_abs "
            "concat_offset concat_v2 conditional_accumulator conjugate_transpose const debug_gradient_identity "
            "debug_gradient_ref_identity decode_padded_raw deep_copy dense_bincount diag_part einsum empty "
            "ensure_shape euclidean_norm fake_queue fifo_queue fifo_queue_v2 fixed_length_record_reader "
            "fixed_length_record_reader_v2 floor_div get_session_handle_v2 identity_reader identity_reader_v2 "
            "igamma_grad_a immutable_const inplace_add inplace_sub inplace_update inv inv_grad lin_space list_diff "
            "lmdb_reader lower_bound map_clear map_incomplete_size map_peek map_size map_stage map_unstage "
            "map_unstage_no_key mat_mul matrix_diag_part_v2 matrix_diag_part_v3 matrix_diag_v2 matrix_diag_v3 "
            "matrix_exponential matrix_set_diag_v2 matrix_set_diag_v3 mean merge_v2_checkpoints mirror_pad "
            "mirror_pad_grad mul mul_no_nan ordered_map_clear ordered_map_incomplete_size ordered_map_peek "
            "ordered_map_size ordered_map_stage ordered_map_unstage ordered_map_unstage_no_key pack "
            "padding_fifo_queue padding_fifo_queue_v2 parallel_concat parallel_dynamic_stitch "
            "parse_sequence_example_v2 placeholder_v2 prevent_gradient priority_queue priority_queue_v2 prod "
            "quantize_and_dequantize_v3 quantize_and_dequantize_v4 quantize_and_dequantize_v4_grad "
            "quantize_down_and_shrink_range quantized_add quantized_instance_norm quantized_mat_mul quantized_mul "
            "quantized_reshape queue_close queue_close_v2 queue_dequeue queue_dequeue_many queue_dequeue_many_v2 "
            "queue_dequeue_up_to queue_dequeue_up_to_v2 queue_dequeue_v2 queue_enqueue queue_enqueue_many "
            "queue_enqueue_many_v2 queue_enqueue_v2 queue_is_closed queue_is_closed_v2 queue_size queue_size_v2 "
            "ragged_bincount random_gamma_grad random_shuffle_queue random_shuffle_queue_v2 random_standard_normal "
            "random_uniform_int reader_num_records_produced reader_num_records_produced_v2 "
            "reader_num_work_units_completed reader_num_work_units_completed_v2 reader_read reader_read_up_to "
            "reader_read_up_to_v2 reader_read_v2 reader_reset reader_reset_v2 reader_restore_state "
            "reader_restore_state_v2 reader_serialize_state reader_serialize_state_v2 real_div realdiv=real_div "
            "reciprocal_grad record_input ref_identity remote_call requantization_range "
            "requantization_range_per_channel requantize requantize_per_channel resource_accumulator_apply_gradient "
            "resource_accumulator_num_accumulated resource_accumulator_set_global_step "
            "resource_accumulator_take_gradient resource_conditional_accumulator resource_strided_slice_assign "
            "restore restore_slice restore_v2 rsqrt_grad save save_slices save_v2 scatter_nd_non_aliasing_add "
            "segment_max_v2 segment_min_v2 segment_prod_v2 segment_sum_v2 select select_v2 self_adjoint_eig_v2 "
            "serialize_tensor sharded_filename sharded_filespec sigmoid_grad snapshot "
            "sparse_accumulator_apply_gradient sparse_accumulator_take_gradient sparse_add_grad "
            "sparse_conditional_accumulator sparse_cross_v2 sparse_dense_cwise_div sparse_dense_cwise_mul "
            "sparse_fill_empty_rows_grad sparse_mat_mul sparse_segment_mean_grad sparse_segment_mean_grad_v2 "
            "sparse_segment_mean_with_num_segments sparse_segment_sqrt_n_grad sparse_segment_sqrt_n_grad_v2 "
            "sparse_segment_sqrt_n_with_num_segments sparse_segment_sum_grad sparse_segment_sum_grad_v2 "
            "sparse_segment_sum_with_num_segments sparse_slice_grad sparse_sparse_maximum sparse_sparse_minimum "
            "sparse_tensor_dense_add sparse_tensor_dense_mat_mul split_v sqrt_grad stack_close stack_close_v2 "
            "stack_pop stack_pop_v2 stack_push stack_push_v2 stack_v2 stage stage_clear stage_peek stage_size "
            "static_regex_full_match static_regex_replace strided_slice_assign strided_slice_grad string_n_grams "
            "sub symbolic_gradient take_many_sparse_from_tensors_map tanh_grad tensor_array tensor_array_close "
            "tensor_array_close_v2 tensor_array_close_v3 tensor_array_concat tensor_array_concat_v2 "
            "tensor_array_concat_v3 tensor_array_gather tensor_array_gather_v2 tensor_array_gather_v3 "
            "tensor_array_grad tensor_array_grad_v2 tensor_array_grad_v3 tensor_array_grad_with_shape "
            "tensor_array_pack tensor_array_read tensor_array_read_v2 tensor_array_read_v3 tensor_array_scatter "
            "tensor_array_scatter_v2 tensor_array_scatter_v3 tensor_array_size tensor_array_size_v2 "
            "tensor_array_size_v3 tensor_array_split tensor_array_split_v2 tensor_array_split_v3 "
            "tensor_array_unpack tensor_array_v2 tensor_array_v3 tensor_array_write tensor_array_write_v2 "
            "tensor_array_write_v3 tensor_scatter_update tensor_strided_slice_update text_line_reader "
            "text_line_reader_v2 tf_record_reader tf_record_reader_v2 tile_grad tridiagonal_mat_mul "
            "tridiagonal_solve truncate_div truncate_mod truncatediv=truncate_div truncatemod=truncate_mod unbatch "
            "unbatch_grad unicode_decode unicode_decode_with_offsets unicode_encode unique_v2 unique_with_counts_v2 "
            "unpack unstage upper_bound whole_file_reader whole_file_reader_v2",
        "sparse": "from_dense map_values sampled_addmm sparse_add_v2=add sparse_bincount=bincount "
            "sparse_concat_v2=concat sparse_cross=cross sparse_cross_hashed=cross_hashed "
            "sparse_expand_dims=expand_dims sparse_eye=eye sparse_fill_empty_rows=fill_empty_rows sparse_mask=mask "
            "sparse_maximum=maximum sparse_minimum=minimum sparse_reduce_max_v2=reduce_max "
            "sparse_reduce_sum_v2=reduce_sum sparse_reorder=reorder sparse_reset_shape=reset_shape "
            "sparse_reshape=reshape sparse_retain=retain sparse_segment_mean_v2=segment_mean "
            "sparse_segment_sqrt_n_v2=segment_sqrt_n sparse_segment_sum_v2=segment_sum sparse_slice=slice "
            "sparse_softmax=softmax sparse_split_v2=split sparse_tensor_dense_matmul=sparse_dense_matmul "
            "sparse_tensor_to_dense=to_dense sparse_to_indicator=to_indicator sparse_transpose=transpose",
        "strings": "reduce_join_v2=reduce_join regex_full_match regex_replace string_format=format string_join=join "
            "string_length_v2=length string_lower=lower string_strip=strip string_to_hash_bucket=to_hash_bucket "
            "string_to_hash_bucket_fast=to_hash_bucket_fast string_to_hash_bucket_strong=to_hash_bucket_strong "
            "string_to_number=to_number string_upper=upper substr_v2=substr unicode_script unicode_transcode "
            "unsorted_segment_join",
    },
    "ops.state_ops": {
        "compat.v1": "assign assign_add assign_sub batch_scatter_update count_up_to scatter_add scatter_div "
            "scatter_max scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub "
            "scatter_update",
        "raw": "destroy_temporary_variable resource_count_up_to resource_scatter_nd_add resource_scatter_nd_max "
            "resource_scatter_nd_min resource_scatter_nd_sub resource_scatter_nd_update scatter_nd_max "
            "scatter_nd_min temporary_variable variable variable_v2",
    },
    "ops.stateful_random_ops": {
        "random": "Generator create_rng_state get_global_generator set_global_generator",
    },
    "ops.stateless_random_ops": {
        "compat.v1.random": "stateless_multinomial",
        "random": "fold_in split stateless_categorical stateless_parameterized_truncated_normal "
            "stateless_random_binomial=stateless_binomial stateless_random_gamma=stateless_gamma "
            "stateless_random_normal=stateless_normal stateless_random_poisson=stateless_poisson "
            "stateless_random_uniform=stateless_uniform stateless_truncated_normal",
        "random.experimental": "index_shuffle stateless_shuffle",
    },
    "ops.string_ops": {
        "": "as_string",
        "compat.v1": "reduce_join string_to_hash_bucket_v1=string_to_hash_bucket "
            "string_to_number_v1=string_to_number substr_deprecated=substr",
        "compat.v1.strings": "string_length=length substr",
        "io": "decode_base64 encode_base64",
        "raw": "static_regex_full_match static_regex_replace string_n_grams unicode_decode "
            "unicode_decode_with_offsets unicode_encode",
        "strings": "reduce_join_v2=reduce_join regex_full_match regex_replace string_format=format string_join=join "
            "string_length_v2=length string_lower=lower string_strip=strip string_to_hash_bucket=to_hash_bucket "
            "string_to_hash_bucket_fast=to_hash_bucket_fast string_to_hash_bucket_strong=to_hash_bucket_strong "
            "string_to_number=to_number string_upper=upper substr_v2=substr unicode_script unicode_transcode "
            "unsorted_segment_join",
    },
    "ops.structured.structured_array_ops": {
        "compat.v1.experimental": "RowPartition StructuredTensor",
    },
    "ops.structured.structured_tensor": {
        "compat.v1.experimental": "RowPartition StructuredTensor",
    },
    "ops.summary_ops_v2": {
        "compat.v1.summary": "all_v2_summary_ops initialize",
        "summary": "SummaryWriter create_file_writer_v2=create_file_writer create_noop_writer flush graph record_if "
            "should_record_summaries trace_export trace_off trace_on write",
        "summary.experimental": "get_step set_step summary_scope write_raw_pb",
    },
    "ops.template": {
        "compat.v1": "make_template",
    },
    "ops.tensor_array_ops": {
        "": "TensorArray TensorArraySpec",
    },
    "ops.unconnected_gradients": {
        "": "UnconnectedGradients",
    },
    "ops.variable_scope": {
        "": "VariableSynchronization variable_creator_scope",
        "compat.v1": "VariableAggregation VariableScope get_local_variable get_variable get_variable_scope "
            "no_regularizer variable_creator_scope_v1=variable_creator_scope variable_op_scope variable_scope",
    },
    "ops.variable_v1": {
        "compat.v1": "VariableV1=Variable is_variable_initialized",
    },
    "ops.variables": {
        "": "Variable VariableAggregationV2=VariableAggregation VariableSynchronization",
        "compat.v1": "VariableAggregation all_variables assert_variables_initialized global_variables "
            "global_variables_initializer initialize_all_variables initialize_local_variables initialize_variables "
            "local_variables local_variables_initializer model_variables moving_average_variables "
            "report_uninitialized_variables trainable_variables variables_initializer",
    },
    "ops.weights_broadcast_ops": {
        "__internal__.ops": "broadcast_weights",
    },
    "ops.while_loop": {
        "": "while_loop_v2=while_loop",
        "compat.v1": "while_loop",
    },
    "platform.app": {
        "compat.v1.app": "run",
    },
    "platform.benchmark": {
        "__internal__.test": "ParameterizedBenchmark",
        "test": "TensorFlowBenchmark=Benchmark benchmark_config",
    },
    "platform.gfile": {
        "compat.v1.gfile": "Copy DeleteRecursively Exists FastGFile Glob IsDirectory ListDirectory MakeDirs MkDir "
            "Remove Rename Stat Walk",
        "io.gfile": "GFile Open=GFile",
    },
    "platform.googletest": {
        "compat.v1.test": "StubOutForTesting",
        "test": "Benchmark",
    },
    "platform.resource_loader": {
        "compat.v1.resource_loader": "get_data_files_path get_path_to_datafile get_root_dir_with_all_resources "
            "load_resource readahead_file_path",
    },
    "platform.sysconfig": {
        "sysconfig": "get_build_info get_compile_flags get_include get_lib get_link_flags",
    },
    "platform.test": {
        "compat.v1.test": "StubOutForTesting compute_gradient compute_gradient_error get_temp_dir test_src_dir_path",
        "test": "Benchmark TestCase create_local_cluster disable_with_predicate gpu_device_name is_built_with_cuda "
            "is_built_with_gpu_support is_built_with_rocm is_built_with_xla is_cpu_target_available "
            "is_gpu_available main",
    },
    "platform.tf_logging": {
        "": "get_logger",
        "compat.v1.logging": "TaskLevelStatusMessage debug error fatal flush get_verbosity info log log_every_n "
            "log_first_n log_if set_verbosity vlog warn warning",
    },
    "profiler.model_analyzer": {
        "compat.v1.profiler": "Profiler advise profile",
    },
    "profiler.option_builder": {
        "compat.v1.profiler": "ProfileOptionBuilder",
    },
    "profiler.profiler": {
        "compat.v1.profiler": "AdviceProto GraphNodeProto MultiGraphNodeProto OpLogProto ProfileOptionBuilder "
            "Profiler advise profile write_op_log",
    },
    "profiler.profiler_client": {
        "profiler.experimental.client": "monitor trace",
    },
    "profiler.profiler_v2": {
        "profiler.experimental": "Profile ProfilerOptions start stop",
        "profiler.experimental.server": "start_server=start",
    },
    "profiler.tfprof_logger": {
        "compat.v1.profiler": "write_op_log",
    },
    "profiler.trace": {
        "profiler.experimental": "Trace",
    },
    "saved_model.builder": {
        "compat.v1.saved_model": "SavedModelBuilder=Builder",
    },
    "saved_model.builder_impl": {
        "compat.v1.saved_model": "SavedModelBuilder=Builder",
    },
    "saved_model.fingerprinting": {
        "saved_model.experimental": "Fingerprint read_fingerprint",
    },
    "saved_model.load": {
        "__internal__.saved_model": "load_partial",
        "saved_model": "load",
    },
    "saved_model.load_options": {
        "saved_model": "LoadOptions",
    },
    "saved_model.loader": {
        "compat.v1.saved_model": "load maybe_saved_model_directory=contains_saved_model",
    },
    "saved_model.loader_impl": {
        "__internal__.saved_model": "parse_saved_model",
        "compat.v1.saved_model": "load maybe_saved_model_directory=contains_saved_model",
        "saved_model": "contains_saved_model",
    },
    "saved_model.main_op": {
        "compat.v1.saved_model": "main_op_with_restore",
        "compat.v1.saved_model.main_op": "main_op",
    },
    "saved_model.main_op_impl": {
        "compat.v1.saved_model": "main_op_with_restore",
        "compat.v1.saved_model.main_op": "main_op",
    },
    "saved_model.method_name_updater": {
        "compat.v1.saved_model.signature_def_utils": "MethodNameUpdater",
    },
    "saved_model.nested_structure_coder": {
        "__internal__.saved_model": "decode_proto encode_structure",
    },
    "saved_model.revived_types": {
        "__internal__.saved_model.load": "VersionedTypeRegistration get_setter register_revived_type "
            "registered_identifiers",
    },
    "saved_model.save": {
        "saved_model": "save",
    },
    "saved_model.save_options": {
        "saved_model": "SaveOptions",
        "saved_model.experimental": "VariablePolicy",
    },
    "saved_model.saved_model": {
        "compat.v1.saved_model": "simple_save",
        "saved_model": "load save",
        "saved_model.experimental": "Fingerprint read_fingerprint",
    },
    "saved_model.signature_def_utils": {
        "compat.v1.saved_model": "build_signature_def classification_signature_def is_valid_signature "
            "predict_signature_def regression_signature_def",
    },
    "saved_model.signature_def_utils_impl": {
        "compat.v1.saved_model": "build_signature_def classification_signature_def is_valid_signature "
            "predict_signature_def regression_signature_def",
    },
    "saved_model.simple_save": {
        "compat.v1.saved_model": "simple_save",
    },
    "saved_model.utils": {
        "compat.v1.saved_model": "build_tensor_info get_tensor_from_tensor_info",
    },
    "saved_model.utils_impl": {
        "compat.v1.saved_model": "build_tensor_info get_tensor_from_tensor_info",
    },
    "summary.summary": {
        "compat.v1": "Event SessionLog Summary",
        "compat.v1.summary": "FileWriter FileWriterCache SummaryDescription TaggedRunMetadata audio "
            "get_summary_description histogram image merge merge_all scalar tensor_summary text",
    },
    "summary.summary_iterator": {
        "compat.v1.train": "summary_iterator",
    },
    "summary.tb_summary": {
        "summary": "audio histogram image scalar text",
    },
    "summary.writer.writer": {
        "compat.v1.summary": "FileWriter",
    },
    "summary.writer.writer_cache": {
        "compat.v1.summary": "FileWriter FileWriterCache",
    },
    "trackable.asset": {
        "saved_model": "Asset",
    },
    "trackable.autotrackable": {
        "__internal__.tracking": "AutoTrackable",
    },
    "trackable.base": {
        "__internal__.tracking": "CheckpointInitialValue CheckpointInitialValueCallable Trackable "
            "TrackableReference no_automatic_dependency_tracking",
    },
    "trackable.base_delegate": {
        "__internal__.tracking": "DelegatingTrackableMixin",
    },
    "trackable.data_structures": {
        "__internal__.tracking": "TrackableDataStructure sticky_attribute_assignment wrap_or_unwrap=wrap",
    },
    "trackable.python_state": {
        "train.experimental": "PythonState",
    },
    "trackable.resource": {
        "saved_model.experimental": "TrackableResource",
    },
    "training.adadelta": {
        "compat.v1.train": "AdadeltaOptimizer",
    },
    "training.adagrad": {
        "compat.v1.train": "AdagradOptimizer",
    },
    "training.adagrad_da": {
        "compat.v1.train": "AdagradDAOptimizer",
    },
    "training.adam": {
        "compat.v1.train": "AdamOptimizer",
    },
    "training.basic_loops": {
        "compat.v1.train": "basic_train_loop",
    },
    "training.basic_session_run_hooks": {
        "compat.v1": "SessionLog Summary",
        "compat.v1.summary": "SummaryWriterCache=FileWriterCache",
        "compat.v1.train": "CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook "
            "GlobalStepWaiterHook LoggingTensorHook NanLossDuringTrainingError NanTensorHook ProfilerHook "
            "SecondOrStepTimer SessionRunArgs StepCounterHook StopAtStepHook SummarySaverHook",
    },
    "training.checkpoint_utils": {
        "compat.v1.train": "init_from_checkpoint",
        "train": "checkpoints_iterator list_variables load_checkpoint load_variable",
    },
    "training.coordinator": {
        "compat.v1.train": "LooperThread",
        "train": "Coordinator",
    },
    "training.device_setter": {
        "compat.v1.train": "replica_device_setter",
    },
    "training.experimental.loss_scale": {
        "compat.v1.mixed_precision": "DynamicLossScale FixedLossScale LossScale",
    },
    "training.experimental.loss_scale_optimizer": {
        "compat.v1.mixed_precision": "MixedPrecisionLossScaleOptimizer",
    },
    "training.experimental.mixed_precision": {
        "__internal__.mixed_precision": "register_loss_scale_wrapper",
        "compat.v1.mixed_precision": ""
            "disable_mixed_precision_graph_rewrite_v1=disable_mixed_precision_graph_rewrite "
            "enable_mixed_precision_graph_rewrite_v1=enable_mixed_precision_graph_rewrite",
    },
    "training.experimental.mixed_precision_global_state": {
        "__internal__.train": "is_mixed_precision_graph_rewrite_enabled set_using_mixed_precision_policy",
    },
    "training.ftrl": {
        "compat.v1.train": "FtrlOptimizer",
    },
    "training.gradient_descent": {
        "compat.v1.train": "GradientDescentOptimizer",
    },
    "training.input": {
        "compat.v1.train": "batch batch_join input_producer limit_epochs maybe_batch maybe_batch_join "
            "maybe_shuffle_batch maybe_shuffle_batch_join range_input_producer shuffle_batch shuffle_batch_join "
            "slice_input_producer string_input_producer",
        "io": "match_filenames_once",
    },
    "training.learning_rate_decay": {
        "compat.v1.train": "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay "
            "linear_cosine_decay natural_exp_decay noisy_linear_cosine_decay piecewise_constant polynomial_decay",
    },
    "training.momentum": {
        "compat.v1.train": "MomentumOptimizer",
    },
    "training.monitored_session": {
        "compat.v1.train": "ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold SessionCreator "
            "SingularMonitoredSession WorkerSessionCreator",
    },
    "training.moving_averages": {
        "__internal__.train": "assign_moving_average",
        "train": "ExponentialMovingAverage",
    },
    "training.optimizer": {
        "compat.v1.train": "Optimizer",
    },
    "training.proximal_adagrad": {
        "compat.v1.train": "ProximalAdagradOptimizer",
    },
    "training.proximal_gradient_descent": {
        "compat.v1.train": "ProximalGradientDescentOptimizer",
    },
    "training.py_checkpoint_reader": {
        "compat.v1.train": "NewCheckpointReader",
    },
    "training.quantize_training": {
        "compat.v1.train": "do_quantize_training_on_graphdef",
    },
    "training.queue_runner": {
        "compat.v1.train": "QueueRunner add_queue_runner start_queue_runners",
    },
    "training.queue_runner_impl": {
        "compat.v1.train": "QueueRunner add_queue_runner start_queue_runners",
    },
    "training.rmsprop": {
        "compat.v1.train": "RMSPropOptimizer",
    },
    "training.saver": {
        "compat.v1.train": "Saver checkpoint_exists export_meta_graph generate_checkpoint_state_proto "
            "get_checkpoint_mtimes import_meta_graph remove_checkpoint update_checkpoint_state",
        "train": "get_checkpoint_state latest_checkpoint",
    },
    "training.saving.saveable_object_util": {
        "__internal__.tracking": "saveable_objects_from_trackable",
    },
    "training.server_lib": {
        "config.experimental": "ClusterDeviceFilters",
        "distribute": "Server",
        "train": "ClusterSpec",
    },
    "training.session_manager": {
        "compat.v1.train": "SessionManager",
    },
    "training.session_run_hook": {
        "compat.v1.train": "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues",
    },
    "training.summary_io": {
        "compat.v1.summary": "SummaryWriterCache=FileWriterCache",
        "compat.v1.train": "summary_iterator",
    },
    "training.supervisor": {
        "compat.v1": "SessionLog Summary",
        "compat.v1.train": "Supervisor",
    },
    "training.sync_replicas_optimizer": {
        "compat.v1.train": "SyncReplicasOptimizer",
    },
    "training.training": {
        "compat.v1.mixed_precision": "MixedPrecisionLossScaleOptimizer "
            "enable_mixed_precision_graph_rewrite_v1=enable_mixed_precision_graph_rewrite",
        "compat.v1.train": "AdadeltaOptimizer AdagradDAOptimizer AdagradOptimizer AdamOptimizer CheckpointSaverHook "
            "CheckpointSaverListener ChiefSessionCreator FeedFnHook FinalOpsHook FtrlOptimizer GlobalStepWaiterHook "
            "GradientDescentOptimizer LoggingTensorHook LooperThread MomentumOptimizer MonitoredSession "
            "MonitoredTrainingSession NanLossDuringTrainingError NanTensorHook NewCheckpointReader Optimizer "
            "ProfilerHook ProximalAdagradOptimizer ProximalGradientDescentOptimizer QueueRunner RMSPropOptimizer "
            "Saver SaverDef Scaffold SecondOrStepTimer SessionCreator SessionManager SessionRunArgs "
            "SessionRunContext SessionRunHook SessionRunValues SingularMonitoredSession StepCounterHook "
            "StopAtStepHook SummarySaverHook Supervisor SyncReplicasOptimizer VocabInfo WorkerSessionCreator "
            "add_queue_runner assert_global_step basic_train_loop batch batch_join checkpoint_exists cosine_decay "
            "cosine_decay_restarts create_global_step exponential_decay export_meta_graph "
            "generate_checkpoint_state_proto get_checkpoint_mtimes get_global_step get_or_create_global_step "
            "global_step import_meta_graph init_from_checkpoint input_producer inverse_time_decay limit_epochs "
            "linear_cosine_decay maybe_batch maybe_batch_join maybe_shuffle_batch maybe_shuffle_batch_join "
            "natural_exp_decay noisy_linear_cosine_decay piecewise_constant polynomial_decay range_input_producer "
            "replica_device_setter sdca_fprint sdca_optimizer sdca_shrink_l1 shuffle_batch shuffle_batch_join "
            "slice_input_producer start_queue_runners string_input_producer summary_iterator "
            "update_checkpoint_state warm_start",
        "distribute": "Server",
        "io": "match_filenames_once write_graph",
        "train": "BytesList Checkpoint CheckpointView ClusterDef ClusterSpec Coordinator Example "
            "ExponentialMovingAverage Feature FeatureList FeatureLists Features FloatList Int64List JobDef "
            "SequenceExample ServerDef get_checkpoint_state latest_checkpoint list_variables load_checkpoint "
            "load_variable",
        "train.experimental": "PythonState",
    },
    "training.training_util": {
        "compat.v1.train": "assert_global_step create_global_step get_global_step get_or_create_global_step "
            "global_step",
        "io": "write_graph",
    },
    "training.warm_starting_util": {
        "compat.v1.train": "VocabInfo warm_start",
    },
    "types.core": {
        "__internal__.types": "Tensor",
        "types.experimental": "AtomicFunction Callable ConcreteFunction FunctionType "
            "PolymorphicFunction=GenericFunction TensorLike",
    },
    "types.data": {
        "__internal__.types.data": "DatasetV2=Dataset",
        "compat.v1.__internal__.types.data": "DatasetV1=Dataset",
    },
    "types.distribute": {
        "distribute": "DistributedDatasetInterface=DistributedDataset "
            "DistributedIteratorInterface=DistributedIterator DistributedValues",
        "types.experimental.distributed": "Mirrored PerReplica",
    },
    "types.trace": {
        "types.experimental": "SupportsTracingProtocol TraceType",
    },
    "util.compat": {
        "compat": "as_bytes as_str as_str_any as_text path_to_str",
    },
    "util.dispatch": {
        "__internal__.dispatch": "GlobalOpDispatcher OpDispatcher add_dispatch_support",
        "compat.v1.experimental": "dispatch_for_api dispatch_for_binary_elementwise_apis "
            "dispatch_for_binary_elementwise_assert_apis dispatch_for_unary_elementwise_apis "
            "unregister_dispatch_for",
    },
    "util.keras_deps": {
        "__internal__": "register_call_context_function register_clear_session_function "
            "register_get_session_function register_load_model_function",
    },
    "util.nest": {
        "__internal__.nest": "flatten_up_to get_traverse_shallow_structure is_attrs is_mapping list_to_tuple "
            "map_structure_up_to yield_flat_paths",
        "nest": "assert_same_structure flatten is_nested map_structure pack_sequence_as",
    },
    "util.tf_decorator": {
        "__internal__.decorator": "make_decorator unwrap",
    },
    "util.tf_decorator_export": {
        "__internal__.decorator": "make_decorator unwrap",
    },
    "util.traceback_utils": {
        "debugging": "disable_traceback_filtering enable_traceback_filtering is_traceback_filtering_enabled",
    },
}
