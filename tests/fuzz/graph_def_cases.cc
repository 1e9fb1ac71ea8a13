#include "tests/fuzz/graph_def_cases.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "weir/client/environment.h"
#include "weir/graph/graph.h"
#include "weir/graph/import.h"
#include "weir/proto/graph.pb.h"
#include "weir/runtime/session.h"

namespace weir {
namespace {

constexpr int64_t kMemoryLimit = int64_t{128} << 20;
constexpr int64_t kMaxNodes = 10'000;
constexpr int kMaxSteps = 8;

Environment& SharedEnvironment() {
  static auto* environment =
      new std::shared_ptr<Environment>(MakeEnvironment({.num_cpu_devices = 2, .memory_limit = kMemoryLimit}).value());
  return **environment;
}

// Operations that reach outside the process, or end it because they were asked to.
bool ReachesOutside(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    const std::string& op = node->op();
    if (op == "Abort" || op.starts_with("Print") || op.starts_with("Save") || op.find("Write") != op.npos) return true;
  }
  return false;
}

// Zeros for a placeholder, of its shape with 1 for what is unknown. Nothing if that is not sensible.
std::optional<Tensor> ValueFor(const Node& placeholder) {
  const DType dtype = BaseType(placeholder.output_type(0));
  if (dtype == DType::kResource || dtype == DType::kVariant || SizeOf(dtype) == 0) return std::nullopt;
  std::vector<int64_t> dims;
  if (auto declared = placeholder.Attr<PartialShape>("shape"); declared.ok() && declared->has_rank()) {
    for (int i = 0; i < declared->rank(); ++i) dims.push_back(std::clamp<int64_t>(declared->dim(i), -1, 8));
  }
  if (dims.size() > 6) return std::nullopt;
  for (int64_t& dim : dims) dim = dim < 0 ? 1 : dim;
  auto shape = Shape::Make(dims);
  if (!shape.ok()) return std::nullopt;
  auto tensor = Tensor::Zeros(dtype, *shape);
  if (!tensor.ok()) return std::nullopt;
  return *std::move(tensor);
}

struct StepNames {
  std::vector<Feed> feeds;
  std::vector<std::string> sinks;  // nodes that nobody consumes
};

StepNames NamesOf(const Graph& graph) {
  StepNames names;
  Consumers consumers(graph);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    if (IsPlaceholder(*node) && node->num_outputs() > 0) {
      if (auto value = ValueFor(*node)) names.feeds.emplace_back(node->name + ":0", *std::move(value));
    }
    if (consumers.of(node->id).empty()) names.sinks.push_back(node->name);
  }
  return names;
}

class GraphMutation {
 public:
  GraphMutation(GraphDef& graph, std::mt19937& random) : graph_(graph), random_(random) {}

  void Apply() {
    if (graph_.node_size() == 0) return;
    NodeDef& a = AnyNode();
    NodeDef& b = AnyNode();
    switch (Pick(11)) {
      case 0:
        a.mutable_op()->swap(*b.mutable_op());
        break;
      case 1:
        a.mutable_input()->Swap(b.mutable_input());
        break;
      case 2:
        a.mutable_attr()->swap(*b.mutable_attr());
        break;
      case 3:
        a.set_name(b.name());
        break;
      case 4:
        *graph_.add_node() = a;
        break;
      case 5:
        a.add_input(b.name());
        break;
      case 6:
        if (a.input_size() > 0) a.mutable_input()->RemoveLast();
        break;
      case 7:
        if (a.input_size() > 0) a.set_input(Pick(a.input_size()), b.name() + ":" + std::to_string(Pick(4)));
        break;
      case 8:
        if (a.input_size() > 0) a.mutable_input()->SwapElements(0, a.input_size() - 1);
        break;
      case 9:
        a.set_op(b.op());
        break;
      default:
        ChangeAttr(a);
        break;
    }
  }

 private:
  int Pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  NodeDef& AnyNode() { return *graph_.mutable_node(Pick(graph_.node_size())); }
  int64_t AnyNumber() {
    static constexpr int64_t kNumbers[] = {
        0, 1, -1, 2, 7, -2, 1 << 20, int64_t{1} << 31, int64_t{1} << 40, INT64_MAX, INT64_MIN};
    return kNumbers[Pick(std::size(kNumbers))];
  }

