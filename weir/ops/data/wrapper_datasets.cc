// Datasets that change nothing in the elements themselves: options, checks of the number of elements, errors left out,
// distinct elements.
#include "weir/base/logging.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/ops/data/shard.h"

namespace weir {
namespace {

// Options tell TensorFlow how to run a pipeline; here they are kept for who asks (GetOptions).
class OptionsDataset : public Dataset {
 public:
  OptionsDataset(DatasetPtr input, std::string options)
      : Dataset(input->spec(), {input}), options_(std::move(options)) {}
  int64_t Cardinality() const override { return input().Cardinality(); }
  bool RunsAhead() const override { return input().RunsAhead(); }
  // Later fields of the serialised message win over earlier ones.
  std::string Options() const override { return input().Options() + options_; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return input().MakeIterator(ctx); }

 private:
  const std::string options_;
};

StatusOr<DatasetPtr> MakeOptions(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(std::string options, node.Attr<std::string>("serialized_options"));
  return std::make_shared<OptionsDataset>(std::move(input), std::move(options));
}

// Hints for TensorFlow's own engine: the dataset itself.
StatusOr<DatasetPtr> MakeSame(DatasetNode& node) { return node.Input(); }

// The dataset with another attribute, as the name of the rewrite says; it is none that changes elements here.
StatusOr<DatasetPtr> MakeRewrite(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(std::string name, node.Scalar<std::string>("rewrite_name"));
  DatasetOrigin origin = input->origin();
  if (origin.node == nullptr || origin.node->schema->FindAttr(name) == nullptr) return input;
  auto rewritten = std::make_shared<DatasetOrigin::Node>(*origin.node);
  rewritten->attrs.Set(name, true);
  origin.node = std::move(rewritten);
  auto same = std::make_shared<OptionsDataset>(std::move(input), "");
  same->set_origin(std::move(origin));
  return same;
}

class AssertCardinalityDataset : public Dataset {
 public:
  AssertCardinalityDataset(DatasetPtr input, int64_t expected) : Dataset(input->spec(), {input}), expected_(expected) {}
  int64_t Cardinality() const override { return expected_; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<AssertCardinalityDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      const int64_t expected = dataset().expected_;
      WEIR_RETURN_IF_ERROR(Pull(ctx, out, end));
      if (!*end) ++count_;
      if (*end && expected != kUnknown && count_ != expected) {
        return FailedPrecondition("Input dataset was expected to contain ", Elements(expected), " but contained only ",
                                  Elements(count_), ".");
      }
      if (!*end && expected >= 0 && count_ > expected) {
        out->clear();
        return FailedPrecondition("Input dataset was expected to contain ", Elements(expected),
                                  " but contained at least ", Elements(count_), ".");
      }
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("count", count_);
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(count_, state.GetInt("count"));
      return InputIterator::Restore(ctx, state);
    }

   private:
    static std::string Elements(int64_t n) {
      if (n == kInfinite) return "an infinite number of elements";
      if (n == kUnknown) return "an unknown number of elements";
      return n == 1 ? "1 element" : Cat(n, " elements");
    }
    int64_t count_ = 0;
  };
  const int64_t expected_;
};

StatusOr<DatasetPtr> MakeAssertCardinality(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(int64_t expected, node.Scalar<int64_t>("cardinality"));
  return std::make_shared<AssertCardinalityDataset>(std::move(input), expected);
}

class IgnoreErrorsDataset : public Dataset {
 public:
  IgnoreErrorsDataset(DatasetPtr input, bool log) : Dataset(input->spec(), {input}), log_(log) {}
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    IteratorContext lenient = ctx;
    lenient.errors_ignored = true;
    return WalkInput<Iterator>(lenient);
  }

 private:
  class Iterator : public InputIterator<IgnoreErrorsDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      IteratorContext lenient = ctx;
      lenient.errors_ignored = true;
      while (true) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        out->clear();
        Status status = Pull(lenient, out, end);
        if (status.ok() || ctx.cancellation->cancelled()) return status;
        if (dataset().log_) {
          WEIR_LOG(WARNING) << "Error raised with error message " << Message(status);
        }
      }
    }
  };
  const bool log_;
};

StatusOr<DatasetPtr> MakeIgnoreErrors(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(bool log, node.Attr<bool>("log_warning"));
  return std::make_shared<IgnoreErrorsDataset>(std::move(input), log);
}

class UniqueDataset : public Dataset {
 public:
  explicit UniqueDataset(DatasetPtr input) : Dataset(input->spec(), {input}) {}
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<UniqueDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (true) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        out->clear();
        WEIR_RETURN_IF_ERROR(Pull(ctx, out, end));
        if (*end) {
          seen_.clear();
          order_.clear();
          return OkStatus();
        }
        if (!seen_.insert(KeyOf(out->at(0))).second) continue;
        order_.push_back(*out);
        return OkStatus();
      }
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutElements("seen", order_);
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(order_, state.GetElements("seen"));
      for (const Element& element : order_) {
        if (element.size() != 1) return DataLoss("A saved set of distinct elements is damaged");
        seen_.insert(KeyOf(element[0]));
      }
      return InputIterator::Restore(ctx, state);
    }

   private:
    // Equal for equal tensors only: shape and contents, lengths first.
    static std::string KeyOf(const Tensor& tensor) {
      std::string key = tensor.shape().ToString();
      if (tensor.dtype() == DType::kString) {
        for (const std::string& text : tensor.span<std::string>()) key += Cat(text.size(), ":", text);
      } else {
        key.append(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes());
      }
      return key;
    }
    StringSet seen_;
    std::vector<Element> order_;
  };
};

