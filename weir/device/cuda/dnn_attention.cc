#include "weir/device/cuda/dnn_attention.h"

#include <array>
#include <limits>

#include "weir/device/cuda/dnn_graph.h"

namespace weir::cuda {
namespace {

// A plan costs about a second to make, so it must save time in many steps. In multiplications.
constexpr int64_t kLeastWork = int64_t{1} << 25;
constexpr int64_t kAlignment = 16;

enum TensorId : int64_t {
  kQ = 1,
  kK,
  kV,
  kOut,
  kStats,
  kDout,
  kDq,
  kDk,
  kDv,
  kRowSums,
  kDqSums,
  kScale,
  kLowest,
  kOne,
  kFirstVirtual
};

using Dims = std::array<int64_t, 4>;
using Value = const DnnDescriptor*;

// Adds operations until one fails; what follows a failure is left out.
class Writer {
 public:
  Writer(const CudnnFunctions& dnn, CudnnDataType type) : type_(type), graph_(std::make_unique<DnnGraph>(dnn)) {}

  CudnnDataType type() const { return type_; }
  StatusOr<std::unique_ptr<DnnGraph>> Finish() {
    WEIR_RETURN_IF_ERROR(status_);
    return std::move(graph_);
  }

  Value Memory(int64_t id, CudnnDataType type, const Dims& dims, const Dims& strides) {
    return Take(graph_->AddTensor(id, type, dims, strides, kAlignment, false));
  }
  Value Virtual(CudnnDataType type, const Dims& dims, const Dims& strides) {
    return Take(graph_->AddTensor(next_virtual_++, type, dims, strides, kAlignment, true));
  }
  Value Virtual(CudnnDataType type, const Dims& dims) { return Virtual(type, dims, Packed(dims)); }
  // A number that a run gets in the host's memory.
  Value Scalar(int64_t id) { return Take(graph_->AddScalar(id, kCudnnFloat)); }

  void Multiply(Value a, Value b, Value c) {
    Add(kCudnnOperationMatmulDescriptor, [&](DnnDescriptor& operation) -> Status {
      WEIR_ASSIGN_OR_RETURN(DnnDescriptor matmul, Descriptor(kCudnnMatmulDescriptor));
      WEIR_RETURN_IF_ERROR(matmul.Set(kCudnnAttrMatmulComputeType, kCudnnTypeDataType, kCudnnFloat));
      WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationMatmul, *Kept(matmul)));
      WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationMatmulA, *a));
      WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationMatmulB, *b));
      return operation.Set(kCudnnAttrOperationMatmulC, *c);
    });
  }
  struct Pointwise {
    CudnnPointwiseMode mode;
    CudnnDataType precision = kCudnnFloat;
    int64_t axis = -1;
  };
  void Apply(Pointwise of, Value x, Value b, Value result, Value condition = nullptr) {
    Add(kCudnnOperationPointwiseDescriptor, [&](DnnDescriptor& operation) -> Status {
      WEIR_ASSIGN_OR_RETURN(DnnDescriptor pointwise, Descriptor(kCudnnPointwiseDescriptor));
      WEIR_RETURN_IF_ERROR(pointwise.Set(kCudnnAttrPointwiseMode, kCudnnTypePointwiseMode, of.mode));
      WEIR_RETURN_IF_ERROR(pointwise.Set(kCudnnAttrPointwiseMathPrecision, kCudnnTypeDataType, of.precision));
      if (of.axis >= 0) WEIR_RETURN_IF_ERROR(pointwise.Set(kCudnnAttrPointwiseAxis, kCudnnTypeInt64, of.axis));
      WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationPointwise, *Kept(pointwise)));
      WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationPointwiseX, *x));
      if (b != nullptr) WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationPointwiseB, *b));
      if (condition != nullptr) WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationPointwiseT, *condition));
      return operation.Set(kCudnnAttrOperationPointwiseY, *result);
    });
  }
  void Reduce(CudnnReduction by, Value x, Value result) {
    Add(kCudnnOperationReductionDescriptor, [&](DnnDescriptor& operation) -> Status {
      WEIR_ASSIGN_OR_RETURN(DnnDescriptor reduction, Descriptor(kCudnnReductionDescriptor));
      WEIR_RETURN_IF_ERROR(reduction.Set(kCudnnAttrReductionOperator, kCudnnTypeReduction, by));
      WEIR_RETURN_IF_ERROR(reduction.Set(kCudnnAttrReductionComputeType, kCudnnTypeDataType, kCudnnFloat));
      WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationReduction, *Kept(reduction)));
      WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationReductionX, *x));
      return operation.Set(kCudnnAttrOperationReductionY, *result);
    });
  }
  void Reshape(Value x, Value result) {
    Add(kCudnnOperationReshapeDescriptor, [&](DnnDescriptor& operation) -> Status {
      WEIR_RETURN_IF_ERROR(operation.Set(kCudnnAttrOperationReshapeX, *x));
      return operation.Set(kCudnnAttrOperationReshapeY, *result);
    });
  }

 private:
  static Dims Packed(const Dims& dims) { return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1}; }
  Value Take(StatusOr<Value> value) {
    if (value.ok()) return *value;
    if (status_.ok()) status_ = value.status();
    return nullptr;
  }
  StatusOr<DnnDescriptor> Descriptor(CudnnDescriptorType type) const {
    return DnnDescriptor::Make(graph_->functions(), type);
  }
  // Finished, for an operation to refer to.
  Value Kept(DnnDescriptor& descriptor) {
    if (Status status = descriptor.Finalize(); status_.ok()) status_ = status;
    return graph_->Keep(std::move(descriptor));
  }
  template <typename Fill>
  void Add(CudnnDescriptorType type, Fill&& fill) {
    if (!status_.ok()) return;
    status_ = [&]() -> Status {
      WEIR_ASSIGN_OR_RETURN(DnnDescriptor operation, Descriptor(type));
      WEIR_RETURN_IF_ERROR(fill(operation));
      WEIR_RETURN_IF_ERROR(status_);
      WEIR_RETURN_IF_ERROR(operation.Finalize());
      graph_->AddOperation(std::move(operation));
      return OkStatus();
    }();
  }

  const CudnnDataType type_;
  std::unique_ptr<DnnGraph> graph_;
  int64_t next_virtual_ = kFirstVirtual;
  Status status_;
};

