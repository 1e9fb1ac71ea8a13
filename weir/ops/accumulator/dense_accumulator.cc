#include "weir/ops/accumulator/accumulator.h"

namespace weir {
namespace {

class DenseAccumulator : public Accumulator {
 public:
  using Accumulator::Accumulator;
  bool is_sparse() const override { return false; }
  std::string DebugString() const override { return "A conditional accumulator"; }

 protected:
  Status AddLocked(const Tensors& gradient, int64_t count_before) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const Tensor& value = gradient[0];
    if (!spec().shape.IsCompatibleWith(PartialShape(value.shape()))) {
      return InvalidArgument("Shape mismatch: expected ", spec().shape.ToString(), ", got ", value.shape().ToString());
    }
    if (count_before == 0) {
      sum_ = value;
      return OkStatus();
    }
    if (sum_.shape() != value.shape()) {
      return InvalidArgument("Shape mismatch: expected ", sum_.shape().ToString(), ", got ", value.shape().ToString());
    }
    WEIR_RETURN_IF_ERROR(MakeWritable());
    AddTo(spec().dtype, value.raw_data(), sum_.raw_data(), sum_.num_elements());
    return OkStatus();
  }

  StatusOr<Tensors> FinishLocked(int64_t count) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (spec().is_mean && count > 1) {
      WEIR_RETURN_IF_ERROR(MakeWritable());
      DivideBy(spec().dtype, sum_.raw_data(), sum_.num_elements(), count);
    }
    return Tensors{std::exchange(sum_, Tensor())};
  }

 private:
  Status MakeWritable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (sum_.unique()) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(sum_, sum_.Clone());
    return OkStatus();
  }

  Tensor sum_ ABSL_GUARDED_BY(mu_);  // the first gradient itself, until there is a second
};

}  // namespace

std::shared_ptr<Accumulator> MakeDenseAccumulator(AccumulatorSpec spec) {
  return std::make_shared<DenseAccumulator>(std::move(spec));
}

}  // namespace weir
