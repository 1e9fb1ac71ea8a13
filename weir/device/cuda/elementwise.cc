#include "weir/device/cuda/elementwise.h"

#include <algorithm>

namespace weir::cuda {
namespace {

// The result's dimensions with those joined along which every operand moves alike, and the operands' strides over them.
struct Joined {
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;  // of each operand; 0: stays
};

Joined Join(std::span<const ElementwiseOperand> inputs, const std::vector<bool>& wanted, const Shape& shape) {
  Joined joined;
  std::vector<std::vector<int64_t>> strides;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!wanted[i]) continue;
    const Shape& operand = inputs[i].shape;
    std::vector<int64_t> each(shape.rank(), 0);
    int64_t stride = 1;
    for (int d = operand.rank() - 1, at = shape.rank() - 1; d >= 0; --d, --at) {
      if (operand.dim(d) != 1) each[at] = stride;
      stride *= operand.dim(d);
    }
    strides.push_back(std::move(each));
  }
  joined.strides.resize(strides.size());
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) == 1) continue;
    bool joins = !joined.dims.empty();
    for (size_t i = 0; i < strides.size() && joins; ++i) {
      joins = joined.strides[i].back() == strides[i][d] * shape.dim(d);
    }
    if (joins) {
      joined.dims.back() *= shape.dim(d);
      for (size_t i = 0; i < strides.size(); ++i) joined.strides[i].back() = strides[i][d];
    } else {
      joined.dims.push_back(shape.dim(d));
      for (size_t i = 0; i < strides.size(); ++i) joined.strides[i].push_back(strides[i][d]);
    }
  }
  return joined;
}

// Elements that fit a load of 16 bytes, if all tensors that are read or written in order allow it, and rows of `row`
// elements, if it is not 0, are divided by it.
int VectorSize(const std::vector<Alignment>& alignments, std::span<const ElementwiseOperand> inputs,
               std::span<Tensor* const> outputs, int64_t n, int64_t row) {
  size_t largest = 1, all_addresses = 0;
  auto consider = [&](DType dtype, DeviceAddress address) {
    largest = std::max(largest, SizeOf(dtype));
    all_addresses |= static_cast<size_t>(address);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (alignments[i] != Alignment::kSingle) consider(inputs[i].dtype, inputs[i].address);
  }
  for (const Tensor* output : outputs) consider(output->dtype(), Address(*output));
  int size = static_cast<int>(16 / std::min<size_t>(largest, 16));
  if (n % size != 0 || all_addresses % 16 != 0 || n < 4096) return 1;
  while (size > 1 && row % size != 0) size /= 2;
  return size;
}

}  // namespace

Status ElementwiseFunction::Run(KernelContext& ctx, std::span<const ElementwiseOperand> inputs, const Shape& shape,
                                std::span<Tensor* const> outputs) const {
  const int64_t n = shape.num_elements();
  if (n == 0) return OkStatus();
  ElementwiseLayout layout;
  std::vector<bool> is_broadcast(inputs.size(), false);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t count = inputs[i].shape.num_elements();
    layout.inputs.push_back(count == n ? Alignment::kFull : count == 1 ? Alignment::kSingle : Alignment::kBroadcast);
    is_broadcast[i] = layout.inputs.back() == Alignment::kBroadcast;
  }
  Joined joined = Join(inputs, is_broadcast, shape);
  const bool broadcasts = !joined.strides.empty();
  layout.rank = broadcasts ? static_cast<int>(joined.dims.size()) : 0;
  layout.vector = VectorSize(layout.inputs, inputs, outputs, n, broadcasts ? joined.dims.back() : 0);
  if (broadcasts && layout.vector > 1) {
    joined.dims.back() /= layout.vector;
    size_t broadcast = 0;
    for (Alignment& alignment : layout.inputs) {
      if (alignment != Alignment::kBroadcast) continue;
      int64_t& stride = joined.strides[broadcast++].back();
      if (stride != 0) alignment = Alignment::kRow;
      stride *= layout.vector;
    }
  }
  layout.long_index = n >= int64_t{1} << 31;

  std::string key(reinterpret_cast<const char*>(layout.inputs.data()), layout.inputs.size());
  key += Cat(layout.rank, ",", layout.vector, layout.long_index ? "L" : "");
  std::string source;
  {
    absl::MutexLock lock(&mu_);
    std::string& made = sources_[key];
    if (made.empty()) made = ElementwiseSource(program_, layout);
    source = made;
  }
  WEIR_ASSIGN_OR_RETURN(FunctionHandle function, FindGenerated(ctx, "elementwise.cu", source, "Elementwise"));
  std::vector<uint64_t> from, to;
  for (const ElementwiseOperand& input : inputs) from.push_back(input.address);
  for (const Tensor* output : outputs) to.push_back(Address(*output));
  const int64_t turns = n / layout.vector;
  std::vector<uint64_t> packed = PackArguments(from, to, turns, joined.dims, joined.strides);
  if (packed.size() * sizeof(uint64_t) > 4096) return Unimplemented("Too many operands for one kernel of the GPU");
  void* arguments[] = {packed.data()};
  return LaunchFunction(ctx, function, ShapeFor(ctx, turns), arguments);
}

}  // namespace weir::cuda
