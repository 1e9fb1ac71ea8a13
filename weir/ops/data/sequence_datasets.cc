// Datasets that choose and order whole elements: take, skip, repeat, shard, concatenate, zip.
#include <algorithm>

#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/ops/data/shard.h"
#include "weir/tensor/shape.h"

namespace weir {
namespace {

class TakeDataset : public Dataset {
 public:
  TakeDataset(DatasetPtr input, int64_t count) : Dataset(input->spec(), {input}), count_(count) {}
  int64_t Cardinality() const override {
    const int64_t n = input().Cardinality();
    if (count_ < 0 || n == kUnknown) return n;
    return n == kInfinite ? count_ : std::min(n, count_);
  }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<TakeDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      if (dataset().count_ >= 0 && taken_ >= dataset().count_) {
        input_ = nullptr;
        *end = true;
        return OkStatus();
      }
      // An error is no element.
      WEIR_RETURN_IF_ERROR(Pull(ctx, out, end));
      ++taken_;
      return OkStatus();
    }
    bool Ready() override { return input_ != nullptr && input_->Ready(); }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("taken", taken_);
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(taken_, state.GetInt("taken"));
      return InputIterator::Restore(ctx, state);
    }

   private:
    int64_t taken_ = 0;
  };
  const int64_t count_;
};

class SkipDataset : public Dataset {
 public:
  SkipDataset(DatasetPtr input, int64_t count) : Dataset(input->spec(), {input}), count_(count) {}
  int64_t Cardinality() const override {
    const int64_t n = input().Cardinality();
    if (n < 0) return n;
    return count_ < 0 ? 0 : std::max<int64_t>(0, n - count_);
  }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(IteratorPtr input_iterator, input().MakeIterator(ctx));
    if (count_ < 0) input_iterator = nullptr;
    return IteratorPtr(std::make_unique<Iterator>(Self<SkipDataset>(), std::move(input_iterator)));
  }

 private:
  class Iterator : public InputIterator<SkipDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      // What was skipped before an error does not count.
      for (int64_t i = skipped_; i < dataset().count_; ++i) {
        Element unwanted;
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        WEIR_RETURN_IF_ERROR(Pull(ctx, &unwanted, end));
        if (*end) return OkStatus();
      }
      skipped_ = dataset().count_;
      return Pull(ctx, out, end);
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("skipped", skipped_);
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(skipped_, state.GetInt("skipped"));
      return InputIterator::Restore(ctx, state);
    }

   private:
    int64_t skipped_ = 0;
  };
  const int64_t count_;
};

class RepeatDataset : public Dataset {
 public:
  RepeatDataset(DatasetPtr input, int64_t count) : Dataset(input->spec(), {input}), count_(count) {}
  int64_t Cardinality() const override {
    const int64_t n = input().Cardinality();
    if (count_ < 0) return n == 0 ? 0 : kInfinite;
    if (count_ == 0) return 0;
    return n < 0 ? n : CheckedMultiply(n, count_).value_or(kInfinite);
  }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<RepeatDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      const bool forever = dataset().count_ < 0;
      while (forever || round_ < dataset().count_) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        if (input_ == nullptr) {
          WEIR_ASSIGN_OR_RETURN(input_, dataset().input().MakeIterator(ctx));
        }
        bool ended = false;
        WEIR_RETURN_IF_ERROR(input_->GetNext(ctx, out, &ended));
        if (!ended) {
          produced_ = true;
          return OkStatus();
        }
        input_ = nullptr;
        if (forever && !produced_) break;  // it would never end
        ++round_;
        produced_ = false;
      }
      *end = true;
      return OkStatus();
    }
    bool Ready() override { return input_ != nullptr && input_->Ready(); }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("round", round_);
      state.PutInt("produced", produced_);
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(round_, state.GetInt("round"));
      WEIR_ASSIGN_OR_RETURN(int64_t produced, state.GetInt("produced"));
      produced_ = produced != 0;
      return InputIterator::Restore(ctx, state);
    }

   private:
    int64_t round_ = 0;
    bool produced_ = false;  // in this round
  };
  const int64_t count_;
};

