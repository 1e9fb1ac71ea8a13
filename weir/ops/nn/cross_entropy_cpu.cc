// Cross entropy of logits, against distributions or class numbers, with the gradient by the logits.
#include <cmath>
#include <limits>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/exponential_rows.h"
#include "weir/device/cpu/index_input.h"
#include "weir/ops/nn/cross_entropy.h"
#include "weir/ops/nn/register.h"

namespace weir {
namespace {

// Writes x - max(x) into `shifted` and returns the sum of its exponentials.
template <typename T, typename C>
C ShiftedSum(const T* x, int64_t step, int64_t n, C* shifted) {
  C max = Widen(x[0]);
  for (int64_t i = 1; i < n; ++i) max = std::max(max, static_cast<C>(Widen(x[i * step])));
  C sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    shifted[i] = Widen(x[i * step]) - max;
    sum += std::exp(shifted[i]);
  }
  return sum;
}

// Writes softmax(x) and returns the logarithm of its denominator, as x - max(x) has it.
float SoftmaxRow(const float* x, float max, int64_t n, float* out) {
  const float sum = ExponentialsOf(x, max, n, out);
  MultiplyRow(out, 1 / sum, n, out);
  return std::log(sum);
}
float LossRow(const float* x, int64_t label, int64_t n, float* gradient) {
  const float max = LargestOf(x, n);
  const float log_sum = SoftmaxRow(x, max, n, gradient);
  gradient[label] -= 1;
  return log_sum - (x[label] - max);
}
float LossRow(const float* x, const float* label, int64_t n, float* gradient) {
  const float max = LargestOf(x, n);
  const float log_sum = SoftmaxRow(x, max, n, gradient);
  float total = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (label[i] == 0) continue;  // 0 times infinity is no loss
    total += label[i] * (log_sum - (x[i] - max));
    gradient[i] -= label[i];
  }
  return total;
}

using nn::MatrixSteps;

class SoftmaxCrossEntropyKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor logits = ctx.input(0);
    const Tensor labels = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(const nn::CrossEntropySizes sizes, nn::SizesOfCrossEntropy(logits.shape(), labels.shape()));
    const int64_t rows = sizes.rows, n = sizes.classes;
    WEIR_ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, Shape{rows}));
    WEIR_ASSIGN_OR_RETURN(Tensor * backprop, ctx.AllocateOutput(1, sizes.output));
    DispatchDType(logits.dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = ComputeType<T>;
      if (n == 0) {
        for (T& x : loss->span<T>()) x = T(C(0));
        return;
      }
      const MatrixSteps logit_steps = sizes.logits, label_steps = sizes.labels;
      if constexpr (std::is_same_v<T, float>) {
        if (logit_steps.column == 1 && label_steps.column == 1) {
          ctx.ParallelFor(rows, 2.0 * static_cast<double>(n), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
              loss->data<T>()[row] =
                  LossRow(logits.data<T>() + row * logit_steps.row, labels.data<T>() + row * label_steps.row, n,
                          backprop->data<T>() + row * n);
            }
          });
          return;
        }
      }
      ctx.ParallelFor(rows, 12.0 * static_cast<double>(n), [&](int64_t begin, int64_t end) {
        std::vector<C> shifted(static_cast<size_t>(n));
        for (int64_t row = begin; row < end; ++row) {
          const C sum = ShiftedSum(logits.data<T>() + row * logit_steps.row, logit_steps.column, n, shifted.data());
          const C log_sum = std::log(sum);
          const T* label = labels.data<T>() + row * label_steps.row;
          T* gradient = backprop->data<T>() + row * n;
          C total = 0;
          for (int64_t i = 0; i < n; ++i) {
            const C p = Widen(label[i * label_steps.column]);
            if (p != C(0)) total += p * (log_sum - shifted[i]);
            gradient[i] = static_cast<T>(std::exp(shifted[i]) / sum - p);
          }
          loss->data<T>()[row] = static_cast<T>(total);
        }
      });
    });
    return OkStatus();
  }
};

class SparseSoftmaxCrossEntropyKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor logits = ctx.input(0);
    const Tensor& labels = ctx.input(1);
    WEIR_RETURN_IF_ERROR(nn::CheckSparseCrossEntropy(logits.shape(), labels.shape()));
    const int64_t n = logits.dim(1);
    WEIR_ASSIGN_OR_RETURN(Dims classes, IntElements(labels, "labels"));
    for (int64_t label : classes) {
      if (label < 0 || label >= n) {
        return InvalidArgument("Received a label value of ", label, " which is outside the valid range of [0, ", n,
                               ").  Label values: ", labels.SummarizeValues(100));
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, labels.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * backprop, ctx.AllocateOutput(1, logits.shape()));
    DispatchDType(logits.dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using C = ComputeType<T>;
      if constexpr (std::is_same_v<T, float>) {
        ctx.ParallelFor(logits.dim(0), 1.5 * static_cast<double>(n), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            loss->data<T>()[row] = LossRow(logits.data<T>() + row * n, classes[static_cast<size_t>(row)], n,
                                           backprop->data<T>() + row * n);
          }
        });
        return;
      }
      ctx.ParallelFor(logits.dim(0), 12.0 * static_cast<double>(n), [&](int64_t begin, int64_t end) {
        std::vector<C> shifted(static_cast<size_t>(n));
        for (int64_t row = begin; row < end; ++row) {
          const C sum = ShiftedSum(logits.data<T>() + row * n, 1, n, shifted.data());
          const int64_t label = classes[static_cast<size_t>(row)];
          loss->data<T>()[row] = static_cast<T>(std::log(sum) - shifted[static_cast<size_t>(label)]);
          T* gradient = backprop->data<T>() + row * n;
          for (int64_t i = 0; i < n; ++i) {
            gradient[i] = static_cast<T>(std::exp(shifted[i]) / sum - (i == label ? C(1) : C(0)));
          }
        }
      });
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterCrossEntropyKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SoftmaxCrossEntropyWithLogits").Types("T", FloatTypes{}),
               MakeKernel<SoftmaxCrossEntropyKernel>);
  registry.Add(
      KernelBuilder("SparseSoftmaxCrossEntropyWithLogits").Types("T", FloatTypes{}).Types("Tlabels", IndexTypes{}),
      MakeKernel<SparseSoftmaxCrossEntropyKernel>);
}

}  // namespace weir
