// A device in a library of its own: `weir run graph.pb --library libfar.so --fetch y` computes on it.
#include "far_device.h"
#include "far_kernels.h"
#include "weir/client/load_library.h"

WEIR_LIBRARY(environment) {
  constexpr size_t kBytes = size_t{256} << 20;
  for (int index : {0, 1}) {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<far::FarDevice> device,
                          far::FarDevice::Make(environment->task_name, index, kBytes));
    environment->devices.Add(std::move(device));
  }
  far::RegisterFarKernels(environment->kernels);
  return weir::OkStatus();
}
