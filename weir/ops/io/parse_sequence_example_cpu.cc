// The kernels around SequenceExampleParser.
#include <algorithm>

#include "weir/framework/kernel_registry.h"
#include "weir/io/sequence_example_parser.h"
#include "weir/ops/io/register.h"

namespace weir {
namespace {

using Keys = std::vector<std::string>;

// The six lists of keys, in the order of the inputs of ParseSequenceExampleV2.
struct SequenceKeys {
  Keys context_sparse, context_dense, context_ragged;
  Keys list_sparse, list_dense, list_ragged;
};

// What the attributes say: everything but keys and defaults.
Status ReadTypes(const KernelInit& init, SequenceSpec& spec) {
  using Types = std::vector<DType>;
  using Shapes = std::vector<PartialShape>;
  WEIR_ASSIGN_OR_RETURN(Types context_sparse, init.Attr<Types>("context_sparse_types"));
  WEIR_ASSIGN_OR_RETURN(Types context_dense, init.Attr<Types>("Tcontext_dense"));
  WEIR_ASSIGN_OR_RETURN(Shapes context_shapes, init.Attr<Shapes>("context_dense_shapes"));
  WEIR_ASSIGN_OR_RETURN(Types sparse, init.Attr<Types>("feature_list_sparse_types"));
  WEIR_ASSIGN_OR_RETURN(Types dense, init.Attr<Types>("feature_list_dense_types"));
  WEIR_ASSIGN_OR_RETURN(Shapes shapes, init.Attr<Shapes>("feature_list_dense_shapes"));
  if (context_shapes.size() != context_dense.size()) {
    return InvalidArgument("len(context_dense_shapes) != len(context_dense_types): ", context_shapes.size(), " vs. ",
                           context_dense.size());
  }
  if (shapes.size() != dense.size()) {
    return InvalidArgument("len(feature_list_dense_shapes) != len(feature_list_dense_types): ", shapes.size(), " vs. ",
                           dense.size());
  }
  for (DType dtype : context_sparse) spec.context.sparse.push_back({.dtype = dtype});
  for (size_t i = 0; i < context_dense.size(); ++i) {
    spec.context.dense.push_back({.dtype = context_dense[i], .shape = context_shapes[i]});
  }
  for (DType dtype : sparse) spec.sparse.push_back({.dtype = dtype});
  for (size_t i = 0; i < dense.size(); ++i) spec.dense.push_back({.dtype = dense[i], .shape = shapes[i]});
  if (!init.HasAttr("context_ragged_value_types")) return OkStatus();
  auto ragged = [&](std::string_view which, std::vector<RaggedFeature>& features) -> Status {
    WEIR_ASSIGN_OR_RETURN(Types values, init.Attr<Types>(Cat(which, "_ragged_value_types")));
    WEIR_ASSIGN_OR_RETURN(Types splits, init.Attr<Types>(Cat(which, "_ragged_split_types")));
    if (values.size() != splits.size()) {
      return InvalidArgument("len(", which, "_ragged_value_types) != len(", which,
                             "_ragged_split_types): ", values.size(), " vs. ", splits.size());
    }
    for (size_t i = 0; i < values.size(); ++i) features.push_back({.dtype = values[i], .splits_dtype = splits[i]});
    return OkStatus();
  };
  WEIR_RETURN_IF_ERROR(ragged("context", spec.context.ragged));
  return ragged("feature_list", spec.ragged);
}

template <typename Feature>
Status PutKeys(const Keys& keys, std::string_view what, std::vector<Feature>& features) {
  if (keys.size() != features.size()) {
    return InvalidArgument("len(", what, ") != len(types): ", keys.size(), " vs. ", features.size());
  }
  for (size_t i = 0; i < keys.size(); ++i) features[i].key = keys[i];
  return OkStatus();
}

Status PutKeys(const SequenceKeys& keys, SequenceSpec& spec) {
  WEIR_RETURN_IF_ERROR(PutKeys(keys.context_sparse, "context_sparse_keys", spec.context.sparse));
  WEIR_RETURN_IF_ERROR(PutKeys(keys.context_dense, "context_dense_keys", spec.context.dense));
  WEIR_RETURN_IF_ERROR(PutKeys(keys.context_ragged, "context_ragged_keys", spec.context.ragged));
  WEIR_RETURN_IF_ERROR(PutKeys(keys.list_sparse, "feature_list_sparse_keys", spec.sparse));
  WEIR_RETURN_IF_ERROR(PutKeys(keys.list_dense, "feature_list_dense_keys", spec.dense));
  return PutKeys(keys.list_ragged, "feature_list_ragged_keys", spec.ragged);
}

void PutMissing(const std::vector<std::string>& assumed_empty, SequenceSpec& spec) {
  for (DenseList& list : spec.dense) {
    list.may_be_missing = std::find(assumed_empty.begin(), assumed_empty.end(), list.key) != assumed_empty.end();
  }
}

void PutDefaults(KernelContext& ctx, int first, SequenceSpec& spec) {
  for (DenseFeature& feature : spec.context.dense) feature.default_value = ctx.input(first++);
}

// The outputs of the three ops, which differ in what they leave out.
enum class Outputs { kSingle, kPlain, kRagged };
void PutAll(KernelContext& ctx, ParsedSequences parsed, Outputs outputs) {
  int next = 0;
  auto put = [&](std::vector<Tensor>& tensors) {
    for (Tensor& tensor : tensors) ctx.set_output(next++, std::move(tensor));
  };
  put(parsed.context.sparse_indices);
  put(parsed.context.sparse_values);
  put(parsed.context.sparse_shapes);
  put(parsed.context.dense_values);
  if (outputs == Outputs::kRagged) {
    put(parsed.context.ragged_values);
    put(parsed.context.ragged_splits);
  }
  put(parsed.sparse_indices);
  put(parsed.sparse_values);
  put(parsed.sparse_shapes);
  put(parsed.dense_values);
  if (outputs == Outputs::kSingle) return;
  put(parsed.dense_lengths);
  if (outputs == Outputs::kPlain) return;
  put(parsed.ragged_values);
  put(parsed.ragged_outer_splits);
  put(parsed.ragged_inner_splits);
}

Keys TextsOf(const Tensor& tensor) {
  std::span<const std::string> texts = tensor.span<std::string>();
  return Keys(texts.begin(), texts.end());
}

class ParseSequenceExampleKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ParseSequenceExampleKernel>();
    kernel->is_v2_ = init.schema().name == "ParseSequenceExampleV2";
    WEIR_RETURN_IF_ERROR(ReadTypes(init, kernel->spec_));
    if (kernel->is_v2_) return std::unique_ptr<Kernel>(std::move(kernel));
    SequenceKeys keys;
    WEIR_ASSIGN_OR_RETURN(keys.context_sparse, init.Attr<Keys>("context_sparse_keys"));
    WEIR_ASSIGN_OR_RETURN(keys.context_dense, init.Attr<Keys>("context_dense_keys"));
    WEIR_ASSIGN_OR_RETURN(keys.list_sparse, init.Attr<Keys>("feature_list_sparse_keys"));
    WEIR_ASSIGN_OR_RETURN(keys.list_dense, init.Attr<Keys>("feature_list_dense_keys"));
    WEIR_RETURN_IF_ERROR(PutKeys(keys, kernel->spec_));
    WEIR_ASSIGN_OR_RETURN(Keys missing, init.Attr<Keys>("feature_list_dense_missing_assumed_empty"));
    PutMissing(missing, kernel->spec_);
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor serialized = ctx.input(0);
    const Tensor names = ctx.input(1);
    if (serialized.rank() > 1) {
      return InvalidArgument("Expected serialized to be a scalar or vector, got shape: ",
                             serialized.shape().ToString());
    }
    if (names.num_elements() > 0 && names.shape() != serialized.shape()) {
      return InvalidArgument("Expected debug_name to have the same shape as serialized: ", names.shape().ToString(),
                             " vs. ", serialized.shape().ToString());
    }
    SequenceSpec spec = spec_;
    if (is_v2_) WEIR_RETURN_IF_ERROR(TakeKeys(ctx, spec));
    PutDefaults(ctx, is_v2_ ? 9 : 2, spec);
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<SequenceExampleParser> parser,
                          SequenceExampleParser::Create(std::move(spec)));
    StatusOr<ParsedSequences> parsed =
        serialized.shape().IsScalar()
            ? parser->ParseSingle(serialized.scalar<std::string>(),
                                  names.num_elements() > 0 ? names.scalar<std::string>() : "<unknown>", false)
            : parser->ParseBatch(serialized.span<std::string>(), names.span<std::string>(), ctx.step().intra_op);
    if (!parsed.ok()) return parsed.status();
    PutAll(ctx, *std::move(parsed), is_v2_ ? Outputs::kRagged : Outputs::kPlain);
    return OkStatus();
  }

 private:
  static Status TakeKeys(KernelContext& ctx, SequenceSpec& spec) {
    for (int i = 2; i <= 8; ++i) {
      if (ctx.input(i).shape().IsVector()) continue;
      return InvalidArgument("Expected input ", i, " to be a vector, got shape: ", ctx.input(i).shape().ToString());
    }
    WEIR_RETURN_IF_ERROR(PutKeys({.context_sparse = TextsOf(ctx.input(2)),
                                  .context_dense = TextsOf(ctx.input(3)),
                                  .context_ragged = TextsOf(ctx.input(4)),
                                  .list_sparse = TextsOf(ctx.input(5)),
                                  .list_dense = TextsOf(ctx.input(6)),
                                  .list_ragged = TextsOf(ctx.input(7))},
                                 spec));
    const Tensor& missing = ctx.input(8);
    if (missing.num_elements() != static_cast<int64_t>(spec.dense.size())) {
      return InvalidArgument("Expected len(feature_list_dense_missing_assumed_empty) == len(feature_list_dense_keys) ",
                             "but got: ", missing.num_elements(), " vs. ", spec.dense.size());
    }
    for (size_t i = 0; i < spec.dense.size(); ++i) spec.dense[i].may_be_missing = missing.data<bool>()[i];
    return OkStatus();
  }

  bool is_v2_ = false;
  SequenceSpec spec_;  // without what comes as an input
};

class ParseSingleSequenceExampleKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ParseSingleSequenceExampleKernel>();
    WEIR_RETURN_IF_ERROR(ReadTypes(init, kernel->spec_));
    const SequenceSpec& spec = kernel->spec_;
    const size_t keys = spec.context.sparse.size() + spec.context.dense.size() + spec.sparse.size() + spec.dense.size();
    if (static_cast<size_t>(init.num_inputs()) != 3 + keys + spec.context.dense.size()) {
      return InvalidArgument("The numbers of keys do not fit the numbers of types");
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor serialized = ctx.input(0);
    const Tensor missing = ctx.input(1);
    const Tensor name = ctx.input(ctx.num_inputs() - 1);
    if (!serialized.shape().IsScalar()) {
      return InvalidArgument("Expected serialized to be a scalar, got shape: ", serialized.shape().ToString());
    }
    if (!missing.shape().IsVector()) {
      return InvalidArgument("Expected feature_list_dense_missing_assumed_empty ",
                             "to be a vector, got shape: ", missing.shape().ToString());
    }
    if (name.num_elements() != 1) {
      return InvalidArgument("Expected debug_name to be a scalar, got shape: ", name.shape().ToString());
    }
    SequenceSpec spec = spec_;
    int input = 2;
    SequenceKeys keys;
    WEIR_RETURN_IF_ERROR(TakeKeys(ctx, spec.context.sparse.size(), "context_sparse", input, keys.context_sparse));
    WEIR_RETURN_IF_ERROR(TakeKeys(ctx, spec.context.dense.size(), "context_dense", input, keys.context_dense));
    WEIR_RETURN_IF_ERROR(TakeKeys(ctx, spec.sparse.size(), "feature_list_sparse", input, keys.list_sparse));
    WEIR_RETURN_IF_ERROR(TakeKeys(ctx, spec.dense.size(), "feature_list_dense", input, keys.list_dense));
    WEIR_RETURN_IF_ERROR(PutKeys(keys, spec));
    PutDefaults(ctx, input, spec);
    PutMissing(TextsOf(missing), spec);
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<SequenceExampleParser> parser,
                          SequenceExampleParser::Create(std::move(spec)));
    WEIR_ASSIGN_OR_RETURN(ParsedSequences parsed,
                          parser->ParseSingle(serialized.scalar<std::string>(), name.scalar<std::string>(), true));
    PutAll(ctx, std::move(parsed), Outputs::kSingle);
    return OkStatus();
  }

 private:
  static Status TakeKeys(KernelContext& ctx, size_t count, std::string_view what, int& input, Keys& keys) {
    for (size_t i = 0; i < count; ++i) {
      const Tensor& tensor = ctx.input(input++);
      if (tensor.num_elements() != 1) {
        return InvalidArgument("Expected ", what, "_keys[", i,
                               "] to be a scalar, got shape: ", tensor.shape().ToString());
      }
      keys.push_back(tensor.scalar<std::string>());
    }
    return OkStatus();
  }

  SequenceSpec spec_;
};

}  // namespace

void RegisterParseSequenceExampleKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ParseSequenceExample"), MakeKernel<ParseSequenceExampleKernel>);
  registry.Add(KernelBuilder("ParseSequenceExampleV2"), MakeKernel<ParseSequenceExampleKernel>);
  registry.Add(KernelBuilder("ParseSingleSequenceExample"), MakeKernel<ParseSingleSequenceExampleKernel>);
}

}  // namespace weir
