// _FusedElementwise: a program of elementwise operations on floats, run as one loop over memory. The fusing pass
// (weir/passes/fuse_elementwise.h) makes such nodes.
//
// Each block of the result's elements goes through all operations while it is in cache; only what others want is
// stored. Programs may also have operations along rows, the last dimension: sums, means, softmax. Blocks then are whole
// rows, and what has one number for each row goes through the loop beside what has all of them: norms over the last
// dimension and their gradients become one pass. Other operations whose result is smaller than the largest one run by
// themselves before the loop, which sees them as further operands. Loops are the unfused kernels' own, so results are
// theirs.
#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/float_loops.h"
#include "weir/framework/fused_nodes.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

constexpr int64_t kFusedBlock = 1024;
constexpr int64_t kLongestFusedRow = 8192;  // elements; blocks of longer ones leave the cache
constexpr size_t kSmallMemory = 2048;       // floats
constexpr size_t kMostFusedOperations = 64, kMostFusedInputs = 64;

// FusedValues are numbered: the inputs, then the results of the operations.
struct FusedOperation {
  FloatLoop loop;
  int a = 0;
  int b = -1;             // none, for a unary operation
  int result = -1;        // which output it is; -1: none
  int place = 0;          // where its block is kept if it is no output
  std::string_view name;  // of the op
};

// How the elements of an operand line up with those of the loop.
struct FusedAlignment {
  enum Kind { kFull, kSingle, kRow, kColumn, kOther } kind = kOther;  // kOther: some other way of broadcasting
  int64_t size = 1;  // of a row that is repeated, or how often each element of a column is

  static FusedAlignment Of(const Shape& operand, const Shape& whole) {
    if (operand.num_elements() == whole.num_elements()) return {kFull, 1};
    if (operand.num_elements() == 1) return {kSingle, 1};
    auto from_back = [](const Shape& shape, int i) { return i < shape.rank() ? shape.dim(shape.rank() - 1 - i) : 1; };
    // Dimensions from the last one on that are `same` in both or 1, then all the others the other way.
    auto fits = [&](bool same, int64_t* size) {
      int i = 0;
      auto matches = [&](bool equal) { return from_back(operand, i) == (equal ? from_back(whole, i) : 1); };
      for (; i < whole.rank() && matches(same); ++i) *size *= from_back(whole, i);
      for (; i < whole.rank(); ++i) {
        if (!matches(!same)) return false;
      }
      return true;
    };
    int64_t row = 1, column = 1;
    if (fits(true, &row)) return {kRow, row};
    if (fits(false, &column)) return {kColumn, column};
    return {};
  }
};

// A value of one call.
struct FusedValue {
  enum Place { kAlone, kInLoop, kOneEachRow };
  Shape shape;
  const float* data = nullptr;  // null while it only passes through the loop
  Place place = kAlone;
  bool is_in_loop() const { return place != kAlone; }
};
using FusedValues = absl::InlinedVector<FusedValue, 48>;

// What the loop goes over.
struct FusedSpace {
  Shape whole;
  int64_t row = 0;  // elements of a row, if there are operations along them
  int64_t BlockSize() const { return row == 0 ? kFusedBlock : std::max<int64_t>(1, kFusedBlock / row) * row; }
};

// The shape with one number for each row.
StatusOr<Shape> OneEachRow(const Shape& whole) {
  Shape shape = whole;
  WEIR_RETURN_IF_ERROR(shape.SetDim(shape.rank() - 1, 1));
  return shape;
}

// The elements of a value that belong to one block. Without padding, which would make copies slow.
struct FusedView {
  const float* data = nullptr;
  int32_t step = 1;  // 0: one element for all
  int32_t has_one_each_row = 0;
};

// An operand from outside the loop.
class FusedOperand {
 public:
  FusedOperand(int value, const float* data, const Shape& shape, const FusedSpace& space)
      : value_(value), data_(data), alignment_(FusedAlignment::Of(shape, space.whole)), row_(space.row) {
    if (alignment_.kind != FusedAlignment::kOther) return;
    int64_t stride = 1;
    for (int i = 0; i < space.whole.rank(); ++i) {  // from the last dimension on
      const int64_t size = i < shape.rank() ? shape.dim(shape.rank() - 1 - i) : 1;
      dims_.push_back({space.whole.dim(space.whole.rank() - 1 - i), size == 1 ? 0 : stride});
      stride *= size;
    }
  }
  int value() const { return value_; }

