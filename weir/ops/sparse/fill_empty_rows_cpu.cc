// SparseFillEmptyRows, RaggedFillEmptyRows: a default where a row has nothing.
#include <algorithm>

#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/framework/scratch.h"
#include "weir/ops/sparse/fill_empty_rows.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

class FillEmptyRowsKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor fallback = ctx.input(3);
    if (!fallback.shape().IsScalar()) {
      return InvalidArgument("default_value must be a scalar, saw: ", fallback.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(SparseInput sparse, MakeUnboundedSparse(ctx.input(0), ctx.input(1), ctx.input(2)));
    if (sparse.rank() < 1) return InvalidArgument("Dense shape cannot be empty");
    const int64_t num_rows = sparse.shape.dim(0);
    for (int64_t i = 0; i < sparse.count(); ++i) {
      const int64_t row = sparse.index(i)[0];
      if (row < 0 || row >= num_rows) return InvalidArgument("indices(", i, ", 0) is invalid: ", row, " >= ", num_rows);
    }
    WEIR_RETURN_IF_ERROR(CheckScratch(num_rows, sizeof(std::vector<int64_t>)));
    std::vector<std::vector<int64_t>> by_row(num_rows);
    for (int64_t i = 0; i < sparse.count(); ++i) by_row[sparse.index(i)[0]].push_back(i);

    WEIR_ASSIGN_OR_RETURN(Tensor * empty, ctx.AllocateOutput(2, Shape({num_rows})));
    WEIR_ASSIGN_OR_RETURN(Tensor * reverse, ctx.AllocateOutput(3, Shape({sparse.count()})));
    int64_t total = 0;
    for (const auto& rows : by_row) total += std::max<int64_t>(1, static_cast<int64_t>(rows.size()));
    WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({total, sparse.rank()})));
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({total})));
    const DType dtype = values->dtype();
    const int64_t size = static_cast<int64_t>(SizeOf(dtype));
    int64_t at = 0;
    auto value_at = [&](int64_t i) { return static_cast<char*>(values->raw_data()) + i * size; };
    for (int64_t row = 0; row < num_rows; ++row) {
      int64_t* index = indices->data<int64_t>() + at * sparse.rank();
      empty->data<bool>()[row] = by_row[row].empty();
      if (by_row[row].empty()) {
        std::fill_n(index, sparse.rank(), 0);
        index[0] = row;
        CopyElements(dtype, fallback.raw_data(), value_at(at++), 1);
      }
      for (int64_t i : by_row[row]) {
        index = std::copy_n(sparse.index(i), sparse.rank(), index);
        CopyElements(dtype, static_cast<const char*>(sparse.values.raw_data()) + i * size, value_at(at), 1);
        reverse->data<int64_t>()[i] = at++;
      }
    }
    return OkStatus();
  }
};

class RaggedFillEmptyRowsKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor rowids = ctx.input(0), values = ctx.input(1), fallback = ctx.input(3);
    WEIR_ASSIGN_OR_RETURN(int64_t num_rows, RaggedRowCount(ctx));
    std::vector<int64_t> counts(static_cast<size_t>(num_rows), 0);
    for (int64_t i = 0; i < rowids.num_elements(); ++i) {
      const int64_t row = rowids.data<int64_t>()[i];
      if (row < 0 || row >= num_rows) {
        return InvalidArgument("indices(", i, ", 0) is invalid: ", row, " >= ", num_rows);
      }
      ++counts[row];
    }
    int64_t total = 0;
    for (int64_t count : counts) total += std::max<int64_t>(1, count);
    WEIR_ASSIGN_OR_RETURN(Tensor * out_rowids, ctx.AllocateOutput(0, Shape({total})));
    WEIR_ASSIGN_OR_RETURN(Tensor * out_values, ctx.AllocateOutput(1, Shape({total})));
    WEIR_ASSIGN_OR_RETURN(Tensor * empty, ctx.AllocateOutput(2, Shape({num_rows})));
    WEIR_ASSIGN_OR_RETURN(Tensor * reverse, ctx.AllocateOutput(3, rowids.shape()));
    int64_t at = 0;
    for (int64_t row = 0; row < num_rows; ++row) {
      const int64_t count = counts[row];
      empty->data<bool>()[row] = count == 0;
      if (count == 0) CopyElements(fallback, 0, *out_values, at, 1);
      counts[row] = at;  // where the next of the row goes
      for (int64_t i = std::max<int64_t>(1, count); i > 0; --i) out_rowids->data<int64_t>()[at++] = row;
    }
    for (int64_t i = 0; i < rowids.num_elements(); ++i) {
      const int64_t place = counts[rowids.data<int64_t>()[i]]++;
      CopyElements(values, i, *out_values, place, 1);
      reverse->data<int64_t>()[i] = place;
    }
    return OkStatus();
  }
};

class FillEmptyRowsGradKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor reverse = ctx.input(0), grad = ctx.input(1);
    WEIR_RETURN_IF_ERROR(CheckFillEmptyRowsGrad(reverse.shape(), grad.shape()));
    for (int64_t i : reverse.span<int64_t>()) {
      if (i < 0 || i >= grad.dim(0)) {
        return InvalidArgument("Elements in reverse index must be in [0, ", grad.dim(0), ") but got ", i);
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor taken, TakeRows(grad, reverse.span<int64_t>()));
    ctx.set_output(0, std::move(taken));
    WEIR_ASSIGN_OR_RETURN(Tensor * rest, ctx.AllocateOutput(1, Shape()));
    std::vector<bool> used(grad.dim(0), false);
    for (int64_t i : reverse.span<int64_t>()) used[i] = true;
    DispatchDType(grad.dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ComputeType<T> sum(0);
      for (int64_t i = 0; i < grad.dim(0); ++i) {
        if (!used[i]) sum = WrapAdd(sum, Widen(grad.data<T>()[i]));
      }
      *rest->data<T>() = static_cast<T>(sum);
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterSparseFillKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SparseFillEmptyRows"), MakeKernel<FillEmptyRowsKernel>);
  registry.Add(KernelBuilder("RaggedFillEmptyRows"), MakeKernel<RaggedFillEmptyRowsKernel>);
  for (const char* op : {"SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad"}) {
    registry.Add(KernelBuilder(op).Types("T", NumberTypes{}), MakeKernel<FillEmptyRowsGradKernel>);
  }
}

}  // namespace weir
