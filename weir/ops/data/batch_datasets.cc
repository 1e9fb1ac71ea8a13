// Batches of equal elements, and back: batch, unbatch, rebatch, and batches of sparse tensors.
#include <algorithm>

#include "weir/ops/data/batch.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/register.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

// Room is reserved for no more elements than this before they come.
constexpr int64_t kMaxReserved = 1024;

// Up to `count` elements. An element that fails ends the batch with its error, or with `whole` takes all others along.
Status PullMany(IteratorContext& ctx, DatasetIterator& input, int64_t count, bool whole, std::vector<Element>* elements,
                bool* ended) {
  elements->reserve(std::min(count, kMaxReserved));
  Status first;
  for (int64_t i = 0; i < count; ++i) {
    if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
    Element element;
    Status status = input.GetNext(ctx, &element, ended);
    if (!status.ok()) {
      if (!whole) return status;
      first.Update(status);
      continue;
    }
    if (*ended) break;
    elements->push_back(std::move(element));
  }
  return first;
}

class BatchDataset : public Dataset {
 public:
  enum class Kind { kPlain, kOfMap, kWhole };  // whole: see PullMany

  BatchDataset(DatasetPtr input, int64_t batch_size, bool drop_remainder, Kind kind)
      : Dataset(BatchSpec(input->spec(), drop_remainder ? batch_size : -1), {input}),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        kind_(kind) {}
  int64_t Cardinality() const override { return BatchCount(input().Cardinality(), batch_size_, drop_remainder_); }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<BatchDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      if (input_ == nullptr) {
        *end = true;
        return OkStatus();
      }
      std::vector<Element> elements;
      bool ended = false;
      const bool whole =
          dataset().kind_ == Kind::kWhole || (dataset().kind_ == Kind::kOfMap && ctx.fuses_map_and_batch);
      WEIR_RETURN_IF_ERROR(PullMany(ctx, *input_, dataset().batch_size_, whole, &elements, &ended));
      if (ended) input_ = nullptr;
      if (elements.empty() || (ended && dataset().drop_remainder_)) {
        *end = true;
        return OkStatus();
      }
      return StackElements(std::move(elements), out);
    }
  };
  const int64_t batch_size_;
  const bool drop_remainder_;
  const Kind kind_;
};

// TensorFlow makes one dataset of a map and a batch, in which an error is one of the whole batch, unless told not to.
bool IsMap(const Dataset& dataset) {
  const auto& node = dataset.origin().node;
  if (node == nullptr) return false;
  const std::string& op = node->schema->name;
  return op == "MapDataset" || op == "ParallelMapDataset" || op == "ParallelMapDatasetV2";
}

StatusOr<DatasetPtr> MakeBatch(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(int64_t batch_size, node.Scalar<int64_t>("batch_size"));
  if (batch_size <= 0) return InvalidArgument("Batch size must be greater than zero.");
  bool drop_remainder = false;
  if (node.HasInput("drop_remainder")) {
    WEIR_ASSIGN_OR_RETURN(drop_remainder, node.Scalar<bool>("drop_remainder"));
  }
  using Kind = BatchDataset::Kind;
  const Kind kind = node.op() != "ParallelBatchDataset" && IsMap(*input) ? Kind::kOfMap : Kind::kPlain;
  return std::make_shared<BatchDataset>(std::move(input), batch_size, drop_remainder, kind);
}

