#include "benchmarks/models/ops.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>

#include "benchmarks/models/net.h"
#include "weir/client/environment.h"
#include "weir/graph/import.h"

namespace weir::bench {
namespace {

// Makes the graph of one operation.
class OpGraph {
 public:
  explicit OpGraph(const OpRegistry& ops) : graph_(ops), shapes_(graph_), emitter_(graph_, shapes_) {}

  Value Floats(std::vector<int64_t> dims) {
    Tensor value = NormalTensor(Shape::Make(dims).value(), 1, random_);
    return Feed(Cat("x", feeds_.size()), std::move(value));
  }
  Value Below(int64_t limit, std::vector<int64_t> dims) {
    Tensor value = Tensor::Zeros(DType::kInt32, Shape::Make(dims).value()).value();
    for (int32_t& x : value.span<int32_t>()) x = random_.Below(static_cast<uint32_t>(limit));
    return Feed(Cat("i", feeds_.size(), "_below_", limit), std::move(value));
  }
  Value Ints(std::vector<int64_t> values) { return emitter_.Constant(emit::IntsTensor(values)); }
  Value Scalar(float value) { return emitter_.Constant(Tensor::Scalar(value)); }
  Value Int(int32_t value) { return emitter_.Constant(Tensor::Scalar(value)); }
  Value Op(std::string_view op, const EmitArguments& inputs, EmitAttrs attrs = {}) {
    return emitter_.Op(op, inputs, attrs);
  }
  GraphEmitter& emitter() { return emitter_; }
  Graph& graph() { return graph_; }
  const std::vector<std::pair<std::string, Tensor>>& feeds() const { return feeds_; }

 private:
  Value Feed(std::string name, Tensor value) {
    AttrMap attrs;
    attrs.Set("dtype", value.dtype());
    attrs.Set("shape", value.shape());
    Graph::NodeSpec spec;
    spec.name = name;
    spec.op = "Placeholder";
    spec.attrs = std::move(attrs);
    auto node = graph_.AddNode(std::move(spec));
    if (!node.ok()) {
      emitter_.Fail(node.status());
      return {};
    }
    feeds_.emplace_back(std::move(name), std::move(value));
    return emitter_.At({(*node)->id, 0});
  }

