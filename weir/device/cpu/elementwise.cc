#include "weir/device/cpu/elementwise.h"

#include "weir/device/cpu/broadcast.h"
#include "weir/device/cpu/float_loops.h"

namespace weir {
namespace {

// Fewer elements than this are not worth asking the pool about.
constexpr int64_t kInlineElements = 4096;

class UnaryKernel : public Kernel {
 public:
  UnaryKernel(UnaryLoop loop, double cost_ns) : loop_(loop), cost_ns_(cost_ns) {}
  Status Compute(KernelContext& ctx) override { return RunUnary(ctx, loop_, cost_ns_); }

 private:
  const UnaryLoop loop_;
  const double cost_ns_;
};

class BinaryKernel : public Kernel {
 public:
  BinaryKernel(BinaryLoop loop, const ElementwiseOptions& options) : loop_(loop), options_(options) {}
  Status Compute(KernelContext& ctx) override { return RunBinary(ctx, loop_, options_); }

 private:
  const BinaryLoop loop_;
  const ElementwiseOptions options_;
};

template <typename Entry>
std::vector<DType> TypesOf(std::span<const Entry> table) {
  std::vector<DType> types;
  for (const Entry& entry : table) types.push_back(entry.dtype);
  return types;
}

template <typename Entry>
StatusOr<decltype(Entry::loop)> Find(std::span<const Entry> table, const KernelInit& init) {
  for (const Entry& entry : table) {
    if (entry.dtype == init.input_type(0) && entry.result == init.output_type(0)) return entry.loop;
  }
  return InvalidArgument("No OpKernel was registered to support Op '", init.schema().name, "' from ",
                         Name(init.input_type(0)), " to ", Name(init.output_type(0)));
}

// Registers the table of an op, under its type attribute if it has one.
template <typename KernelClass, typename Entry, typename Argument>
void RegisterTable(KernelRegistry& registry, std::string_view op, std::span<const Entry> table,
                   std::string_view type_attr, Argument argument) {
  KernelEntry def;
  def.op = op;
  if (!type_attr.empty()) def.constraints.push_back({std::string(type_attr), TypesOf(table)});
  def.factory = [table, argument](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    WEIR_ASSIGN_OR_RETURN(auto loop, FindLoop(table, init));
    return std::make_unique<KernelClass>(loop, argument);
  };
  registry.Register(std::move(def));
}

// The loop from floats to floats, if the table has one.
template <typename Entry>
decltype(Entry::loop) FloatLoopIn(std::span<const Entry> table) {
  for (const Entry& entry : table) {
    if (entry.dtype == DType::kFloat && entry.result == DType::kFloat) return entry.loop;
  }
  return nullptr;
}

Status RunBroadcast(KernelContext& ctx, BinaryLoop loop, const ElementwiseOptions& options) {
  const Tensor& a = ctx.input(0);
  const Tensor& b = ctx.input(1);
  WEIR_ASSIGN_OR_RETURN(Shape shape, BroadcastShape(a.shape(), b.shape()));
  if (shape.num_elements() == 0) return ctx.AllocateOutput(0, shape).status();
  if (options.check != nullptr) WEIR_RETURN_IF_ERROR(options.check(a, b));
  const Shape* operands[] = {&a.shape(), &b.shape()};
  BroadcastRuns runs(shape, operands);
  const int64_t a_size = SizeOf(a.dtype()), b_size = SizeOf(b.dtype());
  const char* a_data = static_cast<const char*>(a.raw_data());
  const char* b_data = static_cast<const char*>(b.raw_data());
  // An operand with as many elements as the output lines up with it, so its memory may become the output's.
  WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput({0, 1}, 0, shape));
  const int64_t out_size = SizeOf(out->dtype());
  char* out_data = static_cast<char*>(out->raw_data());
  const int a_step = runs.step(0), b_step = runs.step(1);
  if (runs.rows() == 1) {
    ctx.ParallelFor(runs.run(), options.cost_ns, [&](int64_t begin, int64_t end) {
      loop(a_data + begin * a_step * a_size, b_data + begin * b_step * b_size, out_data + begin * out_size, end - begin,
           a_step, b_step);
    });
    return OkStatus();
  }
  ctx.ParallelFor(runs.rows(), 3 + options.cost_ns * runs.run(), [&](int64_t begin, int64_t end) {
    runs.ForRows(begin, end, [&](int64_t to, const auto& offsets) {
      loop(a_data + offsets[0] * a_size, b_data + offsets[1] * b_size, out_data + to * out_size, runs.run(), a_step,
           b_step);
    });
  });
  return OkStatus();
}

}  // namespace

