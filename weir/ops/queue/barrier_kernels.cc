// Barrier: collects the components of elements by key; an element leaves when all its components have come.
#include <limits>

#include "weir/framework/kernel_registry.h"
#include "weir/framework/resource_node.h"
#include "weir/ops/queue/queue_kinds.h"
#include "weir/ops/queue/register.h"
#include "weir/resources/tuple.h"

namespace weir {
namespace {

// Thread-safe. Whole elements wait in a queue, ordered by the insert that brought their key first: tuples of that
// insert's number, the key, and the components.
class Barrier : public Resource {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow7barrier7BarrierE";
  using Done = Queue::Done;

  static StatusOr<std::shared_ptr<Barrier>> Make(std::string name, std::vector<DType> types,
                                                 std::vector<PartialShape> shapes) {
    QueueSpec spec;
    spec.kind = "PriorityQueue";
    spec.types = types;
    spec.shapes = shapes;
    spec.types.insert(spec.types.begin(), DType::kString);
    spec.shapes.insert(spec.shapes.begin(), PartialShape(Shape()));
    WEIR_RETURN_IF_ERROR(NormalizeQueueSpec(spec));
    auto barrier = std::make_shared<Barrier>();
    WEIR_ASSIGN_OR_RETURN(barrier->ready_, MakeQueue(name + "_queue", std::move(spec)));
    barrier->name_ = std::move(name);
    barrier->types_ = std::move(types);
    barrier->shapes_ = std::move(shapes);
    return barrier;
  }

  std::string_view type_name() const override { return kTypeName; }
  const std::string& name() const { return name_; }
  const std::vector<DType>& types() const { return types_; }
  const std::vector<PartialShape>& shapes() const { return shapes_; }

  Status InsertMany(const Tensor& keys, int component, const Tensor& values) {
    std::vector<TensorTuple> ready;
    Status status;
    bool close = false;
    {
      absl::MutexLock lock(&mu_);
      status = InsertLocked(keys, component, values, ready);
      close = closed_ && incomplete_.empty();
    }
    // Those that became whole before an error go on.
    for (TensorTuple& tuple : ready) ready_->Enqueue(std::move(tuple), never_, [](StatusOr<TensorTuple>) {});
    if (close) CloseReady();
    return status;
  }

  void TakeMany(int64_t count, bool allow_small_batch, CancellationManager& cancellation, Done done) {
    Status status;
    {
      absl::MutexLock lock(&mu_);
      if (closed_) {
        int64_t available = ready_->size();
        if (allow_small_batch) {
          count = std::min(count, available);
        } else {
          available += static_cast<int64_t>(incomplete_.size());
        }
        if (available < std::max<int64_t>(count, 1)) {
          status = OutOfRange("Barrier '", name_, "' is closed and has insufficient elements (requested ", count,
                              ", total size ", available, ")");
        }
      }
    }
    if (!status.ok()) return done(status);
    ready_->DequeueMany(count, allow_small_batch, cancellation, std::move(done));
  }

  Status Close(bool cancel_pending) {
    {
      absl::MutexLock lock(&mu_);
      if (closed_ && (cancelled_ || !cancel_pending)) return Cancelled("Barrier '", name_, "' is already closed.");
      cancelled_ = cancel_pending;
      closed_ = true;
      if (!cancel_pending && !incomplete_.empty()) return OkStatus();
      incomplete_.clear();
    }
    CloseReady();
    return OkStatus();
  }

  int64_t ready_size() const { return ready_->size(); }
  int64_t incomplete_size() const {
    absl::MutexLock lock(&mu_);
    return static_cast<int64_t>(incomplete_.size());
  }

 private:
  struct Incomplete {
    int64_t number = 0;
    TensorTuple components;
    size_t missing = 0;
  };

  // Closing the queue a second time is harmless.
  void CloseReady() {
    ready_->Close(false, never_, [](StatusOr<TensorTuple>) {});
  }

  Status InsertLocked(const Tensor& keys, int component, const Tensor& values, std::vector<TensorTuple>& ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    int64_t count = keys.num_elements();
    if (closed_ && (cancelled_ || (count > 0 && incomplete_.empty()))) {
      return Cancelled("Barrier ", name_, " is closed.  Pending enqueues cancelled: ", cancelled_ ? 1 : 0,
                       ".  Number of new insertions: ", count, ".  Number of incomplete keys: ", incomplete_.size(),
                       ".");
    }
    bool new_keys = false;
    Status status;
    for (int64_t i = 0; i < count && status.ok(); ++i) {
      status = InsertOneLocked(keys.data<std::string>()[i], component, values, i, new_keys, ready);
    }
    if (new_keys) ++next_number_;
    return status;
  }

