#include "weir/client/device_flag.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "weir/base/strings.h"
#include "weir/client/environment.h"
#include "weir/client/gpu_devices.h"

namespace weir {

Status UseDevice(std::string_view device) {
  constexpr std::string_view kPrefix = "/device:";
  const std::string_view name = device.starts_with(kPrefix) ? device.substr(kPrefix.size()) : device;
  const size_t colon = name.find(':');
  const std::string type = absl::AsciiStrToUpper(std::string(name.substr(0, colon)));
  int number = 0;
  const bool has_number = colon == name.npos || absl::SimpleAtoi(std::string(name.substr(colon + 1)), &number);
  if (!has_number || number < 0 || (type != "GPU" && !(type == "CPU" && number == 0))) {
    return InvalidArgument("'", device, "' is no device of this machine; CPU:0 and GPU:0 would be");
  }
  GpuOptions options;
  options.enabled = type == "GPU";
  if (options.enabled) {
    const size_t cards = ListGpuCards().size();
    if (static_cast<size_t>(number) >= cards) {
      return NotFound("There is no GPU:", number, " here, but ", cards,
                      " GPUs; `weir devices` says which there are and what they lack");
    }
    options.visible_devices = Cat(number);
  }
  return DefaultEnvironment()->SetGpuOptions(options);
}

Status TakeDeviceFlag(int* argc, char** argv) {
  constexpr std::string_view kFlag = "--device";
  Status status;
  int kept = 1;
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == kFlag) {
      if (++i == *argc) return InvalidArgument(kFlag, " needs the name of a device, as GPU:0");
      status.Update(UseDevice(argv[i]));
    } else if (argument.starts_with(kFlag) && argument.substr(kFlag.size()).starts_with('=')) {
      status.Update(UseDevice(argument.substr(kFlag.size() + 1)));
    } else {
      argv[kept++] = argv[i];
    }
  }
  *argc = kept;
  return status;
}

}  // namespace weir