  void ChangeAttr(NodeDef& node) {
    if (node.attr().empty()) return;
    // The map's own order differs from run to run.
    std::vector<std::string> names;
    for (const auto& [name, value] : node.attr()) names.push_back(name);
    std::sort(names.begin(), names.end());
    AttrValue& value = (*node.mutable_attr())[names[Pick(names.size())]];
    switch (value.value_case()) {
      case AttrValue::kI:
        value.set_i(AnyNumber());
        break;
      case AttrValue::kF:
        value.set_f(static_cast<float>(AnyNumber()));
        break;
      case AttrValue::kB:
        value.set_b(!value.b());
        break;
      case AttrValue::kS:
        value.mutable_s()->append("\xff");
        break;
      case AttrValue::kType:
        value.set_type(static_cast<DataType>(Pick(140)));
        break;
      case AttrValue::kShape:
        ChangeShape(*value.mutable_shape());
        break;
      case AttrValue::kTensor:
        ChangeTensor(*value.mutable_tensor());
        break;
      case AttrValue::kFunc:
        value.mutable_func()->set_name(graph_.library().function_size() > 0 ? AnyFunction() : "none");
        break;
      default:
        value.Clear();
        break;
    }
  }
  std::string AnyFunction() {
    return graph_.library().function(Pick(graph_.library().function_size())).signature().name();
  }
  void ChangeShape(TensorShapeProto& shape) {
    if (shape.dim_size() == 0 || Pick(3) == 0) {
      shape.add_dim()->set_size(AnyNumber());
    } else {
      shape.mutable_dim(Pick(shape.dim_size()))->set_size(AnyNumber());
    }
  }
  void ChangeTensor(TensorProto& tensor) {
    switch (Pick(3)) {
      case 0:
        tensor.set_dtype(static_cast<DataType>(Pick(140)));
        break;
      case 1:
        ChangeShape(*tensor.mutable_tensor_shape());
        break;
      default:
        tensor.mutable_tensor_content()->resize(Pick(64));
        break;
    }
  }

  GraphDef& graph_;
  std::mt19937& random_;
};

void MutateBytes(std::string& bytes, std::mt19937& random) {
  if (bytes.empty()) return;
  const size_t at = random() % bytes.size();
  const size_t length = std::min<size_t>(1 + random() % 32, bytes.size() - at);
  switch (random() % 5) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes.erase(at, length);
      break;
    case 2:
      bytes.insert(at, bytes.substr(random() % bytes.size(), length));
      break;
    case 3:
      bytes[at] = static_cast<char>(random());
      break;
    default:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      break;
  }
}

}  // namespace

Status ImportAndRun(std::string_view graph_def) {
  Environment& environment = SharedEnvironment();
  Graph graph(environment.ops);
  WEIR_RETURN_IF_ERROR(ImportGraphDefBytes(graph_def, &graph, {.max_nodes = kMaxNodes}));
  if (ReachesOutside(graph)) return OkStatus();
  const StepNames names = NamesOf(graph);

  SessionOptions options;
  options.operation_timeout = absl::Milliseconds(100);
  options.max_graph_nodes = kMaxNodes;
  // Not an owner: the environment is never destroyed.
  WEIR_ASSIGN_OR_RETURN(auto session,
                        Session::Create(std::shared_ptr<Environment>(&environment, [](Environment*) {}), options));
  WEIR_RETURN_IF_ERROR(session->Extend(std::move(graph)));
  // What steps say does not matter here; that they end does.
  std::vector<Tensor> outputs;
  session->Run(names.feeds, {}, names.sinks, &outputs).IgnoreError();
  for (size_t i = 0; i < std::min<size_t>(names.sinks.size(), kMaxSteps); ++i) {
    const std::string fetches[] = {names.sinks[i] + ":0"};
    session->Run(names.feeds, fetches, {}, &outputs).IgnoreError();
  }
  session->Close().IgnoreError();
  if (session->running_steps() != 0) return Internal("a step outlived its session");
  ResetContainers(environment, {});
  return OkStatus();
}

std::string Mutate(std::string_view graph_def, std::mt19937& random) {
  std::string bytes(graph_def);
  GraphDef graph;
  if (random() % 3 != 0 && graph.ParseFromString(bytes)) {
    for (uint32_t count = 1 + random() % 3; count > 0; --count) GraphMutation(graph, random).Apply();
    // Maps are written in an order of their own otherwise.
    std::string out;
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    graph.SerializeToCodedStream(&coded);
    coded.Trim();
    return out;
  }
  for (uint32_t count = 1 + random() % 4; count > 0; --count) MutateBytes(bytes, random);
  return bytes;
}

}  // namespace weir