  Status InsertOneLocked(const std::string& key, int component, const Tensor& values, int64_t row, bool& new_keys,
                         std::vector<TensorTuple>& ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    auto found = incomplete_.find(key);
    if (found == incomplete_.end()) {
      if (closed_) {
        return Cancelled("Barrier ", name_, " is closed, but attempted to insert a brand new key: ", key,
                         ".  Pending enqueues cancelled: ", cancelled_ ? 1 : 0, ".  Insertion index: ", row,
                         ".  Number of incomplete keys: ", incomplete_.size(), ".");
      }
      new_keys = true;
      found = incomplete_.emplace(key, Incomplete{next_number_, TensorTuple(types_.size()), types_.size()}).first;
    }
    Incomplete& element = found->second;
    Tensor& slot = element.components[component];
    if (slot.has_value()) {
      return InvalidArgument("Key ", key, " already has a value for component ", component, " in barrier ", name_);
    }
    WEIR_ASSIGN_OR_RETURN(slot, values.SubTensor(row).Clone());
    if (--element.missing > 0) return OkStatus();
    TensorTuple whole = {Tensor::Scalar(element.number), Tensor::Scalar(key)};
    for (Tensor& tensor : element.components) whole.push_back(std::move(tensor));
    ready.push_back(std::move(whole));
    incomplete_.erase(found);
    return OkStatus();
  }

  std::string name_;
  std::vector<DType> types_;
  std::vector<PartialShape> shapes_;
  std::shared_ptr<Queue> ready_;
  CancellationManager never_;  // the ready queue has no limit: nothing put into it waits
  mutable absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  int64_t next_number_ ABSL_GUARDED_BY(mu_) = std::numeric_limits<int64_t>::min();
  StringMap<Incomplete> incomplete_ ABSL_GUARDED_BY(mu_);
};

class BarrierKernel : public ResourceNodeKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(std::vector<DType> types, init.Attr<std::vector<DType>>("component_types"));
    WEIR_ASSIGN_OR_RETURN(std::vector<PartialShape> shapes, init.Attr<std::vector<PartialShape>>("shapes"));
    WEIR_ASSIGN_OR_RETURN(int64_t capacity, init.Attr<int64_t>("capacity"));
    for (const PartialShape& shape : shapes) {
      if (!shape.IsFullyDefined()) return InvalidArgument("Shape ", shape.ToString(), " is not fully defined");
    }
    if (shapes.size() != types.size()) {
      return InvalidArgument("All of the component shapes must be specified");
    }
    if (capacity != -1) {
      return InvalidArgument(
          "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to "
          "enforce a limited capacity.");
    }
    WEIR_ASSIGN_OR_RETURN(ResourceKey key, NodeResourceKey(init, /*use_node_name=*/false));
    return std::make_unique<BarrierKernel>(init, std::move(key), std::move(types), std::move(shapes));
  }
  BarrierKernel(const KernelInit& init, ResourceKey key, std::vector<DType> types, std::vector<PartialShape> shapes)
      : ResourceNodeKernel(init, std::move(key), Barrier::kTypeName),
        types_(std::move(types)),
        shapes_(std::move(shapes)) {}

 protected:
  StatusOr<std::shared_ptr<Resource>> Create(KernelContext&) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Barrier> barrier, Barrier::Make(key().name, types_, shapes_));
    return barrier;
  }
  Status Verify(const Resource& resource) override {
    const auto& barrier = static_cast<const Barrier&>(resource);
    if (barrier.types() != types_) {
      return InvalidArgument("Shared barrier '", barrier.name(), "' has component types ", TypesText(barrier.types()),
                             " but requested component types were ", TypesText(types_));
    }
    if (barrier.shapes() != shapes_) {
      return InvalidArgument("Shared barrier '", barrier.name(), "' has component shapes ",
                             ShapesText(barrier.shapes()), " but requested component shapes were ",
                             ShapesText(shapes_));
    }
    return OkStatus();
  }

 private:
  std::vector<DType> types_;
  std::vector<PartialShape> shapes_;
};

class BarrierInsertManyKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BarrierInsertManyKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->component_, init.Attr<int64_t>("component_index"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Barrier> barrier, FindByHandle<Barrier>(ctx, 0));
    WEIR_RETURN_IF_ERROR(Check(ctx, *barrier));
    return barrier->InsertMany(ctx.input(1), static_cast<int>(component_), ctx.input(2));
  }

 private:
  Status Check(KernelContext& ctx, const Barrier& barrier) const {
    if (component_ < 0 || component_ >= static_cast<int64_t>(barrier.types().size())) {
      return InvalidArgument("The component ID is out of range ", component_,
                             " > num_components (= ", barrier.types().size(), ")");
    }
    const Tensor& keys = ctx.input(1);
    const Tensor& values = ctx.input(2);
    DType expected = barrier.types()[component_];
    if (values.dtype() != expected) {
      return InvalidArgument("Signature mismatch, have: string_ref, string, ", Name(values.dtype()),
                             "-> expected: string_ref, string, ", Name(expected), "->");
    }
    if (keys.num_elements() > 0 && values.num_elements() == 0) {
      return InvalidArgument("Tensors with no elements are not supported ", barrier.name(), ": received shape ",
                             values.shape().ToString());
    }
    PartialShape batch({keys.num_elements()});
    for (int64_t size : barrier.shapes()[component_].dims()) batch.add_dim(size);
    if (!batch.IsCompatibleWith(values.shape())) {
      return InvalidArgument("Shape mismatch in tuple component ", component_, ". Expected ", batch.ToString(),
                             ", got ", values.shape().ToString());
    }
    return OkStatus();
  }

  int64_t component_ = 0;
};

class BarrierTakeManyKernel : public AsyncKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BarrierTakeManyKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->types_, init.Attr<std::vector<DType>>("component_types"));
    WEIR_ASSIGN_OR_RETURN(kernel->allow_small_batch_, init.Attr<bool>("allow_small_batch"));
    WEIR_ASSIGN_OR_RETURN(int64_t timeout, init.Attr<int64_t>("timeout_ms"));
    if (timeout != -1) return InvalidArgument("Timeout not supported yet.");
    return kernel;
  }
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto barrier = FindByHandle<Barrier>(ctx, 0);
    if (!barrier.ok()) return done(barrier.status());
    if (types_ != (*barrier)->types()) {
      return done(InvalidArgument("Signature mismatch, have: string_ref, int32->int64, string, ", TypesText(types_),
                                  " expected: string_ref, int32->int64, string, ", TypesText((*barrier)->types())));
    }
    if (ctx.input(1).num_elements() != 1) return done(InvalidArgument("num_elements must be a scalar."));
    int32_t count = ctx.input(1).scalar<int32_t>();
    if (count < 0) return done(InvalidArgument("BarrierTakeMany requested ", count, " < 0 elements"));
    (*barrier)->TakeMany(count, allow_small_batch_, ctx.cancellation(),
                         [&ctx, barrier = *barrier, done = std::move(done)](StatusOr<TensorTuple> tuple) mutable {
                           if (!tuple.ok()) return done(tuple.status());
                           for (size_t i = 0; i < tuple->size(); ++i) {
                             ctx.set_output(static_cast<int>(i), std::move((*tuple)[i]));
                           }
                           done(OkStatus());
                         });
  }

 private:
  std::vector<DType> types_;
  bool allow_small_batch_ = false;
};

class BarrierCloseKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BarrierCloseKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->cancel_pending_, init.Attr<bool>("cancel_pending_enqueues"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Barrier> barrier, FindByHandle<Barrier>(ctx, 0));
    return barrier->Close(cancel_pending_);
  }

 private:
  bool cancel_pending_ = false;
};

template <bool kReady>
class BarrierSizeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<Barrier> barrier, FindByHandle<Barrier>(ctx, 0));
    int64_t size = kReady ? barrier->ready_size() : barrier->incomplete_size();
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(size)));
    return OkStatus();
  }
};

}  // namespace

void RegisterBarrierKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Barrier"), MakeKernel<BarrierKernel>);
  registry.Add(KernelBuilder("BarrierInsertMany"), MakeKernel<BarrierInsertManyKernel>);
  registry.Add(KernelBuilder("BarrierTakeMany"), MakeKernel<BarrierTakeManyKernel>);
  registry.Add(KernelBuilder("BarrierClose"), MakeKernel<BarrierCloseKernel>);
  registry.Add(KernelBuilder("BarrierReadySize"), MakeKernel<BarrierSizeKernel<true>>);
  registry.Add(KernelBuilder("BarrierIncompleteSize"), MakeKernel<BarrierSizeKernel<false>>);
}

}  // namespace weir
