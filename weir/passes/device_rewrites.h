// DeviceRewrites: what each type of device does to the part of a graph that was placed on it, before it is compiled.
//
// Rewrites that hold on every device come before placement (optimizer.h). These come after it, on one device's part of
// the step, so a device fuses what it has kernels for and leaves the other parts alone.
#ifndef WEIR_PASSES_DEVICE_REWRITES_H_
#define WEIR_PASSES_DEVICE_REWRITES_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/passes/rewrite_context.h"

namespace weir {

struct DeviceRewriteOptions {
  bool arithmetic = true;  // results may be rounded in another order
  bool fusion = true;
  // Whether the device has a kernel for an op, of some types at least.
  std::function<bool(std::string_view op)> has_kernel = [](std::string_view) { return true; };
};

// REQUIRES of a rewrite's graph: all nodes are placed, on one device.
using DeviceRewrite = std::function<Status(RewriteContext&, const DeviceRewriteOptions&)>;

// The rewrites of all types of devices. Adding must be done before sessions begin; running is thread-safe.
class DeviceRewrites {
 public:
  // Runs after those that were added before for the type. The name is for people.
  void Add(std::string device_type, std::string name, DeviceRewrite rewrite);
  // All rewrites of a type, in order. Errors say which one failed.
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
