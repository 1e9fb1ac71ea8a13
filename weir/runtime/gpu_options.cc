#include "weir/runtime/gpu_options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "weir/base/strings.h"
#include "weir/proto/config.pb.h"

namespace weir {
namespace {

constexpr double kMebibyte = 1 << 20;

// The card that the device with this number is; the number itself if no list says otherwise.
int CardOf(const std::vector<std::string>& list, size_t device) {
  int card = static_cast<int>(device);
  if (device < list.size() && absl::SimpleAtoi(list[device], &card)) return card;
  return static_cast<int>(device);
}

std::vector<std::string> Split(const std::string& list) {
  if (list.empty()) return {};
  return absl::StrSplit(list, ',');
}

}  // namespace

StatusOr<GpuOptions> GpuOptions::FromConfig(const ConfigProto& config) {
  const GPUOptions& from = config.gpu_options();
  GpuOptions out;
  if (auto count = config.device_count().find("GPU"); count != config.device_count().end()) {
    out.max_devices = count->second;
  }
  out.visible_devices = from.visible_device_list();
  out.memory_fraction = from.per_process_gpu_memory_fraction();
  if (out.memory_fraction < 0) {
    return InvalidArgument("per_process_gpu_memory_fraction is ", out.memory_fraction, "; it cannot be negative");
  }
  const auto& devices = from.experimental().virtual_devices();
  if (devices.empty()) return out;
  if (out.memory_fraction > 0) {
    return InvalidArgument("It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.");
  }
  for (int i = 0; i < devices.size(); ++i) {
    const auto& device = devices[i];
    if (device.priority_size() > 0 && device.priority_size() != device.memory_limit_mb_size()) {
      return InvalidArgument(
          "Number of virtual device priorities specified doesn't match with number of memory_limit_mb specified for "
          "GPU# ",
          i, " memory_limit_mb size: ", device.memory_limit_mb_size(), " and priority size: ", device.priority_size());
    }
    auto& limits = out.logical_devices.emplace_back();
    for (float limit : device.memory_limit_mb()) limits.push_back(static_cast<int64_t>(double{limit} * kMebibyte));
    out.priorities.emplace_back(device.priority().begin(), device.priority().end());
  }
  return out;
}

void GpuOptions::ToConfig(ConfigProto* config) const {
  if (max_devices >= 0 || !enabled) (*config->mutable_device_count())["GPU"] = enabled ? max_devices : 0;
  if (visible_devices.empty() && memory_fraction == 0 && logical_devices.empty()) return;
  GPUOptions* to = config->mutable_gpu_options();
  to->set_visible_device_list(visible_devices);
  to->set_per_process_gpu_memory_fraction(memory_fraction);
  to->set_allow_growth(allow_growth);
  for (size_t i = 0; i < logical_devices.size(); ++i) {
    auto* device = to->mutable_experimental()->add_virtual_devices();
    for (int64_t limit : logical_devices[i]) {
      device->add_memory_limit_mb(static_cast<float>(static_cast<double>(limit) / kMebibyte));
    }
    if (i < priorities.size()) device->mutable_priority()->Add(priorities[i].begin(), priorities[i].end());
  }
}

Status CheckSameGpus(const GpuOptions& now, const GpuOptions& before) {
  const std::vector<std::string> wanted = Split(now.visible_devices), used = Split(before.visible_devices);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int card = CardOf(wanted, i), other = CardOf(used, i);
    if (card == other) continue;
    return AlreadyExists(
        "TensorFlow device (GPU:", i, ") is being mapped to multiple devices (", card, " now, and ", other,
        " previously), which is not supported. This may be the result of providing different GPU configurations "
        "(ConfigProto.gpu_options, for example different visible_device_list) when creating multiple Sessions in the "
        "same process. This is not currently supported, see https://github.com/tensorflow/tensorflow/issues/19083");
  }
  return OkStatus();
}

}  // namespace weir
