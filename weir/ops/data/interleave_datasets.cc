// Datasets that a function makes of each element, one after the other or in turns: flat map, interleave; and elements
// of datasets that another one chooses.
#include <algorithm>

#include "weir/base/processors.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/ops/data/threads.h"

namespace weir {
namespace {

// A flat map is an interleave with one place.
class InterleaveDataset : public Dataset {
 public:
  InterleaveDataset(ElementSpec spec, DatasetPtr input, CapturedFunctionPtr function, int64_t cycle_length,
                    int64_t block_length)
      : Dataset(std::move(spec), {std::move(input)}),
        function_(std::move(function)),
        cycle_length_(cycle_length),
        block_length_(block_length) {}
  bool MayWait() const override { return true; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionCaller> caller, FunctionCaller::Make(ctx, function_));
    return WalkInput<Iterator>(ctx, std::move(caller));
  }

 private:
  class Iterator : public InputIterator<InterleaveDataset> {
   public:
    Iterator(std::shared_ptr<const InterleaveDataset> dataset, IteratorPtr input,
             std::unique_ptr<FunctionCaller> caller)
        : InputIterator(std::move(dataset), std::move(input)), caller_(std::move(caller)) {}

    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (input_ != nullptr || open_ > 0) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        if (turn_ >= static_cast<int64_t>(places_.size())) places_.resize(turn_ + 1);
        Place& place = places_[turn_];
        if (place.iterator == nullptr) {
          WEIR_RETURN_IF_ERROR(Fill(ctx, place));
          continue;
        }
        bool ended = false;
        WEIR_RETURN_IF_ERROR(place.iterator->GetNext(ctx, out, &ended));
        if (!ended) {
          if (++in_block_ == dataset().block_length_) NextPlace();
          return OkStatus();
        }
        place = Place();
        --open_;
        NextPlace();
      }
      *end = true;
      return OkStatus();
    }

    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("turn", turn_);
      state.PutInt("in_block", in_block_);
      state.PutInt("index", index_);
      state.PutInt("places", static_cast<int64_t>(places_.size()));
      for (size_t i = 0; i < places_.size(); ++i) {
        if (places_[i].iterator == nullptr) continue;
        StateWriter child = state.Child(i);
        child.PutElement("arguments", places_[i].arguments);
        WEIR_RETURN_IF_ERROR(places_[i].iterator->Save(ctx, child.Child("iterator")));
      }
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(turn_, state.GetCount("turn", dataset().cycle_length_ - 1));
      WEIR_ASSIGN_OR_RETURN(in_block_, state.GetCount("in_block", dataset().block_length_));
      WEIR_ASSIGN_OR_RETURN(index_, state.GetInt("index"));
      WEIR_ASSIGN_OR_RETURN(int64_t places,
                            state.GetCount("places", std::min<int64_t>(dataset().cycle_length_, 1 << 20)));
      places_.resize(places);
      for (int64_t i = 0; i < places; ++i) {
        StateReader child = state.Child(i);
        if (!child.Has("arguments/size")) continue;
        WEIR_ASSIGN_OR_RETURN(places_[i].arguments, child.GetElement("arguments"));
        WEIR_RETURN_IF_ERROR(Open(ctx, places_[i]));
        WEIR_RETURN_IF_ERROR(places_[i].iterator->Restore(ctx, child.Child("iterator")));
      }
      return InputIterator::Restore(ctx, state);
    }

   private:
    struct Place {
      Element arguments;
      IteratorPtr iterator;
    };
    // Opens the dataset of the next input, or goes on where there is none.
    Status Fill(IteratorContext& ctx, Place& place) {
      if (input_ == nullptr) {
        NextPlace();
        return OkStatus();
      }
      bool ended = false;
      place.arguments.clear();  // the function may have failed on others
      WEIR_RETURN_IF_ERROR(Pull(ctx, &place.arguments, &ended));
      if (ended) return OkStatus();
      return Open(ctx, place);
    }
    Status Open(IteratorContext& ctx, Place& place) {
      WEIR_ASSIGN_OR_RETURN(DatasetPtr made, caller_->CallForDataset(ctx, place.arguments, index_++));
      WEIR_RETURN_IF_ERROR(CheckTypesMatch(dataset().spec().types, made->spec().types));
      WEIR_ASSIGN_OR_RETURN(place.iterator, made->MakeIterator(ctx));
      ++open_;
      return OkStatus();
    }
    void NextPlace() {
      in_block_ = 0;
      // Places that were never filled stay empty once the input has ended.
      const bool last =
          ++turn_ >= dataset().cycle_length_ || (input_ == nullptr && turn_ >= static_cast<int64_t>(places_.size()));
      if (last) turn_ = 0;
    }

    const std::unique_ptr<FunctionCaller> caller_;
    std::vector<Place> places_;
    int64_t turn_ = 0;
    int64_t in_block_ = 0;
    int64_t open_ = 0;
    int64_t index_ = 0;
  };
  const CapturedFunctionPtr function_;
  const int64_t cycle_length_;
  const int64_t block_length_;
};

StatusOr<DatasetPtr> MakeFlatMap(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr function, node.Function("f", "other_arguments", "FlatMap"));
  return std::make_shared<InterleaveDataset>(std::move(spec), std::move(input), std::move(function), 1, 1);
}

