// Gradients of sparse tensors: of their values; indices and shapes have none.
#include "weir/autodiff/emit.h"
#include "weir/ops/gradients.h"

namespace weir::emit {
namespace {

using G = GradientContext;

GradientFunction NotImplemented() {
  return [](G& g) -> Gradients {
    g.Fail(Unimplemented("Gradient for ", g.op(), " is not implemented."));
    return {};
  };
}

// The values go back to where they stood before they were put in order.
Gradients ReorderGradient(G& g) {
  Value indices = g.input(0);
  Value places = Range(Int(indices, 0), At(Shape(indices), 0));
  Value order = g.Outputs("SparseReorder", {indices, places, g.input(2)})[1];
  return {{}, Gather(g.grad(1), InvertPermutation(order))};
}

Gradients ReduceSumGradient(G& g) {
  Value indices = g.input(0), shape = g.input(2), rank = Size(shape);
  Value axes = Binary("FloorMod", Reshape(g.input(3), Ints(shape, {-1})) + rank, rank);
  Value ones = Fill(Shape(axes), Scalar(shape, DType::kInt64, 1));
  Value kept =
      g.Op("DynamicStitch", {std::vector<Value>{Range(Int(shape, 0), rank), axes}, std::vector<Value>{shape, ones}});
  Value scale = Binary("FloorDiv", shape, Binary("Maximum", kept, Scalar(kept, 1)));
  Value flow = Reshape(g.grad(), kept);
  return {{}, Binary("GatherNd", flow, Binary("FloorDiv", indices, Binary("Maximum", scale, Scalar(scale, 1))))};
}

// The columns 0 and 1 of a matrix of indices.
Value Column(Value indices, int64_t column) { return Gather(indices, Int(indices, column), 1); }

Gradients DenseMatMulGradient(G& g) {
  Value indices = g.input(0), values = g.input(1), shape = g.input(2), b = g.input(3), flow = g.grad();
  const bool adjoint_a = g.Attr<bool>("adjoint_a"), adjoint_b = g.Attr<bool>("adjoint_b");
  Value of_b = g.Op("SparseTensorDenseMatMul", {indices, values, shape, flow}, {{"adjoint_a", !adjoint_a}});
  if (adjoint_b) of_b = Adjoint(of_b);
  Value rows = Column(indices, adjoint_a ? 1 : 0), columns = Column(indices, adjoint_a ? 0 : 1);
  Value left = Gather(flow, rows);
  Value right = Gather(adjoint_b ? Adjoint(b) : b, columns);
  Value of_values = adjoint_a ? Conj(left) * right : left * Conj(right);
  return {{}, Sum(of_values, {-1}), {}, of_b};
}

Gradients CwiseGradient(G& g, bool product) {
  Value indices = g.input(0), values = g.input(1), shape = g.input(2), y = g.input(3), flow = g.grad();
  Value y_shape = Shape(y, DType::kInt64);
  Value missing = Reshape(Size(shape) - Size(y_shape), Ints(shape, {1}));
  Value full = Concat({Fill(missing, Scalar(shape, DType::kInt64, 1)), y_shape}, 0);
  Value scaled = Binary("FloorDiv", indices, Binary("FloorDiv", shape, full));
  scaled = Slice(scaled, Concat({Ints(shape, {0}), missing}, 0), Ints(shape, {-1, -1}));
  Value dense = Binary("GatherNd", y, scaled);
  Value of_values = product ? flow * dense : flow / dense;
  Value of_y = product ? flow * values : flow * (-values / Unary("Square", dense));
  return {{}, of_values, {}, g.Op("ScatterNd", {scaled, of_y, y_shape})};
}

Gradients SoftmaxGradient(G& g) {
  Value indices = g.input(0), shape = g.input(2), y = g.output(0), flow = g.grad();
  Value sums = -g.Op("SparseReduceSum", {indices, y * flow, shape, Ints(indices, {-1})}, {{"keep_dims", true}});
  return {{}, g.Op("SparseDenseCwiseAdd", {indices, flow, shape, sums}) * y};
}

// The rows of `values` that the elements of a dense tensor came from; what came from none belongs to the default.
Gradients RaggedToTensorGradient(G& g) {
  Value values = g.input(1), default_value = g.input(2), flow = g.grad();
  std::vector<Value> partitions;
  for (int i = 3; i < g.num_inputs(); ++i) partitions.push_back(g.input(i));
  int64_t ragged_rank = 0;
  for (const std::string& type : g.Attr<std::vector<std::string>>("row_partition_types")) {
    ragged_rank += type != "FIRST_DIM_SIZE";
  }
  Value rows = Range(Int(values, 0), At(Shape(values), 0));
  Value places =
      g.OpLike("RaggedTensorToTensor", {SubVector(Shape(flow), 0, 1 + ragged_rank), rows, Int(values, -1), partitions},
               {"row_partition_types"});
  Value known = Where(Binary("NotEqual", places, Int(values, -1)));
  Value none = Where(Binary("Equal", places, Int(values, -1)));
  Value defaults = Binary("GatherNd", flow, none);
  Value of_default = SumToShapeOf(defaults, default_value, defaults);
  return {{},
          GradientValue::Sparse(Binary("GatherNd", flow, known), Binary("GatherNd", places, known), Shape(values)),
          of_default};
}

// Row i of the params covers the inner values [splits[i], splits[i + 1]).
Gradients RaggedGatherGradient(G& g) {
  const int splits = g.num_inputs() - 2;
  Value inner = g.input(splits), indices = g.input(splits + 1);
  Value covered = g.input(0);
  for (int i = 1; i < splits; ++i) covered = Gather(g.input(i), covered);
  Value flat = Reshape(indices, Ints(indices, {-1}));
  Value begin = Gather(covered, flat), end = Gather(covered, flat + Scalar(flat, 1));
  Value rows =
      g.Outputs("RaggedRange", {begin, end, Fill(Shape(begin), Scalar(begin, 1))}, {{"Tsplits", DType::kInt64}})[1];
  Gradients out(splits);
  out.push_back(GradientValue::Sparse(g.grad(g.num_outputs() - 1), rows, Shape(inner)));
  return out;
}

void AddRagged(GradientRegistry& r) {
  r.Add("RaggedTensorToTensor", RaggedToTensorGradient);
  r.Add("RaggedGather", RaggedGatherGradient);
  r.Add("RaggedTensorToSparse", [](G& g) -> Gradients {
    Gradients out(g.num_inputs() - 1);
    out.push_back(ReshapeLike(g.grad(1), g.input(g.num_inputs() - 1)));
    return out;
  });
  r.Add("RaggedTensorFromVariant", [](G& g) -> Gradients {
    const int rank = g.input(0).shape().rank();
    std::vector<Value> splits;
    for (int i = 0; i + 1 < g.num_outputs(); ++i) splits.push_back(g.output(i));
    const bool batched = rank < 0 ? g.Attr<int64_t>("output_ragged_rank") > 0 : rank == 1;
    return {g.OpLike("RaggedTensorToVariant", {splits, g.grad(g.num_outputs() - 1)}, {"Tsplits"},
                     {{"batched_input", batched}})};
  });
  r.Add("RaggedTensorToVariant", [](G& g) -> Gradients {
    const int splits = g.num_inputs() - 1;
    Value values = g.input(splits);
    Value row_splits = splits == 0 ? Int(values, 0, DType::kInt64) : g.input(0);
    Gradients out(splits);
    out.push_back(
        g.Op("RaggedTensorToVariantGradient", {g.grad(), row_splits, Shape(values)}, {{"Tvalues", values.dtype()}}));
    return out;
  });
}

void AddAll(GradientRegistry& r) {
  r.Add("SparseReorder", ReorderGradient);
  r.Add("SparseAdd", [](G& g) -> Gradients {
    Values grads = g.Outputs("SparseAddGrad", {g.grad(1), g.input(0), g.input(3), g.output(0)});
    return {{}, grads[0], {}, {}, grads[1]};
  });
  r.Add("SparseTensorDenseAdd", [](G& g) -> Gradients {
    return {{}, Binary("GatherNd", g.grad(), g.input(0)), {}, g.grad()};
  });
  r.Add("SparseReduceSum", ReduceSumGradient);
  r.Add("SparseSlice", [](G& g) -> Gradients {
    return {{}, g.Op("SparseSliceGrad", {g.grad(1), g.input(0), g.input(3), g.output(0)})};
  });
  r.Add("SparseTensorDenseMatMul", DenseMatMulGradient);
  r.Add("SparseDenseCwiseMul", [](G& g) { return CwiseGradient(g, true); });
  r.Add("SparseDenseCwiseDiv", [](G& g) { return CwiseGradient(g, false); });
  r.Add("SparseSoftmax", SoftmaxGradient);
  for (const char* op : {"SparseDenseCwiseAdd", "SparseSparseMaximum", "SparseSparseMinimum"}) {
    r.Add(op, NotImplemented());
  }
  r.Add("SparseFillEmptyRows", [](G& g) -> Gradients {
    Values grads = g.Outputs("SparseFillEmptyRowsGrad", {g.output(3), g.grad(1)});
    return {{}, grads[0], {}, grads[1]};
  });
  r.Add("RaggedFillEmptyRows", [](G& g) -> Gradients {
    Values grads = g.Outputs("RaggedFillEmptyRowsGrad", {g.output(3), g.grad(1)});
    return {{}, grads[0], {}, grads[1]};
  });
  r.Add("SparseToDense", [](G& g) -> Gradients {
    Value flow = g.grad(), values = Binary("GatherNd", flow, g.input(0));
    auto total = [](Value x) { return Sum(x, Range(Int(x, 0), Rank(x))); };
    return {{}, {}, values, total(flow) - total(values)};
  });
  r.Add("SparseTensorToCSRSparseMatrix", [](G& g) -> Gradients {
    return {{}, g.Outputs("CSRSparseMatrixToSparseTensor", {g.grad()}, {{"type", g.input(1).dtype()}})[1]};
  });
  AddRagged(r);
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterSparseGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
