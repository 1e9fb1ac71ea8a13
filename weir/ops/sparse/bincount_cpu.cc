// SparseBincount and RaggedBincount: how often each number occurs, in all of a sparse tensor or in each row.
#include <span>

#include "absl/strings/str_join.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/ragged_rows.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {
namespace {

int64_t IntegerAt(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::kInt32 ? tensor.data<int32_t>()[i] : tensor.data<int64_t>()[i];
}

class BincountKernel : public Kernel {
 public:
  explicit BincountKernel(bool binary) : binary_(binary) {}

 protected:
  static StatusOr<int64_t> SizeInput(const Tensor& input) {
    if (!input.shape().IsScalar()) return InvalidArgument("Shape must be rank 0 but is rank ", input.rank());
    const int64_t size = IntegerAt(input, 0);
    if (size < 0) return InvalidArgument("size (", size, ") must be non-negative");
    return size;
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

 private:
  const bool binary_;
};

template <typename K>
StatusOr<std::unique_ptr<Kernel>> MakeBincount(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(bool binary, init.Attr<bool>("binary_output"));
  return std::unique_ptr<Kernel>(std::make_unique<K>(binary));
}

class SparseBincountKernel : public BincountKernel {
 public:
  using BincountKernel::BincountKernel;

  Status Compute(KernelContext& ctx) override {
    const Tensor indices = ctx.input(0), values = ctx.input(1), shape = ctx.input(2), weights = ctx.input(4);
    WEIR_ASSIGN_OR_RETURN(int64_t size, SizeInput(ctx.input(3)));
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
};

class RaggedBincountKernel : public BincountKernel {
 public:
  using BincountKernel::BincountKernel;
  Status Compute(KernelContext& ctx) override {
    const Tensor splits = ctx.input(0), values = ctx.input(1), weights = ctx.input(3);
    WEIR_ASSIGN_OR_RETURN(int64_t size, SizeInput(ctx.input(2)));
    WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> row_of, RowsOfRagged(splits, values));
    if (weights.num_elements() > 0 && weights.num_elements() < values.num_elements()) {
      return InvalidArgument("weights must have an element for each value or none, got ", weights.num_elements());
    }
    const int64_t dims[] = {splits.num_elements() - 1, size};
    WEIR_ASSIGN_OR_RETURN(Shape all, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(ctx.output_type(0), all));
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      const int64_t number = IntegerAt(values, i);
      if (number < 0) return InvalidArgument("Input must be non-negative");
      if (number < size) Count(out, row_of[i] * size + number, weights, i);
    }
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
};

}  // namespace

void RegisterSparseBincountKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SparseBincount"), MakeBincount<SparseBincountKernel>);
  registry.Add(KernelBuilder("RaggedBincount"), MakeBincount<RaggedBincountKernel>);
}

}  // namespace weir
