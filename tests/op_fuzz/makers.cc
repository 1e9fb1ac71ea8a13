#include "tests/op_fuzz/makers.h"

#include <algorithm>

namespace weir::op_fuzz {
namespace {

using Types = std::vector<DType>;

Attribute TypeList(Types types) {
  AttrList list;
  list.type = std::move(types);
  return Attribute(std::move(list));
}
Attribute ShapeList(size_t count, const PartialShape& shape = {}) {
  AttrList list;
  list.shape.assign(count, shape);
  return Attribute(std::move(list));
}
AttrMap Attrs(std::initializer_list<std::pair<std::string_view, Attribute>> entries) {
  AttrMap out;
  for (const auto& [name, value] : entries) out.Set(name, value);
  return out;
}

StatusOr<Endpoint> Add(Graph& graph, std::string_view op, AttrMap attrs = {}, std::vector<Endpoint> inputs = {}) {
  Graph::NodeSpec spec;
  spec.op = op;
  spec.name = graph.UniqueName(Cat("maker_", op));
  spec.attrs = std::move(attrs);
  spec.inputs = std::move(inputs);
  WEIR_ASSIGN_OR_RETURN(Node * node, graph.AddNode(std::move(spec)));
  return Endpoint{node->id, 0};
}

Types TypesOr(const AttrMap& attrs, Types otherwise) {
  for (std::string_view name : {"component_types", "Tcomponents", "output_types", "Toutput_types", "dtypes"}) {
    const Attribute* value = attrs.Find(name);
    const AttrList* list = value != nullptr ? value->get_if<AttrList>() : nullptr;
    if (list != nullptr && !list->type.empty()) return list->type;
  }
  return otherwise;
}

DType TypeOr(const AttrMap& attrs, std::initializer_list<std::string_view> names, DType otherwise) {
  for (std::string_view name : names) {
    const Attribute* value = attrs.Find(name);
    const DType* type = value != nullptr ? value->get_if<DType>() : nullptr;
    if (type != nullptr && SizeOf(*type) > 0) return *type;
  }
  return otherwise;
}

// One constant a type: the request's value where it fits, else two zeros.
StatusOr<std::vector<Endpoint>> Values(const MakerRequest& r, const Types& types) {
  std::vector<Endpoint> out;
  for (DType type : types) {
    Tensor value = r.value;
    if (value.dtype() != type) {
      WEIR_ASSIGN_OR_RETURN(value, Tensor::Zeros(BaseType(type), Shape({2})));
    }
    WEIR_ASSIGN_OR_RETURN(out.emplace_back(), AddConstant(r.graph, value));
  }
  return out;
}

Status RunBefore(const MakerRequest& r, StatusOr<Endpoint> node) {
  WEIR_RETURN_IF_ERROR(node.status());
  r.before.push_back(node->node);
  return OkStatus();
}

StatusOr<Endpoint> VariableRef(const MakerRequest& r) {
  const DType dtype = r.value.dtype();
  WEIR_ASSIGN_OR_RETURN(Endpoint variable,
                        Add(r.graph, "VariableV2", Attrs({{"dtype", dtype}, {"shape", r.value.shape()}})));
  if (r.filled) {
    WEIR_ASSIGN_OR_RETURN(Endpoint value, AddConstant(r.graph, r.value));
    WEIR_RETURN_IF_ERROR(RunBefore(r, Add(r.graph, "Assign", Attrs({{"T", dtype}}), {variable, value})));
  }
  return variable;
}

StatusOr<Endpoint> Variable(const MakerRequest& r) {
  const DType dtype = r.value.dtype();
  WEIR_ASSIGN_OR_RETURN(Endpoint handle,
                        Add(r.graph, "VarHandleOp", Attrs({{"dtype", dtype}, {"shape", PartialShape::Unknown()}})));
  if (r.filled) {
    WEIR_ASSIGN_OR_RETURN(Endpoint value, AddConstant(r.graph, r.value));
    WEIR_RETURN_IF_ERROR(RunBefore(r, Add(r.graph, "AssignVariableOp", Attrs({{"dtype", dtype}}), {handle, value})));
  }
  return handle;
}

StatusOr<Endpoint> RngState(const MakerRequest& r) {
  const Tensor state = Tensor::Vector<int64_t>({1, 2, 3});
  return Variable({r.graph, r.consumer, state, r.filled, r.before});
}

StatusOr<Endpoint> Queue(const MakerRequest& r, std::string_view op, std::string_view enqueue) {
  const Types types = TypesOr(r.consumer, {r.value.dtype()});
  AttrMap attrs = Attrs({{"component_types", TypeList(types)}, {"capacity", 4}});
  if (op.starts_with("Padding")) attrs.Set("shapes", ShapeList(types.size(), r.value.shape()));
  if (op.starts_with("Priority")) attrs.Set("shapes", ShapeList(types.size(), r.value.shape()));
  WEIR_ASSIGN_OR_RETURN(Endpoint handle, Add(r.graph, op, attrs));
  if (r.filled) {
    Types sent = types;
    if (op.starts_with("Priority")) sent.insert(sent.begin(), DType::kInt64);
    WEIR_ASSIGN_OR_RETURN(std::vector<Endpoint> inputs, Values(r, sent));
    inputs.insert(inputs.begin(), handle);
    WEIR_RETURN_IF_ERROR(RunBefore(r, Add(r.graph, enqueue, Attrs({{"Tcomponents", TypeList(sent)}}), inputs)));
  }
  return handle;
}

StatusOr<Endpoint> Table(const MakerRequest& r, std::string_view op) {
  const DType key = TypeOr(r.consumer, {"key_dtype", "Tin", "Tkey"}, DType::kInt64);
  const DType value = TypeOr(r.consumer, {"value_dtype", "Tout", "Tval"}, DType::kInt64);
  AttrMap attrs = Attrs({{"key_dtype", key}, {"value_dtype", value}});
  std::vector<Endpoint> inputs;
  if (op.find("Dense") != op.npos) {
    attrs.Set("initial_num_buckets", Attribute(4));
    for (int i = 0; i < 2; ++i) {
      WEIR_ASSIGN_OR_RETURN(Tensor special, Tensor::Zeros(key, Shape()));
      if (key == DType::kInt64) *special.data<int64_t>() = -1 - i;
      if (key == DType::kString) *special.data<std::string>() = i == 0 ? "" : "deleted";
      WEIR_ASSIGN_OR_RETURN(inputs.emplace_back(), AddConstant(r.graph, special));
    }
  }
  WEIR_ASSIGN_OR_RETURN(Endpoint handle, Add(r.graph, op, attrs, inputs));
  if (r.filled) {
    WEIR_ASSIGN_OR_RETURN(Tensor keys, Tensor::Zeros(key, Shape({1})));
    WEIR_ASSIGN_OR_RETURN(Tensor values, Tensor::Zeros(value, Shape({1})));
    WEIR_ASSIGN_OR_RETURN(Endpoint k, AddConstant(r.graph, keys));
    WEIR_ASSIGN_OR_RETURN(Endpoint v, AddConstant(r.graph, values));
    const bool is_ref = !op.ends_with("V2");
    const bool is_fixed = op.starts_with("HashTable");
    const std::string fill = Cat(is_fixed ? "InitializeTable" : "LookupTableInsert", is_ref ? "" : "V2");
    const AttrMap fill_attrs =
        is_fixed ? Attrs({{"Tkey", key}, {"Tval", value}}) : Attrs({{"Tin", key}, {"Tout", value}});
    WEIR_RETURN_IF_ERROR(RunBefore(r, Add(r.graph, fill, fill_attrs, {handle, k, v})));
  }
  return handle;
}

StatusOr<Endpoint> TensorArray(const MakerRequest& r, std::string_view op) {
  WEIR_ASSIGN_OR_RETURN(Endpoint size, AddConstant(r.graph, Tensor::Scalar<int32_t>(3)));
  AttrMap attrs = Attrs({{"dtype", r.value.dtype()}, {"dynamic_size", true}, {"clear_after_read", false}});
  WEIR_ASSIGN_OR_RETURN(Endpoint handle, Add(r.graph, op, attrs, {size}));
  if (r.filled && op == "TensorArrayV3") {
    WEIR_ASSIGN_OR_RETURN(Endpoint index, AddConstant(r.graph, Tensor::Scalar<int32_t>(0)));
    WEIR_ASSIGN_OR_RETURN(Endpoint value, AddConstant(r.graph, r.value));
    WEIR_RETURN_IF_ERROR(RunBefore(r, Add(r.graph, "TensorArrayWriteV3", Attrs({{"T", r.value.dtype()}}),
                                          {handle, index, value, Endpoint{handle.node, 1}})));
  }
  return handle;
}

StatusOr<Endpoint> Stack(const MakerRequest& r, std::string_view op) {
  std::vector<Endpoint> inputs;
  if (op == "StackV2") {
    WEIR_ASSIGN_OR_RETURN(inputs.emplace_back(), AddConstant(r.graph, Tensor::Scalar<int32_t>(4)));
  }
  WEIR_ASSIGN_OR_RETURN(Endpoint handle, Add(r.graph, op, Attrs({{"elem_type", r.value.dtype()}}), inputs));
  if (r.filled) {
    WEIR_ASSIGN_OR_RETURN(Endpoint value, AddConstant(r.graph, r.value));
    WEIR_RETURN_IF_ERROR(RunBefore(r, Add(r.graph, op == "StackV2" ? "StackPushV2" : "StackPush",
                                          Attrs({{"T", r.value.dtype()}}), {handle, value})));
  }
  return handle;
}

StatusOr<Endpoint> Range(const MakerRequest& r) {
  std::vector<Endpoint> limits;
  for (int64_t limit : {0, 5, 1}) {
    WEIR_ASSIGN_OR_RETURN(limits.emplace_back(), AddConstant(r.graph, Tensor::Scalar<int64_t>(limit)));
  }
  return Add(r.graph, "RangeDataset",
             Attrs({{"output_types", TypeList({DType::kInt64})}, {"output_shapes", ShapeList(1, PartialShape({}))}}),
             limits);
}

StatusOr<Endpoint> Elements(const MakerRequest& r, std::string_view op) {
  const Types types = TypesOr(r.consumer, {r.value.dtype()});
  WEIR_ASSIGN_OR_RETURN(std::vector<Endpoint> values, Values(r, types));
  return Add(r.graph, op, Attrs({{"Toutput_types", TypeList(types)}, {"output_shapes", ShapeList(types.size())}}),
             values);
}

StatusOr<Endpoint> Iterator(const MakerRequest& r) {
  const Types types = TypesOr(r.consumer, {DType::kInt64});
  WEIR_ASSIGN_OR_RETURN(Endpoint handle, Add(r.graph, "IteratorV2",
                                             Attrs({{"shared_name", ""},
                                                    {"container", ""},
                                                    {"output_types", TypeList(types)},
                                                    {"output_shapes", ShapeList(types.size())}})));
  if (r.filled) {
    StatusOr<Endpoint> dataset = types == Types{DType::kInt64} ? Range(r) : Elements(r, "TensorDataset");
    WEIR_RETURN_IF_ERROR(dataset.status());
    WEIR_RETURN_IF_ERROR(RunBefore(r, Add(r.graph, "MakeIterator", {}, {*dataset, handle})));
  }
  return handle;
}

StatusOr<Endpoint> Accumulator(const MakerRequest& r, std::string_view op) {
  WEIR_ASSIGN_OR_RETURN(Endpoint handle,
                        Add(r.graph, op, Attrs({{"dtype", r.value.dtype()}, {"shape", r.value.shape()}})));
  if (r.filled && !op.starts_with("Sparse")) {
    WEIR_ASSIGN_OR_RETURN(Endpoint step, AddConstant(r.graph, Tensor::Scalar<int64_t>(0)));
    WEIR_ASSIGN_OR_RETURN(Endpoint value, AddConstant(r.graph, r.value));
    const std::string apply = Cat(op.starts_with("Resource") ? "Resource" : "", "AccumulatorApplyGradient");
    WEIR_RETURN_IF_ERROR(RunBefore(r, Add(r.graph, apply, Attrs({{"dtype", r.value.dtype()}}), {handle, step, value})));
  }
  return handle;
}

StatusOr<Endpoint> BarrierRef(const MakerRequest& r) {
  return Add(r.graph, "Barrier", Attrs({{"component_types", TypeList(TypesOr(r.consumer, {r.value.dtype()}))}}));
}

StatusOr<Endpoint> Writer(const MakerRequest& r) {
  WEIR_ASSIGN_OR_RETURN(Endpoint writer, Add(r.graph, "SummaryWriter"));
  if (r.filled) {
    WEIR_ASSIGN_OR_RETURN(Endpoint folder, AddConstant(r.graph, Tensor::Scalar("events")));
    WEIR_ASSIGN_OR_RETURN(Endpoint number, AddConstant(r.graph, Tensor::Scalar<int32_t>(1)));
    WEIR_RETURN_IF_ERROR(
        RunBefore(r, Add(r.graph, "CreateSummaryFileWriter", {}, {writer, folder, number, number, folder})));
  }
  return writer;
}

StatusOr<Endpoint> SeedGenerator(const MakerRequest& r) {
  WEIR_ASSIGN_OR_RETURN(Endpoint seed, AddConstant(r.graph, Tensor::Scalar<int64_t>(1)));
  WEIR_ASSIGN_OR_RETURN(Endpoint again, AddConstant(r.graph, Tensor::Scalar<bool>(true)));
  return Add(r.graph, "AnonymousSeedGenerator", {}, {seed, seed, again});
}

StatusOr<Endpoint> List(const MakerRequest& r) {
  const AttrMap attrs = Attrs({{"element_dtype", r.value.dtype()}, {"shape_type", DType::kInt32}});
  WEIR_ASSIGN_OR_RETURN(Endpoint any, AddConstant(r.graph, Tensor::Scalar<int32_t>(-1)));
  if (!r.filled) {
    WEIR_ASSIGN_OR_RETURN(Endpoint count, AddConstant(r.graph, Tensor::Scalar<int32_t>(3)));
    return Add(r.graph, "TensorListReserve", attrs, {any, count});
  }
  WEIR_ASSIGN_OR_RETURN(Endpoint value, AddConstant(r.graph, r.value));
  return Add(r.graph, "TensorListFromTensor", attrs, {value, any});
}

StatusOr<Endpoint> Map(const MakerRequest& r) {
  WEIR_ASSIGN_OR_RETURN(Endpoint map, Add(r.graph, "EmptyTensorMap"));
  if (!r.filled) return map;
  const DType key = TypeOr(r.consumer, {"key_dtype"}, DType::kInt64);
  WEIR_ASSIGN_OR_RETURN(Tensor zero, Tensor::Zeros(key, Shape()));
  WEIR_ASSIGN_OR_RETURN(Endpoint k, AddConstant(r.graph, zero));
  WEIR_ASSIGN_OR_RETURN(Endpoint v, AddConstant(r.graph, r.value));
  return Add(r.graph, "TensorMapInsert", Attrs({{"key_dtype", key}, {"value_dtype", r.value.dtype()}}), {map, k, v});
}

StatusOr<Endpoint> Optional(const MakerRequest& r) {
  if (!r.filled) return Add(r.graph, "OptionalNone");
  const Types types = TypesOr(r.consumer, {r.value.dtype()});
  WEIR_ASSIGN_OR_RETURN(std::vector<Endpoint> values, Values(r, types));
  return Add(r.graph, "OptionalFromValue", Attrs({{"Toutput_types", TypeList(types)}}), values);
}

StatusOr<Endpoint> Ragged(const MakerRequest& r) {
  WEIR_ASSIGN_OR_RETURN(Endpoint splits,
                        AddConstant(r.graph, Tensor::Vector<int64_t>({0, r.value.rank() > 0 ? r.value.dim(0) : 1})));
  WEIR_ASSIGN_OR_RETURN(Endpoint value, AddConstant(r.graph, r.value));
  return Add(r.graph, "RaggedTensorToVariant",
             Attrs({{"RAGGED_RANK", 1}, {"Tvalues", r.value.dtype()}, {"batched_input", r.filled}}), {splits, value});
}

StatusOr<Endpoint> SparseMatrix(const MakerRequest& r) {
  const Tensor dense = Tensor::FromSpan<float>(std::vector<float>{1, 0, 2, 0, 3, 0, 0, 0, 4}, Shape({3, 3}));
  WEIR_ASSIGN_OR_RETURN(Endpoint value, AddConstant(r.graph, dense));
  const Tensor where = Tensor::FromSpan<int64_t>(std::vector<int64_t>{0, 0, 0, 2, 1, 1, 2, 2}, Shape({4, 2}));
  WEIR_ASSIGN_OR_RETURN(Endpoint indices, AddConstant(r.graph, where));
  return Add(r.graph, "DenseToCSRSparseMatrix", Attrs({{"T", DType::kFloat}}), {value, indices});
}

StatusOr<Endpoint> Compressed(const MakerRequest& r) {
  WEIR_ASSIGN_OR_RETURN(Endpoint value, AddConstant(r.graph, r.value));
  return Add(r.graph, "CompressElement", Attrs({{"input_types", TypeList({r.value.dtype()})}}), {value});
}

StatusOr<Endpoint> Lock(const MakerRequest& r) {
  WEIR_ASSIGN_OR_RETURN(Endpoint mutex, Add(r.graph, "MutexV2"));
  return Add(r.graph, "MutexLock", {}, {mutex});
}

constexpr DType kRes = DType::kResource;
constexpr DType kVar = DType::kVariant;
constexpr DType kRef = DType::kString;  // handles of the first version are references to strings

struct Maker {
  std::string_view name;
  DType dtype;
  bool is_ref;
  std::vector<std::string_view> consumers;  // parts of the names of ops that want it
  StatusOr<Endpoint> (*make)(const MakerRequest&);
};

const std::vector<Maker>& Makers() {
  using R = const MakerRequest&;
  static const auto* makers = new std::vector<Maker>{
      {"a variable's reference", kRef, true, {}, VariableRef},
      {"a variable", kRes, false, {"Variable", "Resource"}, Variable},
      {"a generator's state", kRes, false, {"Stateful", "Rng"}, RngState},
      {"a queue", kRes, false, {"Queue"}, [](R r) { return Queue(r, "FIFOQueueV2", "QueueEnqueueV2"); }},
      {"a shuffling queue",
       kRes,
       false,
       {"Queue"},
       [](R r) { return Queue(r, "RandomShuffleQueueV2", "QueueEnqueueV2"); }},
      {"a padding queue", kRes, false, {"Queue"}, [](R r) { return Queue(r, "PaddingFIFOQueueV2", "QueueEnqueueV2"); }},
      {"a priority queue", kRes, false, {"Queue"}, [](R r) { return Queue(r, "PriorityQueueV2", "QueueEnqueueV2"); }},
      {"a hash table", kRes, false, {"Table"}, [](R r) { return Table(r, "HashTableV2"); }},
      {"a mutable table", kRes, false, {"Table"}, [](R r) { return Table(r, "MutableHashTableV2"); }},
      {"a table of tensors", kRes, false, {"Table"}, [](R r) { return Table(r, "MutableHashTableOfTensorsV2"); }},
      {"a dense table", kRes, false, {"Table"}, [](R r) { return Table(r, "MutableDenseHashTableV2"); }},
      {"an array", kRes, false, {"TensorArray"}, [](R r) { return TensorArray(r, "TensorArrayV3"); }},
      {"a stack", kRes, false, {"Stack"}, [](R r) { return Stack(r, "StackV2"); }},
      {"an iterator", kRes, false, {"Iterator", "Delete"}, Iterator},
      {"an accumulator",
       kRes,
       false,
       {"Accumulator"},
       [](R r) { return Accumulator(r, "ResourceConditionalAccumulator"); }},
      {"a reader",
       kRes,
       false,
       {"Reader"},
       [](R r) { return Add(r.graph, r.filled ? "IdentityReaderV2" : "TextLineReaderV2"); }},
      {"a summary writer", kRes, false, {"Summary", "Write", "Import"}, Writer},
      {"a mutex", kRes, false, {"Mutex"}, [](R r) { return Add(r.graph, "MutexV2"); }},
      {"a seed generator", kRes, false, {"Shuffle", "Seed", "Random"}, SeedGenerator},
      {"a cache", kRes, false, {"Cache"}, [](R r) { return Add(r.graph, "AnonymousMemoryCache"); }},
      {"a list", kVar, false, {"TensorList"}, List},
      {"a map", kVar, false, {"TensorMap"}, Map},
      {"a range", kVar, false, {"Dataset", "Iterator", "Reduce"}, Range},
      {"elements", kVar, false, {"Dataset", "Iterator"}, [](R r) { return Elements(r, "TensorSliceDataset"); }},
      {"an element", kVar, false, {"Dataset", "Iterator"}, [](R r) { return Elements(r, "TensorDataset"); }},
      {"an optional", kVar, false, {"Optional"}, Optional},
      {"a ragged tensor", kVar, false, {"Ragged"}, Ragged},
      {"a sparse matrix", kVar, false, {"SparseMatrix", "CSR"}, SparseMatrix},
      {"a compressed element", kVar, false, {"Compress"}, Compressed},
      {"a lock", kVar, false, {"Mutex"}, Lock},
      {"a queue's reference", kRef, true, {"Queue"}, [](R r) { return Queue(r, "FIFOQueue", "QueueEnqueue"); }},
      {"a table's reference", kRef, true, {"Table"}, [](R r) { return Table(r, "HashTable"); }},
      {"a mutable table's reference", kRef, true, {"Table"}, [](R r) { return Table(r, "MutableHashTable"); }},
      {"an array's reference", kRef, true, {"TensorArray"}, [](R r) { return TensorArray(r, "TensorArray"); }},
      {"a stack's reference", kRef, true, {"Stack"}, [](R r) { return Stack(r, "Stack"); }},
      {"an accumulator's reference",
       kRef,
       true,
       {"Accumulator"},
       [](R r) { return Accumulator(r, "ConditionalAccumulator"); }},
      {"a sparse accumulator's reference",
       kRef,
       true,
       {"SparseAccumulator"},
       [](R r) { return Accumulator(r, "SparseConditionalAccumulator"); }},
      {"a barrier's reference", kRef, true, {"Barrier"}, BarrierRef},
      {"a reader's reference",
       kRef,
       true,
       {"Reader"},
       [](R r) { return Add(r.graph, r.filled ? "IdentityReader" : "WholeFileReader"); }},
  };
  return *makers;
}

int AnyMaker(DType dtype, bool is_ref, std::string_view op, Chance& chance) {
  std::vector<int> fitting, all;
  for (size_t i = 0; i < Makers().size(); ++i) {
    const Maker& maker = Makers()[i];
    if (maker.dtype != dtype || maker.is_ref != is_ref) continue;
    all.push_back(static_cast<int>(i));
    auto wanted = [&](std::string_view part) { return op.find(part) != op.npos; };
    if (std::any_of(maker.consumers.begin(), maker.consumers.end(), wanted)) fitting.push_back(static_cast<int>(i));
  }
  return !fitting.empty() && chance.Percent(93) ? chance.OneOf(fitting) : chance.OneOf(all);
}

struct Function {
  std::string_view name;
  std::string_view in;   // DT_ names, by commas
  std::string_view out;  // the same
  std::string_view nodes;
  std::vector<std::string_view> results;
};

const std::vector<Function>& Functions() {
  static constexpr std::string_view kFloatNeg =
      R"(node_def { name: "n" op: "Neg" input: "a0" attr { key: "T" value { type: DT_FLOAT } } })";
  static constexpr std::string_view kIntNeg =
      R"(node_def { name: "n" op: "Neg" input: "a0" attr { key: "T" value { type: DT_INT64 } } })";
  static const auto* functions = new std::vector<Function>{
      {"FloatNeg", "DT_FLOAT", "DT_FLOAT", kFloatNeg, {"n:y:0"}},
      {"IntNeg", "DT_INT64", "DT_INT64", kIntNeg, {"n:y:0"}},
      {"FloatAdd",
       "DT_FLOAT,DT_FLOAT",
       "DT_FLOAT",
       R"(node_def { name: "n" op: "AddV2" input: "a0" input: "a1" attr { key: "T" value { type: DT_FLOAT } } })",
       {"n:z:0"}},
      {"IntSwap", "DT_INT64,DT_INT64", "DT_INT64,DT_INT64", "", {"a1", "a0"}},
      {"Nothing", "", "", R"(node_def { name: "n" op: "NoOp" })", {}},
      {"IntRange",
       "DT_INT64",
       "DT_VARIANT",
       R"(node_def { name: "c" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 1 } } } }
          node_def { name: "n" op: "RangeDataset" input: "c:output:0" input: "a0" input: "c:output:0"
            attr { key: "output_types" value { list { type: DT_INT64 } } } attr { key: "output_shapes" value { list { shape {} } } } })",
       {"n:handle:0"}},
      {"FloatLess",
       "DT_FLOAT",
       "DT_BOOL",
       R"(node_def { name: "n" op: "Less" input: "a0" input: "a0" attr { key: "T" value { type: DT_FLOAT } } })",
       {"n:z:0"}},
      {"IntLess",
       "DT_INT64",
       "DT_BOOL",
       R"(node_def { name: "c" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: 3 } } } }
          node_def { name: "n" op: "Less" input: "a0" input: "c:output:0" attr { key: "T" value { type: DT_INT64 } } })",
       {"n:z:0"}},
      {"IntNever",
       "DT_INT64",
       "DT_BOOL",
       R"(node_def { name: "n" op: "Less" input: "a0" input: "a0" attr { key: "T" value { type: DT_INT64 } } })",
       {"n:z:0"}},
  };
  return *functions;
}

