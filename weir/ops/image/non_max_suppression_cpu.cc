// Non-maximum suppression: of boxes that overlap, the one with the best score stays.
#include <cmath>
#include <queue>

#include "absl/functional/function_ref.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/box_overlap.h"
#include "weir/ops/image/non_max_suppression.h"
#include "weir/ops/image/register.h"

namespace weir {
namespace {

struct Candidate {
  int32_t box;
  float score;
  size_t checked;  // selected boxes that it was held against
  bool operator<(const Candidate& other) const { return score == other.score ? box > other.box : score < other.score; }
};

struct Selection {
  std::vector<int32_t> boxes;
  std::vector<float> scores;
};

// Scores of 16-bit floats are rounded to that type after each change.
using Rounding = float (*)(float);

Selection Select(const std::vector<float>& scores, const SuppressionLimits& limits, Rounding round,
                 absl::FunctionRef<float(int64_t, int64_t)> overlap) {
  std::priority_queue<Candidate> queue;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > limits.score) queue.push({static_cast<int32_t>(i), scores[i], 0});
  }
  const bool soft = limits.sigma > 0;
  const float scale = soft ? round(-0.5f / limits.sigma) : 0.0f;
  Selection out;
  while (static_cast<int64_t>(out.boxes.size()) < limits.max_output && !queue.empty()) {
    Candidate next = queue.top();
    queue.pop();
    const float before = next.score;
    bool removed = false;
    // Boxes that overlap have similar scores: the one to blame is probably among the last selected.
    for (size_t j = out.boxes.size(); j-- > next.checked;) {
      const float similarity = round(overlap(next.box, out.boxes[j]));
      if (!soft && similarity > limits.overlap) {
        removed = true;
        break;
      }
      if (soft) next.score = round(next.score * round(std::exp(round(scale * similarity * similarity))));
      if (next.score <= limits.score) break;
    }
    next.checked = out.boxes.size();
    if (removed) continue;
    if (next.score == before) {
      out.boxes.push_back(next.box);
      out.scores.push_back(next.score);
    } else if (next.score > limits.score) {
      queue.push(next);
    }
  }
  return out;
}

std::vector<float> Floats(const Tensor& tensor) {
  std::vector<float> out(static_cast<size_t>(tensor.num_elements()));
  DispatchDType(tensor.dtype(), TypeList<Half, float>{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(tensor.data<T>()[i]);
  });
  return out;
}

StatusOr<float> Scalar(KernelContext& ctx, int i, std::string_view name) {
  if (!ctx.input(i).shape().IsScalar()) {
    return InvalidArgument(name, " must be 0-D, got shape ", ctx.input(i).shape().ToString());
  }
  return Floats(ctx.input(i))[0];
}

class NonMaxSuppressionKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<NonMaxSuppressionKernel>();
    kernel->by_matrix_ = init.schema().name == "NonMaxSuppressionWithOverlaps";
    kernel->is_v5_ = init.schema().name == "NonMaxSuppressionV5";
    if (init.HasAttr("iou_threshold")) {
      WEIR_ASSIGN_OR_RETURN(kernel->overlap_, init.Attr<float>("iou_threshold"));
    }
    if (init.HasAttr("pad_to_max_output_size")) {
      WEIR_ASSIGN_OR_RETURN(kernel->pad_, init.Attr<bool>("pad_to_max_output_size"));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(SuppressionLimits limits, ReadSuppressionLimits(ctx, by_matrix_, overlap_));
    const Tensor boxes = ctx.input(0);
    WEIR_RETURN_IF_ERROR(CheckSuppression(boxes.shape(), ctx.input(1).shape(), by_matrix_));
    const std::vector<float> values = Floats(boxes), scores = Floats(ctx.input(1));
    const bool half = ctx.input(1).dtype() == DType::kHalf;
    const Rounding round = half ? [](float x) { return static_cast<float>(Half(x)); } : [](float x) { return x; };
    const auto count = static_cast<int64_t>(scores.size());
    Selection selection =
        by_matrix_ ? Select(scores, limits, round, [&](int64_t i, int64_t j) { return values[i * count + j]; })
                   : Select(scores, limits, round,
                            [&](int64_t i, int64_t j) { return BoxOverlap(&values[4 * i], &values[4 * j]); });
    return Put(ctx, selection, limits.max_output);
  }

 private:
  Status Put(KernelContext& ctx, Selection& selection, int64_t max_output) const {
    const auto found = static_cast<int32_t>(selection.boxes.size());
    const int64_t size = pad_ ? max_output : found;
    WEIR_ASSIGN_OR_RETURN(Tensor * boxes, ctx.AllocateOutput(0, Shape({size})));
    for (int64_t i = 0; i < size; ++i) boxes->data<int32_t>()[i] = i < found ? selection.boxes[i] : 0;
    if (is_v5_) {
      WEIR_ASSIGN_OR_RETURN(Tensor * scores, ctx.AllocateOutput(1, Shape({size})));
      DispatchDType(scores->dtype(), TypeList<Half, float>{}, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (int64_t i = 0; i < size; ++i) {
          scores->data<T>()[i] = static_cast<T>(i < found ? selection.scores[i] : 0.0f);
        }
      });
    }
    if (ctx.num_outputs() > 1) ctx.set_output(ctx.num_outputs() - 1, Tensor::Scalar(found));
    return OkStatus();
  }

  bool by_matrix_ = false, is_v5_ = false, pad_ = false;
  float overlap_ = 0.5f;
};

}  // namespace

StatusOr<SuppressionLimits> ReadSuppressionLimits(KernelContext& ctx, bool by_matrix, float overlap) {
  SuppressionLimits limits;
  limits.overlap = overlap;
  const Tensor& max_output = ctx.input(2);
  if (!max_output.shape().IsScalar()) {
    return InvalidArgument("max_output_size must be 0-D, got shape ", max_output.shape().ToString());
  }
  limits.max_output = max_output.scalar<int32_t>();
  if (limits.max_output < 0) return InvalidArgument("output size must be non-negative");
  if (ctx.num_inputs() > 3) {
    WEIR_ASSIGN_OR_RETURN(limits.overlap, Scalar(ctx, 3, by_matrix ? "overlap_threshold" : "iou_threshold"));
  }
  if (!by_matrix && !(limits.overlap >= 0 && limits.overlap <= 1)) {
    return InvalidArgument("iou_threshold must be in [0, 1]");
  }
  if (ctx.num_inputs() > 4) {
    WEIR_ASSIGN_OR_RETURN(limits.score, Scalar(ctx, 4, "score_threshold"));
  }
  if (ctx.num_inputs() > 5) {
    WEIR_ASSIGN_OR_RETURN(limits.sigma, Scalar(ctx, 5, "soft_nms_sigma"));
    if (limits.sigma < 0) return InvalidArgument("soft_nms_sigma_val must be non-negative");
  }
  return limits;
}

Status CheckSuppression(const Shape& boxes, const Shape& scores, bool by_matrix) {
  const std::string_view name = by_matrix ? "overlaps" : "boxes";
  if (boxes.rank() != 2) return InvalidArgument(name, " must be 2-D", boxes.ToString());
  if (by_matrix && boxes.dim(0) != boxes.dim(1)) {
    return InvalidArgument("overlaps must be square", boxes.ToString());
  }
  if (!by_matrix && boxes.dim(1) != 4) return InvalidArgument("boxes must have 4 columns");
  if (scores.rank() != 1) return InvalidArgument("scores must be 1-D", scores.ToString());
  if (scores.dim(0) != boxes.dim(0)) return InvalidArgument("scores has incompatible shape");
  return OkStatus();
}

void RegisterNonMaxSuppressionKernels(KernelRegistry& registry) {
  for (const char* op : {"NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4",
                         "NonMaxSuppressionV5", "NonMaxSuppressionWithOverlaps"}) {
    registry.Add(KernelBuilder(op), MakeKernel<NonMaxSuppressionKernel>);
  }
}

}  // namespace weir
