// Datasets and their iterators.
//
// A Dataset says how to make a sequence of elements (tuples of tensors); it is immutable and travels through the graph
// in a variant tensor. An iterator is one walk over it: the consumer pulls with GetNext, the iterator pulls from the
// iterators of its inputs. A transformation is a pair of small classes, one of each.
//
// An iterator has one consumer: nothing in it is locked unless it has threads of its own. Those that have (prefetch,
// parallel map and interleave) fill bounded buffers, wait only in ways that the context's cancellation ends, and join
// their threads in their destructor.
//
// Functions that a dataset captures are instantiated when its iterator is made, so their state (random generators)
// belongs to that walk.
#ifndef WEIR_OPS_DATA_DATASET_H_
#define WEIR_OPS_DATA_DATASET_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/cancellation.h"
#include "weir/framework/function_runtime.h"
#include "weir/ops/data/iterator_state.h"
#include "weir/tensor/variant.h"

namespace weir {

// What iterators of one walk share. REQUIRES: what it points to outlives them.
struct IteratorContext {
  std::shared_ptr<FunctionRuntime> functions;  // null if the graph has none
  Device* device = nullptr;
  ThreadPool* intra_op = nullptr;  // for kernels of functions; never null where there are functions
  CancellationManager* cancellation = nullptr;
  bool deterministic = false;  // see StepContext
  // Errors are left out further up: who would give the same error for ever must get on instead.
  bool errors_ignored = false;
  // A batch of a map's results is one dataset with the map: an element that fails takes its batch along.
  bool fuses_map_and_batch = true;
};

class DatasetIterator {
 public:
  virtual ~DatasetIterator() = default;
  // Puts the next element into `out`, which is empty before, or sets `*end`. After the end it may be called again and
  // says so again. After an error the walk goes on with the next element where it can.
  virtual Status GetNext(IteratorContext& ctx, Element* out, bool* end) = 0;
  // True if GetNext surely need not wait.
  virtual bool Ready() { return false; }
  // The position, so that Restore on a fresh iterator of the same dataset goes on from there.
  virtual Status Save(IteratorContext& ctx, StateWriter state) = 0;
  virtual Status Restore(IteratorContext& ctx, const StateReader& state) = 0;
};
using IteratorPtr = std::unique_ptr<DatasetIterator>;

// Types and shapes of an element's components.
struct ElementSpec {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
};
// Errors as TensorFlow words them.
Status CheckTypesMatch(const std::vector<DType>& expected, const std::vector<DType>& received);
Status CheckShapesCompatible(const std::vector<PartialShape>& expected, const std::vector<PartialShape>& received);
// Number, types and shapes of an element's components.
Status CheckElement(const ElementSpec& spec, const Element& element);

// The node that made a dataset, and what went into it.
struct DatasetOrigin {
  struct Node {
    const OpSchema* schema = nullptr;
    AttrMap attrs;
  };
  std::shared_ptr<const Node> node;  // null if no node did
  Element inputs;
};

class Dataset : public VariantValue, public std::enable_shared_from_this<Dataset> {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::DatasetVariantWrapper";
  static constexpr int64_t kInfinite = -1;
  static constexpr int64_t kUnknown = -2;

  const ElementSpec& spec() const { return spec_; }
  const std::vector<std::shared_ptr<Dataset>>& inputs() const { return inputs_; }
  virtual StatusOr<IteratorPtr> MakeIterator(IteratorContext& ctx) const = 0;
  // How many elements: a number, kInfinite or kUnknown. May be dear where the answer must be looked for.
  virtual int64_t Cardinality() const { return kUnknown; }
  // True if its iterators may wait for functions or threads. Otherwise a step may run them in its own thread.
  virtual bool MayWait() const;
  // True if its iterators make elements ahead of their use.
  virtual bool RunsAhead() const { return false; }
  // The serialised options that apply to the dataset.
  virtual std::string Options() const { return inputs_.empty() ? "" : inputs_[0]->Options(); }

  const DatasetOrigin& origin() const { return origin_; }
  // REQUIRES: nobody else knows the dataset yet.
  void set_origin(DatasetOrigin origin) { origin_ = std::move(origin); }

  std::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override { return "Dataset"; }

 protected:
  explicit Dataset(ElementSpec spec, std::vector<std::shared_ptr<Dataset>> inputs = {})
      : spec_(std::move(spec)), inputs_(std::move(inputs)) {}
  const Dataset& input() const { return *inputs_[0]; }
  // Keeps this dataset alive while an iterator walks over it.
  template <typename Derived>
  std::shared_ptr<const Derived> Self() const {
    return std::static_pointer_cast<const Derived>(shared_from_this());
  }
  // An iterator of type I, an InputIterator, over this dataset and a new walk over its input. `args` are the
  // constructor's further arguments.
  template <typename I, typename... Args>
  StatusOr<IteratorPtr> WalkInput(IteratorContext& ctx, Args&&... args) const {
    WEIR_ASSIGN_OR_RETURN(IteratorPtr walk, input().MakeIterator(ctx));
    return IteratorPtr(
        std::make_unique<I>(Self<typename I::DatasetType>(), std::move(walk), std::forward<Args>(args)...));
  }
  // A new walk over each input.
  StatusOr<std::vector<IteratorPtr>> WalkInputs(IteratorContext& ctx) const;

 private:
  const ElementSpec spec_;
  const std::vector<std::shared_ptr<Dataset>> inputs_;
  DatasetOrigin origin_;
};
using DatasetPtr = std::shared_ptr<Dataset>;

// A scalar variant tensor of a dataset, and back. INVALID_ARGUMENT if it is something else.
Tensor DatasetTensor(DatasetPtr dataset);
StatusOr<DatasetPtr> DatasetFromTensor(const Tensor& tensor);

// Iterators of a dataset D with one input: they hold both.
template <typename D>
class InputIterator : public DatasetIterator {
 public:
  using DatasetType = D;
  InputIterator(std::shared_ptr<const D> dataset, IteratorPtr input)
      : dataset_(std::move(dataset)), input_(std::move(input)) {}
  Status Save(IteratorContext& ctx, StateWriter state) override {
    if (input_ == nullptr) {
      state.PutInt("exhausted", 1);
      return OkStatus();
    }
    return input_->Save(ctx, state.Child("input"));
  }
  Status Restore(IteratorContext& ctx, const StateReader& state) override {
    if (state.Has("exhausted")) {
      input_ = nullptr;
      return OkStatus();
    }
    if (input_ == nullptr) return DataLoss("A saved position does not fit its dataset");
    return input_->Restore(ctx, state.Child("input"));
  }

 protected:
  // The next of the input; the input is let go at its end.
  Status Pull(IteratorContext& ctx, Element* out, bool* end) {
    if (input_ == nullptr) {
      *end = true;
      return OkStatus();
    }
    WEIR_RETURN_IF_ERROR(input_->GetNext(ctx, out, end));
    if (*end) input_ = nullptr;
    return OkStatus();
  }
  const D& dataset() const { return *dataset_; }

  const std::shared_ptr<const D> dataset_;
  IteratorPtr input_;
};

}  // namespace weir

#endif  // WEIR_OPS_DATA_DATASET_H_
