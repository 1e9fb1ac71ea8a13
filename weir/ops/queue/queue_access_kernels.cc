#include "weir/framework/kernel_registry.h"
#include "weir/framework/resource_node.h"
#include "weir/ops/queue/register.h"
#include "weir/resources/queue.h"
#include "weir/resources/tuple.h"

namespace weir {
namespace {

using QueuePtr = std::shared_ptr<Queue>;

std::string SignatureText(std::string_view handle, const std::vector<DType>& inputs,
                          const std::vector<DType>& outputs) {
  return Cat(handle, inputs.empty() ? "" : ", ", TypesText(inputs), "->", TypesText(outputs));
}

// Base of the kernels that wait at a queue.
class QueueAccessKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) final {
    auto queue = FindByHandle<Queue>(ctx, 0);
    if (!queue.ok()) return done(queue.status());
    Access(ctx, *queue, [&ctx, queue = *queue, done = std::move(done)](StatusOr<Queue::Tuple> tuple) mutable {
      if (!tuple.ok()) return done(tuple.status());
      for (size_t i = 0; i < tuple->size(); ++i) ctx.set_output(static_cast<int>(i), std::move((*tuple)[i]));
      done(OkStatus());
    });
  }

 protected:
  virtual void Access(KernelContext& ctx, const QueuePtr& queue, Queue::Done done) = 0;

  Status Init(const KernelInit& init) {
    handle_ = IsRef(init.types().inputs[0]) ? "string_ref" : "resource";
    if (!init.HasAttr("timeout_ms")) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(int64_t timeout, init.Attr<int64_t>("timeout_ms"));
    return timeout == -1 ? OkStatus() : InvalidArgument("Timeout not supported yet.");
  }
  Status CheckSignature(const std::vector<DType>& inputs, const std::vector<DType>& outputs,
                        const std::vector<DType>& expected_inputs, const std::vector<DType>& expected_outputs) const {
    if (inputs == expected_inputs && outputs == expected_outputs) return OkStatus();
    return InvalidArgument("Signature mismatch, have: ", SignatureText(handle_, inputs, outputs),
                           " expected: ", SignatureText(handle_, expected_inputs, expected_outputs));
  }

 private:
  std::string handle_;
};

template <bool kMany>
class EnqueueKernel : public QueueAccessKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<EnqueueKernel>();
    WEIR_RETURN_IF_ERROR(kernel->Init(init));
    WEIR_ASSIGN_OR_RETURN(kernel->types_, init.Attr<std::vector<DType>>("Tcomponents"));
    return kernel;
  }

 protected:
  void Access(KernelContext& ctx, const QueuePtr& queue, Queue::Done done) override {
    if (Status s = CheckSignature(types_, {}, queue->spec().types, {}); !s.ok()) return done(s);
    Queue::Tuple tuple;
    for (int i = 1; i < ctx.num_inputs(); ++i) tuple.push_back(ctx.input(i));
    if constexpr (kMany) {
      queue->EnqueueMany(std::move(tuple), ctx.cancellation(), std::move(done));
    } else {
      queue->Enqueue(std::move(tuple), ctx.cancellation(), std::move(done));
    }
  }

 private:
  std::vector<DType> types_;
};

enum class DequeueMode { kOne, kMany, kUpTo };

template <DequeueMode kMode>
class DequeueKernel : public QueueAccessKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<DequeueKernel>();
    WEIR_RETURN_IF_ERROR(kernel->Init(init));
    WEIR_ASSIGN_OR_RETURN(kernel->types_, init.Attr<std::vector<DType>>("component_types"));
    return kernel;
  }

 protected:
  void Access(KernelContext& ctx, const QueuePtr& queue, Queue::Done done) override {
    if constexpr (kMode == DequeueMode::kOne) {
      if (Status s = CheckSignature({}, types_, {}, queue->spec().types); !s.ok()) return done(s);
      queue->Dequeue(ctx.cancellation(), std::move(done));
    } else {
      if (Status s = CheckSignature({DType::kInt32}, types_, {DType::kInt32}, queue->spec().types); !s.ok()) {
        return done(s);
      }
      const char* op = kMode == DequeueMode::kMany ? "DequeueManyOp" : "DequeueUpToOp";
      if (ctx.input(1).num_elements() != 1) {
        return done(
            InvalidArgument(op, " needs a scalar number of elements, got shape ", ctx.input(1).shape().ToString()));
      }
      int32_t count = ctx.input(1).scalar<int32_t>();
      if (count < 0) return done(InvalidArgument(op, " requested ", count, " < 0 elements"));
      queue->DequeueMany(count, kMode == DequeueMode::kUpTo, ctx.cancellation(), std::move(done));
    }
  }

 private:
  std::vector<DType> types_;
};

class QueueCloseKernel : public QueueAccessKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<QueueCloseKernel>();
    WEIR_RETURN_IF_ERROR(kernel->Init(init));
    WEIR_ASSIGN_OR_RETURN(kernel->cancel_pending_enqueues_, init.Attr<bool>("cancel_pending_enqueues"));
    return kernel;
  }

 protected:
  void Access(KernelContext& ctx, const QueuePtr& queue, Queue::Done done) override {
    queue->Close(cancel_pending_enqueues_, ctx.cancellation(), std::move(done));
  }

 private:
  bool cancel_pending_enqueues_ = false;
};

class QueueSizeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(QueuePtr queue, FindByHandle<Queue>(ctx, 0));
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(queue->size())));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class QueueIsClosedKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(QueuePtr queue, FindByHandle<Queue>(ctx, 0));
    ctx.set_output(0, Tensor::Scalar(queue->is_closed()));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterQueueAccessKernels(KernelRegistry& registry) {
  for (std::string version : {"", "V2"}) {
    registry.Add(KernelBuilder("QueueEnqueue" + version), MakeKernel<EnqueueKernel<false>>);
    registry.Add(KernelBuilder("QueueEnqueueMany" + version), MakeKernel<EnqueueKernel<true>>);
    registry.Add(KernelBuilder("QueueDequeue" + version), MakeKernel<DequeueKernel<DequeueMode::kOne>>);
    registry.Add(KernelBuilder("QueueDequeueMany" + version), MakeKernel<DequeueKernel<DequeueMode::kMany>>);
    registry.Add(KernelBuilder("QueueDequeueUpTo" + version), MakeKernel<DequeueKernel<DequeueMode::kUpTo>>);
    registry.Add(KernelBuilder("QueueClose" + version), MakeKernel<QueueCloseKernel>);
    registry.Add(KernelBuilder("QueueSize" + version), MakeKernel<QueueSizeKernel>);
    registry.Add(KernelBuilder("QueueIsClosed" + version), MakeKernel<QueueIsClosedKernel>);
  }
}

}  // namespace weir
