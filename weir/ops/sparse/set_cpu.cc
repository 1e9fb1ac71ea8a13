// Sets: the last dimension of a tensor holds the members, those before it tell the sets apart.
#include <algorithm>
#include <map>
#include <set>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/sparse/register.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {
namespace {

using SetTypes = TypeList<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, std::string>;

// The sets of one input. Only sets with members are kept, by the number of their group.
template <typename T>
struct Sets {
  Shape groups;
  std::map<int64_t, std::set<T>> members;
};

Status CheckRank(const Shape& shape) {
  if (shape.rank() >= 2) return OkStatus();
  return InvalidArgument("Shape ", shape.ToString(), " has rank ", shape.rank(), " < 2");
}

template <typename T>
StatusOr<Sets<T>> DenseSets(const Tensor& tensor) {
  WEIR_RETURN_IF_ERROR(CheckRank(tensor.shape()));
  Sets<T> out{tensor.shape().Slice(0, tensor.rank() - 1), {}};
  const int64_t size = tensor.dim(tensor.rank() - 1);
  for (int64_t group = 0; size > 0 && group < out.groups.num_elements(); ++group) {
    const T* row = tensor.data<T>() + group * size;
    out.members[group] = std::set<T>(row, row + size);
  }
  return out;
}

template <typename T>
StatusOr<Sets<T>> SparseSets(KernelContext& ctx, int first, bool ordered) {
  WEIR_ASSIGN_OR_RETURN(SparseInput input, ReadSparse(ctx, first, ordered));
  WEIR_RETURN_IF_ERROR(CheckRank(input.shape));
  Sets<T> out{input.shape.Slice(0, input.rank() - 1), {}};
  for (int64_t i = 0; i < input.count(); ++i) {
    int64_t group = 0;
    for (int d = 0; d + 1 < input.rank(); ++d) group = group * input.shape.dim(d) + input.index(i)[d];
    out.members[group].insert(input.values.data<T>()[i]);
  }
  return out;
}

enum class Operation { kLess, kGreater, kIntersection, kUnion };

template <typename T>
std::vector<T> Combine(Operation operation, const std::set<T>& a, const std::set<T>& b) {
  std::vector<T> out;
  auto end = std::back_inserter(out);
  switch (operation) {
    case Operation::kLess:
      std::set_difference(a.begin(), a.end(), b.begin(), b.end(), end);
      break;
    case Operation::kGreater:
      std::set_difference(b.begin(), b.end(), a.begin(), a.end(), end);
      break;
    case Operation::kIntersection:
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), end);
      break;
    case Operation::kUnion:
      std::set_union(a.begin(), a.end(), b.begin(), b.end(), end);
      break;
  }
  return out;
}

template <typename T>
Status PutResult(KernelContext& ctx, const Shape& groups, const std::map<int64_t, std::vector<T>>& results) {
  int64_t count = 0, longest = 0;
  for (const auto& [group, members] : results) {
    count += static_cast<int64_t>(members.size());
    longest = std::max(longest, static_cast<int64_t>(members.size()));
  }
  const int rank = groups.rank() + 1;
  WEIR_ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape({count, rank})));
  WEIR_ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape({count})));
  int64_t row = 0;
  for (const auto& [group, members] : results) {
    for (size_t i = 0; i < members.size(); ++i, ++row) {
      int64_t* index = indices->data<int64_t>() + row * rank;
      index[rank - 1] = static_cast<int64_t>(i);
      int64_t left = group;
      for (int d = rank - 2; d >= 0; --d) {
        index[d] = left % groups.dim(d);
        left /= groups.dim(d);
      }
      values->data<T>()[row] = members[i];
    }
  }
  Shape shape = groups;
  WEIR_RETURN_IF_ERROR(shape.AddDim(longest));
  ctx.set_output(2, ShapeVector(shape));
  return OkStatus();
}

class SetOperationKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SetOperationKernel>();
    WEIR_ASSIGN_OR_RETURN(std::string name, init.Attr<std::string>("set_operation"));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name == "a-b") {
      kernel->operation_ = Operation::kLess;
    } else if (name == "b-a") {
      kernel->operation_ = Operation::kGreater;
    } else if (name == "intersection") {
      kernel->operation_ = Operation::kIntersection;
    } else if (name == "union") {
      kernel->operation_ = Operation::kUnion;
    } else {
      return InvalidArgument("Invalid set_operation ", name, ".");
    }
    WEIR_ASSIGN_OR_RETURN(kernel->ordered_, init.Attr<bool>("validate_indices"));
    kernel->first_is_sparse_ = init.schema().name == "SparseToSparseSetOperation";
    kernel->second_is_sparse_ = init.schema().name != "DenseToDenseSetOperation";
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    Status status = Unimplemented("Sets of ", Name(ctx.output_type(1)));
    DispatchDType(ctx.output_type(1), SetTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      status = Run<T>(ctx);
    });
    return status;
  }

 private:
  template <typename T>
  Status Run(KernelContext& ctx) const {
    WEIR_ASSIGN_OR_RETURN(Sets<T> a, first_is_sparse_ ? SparseSets<T>(ctx, 0, ordered_) : DenseSets<T>(ctx.input(0)));
    const int second = first_is_sparse_ ? 3 : 1;
    WEIR_ASSIGN_OR_RETURN(Sets<T> b,
                          second_is_sparse_ ? SparseSets<T>(ctx, second, ordered_) : DenseSets<T>(ctx.input(second)));
    if (a.groups != b.groups) {
      return InvalidArgument("Mismatched shapes ", a.groups.ToString(), " vs ", b.groups.ToString());
    }
    std::map<int64_t, std::vector<T>> results;
    const std::set<T> none;
    for (const auto& [group, members] : a.members) {
      auto other = b.members.find(group);
      results[group] = Combine(operation_, members, other == b.members.end() ? none : other->second);
    }
    for (const auto& [group, members] : b.members) {
      if (!a.members.contains(group)) results[group] = Combine(operation_, none, members);
    }
    return PutResult(ctx, a.groups, results);
  }

  Operation operation_ = Operation::kUnion;
  bool ordered_ = true, first_is_sparse_ = false, second_is_sparse_ = false;
};

class SetSizeKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SetSizeKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->ordered_, init.Attr<bool>("validate_indices"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& shape = ctx.input(2);
    if (shape.num_elements() < 2) return InvalidArgument("Invalid rank ", shape.num_elements(), ".");
    Status status = Unimplemented("Sets of ", Name(ctx.input(1).dtype()));
    DispatchDType(ctx.input(1).dtype(), SetTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      status = Run<T>(ctx);
    });
    return status;
  }

 private:
  template <typename T>
  Status Run(KernelContext& ctx) const {
    WEIR_ASSIGN_OR_RETURN(Sets<T> sets, SparseSets<T>(ctx, 0, ordered_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sets.groups));
    std::fill_n(out->data<int32_t>(), out->num_elements(), 0);
    for (const auto& [group, members] : sets.members) {
      out->data<int32_t>()[group] = static_cast<int32_t>(members.size());
    }
    return OkStatus();
  }

  bool ordered_ = true;
};

}  // namespace

void RegisterSetKernels(KernelRegistry& registry) {
  for (const char* op : {"DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation"}) {
    registry.Add(KernelBuilder(op), MakeKernel<SetOperationKernel>);
  }
  registry.Add(KernelBuilder("SetSize"), MakeKernel<SetSizeKernel>);
}

}  // namespace weir
