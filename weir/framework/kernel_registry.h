// KernelRegistry: the available kernels, by op, device type and attribute types.
#ifndef WEIR_FRAMEWORK_KERNEL_REGISTRY_H_
#define WEIR_FRAMEWORK_KERNEL_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/export.h"
#include "weir/framework/kernel.h"

namespace WEIR_PUBLIC weir {

using KernelFactory = std::function<StatusOr<std::unique_ptr<Kernel>>(const KernelInit&)>;

struct KernelEntry {
  std::string op;
  std::string device_type = "CPU";
  // The allowed types of an attribute; attributes without a constraint may have any value.
  struct Constraint {
    std::string attr;
    std::vector<DType> types;
  };
  std::vector<Constraint> constraints;
  std::vector<std::string> host_memory;  // arguments in host memory, on devices with their own
  std::string label;                     // selected by the node's attribute `_kernel`
  int priority = 0;
  KernelFactory factory;
};

// A KernelEntry, built with a fluent interface:
//   registry.Add(KernelBuilder("AddV2").Types("T", NumberTypes{}), MakeKernel<AddKernel>);
class KernelBuilder {
 public:
  explicit KernelBuilder(std::string_view op) { def_.op = op; }
  KernelBuilder&& Device(std::string_view type) && {
    def_.device_type = type;
    return std::move(*this);
  }
  KernelBuilder&& Types(std::string_view attr, std::vector<DType> types) && {
    std::erase_if(types, [](DType dtype) { return !IsBuilt(dtype); });
    def_.constraints.push_back({std::string(attr), std::move(types)});
    return std::move(*this);
  }
  template <typename... Ts>
  KernelBuilder&& Types(std::string_view attr, TypeList<Ts...>) && {
    return std::move(*this).Types(attr, std::vector<DType>{kDTypeOf<Ts>...});
  }
  KernelBuilder&& HostMemory(std::string_view arg) && {
    def_.host_memory.emplace_back(arg);
    return std::move(*this);
  }
  KernelBuilder&& Label(std::string_view label) && {
    def_.label = label;
    return std::move(*this);
  }
  KernelBuilder&& Priority(int priority) && {
    def_.priority = priority;
    return std::move(*this);
  }
  KernelEntry Build(KernelFactory factory) && {
    def_.factory = std::move(factory);
    return std::move(def_);
  }

 private:
  KernelEntry def_;
};

// For kernels with `static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit&)`, or with a default constructor.
template <typename K>
StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelInit& init) {
  if constexpr (requires { K::Make(init); }) {
    return K::Make(init);
  } else {
    return std::unique_ptr<Kernel>(std::make_unique<K>());
  }
}

// Thread-safe.
class KernelRegistry {
 public:
  void Register(KernelEntry def);
  void Add(KernelBuilder&& builder, KernelFactory factory) { Register(std::move(builder).Build(std::move(factory))); }

  // The kernel for a node on a device type: the one with the highest priority whose constraints are met. NOT_FOUND,
  // with TensorFlow's text, if there is none ("No OpKernel was registered to support Op 'X' ... with these attrs ...").
  StatusOr<const KernelEntry*> Find(std::string_view op, std::string_view device_type, const AttrMap& attrs) const;
  // All kernels of an op.
  std::vector<const KernelEntry*> All(std::string_view op) const;
  // Device types that have a kernel for a node with these attributes.
  std::vector<std::string> DeviceTypes(std::string_view op, const AttrMap& attrs) const;

 private:
  mutable absl::Mutex mu_;
  StringMap<std::vector<std::unique_ptr<KernelEntry>>> kernels_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_KERNEL_REGISTRY_H_