// The tensors of one attention. Engines recognise graphs by their operations and strides, so both directions are
// written as cuDNN documents them for fused attention.
class AttentionGraph {
 public:
  AttentionGraph(const DnnAttention& a, Writer& writer) : a_(a), w_(writer) {}

  void Forward() {
    Value scores = Masked(Scaled(Scores(Queries(kQ, a_.q), Transposed(kK, a_.k))));
    Value max = w_.Virtual(kCudnnFloat, rows()), sum = w_.Virtual(kCudnnFloat, rows());
    w_.Reduce(kCudnnReduceMax, scores, max);
    Value shifted = Apply(kCudnnPointwiseSub, scores, max, scores_dims());
    Value exponentials = Apply(kCudnnPointwiseExp, shifted, nullptr, scores_dims());
    w_.Reduce(kCudnnReduceAdd, exponentials, sum);
    Value logarithm = Apply(kCudnnPointwiseLog, sum, nullptr, rows());
    w_.Apply({kCudnnPointwiseAdd}, max, logarithm, Stats());
    Value weights = w_.Virtual(w_.type(), scores_dims());
    w_.Apply({kCudnnPointwiseDiv}, exponentials, sum, weights);
    w_.Multiply(weights, Keys(kV, a_.v), Queries(kOut, a_.out));
  }

  void Backward() {
    Value q = Queries(kQ, a_.q), k_transposed = Transposed(kK, a_.k), dout = Queries(kDout, a_.dout);
    // How much each row's softmax takes back.
    const Dims by_query = {a_.heads * a_.queries * a_.size, a_.queries * a_.size, a_.heads * a_.size, 1};
    Value products = w_.Virtual(kCudnnFloat, {a_.batch, a_.heads, a_.queries, a_.size}, by_query);
    w_.Apply({kCudnnPointwiseMul}, dout, Queries(kOut, a_.out), products);
    Value sums = w_.Virtual(kCudnnFloat, rows());
    w_.Reduce(kCudnnReduceAdd, products, sums);
    Value row_sums = Rows(kRowSums);
    w_.Apply({kCudnnPointwiseMul}, sums, w_.Scalar(kOne), row_sums);

    Value scale = w_.Scalar(kScale);
    Value scores = Apply(kCudnnPointwiseMul, Scores(q, k_transposed), scale, scores_dims());
    Value shifted = Apply(kCudnnPointwiseSub, scores, Stats(), scores_dims());
    Value weights = Apply(kCudnnPointwiseExp, Masked(shifted), nullptr, scores_dims());
    w_.Multiply(ByKey(weights), dout, Keys(kDv, a_.dv));

    Value slopes = Scores(dout, Transposed(kV, a_.v));
    slopes = Apply(kCudnnPointwiseSub, slopes, row_sums, scores_dims());
    slopes = Apply(kCudnnPointwiseMul, slopes, weights, scores_dims());
    slopes = Apply(kCudnnPointwiseMul, slopes, scale, scores_dims());
    w_.Multiply(ByKey(slopes), q, Keys(kDk, a_.dk));

    Value k = w_.Virtual(w_.type(), keys(), Strides(a_.k));
    w_.Reshape(k_transposed, k);
    Value dq = w_.Memory(kDqSums, kCudnnFloat, queries(), PackedQueries());
    w_.Multiply(slopes, k, dq);
    w_.Apply({kCudnnPointwiseIdentity}, dq, nullptr, Queries(kDq, a_.dq));
  }

