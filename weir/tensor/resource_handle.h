// ResourceHandle: the element of a resource tensor; it names a resource in a device's containers.
#ifndef WEIR_TENSOR_RESOURCE_HANDLE_H_
#define WEIR_TENSOR_RESOURCE_HANDLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/tensor/dtype.h"
#include "weir/tensor/shape.h"

namespace WEIR_PUBLIC weir {

class Resource;  // weir/framework/resource.h

class ResourceHandle {
 public:
  struct DTypeAndShape {
    DType dtype = DType::kInvalid;
    PartialShape shape;
  };
  std::string device;
  std::string container;
  std::string name;
  uint64_t hash_code = 0;
  std::string type_name;
  std::vector<DTypeAndShape> dtypes_and_shapes;
  // Set on handles that own their (anonymous) resource, and as a cache of the look-up on others made in this process.
  std::shared_ptr<Resource> resource;
};

}  // namespace weir

#endif  // WEIR_TENSOR_RESOURCE_HANDLE_H_
