// Work of a step that may wait, such as walking over a whole dataset.
#ifndef WEIR_OPS_DATA_BACKGROUND_H_
#define WEIR_OPS_DATA_BACKGROUND_H_

#include <functional>
#include <thread>

#include "weir/framework/kernel.h"
#include "weir/ops/data/iterator_resource.h"

namespace weir {

// A kernel whose work runs in a thread of its own, which ends with it.
class BackgroundKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) final {
    if (!MayWait(ctx)) return done(Work(ctx));
    std::thread([this, &ctx, done = std::move(done)]() mutable { done(Work(ctx)); }).detach();
  }

 protected:
  virtual Status Work(KernelContext& ctx) = 0;
  // False if the work surely waits for nothing.
  virtual bool MayWait(KernelContext& ctx) const { return true; }
};

// One walk of a kernel, from its beginning to its end.
class StepWalk {
 public:
  static StatusOr<std::unique_ptr<StepWalk>> Start(KernelContext& ctx, DatasetPtr dataset);
  Status GetNext(Element* out, bool* end) {
    out->clear();
    *end = false;
    if (ctx_.cancellation->cancelled()) return ctx_.cancellation->reason();
    return iterator_->GetNext(ctx_, out, end);
  }
  IteratorContext& context() { return ctx_; }

 private:
  StepWalk(DatasetPtr dataset, IteratorContext ctx) : dataset_(std::move(dataset)), ctx_(std::move(ctx)) {}
  DatasetPtr dataset_;
  IteratorContext ctx_;
  IteratorPtr iterator_;
};

}  // namespace weir

#endif  // WEIR_OPS_DATA_BACKGROUND_H_
