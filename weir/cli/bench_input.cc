#include "weir/cli/bench_input.h"

#include <unistd.h>

#include <filesystem>
#include <random>

#include "weir/base/varint.h"
#include "weir/io/record_writer.h"
#include "weir/proto/graph.pb.h"
#include "weir/runtime/session.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

constexpr int kRecords = 10'000;
constexpr int kBatch = 128;
constexpr int kVariables = 50;
constexpr int64_t kVariableSize = 2'500'000;

// A folder that goes with its last user.
class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::temp_directory_path() / Cat("weir_bench_", getpid(), "_", next_++)) {
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string File(std::string_view name) const { return (path_ / name).string(); }

 private:
  static inline int next_ = 0;
  const std::filesystem::path path_;
};

// The wire form of a tf.Example, written by hand: three features in a map.
class ExampleBytes {
 public:
  static std::string Field(int number, std::string_view bytes) {
    std::string out(1, static_cast<char>(number << 3 | 2));
    AppendVarint(bytes.size(), &out);
    return out.append(bytes);
  }
  static std::string Feature(std::string_view key, int list, std::string_view values) {
    return Field(1, Field(1, key) + Field(2, Field(list, values)));
  }
};

Status WriteRecords(const std::string& path) {
  std::mt19937_64 random(3);
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RecordWriter> writer, RecordWriter::Create(path));
  for (int i = 0; i < kRecords; ++i) {
    std::string image(784, '\0');
    for (char& byte : image) byte = static_cast<char>(random());
    std::string weights(50 * sizeof(float), '\0');
    for (size_t k = 0; k < 50; ++k) {
      const float value = static_cast<float>(random() >> 40) * 0x1p-24f;
      std::copy_n(reinterpret_cast<const char*>(&value), sizeof value, weights.data() + k * sizeof value);
    }
    using Bytes = ExampleBytes;
    const std::string features =
        Bytes::Feature("image", 1, Bytes::Field(1, image)) +
        Bytes::Feature("label", 3, Bytes::Field(1, std::string(1, static_cast<char>(i % 10)))) +
        Bytes::Feature("weights", 2, Bytes::Field(1, weights));
    WEIR_RETURN_IF_ERROR(writer->Write(Bytes::Field(1, features)));
  }
  return writer->Close();
}

DataType WireType(DType type) { return static_cast<DataType>(type); }

// Nodes of a graph or of a function's body, in wire form.
class NodeWriter {
 public:
  explicit NodeWriter(google::protobuf::RepeatedPtrField<NodeDef>* nodes) : nodes_(nodes) {}
  NodeDef* Add(const std::string& name, const std::string& op, std::initializer_list<std::string> inputs) {
    NodeDef* node = nodes_->Add();
    node->set_name(name);
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    return node;
  }
  // The tensors' types go into the attribute `dtype`, and the value with it.
  Status Constant(const std::string& name, const Tensor& value) {
    NodeDef* node = Add(name, "Const", {});
    (*node->mutable_attr())["dtype"].set_type(WireType(value.dtype()));
    return ToProto(value, (*node->mutable_attr())["value"].mutable_tensor());
  }

 private:
  google::protobuf::RepeatedPtrField<NodeDef>* const nodes_;
};

AttrValue& Attr(NodeDef* node, const std::string& name) { return (*node->mutable_attr())[name]; }
void SetType(NodeDef* node, const std::string& name, DType type) { Attr(node, name).set_type(WireType(type)); }
void SetTypes(NodeDef* node, const std::string& name, const std::vector<DType>& types) {
  auto* list = Attr(node, name).mutable_list();
  for (DType type : types) list->add_type(WireType(type));
}
// Unknown shapes, one for each component.
void SetSpec(NodeDef* node, const std::vector<DType>& types) {
  SetTypes(node, "output_types", types);
  auto* list = Attr(node, "output_shapes").mutable_list();
  for (size_t i = 0; i < types.size(); ++i) list->add_shape()->set_unknown_rank(true);
}
void SetStrings(NodeDef* node, const std::string& name, const std::vector<std::string>& texts) {
  auto* list = Attr(node, name).mutable_list();
  for (const std::string& text : texts) list->add_s(text);
}
void AddShape(NodeDef* node, const std::string& name, std::initializer_list<int64_t> dims) {
  auto* shape = Attr(node, name).mutable_list()->add_shape();
  for (int64_t dim : dims) shape->add_dim()->set_size(dim);
}

const std::vector<DType> kFeatureTypes = {DType::kString, DType::kInt64, DType::kFloat};
const std::vector<std::string> kFeatureKeys = {"image", "label", "weights"};

