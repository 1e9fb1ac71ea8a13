// Elements that functions make: GeneratorDataset; and a dataset slowed down, for tests of pipelines: SleepDataset.
#include "absl/time/clock.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"

namespace weir {
namespace {

// init_func makes a state, next_func an element of it until OUT_OF_RANGE, finalize_func ends it.
class GeneratorDataset : public Dataset {
 public:
  GeneratorDataset(ElementSpec spec, CapturedFunctionPtr init, CapturedFunctionPtr next, CapturedFunctionPtr finalize)
      : Dataset(std::move(spec)), init_(std::move(init)), next_(std::move(next)), finalize_(std::move(finalize)) {}
  bool MayWait() const override { return true; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    auto iterator = std::make_unique<Iterator>(ctx, Self<GeneratorDataset>());
    WEIR_ASSIGN_OR_RETURN(iterator->init_, FunctionCaller::Make(ctx, init_));
    WEIR_ASSIGN_OR_RETURN(iterator->next_, FunctionCaller::Make(ctx, next_));
    WEIR_ASSIGN_OR_RETURN(iterator->finalize_, FunctionCaller::Make(ctx, finalize_));
    return IteratorPtr(std::move(iterator));
  }

 private:
  class Iterator : public DatasetIterator {
   public:
    Iterator(IteratorContext& ctx, std::shared_ptr<const GeneratorDataset> dataset)
        : dataset_(std::move(dataset)), last_words_(ctx) {}
    ~Iterator() override {
      if (!begun_ || ended_) return;
      // The walk may be cancelled by now; the generator's end is called all the same.
      CancellationManager cancellation;
      last_words_.cancellation = &cancellation;
      Element unused;
      finalize_->Call(last_words_, state_, index_, &unused).IgnoreError();
    }
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      if (!begun_) {
        WEIR_RETURN_IF_ERROR(init_->Call(ctx, {}, 0, &state_));
        begun_ = true;
      }
      *end = ended_;
      if (ended_) return OkStatus();
      Status status = next_->Call(ctx, state_, index_++, out);
      if (status.code() != absl::StatusCode::kOutOfRange) return status;
      ended_ = true;
      *end = true;
      Element unused;
      return finalize_->Call(ctx, state_, index_, &unused);
    }
    Status Save(IteratorContext&, StateWriter) override {
      return Unimplemented("The position of a generator cannot be saved");
    }
    Status Restore(IteratorContext&, const StateReader&) override {
      return Unimplemented("The position of a generator cannot be restored");
    }
    std::unique_ptr<FunctionCaller> init_, next_, finalize_;

   private:
    const std::shared_ptr<const GeneratorDataset> dataset_;
    IteratorContext last_words_;
    Element state_;
    int64_t index_ = 0;
    bool begun_ = false;
    bool ended_ = false;
  };
  const CapturedFunctionPtr init_, next_, finalize_;
};

StatusOr<DatasetPtr> MakeGenerator(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  constexpr std::string_view kName = "Generator";
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr init, node.Function("init_func", "init_func_other_args", kName));
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr next, node.Function("next_func", "next_func_other_args", kName));
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr finalize,
                        node.Function("finalize_func", "finalize_func_other_args", kName));
  return std::make_shared<GeneratorDataset>(std::move(spec), std::move(init), std::move(next), std::move(finalize));
}

class SleepDataset : public Dataset {
 public:
  SleepDataset(DatasetPtr input, absl::Duration pause) : Dataset(input->spec(), {input}), pause_(pause) {}
  int64_t Cardinality() const override { return input().Cardinality(); }
  bool MayWait() const override { return true; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<SleepDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      absl::Mutex mu;
      bool cancelled = false;
      auto token = ctx.cancellation->Register([&] {
        absl::MutexLock lock(&mu);
        cancelled = true;
      });
      if (token == CancellationManager::kNoToken) return ctx.cancellation->reason();
      {
        absl::MutexLock lock(&mu);
        mu.AwaitWithTimeout(absl::Condition(&cancelled), dataset().pause_);
      }
      ctx.cancellation->Deregister(token);
      if (cancelled) return ctx.cancellation->reason();
      return Pull(ctx, out, end);
    }
  };
  const absl::Duration pause_;
};

StatusOr<DatasetPtr> MakeSleep(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(int64_t microseconds, node.Scalar<int64_t>("sleep_microseconds"));
  if (microseconds < 0) return InvalidArgument("`sleep_microseconds` must be >= 0");
  return std::make_shared<SleepDataset>(std::move(input), absl::Microseconds(microseconds));
}

}  // namespace

void RegisterGeneratorDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"GeneratorDataset"}, MakeGenerator);
  RegisterDataset(registry, {"SleepDataset", "ExperimentalSleepDataset"}, MakeSleep);
}

}  // namespace weir
