// The four kinds of queue: how each keeps its elements and which leaves next.
#include "weir/ops/queue/queue_kinds.h"

#include <algorithm>
#include <deque>
#include <limits>

#include "weir/ops/queue/philox_stream.h"
#include "weir/resources/tuple.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

int64_t TupleBytes(const TensorTuple& tuple) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tuple) bytes += static_cast<int64_t>(tensor.total_bytes());
  return bytes;
}

class FifoQueue : public Queue {
 public:
  using Queue::Queue;

 protected:
  int64_t SizeLocked() const override { return static_cast<int64_t>(elements_.size()); }
  void PushLocked(Tuple element) override { elements_.push_back(std::move(element)); }
  Tuple PopLocked() override {
    Tuple out = std::move(elements_.front());
    elements_.pop_front();
    return out;
  }
  void GiveBackLocked(std::vector<Tuple> elements) override {
    elements_.insert(elements_.begin(), std::move_iterator(elements.begin()), std::move_iterator(elements.end()));
  }
  int64_t MemoryLocked() const override {
    int64_t bytes = 0;
    for (const Tuple& element : elements_) bytes += TupleBytes(element);
    return bytes;
  }
  std::deque<Tuple> elements_;
};

class RandomShuffleQueue : public FifoQueue {
 public:
  RandomShuffleQueue(std::string name, QueueSpec spec)
      : FifoQueue(std::move(name), std::move(spec)),
        random_(static_cast<uint64_t>(Queue::spec().seed), static_cast<uint64_t>(Queue::spec().seed2)) {}

 protected:
  Tuple PopLocked() override {
    Tuple& chosen = elements_[random_.Next() % elements_.size()];
    Tuple out = std::move(chosen);
    if (&chosen != &elements_.back()) chosen = std::move(elements_.back());
    elements_.pop_back();
    return out;
  }
  void GiveBackLocked(std::vector<Tuple> elements) override {
    for (auto it = elements.rbegin(); it != elements.rend(); ++it) elements_.push_back(std::move(*it));
  }
  int64_t AvailableLocked(bool closed) const override { return SizeLocked() - (closed ? 0 : spec().min_after_dequeue); }

 private:
  PhiloxStream random_;
};

// Copies `from` into the low corner of `to`, an all-zero tensor of the same rank and no smaller in any dimension.
void CopyCorner(const Tensor& from, Tensor& to) {
  if (from.num_elements() == 0) return;
  int rank = from.rank();
  // Copies runs of the innermost dimension; `index` counts through the others.
  int64_t run = rank == 0 ? 1 : from.dim(rank - 1);
  std::vector<int64_t> index(rank, 0);
  for (int64_t source = 0; source < from.num_elements(); source += run) {
    int64_t target = 0;
    for (int d = 0; d < rank; ++d) target = target * to.dim(d) + index[d];
    CopyElements(from, source, to, target, run);
    for (int d = rank - 2; d >= 0; --d) {
      if (++index[d] < from.dim(d)) break;
      index[d] = 0;
    }
  }
}

class PaddingFifoQueue : public FifoQueue {
 public:
  using FifoQueue::FifoQueue;

 protected:
  StatusOr<Tuple> Batch(const std::vector<Tuple>& elements) const override {
    Tuple out;
    for (size_t component = 0; component < spec().types.size(); ++component) {
      std::vector<int64_t> dims(elements[0][component].shape().dims().begin(),
                                elements[0][component].shape().dims().end());
      std::vector<const Tensor*> rows;
      bool ragged = false;
      for (const Tuple& element : elements) {
        const Shape& shape = element[component].shape();
        for (size_t d = 0; d < dims.size(); ++d) {
          ragged |= shape.dim(static_cast<int>(d)) != dims[d];
          dims[d] = std::max(dims[d], shape.dim(static_cast<int>(d)));
        }
        rows.push_back(&element[component]);
      }
      std::vector<Tensor> padded;
      if (ragged) {
        WEIR_ASSIGN_OR_RETURN(Shape full, Shape::Make(dims));
        padded.reserve(rows.size());
        for (const Tensor*& row : rows) {
          WEIR_ASSIGN_OR_RETURN(Tensor wide, Tensor::Zeros(row->dtype(), full));
          CopyCorner(*row, wide);
          row = &padded.emplace_back(std::move(wide));
        }
      }
      WEIR_ASSIGN_OR_RETURN(out.emplace_back(), StackTensors(rows));
    }
    return out;
  }
};

