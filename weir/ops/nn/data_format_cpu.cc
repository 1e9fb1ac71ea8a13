// DataFormatDimMap, DataFormatVecPermute: dimensions of one layout of images as those of another. NthElement.
#include <algorithm>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/strided_copy.h"
#include "weir/ops/nn/data_format.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

using nn::ReadFormats;

class DimMapKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<DimMapKernel>();
    std::string from, to;
    WEIR_ASSIGN_OR_RETURN(kernel->map_, ReadFormats(init, from, to));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    const int64_t n = static_cast<int64_t>(map_.size());
    DispatchDType(x.dtype(), IndexTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const int64_t dim = ((x.data<T>()[i] % n) + n) % n;
        out->data<T>()[i] = static_cast<T>(map_[dim]);
      }
    });
    return OkStatus();
  }

 private:
  std::vector<int> map_;
};

// Rows of a vector or of pairs: one for each dimension, or one for each but batch and channels.
class VecPermuteKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<VecPermuteKernel>();
    WEIR_RETURN_IF_ERROR(ReadFormats(init, kernel->from_, kernel->to_).status());
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const int64_t full = static_cast<int64_t>(from_.size()), spatial = full - 2;
    if (x.rank() != 1 && x.rank() != 2) {
      return InvalidArgument("input must be a vector or 2D tensor, but got shape ", x.shape().ToString());
    }
    const int64_t rows = x.dim(0), columns = x.rank() == 2 ? x.dim(1) : 1;
    if (rows != full && rows != spatial) {
      return InvalidArgument(
          x.rank() == 1 ? "1D input must be of size " : "First dimension of 2D input must be of size ", spatial, " or ",
          full, ", but got shape ", x.shape().ToString());
    }
    if (x.rank() == 2 && columns != 2) {
      return InvalidArgument("Second dimension of 2D input must be of size 2, but got shape ", x.shape().ToString());
    }
    std::string from = from_, to = to_;
    if (rows == spatial) {
      auto is_other = [](char dim) { return dim == 'N' || dim == 'C'; };
      std::erase_if(from, is_other);
      std::erase_if(to, is_other);
      if (static_cast<int64_t>(from.size()) != rows) {
        return InvalidArgument("Formats ", from_, " and ", to_, " do not have ", rows, " spatial dimensions");
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    const int64_t size = columns * static_cast<int64_t>(SizeOf(x.dtype())), dims[] = {columns}, strides[] = {1};
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t source = static_cast<int64_t>(from.find(to[i]));
      WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), dims, static_cast<const char*>(x.raw_data()) + source * size,
                                       strides, static_cast<char*>(out->raw_data()) + i * size, strides));
    }
    return OkStatus();
  }

 private:
  std::string from_, to_;
};

class NthElementKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<NthElementKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->reverse_, init.Attr<bool>("reverse"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &nth = ctx.input(1);
    if (nth.rank() != 0) return InvalidArgument("N must be scalar but has rank ", nth.rank());
    int64_t n = nth.scalar<int32_t>();
    if (n < 0) return InvalidArgument("n must be non-negative but is ", n);
    if (input.rank() < 1) return InvalidArgument("Input must be at least rank 1 but is rank ", input.rank());
    const int64_t width = input.dim(input.rank() - 1);
    if (n >= width) return InvalidArgument("Input must have last dimension > n = ", n);
    if (reverse_) n = width - n - 1;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape().Slice(0, input.rank() - 1)));
    DispatchDType(input.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ctx.ParallelFor(out->num_elements(), 5.0 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
        std::vector<T> row(static_cast<size_t>(width));
        for (int64_t i = begin; i < end; ++i) {
          std::copy_n(input.data<T>() + i * width, width, row.begin());
          // NaN counts as the largest, so that the order is one.
          auto less = [](const T& a, const T& b) {
            const auto x = Widen(a), y = Widen(b);
            if (x != x || y != y) return x == x && y != y;
            return x < y;
          };
          std::nth_element(row.begin(), row.begin() + n, row.end(), less);
          out->data<T>()[i] = row[n];
        }
      });
    });
    return OkStatus();
  }

 private:
  bool reverse_ = false;
};

}  // namespace

void RegisterDataFormatKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("DataFormatDimMap").Types("T", IndexTypes{}), MakeKernel<DimMapKernel>);
  registry.Add(KernelBuilder("DataFormatVecPermute").Types("T", IndexTypes{}), MakeKernel<VecPermuteKernel>);
  registry.Add(KernelBuilder("NthElement").Types("T", RealTypes{}), MakeKernel<NthElementKernel>);
}

}  // namespace weir