  // Whether all blocks see the same elements, laid out one after another.
  bool IsSameInAll(int64_t block_size) const {
    return alignment_.kind == FusedAlignment::kRow && block_size % alignment_.size == 0;
  }

  // Elements [at, at + n); `room` has place for them, should they have to be laid out.
  FusedView Block(int64_t at, int64_t n, float* room) const {
    const int64_t size = alignment_.size, within = at % size;
    switch (alignment_.kind) {
      case FusedAlignment::kSingle:
        return {data_, 0};
      case FusedAlignment::kRow:
        if (within + n <= size) return {data_ + within, 1};
        for (int64_t i = 0, from = within; i < n; from = 0) {
          const int64_t count = std::min(n - i, size - from);
          std::copy_n(data_ + from, count, room + i);
          i += count;
        }
        return {room, 1};
      case FusedAlignment::kColumn:
        if (size == row_) return {data_ + at / size, 1, 1};
        if (within + n <= size) return {data_ + at / size, 0};
        for (int64_t i = 0, from = within, element = at / size; i < n; from = 0, ++element) {
          const int64_t count = std::min(n - i, size - from);
          std::fill_n(room + i, count, data_[element]);
          i += count;
        }
        return {room, 1};
      case FusedAlignment::kOther:
        LayOut(at, n, room);
        return {room, 1};
      default:
        return {data_ + at, 1};
    }
  }

 private:
  struct Dimension {
    int64_t size;    // of the whole
    int64_t stride;  // of the operand
  };

  void LayOut(int64_t at, int64_t n, float* room) const {
    const Dimension& last = dims_[0];
    for (int64_t i = 0; i < n;) {
      const int64_t within = (at + i) % last.size, count = std::min(n - i, last.size - within);
      const float* from = data_ + within * last.stride;
      int64_t index = (at + i) / last.size;
      for (size_t d = 1; d < dims_.size(); ++d) {
        from += index % dims_[d].size * dims_[d].stride;
        index /= dims_[d].size;
      }
      if (last.stride == 0) {
        std::fill_n(room + i, count, *from);
      } else {
        std::copy_n(from, count, room + i);
      }
      i += count;
    }
  }

  int value_;
  const float* data_;
  FusedAlignment alignment_;
  int64_t row_;
  absl::InlinedVector<Dimension, 6> dims_;
};

class FusedElementwiseKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<FusedElementwiseKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->names_, init.Attr<std::vector<std::string>>("ops"));
    WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> operands, init.Attr<std::vector<int64_t>>("operands"));
    WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> results, init.Attr<std::vector<int64_t>>("results"));
    WEIR_ASSIGN_OR_RETURN(std::vector<int64_t> column_sums, init.Attr<std::vector<int64_t>>("column_sums"));
    if (!column_sums.empty()) return Unimplemented("_FusedElementwise sums no columns on the host");
    kernel->num_inputs_ = init.num_inputs();
    const size_t count = kernel->names_.size();
    if (count == 0 || count > kMostFusedOperations || operands.size() != 2 * count ||
        static_cast<size_t>(init.num_inputs()) > kMostFusedInputs ||
        results.size() != static_cast<size_t>(init.num_outputs())) {
      return InvalidArgument("_FusedElementwise of ", count, " operations has ", operands.size(), " operands, ",
                             init.num_inputs(), " inputs and ", results.size(), " results");
    }
    for (size_t i = 0; i < count; ++i) {
      WEIR_RETURN_IF_ERROR(kernel->AddOperation(i, operands[2 * i], operands[2 * i + 1]));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i] < 0 || results[i] >= static_cast<int64_t>(count) || kernel->operations_[results[i]].result >= 0) {
        return InvalidArgument("_FusedElementwise cannot give operation ", results[i], " as result ", i);
      }
      kernel->operations_[results[i]].result = static_cast<int>(i);
    }
    kernel->AssignPlaces();
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    FusedValues values;
    WEIR_RETURN_IF_ERROR(InferValues(ctx, values));
    WEIR_ASSIGN_OR_RETURN(const FusedSpace space, ChooseLoop(values));
    std::vector<Tensor> temporaries;
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (!values[num_inputs_ + i].is_in_loop()) WEIR_RETURN_IF_ERROR(RunAlone(ctx, i, values, temporaries));
    }
    return RunLoop(ctx, space, values);
  }

 private:
  Status AddOperation(size_t index, int64_t a, int64_t b) {
    FusedOperation operation;
    operation.name = names_[index];
    std::optional<FloatLoop> loop = FindFloatLoop(operation.name);
    if (!loop) return Unimplemented("_FusedElementwise has no loop for ", operation.name);
    operation.loop = *loop;
    const int64_t limit = num_inputs_ + static_cast<int64_t>(index);
    const bool is_binary = loop->binary != nullptr;
    if (a < 0 || a >= limit || (is_binary ? b < 0 || b >= limit : b != -1)) {
      return InvalidArgument("_FusedElementwise cannot give ", operation.name, " the operands ", a, " and ", b);
    }
    operation.a = static_cast<int>(a);
    operation.b = static_cast<int>(b);
    cost_ns_ += loop->cost_ns;
    has_rows_ |= loop->row != nullptr;
    operations_.push_back(operation);
    return OkStatus();
  }

  // Blocks that nobody will read any more make room for others.
  void AssignPlaces() {
    std::vector<size_t> last_use(operations_.size());
    for (size_t i = 0; i < operations_.size(); ++i) {
      last_use[i] = i;
      for (int operand : {operations_[i].a, operations_[i].b}) {
        if (operand >= num_inputs_) last_use[operand - num_inputs_] = i;
      }
    }
    std::vector<size_t> busy_until;  // of each place
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i].result >= 0) continue;
      auto free = std::ranges::find_if(busy_until, [&](size_t last) { return last < i; });
      if (free == busy_until.end()) free = busy_until.insert(free, 0);
      *free = last_use[i];
      operations_[i].place = static_cast<int>(free - busy_until.begin());
    }
    num_places_ = static_cast<int>(busy_until.size());
  }

  Status InferValues(const KernelContext& ctx, FusedValues& values) const {
    for (int i = 0; i < num_inputs_; ++i) values.push_back({ctx.input(i).shape(), ctx.input(i).data<float>()});
    for (size_t i = 0; i < operations_.size(); ++i) {
      StatusOr<Shape> shape = InferShape(ctx, operations_[i], values);
      if (!shape.ok()) return OfFusedNode(shape.status(), i);
      values.push_back({*std::move(shape)});
    }
    return OkStatus();
  }
  static StatusOr<Shape> InferShape(const KernelContext& ctx, const FusedOperation& operation,
                                    const FusedValues& values) {
    const Shape& a = values[operation.a].shape;
    if (operation.loop.row != nullptr) {
      if (a.rank() < 1) return InvalidArgument(operation.name, " of a scalar has no last dimension");
      if (operation.loop.reduces) return OneEachRow(a);
    } else if (operation.b >= 0) {
      const Shape& b = values[operation.b].shape;
      if (operation.loop.broadcasts) return BroadcastShape(a, b);
      if (operation.loop.same_shape && !(a == b)) {
        return InvalidArgument("Inputs to operation ", ctx.node_name(), " of type ", operation.name,
                               " must have the same size and shape.  Input 0: ", a.ToString(),
                               " != input 1: ", b.ToString());
      }
      if (a.num_elements() != b.num_elements()) {
        return InvalidArgument("The two arguments to a cwise op must have same number of elements, got ",
                               a.num_elements(), " and ", b.num_elements());
      }
    }
    return a;
  }

  // Marks what runs in the loop over the largest shape.
  StatusOr<FusedSpace> ChooseLoop(FusedValues& values) const {
    const FusedValue* largest = nullptr;
    for (size_t i = 0; i < values.size(); ++i) {
      // What is reduced is larger than its result.
      if (static_cast<int>(i) < num_inputs_ && !IsReduced(static_cast<int>(i))) continue;
      if (largest == nullptr || values[i].shape.num_elements() >= largest->shape.num_elements()) largest = &values[i];
    }
    FusedSpace space{largest->shape};
    if (space.whole.num_elements() == 0) return space;
    Shape one_each_row;
    if (has_rows_ && space.whole.rank() > 0) {
      const int64_t row = space.whole.dim(space.whole.rank() - 1);
      if (row > 1 && row <= kLongestFusedRow) {
        space.row = row;
        WEIR_ASSIGN_OR_RETURN(one_each_row, OneEachRow(space.whole));
      }
    }
    bool is_possible = true;
    for (size_t i = 0; i < operations_.size(); ++i) {
      const FusedOperation& operation = operations_[i];
      FusedValue& value = values[num_inputs_ + i];
      if (value.shape == space.whole) {
        if (FitsLoop(operation, space, values)) value.place = FusedValue::kInLoop;
      } else if (space.row > 0 && value.shape == one_each_row) {
        if (FitsRows(operation, space.whole, one_each_row, values)) value.place = FusedValue::kOneEachRow;
      }
      bool follows_loop = values[operation.a].is_in_loop();
      if (operation.b >= 0) follows_loop |= values[operation.b].is_in_loop();
      is_possible &= value.is_in_loop() || !follows_loop;  // what runs before the loop cannot wait for it
    }
    if (!is_possible) {
      for (FusedValue& value : values) value.place = FusedValue::kAlone;
      space.row = 0;
    }
    return space;
  }
  bool IsReduced(int value) const {
    return std::ranges::any_of(
        operations_, [&](const FusedOperation& operation) { return operation.loop.reduces && operation.a == value; });
  }
  static bool FitsLoop(const FusedOperation& operation, const FusedSpace& space, const FusedValues& values) {
    return operation.loop.row == nullptr || (space.row > 0 && values[operation.a].shape == space.whole);
  }
  static bool FitsRows(const FusedOperation& operation, const Shape& whole, const Shape& one_each_row,
                       const FusedValues& values) {
    if (operation.loop.reduces) return values[operation.a].shape == whole;
    if (operation.loop.row != nullptr) return false;
    bool follows_loop = false;
    for (int operand : {operation.a, operation.b}) {
      if (operand < 0) continue;
      const Shape& shape = values[operand].shape;
      if (!(shape == one_each_row) && shape.num_elements() != 1) return false;
      follows_loop |= values[operand].is_in_loop();
    }
    return follows_loop;
  }

  Status RunAlone(KernelContext& ctx, size_t index, FusedValues& values, std::vector<Tensor>& temporaries) const {
    const FusedOperation& operation = operations_[index];
    FusedValue& value = values[num_inputs_ + index];
    float* to = nullptr;
    if (operation.result >= 0) {
      WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(operation.result, value.shape));
      to = out->data<float>();
    } else {
      WEIR_ASSIGN_OR_RETURN(Tensor out, ctx.AllocateTemp(DType::kFloat, value.shape));
      to = temporaries.emplace_back(std::move(out)).data<float>();
    }
    value.data = to;
    const int64_t n = value.shape.num_elements();
    if (n == 0) return OkStatus();
    const FloatLoop& loop = operation.loop;
    const float* a = values[operation.a].data;
    if (loop.row != nullptr) {
      const Shape& shape = values[operation.a].shape;
      const int64_t row = shape.dim(shape.rank() - 1), step = loop.reduces ? 1 : row;
      ctx.ParallelFor(n / step, loop.cost_ns * static_cast<double>(row), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) loop.row(a + i * row, row, to + i * step);
      });
      return OkStatus();
    }
    if (operation.b < 0) {
      ctx.ParallelFor(n, loop.cost_ns,
                      [&](int64_t begin, int64_t end) { loop.unary(a + begin, to + begin, end - begin); });
      return OkStatus();
    }
    const float* b = values[operation.b].data;
    const Shape& as = loop.broadcasts ? values[operation.b].shape : value.shape;
    const Shape* shapes[] = {&values[operation.a].shape, &as};
    const BroadcastRuns runs(value.shape, shapes);
    ctx.ParallelFor(runs.rows(), 3 + loop.cost_ns * static_cast<double>(runs.run()), [&](int64_t begin, int64_t end) {
      runs.ForRows(begin, end, [&](int64_t at, const auto& offsets) {
        loop.binary(a + offsets[0], b + offsets[1], to + at, runs.run(), runs.step(0), runs.step(1));
      });
    });
    return OkStatus();
  }

  Status RunLoop(KernelContext& ctx, const FusedSpace& space, const FusedValues& values) const {
    absl::InlinedVector<FusedOperand, 16> operands;
    absl::InlinedVector<float*, 40> outputs(operations_.size(), nullptr);
    absl::InlinedVector<bool, 48> is_operand(values.size(), false);
    for (size_t i = 0; i < operations_.size(); ++i) {
      if (!values[num_inputs_ + i].is_in_loop()) continue;
      for (int operand : {operations_[i].a, operations_[i].b}) {
        if (operand < 0 || values[operand].is_in_loop() || is_operand[operand]) continue;
        is_operand[operand] = true;
        operands.emplace_back(operand, values[operand].data, values[operand].shape, space);
      }
    }
    if (operands.empty()) return OkStatus();
    WEIR_RETURN_IF_ERROR(AllocateResults(ctx, space, values, outputs));
    const int64_t n = space.whole.num_elements(), block_size = space.BlockSize(), room_size = std::min(block_size, n);
    ctx.ParallelFor(
        (n + block_size - 1) / block_size, cost_ns_ * static_cast<double>(block_size), [&](int64_t begin, int64_t end) {
          // Kept or on the stack, so that a repeated step allocates nothing.
          const size_t size = (operands.size() + static_cast<size_t>(num_places_)) * static_cast<size_t>(room_size);
          thread_local std::vector<float> large;
          float small[kSmallMemory];
          if (size > kSmallMemory && size > large.size()) large.resize(size);
          float* const memory = size > kSmallMemory ? large.data() : small;
          absl::InlinedVector<FusedView, 48> views(values.size());
          for (int64_t block = begin; block < end; ++block) {
            const int64_t at = block * block_size, count = std::min(block_size, n - at);
            float* room = memory + num_places_ * room_size;
            for (const FusedOperand& operand : operands) {
              if (block == begin || !operand.IsSameInAll(block_size)) {
                views[operand.value()] = operand.Block(at, count, room);
              }
              room += room_size;
            }
            RunBlock(space, values, outputs, at, count, memory, room_size, views);
          }
        });
    return OkStatus();
  }

  void RunBlock(const FusedSpace& space, const FusedValues& values, std::span<float* const> outputs, int64_t at,
                int64_t count, float* places, int64_t room_size, std::span<FusedView> views) const {
    for (size_t i = 0; i < operations_.size(); ++i) {
      const FusedValue& value = values[num_inputs_ + i];
      if (!value.is_in_loop()) continue;
      const FusedOperation& operation = operations_[i];
      const bool has_one_each_row = value.place == FusedValue::kOneEachRow;
      float* to = outputs[i] == nullptr ? places + operation.place * room_size
                                        : outputs[i] + (has_one_each_row ? at / space.row : at);
      const FusedView a = views[operation.a];
      const int64_t elements = has_one_each_row ? count / space.row : count;
      if (operation.loop.row != nullptr) {
        const int64_t step = has_one_each_row ? 1 : space.row;
        for (int64_t r = 0; r * space.row < count; ++r) {
          operation.loop.row(a.data + r * space.row, space.row, to + r * step);
        }
      } else if (operation.b < 0) {
        operation.loop.unary(a.data, to, elements);
      } else {
        RunBinary(operation.loop.binary, a, views[operation.b], to, elements, has_one_each_row ? 0 : space.row);
      }
      views[num_inputs_ + i] = {to, 1, has_one_each_row};
    }
  }

  // `row` is 0 if the result has one number each row itself, or if there are no rows.
  static void RunBinary(BinaryLoop loop, const FusedView& a, const FusedView& b, float* to, int64_t n, int64_t row) {
    if (row == 0 || !(a.has_one_each_row || b.has_one_each_row)) return loop(a.data, b.data, to, n, a.step, b.step);
    auto step_of = [](const FusedView& view) { return view.has_one_each_row ? 0 : view.step; };
    auto advance_of = [&](const FusedView& view) { return view.has_one_each_row ? 1 : view.step * row; };
    for (int64_t r = 0; r * row < n; ++r) {
      loop(a.data + r * advance_of(a), b.data + r * advance_of(b), to + r * row, row, step_of(a), step_of(b));
    }
  }

  // The last operation may write over an input that it is the last to read.
  Status AllocateResults(KernelContext& ctx, const FusedSpace& space, const FusedValues& values,
                         absl::InlinedVector<float*, 40>& outputs) const {
    absl::InlinedVector<int, 16> inputs;
    for (int i = 0; i < num_inputs_; ++i) {
      if (values[i].shape == space.whole) inputs.push_back(i);
    }
    for (size_t i = 0; i < operations_.size(); ++i) {
      const FusedValue& value = values[num_inputs_ + i];
      if (operations_[i].result < 0 || !value.is_in_loop()) continue;
      const bool may_forward = i + 1 == operations_.size() && value.place == FusedValue::kInLoop;
      WEIR_ASSIGN_OR_RETURN(Tensor * out, may_forward
                                              ? ctx.ForwardOrAllocateOutput(inputs, operations_[i].result, value.shape)
                                              : ctx.AllocateOutput(operations_[i].result, value.shape));
      outputs[i] = out->data<float>();
    }
    return OkStatus();
  }

  int num_inputs_ = 0;
  std::vector<std::string> names_;
  std::vector<FusedOperation> operations_;
  int num_places_ = 0;
  double cost_ns_ = 0;
  bool has_rows_ = false;
};

}  // namespace

void RegisterFusedElementwiseKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("_FusedElementwise").Types("T", TypeList<float>{}), MakeKernel<FusedElementwiseKernel>);
}

}  // namespace weir