// Smallest first component first. Equal ones leave in the order a binary heap gives, as in TensorFlow. A batch is taken
// at once, for else it would not be sorted; as in TensorFlow, a small batch of a closed queue is taken and lost.
class PriorityQueue : public Queue {
 public:
  using Queue::Queue;

 protected:
  int64_t SizeLocked() const override { return static_cast<int64_t>(heap_.size()); }
  void PushLocked(Tuple element) override {
    heap_.push_back(std::move(element));
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  Tuple PopLocked() override {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    Tuple out = std::move(heap_.back());
    heap_.pop_back();
    return out;
  }
  void GiveBackLocked(std::vector<Tuple> elements) override {
    for (Tuple& element : elements) PushLocked(std::move(element));
  }
  bool GathersBatches() const override { return false; }
  int64_t MemoryLocked() const override {
    int64_t bytes = 0;
    for (const Tuple& element : heap_) bytes += TupleBytes(element);
    return bytes;
  }

 private:
  static bool Later(const Tuple& a, const Tuple& b) { return a[0].scalar<int64_t>() > b[0].scalar<int64_t>(); }
  std::vector<Tuple> heap_;
};

Status CheckSpec(const QueueSpec& spec) {
  if (spec.kind == "PaddingFIFOQueue") {
    if (spec.shapes.size() != spec.types.size()) {
      return InvalidArgument("Shapes must be provided for all components, but received ", spec.types.size(),
                             " dtypes and ", spec.shapes.size(), " shapes.");
    }
    for (const PartialShape& shape : spec.shapes) {
      if (!shape.has_rank()) return InvalidArgument("shape ", shape.ToString(), " must have known rank.");
    }
    return OkStatus();
  }
  for (const PartialShape& shape : spec.shapes) {
    if (!shape.IsFullyDefined()) return InvalidArgument("Shape ", shape.ToString(), " is not fully defined");
  }
  if (!spec.shapes.empty() && spec.shapes.size() != spec.types.size()) {
    return InvalidArgument("Different number of component types.  Types: ", TypesText(spec.types),
                           ", Shapes: ", ShapesText(spec.shapes));
  }
  if (spec.kind == "RandomShuffleQueue") {
    if (spec.min_after_dequeue < 0) {
      return InvalidArgument("min_after_dequeue ", spec.min_after_dequeue, " must be >= 0");
    }
    if (spec.min_after_dequeue >= spec.capacity) {
      return InvalidArgument("min_after_dequeue ", spec.min_after_dequeue, " must be < capacity ", spec.capacity);
    }
  }
  return OkStatus();
}

}  // namespace

Status NormalizeQueueSpec(QueueSpec& spec) {
  if (spec.capacity < 0) spec.capacity = std::numeric_limits<int32_t>::max();
  if (spec.kind == "PriorityQueue") {
    if (spec.shapes.size() != spec.types.size()) {
      return InvalidArgument("Shapes must be provided for all components, but received ", spec.types.size(),
                             " dtypes and ", spec.shapes.size(), " shapes.");
    }
    spec.types.insert(spec.types.begin(), DType::kInt64);
    spec.shapes.insert(spec.shapes.begin(), PartialShape(Shape()));
  }
  return CheckSpec(spec);
}

StatusOr<std::shared_ptr<Queue>> MakeQueue(std::string name, QueueSpec spec) {
  if (spec.kind == "FIFOQueue") return std::make_shared<FifoQueue>(std::move(name), std::move(spec));
  if (spec.kind == "PaddingFIFOQueue") return std::make_shared<PaddingFifoQueue>(std::move(name), std::move(spec));
  if (spec.kind == "PriorityQueue") return std::make_shared<PriorityQueue>(std::move(name), std::move(spec));
  if (spec.kind == "RandomShuffleQueue") {
    return std::make_shared<RandomShuffleQueue>(std::move(name), std::move(spec));
  }
  return Internal("No queue of kind ", spec.kind);
}

}  // namespace weir