  Graph graph_;
  GraphShapes shapes_;
  GraphEmitter emitter_;
  NumpyRandom random_{1};
  std::vector<std::pair<std::string, Tensor>> feeds_;
};

struct OpCase {
  std::string name;
  std::function<Value(OpGraph&)> build;
};

struct ConvCase {
  std::string_view name;
  int64_t batch, size, in, out, filter, stride;
};

void AddConvolutions(std::vector<OpCase>& cases) {
  constexpr ConvCase kRows[] = {
      {"3x3_56_64_b8", 8, 56, 64, 64, 3, 1},      {"3x3_14_256_b1", 1, 14, 256, 256, 3, 1},
      {"5x5_14_32_64_b64", 64, 14, 32, 64, 5, 1}, {"1x1_14_1024_256_b8", 8, 14, 1024, 256, 1, 1},
      {"7x7s2_224_3_64_b8", 8, 224, 3, 64, 7, 2}, {"3x3s2_32_16_32_b32", 32, 32, 16, 32, 3, 2}};
  for (const ConvCase& c : kRows) {
    const std::vector<int64_t> image = {c.batch, c.size, c.size, c.in}, filter = {c.filter, c.filter, c.in, c.out};
    const std::vector<int64_t> pooled = {c.batch, (c.size + c.stride - 1) / c.stride,
                                         (c.size + c.stride - 1) / c.stride, c.out};
    const AttrList strides = IntList({1, c.stride, c.stride, 1});
    auto add = [&](std::string_view op, auto inputs) {
      cases.push_back({Cat(op, "_", c.name), [=](OpGraph& g) {
                         return g.Op(op, inputs(g), {{"strides", strides}, {"padding", "SAME"}});
                       }});
    };
    add("Conv2D", [=](OpGraph& g) { return EmitArguments{g.Floats(image), g.Floats(filter)}; });
    add("Conv2DBackpropInput", [=](OpGraph& g) {
      return EmitArguments{g.Ints(image), g.Floats(filter), g.Floats(pooled)};
    });
    add("Conv2DBackpropFilter", [=](OpGraph& g) {
      return EmitArguments{g.Floats(image), g.Ints(filter), g.Floats(pooled)};
    });
  }
  cases.push_back({"DepthwiseConv2dNative_3x3_56_64_b8", [](OpGraph& g) {
                     return g.Op("DepthwiseConv2dNative", {g.Floats({8, 56, 56, 64}), g.Floats({3, 3, 64, 1})},
                                 {{"strides", IntList({1, 1, 1, 1})}, {"padding", "SAME"}});
                   }});
}

void AddProducts(std::vector<OpCase>& cases) {
  struct Row {
    int64_t m, k, n;
    bool a, b;
  };
  constexpr Row kRows[] = {{256, 256, 256, false, false},  {1024, 1024, 1024, false, false},
                           {64, 3136, 1024, false, false}, {3136, 64, 1024, true, false},
                           {64, 1024, 3136, false, true},  {20, 512, 1024, false, false},
                           {1, 2048, 1000, false, false}};
  for (const Row& r : kRows) {
    cases.push_back({Cat("MatMul_", r.m, "x", r.k, "x", r.n, r.a ? "_ta" : "", r.b ? "_tb" : ""), [r](OpGraph& g) {
                       auto dims = [](int64_t rows, int64_t columns, bool swap) {
                         return swap ? std::vector<int64_t>{columns, rows} : std::vector<int64_t>{rows, columns};
                       };
                       return g.Op("MatMul", {g.Floats(dims(r.m, r.k, r.a)), g.Floats(dims(r.k, r.n, r.b))},
                                   {{"transpose_a", r.a}, {"transpose_b", r.b}});
                     }});
  }
  cases.push_back(
      {"BatchMatMulV2_32x128x32x128_ty", [](OpGraph& g) {
         return g.Op("BatchMatMulV2", {g.Floats({32, 128, 32}), g.Floats({32, 128, 32})}, {{"adj_y", true}});
       }});
}

void AddPools(std::vector<OpCase>& cases) {
  const std::vector<int64_t> image = {32, 56, 56, 64}, pooled = {32, 28, 28, 64};
  auto add = [&](std::string_view op, auto inputs) {
    cases.push_back({Cat(op, "_3x3s2_56_64_b32"), [=](OpGraph& g) {
                       return g.Op(
                           op, inputs(g),
                           {{"ksize", IntList({1, 3, 3, 1})}, {"strides", IntList({1, 2, 2, 1})}, {"padding", "SAME"}});
                     }});
  };
  add("MaxPool", [=](OpGraph& g) { return EmitArguments{g.Floats(image)}; });
  add("AvgPool", [=](OpGraph& g) { return EmitArguments{g.Floats(image)}; });
  add("MaxPoolGrad", [=](OpGraph& g) { return EmitArguments{g.Floats(image), g.Floats(pooled), g.Floats(pooled)}; });
  add("AvgPoolGrad", [=](OpGraph& g) { return EmitArguments{g.Ints(image), g.Floats(pooled)}; });
}

void AddNorms(std::vector<OpCase>& cases) {
  cases.push_back({"Softmax_1024x1000", [](OpGraph& g) { return g.Op("Softmax", {g.Floats({1024, 1000})}); }});
  cases.push_back({"LogSoftmax_1024x1000", [](OpGraph& g) { return g.Op("LogSoftmax", {g.Floats({1024, 1000})}); }});
  cases.push_back(
      {"SparseSoftmaxCrossEntropy_1024x1000", [](OpGraph& g) {
         return g.Op("SparseSoftmaxCrossEntropyWithLogits", {g.Floats({1024, 1000}), g.Below(1000, {1024})});
       }});
  for (bool is_training : {true, false}) {
    cases.push_back({is_training ? "FusedBatchNormV3_training_56_64_b8" : "FusedBatchNormV3_inference_56_64_b8",
                     [is_training](OpGraph& g) {
                       const std::vector<int64_t> statistics = {is_training ? 0 : 64};
                       return g.Op("FusedBatchNormV3",
                                   {g.Floats({8, 56, 56, 64}), g.Floats({64}), g.Floats({64}), g.Floats(statistics),
                                    g.Floats(statistics)},
                                   {{"is_training", is_training}});
                     }});
  }
  cases.push_back({"FusedBatchNormGradV3_56_64_b8", [](OpGraph& g) {
                     return g.Op("FusedBatchNormGradV3",
                                 {g.Floats({8, 56, 56, 64}), g.Floats({8, 56, 56, 64}), g.Floats({64}), g.Floats({64}),
                                  g.Floats({64}), g.Floats({64})},
                                 {{"is_training", true}});
                   }});
  cases.push_back({"BiasAdd_56_64_b8", [](OpGraph& g) {
                     return g.Op("BiasAdd", {g.Floats({8, 56, 56, 64}), g.Floats({64})});
                   }});
  cases.push_back({"BiasAddGrad_56_64_b8", [](OpGraph& g) {
                     return g.Op("BiasAddGrad", {g.Floats({8, 56, 56, 64})});
                   }});
}

void AddReductions(std::vector<OpCase>& cases) {
  auto add = [&](std::string_view op, std::string_view what, std::vector<int64_t> axes) {
    cases.push_back({Cat(op, "_", what, "_2048x1024"), [=](OpGraph& g) {
                       return g.Op(op, {g.Floats({2048, 1024}), g.Ints(axes)});
                     }});
  };
  add("Sum", "all", {0, 1});
  add("Sum", "rows", {1});
  add("Sum", "columns", {0});
  add("Mean", "rows", {1});
  add("Max", "rows", {1});
  cases.push_back({"ArgMax_2048x1024", [](OpGraph& g) { return g.Op("ArgMax", {g.Floats({2048, 1024}), g.Int(1)}); }});
}

void AddElementwise(std::vector<OpCase>& cases) {
  constexpr int64_t kCount = 1 << 20;
  for (std::string_view op : {"Relu", "Exp", "Log1p", "Tanh", "Sigmoid", "Rsqrt", "Erf", "Square", "Sin"}) {
    cases.push_back({Cat(op, "_1M"), [op](OpGraph& g) { return g.Op(op, {g.Floats({kCount})}); }});
  }
  for (std::string_view op :
       {"AddV2", "Mul", "RealDiv", "Maximum", "ReluGrad", "TanhGrad", "SquaredDifference", "Greater"}) {
    cases.push_back({Cat(op, "_1M"), [op](OpGraph& g) { return g.Op(op, {g.Floats({kCount}), g.Floats({kCount})}); }});
  }
  cases.push_back({"AddV2_1024x1024_row", [](OpGraph& g) {
                     return g.Op("AddV2", {g.Floats({1024, 1024}), g.Floats({1024})});
                   }});
  cases.push_back({"Mul_1024x1024_column", [](OpGraph& g) {
                     return g.Op("Mul", {g.Floats({1024, 1024}), g.Floats({1024, 1})});
                   }});
  cases.push_back({"AddN_4_1M", [](OpGraph& g) {
                     return g.Op("AddN", {std::vector<Value>{g.Floats({kCount}), g.Floats({kCount}), g.Floats({kCount}),
                                                             g.Floats({kCount})}});
                   }});
  cases.push_back({"Cast_float_int32_1M", [](OpGraph& g) {
                     return g.Op("Cast", {g.Floats({kCount})}, {{"DstT", DType::kInt32}});
                   }});
}

void AddArrays(std::vector<OpCase>& cases) {
  cases.push_back({"GatherV2_rows_26k_of_100kx32", [](OpGraph& g) {
                     return g.Op("GatherV2", {g.Floats({100'000, 32}), g.Below(100'000, {26'624}), g.Int(0)});
                   }});
  cases.push_back(
      {"UnsortedSegmentSum_26kx32_to_10k", [](OpGraph& g) {
         return g.Op("UnsortedSegmentSum", {g.Floats({26'624, 32}), g.Below(10'000, {26'624}), g.Int(10'000)});
       }});
  cases.push_back(
      {"TensorScatterUpdate_8kx64", [](OpGraph& g) {
         return g.Op("TensorScatterUpdate", {g.Floats({65'536, 64}), g.Below(65'536, {8192, 1}), g.Floats({8192, 64})});
       }});
  cases.push_back({"Transpose_1024x1024", [](OpGraph& g) {
                     return g.Op("Transpose", {g.Floats({1024, 1024}), g.Ints({1, 0})});
                   }});
  cases.push_back({"Transpose_nhwc_nchw_8x56x56x64", [](OpGraph& g) {
                     return g.Op("Transpose", {g.Floats({8, 56, 56, 64}), g.Ints({0, 3, 1, 2})});
                   }});
  cases.push_back({"Transpose_heads_8x128x4x32", [](OpGraph& g) {
                     return g.Op("Transpose", {g.Floats({8, 128, 4, 32}), g.Ints({0, 2, 1, 3})});
                   }});
  cases.push_back(
      {"ConcatV2_columns_1024x2x512", [](OpGraph& g) {
         return g.Op("ConcatV2", {std::vector<Value>{g.Floats({1024, 512}), g.Floats({1024, 512})}, g.Int(1)});
       }});
  cases.push_back({"Slice_1024x512_of_1024x1024", [](OpGraph& g) {
                     return g.Op("Slice", {g.Floats({1024, 1024}), g.Ints({0, 256}), g.Ints({1024, 512})});
                   }});
  cases.push_back({"Tile_1024x64_1x16", [](OpGraph& g) {
                     return g.Op("Tile", {g.Floats({1024, 64}), g.Ints({1, 16})});
                   }});
  cases.push_back({"TopKV2_sort_100k", [](OpGraph& g) {
                     return g.Op("TopKV2", {g.Floats({100'000}), g.Int(100'000)});
                   }});
  cases.push_back({"TopKV2_10_of_1024x1000", [](OpGraph& g) {
                     return g.Op("TopKV2", {g.Floats({1024, 1000}), g.Int(10)});
                   }});
  cases.push_back({"Cumsum_1024x1024", [](OpGraph& g) { return g.Op("Cumsum", {g.Floats({1024, 1024}), g.Int(1)}); }});
}

std::vector<OpCase> Cases() {
  std::vector<OpCase> cases;
  AddProducts(cases);
  AddConvolutions(cases);
  AddPools(cases);
  AddNorms(cases);
  AddReductions(cases);
  AddElementwise(cases);
  AddArrays(cases);
  return cases;
}

StatusOr<double> MeasureOp(std::shared_ptr<Environment> environment, const OpCase& c, double seconds,
                           const std::string& folder, Measure measure) {
  OpGraph g(environment->ops);
  Value y = c.build(g);
  WEIR_RETURN_IF_ERROR(g.emitter().status());
  WEIR_RETURN_IF_ERROR(g.graph().Rename(g.graph().node(y.node()), "y"));
  if (!folder.empty()) {
    WEIR_ASSIGN_OR_RETURN(std::string bytes, ExportGraphDefBytes(g.graph()));
    const std::string path = Cat(folder, "/", c.name, ".pb");
    if (!(std::ofstream(path, std::ios::binary) << bytes)) return Unavailable("cannot write ", path);
  }
  WEIR_ASSIGN_OR_RETURN(auto session, Session::Create(std::move(environment), {}));
  WEIR_RETURN_IF_ERROR(session->Extend(g.graph()));
  Session::CallableSpec spec;
  std::vector<Tensor> feeds;
  for (const auto& [name, value] : g.feeds()) {
    spec.feeds.push_back(Cat(name, ":0"));
    feeds.push_back(value);
  }
  spec.targets.push_back("y");
  WEIR_ASSIGN_OR_RETURN(Session::Callable callable, session->MakeCallable(spec));
  std::vector<Tensor> outputs;
  auto step = [&] { return session->RunCallable(callable, feeds, &outputs); };
  WEIR_RETURN_IF_ERROR(step());
  WEIR_ASSIGN_OR_RETURN(std::vector<double> ms, measure(step, seconds));
  return *std::min_element(ms.begin(), ms.end());
}

}  // namespace

Status MeasureOps(std::string_view filter, double seconds, const std::string& folder, Measure measure) {
  for (const OpCase& c : Cases()) {
    if (c.name.find(filter) == std::string::npos) continue;
    auto ms = MeasureOp(DefaultEnvironment(), c, seconds, folder, measure);
    if (!ms.ok()) return Status(ms.status().code(), Cat(c.name, ": ", Message(ms.status())));
    std::printf("%-40s %10.4f\n", c.name.c_str(), *ms);
    std::fflush(stdout);
  }
  return OkStatus();
}

}  // namespace weir::bench
