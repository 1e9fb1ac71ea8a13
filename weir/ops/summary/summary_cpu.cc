// Ops that give serialized summaries.
#include "weir/framework/kernel_registry.h"
#include "weir/ops/summary/register.h"
#include "weir/ops/summary/summary_values.h"
#include "weir/proto/summary.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

Status PutSummary(KernelContext& ctx, const Summary& summary) {
  std::string bytes;
  if (!summary.SerializeToString(&bytes)) return Internal("The summary is too large");
  ctx.set_output(0, Tensor::Scalar(std::move(bytes)));
  return OkStatus();
}

StatusOr<std::string> ScalarTag(KernelContext& ctx, std::string_view message) {
  const Tensor& tag = ctx.input(0);
  if (!tag.shape().IsScalar()) return InvalidArgument(message);
  return tag.scalar<std::string>();
}

class ScalarSummaryKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor tags = ctx.input(0);
    const Tensor values = ctx.input(1);
    if (tags.shape() != values.shape()) {
      return InvalidArgument("tags and values are not the same shape: ", tags.shape().ToString(),
                             " != ", values.shape().ToString(),
                             tags.num_elements() == 1 ? Cat(" (tag '", *tags.data<std::string>(), "')") : "");
    }
    Summary summary;
    for (int64_t i = 0; i < tags.num_elements(); ++i) {
      Summary::Value* value = summary.add_value();
      value->set_tag(tags.data<std::string>()[i]);
      value->set_simple_value(static_cast<float>(NumberAt(values, i)));
    }
    return PutSummary(ctx, summary);
  }
};

class HistogramSummaryKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::string tag, ScalarTag(ctx, "tags must be scalar"));
    Summary summary;
    WEIR_RETURN_IF_ERROR(AddHistogram(tag, ctx.input(1), ctx.node_name(), &summary));
    return PutSummary(ctx, summary);
  }
};

class ImageSummaryKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ImageSummaryKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->max_images_, init.Attr<int64_t>("max_images"));
    WEIR_ASSIGN_OR_RETURN(kernel->bad_color_, init.Attr<Tensor>("bad_color"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::string tag, ScalarTag(ctx, "Tags must be a scalar"));
    Summary summary;
    WEIR_RETURN_IF_ERROR(AddImages(tag, ctx.input(1), max_images_, bad_color_, &summary));
    return PutSummary(ctx, summary);
  }

 private:
  int64_t max_images_ = 3;
  Tensor bad_color_;
};

// AudioSummary has the rate as an attribute, AudioSummaryV2 as an input.
class AudioSummaryKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AudioSummaryKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->max_outputs_, init.Attr<int64_t>("max_outputs"));
    if (init.HasAttr("sample_rate")) {
      WEIR_ASSIGN_OR_RETURN(kernel->sample_rate_, init.Attr<float>("sample_rate"));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::string tag, ScalarTag(ctx, "Tag must be a scalar"));
    float rate = sample_rate_;
    if (ctx.num_inputs() == 3) {
      if (ctx.input(2).num_elements() != 1) return InvalidArgument("sample_rate must be a scalar");
      rate = ctx.input(2).scalar<float>();
    }
    Summary summary;
    WEIR_RETURN_IF_ERROR(AddAudio(tag, ctx.input(1), rate, max_outputs_, &summary));
    return PutSummary(ctx, summary);
  }

 private:
  int64_t max_outputs_ = 3;
  float sample_rate_ = 0;
};

class MergeSummaryKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    Summary merged;
    StringSet tags;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Tensor input = ctx.input(i);
      for (const std::string& bytes : input.span<std::string>()) {
        Summary one;
        if (!one.ParseFromString(bytes)) return InvalidArgument("Could not parse one of the summary inputs");
        for (Summary::Value& value : *one.mutable_value()) {
          // Values of newer summaries are told apart by their nodes instead.
          if (!value.tag().empty() && !tags.insert(value.tag()).second) {
            return InvalidArgument("Duplicate tag ", value.tag(), " found in summary inputs ");
          }
          *merged.add_value() = std::move(value);
        }
      }
    }
    return PutSummary(ctx, merged);
  }
};

class TensorSummaryKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const bool is_v2 = ctx.num_inputs() == 3;
    Summary summary;
    Summary::Value* value = summary.add_value();
    const Tensor& tensor = ctx.input(is_v2 ? 1 : 0);
    WEIR_RETURN_IF_ERROR(ToProto(tensor, value->mutable_tensor()));
    if (!is_v2) {
      value->set_node_name(ctx.node_name());
      return PutSummary(ctx, summary);
    }
    WEIR_ASSIGN_OR_RETURN(std::string tag, ScalarTag(ctx, "tag must be scalar"));
    if (!ctx.input(2).shape().IsScalar()) return InvalidArgument("serialized_summary_metadata must be scalar");
    value->set_tag(tag);
    // What does not parse leaves what came before it.
    std::ignore = value->mutable_metadata()->ParseFromString(ctx.input(2).scalar<std::string>());
    return PutSummary(ctx, summary);
  }
};

}  // namespace

void RegisterSummaryValueKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ScalarSummary").Types("T", RealTypes{}), MakeKernel<ScalarSummaryKernel>);
  registry.Add(KernelBuilder("HistogramSummary").Types("T", RealTypes{}), MakeKernel<HistogramSummaryKernel>);
  registry.Add(KernelBuilder("ImageSummary"), MakeKernel<ImageSummaryKernel>);
  registry.Add(KernelBuilder("AudioSummary"), MakeKernel<AudioSummaryKernel>);
  registry.Add(KernelBuilder("AudioSummaryV2"), MakeKernel<AudioSummaryKernel>);
  registry.Add(KernelBuilder("MergeSummary"), MakeKernel<MergeSummaryKernel>);
  registry.Add(KernelBuilder("TensorSummary"), MakeKernel<TensorSummaryKernel>);
  registry.Add(KernelBuilder("TensorSummaryV2"), MakeKernel<TensorSummaryKernel>);
}

}  // namespace weir