void SetDenseShapes(NodeDef* node) {
  AddShape(node, "dense_shapes", {});
  AddShape(node, "dense_shapes", {});
  AddShape(node, "dense_shapes", {50});
}

Status AddDefaults(NodeWriter& body) {
  WEIR_ASSIGN_OR_RETURN(Tensor text, Tensor::Zeros(DType::kString, Shape({0})));
  WEIR_ASSIGN_OR_RETURN(Tensor number, Tensor::Zeros(DType::kInt64, Shape({0})));
  WEIR_ASSIGN_OR_RETURN(Tensor floats, Tensor::Zeros(DType::kFloat, Shape({0})));
  WEIR_RETURN_IF_ERROR(body.Constant("no_image", text));
  WEIR_RETURN_IF_ERROR(body.Constant("no_label", number));
  return body.Constant("no_weights", floats);
}

void SetSignature(FunctionDef* function, const std::string& name, const std::vector<DType>& results,
                  const std::vector<std::string>& sources) {
  OpDef* signature = function->mutable_signature();
  signature->set_name(name);
  auto* argument = signature->add_input_arg();
  argument->set_name("record");
  argument->set_type(WireType(DType::kString));
  for (size_t i = 0; i < results.size(); ++i) {
    auto* result = signature->add_output_arg();
    result->set_name(Cat("result", i));
    result->set_type(WireType(results[i]));
    (*function->mutable_ret())[Cat("result", i)] = sources[i];
  }
}

// A batch of records into its features.
Status AddParseBatch(FunctionDef* function) {
  SetSignature(function, "parse_batch", kFeatureTypes,
               {"parse:dense_values:0", "parse:dense_values:1", "parse:dense_values:2"});
  NodeWriter body(function->mutable_node_def());
  WEIR_RETURN_IF_ERROR(AddDefaults(body));
  WEIR_ASSIGN_OR_RETURN(Tensor nothing, Tensor::Zeros(DType::kString, Shape({0})));
  WEIR_RETURN_IF_ERROR(body.Constant("names", nothing));
  WEIR_RETURN_IF_ERROR(body.Constant("keys", Tensor::Vector<std::string>(std::span<const std::string>(kFeatureKeys))));
  NodeDef* parse = body.Add("parse", "ParseExampleV2",
                            {"record", "names:output:0", "names:output:0", "keys:output:0", "names:output:0",
                             "no_image:output:0", "no_label:output:0", "no_weights:output:0"});
  SetTypes(parse, "Tdense", kFeatureTypes);
  Attr(parse, "num_sparse").set_i(0);
  for (const char* list : {"sparse_types", "ragged_value_types", "ragged_split_types"}) SetTypes(parse, list, {});
  SetDenseShapes(parse);
  return OkStatus();
}

// One record into 784 floats in [0, 1], its label and its weights.
Status AddDecodeOne(FunctionDef* function) {
  SetSignature(function, "decode_one", {DType::kFloat, DType::kInt64, DType::kFloat},
               {"scaled:z:0", "parse:dense_values:1", "parse:dense_values:2"});
  NodeWriter body(function->mutable_node_def());
  WEIR_RETURN_IF_ERROR(AddDefaults(body));
  NodeDef* parse = body.Add("parse", "ParseSingleExample",
                            {"record", "no_image:output:0", "no_label:output:0", "no_weights:output:0"});
  Attr(parse, "num_sparse").set_i(0);
  SetStrings(parse, "sparse_keys", {});
  SetStrings(parse, "dense_keys", kFeatureKeys);
  SetTypes(parse, "sparse_types", {});
  SetTypes(parse, "Tdense", kFeatureTypes);
  SetDenseShapes(parse);
  WEIR_RETURN_IF_ERROR(body.Constant("length", Tensor::Scalar<int32_t>(784)));
  SetType(body.Add("bytes", "DecodePaddedRaw", {"parse:dense_values:0", "length:output:0"}), "out_type", DType::kUInt8);
  NodeDef* cast = body.Add("floats", "Cast", {"bytes:output:0"});
  SetType(cast, "SrcT", DType::kUInt8);
  SetType(cast, "DstT", DType::kFloat);
  WEIR_RETURN_IF_ERROR(body.Constant("most", Tensor::Scalar(255.0f)));
  SetType(body.Add("scaled", "RealDiv", {"floats:y:0", "most:output:0"}), "T", DType::kFloat);
  return OkStatus();
}

