#include "weir/ops/state/scatter_rows.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "weir/ops/state/arithmetic.h"
#include "weir/tensor/copy_elements.h"

namespace weir::state {
namespace {

template <typename... Ts>
std::vector<DType> Numbers(TypeList<Ts...>) {
  return {kDTypeOf<Ts>...};
}

// Rows of a tensor, dealt out to threads in parts. Threads share parts of the rows, not of the updates: so what comes
// to one row comes in order, whoever brings it.
class Parts {
 public:
  explicit Parts(int threads) : count_(std::bit_ceil(static_cast<uint64_t>(std::max(threads, 1)))) {}
  int64_t count() const { return static_cast<int64_t>(count_); }
  // Which updates come to parts [begin, end), in order; those of negative rows to none.
  std::vector<size_t> Updates(std::span<const int64_t> rows, int64_t begin, int64_t end) const {
    // Neighbours, often together busy or idle, in different parts; but not so close that their memory is.
    constexpr int kTogether = 6;  // 64 rows
    std::vector<size_t> out(rows.size() + 1);
    size_t size = 0;
    for (size_t i = 0; i < rows.size(); ++i) {  // whether it counts is not to be foreseen, so there is no branch
      const auto part = static_cast<int64_t>((static_cast<uint64_t>(rows[i]) >> kTogether) & (count_ - 1));
      out[size] = i;
      size += static_cast<size_t>(rows[i] >= 0) & static_cast<size_t>(part >= begin) & static_cast<size_t>(part < end);
    }
    out.resize(size);
    return out;
  }

 private:
  const uint64_t count_;  // a power of two
};

// Asks for the first lines of a row.
inline void Prefetch(const void* row, size_t bytes) {
  constexpr size_t kLine = 64;
  const char* first = static_cast<const char*>(row);
  for (size_t at = 0; at < std::min(bytes, 4 * kLine); at += kLine) __builtin_prefetch(first + at, 1);
}

// Calls update(row, i) for each i in order with row rows[i] of `base`.
template <typename T, typename UpdateRow>
void ForRows(const KernelContext& ctx, std::span<const int64_t> rows, int64_t row_size, T* base, UpdateRow update) {
  const Parts parts(ctx.step().intra_op->num_threads());
  const double cost = static_cast<double>(rows.size()) * (10 + 0.5 * static_cast<double>(row_size)) /
                      static_cast<double>(parts.count());
  ctx.ParallelFor(parts.count(), cost, [&](int64_t begin, int64_t end) {
    constexpr size_t kAhead = 12;  // rows lie far apart in memory, so those to come are asked for early
    const std::vector<size_t> own = parts.Updates(rows, begin, end);
    for (size_t k = 0; k < own.size(); ++k) {
      if (k + kAhead < own.size()) {
        Prefetch(base + rows[own[k + kAhead]] * row_size, static_cast<size_t>(row_size) * sizeof(T));
      }
      update(base + rows[own[k]] * row_size, static_cast<int64_t>(own[k]));
    }
  });
}

template <typename Op, typename Types>
void Apply(const KernelContext& ctx, Types types, std::span<const int64_t> rows, int64_t row_size,
           const Tensor& updates, bool is_scalar, Tensor& params) {
  if (params.num_elements() == 0) return;
  DispatchDType(params.dtype(), types, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* update = updates.data<T>();
    ForRows(ctx, rows, row_size, params.data<T>(), [=](T* row, int64_t i) {
      if (is_scalar) {
        for (int64_t j = 0; j < row_size; ++j) row[j] = Op::template Apply<T>(row[j], *update);
      } else {
        const T* source = update + i * row_size;
        for (int64_t j = 0; j < row_size; ++j) row[j] = Op::template Apply<T>(row[j], source[j]);
      }
    });
  });
}

void Update(std::span<const int64_t> rows, int64_t row_size, const Tensor& updates, bool is_scalar, Tensor& params) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    if (!is_scalar) {
      CopyElements(updates, static_cast<int64_t>(i) * row_size, params, rows[i] * row_size, row_size);
    } else {
      for (int64_t j = 0; j < row_size; ++j) CopyElements(updates, 0, params, rows[i] * row_size + j, 1);
    }
  }
}

bool HasZero(const Tensor& updates) {
  bool found = false;
  DispatchDType(updates.dtype(), IntegerTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto values = updates.span<T>();
    found = std::find(values.begin(), values.end(), T(0)) != values.end();
  });
  return found;
}

}  // namespace

std::vector<DType> ScatterTypes(ScatterOp op) {
  switch (op) {
    case ScatterOp::kUpdate:
      return Numbers(AllTypes{});
    case ScatterOp::kMin:
    case ScatterOp::kMax:
      return Numbers(RealTypes{});
    default:
      return Numbers(NumberTypes{});
  }
}

Status ScatterRows(const KernelContext& ctx, ScatterOp op, std::span<const int64_t> rows, int64_t row_size,
                   const Tensor& updates, bool is_scalar, Tensor& params) {
  switch (op) {
    case ScatterOp::kUpdate:
      Update(rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kAdd:
      Apply<AddOp>(ctx, NumberTypes{} + TypeList<bool>{}, rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kSub:
      Apply<SubOp>(ctx, NumberTypes{}, rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kMul:
      Apply<MulOp>(ctx, NumberTypes{}, rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kDiv:
      if (HasZero(updates)) return InvalidArgument("updates must not contain 0");
      Apply<DivOp>(ctx, NumberTypes{}, rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kMin:
      Apply<MinOp>(ctx, RealTypes{}, rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kMax:
      Apply<MaxOp>(ctx, RealTypes{}, rows, row_size, updates, is_scalar, params);
      break;
  }
  return OkStatus();
}

void SubtractScaledRows(const KernelContext& ctx, std::span<const int64_t> rows, int64_t row_size,
                        const Tensor& updates, float scale, Tensor& params) {
  if (params.num_elements() == 0) return;
  const float* update = updates.data<float>();
  ForRows(ctx, rows, row_size, params.data<float>(), [=](float* row, int64_t i) {
    const float* source = update + i * row_size;
    // The product is rounded by itself, as that of a Mul is.
    for (int64_t j = 0; j < row_size; ++j) row[j] -= source[j] * scale;
  });
}

}  // namespace weir::state
