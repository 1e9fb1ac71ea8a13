"""Which messages and enums the generated modules of TensorFlow hold (`tensorflow.core.framework.graph_pb2`, ...)."""

MODULES = {
    "tensorflow.core.example.example_pb2": "Example SequenceExample",
    "tensorflow.core.example.feature_pb2": "BytesList FloatList Int64List Feature Features FeatureList FeatureLists",
    "tensorflow.core.framework.allocation_description_pb2": "AllocationDescription",
    "tensorflow.core.framework.attr_value_pb2": "AttrValue NameAttrList",
    "tensorflow.core.framework.cost_graph_pb2": "CostGraphDef",
    "tensorflow.core.framework.device_attributes_pb2": "InterconnectLink LocalLinks DeviceLocality DeviceAttributes",
    "tensorflow.core.framework.full_type_pb2": "FullTypeId FullTypeDef",
    "tensorflow.core.framework.function_pb2": "FunctionDefLibrary FunctionDef GradientDef RegisteredGradient",
    "tensorflow.core.framework.graph_debug_info_pb2": "GraphDebugInfo",
    "tensorflow.core.framework.graph_pb2": "GraphDef",
    "tensorflow.core.framework.kernel_def_pb2": "KernelDef KernelList",
    "tensorflow.core.framework.node_def_pb2": "NodeDef",
    "tensorflow.core.framework.op_def_pb2": "OpDef OpDeprecation OpList",
    "tensorflow.core.framework.resource_handle_pb2": "ResourceHandleProto",
    "tensorflow.core.framework.step_stats_pb2":
        "AllocationRecord AllocatorMemoryUsed NodeOutput MemoryStats NodeExecStats DeviceStepStats StepStats",
    "tensorflow.core.framework.summary_pb2": "DataClass SummaryDescription SummaryMetadata Summary HistogramProto",
    "tensorflow.core.framework.tensor_description_pb2": "TensorDescription",
    "tensorflow.core.framework.tensor_pb2": "TensorProto VariantTensorDataProto",
    "tensorflow.core.framework.tensor_shape_pb2": "TensorShapeProto",
    "tensorflow.core.framework.tensor_slice_pb2": "TensorSliceProto",
    "tensorflow.core.framework.types_pb2": "DataType SerializedDType",
    "tensorflow.core.framework.variable_pb2":
        "VariableSynchronization VariableAggregation VariableDef SaveSliceInfoDef",
    "tensorflow.core.framework.versions_pb2": "VersionDef",
    "tensorflow.core.protobuf.cluster_pb2": "JobDef ClusterDef",
    "tensorflow.core.protobuf.config_pb2":
        "GPUOptions OptimizerOptions GraphOptions ThreadPoolOptionProto SessionMetadata ConfigProto RunOptions "
        "RunMetadata TensorConnection CallableOptions BatchingOptions",
    "tensorflow.core.protobuf.control_flow_pb2": "ValuesDef ControlFlowContextDef CondContextDef WhileContextDef",
    "tensorflow.core.protobuf.debug_pb2": "DebugTensorWatch DebugOptions DebuggedSourceFile DebuggedSourceFiles",
    "tensorflow.core.protobuf.device_filters_pb2": "TaskDeviceFilters JobDeviceFilters ClusterDeviceFilters",
    "tensorflow.core.protobuf.fingerprint_pb2": "FingerprintDef",
    "tensorflow.core.protobuf.meta_graph_pb2": "MetaGraphDef CollectionDef TensorInfo SignatureDef AssetFileDef",
    "tensorflow.core.protobuf.named_tensor_pb2": "NamedTensorProto",
    "tensorflow.core.protobuf.queue_runner_pb2": "QueueRunnerDef",
    "tensorflow.core.protobuf.rewriter_config_pb2": "AutoParallelOptions ScopedAllocatorOptions RewriterConfig",
    "tensorflow.core.protobuf.saved_model_pb2": "SavedModel",
    "tensorflow.core.protobuf.saved_object_graph_pb2":
        "SavedObjectGraph SavedObject SavedUserObject SavedAsset SavedFunction CapturedTensor SavedConcreteFunction "
        "SavedBareConcreteFunction SavedConstant SavedVariable FunctionSpec SavedResource SaveableObject",
    "tensorflow.core.protobuf.saver_pb2": "SaverDef",
    "tensorflow.core.protobuf.struct_pb2":
        "StructuredValue ListValue TupleValue DictValue PairValue NamedTupleValue TensorSpecProto "
        "BoundedTensorSpecProto TypeSpecProto",
    "tensorflow.core.protobuf.tensor_bundle_pb2": "BundleHeaderProto BundleEntryProto",
    "tensorflow.core.protobuf.tensorflow_server_pb2": "ServerDef",
    "tensorflow.core.protobuf.trackable_object_graph_pb2": "TrackableObjectGraph RegisteredSaver",
    "tensorflow.core.protobuf.verifier_config_pb2": "VerifierConfig",
    "tensorflow.core.util.event_pb2": "Event SourceMetadata LogMessage SessionLog TaggedRunMetadata",
    "tensorflow.core.util.saved_tensor_slice_pb2": "SavedSliceMeta SavedTensorSliceMeta SavedSlice SavedTensorSlices",
    "tensorflow.python.training.checkpoint_state_pb2": "CheckpointState",
}
