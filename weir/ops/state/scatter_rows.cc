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

template <typename Op, typename Types>
void Apply(Types types, std::span<const int64_t> rows, int64_t row_size, const Tensor& updates, bool is_scalar,
           Tensor& params) {
  DispatchDType(params.dtype(), types, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* update = updates.data<T>();
    T* base = params.data<T>();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] < 0) continue;
      T* row = base + rows[i] * row_size;
      if (is_scalar) {
        for (int64_t j = 0; j < row_size; ++j) row[j] = Op::template Apply<T>(row[j], *update);
      } else {
        const T* source = update + static_cast<int64_t>(i) * row_size;
        for (int64_t j = 0; j < row_size; ++j) row[j] = Op::template Apply<T>(row[j], source[j]);
      }
    }
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

Status ScatterRows(ScatterOp op, std::span<const int64_t> rows, int64_t row_size, const Tensor& updates, bool is_scalar,
                   Tensor& params) {
  switch (op) {
    case ScatterOp::kUpdate:
      Update(rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kAdd:
      Apply<AddOp>(NumberTypes{} + TypeList<bool>{}, rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kSub:
      Apply<SubOp>(NumberTypes{}, rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kMul:
      Apply<MulOp>(NumberTypes{}, rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kDiv:
      if (HasZero(updates)) return InvalidArgument("updates must not contain 0");
      Apply<DivOp>(NumberTypes{}, rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kMin:
      Apply<MinOp>(RealTypes{}, rows, row_size, updates, is_scalar, params);
      break;
    case ScatterOp::kMax:
      Apply<MaxOp>(RealTypes{}, rows, row_size, updates, is_scalar, params);
      break;
  }
  return OkStatus();
}

}  // namespace weir::state