 private:
  Dims queries() const { return {a_.batch, a_.heads, a_.queries, a_.size}; }
  Dims keys() const { return {a_.batch, a_.heads, a_.keys, a_.size}; }
  Dims rows() const { return {a_.batch, a_.heads, a_.queries, 1}; }
  Dims scores_dims() const { return {a_.batch, a_.heads, a_.queries, a_.keys}; }
  static Dims Strides(const HeadsAt& at) { return {at.batch, at.head, at.time, 1}; }
  Dims PackedQueries() const { return {a_.heads * a_.queries * a_.size, a_.queries * a_.size, a_.size, 1}; }

  Value Queries(int64_t id, const HeadsAt& at) { return w_.Memory(id, w_.type(), queries(), Strides(at)); }
  Value Keys(int64_t id, const HeadsAt& at) { return w_.Memory(id, w_.type(), keys(), Strides(at)); }
  Value Transposed(int64_t id, const HeadsAt& at) {
    return w_.Memory(id, w_.type(), {a_.batch, a_.heads, a_.size, a_.keys}, {at.batch, at.head, 1, at.time});
  }
  Value Rows(int64_t id) { return w_.Memory(id, kCudnnFloat, rows(), {a_.heads * a_.queries, a_.queries, 1, 1}); }
  Value Stats() { return Rows(kStats); }

  Value Apply(CudnnPointwiseMode mode, Value x, Value b, const Dims& dims) {
    Value result = w_.Virtual(kCudnnFloat, dims);
    w_.Apply({mode}, x, b, result);
    return result;
  }
  Value Scores(Value rows, Value transposed) {
    Value result = w_.Virtual(kCudnnFloat, scores_dims());
    w_.Multiply(rows, transposed, result);
    return result;
  }
  Value Scaled(Value scores) { return Apply(kCudnnPointwiseMul, scores, w_.Scalar(kScale), scores_dims()); }
  Value Masked(Value scores) {
    if (!a_.is_causal) return scores;
    Value query = w_.Virtual(kCudnnInt32, scores_dims()), key = w_.Virtual(kCudnnInt32, scores_dims());
    w_.Apply({kCudnnPointwiseGenerateIndex, kCudnnFloat, 2}, scores, nullptr, query);
    w_.Apply({kCudnnPointwiseGenerateIndex, kCudnnFloat, 3}, scores, nullptr, key);
    Value is_seen = w_.Virtual(kCudnnBoolean, scores_dims());
    w_.Apply({kCudnnPointwiseCompareGe, kCudnnBoolean}, query, key, is_seen);
    Value result = w_.Virtual(kCudnnFloat, scores_dims());
    w_.Apply({kCudnnPointwiseSelect}, scores, w_.Scalar(kLowest), result, is_seen);
    return result;
  }
  // Scores as an operand whose rows are keys.
  Value ByKey(Value scores) {
    Value result = w_.Virtual(w_.type(), {a_.batch, a_.heads, a_.keys, a_.queries},
                              {a_.heads * a_.queries * a_.keys, a_.queries * a_.keys, 1, a_.keys});
    w_.Reshape(scores, result);
    return result;
  }

  const DnnAttention& a_;
  Writer& w_;
};

