// ParseExample and its like: the kernels around ExampleParser.
#include "weir/framework/kernel_registry.h"
#include "weir/io/example_parser.h"
#include "weir/ops/io/register.h"

namespace weir {
namespace {

// What the attributes say; the keys may come later, as inputs.
Status ReadTypes(const KernelInit& init, ExampleSpec& spec) {
  WEIR_ASSIGN_OR_RETURN(std::vector<DType> dense, init.Attr<std::vector<DType>>("Tdense"));
  WEIR_ASSIGN_OR_RETURN(std::vector<PartialShape> shapes, init.Attr<std::vector<PartialShape>>("dense_shapes"));
  WEIR_ASSIGN_OR_RETURN(std::vector<DType> sparse, init.Attr<std::vector<DType>>("sparse_types"));
  if (dense.size() != shapes.size()) {
    return InvalidArgument("len(dense_shapes) and len(Tdense) must be equal but got: ", shapes.size(), " vs. ",
                           dense.size());
  }
  for (size_t i = 0; i < dense.size(); ++i) {
    const PartialShape& shape = shapes[i];
    bool known = shape.has_rank();
    for (int d = 1; known && d < shape.rank(); ++d) known = shape.dim(d) >= 0;
    if (!known) {
      return InvalidArgument("dense_shapes[", i, "] has unknown rank or unknown inner dimensions: ", shape.ToString());
    }
    spec.dense.push_back({.dtype = dense[i], .shape = shape});
  }
  for (DType dtype : sparse) spec.sparse.push_back({.dtype = dtype});
  return OkStatus();
}

Status ReadRaggedTypes(const KernelInit& init, ExampleSpec& spec) {
  WEIR_ASSIGN_OR_RETURN(std::vector<DType> values, init.Attr<std::vector<DType>>("ragged_value_types"));
  WEIR_ASSIGN_OR_RETURN(std::vector<DType> splits, init.Attr<std::vector<DType>>("ragged_split_types"));
  if (values.size() != splits.size()) {
    return InvalidArgument("len(ragged_value_types) and len(ragged_split_types) must be equal but got: ", values.size(),
                           " vs. ", splits.size());
  }
  for (size_t i = 0; i < values.size(); ++i) spec.ragged.push_back({.dtype = values[i], .splits_dtype = splits[i]});
  return OkStatus();
}

// Hands the tensors out in the order of the op's outputs.
class OutputWriter {
 public:
  explicit OutputWriter(KernelContext& ctx) : ctx_(ctx) {}
  void Put(std::vector<Tensor>& tensors) {
    for (Tensor& tensor : tensors) ctx_.set_output(next_++, std::move(tensor));
  }

 private:
  KernelContext& ctx_;
  int next_ = 0;
};

void PutAll(KernelContext& ctx, ParsedExamples parsed) {
  OutputWriter out(ctx);
  out.Put(parsed.sparse_indices);
  out.Put(parsed.sparse_values);
  out.Put(parsed.sparse_shapes);
  out.Put(parsed.dense_values);
  out.Put(parsed.ragged_values);
  out.Put(parsed.ragged_splits);
}

Status TakeDefaults(KernelContext& ctx, int first, ExampleSpec& spec) {
  for (size_t i = 0; i < spec.dense.size(); ++i) spec.dense[i].default_value = ctx.input(first + static_cast<int>(i));
  return OkStatus();
}

class ParseExampleKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ParseExampleKernel>();
    kernel->is_v2_ = init.schema().name == "ParseExampleV2";
    WEIR_RETURN_IF_ERROR(ReadTypes(init, kernel->spec_));
    if (kernel->is_v2_) {
      WEIR_RETURN_IF_ERROR(ReadRaggedTypes(init, kernel->spec_));
      WEIR_ASSIGN_OR_RETURN(int64_t num_sparse, init.Attr<int64_t>("num_sparse"));
      if (num_sparse != static_cast<int64_t>(kernel->spec_.sparse.size())) {
        return InvalidArgument("len(sparse_types) and num_sparse must be equal but got: ", kernel->spec_.sparse.size(),
                               " vs. ", num_sparse);
      }
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor serialized = ctx.input(0);
    const Tensor names = ctx.input(1);
    WEIR_RETURN_IF_ERROR(CheckTexts(serialized, names));
    ExampleSpec spec = spec_;
    WEIR_RETURN_IF_ERROR(is_v2_ ? TakeKeyVectors(ctx, spec) : TakeKeyScalars(ctx, spec));
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ExampleParser> parser, ExampleParser::Create(std::move(spec)));
    if (serialized.shape().IsScalar()) {
      WEIR_ASSIGN_OR_RETURN(ParsedExamples parsed, parser->ParseSingle(serialized.scalar<std::string>()));
      PutAll(ctx, std::move(parsed));
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(ParsedExamples parsed, parser->ParseBatch(serialized.span<std::string>(),
                                                                    names.span<std::string>(), ctx.step().intra_op));
    PutAll(ctx, std::move(parsed));
    return OkStatus();
  }

 private:
  Status CheckTexts(const Tensor& serialized, const Tensor& names) const {
    if (is_v2_ ? serialized.rank() > 1 : serialized.rank() != 1) {
      return InvalidArgument("Expected serialized to be a ", is_v2_ ? "scalar or vector" : "vector",
                             ", got shape: ", serialized.shape().ToString());
    }
    if (names.num_elements() > 0 && names.shape() != serialized.shape()) {
      return InvalidArgument("Expected names have the same shape as serialized: name.shape=", names.shape().ToString(),
                             ", serialized.shape=", serialized.shape().ToString());
    }
    return OkStatus();
  }

