// List ops that turn tensors into lists and lists into tensors.
#include <algorithm>
#include <numeric>

#include "weir/device/cpu/kernel_arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/framework/scratch.h"
#include "weir/ops/queue/arithmetic.h"
#include "weir/ops/queue/register.h"
#include "weir/ops/queue/tensor_list.h"

namespace weir {
namespace {

// The elements at `indices` as rows of output 0; those not set are zeros. REQUIRES: indices are valid.
Status StackElements(KernelContext& ctx, const TensorList& list, std::span<const int32_t> indices, const Shape& shape) {
  Shape full = shape;
  WEIR_RETURN_IF_ERROR(full.InsertDim(0, static_cast<int64_t>(indices.size())));
  bool all_set = std::all_of(indices.begin(), indices.end(), [&](int32_t i) { return list.elements[i].has_value(); });
  Tensor out;
  if (all_set) {
    WEIR_ASSIGN_OR_RETURN(out, AllocateHeld(ctx, list.dtype, full));
  } else {
    WEIR_ASSIGN_OR_RETURN(out, KernelArithmetic(ctx).Zeros(list.dtype, full));
  }
  const int64_t count = shape.num_elements();
  std::vector<PlacedPart> parts;
  for (size_t row = 0; row < indices.size(); ++row) {
    const Tensor& element = list.elements[indices[row]];
    if (element.has_value()) parts.push_back({&element, static_cast<int64_t>(row) * count});
  }
  WEIR_RETURN_IF_ERROR(PlaceParts(ctx, parts, out));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

class ListStackKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ListStackKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->num_elements_, init.Attr<int64_t>("num_elements"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    WEIR_RETURN_IF_ERROR(CheckListType(*list, ctx.output_type(0)));
    int64_t size = static_cast<int64_t>(list->elements.size());
    if (num_elements_ != -1 && size != num_elements_) {
      return InvalidArgument("Operation expected a list with ", num_elements_, " elements but got a list with ", size,
                             " elements.");
    }
    WEIR_ASSIGN_OR_RETURN(PartialShape requested, ShapeFromTensor(ctx.input(1)));
    WEIR_ASSIGN_OR_RETURN(PartialShape merged, list->CommonShape(requested));
    std::optional<Shape> shape = merged.ToShape();
    if (!shape.has_value()) {
      if (size == 0) {
        return InvalidArgument("Tried to stack elements of an empty list with non-fully-defined element_shape: ",
                               merged.ToString());
      }
      return InvalidArgument(
          "Tried to stack list which only contains uninitialized tensors and has a "
          "non-fully-defined element_shape: ",
          merged.ToString());
    }
    std::vector<int32_t> all(list->elements.size());
    std::iota(all.begin(), all.end(), 0);
    return StackElements(ctx, *list, all, *shape);
  }

 private:
  int64_t num_elements_ = -1;
};

class ListGatherKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    WEIR_RETURN_IF_ERROR(CheckListType(*list, ctx.output_type(0)));
    std::span<const int32_t> indices = ctx.input(1).span<int32_t>();
    for (int32_t index : indices) {
      if (index < 0 || index >= static_cast<int64_t>(list->elements.size())) {
        return InvalidArgument("Trying to gather element ", index, " in a list with ", list->elements.size(),
                               " elements.");
      }
    }
    WEIR_ASSIGN_OR_RETURN(PartialShape requested, ShapeFromTensor(ctx.input(2)));
    WEIR_ASSIGN_OR_RETURN(PartialShape merged, MergeElementShapes(requested, list->element_shape));
    // Only elements that are asked for tell the shape.
    for (int32_t index : indices) {
      const Tensor& element = list->elements[static_cast<size_t>(index)];
      if (element.has_value()) {
        WEIR_ASSIGN_OR_RETURN(merged, MergeElementShapes(merged, element.shape()));
      }
    }
    std::optional<Shape> shape = merged.ToShape();
    if (!shape.has_value()) {
      if (indices.empty()) {
        return InvalidArgument("Tried to gather 0-elements from a list with non-fully-defined shape: ",
                               merged.ToString());
      }
      return InvalidArgument(
          "Tried to gather uninitialized tensors from a list with non-fully-defined "
          "element_shape: ",
          merged.ToString());
    }
    return StackElements(ctx, *list, indices, *shape);
  }
};