NodeDef* AddParallelMap(NodeWriter& graph, const std::string& name, const std::string& input,
                        const std::string& function, const std::vector<DType>& types) {
  NodeDef* map = graph.Add(name, "ParallelMapDatasetV2", {input, "automatic"});
  Attr(map, "f").mutable_func()->set_name(function);
  SetTypes(map, "Targuments", {});
  SetSpec(map, types);
  Attr(map, "preserve_cardinality").set_b(true);
  return map;
}

NodeDef* AddBatch(NodeWriter& graph, const std::string& name, const std::string& input,
                  const std::vector<DType>& types) {
  NodeDef* batch = graph.Add(name, "BatchDatasetV2", {input, "batch_size", "no"});
  SetSpec(batch, types);
  return batch;
}

// Nodes "start" and "next" over the records of a file.
StatusOr<GraphDef> RecordsGraph(std::string_view name, const std::string& path) {
  GraphDef def;
  NodeWriter graph(def.mutable_node());
  WEIR_RETURN_IF_ERROR(graph.Constant("path", Tensor::Scalar(path)));
  WEIR_RETURN_IF_ERROR(graph.Constant("plain", Tensor::Scalar("")));
  WEIR_RETURN_IF_ERROR(graph.Constant("buffer", Tensor::Scalar<int64_t>(256 << 10)));
  WEIR_RETURN_IF_ERROR(graph.Constant("batch_size", Tensor::Scalar<int64_t>(kBatch)));
  WEIR_RETURN_IF_ERROR(graph.Constant("no", Tensor::Scalar(false)));
  WEIR_RETURN_IF_ERROR(graph.Constant("automatic", Tensor::Scalar<int64_t>(-1)));
  graph.Add("records", "TFRecordDataset", {"path", "plain", "buffer"});
  std::vector<DType> types = {DType::kString};
  if (name == "tfrecord_pipeline") {
    WEIR_RETURN_IF_ERROR(graph.Constant("all", Tensor::Scalar<int64_t>(kRecords)));
    WEIR_RETURN_IF_ERROR(graph.Constant("seed", Tensor::Scalar<int64_t>(0)));
    SetSpec(graph.Add("shuffled", "ShuffleDataset", {"records", "all", "seed", "seed"}), types);
    WEIR_RETURN_IF_ERROR(AddDecodeOne(def.mutable_library()->add_function()));
    types = {DType::kFloat, DType::kInt64, DType::kFloat};
    AddParallelMap(graph, "decoded", "shuffled", "decode_one", types);
    AddBatch(graph, "batches", "decoded", types);
    SetSpec(graph.Add("dataset", "PrefetchDataset", {"batches", "automatic"}), types);
  } else if (name == "tfrecord_parse") {
    AddBatch(graph, "batches", "records", types);
    WEIR_RETURN_IF_ERROR(AddParseBatch(def.mutable_library()->add_function()));
    types = kFeatureTypes;
    AddParallelMap(graph, "dataset", "batches", "parse_batch", types);
  } else {
    AddBatch(graph, "dataset", "records", types);
  }
  NodeDef* iterator = graph.Add("iterator", "IteratorV2", {});
  Attr(iterator, "shared_name").set_s("");
  Attr(iterator, "container").set_s("");
  SetSpec(iterator, types);
  graph.Add("start", "MakeIterator", {"dataset", "iterator"});
  SetSpec(graph.Add("next", "IteratorGetNext", {"iterator"}), types);
  return def;
}

StatusOr<std::function<Status()>> PrepareRecords(std::shared_ptr<Environment> environment, std::string_view name) {
  auto scratch = std::make_shared<ScratchFolder>();
  const std::string path = scratch->File("examples.tfrecord");
  WEIR_RETURN_IF_ERROR(WriteRecords(path));
  WEIR_ASSIGN_OR_RETURN(GraphDef def, RecordsGraph(name, path));
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Session> session, Session::Create(std::move(environment), SessionOptions()));
  WEIR_RETURN_IF_ERROR(session->Extend(def));
  Session::CallableSpec spec;
  spec.fetches = {"next:0"};
  WEIR_ASSIGN_OR_RETURN(Session::Callable next, session->MakeCallable(spec));
  return std::function<Status()>([scratch, session, next]() -> Status {
    const std::string start[] = {"start"};
    WEIR_RETURN_IF_ERROR(session->Run({}, {}, start, nullptr));
    int64_t records = 0;
    while (true) {
      std::vector<Tensor> batch;
      Status status = session->RunCallable(next, {}, &batch, nullptr);
      if (status.code() == absl::StatusCode::kOutOfRange) break;
      WEIR_RETURN_IF_ERROR(status);
      records += batch[0].dim(0);
    }
    return records == kRecords ? OkStatus() : Internal("An epoch had ", records, " records");
  });
}

