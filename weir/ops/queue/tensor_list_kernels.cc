// List ops that handle one element, or none.
#include "weir/device/cpu/kernel_arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/queue/arithmetic.h"
#include "weir/ops/queue/register.h"
#include "weir/ops/queue/tensor_list.h"

namespace weir {
namespace {

Status CheckListSize(int64_t size) {
  if (size <= TensorList::kMaxSize) return OkStatus();
  return ResourceExhausted("A list has at most ", TensorList::kMaxSize, " elements, not ", size);
}

// EmptyTensorList and TensorListReserve: the second input is the most elements it may have, or how many it has.
template <bool kReserve>
class NewListKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<NewListKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("element_dtype"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& number = ctx.input(1);
    auto list = std::make_shared<TensorList>();
    list->dtype = dtype_;
    if constexpr (kReserve) {
      if (number.rank() != 0) {
        return InvalidArgument("The num_elements to reserve must be a tensor size 1, but got ",
                               number.shape().ToString());
      }
      WEIR_ASSIGN_OR_RETURN(list->element_shape, ShapeFromTensor(ctx.input(0)));
      int32_t count = number.scalar<int32_t>();
      if (count < 0) {
        return InvalidArgument("The num_elements to reserve must be a non negative number, but got ", count);
      }
      WEIR_RETURN_IF_ERROR(CheckListSize(count));
      list->elements.resize(static_cast<size_t>(count));
    } else {
      if (number.rank() != 0) {
        return InvalidArgument("max_num_elements expected to be a scalar but got shape: ", number.shape().ToString());
      }
      WEIR_ASSIGN_OR_RETURN(list->element_shape, ShapeFromTensor(ctx.input(0)));
      list->max_num_elements = number.scalar<int32_t>();
    }
    SetListOutput(ctx, 0, std::move(list));
    return OkStatus();
  }