StatusOr<DatasetPtr> MakeInterleave(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr function, node.Function("f", "other_arguments", "Interleave"));
  WEIR_ASSIGN_OR_RETURN(int64_t cycle_length, node.Scalar<int64_t>("cycle_length"));
  WEIR_ASSIGN_OR_RETURN(int64_t block_length, node.Scalar<int64_t>("block_length"));
  if (cycle_length == -1) cycle_length = NumUsableProcessors();
  if (cycle_length <= 0) return InvalidArgument("cycle_length must be greater than zero.");
  if (block_length <= 0) return InvalidArgument("block_length must be greater than zero.");
  return std::make_shared<InterleaveDataset>(std::move(spec), std::move(input), std::move(function), cycle_length,
                                             block_length);
}

class DirectedInterleaveDataset : public Dataset {
 public:
  // `inputs`: the selector first.
  DirectedInterleaveDataset(ElementSpec spec, std::vector<DatasetPtr> inputs, bool stop_on_empty)
      : Dataset(std::move(spec), std::move(inputs)), stop_on_empty_(stop_on_empty) {}
  int64_t Cardinality() const override {
    // With a selector that never ends, all elements of all inputs come sooner or later.
    if (stop_on_empty_ || input().Cardinality() != kInfinite) return kUnknown;
    int64_t sum = 0;
    for (size_t i = 1; i < inputs().size(); ++i) {
      const int64_t n = inputs()[i]->Cardinality();
      if (n < 0) return n;
      sum += n;
    }
    return sum;
  }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(std::vector<IteratorPtr> iterators, WalkInputs(ctx));
    return IteratorPtr(std::make_unique<Iterator>(Self<DirectedInterleaveDataset>(), std::move(iterators)));
  }

 private:
  class Iterator : public DatasetIterator {
   public:
    Iterator(std::shared_ptr<const DirectedInterleaveDataset> dataset, std::vector<IteratorPtr> inputs)
        : dataset_(std::move(dataset)), inputs_(std::move(inputs)), active_(inputs_.size() - 1) {}
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (inputs_[0] != nullptr) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        Element choice;
        bool ended = false;
        WEIR_RETURN_IF_ERROR(inputs_[0]->GetNext(ctx, &choice, &ended));
        if (ended) break;
        if (choice.size() != 1 || choice[0].dtype() != DType::kInt64 || choice[0].num_elements() != 1) {
          return InvalidArgument("Selector input must be a single scalar `tf.int64`.");
        }
        const int64_t selected = choice[0].scalar<int64_t>(), count = static_cast<int64_t>(inputs_.size()) - 1;
        if (selected < 0 || selected >= count) {
          return InvalidArgument("Selector index out of range: ", selected, " >= ", count);
        }
        IteratorPtr& input = inputs_[selected + 1];
        if (input == nullptr) continue;
        WEIR_RETURN_IF_ERROR(input->GetNext(ctx, out, &ended));
        if (!ended) return OkStatus();
        input = nullptr;
        if (--active_ == 0 || dataset_->stop_on_empty_) break;
      }
      for (IteratorPtr& input : inputs_) input = nullptr;
      *end = true;
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        if (inputs_[i] == nullptr) {
          state.PutInt(Cat("ended", i), 1);
        } else {
          WEIR_RETURN_IF_ERROR(inputs_[i]->Save(ctx, state.Child(i)));
        }
      }
      return OkStatus();
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        if (state.Has(Cat("ended", i))) {
          if (inputs_[i] != nullptr && i > 0) --active_;
          inputs_[i] = nullptr;
        } else {
          WEIR_RETURN_IF_ERROR(inputs_[i]->Restore(ctx, state.Child(i)));
        }
      }
      return OkStatus();
    }

   private:
    const std::shared_ptr<const DirectedInterleaveDataset> dataset_;
    std::vector<IteratorPtr> inputs_;  // null once ended
    size_t active_;
  };
  const bool stop_on_empty_;
};

StatusOr<DatasetPtr> MakeDirectedInterleave(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr selector, node.Input("selector_input_dataset"));
  WEIR_ASSIGN_OR_RETURN(std::vector<DatasetPtr> data, node.Inputs("data_input_datasets"));
  if (selector->spec().types != std::vector<DType>{DType::kInt64}) {
    return InvalidArgument("The selector input must be a dataset of scalar int64 elements.");
  }
  if (data.empty()) return InvalidArgument("DirectedInterleaveDataset needs a data input");
  ElementSpec spec = data[0]->spec();
  for (size_t i = 1; i < data.size(); ++i) {
    if (data[i]->spec().types != spec.types) {
      return InvalidArgument(
          "All inputs must have the same output_dtypes. First input has types of another kind than input ", i);
    }
    for (size_t k = 0; k < spec.shapes.size(); ++k) {
      const PartialShape& other = data[i]->spec().shapes[k];
      PartialShape& shape = spec.shapes[k];
      if (!shape.has_rank() || !other.has_rank() || shape.rank() != other.rank()) {
        shape = PartialShape::Unknown();
        continue;
      }
      for (int d = 0; d < shape.rank(); ++d) {
        if (shape.dim(d) != other.dim(d)) shape.set_dim(d, PartialShape::kUnknown);
      }
    }
  }
  bool stop_on_empty = false;
  if (node.HasAttr("stop_on_empty_dataset")) {
    WEIR_ASSIGN_OR_RETURN(stop_on_empty, node.Attr<bool>("stop_on_empty_dataset"));
  }
  std::vector<DatasetPtr> inputs = {std::move(selector)};
  inputs.insert(inputs.end(), data.begin(), data.end());
  return std::make_shared<DirectedInterleaveDataset>(std::move(spec), std::move(inputs), stop_on_empty);
}

}  // namespace

void RegisterInterleaveDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"FlatMapDataset"}, MakeFlatMap);
  RegisterDataset(registry, {"InterleaveDataset"}, MakeInterleave);
  RegisterDataset(registry, {"DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset"},
                  MakeDirectedInterleave);
}

}  // namespace weir