// Nodes "initialise", "save" and "restore" of 50 variables.
StatusOr<GraphDef> VariablesGraph(const std::string& prefix) {
  GraphDef def;
  NodeWriter graph(def.mutable_node());
  WEIR_RETURN_IF_ERROR(graph.Constant("prefix", Tensor::Scalar(prefix)));
  std::vector<std::string> names, slices(kVariables);
  for (int i = 0; i < kVariables; ++i) names.push_back(Cat("v", i));
  WEIR_RETURN_IF_ERROR(graph.Constant("names", Tensor::Vector<std::string>(std::span<const std::string>(names))));
  WEIR_RETURN_IF_ERROR(graph.Constant("slices", Tensor::Vector<std::string>(std::span<const std::string>(slices))));
  WEIR_RETURN_IF_ERROR(graph.Constant("size", Tensor::Vector<int32_t>({static_cast<int32_t>(kVariableSize)})));
  const std::vector<DType> types(kVariables, DType::kFloat);
  std::vector<std::string> reads, initialisers, restores;
  for (int i = 0; i < kVariables; ++i) {
    const std::string name = names[i];
    NodeDef* handle = graph.Add(name, "VarHandleOp", {});
    SetType(handle, "dtype", DType::kFloat);
    Attr(handle, "shape").mutable_shape()->add_dim()->set_size(kVariableSize);
    Attr(handle, "shared_name").set_s(name);
    NodeDef* random = graph.Add(name + "/random", "RandomUniform", {"size"});
    SetType(random, "T", DType::kInt32);
    SetType(random, "dtype", DType::kFloat);
    SetType(graph.Add(name + "/initialise", "AssignVariableOp", {name, name + "/random"}), "dtype", DType::kFloat);
    SetType(graph.Add(name + "/read", "ReadVariableOp", {name}), "dtype", DType::kFloat);
    SetType(graph.Add(name + "/restore", "AssignVariableOp", {name, Cat("read:", i)}), "dtype", DType::kFloat);
    reads.push_back(name + "/read");
    initialisers.push_back("^" + name + "/initialise");
    restores.push_back("^" + name + "/restore");
  }
  NodeDef* save = graph.Add("save", "SaveV2", {"prefix", "names", "slices"});
  for (const std::string& read : reads) save->add_input(read);
  SetTypes(save, "dtypes", types);
  SetTypes(graph.Add("read", "RestoreV2", {"prefix", "names", "slices"}), "dtypes", types);
  NodeDef* initialise = graph.Add("initialise", "NoOp", {});
  for (const std::string& input : initialisers) initialise->add_input(input);
  NodeDef* restore = graph.Add("restore", "NoOp", {});
  for (const std::string& input : restores) restore->add_input(input);
  return def;
}

StatusOr<std::function<Status()>> PrepareCheckpoint(std::shared_ptr<Environment> environment,
                                                    const std::string& target) {
  auto scratch = std::make_shared<ScratchFolder>();
  WEIR_ASSIGN_OR_RETURN(GraphDef def, VariablesGraph(scratch->File("checkpoint")));
  SessionOptions options;
  options.isolate_state = true;
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Session> session, Session::Create(std::move(environment), options));
  WEIR_RETURN_IF_ERROR(session->Extend(def));
  for (const char* first : {"initialise", "save"}) {
    const std::string targets[] = {first};
    WEIR_RETURN_IF_ERROR(session->Run({}, {}, targets, nullptr));
  }
  return std::function<Status()>([scratch, session, target] {
    const std::string targets[] = {target};
    return session->Run({}, {}, targets, nullptr);
  });
}

}  // namespace

bool IsInputWorkload(std::string_view name) {
  return name == "tfrecord_read" || name == "tfrecord_parse" || name == "tfrecord_pipeline" ||
         name == "checkpoint_save" || name == "checkpoint_restore";
}

StatusOr<std::function<Status()>> PrepareInputWorkload(std::shared_ptr<Environment> environment,
                                                       std::string_view name) {
  if (!IsInputWorkload(name)) return NotFound("no workload named '", name, "'");
  if (name == "checkpoint_save") return PrepareCheckpoint(std::move(environment), "save");
  if (name == "checkpoint_restore") return PrepareCheckpoint(std::move(environment), "restore");
  return PrepareRecords(std::move(environment), name);
}

}  // namespace weir
