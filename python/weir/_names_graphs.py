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
