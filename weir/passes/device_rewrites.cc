#include "weir/passes/device_rewrites.h"

namespace weir {

void DeviceRewrites::Add(std::string device_type, std::string name, DeviceRewrite rewrite) {
  entries_.push_back({std::move(device_type), std::move(name), std::move(rewrite)});
}

Status DeviceRewrites::Run(std::string_view device_type, RewriteContext& context,
                           const DeviceRewriteOptions& options) const {
  for (const Entry& entry : entries_) {
    if (entry.device_type != device_type) continue;
    Status status = entry.rewrite(context, options);
    if (!status.ok()) return Annotate(status, Cat("While rewriting for ", device_type, " (", entry.name, "): "), "");
    context.EndPass();
  }
  return OkStatus();
}

std::vector<std::string> DeviceRewrites::Names(std::string_view device_type) const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.device_type == device_type) names.push_back(entry.name);
  }
  return names;
}

}  // namespace weir
