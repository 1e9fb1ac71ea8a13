// CombinedNonMaxSuppression: the best boxes of all classes of each image.
#include <algorithm>
#include <numeric>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/box_overlap.h"
#include "weir/ops/image/register.h"

namespace weir {
namespace {

struct Detection {
  float score;
  int64_t class_index;
  const float* box;
};

struct Limits {
  int64_t per_class = 0, total = 0;
  float overlap = 0.5f, score = 0;
};

// The boxes of one image.
struct Boxes {
  const float* boxes;   // [count, kinds, 4]
  const float* scores;  // [count, classes]
  int64_t count, kinds, classes;
  const float* box(int64_t i, int64_t class_index) const {
    return boxes + (i * kinds + (kinds == 1 ? 0 : class_index)) * 4;
  }
  float score(int64_t i, int64_t class_index) const { return scores[i * classes + class_index]; }
};

void SelectOfClass(const Boxes& in, int64_t class_index, const Limits& limits, std::vector<Detection>& out) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < in.count; ++i) {
    if (in.score(i, class_index) > limits.score) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return in.score(a, class_index) > in.score(b, class_index); });
  const size_t first = out.size();
  for (int64_t i : order) {
    if (static_cast<int64_t>(out.size() - first) >= limits.per_class) return;
    const float* box = in.box(i, class_index);
    const bool overlaps = std::any_of(out.begin() + static_cast<ptrdiff_t>(first), out.end(),
                                      [&](const Detection& d) { return BoxOverlap(box, d.box) > limits.overlap; });
    if (!overlaps) out.push_back({in.score(i, class_index), class_index, box});
  }
}

class CombinedKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<CombinedKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->pad_per_class_, init.Attr<bool>("pad_per_class"));
    WEIR_ASSIGN_OR_RETURN(kernel->clip_, init.Attr<bool>("clip_boxes"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor boxes = ctx.input(0), scores = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(Limits limits, ReadLimits(ctx));
    if (boxes.rank() != 4) return InvalidArgument("boxes must be 4-D", boxes.shape().ToString());
    if (scores.rank() != 3) return InvalidArgument("scores must be 3-D", scores.shape().ToString());
    if (boxes.dim(0) != scores.dim(0)) {
      return InvalidArgument("boxes and scores must have same batch size", boxes.dim(0), " vs. ", scores.dim(0));
    }
    if (boxes.dim(1) != scores.dim(1)) return InvalidArgument("boxes and scores must have the same number of boxes");
    const int64_t classes = scores.dim(2);
    if (boxes.dim(2) != 1 && boxes.dim(2) != classes) {
      return InvalidArgument("third dimension of boxes must be either 1 or num classes");
    }
    if (boxes.dim(3) != 4) return InvalidArgument("box_coordinate must have 4 elements");
    int64_t size = limits.total;
    if (pad_per_class_) {
      std::optional<int64_t> all = CheckedMultiply(limits.per_class, classes);
      size = std::min(size, all.value_or(size));
    }
    return Run(ctx, boxes, scores, limits, size);
  }

 private:
  static StatusOr<Limits> ReadLimits(KernelContext& ctx) {
    static constexpr const char* kNames[] = {"max_size_per_class", "max_total_size", "iou_threshold",
                                             "score_threshold"};
    for (int i = 2; i < 6; ++i) {
      if (ctx.input(i).shape().IsScalar()) continue;
      return InvalidArgument(kNames[i - 2], " must be 0-D, got shape ", ctx.input(i).shape().ToString());
    }
    Limits limits{.per_class = ctx.input(2).scalar<int32_t>(),
                  .total = ctx.input(3).scalar<int32_t>(),
                  .overlap = ctx.input(4).scalar<float>(),
                  .score = ctx.input(5).scalar<float>()};
    if (limits.per_class <= 0) return InvalidArgument("max_size_per_class must be positive");
    if (limits.total <= 0) return InvalidArgument("max_total_size must be > 0");
    if (!(limits.overlap >= 0 && limits.overlap <= 1)) return InvalidArgument("iou_threshold must be in [0, 1]");
    return limits;
  }

  Status Run(KernelContext& ctx, const Tensor& boxes, const Tensor& scores, const Limits& limits, int64_t size) const {
    const int64_t batch = boxes.dim(0), count = boxes.dim(1), kinds = boxes.dim(2), classes = scores.dim(2);
    const int64_t dims[] = {batch, size, 4};
    WEIR_ASSIGN_OR_RETURN(const Shape box_shape, Shape::Make(dims));
    const Shape shape = box_shape.Slice(0, 2);
    WEIR_ASSIGN_OR_RETURN(Tensor out_boxes, Tensor::Zeros(DType::kFloat, box_shape));
    WEIR_ASSIGN_OR_RETURN(Tensor out_scores, Tensor::Zeros(DType::kFloat, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor out_classes, Tensor::Zeros(DType::kFloat, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor valid, Tensor::Zeros(DType::kInt32, Shape({batch})));
    ctx.ParallelFor(batch, static_cast<double>(100 * count * classes + 100), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const Boxes in{boxes.data<float>() + b * count * kinds * 4, scores.data<float>() + b * count * classes, count,
                       kinds, classes};
        std::vector<Detection> found;
        for (int64_t c = 0; c < classes; ++c) SelectOfClass(in, c, limits, found);
        std::stable_sort(found.begin(), found.end(),
                         [](const Detection& a, const Detection& z) { return a.score > z.score; });
        const int64_t kept = std::min(size, static_cast<int64_t>(found.size()));
        for (int64_t i = 0; i < kept; ++i) {
          float* box = out_boxes.data<float>() + (b * size + i) * 4;
          for (int k = 0; k < 4; ++k) box[k] = clip_ ? std::clamp(found[i].box[k], 0.0f, 1.0f) : found[i].box[k];
          out_scores.data<float>()[b * size + i] = found[i].score;
          out_classes.data<float>()[b * size + i] = static_cast<float>(found[i].class_index);
        }
        valid.data<int32_t>()[b] = static_cast<int32_t>(kept);
      }
    });
    ctx.set_output(0, std::move(out_boxes));
    ctx.set_output(1, std::move(out_scores));
    ctx.set_output(2, std::move(out_classes));
    ctx.set_output(3, std::move(valid));
    return OkStatus();
  }

  bool pad_per_class_ = false, clip_ = true;
};

}  // namespace

void RegisterCombinedNonMaxSuppressionKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("CombinedNonMaxSuppression"), MakeKernel<CombinedKernel>);
}

}  // namespace weir