class UnbatchDataset : public Dataset {
 public:
  UnbatchDataset(ElementSpec spec, DatasetPtr input) : Dataset(std::move(spec), {std::move(input)}) {}
  int64_t Cardinality() const override {
    const int64_t n = input().Cardinality();
    if (n == 0 || n == kInfinite) return n;
    int64_t batch_size = -1;
    for (const PartialShape& shape : input().spec().shapes) {
      if (shape.has_rank() && shape.rank() > 0 && shape.dim(0) >= 0) batch_size = shape.dim(0);
    }
    if (n < 0 || batch_size < 0) return kUnknown;
    return CheckedMultiply(n, batch_size).value_or(kUnknown);
  }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<UnbatchDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      while (next_ >= size_) {
        if (ctx.cancellation->cancelled()) return ctx.cancellation->reason();
        Element batch;
        WEIR_RETURN_IF_ERROR(Pull(ctx, &batch, end));
        if (*end) return OkStatus();
        WEIR_RETURN_IF_ERROR(Take(std::move(batch)));
      }
      out->reserve(batch_.size());
      for (const Tensor& tensor : batch_) {
        WEIR_ASSIGN_OR_RETURN(Tensor row, tensor.SubTensor(next_).Clone());
        out->push_back(std::move(row));
      }
      if (++next_ == size_) batch_.clear();
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("next", next_);
      state.PutElement("batch", batch_);
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(Element batch, state.GetElement("batch"));
      if (!batch.empty()) {
        WEIR_RETURN_IF_ERROR(Take(std::move(batch)));
        WEIR_ASSIGN_OR_RETURN(next_, state.GetCount("next", size_));
      }
      return InputIterator::Restore(ctx, state);
    }

   private:
    Status Take(Element batch) {
      for (size_t i = 0; i < batch.size(); ++i) {
        if (batch[i].rank() == 0)
          return InvalidArgument("Input element must have a non-scalar value in each component.");
        if (batch[i].dim(0) == batch[0].dim(0)) continue;
        return InvalidArgument("Input element must have the same batch size in each component. Component 0 had size ",
                               batch[0].dim(0), " but component ", i, " had size, ", batch[i].dim(0), ".");
      }
      batch_ = std::move(batch);
      size_ = batch_.empty() ? 0 : batch_[0].dim(0);
      next_ = 0;
      return OkStatus();
    }
    Element batch_;
    int64_t size_ = 0;
    int64_t next_ = 0;
  };
};

StatusOr<DatasetPtr> MakeUnbatch(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  ElementSpec spec = input->spec();
  for (PartialShape& shape : spec.shapes) {
    if (!shape.has_rank()) continue;
    if (shape.rank() == 0) return InvalidArgument("Cannot unbatch an input with scalar components.");
    auto rest = shape.dims().subspan(1);
    WEIR_ASSIGN_OR_RETURN(shape, PartialShape::Make(std::vector<int64_t>(rest.begin(), rest.end())));
  }
  return std::make_shared<UnbatchDataset>(std::move(spec), std::move(input));
}

