#include "weir/ops/state/scatter_rows.h"

#include <algorithm>

#include "weir/ops/state/arithmetic.h"
#include "weir/tensor/copy_elements.h"

namespace weir::state {
namespace {

template <typename... Ts>
std::vector<DType> Numbers(TypeList<Ts...>) {
  return {kDTypeOf<Ts>...};
}

// Rows [first, first + count) of `base` only. They lie far apart in memory, so those to come are asked for early.
template <typename Op, typename T>
void ApplyWithin(int64_t first, int64_t count, std::span<const int64_t> rows, int64_t row_size, const T* update,
                 bool is_scalar, T* base) {
  constexpr size_t kAhead = 8;
  auto is_within = [&](size_t i) { return rows[i] >= first && rows[i] - first < count; };
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size() && is_within(i + kAhead)) __builtin_prefetch(base + rows[i + kAhead] * row_size, 1);
    if (!is_within(i)) continue;
    T* row = base + rows[i] * row_size;
    if (is_scalar) {
      for (int64_t j = 0; j < row_size; ++j) row[j] = Op::template Apply<T>(row[j], *update);
    } else {
      const T* source = update + static_cast<int64_t>(i) * row_size;
      for (int64_t j = 0; j < row_size; ++j) row[j] = Op::template Apply<T>(row[j], source[j]);
    }
  }
}

// Threads share the rows of `params`, not those of the updates: what comes to one row comes in order.
template <typename Op, typename Types>
void Apply(const KernelContext& ctx, Types types, std::span<const int64_t> rows, int64_t row_size,
           const Tensor& updates, bool is_scalar, Tensor& params) {
  constexpr int64_t kParts = 8;
  const int64_t num_rows = row_size > 0 ? params.num_elements() / row_size : 0;
  const int64_t part = (num_rows + kParts - 1) / kParts;
  const double cost = static_cast<double>(rows.size()) * (10 + 0.5 * static_cast<double>(row_size)) / kParts;
  DispatchDType(params.dtype(), types, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* update = updates.data<T>();
    T* base = params.data<T>();
    ctx.ParallelFor(kParts, cost, [&](int64_t begin, int64_t end) {
      ApplyWithin<Op, T>(begin * part, (end - begin) * part, rows, row_size, update, is_scalar, base);
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

}  // namespace weir::state