class ShardDataset : public Dataset {
 public:
  ShardDataset(DatasetPtr input, int64_t shards, int64_t index, bool require_non_empty)
      : Dataset(input->spec(), {input}), shards_(shards), index_(index), require_non_empty_(require_non_empty) {}
  int64_t Cardinality() const override {
    const int64_t n = input().Cardinality();
    return n < 0 ? n : n / shards_ + (index_ < n % shards_ ? 1 : 0);
  }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<ShardDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      const int64_t shards = dataset().shards_;
      while (true) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        out->clear();
        WEIR_RETURN_IF_ERROR(Pull(ctx, out, end));
        if (*end) {
          if (!dataset().require_non_empty_ || next_ >= shards) return OkStatus();
          return InvalidArgument("Could not apply FILE based sharding: the dataset only has ", next_,
                                 " file(s), which is not enough for the required ", shards,
                                 " shards/workers. If you are using datasets with distribution strategy, consider "
                                 "setting the auto shard policy to either DATA or OFF using the "
                                 "`experimental_distribute.auto_shard_policy` option of `tf.data.Options()`. Or, split "
                                 "your input files into a larger number of small files such that number of files is "
                                 "greater than number of shards/workers.");
        }
        if (next_++ % shards == dataset().index_) return OkStatus();
      }
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("next", next_);
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(next_, state.GetCount("next", std::numeric_limits<int64_t>::max()));
      return InputIterator::Restore(ctx, state);
    }

   private:
    int64_t next_ = 0;
  };
  const int64_t shards_;
  const int64_t index_;
  const bool require_non_empty_;
};

class ConcatenateDataset : public Dataset {
 public:
  ConcatenateDataset(ElementSpec spec, std::vector<DatasetPtr> inputs) : Dataset(std::move(spec), std::move(inputs)) {}
  int64_t Cardinality() const override {
    int64_t sum = 0;
    bool unknown = false;
    for (const DatasetPtr& input : inputs()) {
      const int64_t n = input->Cardinality();
      if (n == kInfinite) return kInfinite;
      unknown |= n == kUnknown;
      if (n > 0) sum = CheckedAdd(sum, n).value_or(std::numeric_limits<int64_t>::max());
    }
    return unknown ? kUnknown : sum;
  }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    return IteratorPtr(std::make_unique<Iterator>(Self<ConcatenateDataset>(), nullptr));
  }

 private:
  class Iterator : public InputIterator<ConcatenateDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      for (; index_ < static_cast<int64_t>(dataset().inputs().size()); ++index_) {
        if (input_ == nullptr) {
          WEIR_ASSIGN_OR_RETURN(input_, dataset().inputs()[index_]->MakeIterator(ctx));
        }
        bool ended = false;
        WEIR_RETURN_IF_ERROR(input_->GetNext(ctx, out, &ended));
        if (!ended) return OkStatus();
        input_ = nullptr;
      }
      *end = true;
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("index", index_);
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      const int64_t count = static_cast<int64_t>(dataset().inputs().size());
      WEIR_ASSIGN_OR_RETURN(index_, state.GetCount("index", count));
      if (index_ < count) {
        WEIR_ASSIGN_OR_RETURN(input_, dataset().inputs()[index_]->MakeIterator(ctx));
      }
      return input_ == nullptr ? OkStatus() : InputIterator::Restore(ctx, state);
    }

   private:
    int64_t index_ = 0;
  };
};

class ZipDataset : public Dataset {
 public:
  ZipDataset(ElementSpec spec, std::vector<DatasetPtr> inputs) : Dataset(std::move(spec), std::move(inputs)) {}
  int64_t Cardinality() const override {
    int64_t least = kInfinite;
    for (const DatasetPtr& input : inputs()) {
      const int64_t n = input->Cardinality();
      if (n == kUnknown) return kUnknown;
      if (n != kInfinite && (least == kInfinite || n < least)) least = n;
    }
    return least;
  }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(std::vector<IteratorPtr> iterators, WalkInputs(ctx));
    return IteratorPtr(std::make_unique<Iterator>(Self<ZipDataset>(), std::move(iterators)));
  }

 private:
  class Iterator : public DatasetIterator {
   public:
    Iterator(std::shared_ptr<const ZipDataset> dataset, std::vector<IteratorPtr> inputs)
        : dataset_(std::move(dataset)), inputs_(std::move(inputs)) {}
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      *end = inputs_.empty();
      // All move on together: an error of one does not keep the others back.
      Status status;
      for (IteratorPtr& input : inputs_) {
        Element part;
        bool ended = false;
        Status one = input->GetNext(ctx, &part, &ended);
        if (status.ok()) status = one;
        if (one.ok() && ended) {
          inputs_.clear();
          out->clear();
          *end = true;
          return OkStatus();
        }
        for (Tensor& tensor : part) out->push_back(std::move(tensor));
      }
      return status;
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("ended", inputs_.empty());
      for (size_t i = 0; i < inputs_.size(); ++i) WEIR_RETURN_IF_ERROR(inputs_[i]->Save(ctx, state.Child(i)));
      return OkStatus();
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(int64_t ended, state.GetInt("ended"));
      if (ended != 0) inputs_.clear();
      for (size_t i = 0; i < inputs_.size(); ++i) WEIR_RETURN_IF_ERROR(inputs_[i]->Restore(ctx, state.Child(i)));
      return OkStatus();
    }

   private:
    const std::shared_ptr<const ZipDataset> dataset_;
    std::vector<IteratorPtr> inputs_;  // none after the end
  };
};

