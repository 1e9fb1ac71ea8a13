// Permutations of dimensions.
#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

class TransposeKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<TransposeKernel>();
    kernel->conjugate_ = init.schema().name == "ConjugateTranspose" && IsComplex(init.input_type(0));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    const int rank = x.rank();
    WEIR_ASSIGN_OR_RETURN(Dims perm, Permutation(ctx.input(1), rank));
    const Dims from = DenseStrides(x.shape().dims());
    Dims dims(rank), strides(rank);
    bool in_order = true;  // apart from dimensions of one element nothing moves
    int last = -1;
    for (int d = 0; d < rank; ++d) {
      dims[d] = x.dim(perm[d]);
      strides[d] = from[perm[d]];
      if (dims[d] == 1) continue;
      in_order = in_order && perm[d] > last;
      last = static_cast<int>(perm[d]);
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    if (in_order && !conjugate_) {
      WEIR_ASSIGN_OR_RETURN(Tensor out, x.Reshaped(shape));
      ctx.set_output(0, std::move(out));
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_RETURN_IF_ERROR(StridedCopy(ctx, x.dtype(), dims, x.raw_data(), strides, out->raw_data(), DenseStrides(dims)));
    if (conjugate_ && ctx.device().is_host()) {  // other devices conjugate the result themselves
      DispatchDType(out->dtype(), ComplexTypes{}, [&](auto tag) {
        for (auto& z : out->template span<typename decltype(tag)::type>()) z = std::conj(z);
      });
    }
    return OkStatus();
  }

 private:
  static StatusOr<Dims> Permutation(const Tensor& input, int rank) {
    if (!input.shape().IsVector()) {
      return InvalidArgument("perm must be rank 1, got shape ", input.shape().ToString());
    }
    if (input.num_elements() != rank) {
      return InvalidArgument("transpose expects a vector of size ", rank, ". But input(1) is a vector of size ",
                             input.num_elements());
    }
    WEIR_ASSIGN_OR_RETURN(Dims perm, IntElements(input, "perm"));
    absl::InlinedVector<bool, 8> seen(rank, false);
    std::string listed;
    for (int64_t& d : perm) {
      listed += Cat(listed.empty() ? "" : ",", d);
      if (d < -rank || d >= rank) return InvalidArgument(d, " is out of range [0 .. ", rank, ")");
      if (d < 0) d += rank;
      seen[d] = true;
    }
    for (int d = 0; d < rank; ++d) {
      if (!seen[d]) return InvalidArgument(d, " is missing from {", listed, "}.");
    }
    return perm;
  }

  bool conjugate_ = false;
};

class InvertPermutationKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    if (!x.shape().IsVector()) return InvalidArgument("invert_permutation expects a 1D vector.");
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.shape()));
    Status status;
    DispatchDType(x.dtype(), IndexTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t n = x.num_elements();
      T* to = out->data<T>();
      std::fill_n(to, n, T(-1));
      for (int64_t i = 0; i < n; ++i) {
        T d = x.data<T>()[i];
        if (d < 0 || d >= n) {
          status = InvalidArgument(d, " is not between 0 and ", n);
          return;
        }
        if (to[d] != -1) {
          status = InvalidArgument(d, " is duplicated in the input.");
          return;
        }
        to[d] = static_cast<T>(i);
      }
    });
    return status;
  }
};

}  // namespace

void RegisterTransposeKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Transpose"), MakeKernel<TransposeKernel>);
  registry.Add(KernelBuilder("ConjugateTranspose"), MakeKernel<TransposeKernel>);
  registry.Add(KernelBuilder("InvertPermutation").Types("T", IndexTypes{}), MakeKernel<InvertPermutationKernel>);
}

}  // namespace weir