std::string ArgsText(std::string_view kind, std::string_view prefix, std::string_view types) {
  std::string out;
  for (int i = 0; !types.empty(); ++i) {
    const size_t comma = std::min(types.find(','), types.size());
    out += Cat(kind, " { name: \"", prefix, i, "\" type: ", types.substr(0, comma), " } ");
    types.remove_prefix(std::min(comma + 1, types.size()));
  }
  return out;
}

}  // namespace

std::string_view MakerName(int maker) { return Makers()[static_cast<size_t>(maker)].name; }

int AnyHandleMaker(DType dtype, std::string_view op, Chance& chance) { return AnyMaker(dtype, false, op, chance); }

int AnyRefMaker(DType dtype, std::string_view op, Chance& chance) {
  return dtype == DType::kString ? AnyMaker(dtype, true, op, chance) : kVariableRef;
}

DType ElementTypeOf(const AttrMap& attrs) {
  return TypeOr(attrs, {"dtype", "T", "element_dtype", "value_dtype", "elem_type", "Tvalues", "type", "output_type"},
                DType::kFloat);
}

StatusOr<Endpoint> Make(int maker, const MakerRequest& request) {
  return Makers()[static_cast<size_t>(maker)].make(request);
}

StatusOr<Endpoint> AddConstant(Graph& graph, const Tensor& value) {
  return Add(graph, "Const", Attrs({{"dtype", value.dtype()}, {"value", value}}));
}

std::string FunctionLibraryText() {
  std::string out = "library {\n";
  for (const Function& function : Functions()) {
    out += Cat("function { signature { name: \"", function.name, "\" ", ArgsText("input_arg", "a", function.in),
               ArgsText("output_arg", "r", function.out), "} ", function.nodes);
    for (size_t i = 0; i < function.results.size(); ++i) {
      out += Cat(" ret { key: \"r", i, "\" value: \"", function.results[i], "\" }");
    }
    out += " }\n";
  }
  return out + "}\n";
}

std::string AnyFunctionName(bool predicate, Chance& chance) {
  std::vector<std::string_view> names;
  for (const Function& function : Functions()) {
    if (!predicate || function.out == "DT_BOOL") names.push_back(function.name);
  }
  return std::string(chance.OneOf(names));
}

}  // namespace weir::op_fuzz