// Rows of batches put together into batches of other sizes, which repeat in turn.
class RebatchDataset : public Dataset {
 public:
  RebatchDataset(ElementSpec spec, DatasetPtr input, std::vector<int64_t> sizes, bool drop_remainder)
      : Dataset(std::move(spec), {std::move(input)}), sizes_(std::move(sizes)), drop_remainder_(drop_remainder) {}
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<RebatchDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      const int64_t wanted = dataset().sizes_[turn_];
      std::vector<Element> pieces;
      int64_t have = 0;
      while (have < wanted) {
        if (offset_ >= rows_) {
          Element batch;
          bool ended = false;
          WEIR_RETURN_IF_ERROR(Pull(ctx, &batch, &ended));
          if (ended) break;
          WEIR_RETURN_IF_ERROR(Take(std::move(batch)));
          continue;
        }
        const int64_t count = std::min(wanted - have, rows_ - offset_);
        Element piece;
        for (const Tensor& tensor : batch_) piece.push_back(tensor.Slice(offset_, offset_ + count));
        pieces.push_back(std::move(piece));
        offset_ += count;
        have += count;
      }
      // A batch of no rows is asked for where there are more workers than rows.
      if (have < wanted && (have == 0 || dataset().drop_remainder_)) {
        *end = true;
        return OkStatus();
      }
      turn_ = (turn_ + 1) % dataset().sizes_.size();
      if (wanted == 0) return Empty(out);
      return Join(pieces, have, out);
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("turn", static_cast<int64_t>(turn_));
      state.PutInt("offset", offset_);
      state.PutElement("batch", batch_);
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(int64_t turn, state.GetCount("turn", static_cast<int64_t>(dataset().sizes_.size()) - 1));
      turn_ = static_cast<size_t>(turn);
      WEIR_ASSIGN_OR_RETURN(Element batch, state.GetElement("batch"));
      if (!batch.empty()) WEIR_RETURN_IF_ERROR(Take(std::move(batch)));
      WEIR_ASSIGN_OR_RETURN(offset_, state.GetCount("offset", rows_));
      return InputIterator::Restore(ctx, state);
    }

   private:
    Status Take(Element batch) {
      for (const Tensor& tensor : batch) {
        if (tensor.rank() == 0)
          return InvalidArgument("Cannot rebatch dataset: All components must be at least 1-dimensional");
        if (tensor.dim(0) != batch[0].dim(0)) {
          return InvalidArgument("Cannot rebatch dataset: All components must have the same size in the 0th dimension");
        }
      }
      batch_ = std::move(batch);
      rows_ = batch_.empty() ? 0 : batch_[0].dim(0);
      offset_ = 0;
      return OkStatus();
    }
    Status Empty(Element* out) {
      for (size_t i = 0; i < dataset().spec().types.size(); ++i) {
        Shape shape;
        WEIR_RETURN_IF_ERROR(shape.AddDim(0));
        const PartialShape& known = dataset().spec().shapes[i];
        for (int d = 1; d < known.rank(); ++d) WEIR_RETURN_IF_ERROR(shape.AddDim(std::max<int64_t>(0, known.dim(d))));
        WEIR_ASSIGN_OR_RETURN(Tensor empty, Tensor::Zeros(dataset().spec().types[i], shape));
        out->push_back(std::move(empty));
      }
      return OkStatus();
    }
    static Status Join(const std::vector<Element>& pieces, int64_t rows, Element* out) {
      for (size_t component = 0; component < pieces[0].size(); ++component) {
        const Tensor& first = pieces[0][component];
        Shape row = first.shape().Slice(1, first.rank());
        Shape shape = row;
        WEIR_RETURN_IF_ERROR(shape.InsertDim(0, rows));
        WEIR_ASSIGN_OR_RETURN(Tensor joined, Tensor::Allocate(first.dtype(), shape));
        int64_t at = 0;
        for (const Element& piece : pieces) {
          const Tensor& tensor = piece[component];
          if (tensor.shape().Slice(1, tensor.rank()) != row) {
            return InvalidArgument("Cannot rebatch dataset: rows have shapes ", row.ToString(), " and ",
                                   tensor.shape().Slice(1, tensor.rank()).ToString());
          }
          CopyElements(tensor, 0, joined, at, tensor.num_elements());
          at += tensor.num_elements();
        }
        out->push_back(std::move(joined));
      }
      return OkStatus();
    }
    Element batch_;
    int64_t rows_ = 0;
    int64_t offset_ = 0;
    size_t turn_ = 0;
  };
  const std::vector<int64_t> sizes_;
  const bool drop_remainder_;
};

StatusOr<DatasetPtr> MakeRebatchV2(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(Tensor sizes, node.OneTensor("batch_sizes"));
  WEIR_ASSIGN_OR_RETURN(bool drop_remainder, node.Scalar<bool>("drop_remainder"));
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  if (sizes.rank() > 1) return InvalidArgument("`batch_sizes` must be a scalar or a vector.");
  if (sizes.num_elements() == 0) return InvalidArgument("`batch_sizes` must be non-empty.");
  std::vector<int64_t> values(sizes.data<int64_t>(), sizes.data<int64_t>() + sizes.num_elements());
  int64_t sum = 0;
  for (int64_t size : values) {
    if (size < 0) return InvalidArgument("`batch_sizes` must be all non-negative.");
    sum = std::max(sum, size);
  }
  if (sum == 0) return InvalidArgument("`batch_sizes` must not be all zero.");
  return std::make_shared<RebatchDataset>(std::move(spec), std::move(input), std::move(values), drop_remainder);
}

