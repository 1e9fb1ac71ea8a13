// Writers of event files as resources.
#include "absl/time/clock.h"
#include "weir/framework/kernel_registry.h"
#include "weir/framework/resource_node.h"
#include "weir/io/event_writer.h"
#include "weir/ops/summary/register.h"
#include "weir/ops/summary/summary_values.h"
#include "weir/proto/event.pb.h"
#include "weir/proto/graph.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

// Thread-safe.
class SummaryWriter : public Resource {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow22SummaryWriterInterfaceE";

  SummaryWriter(std::unique_ptr<EventWriter> events, int64_t max_queue, absl::Duration flush_interval)
      : events_(std::move(events)), max_queue_(max_queue), flush_interval_(flush_interval), last_flush_(absl::Now()) {}
  std::string_view type_name() const override { return kTypeName; }

  Status Write(const Event& event) {
    absl::MutexLock lock(&mu_);
    WEIR_RETURN_IF_ERROR(events_->Write(event));
    ++waiting_;
    if (waiting_ <= max_queue_ && absl::Now() - last_flush_ <= flush_interval_) return OkStatus();
    return FlushLocked();
  }
  Status Flush() {
    absl::MutexLock lock(&mu_);
    return FlushLocked();
  }

 private:
  Status FlushLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    waiting_ = 0;
    last_flush_ = absl::Now();
    return events_->Flush();
  }

  const std::unique_ptr<EventWriter> events_;
  const int64_t max_queue_;
  const absl::Duration flush_interval_;
  absl::Mutex mu_;
  int64_t waiting_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time last_flush_ ABSL_GUARDED_BY(mu_);
};

// Only the handle; CreateSummaryFileWriter makes what it names.
class SummaryWriterHandleKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SummaryWriterHandleKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->key_, NodeResourceKey(init, /*use_node_name=*/true));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, HandleTensor(MakeResourceHandle(ctx.device(), key_, SummaryWriter::kTypeName)));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }

 private:
  ResourceKey key_;
};

StatusOr<std::string> ScalarText(KernelContext& ctx, int i) {
  if (ctx.input(i).num_elements() != 1) {
    return InvalidArgument("Input ", i, " must be a scalar, got shape ", ctx.input(i).shape().ToString());
  }
  return ctx.input(i).scalar<std::string>();
}

class CreateWriterKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleInput(ctx, 0));
    WEIR_ASSIGN_OR_RETURN(std::string folder, ScalarText(ctx, 1));
    WEIR_ASSIGN_OR_RETURN(std::string suffix, ScalarText(ctx, 4));
    for (int i : {2, 3}) {
      if (ctx.input(i).num_elements() != 1) return InvalidArgument("Input ", i, " must be a scalar");
    }
    const int64_t max_queue = ctx.input(2).scalar<int32_t>();
    const absl::Duration interval = absl::Milliseconds(ctx.input(3).scalar<int32_t>());
    if (!suffix.starts_with(".")) suffix.insert(0, ".");
    return ctx.resources()
        .LookUpOrCreate<SummaryWriter>(handle->container, handle->name,
                                       [&]() -> StatusOr<std::shared_ptr<SummaryWriter>> {
                                         WEIR_ASSIGN_OR_RETURN(std::unique_ptr<EventWriter> events,
                                                               EventWriter::Create(folder, suffix));
                                         return std::make_shared<SummaryWriter>(std::move(events), max_queue, interval);
                                       })
        .status();
  }
};

class FlushWriterKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<SummaryWriter> writer, LookUpResource<SummaryWriter>(ctx, 0));
    return writer->Flush();
  }
};

// The file is closed when the last step that uses the writer lets go of it.
class CloseWriterKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<SummaryWriter> writer, LookUpResource<SummaryWriter>(ctx, 0));
    WEIR_ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleInput(ctx, 0));
    WEIR_RETURN_IF_ERROR(ctx.resources().Delete(handle->container, SummaryWriter::kTypeName, handle->name));
    return writer->Flush();
  }
};

// Fills an event from the inputs behind writer and step.
using FillEvent = Status (*)(KernelContext&, const AttrMap&, Event*);

class WriteKernel : public Kernel {
 public:
  WriteKernel(FillEvent fill, AttrMap attrs) : fill_(fill), attrs_(std::move(attrs)) {}
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<SummaryWriter> writer, LookUpResource<SummaryWriter>(ctx, 0));
    if (ctx.input(1).num_elements() != 1) {
      return InvalidArgument("step must be a scalar, got shape ", ctx.input(1).shape().ToString());
    }
    Event event;
    event.set_step(ctx.input(1).scalar<int64_t>());
    event.set_wall_time(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
    WEIR_RETURN_IF_ERROR(fill_(ctx, attrs_, &event));
    return writer->Write(event);
  }

 private:
  const FillEvent fill_;
  const AttrMap attrs_;
};