StatusOr<DatasetPtr> MakeUnique(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  const std::vector<DType>& types = input->spec().types;
  if (types.size() != 1) return InvalidArgument("UniqueDataset only supports inputs with a single component.");
  if (types[0] != DType::kInt32 && types[0] != DType::kInt64 && types[0] != DType::kString) {
    return InvalidArgument(
        "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` "
        "component.");
  }
  return std::make_shared<UniqueDataset>(std::move(input));
}

// Elements whose last component is true, without it.
class FilterByLastComponentDataset : public Dataset {
 public:
  FilterByLastComponentDataset(ElementSpec spec, DatasetPtr input) : Dataset(std::move(spec), {std::move(input)}) {}
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<FilterByLastComponentDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (true) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        out->clear();
        WEIR_RETURN_IF_ERROR(Pull(ctx, out, end));
        if (*end) return OkStatus();
        const Tensor last = out->back();
        out->pop_back();
        if (last.num_elements() != 1 || last.dtype() != DType::kBool) {
          return InvalidArgument("Last component must be a bool scalar.");
        }
        if (last.scalar<bool>()) return OkStatus();
      }
    }
  };
};

StatusOr<DatasetPtr> MakeFilterByLastComponent(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  ElementSpec spec = input->spec();
  if (spec.types.size() < 2 || spec.types.back() != DType::kBool) {
    return InvalidArgument("The last component of elements must be a bool, beside others.");
  }
  spec.types.pop_back();
  spec.shapes.pop_back();
  return std::make_shared<FilterByLastComponentDataset>(std::move(spec), std::move(input));
}

// The first of several datasets with equal elements: all are as fast as need be.
StatusOr<DatasetPtr> MakeChooseFastest(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(std::vector<DatasetPtr> inputs, node.Inputs("input_datasets"));
  for (const DatasetPtr& input : inputs) {
    WEIR_RETURN_IF_ERROR(CheckTypesMatch(inputs[0]->spec().types, input->spec().types));
    WEIR_RETURN_IF_ERROR(CheckShapesCompatible(inputs[0]->spec().shapes, input->spec().shapes));
    if (input->Cardinality() != inputs[0]->Cardinality()) {
      return InvalidArgument("All input datasets must have compatible cardinalities.");
    }
  }
  return inputs[0];
}

// Of one worker all elements; of several every n-th.
StatusOr<DatasetPtr> MakeAutoShard(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(int64_t workers, node.Scalar<int64_t>("num_workers"));
  WEIR_ASSIGN_OR_RETURN(int64_t index, node.Scalar<int64_t>("index"));
  if (workers < 1 || index < 0 || index >= workers) {
    return InvalidArgument("index should be >= 0 and < ", workers, ", currently ", index);
  }
  WEIR_ASSIGN_OR_RETURN(int64_t policy, node.Attr<int64_t>("auto_shard_policy"));
  constexpr int64_t kOff = -1;
  if (workers == 1 || policy == kOff) return input;
  return MakeShardDataset(std::move(input), workers, index);
}

}  // namespace

void RegisterWrapperDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"OptionsDataset"}, MakeOptions);
  RegisterDataset(registry,
                  {"ModelDataset",
                   "OptimizeDataset",
                   "OptimizeDatasetV2",
                   "FinalizeDataset",
                   "MaxIntraOpParallelismDataset",
                   "ExperimentalMaxIntraOpParallelismDataset",
                   "PrivateThreadPoolDataset",
                   "ExperimentalPrivateThreadPoolDataset",
                   "ThreadPoolDataset",
                   "ExperimentalThreadPoolDataset",
                   "AssertNextDataset",
                   "ExperimentalAssertNextDataset",
                   "AssertPrevDataset",
                   "NonSerializableDataset",
                   "ExperimentalNonSerializableDataset",
                   "LatencyStatsDataset",
                   "ExperimentalLatencyStatsDataset",
                   "BytesProducedStatsDataset",
                   "ExperimentalBytesProducedStatsDataset",
                   "SetStatsAggregatorDataset",
                   "ExperimentalSetStatsAggregatorDataset"},
                  MakeSame);
  RegisterDataset(registry, {"RewriteDataset"}, MakeRewrite);
  RegisterDataset(registry, {"AssertCardinalityDataset"}, MakeAssertCardinality);
  RegisterDataset(registry, {"IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"}, MakeIgnoreErrors);
  RegisterDataset(registry, {"UniqueDataset", "ExperimentalUniqueDataset"}, MakeUnique);
  RegisterDataset(registry, {"FilterByLastComponentDataset"}, MakeFilterByLastComponent);
  RegisterDataset(registry, {"ChooseFastestDataset", "ExperimentalChooseFastestDataset"}, MakeChooseFastest);
  RegisterDataset(registry, {"AutoShardDataset", "ExperimentalAutoShardDataset"}, MakeAutoShard);
}

}  // namespace weir
