#include "weir/ops/train/optimizer.h"

#include <cstring>

#include "weir/ops/train/locked_states.h"

namespace weir::train {
namespace {

using Check = OptimizerOptions::Check;

double RealValue(const Tensor& tensor) {
  double value = 0;
  DispatchDType(tensor.dtype(), FloatTypes{},
                [&](auto tag) { value = static_cast<double>(Widen(tensor.scalar<typename decltype(tag)::type>())); });
  return value;
}

// "lr is not a positive scalar: []" and its like.
Status CheckRange(Check check, std::string_view name, const Tensor& tensor) {
  double value = RealValue(tensor);
  std::string shape = tensor.shape().ToString();
  if (name == "lr" || name == "alpha") {
    if (value > 0) return OkStatus();
    if (check == Check::kFtrl) {
      return InvalidArgument("lr is not a positive scalar (or zero if multiply_linear_by_lr is set): ", shape);
    }
    return InvalidArgument(name, " is not a positive scalar: ", shape);
  }
  if (name == "lr_power") {
    return value <= 0 ? OkStatus() : InvalidArgument("lr_power is not a non-positive scalar: ", shape);
  }
  if (value >= 0) return OkStatus();
  return InvalidArgument(name == "l2_shrinkage" ? std::string_view("l2 shrinkage") : name,
                         " regularization strength is not a non-negative scalar: ", shape);
}

class OptimizerKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, int num_states,
                                                std::span<const UpdateEntry> table, const OptimizerOptions& options) {
    auto kernel = std::make_unique<OptimizerKernel>();
    kernel->num_states_ = num_states;
    kernel->check_ = options.check;
    kernel->all_rows_or_none_ = options.all_rows_or_none;
    WEIR_ASSIGN_OR_RETURN(kernel->dtype_, init.Attr<DType>("T"));
    bool flag = false;
    if (!options.flag.empty()) {
      WEIR_ASSIGN_OR_RETURN(flag, init.Attr<bool>(options.flag));
    }
    kernel->lr_may_be_zero_ = options.check == Check::kFtrl && flag;
    for (const UpdateEntry& entry : table) {
      if (entry.dtype == kernel->dtype_) kernel->loop_ = entry.loop[flag];
    }
    if (kernel->loop_ == nullptr) return Unimplemented("No update rule for type ", Name(kernel->dtype_));
    const auto& inputs = init.schema().inputs;
    for (int i = num_states; i < static_cast<int>(inputs.size()); ++i) {
      if (inputs[i].name == "grad" || inputs[i].name == "delta") {
        kernel->grad_ = i;
      } else if (inputs[i].name == "indices") {
        kernel->indices_ = i;
      } else {
        kernel->scalars_.push_back(i);
      }
    }
    if (kernel->grad_ < 0 || kernel->scalars_.size() > kMaxScalars) return Internal("Not the schema of an optimizer");
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(auto states, LockedStates::Lock(ctx, num_states_));
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor*> tensors, states->Tensors(ctx, num_states_, dtype_));
    for (int i = 1; i < num_states_; ++i) {
      if (tensors[i]->shape() != tensors[0]->shape()) return ShapesDiffer(ctx, i, *tensors[0], *tensors[i]);
    }
    const Tensor& grad = ctx.input(grad_);
    if (indices_ >= 0 && tensors[0]->rank() < 1) return InvalidArgument("var must be at least 1 dimensional");
    WEIR_RETURN_IF_ERROR(CheckScalars(ctx));
    if (indices_ < 0 && grad.shape() != tensors[0]->shape()) return ShapesDiffer(ctx, grad_, *tensors[0], grad);
    std::vector<int64_t> rows;
    Status bad_row;
    if (indices_ >= 0) {
      WEIR_RETURN_IF_ERROR(CheckRows(tensors[0]->shape(), grad.shape(), ctx.input(indices_)));
      bad_row = ReadRows(tensors[0]->dim(0), ctx.input(indices_), rows);
      if (!bad_row.ok() && (all_rows_or_none_ || rows.empty())) return bad_row;
    }
    alignas(16) char scalars[kMaxScalars * 16] = {};
    PackScalars(ctx, scalars);
    // Only now: a writable copy costs memory, and a failed step must leave every snapshot as it was.
    WEIR_RETURN_IF_ERROR(states->MakeWritable(ctx.device().allocator()));
    if (indices_ < 0) {
      UpdateAll(ctx, tensors, grad, scalars);
    } else {
      UpdateRows(tensors, grad, rows, scalars);
    }
    if (ctx.num_outputs() > 0) ctx.ForwardRefInput(0, 0);
    return bad_row;
  }

 private:
  double cost_ns() const { return 2.0 * num_states_; }  // of an element
  Status CheckScalars(KernelContext& ctx) const {
    for (int i : scalars_) {
      const std::string& name = ctx.node().schema->inputs[i].name;
      if (!ctx.input(i).shape().IsScalar()) {
        return InvalidArgument(name, " is not a scalar: ", ctx.input(i).shape().ToString());
      }
      if (check_ == Check::kNone || (lr_may_be_zero_ && name == "lr" && RealValue(ctx.input(i)) == 0)) continue;
      WEIR_RETURN_IF_ERROR(CheckRange(check_, name, ctx.input(i)));
    }
    return OkStatus();
  }

  // The rows in front of the first that is not there, and an error for that.
  static Status ReadRows(int64_t limit, const Tensor& indices, std::vector<int64_t>& rows) {
    DispatchDType(indices.dtype(), IndexTypes{}, [&](auto tag) {
      auto values = indices.span<typename decltype(tag)::type>();
      rows.assign(values.begin(), values.end());
    });
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] >= 0 && rows[i] < limit) continue;
      Status bad = InvalidArgument("Index ", rows[i], " at offset ", i, " in indices is out of range");
      rows.resize(i);
      return bad;
    }
    return OkStatus();
  }

  // One after the other, all of the variable's type.
  void PackScalars(KernelContext& ctx, char* out) const {
    size_t size = SizeOf(dtype_);
    for (int i : scalars_) {
      const Tensor& scalar = ctx.input(i);
      if (scalar.dtype() == dtype_) {
        std::memcpy(out, scalar.raw_data(), size);
      } else {
        double step = static_cast<double>(scalar.scalar<int64_t>());
        DispatchDType(dtype_, TypeList<float, double>{}, [&](auto tag) {
          auto value = static_cast<typename decltype(tag)::type>(step);
          std::memcpy(out, &value, sizeof(value));
        });
      }
      out += size;
    }
  }

  void UpdateAll(KernelContext& ctx, const std::vector<Tensor*>& tensors, const Tensor& grad,
                 const char* scalars) const {
    size_t size = SizeOf(dtype_);
    ctx.ParallelFor(grad.num_elements(), cost_ns(), [&](int64_t begin, int64_t end) {
      void* states[kMaxStates];
      for (int k = 0; k < num_states_; ++k) states[k] = static_cast<char*>(tensors[k]->raw_data()) + begin * size;
      loop_(states, static_cast<const char*>(grad.raw_data()) + begin * size, end - begin, scalars);
    });
  }

  // In the order of the indices: a row that is named twice is updated twice.
  void UpdateRows(const std::vector<Tensor*>& tensors, const Tensor& grad, const std::vector<int64_t>& rows,
                  const char* scalars) const {
    if (grad.num_elements() == 0) return;
    int64_t row_size = grad.num_elements() / grad.dim(0);
    size_t row_bytes = static_cast<size_t>(row_size) * SizeOf(dtype_);
    const char* from = static_cast<const char*>(grad.raw_data());
    for (int64_t row : rows) {
      void* states[kMaxStates];
      for (int k = 0; k < num_states_; ++k) states[k] = static_cast<char*>(tensors[k]->raw_data()) + row * row_bytes;
      loop_(states, from, row_size, scalars);
      from += row_bytes;
    }
  }

  int num_states_ = 0;
  DType dtype_ = DType::kInvalid;
  Check check_ = Check::kNone;
  bool lr_may_be_zero_ = false;
  bool all_rows_or_none_ = false;
  UpdateLoop loop_ = nullptr;
  int grad_ = -1;
  int indices_ = -1;
  std::vector<int> scalars_;
};

}  // namespace

