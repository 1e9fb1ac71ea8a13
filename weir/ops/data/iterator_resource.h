// IteratorResource: an iterator that steps share by its handle.
#ifndef WEIR_OPS_DATA_ITERATOR_RESOURCE_H_
#define WEIR_OPS_DATA_ITERATOR_RESOURCE_H_

#include <functional>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "weir/framework/resource.h"
#include "weir/ops/data/dataset.h"

namespace weir {

// Everything one walk over a dataset needs, kept beyond the step that starts it.
struct WalkSetup {
  std::shared_ptr<FunctionRuntime> functions;  // detached; null if the graph has none
  Device* device = nullptr;
  bool deterministic = false;
  // From a step that starts a walk.
  static StatusOr<WalkSetup> From(const KernelContext& ctx);
  IteratorContext MakeContext(CancellationManager* cancellation) const;
};

// Walks over a dataset on behalf of steps. Steps that must wait hold no thread: one thread of the walk pulls for all of
// them. A step that is cancelled leaves at once; the element that was on its way to it goes to the next. Thread-safe.
class Walk {
 public:
  using Done = std::function<void(Status, Element, bool end)>;
  using SaveDone = std::function<void(StatusOr<Tensor>)>;

  static StatusOr<std::unique_ptr<Walk>> Start(DatasetPtr dataset, WalkSetup setup,
                                               const IteratorState* position = nullptr);
  ~Walk();
  // Ends what waits with CANCELLED, now and later, and joins all threads.
  void Stop();

  // May call `done` before it returns. REQUIRES: `cancellation` lives until `done` is called.
  void GetNext(CancellationManager& cancellation, Done done);
  // The position as a variant tensor.
  void Save(CancellationManager& cancellation, SaveDone done);
  const DatasetPtr& dataset() const;
  const WalkSetup& setup() const;

 private:
  class State;
  explicit Walk(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State> state_;
};

class IteratorResource : public Resource {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::data::IteratorResource";

  explicit IteratorResource(ElementSpec spec) : spec_(std::move(spec)) {}
  ~IteratorResource() override;
  std::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override { return "Iterator resource"; }
  const ElementSpec& spec() const { return spec_; }

  // Begins a walk over `dataset`; the one before ends. INVALID_ARGUMENT if its elements do not fit.
  Status Start(DatasetPtr dataset, WalkSetup setup);
  // The walk that goes on now. FAILED_PRECONDITION if none was started: "<what>() failed because ...".
  StatusOr<std::shared_ptr<Walk>> walk(std::string_view what) const;
  Status Restore(const IteratorState& position);

 private:
  const ElementSpec spec_;
  mutable absl::Mutex mu_;
  std::shared_ptr<Walk> walk_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_OPS_DATA_ITERATOR_RESOURCE_H_