 private:
  DType dtype_;
};

class PushBackKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    const Tensor& value = ctx.input(1);
    WEIR_RETURN_IF_ERROR(CheckListType(*list, value.dtype()));
    if (!list->element_shape.IsCompatibleWith(value.shape())) {
      return InvalidArgument("Tried to append a tensor with incompatible shape to a list. Op element shape: ",
                             value.shape().ToString(), " list shape: ", list->element_shape.ToString());
    }
    int64_t size = static_cast<int64_t>(list->elements.size());
    if (list->max_num_elements >= 0 && size >= list->max_num_elements) {
      return InvalidArgument("Tried to push item into a full list list size: ", size,
                             " max_num_elements: ", list->max_num_elements);
    }
    WEIR_RETURN_IF_ERROR(CheckListSize(size + 1));
    WEIR_ASSIGN_OR_RETURN(TensorList * out, MutableListOutput(ctx, 0, 0));
    out->elements.push_back(value);
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class PopBackKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    WEIR_RETURN_IF_ERROR(CheckListType(*list, ctx.output_type(1)));
    if (list->elements.empty()) return InvalidArgument("Trying to pop from an empty list.");
    if (list->elements.back().has_value()) {
      ctx.set_output(1, list->elements.back());
    } else {
      WEIR_ASSIGN_OR_RETURN(PartialShape requested, ShapeFromTensor(ctx.input(1)));
      WEIR_ASSIGN_OR_RETURN(PartialShape merged, MergeElementShapes(requested, list->element_shape));
      std::optional<Shape> shape = merged.ToShape();
      if (!shape.has_value()) {
        return InvalidArgument("Trying to read an uninitialized tensor but element_shape is not fully defined.",
                               merged.ToString());
      }
      WEIR_ASSIGN_OR_RETURN(Tensor zeros, KernelArithmetic(ctx).Zeros(list->dtype, *shape));
      ctx.set_output(1, std::move(zeros));
    }
    WEIR_ASSIGN_OR_RETURN(TensorList * out, MutableListOutput(ctx, 0, 0));
    out->elements.pop_back();
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

StatusOr<int32_t> ListIndex(KernelContext& ctx) {
  if (ctx.input(1).num_elements() != 1) {
    return InvalidArgument("A list index must be a scalar, but had shape: ", ctx.input(1).shape().ToString());
  }
  return ctx.input(1).scalar<int32_t>();
}

class GetItemKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    WEIR_RETURN_IF_ERROR(CheckListType(*list, ctx.output_type(0)));
    WEIR_ASSIGN_OR_RETURN(int32_t index, ListIndex(ctx));
    if (index < 0 || index >= static_cast<int64_t>(list->elements.size())) {
      return InvalidArgument("Trying to access element ", index, " in a list with ", list->elements.size(),
                             " elements.");
    }
    if (list->elements[index].has_value()) {
      ctx.set_output(0, list->elements[index]);
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(PartialShape requested, ShapeFromTensor(ctx.input(2)));
    WEIR_ASSIGN_OR_RETURN(PartialShape merged, MergeElementShapes(requested, list->element_shape));
    // Neither says enough: an element that is set, no further than the first, does.
    for (size_t i = 0; i < list->elements.size() && !merged.IsFullyDefined(); ++i) {
      if (!list->elements[i].has_value()) continue;
      WEIR_ASSIGN_OR_RETURN(merged, MergeElementShapes(merged, list->elements[i].shape()));
    }
    std::optional<Shape> shape = merged.ToShape();
    if (!shape.has_value()) {
      return InvalidArgument("Trying to read an uninitialized tensor but element_shape is not fully defined: ",
                             merged.ToString(), " and no list element is set.");
    }
    WEIR_ASSIGN_OR_RETURN(Tensor zeros, KernelArithmetic(ctx).Zeros(list->dtype, *shape));
    ctx.set_output(0, std::move(zeros));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class SetItemKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SetItemKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->resize_, init.Attr<bool>("resize_if_index_out_of_bounds"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    const Tensor& value = ctx.input(2);
    WEIR_RETURN_IF_ERROR(CheckListType(*list, value.dtype()));
    WEIR_ASSIGN_OR_RETURN(int32_t index, ListIndex(ctx));
    bool inside = index < static_cast<int64_t>(list->elements.size());
    if (index < 0 || (!inside && !resize_)) {
      return InvalidArgument("Trying to modify element ", index, " in a list with ", list->elements.size(),
                             " elements.");
    }
    if (!list->element_shape.IsCompatibleWith(value.shape())) {
      return InvalidArgument("Tried to set a tensor with incompatible shape at a list index. Item element shape: ",
                             value.shape().ToString(), " list shape: ", list->element_shape.ToString());
    }
    WEIR_RETURN_IF_ERROR(CheckListSize(int64_t{index} + 1));
    WEIR_ASSIGN_OR_RETURN(TensorList * out, MutableListOutput(ctx, 0, 0));
    if (!inside) out->elements.resize(static_cast<size_t>(index) + 1);
    out->elements[index] = value;
    return OkStatus();
  }
  bool is_expensive() const override { return false; }

 private:
  bool resize_ = false;
};

class LengthKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(list->elements.size())));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class ElementShapeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    const PartialShape& shape = list->element_shape;
    WEIR_ASSIGN_OR_RETURN(Tensor out,
                          ctx.AllocateHost(ctx.output_type(0), shape.has_rank() ? Shape({shape.rank()}) : Shape()));
    DispatchDType(out.dtype(), IndexTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* sizes = out.template data<T>();
      if (!shape.has_rank()) sizes[0] = -1;
      for (int i = 0; i < shape.rank(); ++i) sizes[i] = static_cast<T>(shape.dim(i));
    });
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class ResizeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(ListInput(ctx, 0).status());
    WEIR_ASSIGN_OR_RETURN(int32_t size, ListIndex(ctx));
    if (size < 0) return InvalidArgument("TensorListSlice expects size to be non-negative. Got: ", size);
    WEIR_RETURN_IF_ERROR(CheckListSize(size));
    WEIR_ASSIGN_OR_RETURN(TensorList * out, MutableListOutput(ctx, 0, 0));
    out->elements.resize(static_cast<size_t>(size));
    return OkStatus();
  }
};

}  // namespace

void RegisterTensorListKernels(KernelRegistry& registry) {
  RegisterVariantDecoder(TensorList::kTypeName, TensorList::Decode);
  registry.Add(KernelBuilder("EmptyTensorList"), MakeKernel<NewListKernel<false>>);
  registry.Add(KernelBuilder("TensorListReserve"), MakeKernel<NewListKernel<true>>);
  registry.Add(KernelBuilder("TensorListPushBack"), MakeKernel<PushBackKernel>);
  registry.Add(KernelBuilder("TensorListPopBack"), MakeKernel<PopBackKernel>);
  registry.Add(KernelBuilder("TensorListGetItem"), MakeKernel<GetItemKernel>);
  registry.Add(KernelBuilder("TensorListSetItem"), MakeKernel<SetItemKernel>);
  registry.Add(KernelBuilder("TensorListLength"), MakeKernel<LengthKernel>);
  registry.Add(KernelBuilder("TensorListElementShape"), MakeKernel<ElementShapeKernel>);
  registry.Add(KernelBuilder("TensorListResize"), MakeKernel<ResizeKernel>);
}

}  // namespace weir
