#include "weir/collective/fusion_buffer.h"

#include <algorithm>
#include <cstring>

#include "weir/tensor/number.h"

namespace weir::collective {
namespace {

// The alignment of tensors, for vector instructions.
constexpr int64_t kSlotAlignment = 64;

template <typename From, typename To>
void ConvertAll(const void* from, void* to, int64_t count) {
  const From* in = static_cast<const From*>(from);
  To* out = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) out[i] = To(static_cast<float>(in[i]));
}

}  // namespace

DType FusionBuffer::TravelType(DType dtype) const {
  const bool shrinks = compression_ == Compression::kHalf && (dtype == DType::kFloat || dtype == DType::kDouble);
  return shrinks ? DType::kHalf : dtype;
}

Status FusionBuffer::Pack() {
  std::vector<DType> types;
  std::vector<int64_t> lengths;
  for (const Tensor& value : values_) {
    const DType type = TravelType(value.dtype());
    size_t part = std::find(types.begin(), types.end(), type) - types.begin();
    if (part == types.size()) {
      types.push_back(type);
      lengths.push_back(0);
    }
    const int64_t step = kSlotAlignment / static_cast<int64_t>(SizeOf(type));
    lengths[part] = (lengths[part] + step - 1) / step * step;
    slots_.push_back({part, lengths[part]});
    lengths[part] += value.num_elements();
  }
  for (size_t i = 0; i < types.size(); ++i) {
    WEIR_ASSIGN_OR_RETURN(Tensor part, Tensor::Allocate(types[i], Shape({lengths[i]})));
    parts_.push_back(std::move(part));
  }
  std::vector<int64_t> filled(types.size(), 0);
  for (size_t i = 0; i < values_.size(); ++i) {
    const Tensor& value = values_[i];
    const Slot& slot = slots_[i];
    const size_t size = SizeOf(types[slot.part]);
    char* const base = static_cast<char*>(parts_[slot.part].raw_data());
    std::memset(base + filled[slot.part] * size, 0, (slot.begin - filled[slot.part]) * size);  // the gap
    filled[slot.part] = slot.begin + value.num_elements();
    if (value.num_elements() == 0) continue;
    char* const to = base + slot.begin * size;
    if (value.dtype() == types[slot.part]) {
      std::memcpy(to, value.raw_data(), value.num_bytes());
    } else if (value.dtype() == DType::kFloat) {
      ConvertAll<float, Half>(value.raw_data(), to, value.num_elements());
    } else {
      ConvertAll<double, Half>(value.raw_data(), to, value.num_elements());
    }
  }
  return OkStatus();
}

StatusOr<std::vector<Tensor>> FusionBuffer::Unpack() const {
  std::vector<Tensor> out;
  for (size_t i = 0; i < values_.size(); ++i) {
    const Tensor& value = values_[i];
    const Tensor& part = parts_[slots_[i].part];
    Tensor slice = part.Slice(slots_[i].begin, slots_[i].begin + value.num_elements());
    if (value.dtype() == part.dtype()) {
      WEIR_ASSIGN_OR_RETURN(Tensor whole, slice.Reshaped(value.shape()));
      out.push_back(std::move(whole));
      continue;
    }
    WEIR_ASSIGN_OR_RETURN(Tensor wide, Tensor::Allocate(value.dtype(), value.shape()));
    if (value.dtype() == DType::kFloat) {
      ConvertAll<Half, float>(slice.raw_data(), wide.raw_data(), value.num_elements());
    } else {
      ConvertAll<Half, double>(slice.raw_data(), wide.raw_data(), value.num_elements());
    }
    out.push_back(std::move(wide));
  }
  return out;
}

}  // namespace weir::collective
