// Conversions between DeviceInfo and the message DeviceAttributes.
#ifndef WEIR_DISTRIBUTED_DEVICE_WIRE_INTERNAL_H_
#define WEIR_DISTRIBUTED_DEVICE_WIRE_INTERNAL_H_

#include "weir/framework/device.h"
#include "weir/proto/master.pb.h"

namespace weir {

inline void ToProto(const DeviceInfo& info, DeviceAttributes* out) {
  out->set_name(info.name);
  out->set_device_type(info.device_type);
  out->set_memory_limit(info.memory_limit);
  out->mutable_locality()->set_bus_id(info.bus_id);
  out->mutable_locality()->set_numa_node(info.numa_node);
  out->set_incarnation(info.incarnation);
  out->set_physical_device_desc(info.description);
  out->set_xla_global_id(-1);
}

inline DeviceInfo FromProto(const DeviceAttributes& attributes) {
  return {attributes.name(),
          attributes.device_type(),
          attributes.memory_limit(),
          attributes.incarnation(),
          attributes.physical_device_desc(),
          attributes.locality().bus_id(),
          attributes.locality().numa_node()};
}

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_DEVICE_WIRE_INTERNAL_H_
