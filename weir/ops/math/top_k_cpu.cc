// The largest entries of each row.
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/vector.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

// Sorts the indices of n floats by radix: larger first, then lower index; NaN behind everything.
class FloatOrder {
 public:
  explicit FloatOrder(int64_t n) : items_(static_cast<size_t>(n)), other_(items_.size()) {}
  template <typename Index>
  void Sort(const float* x, std::vector<Index>& order) {
    for (size_t i = 0; i < items_.size(); ++i) items_[i] = {KeyOf(x[i]), static_cast<uint32_t>(i)};
    for (int shift = 0; shift < 32; shift += kBits) {
      size_t at[1 << kBits] = {};
      for (const Item& item : items_) ++at[item.key >> shift & kMask];
      size_t sum = 0;
      for (size_t& a : at) sum += std::exchange(a, sum);
      for (const Item& item : items_) other_[at[item.key >> shift & kMask]++] = item;
      items_.swap(other_);
    }
    for (size_t i = 0; i < items_.size(); ++i) order[i] = items_[i].index;
  }

 private:
  static constexpr int kBits = 11;
  static constexpr uint32_t kMask = (1 << kBits) - 1;
  struct Item {
    uint32_t key, index;
  };
  // In the order of the floats, downwards; zeros are equal.
  static uint32_t KeyOf(float x) {
    if (x != x) return ~0u;
    const uint32_t bits = std::bit_cast<uint32_t>(x == 0 ? 0.0f : x);
    return bits & 0x80000000u ? bits : ~(bits | 0x80000000u);
  }

  std::vector<Item> items_, other_;
};

constexpr int64_t kStride = 16;

// The first whole block of kStride elements from `i` on with one above the threshold; where the whole blocks end if
// there is none.
WEIR_VECTOR int64_t FindAbove(const float* x, int64_t i, int64_t n, float threshold) {
  for (; i + kStride <= n; i += kStride) {
    int above = 0;
    for (int64_t j = 0; j < kStride; ++j) above |= x[i + j] > threshold;
    if (above != 0) break;
  }
  return i;
}

// The first k of n elements in the order of `before`, where k is small: most elements are only compared with the last
// of the best so far.
template <typename T, typename Before>
void SelectFew(const T* x, int64_t n, int64_t k, Before before, std::vector<int64_t>& best) {
  int64_t count = 0;
  auto offer = [&](int64_t i) {
    if (count == k && !before(i, best[k - 1])) return;
    int64_t at = count < k ? count++ : k - 1;
    for (; at > 0 && before(i, best[at - 1]); --at) best[at] = best[at - 1];
    best[at] = i;
  };
  for (int64_t i = 0; i < n;) {
    if constexpr (std::is_same_v<T, float>) {
      // A NaN is above nothing, so while one is among the best every element is looked at.
      if (count == k && x[best[k - 1]] == x[best[k - 1]]) i = FindAbove(x, i, n, x[best[k - 1]]);
    }
    for (const int64_t end = std::min(n, i + kStride); i < end; ++i) offer(i);
  }
}

// Whether one of n is NaN; without a way out of the loop, so that many are looked at at once.
WEIR_VECTOR bool HasNaN(const float* x, int64_t n) {
  int found = 0;
  for (int64_t i = 0; i < n; ++i) found |= x[i] != x[i];
  return found != 0;
}
template <typename T>
bool HasNaN(const T* x, int64_t n) {
  return !std::is_integral_v<T> && std::any_of(x, x + n, [](T v) { return Widen(v) != Widen(v); });
}

// The best k of n as TensorFlow takes them, with a heap: without sorting they stay in the heap's order, and the
// comparison, which knows no order for NaN, decides where those go. REQUIRES: 0 < k < n, `order` has k + 1 places.
template <typename Before>
void TakeByHeap(int64_t n, int64_t k, bool sorted, Before before, std::vector<int64_t>& order) {
  const auto begin = order.begin(), end = begin + k + 1;
  std::iota(begin, end, int64_t{0});
  std::make_heap(begin, end, before);
  std::pop_heap(begin, end, before);
  for (int64_t i = k + 1; i < n; ++i) {
    if (!before(i, order[0])) continue;
    std::pop_heap(begin, begin + k, before);
    order[k - 1] = i;
    std::push_heap(begin, begin + k, before);
  }
  if (sorted) std::sort_heap(begin, begin + k, before);
}

class TopKKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<TopKKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->sorted_, init.Attr<bool>("sorted"));
    if (init.HasAttr("k")) {
      WEIR_ASSIGN_OR_RETURN(kernel->k_, init.Attr<int64_t>("k"));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    int64_t k = k_;
    if (ctx.num_inputs() == 2) {
      if (!ctx.input(1).shape().IsScalar()) {
        return InvalidArgument("k must be scalar, got shape ", ctx.input(1).shape().ToString());
      }
      WEIR_ASSIGN_OR_RETURN(k, IntScalar(ctx.input(1), "k"));
    }
    if (k < 0) return InvalidArgument("Need k >= 0, got ", k);
    if (x.rank() < 1) return InvalidArgument("input must be >= 1-D, got shape ", x.shape().ToString());
    const int64_t columns = x.dim(x.rank() - 1);
    if (columns < k) return InvalidArgument("input must have at least k columns. Had ", columns, ", needed ", k);
    Shape shape = x.shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(x.rank() - 1, k));
    WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(1, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t rows = x.num_elements() / columns;
    DispatchDType(x.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ctx.ParallelFor(rows, 2.0 * columns, [&](int64_t begin, int64_t end) {
        std::vector<int64_t> order(columns);
        // Most of a long row is sorted by radix.
        const bool by_radix =
            std::is_same_v<T, float> && columns >= 1024 && k > columns / 8 && columns < (int64_t{1} << 32);
        const bool few = k <= 64 && k <= columns / 4;
        FloatOrder radix(by_radix ? columns : 0);
        for (int64_t row = begin; row < end; ++row) {
          const T* from = x.data<T>() + row * columns;
          // Larger first, then lower index; NaN behind everything.
          auto before = [&](int64_t i, int64_t j) {
            auto a = Widen(from[i]), b = Widen(from[j]);
            bool a_nan = a != a, b_nan = b != b;
            if (a_nan != b_nan) return b_nan;
            if (a > b) return true;
            if (b > a) return false;
            return i < j;
          };
          auto plainly_before = [&](int64_t i, int64_t j) {
            auto a = Widen(from[i]), b = Widen(from[j]);
            return a > b || (!(a < b) && i < j);
          };
          const bool has_nan = HasNaN(from, columns);
          if ((has_nan || !sorted_) && k > 1 && k < columns) {
            TakeByHeap(columns, k, sorted_, plainly_before, order);
          } else if (has_nan && k > 1 && columns <= kMaxByInsertion) {
            SortByInsertion(from, order);
          } else if (by_radix) {
            if constexpr (std::is_same_v<T, float>) radix.Sort(from, order);
          } else if (few) {
            SelectFew(from, columns, k, before, order);
          } else {
            std::iota(order.begin(), order.end(), int64_t{0});
            std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
          }
          for (int64_t i = 0; i < k; ++i) {
            values->data<T>()[row * k + i] = from[order[i]];
            WriteIndex(*indices, row * k + i, order[i]);
          }
        }
      });
    });
    return OkStatus();
  }

 private:
  // Rows with NaN that are short enough are sorted as TensorFlow's standard library does it, where NaN stops an
  // element on its way forward. In longer ones NaN is behind everything.
  static constexpr int64_t kMaxByInsertion = 16;
  template <typename T>
  static void SortByInsertion(const T* from, std::vector<int64_t>& order) {
    std::iota(order.begin(), order.end(), int64_t{0});
    for (size_t i = 1; i < order.size(); ++i) {
      const int64_t moved = order[i];
      const auto value = Widen(from[moved]);
      size_t to = value > Widen(from[order[0]]) ? 0 : i;
      if (to != 0) {
        while (value > Widen(from[order[to - 1]])) --to;
      }
      std::copy_backward(order.begin() + to, order.begin() + i, order.begin() + i + 1);
      order[to] = moved;
    }
    for (size_t begin = 0, end; begin < order.size(); begin = end) {
      end = begin + 1;
      while (end < order.size() && from[order[begin]] == from[order[end]]) ++end;
      std::sort(order.begin() + begin, order.begin() + end);
    }
  }

  static void WriteIndex(Tensor& indices, int64_t at, int64_t value) {
    DispatchDType(indices.dtype(), TypeList<int32_t, int64_t, int16_t>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      indices.data<T>()[at] = static_cast<T>(value);
    });
  }

  bool sorted_ = true;
  int64_t k_ = 0;
};

}  // namespace

void RegisterTopKKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("TopKV2").Types("T", RealTypes{}), MakeKernel<TopKKernel>);
  registry.Add(KernelBuilder("TopK").Types("T", RealTypes{}), MakeKernel<TopKKernel>);
}

}  // namespace weir
