// Datasets that call a function for each element, one after the other: map, filter, take while, scan.
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/map_result.h"
#include "weir/ops/data/register.h"

namespace weir {
namespace {

// A dataset with one input and one function.
class FunctionDataset : public Dataset {
 public:
  FunctionDataset(ElementSpec spec, DatasetPtr input, CapturedFunctionPtr function)
      : Dataset(std::move(spec), {std::move(input)}), function_(std::move(function)) {}
  bool MayWait() const override { return true; }

 protected:
  const CapturedFunctionPtr function_;
};

// Counts the elements of its input.
template <typename D>
class FunctionIterator : public InputIterator<D> {
 public:
  FunctionIterator(std::shared_ptr<const D> dataset, IteratorPtr input, std::unique_ptr<FunctionCaller> caller)
      : InputIterator<D>(std::move(dataset), std::move(input)), caller_(std::move(caller)) {}
  Status Save(IteratorContext& ctx, StateWriter state) override {
    state.PutInt("index", index_);
    return InputIterator<D>::Save(ctx, state);
  }
  Status Restore(IteratorContext& ctx, const StateReader& state) override {
    WEIR_ASSIGN_OR_RETURN(index_, state.GetInt("index"));
    return InputIterator<D>::Restore(ctx, state);
  }

 protected:
  const std::unique_ptr<FunctionCaller> caller_;
  int64_t index_ = 0;
};

class MapDataset : public FunctionDataset {
 public:
  MapDataset(ElementSpec spec, DatasetPtr input, CapturedFunctionPtr function, bool preserve_cardinality)
      : FunctionDataset(std::move(spec), std::move(input), std::move(function)),
        preserve_cardinality_(preserve_cardinality) {}
  int64_t Cardinality() const override { return preserve_cardinality_ ? input().Cardinality() : kUnknown; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionCaller> caller, FunctionCaller::Make(ctx, function_));
    return WalkInput<Iterator>(ctx, std::move(caller));
  }

 private:
  class Iterator : public FunctionIterator<MapDataset> {
   public:
    using FunctionIterator::FunctionIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      Element element;
      WEIR_RETURN_IF_ERROR(Pull(ctx, &element, end));
      if (*end) return OkStatus();
      Status status = caller_->Call(ctx, std::move(element), index_++, out);
      return EndOfMap(std::move(status), dataset().preserve_cardinality_, end);
    }
  };
  const bool preserve_cardinality_;
};

class FilterDataset : public FunctionDataset {
 public:
  using FunctionDataset::FunctionDataset;
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionCaller> caller, FunctionCaller::Make(ctx, function_));
    return WalkInput<Iterator>(ctx, std::move(caller));
  }

 private:
  class Iterator : public FunctionIterator<FilterDataset> {
   public:
    using FunctionIterator::FunctionIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (true) {
        out->clear();
        WEIR_RETURN_IF_ERROR(Pull(ctx, out, end));
        if (*end) return OkStatus();
        WEIR_ASSIGN_OR_RETURN(bool keep, caller_->CallPredicate(ctx, *out, index_++, "Filter"));
        if (keep) return OkStatus();
      }
    }
  };
};

class TakeWhileDataset : public FunctionDataset {
 public:
  using FunctionDataset::FunctionDataset;
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionCaller> caller, FunctionCaller::Make(ctx, function_));
    return WalkInput<Iterator>(ctx, std::move(caller));
  }

 private:
  class Iterator : public FunctionIterator<TakeWhileDataset> {
   public:
    using FunctionIterator::FunctionIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      WEIR_RETURN_IF_ERROR(Pull(ctx, out, end));
      if (*end) return OkStatus();
      WEIR_ASSIGN_OR_RETURN(bool keep, caller_->CallPredicate(ctx, *out, index_++, "TakeWhile"));
      if (keep) return OkStatus();
      input_ = nullptr;
      out->clear();
      *end = true;
      return OkStatus();
    }
  };
};

