// DeviceRewrites: the graph rewrites of each device type. They run on the partition of a graph that was placed on a
// device, before it is compiled.
//
// Rewrites that are valid on every device run before placement (optimizer.h). The rewrites here run after placement, on
// one device's partition, so that a device can fuse operations for which it has kernels.
#ifndef WEIR_PASSES_DEVICE_REWRITES_H_
#define WEIR_PASSES_DEVICE_REWRITES_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/export.h"
#include "weir/passes/rewrite_context.h"

namespace WEIR_PUBLIC weir {

struct DeviceRewriteOptions {
  bool arithmetic = true;  // rewrites may change rounding
  bool fusion = true;
  DType mixed_precision = DType::kInvalid;  // the small type, if the device is to use one (mixed_precision.h)
  // Whether the device has a kernel for an op with these attributes.
  std::function<bool(std::string_view op, const AttrMap& attrs)> supports = [](std::string_view, const AttrMap&) {
    return true;
  };
  // Whether the device has a kernel for an op, for at least one type.
  std::function<bool(std::string_view op)> has_kernel = [](std::string_view) { return true; };
};

// REQUIRES: all nodes of the graph are placed on one device.
using DeviceRewrite = std::function<Status(RewriteContext&, const DeviceRewriteOptions&)>;

// The rewrites of all device types. Add must not be called after the first session was created; Run is thread-safe.
class DeviceRewrites {
 public:
  // Rewrites of a device type run in the order in which they were added. The name appears in messages.
  void Add(std::string device_type, std::string name, DeviceRewrite rewrite);
  // Runs all rewrites of a device type. An error names the rewrite that failed.
  Status Run(std::string_view device_type, RewriteContext& context, const DeviceRewriteOptions& options) const;
  std::vector<std::string> Names(std::string_view device_type) const;

 private:
  struct Entry {
    std::string device_type;
    std::string name;
    DeviceRewrite rewrite;
  };
  std::vector<Entry> entries_;
};

}  // namespace weir

#endif  // WEIR_PASSES_DEVICE_REWRITES_H_
