"""Public names of protocol buffers, files of models, summaries and of what TensorFlow 1 programs use: a part of the
table in weir/_names.py."""

_P = "weir.framework.protos"

TABLE = {
    "make_tensor_proto": ("weir.framework.tensor_proto", "make_tensor_proto"),
    "make_ndarray": ("weir.framework.tensor_proto", "make_ndarray"),
    "compat.v1.io.tf_record_iterator": ("weir.io.records", "tf_record_iterator"),
    "compat.v1.python_io.tf_record_iterator": ("weir.io.records", "tf_record_iterator"),
    "compat.v1.python_io.TFRecordWriter": ("weir.io.records", "TFRecordWriter"),
    "compat.v1.python_io.TFRecordOptions": ("weir.io.records", "TFRecordOptions"),
    "compat.v1.python_io.TFRecordCompressionType": ("weir.io.records", "TFRecordCompressionType"),
    "compat.v1.io.TFRecordCompressionType": ("weir.io.records", "TFRecordCompressionType"),
    "compat.v1.parse_example": ("weir.io.parsing", "parse_example_v1"),
    "compat.v1.parse_single_example": ("weir.io.parsing", "parse_single_example_v1"),
    "compat.v1.io.parse_example": ("weir.io.parsing", "parse_example_v1"),
    "compat.v1.io.parse_single_example": ("weir.io.parsing", "parse_single_example_v1"),
    "compat.v1.io.parse_single_sequence_example": ("weir.io.parsing", "parse_single_sequence_example"),
}

for _name in ("FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature VarLenFeature parse_example "
              "parse_single_example parse_sequence_example parse_single_sequence_example").split():
    TABLE.setdefault("io." + _name, ("weir.io.parsing", _name))
    TABLE.setdefault("compat.v1." + _name, ("weir.io.parsing", _name))
for _name in ("AttrValue ConfigProto Event GPUOptions GraphDef GraphOptions HistogramProto LogMessage MetaGraphDef "
              "NameAttrList NodeDef OptimizerOptions RunMetadata RunOptions SessionLog Summary SummaryMetadata "
              "TensorInfo").split():
    TABLE["compat.v1." + _name] = (_P, _name)
for _name in "Event SessionLog Summary SummaryDescription TaggedRunMetadata".split():
    TABLE["compat.v1.summary." + _name] = (_P, _name)
for _name in ("BytesList ClusterDef Example Feature FeatureList FeatureLists Features FloatList Int64List JobDef "
              "SequenceExample ServerDef").split():
    TABLE["train." + _name] = (_P, _name)
for _name in "zeros ones constant random_uniform random_normal".split():
    TABLE[_name + "_initializer"] = ("weir.ops.initializers", _name + "_initializer")
TABLE["train.ClusterSpec"] = TABLE["compat.v1.train.ClusterSpec"] = ("weir.compat.v1.cluster", "ClusterSpec")
TABLE["train.Coordinator"] = ("weir.compat.v1.coordinator", "Coordinator")
TABLE["train.ExponentialMovingAverage"] = ("weir.compat.v1.schedules", "ExponentialMovingAverage")
TABLE["distribute.Server"] = ("weir.compat.v1.cluster", "Server")
TABLE["compat.v1.train.SaverDef"] = (_P, "SaverDef")
for _name in ("SummaryWriter audio create_file_writer create_noop_writer flush graph histogram image record_if scalar "
              "should_record_summaries text trace_export trace_off trace_on write").split():
    TABLE["summary." + _name] = ("weir.summary", _name)
for _name in "get_step set_step summary_scope write_raw_pb".split():
    TABLE["summary.experimental." + _name] = ("weir.summary", _name)
for _name in "Profile ProfilerOptions Trace start stop".split():
    TABLE["profiler.experimental." + _name] = ("weir.profiler", _name)
for _name, _home in (("save", "save"), ("load", "load"), ("contains_saved_model", "load"), ("Asset", "objects"),
                    ("SaveOptions", "objects"), ("LoadOptions", "objects")):
    TABLE["saved_model." + _name] = ("weir.saved_model." + _home, _name)
