// Sets of values: Unique and its variants, ListDiff.
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/kernel_registry.h"
#include "weir/framework/scratch.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

using UniqueTypes = decltype(RealTypes{} + TypeList<bool, std::string>{});

template <typename T>
size_t HashOf(const T& x) {
  if constexpr (std::is_same_v<T, std::string>) {
    return absl::Hash<std::string>{}(x);
  } else {
    auto wide = Widen(x);
    return absl::Hash<decltype(wide)>{}(wide == 0 ? decltype(wide)(0) : wide);  // -0 is 0
  }
}

// Slice i of a [outer, n, inner] tensor, compared by value; a NaN equals nothing.
template <typename T>
struct Slices {
  const T* data;
  int64_t outer, n, inner;

  template <typename Body>
  void ForEach(int64_t i, Body&& body) const {
    for (int64_t o = 0; o < outer && inner > 0; ++o) {
      for (int64_t k = 0; k < inner; ++k) body(data[(o * n + i) * inner + k]);
    }
  }
  size_t Hash(int64_t i) const {
    size_t hash = 0;
    ForEach(i, [&](const T& x) { hash = hash * 1000003 ^ HashOf(x); });
    return hash;
  }
  bool Equal(int64_t i, int64_t j) const {
    for (int64_t o = 0; o < outer && inner > 0; ++o) {
      for (int64_t k = 0; k < inner; ++k) {
        if (!(data[(o * n + i) * inner + k] == data[(o * n + j) * inner + k])) return false;
      }
    }
    return true;
  }
};

// The first occurrence of each distinct slice, and for each slice the number of its first.
struct Distinct {
  std::vector<int64_t> firsts, number, counts;
};

template <typename T>
Distinct FindDistinct(const Slices<T>& slices) {
  Distinct out;
  absl::flat_hash_map<size_t, std::vector<int64_t>> seen;  // numbers by hash
  for (int64_t i = 0; i < slices.n; ++i) {
    std::vector<int64_t>& bucket = seen[slices.Hash(i)];
    int64_t number = -1;
    for (int64_t candidate : bucket) {
      if (slices.Equal(out.firsts[candidate], i)) {
        number = candidate;
        break;
      }
    }
    if (number < 0) {
      number = static_cast<int64_t>(out.firsts.size());
      out.firsts.push_back(i);
      out.counts.push_back(0);
      bucket.push_back(number);
    }
    out.number.push_back(number);
    ++out.counts[number];
  }
  return out;
}

Status WriteInts(KernelContext& ctx, int output, const std::vector<int64_t>& values) {
  WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(output, Shape({static_cast<int64_t>(values.size())})));
  DispatchDType(out->dtype(), IndexTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < values.size(); ++i) out->data<T>()[i] = static_cast<T>(values[i]);
  });
  return OkStatus();
}

class UniqueKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0);
    int axis = 0;
    if (ctx.num_inputs() == 1) {
      if (!x.shape().IsVector()) return InvalidArgument("unique expects a 1D vector.");
    } else {
      WEIR_ASSIGN_OR_RETURN(Dims axes, IntElements(ctx.input(1), "axis"));
      if (ctx.input(1).rank() > 1) return InvalidArgument("axis expects a 1D vector.");
      if (axes.size() > 1) return InvalidArgument("axis does not support input tensors larger than 1 elements");
      if (axes.empty()) {
        if (!x.shape().IsVector()) return InvalidArgument("unique expects a 1D vector.");
      } else {
        int64_t given = axes[0] < 0 ? axes[0] + x.rank() : axes[0];
        if (given < 0 || given >= x.rank()) {
          return InvalidArgument("axis has to be between [0, ", x.rank(), ")");
        }
        axis = static_cast<int>(given);
      }
    }
    WEIR_RETURN_IF_ERROR(CheckScratch(x.dim(axis), 2 * sizeof(int64_t)));
    Distinct distinct;
    const int64_t outer = x.shape().Slice(0, axis).num_elements();
    const int64_t inner = x.shape().Slice(axis + 1, x.rank()).num_elements();
    DispatchDType(x.dtype(), UniqueTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      distinct = FindDistinct(Slices<T>{x.data<T>(), outer, x.dim(axis), inner});
    });
    Shape shape = x.shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(axis, static_cast<int64_t>(distinct.firsts.size())));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const int64_t size = static_cast<int64_t>(SizeOf(x.dtype())), kept = shape.dim(axis);
    for (int64_t o = 0; o < outer && out->num_elements() > 0; ++o) {
      for (int64_t i = 0; i < kept; ++i) {
        CopyElements(x.dtype(),
                     static_cast<const char*>(x.raw_data()) + (o * x.dim(axis) + distinct.firsts[i]) * inner * size,
                     static_cast<char*>(out->raw_data()) + (o * kept + i) * inner * size, inner);
      }
    }
    WEIR_RETURN_IF_ERROR(WriteInts(ctx, 1, distinct.number));
    if (ctx.num_outputs() == 3) WEIR_RETURN_IF_ERROR(WriteInts(ctx, 2, distinct.counts));
    return OkStatus();
  }
};

// What is in x and not in y, in x's order, and where.
class ListDiffKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0), y = ctx.input(1);
    if (!x.shape().IsVector()) return InvalidArgument("x should be a 1D vector.");
    if (!y.shape().IsVector()) return InvalidArgument("y should be a 1D vector.");
    std::vector<int64_t> kept;
    DispatchDType(x.dtype(), UniqueTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      absl::flat_hash_map<size_t, std::vector<int64_t>> dropped;
      for (int64_t j = 0; j < y.num_elements(); ++j) dropped[HashOf(y.data<T>()[j])].push_back(j);
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        auto found = dropped.find(HashOf(x.data<T>()[i]));
        bool drop = false;
        if (found != dropped.end()) {
          for (int64_t j : found->second) drop = drop || y.data<T>()[j] == x.data<T>()[i];
        }
        if (!drop) kept.push_back(i);
      }
    });
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(kept.size())})));
    const int64_t size = static_cast<int64_t>(SizeOf(x.dtype()));
    for (size_t i = 0; i < kept.size(); ++i) {
      CopyElements(x.dtype(), static_cast<const char*>(x.raw_data()) + kept[i] * size,
                   static_cast<char*>(out->raw_data()) + static_cast<int64_t>(i) * size, 1);
    }
    return WriteInts(ctx, 1, kept);
  }
};

}  // namespace

void RegisterUniqueKernels(KernelRegistry& registry) {
  for (std::string_view op : {"Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"}) {
    registry.Add(KernelBuilder(op).Types("T", UniqueTypes{}), MakeKernel<UniqueKernel>);
  }
  registry.Add(KernelBuilder("ListDiff").Types("T", UniqueTypes{}), MakeKernel<ListDiffKernel>);
}

}  // namespace weir