StatusOr<UnaryLoop> FindLoop(std::span<const UnaryEntry> table, const KernelInit& init) { return Find(table, init); }
StatusOr<BinaryLoop> FindLoop(std::span<const BinaryEntry> table, const KernelInit& init) { return Find(table, init); }

Status RunUnary(KernelContext& ctx, UnaryLoop loop, double cost_ns) {
  const Tensor& x = ctx.input(0);
  const char* from = static_cast<const char*>(x.raw_data());
  const int64_t n = x.num_elements();
  const int64_t x_size = static_cast<int64_t>(SizeOf(x.dtype()));
  // The shape lives in the input's record, which becomes the output's if the memory is taken over.
  WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput({0}, 0, x.shape()));
  char* to = static_cast<char*>(out->raw_data());
  if (n < kInlineElements) {
    loop(from, to, n);
    return OkStatus();
  }
  const int64_t out_size = static_cast<int64_t>(SizeOf(out->dtype()));
  ctx.ParallelFor(n, cost_ns,
                  [&](int64_t begin, int64_t end) { loop(from + begin * x_size, to + begin * out_size, end - begin); });
  return OkStatus();
}

Status RunBinary(KernelContext& ctx, BinaryLoop loop, const ElementwiseOptions& options) {
  const Tensor& a = ctx.input(0);
  const Tensor& b = ctx.input(1);
  const Shape &a_shape = a.shape(), &b_shape = b.shape();
  if (a_shape.rank() == 0 && b_shape.rank() == 0 && options.check == nullptr) {
    // Loop counters and learning rates: nothing to plan, and often nothing to allocate.
    Slot& slot = ctx.input_slot(0);
    if (slot.tensor.unique() && slot.tensor.dtype() == ctx.output_type(0)) {
      loop(slot.tensor.raw_data(), b.raw_data(), slot.tensor.raw_data(), 1, 1, 1);
      ctx.output_slot(0).tensor = std::move(slot.tensor);
      return OkStatus();
    }
  }
  const int64_t a_count = a_shape.num_elements(), b_count = b_shape.num_elements();
  const bool same = a_shape == b_shape;
  // A single element of no higher rank than the other operand is simply repeated.
  const bool b_single = b_count == 1 && b_shape.rank() <= a_shape.rank();
  const bool a_single = a_count == 1 && a_shape.rank() <= b_shape.rank();
  if (!same && !a_single && !b_single) return RunBroadcast(ctx, loop, options);
  const int a_step = same || b_single ? 1 : 0;
  const int b_step = same || !b_single ? 1 : 0;
  const int64_t n = a_step ? a_count : b_count;
  if (n > 0 && options.check != nullptr) [[unlikely]]
    WEIR_RETURN_IF_ERROR(options.check(a, b));
  const char* a_data = static_cast<const char*>(a.raw_data());
  const char* b_data = static_cast<const char*>(b.raw_data());
  const DType dtype = a.dtype(), b_dtype = b.dtype();
  // An operand whose memory is not taken over stays in its slot, so both stay readable.
  const int candidates[2] = {a_step ? 0 : 1, 1};
  WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput(std::span<const int>(candidates, same ? 2 : 1), 0,
                                                                  a_step ? a_shape : b_shape));
  char* to = static_cast<char*>(out->raw_data());
  if (n < kInlineElements) {
    loop(a_data, b_data, to, n, a_step, b_step);
    return OkStatus();
  }
  const int64_t a_size = SizeOf(dtype) * a_step, b_size = SizeOf(b_dtype) * b_step, out_size = SizeOf(out->dtype());
  ctx.ParallelFor(n, options.cost_ns, [&](int64_t begin, int64_t end) {
    loop(a_data + begin * a_size, b_data + begin * b_size, to + begin * out_size, end - begin, a_step, b_step);
  });
  return OkStatus();
}

void RegisterUnaryTable(KernelRegistry& registry, std::string_view op, std::span<const UnaryEntry> table,
                        const ElementwiseOptions& options) {
  RegisterTable<UnaryKernel>(registry, op, table, options.type_attr, options.cost_ns);
  if (UnaryLoop loop = FloatLoopIn(table)) OfferFloatLoop(op, {.unary = loop, .cost_ns = options.cost_ns});
}

void RegisterBinaryTable(KernelRegistry& registry, std::string_view op, std::span<const BinaryEntry> table,
                         const ElementwiseOptions& options) {
  RegisterTable<BinaryKernel>(registry, op, table, options.type_attr, options);
  // What is checked is about integers: divisors and exponents.
  if (BinaryLoop loop = FloatLoopIn(table)) OfferFloatLoop(op, {.binary = loop, .cost_ns = options.cost_ns});
}

}  // namespace weir
