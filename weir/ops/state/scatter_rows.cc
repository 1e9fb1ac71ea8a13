#include "weir/ops/state/scatter_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weir/ops/state/arithmetic.h"
#include "weir/tensor/copy_elements.h"

namespace weir::state {
namespace {

template <typename... Ts>
std::vector<DType> Numbers(TypeList<Ts...>) {
  return {kDTypeOf<Ts>...};
}

// Which updates come to which part of the rows, each part's in order. Threads share parts of the rows, not of the
// updates: so what comes to one row comes in order, whoever brings it.
class Parts {
 public:
  Parts(std::span<const int64_t> rows, int64_t num_rows, int count) : ends_(static_cast<size_t>(count)) {
    // A power of two, so that a shift finds the part.
    while ((num_rows - 1) >> shift_ >= count) ++shift_;
    for (int64_t row : rows) {
      if (row >= 0) ++ends_[static_cast<size_t>(row >> shift_)];
    }
    size_t begin = 0;
    for (size_t& end : ends_) begin += std::exchange(end, begin);
    order_.resize(begin);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= 0) order_[ends_[static_cast<size_t>(rows[i] >> shift_)]++] = i;
    }
  }
  std::span<const size_t> Updates(int64_t begin_part, int64_t end_part) const {
    const size_t begin = begin_part == 0 ? 0 : ends_[static_cast<size_t>(begin_part - 1)];
    return std::span(order_).subspan(begin, ends_[static_cast<size_t>(end_part - 1)] - begin);
  }

 private:
  int shift_ = 0;
  std::vector<size_t> ends_;  // of each part in order_
  std::vector<size_t> order_;
};

template <typename Op, typename Types>
void Apply(const KernelContext& ctx, Types types, std::span<const int64_t> rows, int64_t row_size,
           const Tensor& updates, bool is_scalar, Tensor& params) {
  if (params.num_elements() == 0) return;
  constexpr int kParts = 8;
  const Parts parts(rows, params.num_elements() / row_size, kParts);
  const double cost = static_cast<double>(rows.size()) * (10 + 0.5 * static_cast<double>(row_size)) / kParts;
  DispatchDType(params.dtype(), types, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* update = updates.data<T>();
    T* base = params.data<T>();
    ctx.ParallelFor(kParts, cost, [&](int64_t begin, int64_t end) {
      constexpr size_t kAhead = 8;  // rows lie far apart in memory, so those to come are asked for early
      const std::span<const size_t> own = parts.Updates(begin, end);
      for (size_t k = 0; k < own.size(); ++k) {
        if (k + kAhead < own.size()) __builtin_prefetch(base + rows[own[k + kAhead]] * row_size, 1);
        T* row = base + rows[own[k]] * row_size;
        if (is_scalar) {
          for (int64_t j = 0; j < row_size; ++j) row[j] = Op::template Apply<T>(row[j], *update);
        } else {
          const T* source = update + static_cast<int64_t>(own[k]) * row_size;
          for (int64_t j = 0; j < row_size; ++j) row[j] = Op::template Apply<T>(row[j], source[j]);
        }
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

}  // namespace weir::state
