// Batches of elements padded to one shape.
#include <algorithm>

#include "weir/ops/data/batch.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

// Copies `from` into the corner of a block of `to` that begins at `to_begin`; both of the same rank.
void CopyCorner(const Tensor& from, int dim, int64_t from_begin, Tensor& to, int64_t to_begin) {
  const int rank = from.rank();
  if (from.num_elements() == 0) return;
  if (dim >= rank - 1) {
    CopyElements(from, from_begin, to, to_begin, rank == 0 ? 1 : from.dim(rank - 1));
    return;
  }
  int64_t from_stride = 1, to_stride = 1;
  for (int d = dim + 1; d < rank; ++d) {
    from_stride *= from.dim(d);
    to_stride *= to.dim(d + 1);
  }
  for (int64_t i = 0; i < from.dim(dim); ++i) {
    CopyCorner(from, dim + 1, from_begin + i * from_stride, to, to_begin + i * to_stride);
  }
}

class PaddedBatchDataset : public Dataset {
 public:
  PaddedBatchDataset(ElementSpec spec, DatasetPtr input, int64_t batch_size, bool drop_remainder,
                     std::vector<PartialShape> padded, Element padding)
      : Dataset(std::move(spec), {std::move(input)}),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        padded_(std::move(padded)),
        padding_(std::move(padding)) {}
  int64_t Cardinality() const override { return BatchCount(input().Cardinality(), batch_size_, drop_remainder_); }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<PaddedBatchDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      std::vector<Element> elements;
      while (static_cast<int64_t>(elements.size()) < dataset().batch_size_) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        Element element;
        bool ended = false;
        WEIR_RETURN_IF_ERROR(Pull(ctx, &element, &ended));
        if (ended) break;
        if (element.size() != dataset().padded_.size())
          return InvalidArgument("Elements of a batch have different components");
        elements.push_back(std::move(element));
      }
      const bool partial = static_cast<int64_t>(elements.size()) < dataset().batch_size_;
      if (elements.empty() || (partial && dataset().drop_remainder_)) {
        *end = true;
        return OkStatus();
      }
      for (size_t i = 0; i < dataset().padded_.size(); ++i) WEIR_RETURN_IF_ERROR(Stack(elements, i, out));
      return OkStatus();
    }

   private:
    Status Stack(const std::vector<Element>& elements, size_t component, Element* out) {
      const PartialShape& padded = dataset().padded_[component];
      std::vector<int64_t> dims = {static_cast<int64_t>(elements.size())};
      for (int d = 0; d < padded.rank(); ++d) dims.push_back(std::max<int64_t>(0, padded.dim(d)));
      for (const Element& element : elements) {
        const Tensor& tensor = element[component];
        if (tensor.rank() != padded.rank()) {
          return InvalidArgument("All elements in a batch must have the same rank as the padded shape for component",
                                 component, ": expected rank ", padded.rank(), " but got element with rank ",
                                 tensor.rank());
        }
        for (int d = 0; d < padded.rank(); ++d) {
          if (padded.dim(d) < 0) {
            dims[d + 1] = std::max(dims[d + 1], tensor.dim(d));
          } else if (tensor.dim(d) > padded.dim(d)) {
            return DataLoss("Attempted to pad to a smaller size than the input element.");
          }
        }
      }
      WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
      const Tensor& value = dataset().padding_[component];
      WEIR_ASSIGN_OR_RETURN(Tensor batch, Tensor::Allocate(value.dtype(), shape));
      for (int64_t i = 0; i < batch.num_elements(); ++i) CopyElements(value, 0, batch, i, 1);
      const int64_t size = shape.num_elements() / dims[0];
      for (size_t i = 0; i < elements.size(); ++i) {
        if (elements[i][component].dtype() != value.dtype())
          return InvalidArgument("Elements of a batch have different types");
        CopyCorner(elements[i][component], 0, 0, batch, static_cast<int64_t>(i) * size);
      }
      out->push_back(std::move(batch));
      return OkStatus();
    }
  };
  const int64_t batch_size_;
  const bool drop_remainder_;
  const std::vector<PartialShape> padded_;
  const Element padding_;
};

StatusOr<DatasetPtr> MakePaddedBatch(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(int64_t batch_size, node.Scalar<int64_t>("batch_size"));
  if (batch_size <= 0) return InvalidArgument("Batch size must be greater than zero.");
  bool drop_remainder = false;
  if (node.HasInput("drop_remainder")) {
    WEIR_ASSIGN_OR_RETURN(drop_remainder, node.Scalar<bool>("drop_remainder"));
  }
  WEIR_ASSIGN_OR_RETURN(Element shapes, node.Tensors("padded_shapes"));
  const ElementSpec& spec = input->spec();
  if (shapes.size() != spec.shapes.size()) {
    return InvalidArgument("Number of padded shapes (", shapes.size(),
                           ") must match the number of components in the input dataset's elements (",
                           spec.shapes.size(), ")");
  }
  std::vector<PartialShape> padded;
  for (const Tensor& tensor : shapes) {
    if (!tensor.shape().IsVector()) return InvalidArgument("All padded shapes must be vectors");
    auto dims = tensor.span<int64_t>();
    WEIR_ASSIGN_OR_RETURN(PartialShape shape, PartialShape::Make(dims));
    padded.push_back(std::move(shape));
  }
  WEIR_ASSIGN_OR_RETURN(Element padding, node.Tensors("padding_values"));
  if (padding.size() != spec.shapes.size()) {
    return InvalidArgument("Number of padding values (", padding.size(),
                           ") must match the number of components in the input dataset's elements (",
                           spec.shapes.size(), ")");
  }
  for (size_t i = 0; i < padding.size(); ++i) {
    if (!padding[i].shape().IsScalar()) return InvalidArgument("All padding values must be scalars");
    if (padding[i].dtype() != spec.types[i]) {
      return InvalidArgument("Mismatched type between padding value ", i, " and input dataset's component ", i, ": ",
                             Name(padding[i].dtype()), " vs. ", Name(spec.types[i]));
    }
  }
  ElementSpec out = BatchSpec({spec.types, padded}, drop_remainder ? batch_size : -1);
  return std::make_shared<PaddedBatchDataset>(std::move(out), std::move(input), batch_size, drop_remainder,
                                              std::move(padded), std::move(padding));
}

}  // namespace

void RegisterPaddedBatchDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"PaddedBatchDataset", "PaddedBatchDatasetV2"}, MakePaddedBatch);
}

}  // namespace weir