bool IsWorthAPlan(const DnnAttention& a) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (a.size % 8 != 0 || a.size > 128 || a.queries < 128 || a.keys < 128) return false;
  if (a.batch > kMost || a.heads > kMost || a.queries > kMost || a.keys > kMost) return false;
  return static_cast<double>(a.batch) * static_cast<double>(a.heads) * static_cast<double>(a.queries) *
             static_cast<double>(a.keys) * static_cast<double>(a.size) >=
         static_cast<double>(kLeastWork);
}

// A tensor of the graph: its number, where it is, and, for heads, how they lie.
struct Argument {
  int64_t id;
  DeviceAddress address;
  const HeadsAt* heads = nullptr;
};

StatusOr<bool> Run(KernelContext& ctx, const DnnAttention& a, bool is_gradient, std::span<const Argument> arguments) {
  std::string key = Cat("attention", is_gradient, Name(a.dtype), ",", a.batch, ",", a.heads, ",", a.queries, ",",
                        a.keys, ",", a.size, ",", a.is_causal);
  std::vector<int64_t> ids;
  std::vector<DeviceAddress> addresses;
  for (const Argument& each : arguments) {
    ids.push_back(each.id);
    addresses.push_back(each.address);
    if (each.heads == nullptr) continue;
    if (each.address % kAlignment != 0) return false;
    key += Cat(",", each.heads->batch, ",", each.heads->head, ",", each.heads->time);
  }
  StatusOr<DnnStream*> stream = DnnStream::Of(ctx);
  // Without cuDNN there are weir's own kernels.
  if (!stream.ok()) return false;
  const DnnEngineLimits limits{.deterministic = ctx.step().deterministic};
  WEIR_ASSIGN_OR_RETURN(
      DnnPlan * plan,
      (*stream)->Find(key, limits, [&](const CudnnFunctions& dnn) -> StatusOr<std::unique_ptr<DnnGraph>> {
        WEIR_ASSIGN_OR_RETURN(const CudnnDataType type, CudnnTypeOf(a.dtype));
        Writer writer(dnn, type);
        AttentionGraph graph(a, writer);
        is_gradient ? graph.Backward() : graph.Forward();
        return writer.Finish();
      }));
  if (plan == nullptr) return false;
  WEIR_RETURN_IF_ERROR((*stream)->Run(ctx, *plan, ids, addresses));
  return true;
}

Argument Heads(int64_t id, const HeadsAt& heads) { return {id, heads.address, &heads}; }
Argument Number(int64_t id, const float& number) { return {id, reinterpret_cast<DeviceAddress>(&number)}; }
constexpr float kLowestNumber = -std::numeric_limits<float>::infinity(), kOneNumber = 1;

}  // namespace

StatusOr<bool> RunDnnAttention(KernelContext& ctx, const DnnAttention& a) {
  if (!IsWorthAPlan(a)) return false;
  std::vector<Argument> arguments = {Heads(kQ, a.q),     Heads(kK, a.k),    Heads(kV, a.v),
                                     Heads(kOut, a.out), {kStats, a.stats}, Number(kScale, a.scale)};
  if (a.is_causal) arguments.push_back(Number(kLowest, kLowestNumber));
  return Run(ctx, a, /*is_gradient=*/false, arguments);
}

StatusOr<bool> RunDnnAttentionGradient(KernelContext& ctx, const DnnAttention& a) {
  if (!IsWorthAPlan(a)) return false;
  const Shape rows({a.batch, a.heads, a.queries}), queries({a.batch, a.heads, a.queries, a.size});
  WEIR_ASSIGN_OR_RETURN(Tensor row_sums, ctx.AllocateTemp(DType::kFloat, rows));
  WEIR_ASSIGN_OR_RETURN(Tensor dq_sums, ctx.AllocateTemp(DType::kFloat, queries));
  std::vector<Argument> arguments = {Heads(kQ, a.q),
                                     Heads(kK, a.k),
                                     Heads(kV, a.v),
                                     Heads(kOut, a.out),
                                     {kStats, a.stats},
                                     Heads(kDout, a.dout),
                                     Heads(kDq, a.dq),
                                     Heads(kDk, a.dk),
                                     Heads(kDv, a.dv),
                                     {kRowSums, Address(row_sums)},
                                     {kDqSums, Address(dq_sums)},
                                     Number(kScale, a.scale),
                                     Number(kOne, kOneNumber)};
  if (a.is_causal) arguments.push_back(Number(kLowest, kLowestNumber));
  return Run(ctx, a, /*is_gradient=*/true, arguments);
}

}  // namespace weir::cuda