TABLE["saved_model.experimental.TrackableResource"] = ("weir.saved_model.objects", "TrackableResource")
TABLE["saved_model.experimental.Fingerprint"] = ("weir.saved_model.fingerprint", "Fingerprint")
TABLE["saved_model.experimental.read_fingerprint"] = ("weir.saved_model.fingerprint", "read_fingerprint")
TABLE["saved_model.experimental.VariablePolicy"] = ("weir.saved_model.objects", "VariablePolicy")
for _name in """ASSETS_DIRECTORY ASSETS_KEY CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES
        DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB DEFAULT_SERVING_SIGNATURE_DEF_KEY GPU PREDICT_INPUTS PREDICT_METHOD_NAME
        PREDICT_OUTPUTS REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS SAVED_MODEL_FILENAME_PB
        SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION SERVING TPU TRAINING VARIABLES_DIRECTORY
        VARIABLES_FILENAME LEGACY_INIT_OP_KEY MAIN_OP_KEY""".split():
    TABLE["saved_model." + _name] = ("weir.saved_model.constants", _name)
    _group = "signature_constants" if _name.startswith(("CLASSIFY", "PREDICT", "REGRESS", "DEFAULT")) else "tag_constants"
    if _group == "signature_constants" or _name in ("GPU", "TPU", "SERVING", "TRAINING"):
        TABLE[f"compat.v1.saved_model.{_group}.{_name}"] = ("weir.saved_model.constants", _name)
TABLE["compat.v1.saved_model.load_v2"] = TABLE["saved_model.load"]
for _name, _where in (("Builder", ""), ("build_signature_def", "signature_def_utils"), ("build_tensor_info", "utils"),
                      ("classification_signature_def", "signature_def_utils"), ("get_tensor_from_tensor_info", "utils"),
                      ("is_valid_signature", "signature_def_utils"), ("load", "loader"), ("main_op_with_restore", "main_op"),
                      ("maybe_saved_model_directory", "loader"), ("predict_signature_def", "signature_def_utils"),
                      ("regression_signature_def", "signature_def_utils"), ("simple_save", ""), ("main_op", "main_op")):
    if _name != "main_op":
        TABLE["compat.v1.saved_model." + _name] = ("weir.compat.v1.saved_models", _name)
    if _where:
        TABLE[f"compat.v1.saved_model.{_where}.{_name}"] = ("weir.compat.v1.saved_models", _name)
TABLE["compat.v1.saved_model.builder.SavedModelBuilder"] = ("weir.compat.v1.saved_models", "Builder")
for _name in "FIFOQueue RandomShuffleQueue PaddingFIFOQueue PriorityQueue QueueBase".split():
    TABLE["queue." + _name] = ("weir.compat.v1.queues", _name)
TABLE["AggregationMethod"] = ("weir.compat.v1.accumulators", "AggregationMethod")
TABLE["compat.v1.OpError"] = ("weir.framework.errors", "OpError")
for _name in "VERSION GIT_VERSION COMPILER_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER " \
             "GRAPH_DEF_VERSION_MIN_PRODUCER".split():
    TABLE["version." + _name] = TABLE["compat.v1." + _name] = ("weir.version", _name)
for _name in ("CXX11_ABI_FLAG CXX_VERSION MONOLITHIC_BUILD get_build_info get_compile_flags get_include get_lib "
              "get_link_flags").split():
    TABLE["sysconfig." + _name] = ("weir.sysconfig", _name)
for _name in ("Benchmark TestCase assert_equal_graph_def benchmark_config compute_gradient create_local_cluster "
              "disable_with_predicate gpu_device_name is_built_with_cuda is_built_with_gpu_support is_built_with_rocm "
              "is_built_with_xla is_cpu_target_available is_gpu_available main with_eager_op_as_function").split():
    TABLE["test." + _name] = ("weir.test", _name)
for _name in "get_temp_dir test_src_dir_path compute_gradient_error".split():
    TABLE["compat.v1.test." + _name] = ("weir.test", _name)
TABLE["get_logger"] = ("weir.compat.v1.logging", "get_logger")
TABLE["io.write_graph"] = ("weir.compat.v1.graph_io", "write_graph")
TABLE["io.match_filenames_once"] = ("weir.compat.v1.input", "match_filenames_once")
TABLE["train.TrackableView"] = ("weir.train.trackable_view", "TrackableView")
for _name in "ProfileOptionBuilder Profiler advise profile".split():
    TABLE["compat.v1.profiler." + _name] = ("weir.compat.v1.model_profile", _name)
for _name in ("enable_check_numerics", "disable_check_numerics"):
    TABLE["debugging." + _name] = TABLE["compat.v1.debugging." + _name] = ("weir.check_numerics", _name)
TABLE["compat.v1.name_scope"] = ("weir.framework.graph", "name_scope_v1")
TABLE["compat.v1.make_template"] = ("weir.compat.v1.template", "make_template")