Status ShapesDiffer(KernelContext& ctx, int input, const Tensor& var, const Tensor& other) {
  return InvalidArgument("var and ", ctx.node().schema->inputs[input].name, " do not have the same shape",
                         var.shape().ToString(), " ", other.shape().ToString());
}

Status CheckRows(const Shape& var, const Shape& grad, const Tensor& indices) {
  if (!indices.shape().IsVector()) return InvalidArgument("indices must be one-dimensional");
  if (grad.rank() != var.rank()) {
    return InvalidArgument("var and grad must match in rank, got ", var.ToString(), " and ", grad.ToString());
  }
  for (int d = 1; d < var.rank(); ++d) {
    if (var.dim(d) != grad.dim(d)) return InvalidArgument("var and grad must match in dimension ", d);
  }
  if (grad.dim(0) != indices.dim(0)) {
    return InvalidArgument("grad must be the same size as indices in the first dimension.");
  }
  return OkStatus();
}

void RegisterOptimizerTable(KernelRegistry& registry, std::string_view op, int num_states,
                            std::span<const UpdateEntry> table, const OptimizerOptions& options) {
  std::vector<DType> types;
  for (const UpdateEntry& entry : table) types.push_back(entry.dtype);
  registry.Add(KernelBuilder(op).Types("T", std::move(types)),
               [=](const KernelInit& init) { return OptimizerKernel::Make(init, num_states, table, options); });
}

}  // namespace weir::train
