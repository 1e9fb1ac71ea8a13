// Which device a whole program uses.
#ifndef WEIR_CLIENT_DEVICE_FLAG_H_
#define WEIR_CLIENT_DEVICE_FLAG_H_

#include <string_view>

#include "weir/base/export.h"
#include "weir/base/status.h"

namespace WEIR_PUBLIC weir {

// Lets the process use one device: "CPU" or "CPU:0", no GPU; "GPU:1", only the second of the GPUs that
// $CUDA_VISIBLE_DEVICES leaves, which is then "GPU:0". NOT_FOUND if there is none, INVALID_ARGUMENT for other names.
// Must come before the first session or eager operation.
Status UseDevice(std::string_view device);

// Takes `--device NAME` or `--device=NAME` out of a program's arguments, wherever it stands, and calls UseDevice.
// Without it the program uses what there is.
Status TakeDeviceFlag(int* argc, char** argv);

}  // namespace weir

#endif  // WEIR_CLIENT_DEVICE_FLAG_H_
