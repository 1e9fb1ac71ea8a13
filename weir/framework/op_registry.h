// OpRegistry: all known schemas by name.
#ifndef WEIR_FRAMEWORK_OP_REGISTRY_H_
#define WEIR_FRAMEWORK_OP_REGISTRY_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/export.h"
#include "weir/framework/op_schema.h"

namespace WEIR_PUBLIC weir {

// Thread-safe. A schema's address is stable for the life of the registry.
class OpRegistry {
 public:
  OpRegistry() = default;
  OpRegistry(const OpRegistry&) = delete;
  OpRegistry& operator=(const OpRegistry&) = delete;

  // ALREADY_EXISTS if another schema has the name.
  Status Register(OpSchema schema);
  // Parses a table (op_table.h) and registers all its schemas, or none.
  Status RegisterTable(std::string_view text, std::string_view family);
  // Defines the shape function that tables refer to by this name. Also resolves schemas registered before, so it must
  // be called before other threads use them.
  void RegisterShapeFunction(std::string_view name, ShapeFunction function);

  const OpSchema* Find(std::string_view name) const;  // null if unknown
  // NOT_FOUND with TensorFlow's text: "Op type not registered 'X' in binary running on <host>. ..."
  StatusOr<const OpSchema*> LookUp(std::string_view name) const;
  std::vector<const OpSchema*> All() const;  // by name

 private:
  Status RegisterLocked(OpSchema schema) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  StringMap<std::unique_ptr<OpSchema>> schemas_ ABSL_GUARDED_BY(mu_);
  StringMap<ShapeFunction> shape_functions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_OP_REGISTRY_H_