// A function of a state and an element that gives the next state and an element.
class ScanDataset : public FunctionDataset {
 public:
  ScanDataset(ElementSpec spec, DatasetPtr input, CapturedFunctionPtr function, Element initial,
              bool preserve_cardinality)
      : FunctionDataset(std::move(spec), std::move(input), std::move(function)),
        initial_(std::move(initial)),
        preserve_cardinality_(preserve_cardinality) {}
  int64_t Cardinality() const override { return preserve_cardinality_ ? input().Cardinality() : kUnknown; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionCaller> caller, FunctionCaller::Make(ctx, function_));
    return WalkInput<Iterator>(ctx, std::move(caller), initial_);
  }

 private:
  class Iterator : public FunctionIterator<ScanDataset> {
   public:
    Iterator(std::shared_ptr<const ScanDataset> dataset, IteratorPtr input, std::unique_ptr<FunctionCaller> caller,
             Element state)
        : FunctionIterator(std::move(dataset), std::move(input), std::move(caller)), state_(std::move(state)) {}
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      Element element;
      WEIR_RETURN_IF_ERROR(Pull(ctx, &element, end));
      if (*end) return OkStatus();
      Element arguments = state_;
      for (Tensor& tensor : element) arguments.push_back(std::move(tensor));
      Element results;
      Status status = caller_->Call(ctx, std::move(arguments), index_++, &results);
      if (!status.ok()) return EndOfMap(std::move(status), dataset().preserve_cardinality_, end);
      if (results.size() != state_.size() + dataset().spec().types.size()) {
        return InvalidArgument("Scan's function returned ", results.size(), " values instead of ",
                               state_.size() + dataset().spec().types.size());
      }
      for (size_t i = 0; i < state_.size(); ++i) {
        if (results[i].dtype() != state_[i].dtype()) {
          return InvalidArgument("Got wrong type for scan_func return value ", i, " (expected ",
                                 Name(state_[i].dtype()), ", got ", Name(results[i].dtype()), ").");
        }
      }
      out->assign(std::make_move_iterator(results.begin() + state_.size()), std::make_move_iterator(results.end()));
      results.resize(state_.size());
      state_ = std::move(results);
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutElement("state", state_);
      return FunctionIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(Element saved, state.GetElement("state"));
      if (saved.size() != state_.size()) return DataLoss("The saved state of a scan does not fit");
      state_ = std::move(saved);
      return FunctionIterator::Restore(ctx, state);
    }

   private:
    Element state_;
  };
  const Element initial_;
  const bool preserve_cardinality_;
};

StatusOr<DatasetPtr> MakeMap(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr function, node.Function("f", "other_arguments", "Map"));
  WEIR_ASSIGN_OR_RETURN(bool preserve_cardinality, node.Attr<bool>("preserve_cardinality"));
  return std::make_shared<MapDataset>(std::move(spec), std::move(input), std::move(function), preserve_cardinality);
}

StatusOr<DatasetPtr> MakeFilter(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr function, node.Function("predicate", "other_arguments", "Filter"));
  return std::make_shared<FilterDataset>(input->spec(), input, std::move(function));
}

StatusOr<DatasetPtr> MakeTakeWhile(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr function, node.Function("predicate", "other_arguments", "TakeWhile"));
  return std::make_shared<TakeWhileDataset>(input->spec(), input, std::move(function));
}

StatusOr<DatasetPtr> MakeScan(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr function, node.Function("f", "other_arguments", "Scan"));
  WEIR_ASSIGN_OR_RETURN(Element initial, node.Tensors("initial_state"));
  WEIR_ASSIGN_OR_RETURN(bool preserve_cardinality, node.Attr<bool>("preserve_cardinality"));
  return std::make_shared<ScanDataset>(std::move(spec), std::move(input), std::move(function), std::move(initial),
                                       preserve_cardinality);
}

}  // namespace

void RegisterMapDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"MapDataset", "ExperimentalMapDataset"}, MakeMap);
  RegisterDataset(registry, {"FilterDataset"}, MakeFilter);
  RegisterDataset(registry, {"TakeWhileDataset", "ExperimentalTakeWhileDataset"}, MakeTakeWhile);
  RegisterDataset(registry, {"ScanDataset", "ExperimentalScanDataset"}, MakeScan);
}

}  // namespace weir
