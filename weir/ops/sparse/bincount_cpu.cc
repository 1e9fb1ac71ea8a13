// SparseBincount: how often each number occurs, in all of a sparse tensor or in each of its rows.
#include <span>

#include "absl/strings/str_join.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {
namespace {

int64_t IntegerAt(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::kInt32 ? tensor.data<int32_t>()[i] : tensor.data<int64_t>()[i];
}

class SparseBincountKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SparseBincountKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->binary_, init.Attr<bool>("binary_output"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor indices = ctx.input(0), values = ctx.input(1), shape = ctx.input(2), weights = ctx.input(4);
    if (!ctx.input(3).shape().IsScalar()) {
      return InvalidArgument("Shape must be rank 0 but is rank ", ctx.input(3).rank());
    }
    const int64_t size = IntegerAt(ctx.input(3), 0);
    if (size < 0) return InvalidArgument("size (", size, ") must be non-negative");
    const int64_t rank = shape.num_elements();
    const int64_t count = values.num_elements();
    if (values.rank() != 1) return InvalidArgument("Sparse values must be rank 1 but is rank ", values.rank());
    if (indices.rank() != 2 || indices.dim(0) != count || indices.dim(1) != rank || rank == 0) {
      return InvalidArgument("indices must be a matrix of ", count, " rows and ", rank, " columns, got ",
                             indices.shape().ToString());
    }
    if (weights.num_elements() > 0 && weights.num_elements() != count) {
      return InvalidArgument("weights must have as many elements as values or none, got ", weights.num_elements());
    }
    WEIR_RETURN_IF_ERROR(CheckIndices(indices, shape));
    const int64_t rows = rank == 1 ? 1 : shape.data<int64_t>()[0];
    const int64_t dims[] = {rows, size};
    WEIR_ASSIGN_OR_RETURN(Shape all, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(ctx.output_type(0), all));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t number = IntegerAt(values, i);
      const int64_t row = rank == 1 ? 0 : indices.data<int64_t>()[i * rank];
      if (rank == 1 && number < 0) return InvalidArgument("Input arr must be non-negative!");
      if (number >= 0 && number < size) Count(out, row * size + number, weights, i);
    }
    if (rank == 1) WEIR_RETURN_IF_ERROR(Flatten(out, size));
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

 private:
  static Status CheckIndices(const Tensor& indices, const Tensor& shape) {
    const int64_t rank = shape.num_elements();
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      const int64_t index = indices.data<int64_t>()[i];
      if (index < 0 || index >= shape.data<int64_t>()[i % rank]) {
        const int64_t row = i / rank;
        const auto tuple = std::span(indices.data<int64_t>() + row * rank, static_cast<size_t>(rank));
        return InvalidArgument("Sparse index tuple indices[", row, ", :] = [", absl::StrJoin(tuple, ", "),
                               "] is out of bounds");
      }
    }
    return OkStatus();
  }
  static Status Flatten(Tensor& out, int64_t size) {
    WEIR_ASSIGN_OR_RETURN(out, std::move(out).Reshaped(Shape({size})));
    return OkStatus();
  }
  void Count(Tensor& out, int64_t place, const Tensor& weights, int64_t i) const {
    DispatchDType(out.dtype(), TypeList<int32_t, int64_t, float, double>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T& counted = out.data<T>()[place];
      if (binary_) {
        counted = T(1);
      } else if (weights.num_elements() == 0) {
        counted = static_cast<T>(counted + T(1));
      } else {
        counted = static_cast<T>(counted + weights.data<T>()[i]);
      }
    });
  }
  bool binary_ = false;
};

}  // namespace

void RegisterSparseBincountKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SparseBincount"), MakeKernel<SparseBincountKernel>);
}

}  // namespace weir