Status CheckRows(const Tensor& tensor, const PartialShape& element_shape) {
  if (tensor.rank() == 0) {
    return InvalidArgument("Tensor must be at least a vector, but saw shape: ", tensor.shape().ToString());
  }
  Shape row = tensor.shape().Slice(1, tensor.rank());
  if (!element_shape.IsCompatibleWith(row)) {
    return InvalidArgument("Specified a list with shape ", element_shape.ToString(), " from a tensor with shape ",
                           row.ToString());
  }
  return OkStatus();
}

class FromTensorKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    auto list = std::make_shared<TensorList>();
    list->dtype = tensor.dtype();
    WEIR_ASSIGN_OR_RETURN(list->element_shape, ShapeFromTensor(ctx.input(1)));
    WEIR_RETURN_IF_ERROR(CheckRows(tensor, list->element_shape));
    if (tensor.dim(0) > TensorList::kMaxSize) return ResourceExhausted("Too many rows for a list: ", tensor.dim(0));
    constexpr size_t kBytesOfRow = 160;  // apart from its values
    WEIR_RETURN_IF_ERROR(CheckScratch(tensor.dim(0), kBytesOfRow));
    list->elements.reserve(static_cast<size_t>(tensor.dim(0)));
    for (int64_t i = 0; i < tensor.dim(0); ++i) {
      WEIR_ASSIGN_OR_RETURN(list->elements.emplace_back(), OwnSlice(ctx, tensor.SubTensor(i)));
    }
    SetListOutput(ctx, 0, std::move(list));
    return OkStatus();
  }
};

// Row i of `tensor` becomes element indices[i].
Status ScatterRows(KernelContext& ctx, const Tensor& tensor, std::span<const int32_t> indices, TensorList& list) {
  for (size_t i = 0; i < indices.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(list.elements[indices[i]], OwnSlice(ctx, tensor.SubTensor(static_cast<int64_t>(i))));
  }
  return OkStatus();
}

StatusOr<int64_t> CheckScatter(const Tensor& tensor, std::span<const int32_t> indices) {
  if (static_cast<int64_t>(indices.size()) != tensor.dim(0)) {
    return InvalidArgument("Invalid number of rows in input tensor. Expected: ", indices.size(),
                           " Actual: ", tensor.dim(0));
  }
  int64_t needed = 0;
  for (int32_t index : indices) {
    if (index < 0) return InvalidArgument("Indices in TensorListScatter must all be non-negative.");
    needed = std::max(needed, int64_t{index} + 1);
  }
  if (needed > TensorList::kMaxSize) return ResourceExhausted("Scatter at index ", needed - 1, " of a list");
  return needed;
}

// TensorListScatter, and V2 with the number of elements as a fourth input.
class ListScatterKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    std::span<const int32_t> indices = ctx.input(1).span<int32_t>();
    auto list = std::make_shared<TensorList>();
    list->dtype = tensor.dtype();
    WEIR_ASSIGN_OR_RETURN(list->element_shape, ShapeFromTensor(ctx.input(2)));
    WEIR_RETURN_IF_ERROR(CheckRows(tensor, list->element_shape));
    WEIR_ASSIGN_OR_RETURN(int64_t needed, CheckScatter(tensor, indices));
    int64_t size = -1;
    if (ctx.num_inputs() > 3) {
      if (ctx.input(3).num_elements() != 1) return InvalidArgument("num_elements must be a scalar");
      size = ctx.input(3).scalar<int32_t>();
      if (size < -1) return InvalidArgument("TensorListScatter expects num_elements >= -1, found: ", size);
    }
    if (size == -1) size = needed;
    if (size > TensorList::kMaxSize) return ResourceExhausted("A list has at most ", TensorList::kMaxSize, " elements");
    if (needed > size) {
      return InvalidArgument("TensorListScatter: Trying to scatter at index ", needed - 1, " in list with size ", size);
    }
    list->elements.resize(static_cast<size_t>(size));
    WEIR_RETURN_IF_ERROR(ScatterRows(ctx, tensor, indices, *list));
    SetListOutput(ctx, 0, std::move(list));
    return OkStatus();
  }
};

class ScatterIntoExistingKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    const Tensor& tensor = ctx.input(1);
    std::span<const int32_t> indices = ctx.input(2).span<int32_t>();
    WEIR_RETURN_IF_ERROR(CheckListType(*list, tensor.dtype()));
    // The list's element shape is not looked at, as in TensorFlow.
    WEIR_RETURN_IF_ERROR(CheckRows(tensor, PartialShape::Unknown()));
    WEIR_ASSIGN_OR_RETURN(int64_t needed, CheckScatter(tensor, indices));
    WEIR_ASSIGN_OR_RETURN(TensorList * out, MutableListOutput(ctx, 0, 0));
    if (needed > static_cast<int64_t>(out->elements.size())) out->elements.resize(static_cast<size_t>(needed));
    return ScatterRows(ctx, tensor, indices, *out);
  }
};

// TensorListConcat, and V2 with the element shape and leading sizes as inputs.
class ListConcatKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ListConcatKernel>();
    if (init.HasAttr("element_shape")) {
      WEIR_ASSIGN_OR_RETURN(kernel->element_shape_, init.Attr<PartialShape>("element_shape"));
    }
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
    WEIR_RETURN_IF_ERROR(CheckListType(*list, ctx.output_type(0)));
    PartialShape requested = element_shape_;
    std::span<const int64_t> leading;
    if (ctx.num_inputs() > 1) {
      WEIR_ASSIGN_OR_RETURN(requested, ShapeFromTensor(ctx.input(1)));
      leading = ctx.input(2).span<int64_t>();
    }
    WEIR_ASSIGN_OR_RETURN(PartialShape first, MergeElementShapes(requested, list->element_shape));
    if (first.has_rank() && first.rank() < 1) {
      return InvalidArgument("Concat requires elements to be at least vectors, found scalars instead.");
    }
    WEIR_ASSIGN_OR_RETURN(PartialShape rows, RowShape(*list, WithoutFirst(first)));
    std::optional<Shape> row = rows.ToShape();
    if (!row.has_value()) {
      return InvalidArgument(
          "All except the first dimension must be fully defined when concating an empty tensor "
          "list. element_shape: ",
          first.ToString());
    }
    int64_t unset_length = UnsetLength(*list, first);
    WEIR_ASSIGN_OR_RETURN(Tensor lengths,
                          ctx.AllocateHost(DType::kInt64, Shape({static_cast<int64_t>(list->elements.size())})));
    int64_t total = 0;
    for (size_t i = 0; i < list->elements.size(); ++i) {
      int64_t length = unset_length;
      if (list->elements[i].has_value()) {
        length = list->elements[i].dim(0);
      } else if (i < leading.size()) {
        length = leading[i];
      } else if (length < 0) {
        return InvalidArgument("List contains uninitialized tensor at index ", i, " but leading_dims has only ",
                               leading.size(), " elements.");
      }
      std::optional<int64_t> sum = CheckedAdd(total, length);
      if (length < 0 || !sum.has_value()) return InvalidArgument("Invalid leading dimension at index ", i);
      lengths.data<int64_t>()[i] = length;
      total = *sum;
    }
    Shape shape = *row;
    WEIR_RETURN_IF_ERROR(shape.InsertDim(0, total));
    WEIR_ASSIGN_OR_RETURN(Tensor out, KernelArithmetic(ctx).Zeros(list->dtype, shape));
    std::vector<PlacedPart> parts;
    int64_t offset = 0;
    for (size_t i = 0; i < list->elements.size(); ++i) {
      if (list->elements[i].has_value()) parts.push_back({&list->elements[i], offset});
      offset += lengths.data<int64_t>()[i] * row->num_elements();
    }
    WEIR_RETURN_IF_ERROR(PlaceParts(ctx, parts, out));
    ctx.set_output(0, std::move(out));
    ctx.set_output(1, std::move(lengths));
    return OkStatus();
  }

 private:
  static PartialShape WithoutFirst(const PartialShape& shape) {
    if (!shape.has_rank()) return shape;
    PartialShape out = PartialShape::UnknownOfRank(shape.rank() - 1);
    for (int i = 1; i < shape.rank(); ++i) out.set_dim(i - 1, shape.dim(i));
    return out;
  }
  static StatusOr<PartialShape> RowShape(const TensorList& list, PartialShape rows) {
    for (size_t i = 0; i < list.elements.size(); ++i) {
      if (!list.elements[i].has_value()) continue;
      if (list.elements[i].rank() == 0) {
        return InvalidArgument("Concat saw a scalar shape at index ", i, " but requires at least vectors.");
      }
      WEIR_ASSIGN_OR_RETURN(rows, MergeElementShapes(rows, WithoutFirst(list.elements[i].shape())));
    }
    return rows;
  }
  // How many rows an element has that was not set, by the shape or by the elements that were; -1 if nothing says it.
  static int64_t UnsetLength(const TensorList& list, const PartialShape& shape) {
    if (shape.has_rank() && shape.dim(0) >= 0) return shape.dim(0);
    int64_t length = -1;
    for (const Tensor& element : list.elements) {
      if (!element.has_value()) continue;
      if (length >= 0 && length != element.dim(0)) return -1;
      length = element.dim(0);
    }
    return length;
  }

  PartialShape element_shape_;
};

class ListSplitKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& tensor = ctx.input(0);
    const Tensor& lengths = ctx.input(2);
    auto list = std::make_shared<TensorList>();
    list->dtype = tensor.dtype();
    WEIR_ASSIGN_OR_RETURN(PartialShape shape, ShapeFromTensor(ctx.input(1)));
    if (shape.has_rank() && shape.rank() < 1) {
      return InvalidArgument("TensorListSplit requires element_shape to be at least of rank 1, but saw: ",
                             shape.ToString());
    }
    if (lengths.rank() != 1) {
      return InvalidArgument("Expected lengths to be a vector, received shape: ", lengths.shape().ToString());
    }
    if (tensor.rank() == 0) {
      return InvalidArgument("Tensor must be at least a vector, but saw shape: ", tensor.shape().ToString());
    }
    PartialShape any_rows = shape;
    if (any_rows.has_rank()) any_rows.set_dim(0, PartialShape::kUnknown);
    if (!any_rows.IsCompatibleWith(tensor.shape())) {
      return InvalidArgument("tensor shape ", tensor.shape().ToString(), " is not compatible with element_shape ",
                             any_rows.ToString());
    }
    list->element_shape = any_rows;
    int64_t row = 0;
    list->elements.reserve(static_cast<size_t>(lengths.num_elements()));
    for (int64_t length : lengths.span<int64_t>()) {
      if (length < 0) return InvalidArgument("Invalid value in lengths: ", length);
      if (length > tensor.dim(0) - row) {
        return InvalidArgument("Attempting to slice [", row, ", ", row + length, "] from tensor with length ",
                               tensor.dim(0));
      }
      WEIR_ASSIGN_OR_RETURN(list->elements.emplace_back(), OwnSlice(ctx, tensor.Slice(row, row + length)));
      row += length;
    }
    if (row != tensor.dim(0)) {
      return InvalidArgument("Unused values in tensor. Length of tensor: ", tensor.dim(0), " Values used: ", row);
    }
    SetListOutput(ctx, 0, std::move(list));
    return OkStatus();
  }
};

// The variants of one tensor, element by element, as lists.
StatusOr<std::vector<const TensorList*>> ListsOf(const Tensor& tensor) {
  std::vector<const TensorList*> out;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const auto* list = tensor.data<Variant>()[i].get_if<TensorList>();
    if (list == nullptr) return InvalidArgument("Input handle is not a list at index ", i);
    out.push_back(list);
  }
  return out;
}

class ConcatListsKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ConcatListsKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("element_dtype"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    if (ctx.input(0).shape() != ctx.input(1).shape()) {
      return InvalidArgument("input_a.shape() and input_b.shape() are not identical.  Saw ",
                             ctx.input(0).shape().ToString(), " vs. ", ctx.input(1).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(auto as, ListsOf(ctx.input(0)));
    WEIR_ASSIGN_OR_RETURN(auto bs, ListsOf(ctx.input(1)));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(0).shape()));
    for (size_t i = 0; i < as.size(); ++i) {
      const TensorList& a = *as[i];
      const TensorList& b = *bs[i];
      if (a.dtype != dtype_) {
        return InvalidArgument("input_a[", i, "].dtype != element_dtype.  Saw ", Name(a.dtype), " vs. ", Name(dtype_));
      }
      if (b.dtype != dtype_) {
        return InvalidArgument("input_b[", i, "].dtype != element_dtype.  Saw ", Name(b.dtype), " vs. ", Name(dtype_));
      }
      if (a.element_shape != b.element_shape) {
        return InvalidArgument("input_a and input_b TensorList element shapes are not identical at index ", i,
                               ".  Saw ", a.element_shape.ToString(), " vs. ", b.element_shape.ToString());
      }
      auto joined = std::make_shared<TensorList>(a);
      joined->elements.insert(joined->elements.end(), b.elements.begin(), b.elements.end());
      out->data<Variant>()[i] = Variant(std::move(joined));
    }
    return OkStatus();
  }

 private:
  DType dtype_;
};

class PushBackBatchKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& value = ctx.input(1);
    if (value.rank() == 0) {
      return InvalidArgument("Expected tensor to be at least a vector, but saw shape: ", value.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(auto lists, ListsOf(ctx.input(0)));
    if (value.dim(0) != static_cast<int64_t>(lists.size())) {
      return InvalidArgument("Expected tensor.shape[0] == input_handles.size, but saw ", value.dim(0), " vs. ",
                             lists.size());
    }
    Shape row = value.shape().Slice(1, value.rank());
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(0).shape()));
    for (size_t i = 0; i < lists.size(); ++i) {
      WEIR_RETURN_IF_ERROR(CheckListType(*lists[i], value.dtype()));
      if (!lists[i]->element_shape.IsCompatibleWith(row)) {
        return InvalidArgument("Tried to append a tensor with incompatible shape to a list at index ", i,
                               ". Op element shape: ", row.ToString(),
                               " list shape: ", lists[i]->element_shape.ToString());
      }
      auto grown = std::make_shared<TensorList>(*lists[i]);
      WEIR_ASSIGN_OR_RETURN(grown->elements.emplace_back(), OwnSlice(ctx, value.SubTensor(static_cast<int64_t>(i))));
      out->data<Variant>()[i] = Variant(std::move(grown));
    }
    return OkStatus();
  }
};

}  // namespace

void RegisterTensorListBatchKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("TensorListStack"), MakeKernel<ListStackKernel>);
  registry.Add(KernelBuilder("TensorListGather"), MakeKernel<ListGatherKernel>);
  registry.Add(KernelBuilder("TensorListFromTensor"), MakeKernel<FromTensorKernel>);
  registry.Add(KernelBuilder("TensorListScatter"), MakeKernel<ListScatterKernel>);
  registry.Add(KernelBuilder("TensorListScatterV2"), MakeKernel<ListScatterKernel>);
  registry.Add(KernelBuilder("TensorListScatterIntoExistingList"), MakeKernel<ScatterIntoExistingKernel>);
  registry.Add(KernelBuilder("TensorListConcat"), MakeKernel<ListConcatKernel>);
  registry.Add(KernelBuilder("TensorListConcatV2"), MakeKernel<ListConcatKernel>);
  registry.Add(KernelBuilder("TensorListSplit"), MakeKernel<ListSplitKernel>);
  registry.Add(KernelBuilder("TensorListConcatLists"), MakeKernel<ConcatListsKernel>);
  registry.Add(KernelBuilder("TensorListPushBackBatch"), MakeKernel<PushBackBatchKernel>);
}

}  // namespace weir