Status FillTensor(KernelContext& ctx, const AttrMap&, Event* event) {
  WEIR_ASSIGN_OR_RETURN(std::string tag, ScalarText(ctx, 3));
  WEIR_ASSIGN_OR_RETURN(std::string metadata, ScalarText(ctx, 4));
  Summary::Value* value = event->mutable_summary()->add_value();
  WEIR_RETURN_IF_ERROR(ToProto(ctx.input(2), value->mutable_tensor()));
  value->set_tag(tag);
  if (!metadata.empty() && !value->mutable_metadata()->ParseFromString(metadata)) {
    return InvalidArgument("Could not parse the summary's metadata");
  }
  return OkStatus();
}

Status FillRaw(KernelContext& ctx, const AttrMap&, Event* event) {
  const Tensor& summaries = ctx.input(2);
  for (const std::string& bytes : summaries.span<std::string>()) {
    Summary summary;
    if (!summary.ParseFromString(bytes)) return DataLoss("Bad tf.compat.v1.Summary binary proto tensor string");
    event->mutable_summary()->MergeFrom(summary);
  }
  return OkStatus();
}

Status FillScalar(KernelContext& ctx, const AttrMap&, Event* event) {
  WEIR_ASSIGN_OR_RETURN(std::string tag, ScalarText(ctx, 2));
  if (ctx.input(3).num_elements() != 1) return InvalidArgument("value must be a scalar");
  AddScalar(tag, ctx.input(3), event->mutable_summary());
  return OkStatus();
}

Status FillHistogram(KernelContext& ctx, const AttrMap&, Event* event) {
  WEIR_ASSIGN_OR_RETURN(std::string tag, ScalarText(ctx, 2));
  return AddHistogram(tag, ctx.input(3), tag, event->mutable_summary());
}

Status FillImage(KernelContext& ctx, const AttrMap& attrs, Event* event) {
  WEIR_ASSIGN_OR_RETURN(std::string tag, ScalarText(ctx, 2));
  WEIR_ASSIGN_OR_RETURN(int64_t max_images, GetAttr<int64_t>(attrs, "max_images"));
  return AddImages(tag, ctx.input(3), max_images, ctx.input(4), event->mutable_summary());
}

Status FillAudio(KernelContext& ctx, const AttrMap& attrs, Event* event) {
  WEIR_ASSIGN_OR_RETURN(std::string tag, ScalarText(ctx, 2));
  WEIR_ASSIGN_OR_RETURN(int64_t max_outputs, GetAttr<int64_t>(attrs, "max_outputs"));
  if (ctx.input(4).num_elements() != 1) return InvalidArgument("sample_rate must be a scalar");
  return AddAudio(tag, ctx.input(3), ctx.input(4).scalar<float>(), max_outputs, event->mutable_summary());
}

Status FillGraph(KernelContext& ctx, const AttrMap&, Event* event) {
  WEIR_ASSIGN_OR_RETURN(std::string bytes, ScalarText(ctx, 2));
  if (!GraphDef().ParseFromString(bytes)) return DataLoss("Bad tf.GraphDef binary proto scalar string");
  event->set_graph_def(std::move(bytes));
  return OkStatus();
}

class ImportEventKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<SummaryWriter> writer, LookUpResource<SummaryWriter>(ctx, 0));
    WEIR_ASSIGN_OR_RETURN(std::string bytes, ScalarText(ctx, 1));
    Event event;
    if (!event.ParseFromString(bytes)) return DataLoss("Bad tf.Event binary proto tensor string");
    return writer->Write(event);
  }
};

}  // namespace

void RegisterSummaryWriterKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SummaryWriter"), MakeKernel<SummaryWriterHandleKernel>);
  registry.Add(KernelBuilder("CreateSummaryFileWriter"), MakeKernel<CreateWriterKernel>);
  registry.Add(KernelBuilder("FlushSummaryWriter"), MakeKernel<FlushWriterKernel>);
  registry.Add(KernelBuilder("CloseSummaryWriter"), MakeKernel<CloseWriterKernel>);
  registry.Add(KernelBuilder("ImportEvent"), MakeKernel<ImportEventKernel>);
  const std::pair<const char*, FillEvent> writes[] = {
      {"WriteSummary", FillTensor},       {"WriteRawProtoSummary", FillRaw},
      {"WriteScalarSummary", FillScalar}, {"WriteHistogramSummary", FillHistogram},
      {"WriteImageSummary", FillImage},   {"WriteAudioSummary", FillAudio},
      {"WriteGraphSummary", FillGraph}};
  for (const auto& [op, fill] : writes) {
    registry.Add(KernelBuilder(op), [fill = fill](const KernelInit& init) {
      return StatusOr<std::unique_ptr<Kernel>>(std::make_unique<WriteKernel>(fill, init.attrs()));
    });
  }
}

}  // namespace weir
