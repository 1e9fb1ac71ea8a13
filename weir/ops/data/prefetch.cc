// Elements made ahead of their use, by a thread.
#include "weir/ops/data/prefetch.h"

#include <deque>

#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/ops/data/threads.h"

namespace weir {
namespace {

class PrefetchDataset : public Dataset {
 public:
  PrefetchDataset(DatasetPtr input, int64_t buffer_size) : Dataset(input->spec(), {input}), buffer_size_(buffer_size) {}
  int64_t Cardinality() const override { return input().Cardinality(); }
  bool MayWait() const override { return true; }
  bool RunsAhead() const override { return buffer_size_ != 0; }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override {
    if (buffer_size_ == 0) return input().MakeIterator(ctx);
    auto iterator = std::make_unique<Iterator>(ctx, Self<PrefetchDataset>());
    WEIR_RETURN_IF_ERROR(iterator->Open());
    return IteratorPtr(std::move(iterator));
  }

 private:
  class Iterator : public DatasetIterator {
   public:
    Iterator(IteratorContext& ctx, std::shared_ptr<const PrefetchDataset> dataset)
        : dataset_(std::move(dataset)), threads_(ctx, &mu_) {
      automatic_ = dataset_->buffer_size_ < 0;
      capacity_ = automatic_ ? kFirstCapacity : dataset_->buffer_size_;
    }
    ~Iterator() override { threads_.Stop(); }
    Status Open() {
      WEIR_ASSIGN_OR_RETURN(input_, dataset_->input().MakeIterator(threads_.context()));
      return OkStatus();
    }

    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      absl::MutexLock lock(&mu_);
      if (!started_ && !threads_.stopped()) {
        started_ = threads_.Start([this] { Loop(); });
        if (!started_) return ResourceExhausted("No thread can be started for a prefetch");
      }
      if (automatic_ && buffer_.empty() && was_full_ && capacity_ < kMaxCapacity) {
        // The consumer is faster at times: more room evens that out.
        capacity_ *= 2;
        was_full_ = false;
      }
      mu_.Await(absl::Condition(this, &Iterator::HasNext));
      if (buffer_.empty()) {
        if (!ended_) return threads_.reason();
        *end = true;
        return OkStatus();
      }
      AheadResult result = std::move(buffer_.front());
      buffer_.pop_front();
      *out = std::move(result.element);
      return std::move(result.status);
    }
    bool Ready() override {
      absl::MutexLock lock(&mu_);
      return HasNext() && started_;
    }

    Status Save(IteratorContext& ctx, StateWriter state) override {
      Pause pause(this);
      bool ended = false;
      {
        absl::MutexLock lock(&mu_);
        state.PutInt("count", static_cast<int64_t>(buffer_.size()));
        for (size_t i = 0; i < buffer_.size(); ++i) {
          state.PutElement(Cat("element", i), buffer_[i].element);
          state.PutStatus(Cat("status", i), buffer_[i].status);
        }
        ended = ended_;
        state.PutInt("ended", ended);
      }
      // Without the lock: a cancellation must get through while the input waits for its own threads.
      return ended ? OkStatus() : input_->Save(threads_.context(), state.Child("input"));
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      absl::MutexLock lock(&mu_);
      WEIR_ASSIGN_OR_RETURN(int64_t count, state.GetCount("count", std::numeric_limits<int64_t>::max()));
      for (int64_t i = 0; i < count; ++i) {
        AheadResult result;
        WEIR_ASSIGN_OR_RETURN(result.element, state.GetElement(Cat("element", i)));
        WEIR_ASSIGN_OR_RETURN(result.status, state.GetStatus(Cat("status", i)));
        buffer_.push_back(std::move(result));
      }
      WEIR_ASSIGN_OR_RETURN(int64_t ended, state.GetInt("ended"));
      ended_ = ended != 0;
      return ended_ ? OkStatus() : input_->Restore(threads_.context(), state.Child("input"));
    }

   private:
    static constexpr int64_t kFirstCapacity = 1;
    static constexpr int64_t kMaxCapacity = 64;

    // Keeps the thread out of the input.
    class Pause {
     public:
      explicit Pause(Iterator* iterator) : iterator_(iterator) {
        absl::MutexLock lock(&iterator_->mu_);
        iterator_->paused_ = true;
        iterator_->mu_.Await(absl::Condition(iterator_, &Iterator::IsIdle));
      }
      ~Pause() {
        absl::MutexLock lock(&iterator_->mu_);
        iterator_->paused_ = false;
      }

     private:
      Iterator* const iterator_;
    };

    bool HasNext() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !buffer_.empty() || ended_ || threads_.stopped(); }
    bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !pulling_; }
    bool MayPull() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return threads_.stopped() || (!paused_ && static_cast<int64_t>(buffer_.size()) < capacity_);
    }

    void Loop() {
      while (true) {
        {
          absl::MutexLock lock(&mu_);
          if (ended_) return;
          mu_.Await(absl::Condition(this, &Iterator::MayPull));
          if (threads_.stopped()) return;
          pulling_ = true;
        }
        AheadResult result;
        result.status = input_->GetNext(threads_.context(), &result.element, &result.end);
        absl::MutexLock lock(&mu_);
        pulling_ = false;
        if (result.status.ok() && result.end) {
          ended_ = true;
        } else {
          buffer_.push_back(std::move(result));
          was_full_ |= static_cast<int64_t>(buffer_.size()) >= capacity_;
        }
      }
    }

    const std::shared_ptr<const PrefetchDataset> dataset_;
    bool automatic_ = false;
    mutable absl::Mutex mu_;
    int64_t capacity_ ABSL_GUARDED_BY(mu_) = 0;
    bool was_full_ ABSL_GUARDED_BY(mu_) = false;
    bool started_ ABSL_GUARDED_BY(mu_) = false;
    bool paused_ ABSL_GUARDED_BY(mu_) = false;
    bool pulling_ ABSL_GUARDED_BY(mu_) = false;
    bool ended_ ABSL_GUARDED_BY(mu_) = false;
    std::deque<AheadResult> buffer_ ABSL_GUARDED_BY(mu_);
    WorkerThreads threads_;
    IteratorPtr input_;  // after the threads' cancellation, which it may refer to
  };
  const int64_t buffer_size_;
};

StatusOr<DatasetPtr> MakePrefetch(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(int64_t buffer_size, node.Scalar<int64_t>("buffer_size"));
  if (buffer_size < -1) {
    return InvalidArgument("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning");
  }
  return std::make_shared<PrefetchDataset>(std::move(input), buffer_size);
}

}  // namespace

DatasetPtr MakePrefetchDataset(DatasetPtr input) { return std::make_shared<PrefetchDataset>(std::move(input), -1); }

void RegisterPrefetchDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"PrefetchDataset"}, MakePrefetch);
}

}  // namespace weir
