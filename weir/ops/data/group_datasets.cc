// Elements grouped by a key: windows of a group reduced to datasets, or whole groups reduced to a value.
#include <map>

#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/ops/data/window.h"

namespace weir {
namespace {

StatusOr<int64_t> CallForInt(IteratorContext& ctx, const FunctionCaller& caller, Element arguments, int64_t index,
                             std::string_view what) {
  Element results;
  WEIR_RETURN_IF_ERROR(caller.Call(ctx, std::move(arguments), index, &results));
  if (results.size() != 1 || results[0].dtype() != DType::kInt64 || results[0].num_elements() != 1) {
    return InvalidArgument("`", what, "` must return a scalar int64.");
  }
  return results[0].scalar<int64_t>();
}

class GroupByWindowDataset : public Dataset {
 public:
  GroupByWindowDataset(ElementSpec spec, DatasetPtr input, CapturedFunctionPtr key, CapturedFunctionPtr reduce,
                       CapturedFunctionPtr size)
      : Dataset(std::move(spec), {std::move(input)}),
        key_(std::move(key)),
        reduce_(std::move(reduce)),
        size_(std::move(size)) {}
  bool MayWait() const override { return true; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(IteratorPtr input_iterator, input().MakeIterator(ctx));
    auto iterator = std::make_unique<Iterator>(Self<GroupByWindowDataset>(), std::move(input_iterator));
    WEIR_ASSIGN_OR_RETURN(iterator->key_, FunctionCaller::Make(ctx, key_));
    WEIR_ASSIGN_OR_RETURN(iterator->reduce_, FunctionCaller::Make(ctx, reduce_));
    WEIR_ASSIGN_OR_RETURN(iterator->size_, FunctionCaller::Make(ctx, size_));
    return IteratorPtr(std::move(iterator));
  }

 private:
  class Iterator : public InputIterator<GroupByWindowDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (true) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        if (current_ != nullptr) {
          bool ended = false;
          WEIR_RETURN_IF_ERROR(current_->GetNext(ctx, out, &ended));
          if (!ended) return OkStatus();
          current_ = nullptr;
          groups_.erase(current_key_);
        }
        if (input_ == nullptr) {
          if (groups_.empty()) break;
          // The rest, by ascending key.
          WEIR_RETURN_IF_ERROR(Reduce(ctx, groups_.begin()->first));
          continue;
        }
        WEIR_RETURN_IF_ERROR(TakeOne(ctx));
      }
      *end = true;
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("index", index_);
      state.PutInt("groups", static_cast<int64_t>(groups_.size()));
      int64_t i = 0;
      for (const auto& [key, group] : groups_) {
        StateWriter child = state.Child(i++);
        child.PutInt("key", key);
        child.PutInt("size", group.size);
        child.PutElements("elements", group.elements);
      }
      if (current_ != nullptr) {
        state.PutInt("current_key", current_key_);
        WEIR_RETURN_IF_ERROR(current_->Save(ctx, state.Child("current")));
      }
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(index_, state.GetInt("index"));
      WEIR_ASSIGN_OR_RETURN(int64_t groups, state.GetCount("groups", std::numeric_limits<int64_t>::max()));
      for (int64_t i = 0; i < groups; ++i) {
        StateReader child = state.Child(i);
        WEIR_ASSIGN_OR_RETURN(int64_t key, child.GetInt("key"));
        WEIR_ASSIGN_OR_RETURN(groups_[key].size, child.GetInt("size"));
        WEIR_ASSIGN_OR_RETURN(groups_[key].elements, child.GetElements("elements"));
      }
      if (state.Has("current_key")) {
        WEIR_ASSIGN_OR_RETURN(int64_t key, state.GetInt("current_key"));
        WEIR_RETURN_IF_ERROR(Reduce(ctx, key));
        WEIR_RETURN_IF_ERROR(current_->Restore(ctx, state.Child("current")));
      }
      return InputIterator::Restore(ctx, state);
    }

    std::unique_ptr<FunctionCaller> key_;
    std::unique_ptr<FunctionCaller> reduce_;
    std::unique_ptr<FunctionCaller> size_;

   private:
    struct Group {
      int64_t size = 0;
      std::vector<Element> elements;
    };
    // Puts the next element into its group; a full one is reduced.
    Status TakeOne(IteratorContext& ctx) {
      Element element;
      bool ended = false;
      WEIR_RETURN_IF_ERROR(Pull(ctx, &element, &ended));
      if (ended) return OkStatus();
      WEIR_ASSIGN_OR_RETURN(int64_t key, CallForInt(ctx, *key_, element, index_++, "key_func"));
      auto found = groups_.find(key);
      if (found == groups_.end()) {
        WEIR_ASSIGN_OR_RETURN(int64_t size, CallForInt(ctx, *size_, {Tensor::Scalar(key)}, index_, "window_size_func"));
        if (size <= 0) return InvalidArgument("Window size must be greater than zero, but got ", size, ".");
        found = groups_.emplace(key, Group{size, {}}).first;
      }
      Group& group = found->second;
      group.elements.push_back(std::move(element));
      return static_cast<int64_t>(group.elements.size()) < group.size ? OkStatus() : Reduce(ctx, key);
    }
    Status Reduce(IteratorContext& ctx, int64_t key) {
      // The group stays until its dataset has been read: a saved position needs it.
      DatasetPtr window = MakeWindow(dataset().input().spec(), groups_[key].elements);
      current_key_ = key;
      auto made = reduce_->CallForDataset(ctx, {Tensor::Scalar(key), DatasetTensor(std::move(window))}, index_);
      Status status = made.status();
      if (status.ok()) status = CheckTypesMatch(dataset().spec().types, (*made)->spec().types);
      if (status.ok()) {
        auto iterator = (*made)->MakeIterator(ctx);
        status = iterator.status();
        if (status.ok()) current_ = *std::move(iterator);
      }
      if (!status.ok()) groups_.erase(key);
      return status;
    }
    std::map<int64_t, Group> groups_;
    IteratorPtr current_;
    int64_t current_key_ = 0;
    int64_t index_ = 0;
  };
  const CapturedFunctionPtr key_;
  const CapturedFunctionPtr reduce_;
  const CapturedFunctionPtr size_;
};

