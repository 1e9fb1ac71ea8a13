#include "weir/device/cpu/kernel_arithmetic.h"

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/strided_copy.h"
#include "weir/framework/element_mover.h"

namespace weir {
namespace {

void AddInto(const Tensor& from, Tensor& to) {
  DispatchDType(to.dtype(), NumberTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* in = from.data<T>();
    T* out = to.data<T>();
    for (int64_t i = 0; i < to.num_elements(); ++i) out[i] = static_cast<T>(WrapAdd(Widen(out[i]), Widen(in[i])));
  });
}

}  // namespace

bool IsHeldByHost(const KernelContext& ctx, DType dtype) {
  return ctx.device().is_host() || !IsPlain(dtype) || dtype == DType::kInt32;
}

StatusOr<Tensor> AllocateHeld(KernelContext& ctx, DType dtype, const Shape& shape) {
  if (IsHeldByHost(ctx, dtype)) return Tensor::Allocate(dtype, shape);
  return ctx.AllocateTemp(dtype, shape);
}

StatusOr<Tensor> KernelArithmetic::Zeros(DType dtype, const Shape& shape) {
  if (IsHeldByHost(ctx_, dtype)) return Tensor::Zeros(dtype, shape);
  WEIR_ASSIGN_OR_RETURN(Tensor out, ctx_.AllocateTemp(dtype, shape));
  WEIR_RETURN_IF_ERROR(ClearElements(ctx_, out));
  return out;
}

StatusOr<Tensor> KernelArithmetic::Add(Tensor a, const Tensor& b) {
  if (IsHeldByHost(ctx_, a.dtype())) {
    if (!a.unique()) {
      WEIR_ASSIGN_OR_RETURN(a, a.Clone());
    }
    AddInto(b, a);
    return a;
  }
  auto* mover = dynamic_cast<ElementMover*>(&ctx_.device());
  if (mover == nullptr) return Unimplemented("The device ", ctx_.device().name(), " does not add tensors");
  Tensor out = a.unique() ? a : Tensor();
  if (!out.has_value()) {
    WEIR_ASSIGN_OR_RETURN(out, ctx_.AllocateTemp(a.dtype(), a.shape()));
  }
  if (out.num_elements() > 0) WEIR_RETURN_IF_ERROR(mover->AddElements(ctx_, a, b, out));
  return out;
}

StatusOr<Tensor> OwnSlice(KernelContext& ctx, Tensor slice) {
  if (slice.is_aligned()) return slice;
  return IsHeldByHost(ctx, slice.dtype()) ? slice.Clone() : CloneElements(ctx, slice);
}

Status PlaceParts(KernelContext& ctx, const std::vector<PlacedPart>& parts, Tensor& whole) {
  if (IsHeldByHost(ctx, whole.dtype())) {
    for (const auto& [part, begin] : parts) CopyElements(*part, 0, whole, begin, part->num_elements());
    return OkStatus();
  }
  auto* mover = dynamic_cast<ElementMover*>(&ctx.device());
  if (mover == nullptr) return Unimplemented("The device ", ctx.device().name(), " does not move elements itself");
  std::vector<ElementMover::Part> moved;
  for (const auto& [part, begin] : parts) {
    if (part->num_elements() > 0) moved.push_back({part->raw_data(), begin, part->num_elements()});
  }
  return moved.empty() ? OkStatus() : mover->PlaceParts(ctx, SizeOf(whole.dtype()), moved, whole.raw_data());
}

StatusOr<Tensor> StackTensors(KernelContext& ctx, const std::vector<const Tensor*>& rows) {
  Shape shape = rows[0]->shape();
  const int64_t stride = shape.num_elements();
  WEIR_RETURN_IF_ERROR(shape.InsertDim(0, static_cast<int64_t>(rows.size())));
  WEIR_ASSIGN_OR_RETURN(Tensor out, AllocateHeld(ctx, rows[0]->dtype(), shape));
  std::vector<PlacedPart> parts;
  for (size_t i = 0; i < rows.size(); ++i) parts.push_back({rows[i], static_cast<int64_t>(i) * stride});
  WEIR_RETURN_IF_ERROR(PlaceParts(ctx, parts, out));
  return out;
}

}  // namespace weir