// Each batch cut into one for each replica.
class RebatchByReplicasDataset : public Dataset {
 public:
  RebatchByReplicasDataset(ElementSpec spec, DatasetPtr input, int64_t replicas)
      : Dataset(std::move(spec), {std::move(input)}), replicas_(replicas) {}
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<RebatchByReplicasDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      if (part_ == 0) {
        batch_.clear();
        WEIR_RETURN_IF_ERROR(Pull(ctx, &batch_, end));
        if (*end) return OkStatus();
        for (const Tensor& tensor : batch_) {
          if (tensor.rank() > 0 && tensor.dim(0) == batch_[0].dim(0)) continue;
          batch_.clear();
          return InvalidArgument("Cannot use rebatching fallback: components must have one and the same batch size");
        }
      }
      const int64_t rows = batch_.empty() ? 0 : batch_[0].dim(0), parts = dataset().replicas_;
      const int64_t size = (rows + parts - 1) / parts;
      const int64_t begin = std::min(rows, part_ * size), stop = std::min(rows, begin + size);
      for (const Tensor& tensor : batch_) {
        WEIR_ASSIGN_OR_RETURN(Tensor piece, tensor.Slice(begin, stop).Clone());
        out->push_back(std::move(piece));
      }
      part_ = (part_ + 1) % parts;
      return OkStatus();
    }
    Status Save(IteratorContext& ctx, StateWriter state) override {
      state.PutInt("part", part_);
      state.PutElement("batch", batch_);
      return InputIterator::Save(ctx, state);
    }
    Status Restore(IteratorContext& ctx, const StateReader& state) override {
      WEIR_ASSIGN_OR_RETURN(part_, state.GetCount("part", dataset().replicas_ - 1));
      WEIR_ASSIGN_OR_RETURN(batch_, state.GetElement("batch"));
      return InputIterator::Restore(ctx, state);
    }

   private:
    Element batch_;
    int64_t part_ = 0;
  };
  const int64_t replicas_;
};

StatusOr<DatasetPtr> MakeRebatch(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(int64_t replicas, node.Scalar<int64_t>("num_replicas"));
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  if (replicas <= 0) return InvalidArgument("num_replicas must be greater than zero.");
  return std::make_shared<RebatchByReplicasDataset>(std::move(spec), std::move(input), replicas);
}

// Dense tensors of one rank as rows of a sparse batch: one vector of variants that hold indices, values, dense shape.
class DenseToSparseBatchDataset : public Dataset {
 public:
  DenseToSparseBatchDataset(ElementSpec spec, DatasetPtr input, int64_t batch_size, std::vector<int64_t> row_shape)
      : Dataset(std::move(spec), {std::move(input)}), batch_size_(batch_size), row_shape_(std::move(row_shape)) {}
  int64_t Cardinality() const override { return BatchCount(input().Cardinality(), batch_size_, false); }
  StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const override { return WalkInput<Iterator>(ctx); }

 private:
  class Iterator : public InputIterator<DenseToSparseBatchDataset> {
   public:
    using InputIterator::InputIterator;
    Status GetNext(IteratorContext& ctx, Element* out, bool* end) override {
      if (input_ == nullptr) {
        *end = true;
        return OkStatus();
      }
      std::vector<Element> elements;
      bool ended = false;
      // One by one: behind an element that does not fit, the next batch begins.
      for (int64_t i = 0; i < dataset().batch_size_ && !ended; ++i) {
        WEIR_RETURN_IF_ERROR(PullMany(ctx, *input_, 1, /*whole=*/false, &elements, &ended));
        if (!ended) WEIR_RETURN_IF_ERROR(CheckRow(elements.back()[0]));
      }
      if (ended) input_ = nullptr;
      if (elements.empty()) {
        *end = true;
        return OkStatus();
      }
      return ToSparse(elements, out);
    }

   private:
    Status CheckRow(const Tensor& row) {
      const int rank = static_cast<int>(dataset().row_shape_.size());
      if (row.rank() != rank) {
        return InvalidArgument("Input element had shape (", row.shape().ToString(),
                               ") that is incompatible with the row shape (",
                               Shape::Make(Known()).value_or(Shape()).ToString(), ").");
      }
      for (int d = 0; d < rank; ++d) {
        if (dataset().row_shape_[d] == -1 || row.dim(d) <= dataset().row_shape_[d]) continue;
        return DataLoss("Input element had shape (", row.shape().ToString(), ") that is larger than the row shape (",
                        Shape::Make(Known()).value_or(Shape()).ToString(), ").");
      }
      return OkStatus();
    }