StatusOr<DatasetPtr> MakeGroupByWindow(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr key,
                        node.Function("key_func", "key_func_other_arguments", "GroupByWindow"));
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr reduce,
                        node.Function("reduce_func", "reduce_func_other_arguments", "GroupByWindow"));
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr size,
                        node.Function("window_size_func", "window_size_func_other_arguments", "GroupByWindow"));
  return std::make_shared<GroupByWindowDataset>(std::move(spec), std::move(input), std::move(key), std::move(reduce),
                                                std::move(size));
}

class GroupByReducerDataset : public Dataset {
 public:
  struct Functions {
    CapturedFunctionPtr key, init, reduce, finalize;
  };
  GroupByReducerDataset(ElementSpec spec, DatasetPtr input, Functions functions)
      : Dataset(std::move(spec), {std::move(input)}), functions_(std::move(functions)) {}
  bool MayWait() const override { return true; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    WEIR_ASSIGN_OR_RETURN(IteratorPtr input_iterator, input().MakeIterator(ctx));
    auto iterator = std::make_unique<Iterator>(Self<GroupByReducerDataset>(), std::move(input_iterator));
    WEIR_ASSIGN_OR_RETURN(iterator->key_, FunctionCaller::Make(ctx, functions_.key));
    WEIR_ASSIGN_OR_RETURN(iterator->init_, FunctionCaller::Make(ctx, functions_.init));
    WEIR_ASSIGN_OR_RETURN(iterator->reduce_, FunctionCaller::Make(ctx, functions_.reduce));
    WEIR_ASSIGN_OR_RETURN(iterator->finalize_, FunctionCaller::Make(ctx, functions_.finalize));
    return IteratorPtr(std::move(iterator));
  }

 private:
  class Iterator : public InputIterator<GroupByReducerDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (input_ != nullptr) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        WEIR_RETURN_IF_ERROR(TakeOne(ctx));
      }
      if (states_.empty()) {
        *end = true;
        return OkStatus();
      }
      Element state = std::move(states_.begin()->second);
      states_.erase(states_.begin());
      return finalize_->Call(ctx, std::move(state), index_, out);
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("index", index_);
      state.PutInt("states", static_cast<int64_t>(states_.size()));
      int64_t i = 0;
      for (const auto& [key, value] : states_) {
        state.PutInt(Cat("key", i), key);
        state.PutElement(Cat("state", i++), value);
      }
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(index_, state.GetInt("index"));
      WEIR_ASSIGN_OR_RETURN(int64_t states, state.GetCount("states", std::numeric_limits<int64_t>::max()));
      for (int64_t i = 0; i < states; ++i) {
        WEIR_ASSIGN_OR_RETURN(int64_t key, state.GetInt(Cat("key", i)));
        WEIR_ASSIGN_OR_RETURN(states_[key], state.GetElement(Cat("state", i)));
      }
      return InputIterator::Restore(ctx, state);
    }
    std::unique_ptr<FunctionCaller> key_, init_, reduce_, finalize_;

   private:
    Status TakeOne(IteratorContext& ctx) {
      Element element;
      bool ended = false;
      WEIR_RETURN_IF_ERROR(Pull(ctx, &element, &ended));
      if (ended) return OkStatus();
      const int64_t index = index_++;
      WEIR_ASSIGN_OR_RETURN(int64_t key, CallForInt(ctx, *key_, element, index, "key_func"));
      auto found = states_.find(key);
      if (found == states_.end()) {
        Element initial;
        WEIR_RETURN_IF_ERROR(init_->Call(ctx, {Tensor::Scalar(key)}, index, &initial));
        found = states_.emplace(key, std::move(initial)).first;
      }
      Element arguments = found->second;
      arguments.insert(arguments.end(), element.begin(), element.end());
      Element reduced;
      WEIR_RETURN_IF_ERROR(reduce_->Call(ctx, std::move(arguments), index, &reduced));
      found->second = std::move(reduced);
      return OkStatus();
    }
    std::map<int64_t, Element> states_;  // results come by ascending key
    int64_t index_ = 0;
  };
  const Functions functions_;
};

StatusOr<DatasetPtr> MakeGroupByReducer(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  GroupByReducerDataset::Functions functions;
  constexpr std::string_view kName = "GroupByReducer";
  WEIR_ASSIGN_OR_RETURN(functions.key, node.Function("key_func", "key_func_other_arguments", kName));
  WEIR_ASSIGN_OR_RETURN(functions.init, node.Function("init_func", "init_func_other_arguments", kName));
  WEIR_ASSIGN_OR_RETURN(functions.reduce, node.Function("reduce_func", "reduce_func_other_arguments", kName));
  WEIR_ASSIGN_OR_RETURN(functions.finalize, node.Function("finalize_func", "finalize_func_other_arguments", kName));
  return std::make_shared<GroupByReducerDataset>(std::move(spec), std::move(input), std::move(functions));
}

}  // namespace

void RegisterGroupDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"GroupByWindowDataset", "ExperimentalGroupByWindowDataset"}, MakeGroupByWindow);
  RegisterDataset(registry, {"GroupByReducerDataset", "ExperimentalGroupByReducerDataset"}, MakeGroupByReducer);
}

}  // namespace weir