  // A vector of keys for each kind.
  static Status TakeKeyVectors(KernelContext& ctx, ExampleSpec& spec) {
    auto keys = [&](int input, std::string_view what, std::string_view count, size_t expected) -> Status {
      const Tensor& tensor = ctx.input(input);
      if (!tensor.shape().IsVector()) {
        return InvalidArgument("Expected ", what, " to be a vector, got shape: ", tensor.shape().ToString());
      }
      if (tensor.num_elements() == static_cast<int64_t>(expected)) return OkStatus();
      return InvalidArgument("Expected len(", what, ") == ", count, " but got: ", tensor.num_elements(), " vs. ",
                             expected);
    };
    WEIR_RETURN_IF_ERROR(keys(2, "sparse_keys", "num_sparse", spec.sparse.size()));
    WEIR_RETURN_IF_ERROR(keys(3, "dense_keys", "len(dense_types)", spec.dense.size()));
    WEIR_RETURN_IF_ERROR(keys(4, "ragged_keys", "len(ragged_value_types)", spec.ragged.size()));
    for (size_t i = 0; i < spec.sparse.size(); ++i) spec.sparse[i].key = ctx.input(2).data<std::string>()[i];
    for (size_t i = 0; i < spec.dense.size(); ++i) spec.dense[i].key = ctx.input(3).data<std::string>()[i];
    for (size_t i = 0; i < spec.ragged.size(); ++i) spec.ragged[i].key = ctx.input(4).data<std::string>()[i];
    return TakeDefaults(ctx, 5, spec);
  }

  // A tensor for each key.
  static Status TakeKeyScalars(KernelContext& ctx, ExampleSpec& spec) {
    const size_t num_sparse = spec.sparse.size(), num_dense = spec.dense.size();
    if (static_cast<size_t>(ctx.num_inputs()) != 2 + num_sparse + 2 * num_dense) {
      return InvalidArgument("Expected ", num_sparse, " sparse keys and ", num_dense, " dense keys and defaults, got ",
                             ctx.num_inputs() - 2, " inputs");
    }
    int input = 2;
    auto key = [&]() -> StatusOr<std::string> {
      const Tensor& tensor = ctx.input(input++);
      if (tensor.num_elements() == 1) return tensor.scalar<std::string>();
      return InvalidArgument("Expected a key to be a scalar, got shape: ", tensor.shape().ToString());
    };
    for (SparseFeature& feature : spec.sparse) {
      WEIR_ASSIGN_OR_RETURN(feature.key, key());
    }
    for (DenseFeature& feature : spec.dense) {
      WEIR_ASSIGN_OR_RETURN(feature.key, key());
    }
    return TakeDefaults(ctx, input, spec);
  }

  bool is_v2_ = false;
  ExampleSpec spec_;  // without keys and defaults
};

class ParseSingleExampleKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ParseSingleExampleKernel>();
    ExampleSpec& spec = kernel->spec_;
    WEIR_RETURN_IF_ERROR(ReadTypes(init, spec));
    WEIR_ASSIGN_OR_RETURN(std::vector<std::string> sparse, init.Attr<std::vector<std::string>>("sparse_keys"));
    WEIR_ASSIGN_OR_RETURN(std::vector<std::string> dense, init.Attr<std::vector<std::string>>("dense_keys"));
    WEIR_ASSIGN_OR_RETURN(int64_t num_sparse, init.Attr<int64_t>("num_sparse"));
    if (num_sparse != static_cast<int64_t>(sparse.size()) || num_sparse != static_cast<int64_t>(spec.sparse.size())) {
      return InvalidArgument("num_sparse (", num_sparse, ") must match the size of sparse_keys (", sparse.size(),
                             ") and sparse_types (", spec.sparse.size(), ")");
    }
    if (dense.size() != spec.dense.size()) {
      return InvalidArgument("dense_keys (", dense.size(), ") must match the size of Tdense (", spec.dense.size(), ")");
    }
    for (size_t i = 0; i < sparse.size(); ++i) spec.sparse[i].key = sparse[i];
    for (size_t i = 0; i < dense.size(); ++i) spec.dense[i].key = dense[i];
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor serialized = ctx.input(0);
    if (!serialized.shape().IsScalar()) {
      return InvalidArgument("Expected serialized to be a scalar, got shape: ", serialized.shape().ToString());
    }
    ExampleSpec spec = spec_;
    WEIR_RETURN_IF_ERROR(TakeDefaults(ctx, 1, spec));
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ExampleParser> parser, ExampleParser::Create(std::move(spec)));
    WEIR_ASSIGN_OR_RETURN(ParsedExamples parsed, parser->ParseSingle(serialized.scalar<std::string>()));
    PutAll(ctx, std::move(parsed));
    return OkStatus();
  }

 private:
  ExampleSpec spec_;  // without defaults
};

}  // namespace

void RegisterParseExampleKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ParseExample"), MakeKernel<ParseExampleKernel>);
  registry.Add(KernelBuilder("ParseExampleV2"), MakeKernel<ParseExampleKernel>);
  registry.Add(KernelBuilder("ParseSingleExample"), MakeKernel<ParseSingleExampleKernel>);
}

}  // namespace weir