    Status ToSparse(const std::vector<Element>& elements, Element* out) {
      const int rank = static_cast<int>(dataset().row_shape_.size());
      std::vector<int64_t> shape = dataset().row_shape_;
      int64_t total = 0;
      for (const Element& element : elements) {
        const Tensor& row = element[0];
        for (int d = 0; d < rank; ++d) {
          if (dataset().row_shape_[d] == -1) shape[d] = std::max(shape[d], row.dim(d));
        }
        total += row.num_elements();
      }
      WEIR_ASSIGN_OR_RETURN(Tensor indices, Tensor::Allocate(DType::kInt64, Shape({total, rank + 1})));
      WEIR_ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(elements[0][0].dtype(), Shape({total})));
      int64_t at = 0;
      for (size_t i = 0; i < elements.size(); ++i) {
        const Tensor& row = elements[i][0];
        CopyElements(row, 0, values, at, row.num_elements());
        for (int64_t k = 0; k < row.num_elements(); ++k, ++at) {
          int64_t* index = indices.data<int64_t>() + at * (rank + 1);
          index[0] = static_cast<int64_t>(i);
          for (int64_t d = rank - 1, rest = k; d >= 0; --d) {
            index[d + 1] = rest % row.dim(d);
            rest /= row.dim(d);
          }
        }
      }
      shape.insert(shape.begin(), static_cast<int64_t>(elements.size()));
      const Tensor parts[] = {indices, values, Tensor::Vector<int64_t>(std::span<const int64_t>(shape))};
      WEIR_ASSIGN_OR_RETURN(Tensor sparse, Tensor::Allocate(DType::kVariant, Shape({3})));
      for (int i = 0; i < 3; ++i) {
        WEIR_ASSIGN_OR_RETURN(sparse.data<Variant>()[i], DecodeVariant({"tensorflow::Tensor", "", {parts[i]}}));
      }
      out->push_back(std::move(sparse));
      return OkStatus();
    }
    std::vector<int64_t> Known() const {
      std::vector<int64_t> dims = dataset().row_shape_;
      for (int64_t& dim : dims) dim = std::max<int64_t>(0, dim);
      return dims;
    }
  };
  const int64_t batch_size_;
  const std::vector<int64_t> row_shape_;
};

StatusOr<DatasetPtr> MakeDenseToSparseBatch(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  if (input->spec().types.size() != 1) {
    return InvalidArgument("DenseToSparseDataset only supports inputs with a single component.");
  }
  WEIR_ASSIGN_OR_RETURN(int64_t batch_size, node.Scalar<int64_t>("batch_size"));
  if (batch_size <= 0) return InvalidArgument("Batch size must be greater than zero.");
  WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> row_shape, node.Vector<int64_t>("row_shape"));
  for (int64_t dim : row_shape) {
    if (dim < -1) return InvalidArgument("Dimension ", dim, " must be >= -1");
  }
  ElementSpec spec{{DType::kVariant}, {PartialShape({3})}};
  return std::make_shared<DenseToSparseBatchDataset>(std::move(spec), std::move(input), batch_size,
                                                     std::move(row_shape));
}

}  // namespace

DatasetPtr MakeWholeBatchDataset(DatasetPtr input, int64_t batch_size, bool drop_remainder) {
  return std::make_shared<BatchDataset>(std::move(input), batch_size, drop_remainder, BatchDataset::Kind::kWhole);
}

void RegisterBatchDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"BatchDataset", "BatchDatasetV2", "ParallelBatchDataset"}, MakeBatch);
  RegisterDataset(registry, {"UnbatchDataset", "ExperimentalUnbatchDataset"}, MakeUnbatch);
  RegisterDataset(registry, {"RebatchDatasetV2"}, MakeRebatchV2);
  RegisterDataset(registry, {"RebatchDataset", "ExperimentalRebatchDataset"}, MakeRebatch);
  RegisterDataset(registry, {"DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset"},
                  MakeDenseToSparseBatch);
}

}  // namespace weir