// Datasets of an input and a count.
template <typename D>
StatusOr<DatasetPtr> MakeCounted(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(int64_t count, node.Scalar<int64_t>("count"));
  return std::make_shared<D>(std::move(input), count);
}

StatusOr<DatasetPtr> MakeShard(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(int64_t shards, node.Scalar<int64_t>("num_shards"));
  WEIR_ASSIGN_OR_RETURN(int64_t index, node.Scalar<int64_t>("index"));
  WEIR_ASSIGN_OR_RETURN(bool require_non_empty, node.Attr<bool>("require_non_empty"));
  if (shards < 1) {
    return InvalidArgument("Number of shards must be greater than zero (currently num_shards = ", shards, ").");
  }
  if (index < 0 || index >= shards) {
    return InvalidArgument("Index must be between 0 and ", shards - 1, " (currently index = ", index, ").");
  }
  return std::make_shared<ShardDataset>(std::move(input), shards, index, require_non_empty);
}

// What two shapes have in common.
PartialShape MostSpecific(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return PartialShape::Unknown();
  PartialShape out = a;
  for (int i = 0; i < out.rank(); ++i) {
    if (a.dim(i) != b.dim(i)) out.set_dim(i, PartialShape::kUnknown);
  }
  return out;
}

StatusOr<DatasetPtr> MakeConcatenate(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr first, node.Input());
  WEIR_ASSIGN_OR_RETURN(DatasetPtr second, node.Input("another_dataset"));
  if (first->spec().types != second->spec().types) {
    return InvalidArgument("input dataset and dataset to concatenate have different output_types");
  }
  ElementSpec spec = first->spec();
  for (size_t i = 0; i < spec.shapes.size(); ++i)
    spec.shapes[i] = MostSpecific(spec.shapes[i], second->spec().shapes[i]);
  return std::make_shared<ConcatenateDataset>(std::move(spec), std::vector<DatasetPtr>{first, second});
}

StatusOr<DatasetPtr> MakeZip(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(std::vector<DatasetPtr> inputs, node.Inputs("input_datasets"));
  ElementSpec spec;
  for (const DatasetPtr& input : inputs) {
    spec.types.insert(spec.types.end(), input->spec().types.begin(), input->spec().types.end());
    spec.shapes.insert(spec.shapes.end(), input->spec().shapes.begin(), input->spec().shapes.end());
  }
  return std::make_shared<ZipDataset>(std::move(spec), std::move(inputs));
}

}  // namespace

DatasetPtr MakeShardDataset(DatasetPtr input, int64_t shards, int64_t index) {
  return std::make_shared<ShardDataset>(std::move(input), shards, index, /*require_non_empty=*/false);
}

void RegisterSequenceDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"TakeDataset"}, MakeCounted<TakeDataset>);
  RegisterDataset(registry, {"SkipDataset"}, MakeCounted<SkipDataset>);
  RegisterDataset(registry, {"RepeatDataset"}, MakeCounted<RepeatDataset>);
  RegisterDataset(registry, {"ShardDataset"}, MakeShard);
  RegisterDataset(registry, {"ConcatenateDataset"}, MakeConcatenate);
  RegisterDataset(registry, {"ZipDataset"}, MakeZip);
}

}  // namespace weir
