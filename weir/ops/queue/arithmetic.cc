#include "weir/ops/queue/arithmetic.h"

#include <type_traits>

#include "weir/tensor/variant.h"

namespace weir {

bool CanAdd(DType dtype) {
  return DispatchDType(dtype, NumberTypes{}, [](auto) {});
}

void AddInto(const Tensor& from, Tensor& to) {
  DispatchDType(to.dtype(), NumberTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = from.data<T>();
    T* out = to.data<T>();
    int64_t count = to.num_elements();
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        out[i] = T(static_cast<float>(out[i]) + static_cast<float>(in[i]));
      } else if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;  // sums wrap
        out[i] = static_cast<T>(static_cast<U>(static_cast<U>(out[i]) + static_cast<U>(in[i])));
      } else {
        out[i] += in[i];
      }
    }
  });
}

StatusOr<Tensor> AddTensors(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
    return InvalidArgument("Cannot add ", Name(a.dtype()), " ", a.shape().ToString(), " and ", Name(b.dtype()), " ",
                           b.shape().ToString());
  }
  if (a.dtype() == DType::kVariant) {
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kVariant, a.shape()));
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      const Variant& x = a.data<Variant>()[i];
      const Variant& y = b.data<Variant>()[i];
      if (!x.has_value() || !y.has_value()) return InvalidArgument("Cannot add a variant without a value");
      WEIR_ASSIGN_OR_RETURN(auto sum, x.get()->Add(*y.get()));
      out.data<Variant>()[i] = Variant(std::move(sum));
    }
    return out;
  }
  if (!CanAdd(a.dtype())) return InvalidArgument("Trying to add unsupported dtype ", static_cast<int>(a.dtype()));
  WEIR_ASSIGN_OR_RETURN(Tensor out, a.Clone());
  AddInto(b, out);
  return out;
}

StatusOr<Tensor> ZerosOf(const Tensor& tensor) {
  if (tensor.dtype() != DType::kVariant) return Tensor::Zeros(tensor.dtype(), tensor.shape());
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kVariant, tensor.shape()));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const Variant& value = tensor.data<Variant>()[i];
    if (!value.has_value()) continue;
    WEIR_ASSIGN_OR_RETURN(auto zeros, value.get()->ZerosLike());
    out.data<Variant>()[i] = Variant(std::move(zeros));
  }
  return out;
}

StatusOr<PartialShape> MergeElementShapes(const PartialShape& a, const PartialShape& b) {
  if (a.has_rank() && b.has_rank() && a.rank() != b.rank()) {
    return InvalidArgument("PartialTensorShape: Incompatible ranks during merge: ", a.rank(), " vs. ", b.rank());
  }
  if (!a.IsCompatibleWith(b)) {
    return InvalidArgument("PartialTensorShape: Incompatible shapes during merge: ", a.ToString(), " vs. ",
                           b.ToString());
  }
  return a.Merge(b);
}

}  // namespace weir
