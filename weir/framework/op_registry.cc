#include "weir/framework/op_registry.h"

#include <unistd.h>

#include <algorithm>

#include "weir/framework/op_table.h"

namespace weir {
namespace {

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "this machine";
}

}  // namespace

Status OpRegistry::Register(OpSchema schema) {
  absl::MutexLock lock(&mu_);
  return RegisterLocked(std::move(schema));
}

Status OpRegistry::RegisterLocked(OpSchema schema) {
  auto [slot, is_new] = schemas_.try_emplace(schema.name);
  if (!is_new) return AlreadyExists("Op with name ", schema.name, " is registered already");
  if (schema.shape_function == nullptr && !schema.shape_function_name.empty()) {
    auto function = shape_functions_.find(schema.shape_function_name);
    if (function != shape_functions_.end()) schema.shape_function = function->second;
  }
  slot->second = std::make_unique<OpSchema>(std::move(schema));
  return OkStatus();
}

Status OpRegistry::RegisterTable(std::string_view text, std::string_view family) {
  StatusOr<std::vector<OpSchema>> schemas = ParseOpTable(text, family);
  if (!schemas.ok()) return Annotate(schemas.status(), family.empty() ? "" : Cat("op table '", family, "': "));
  absl::MutexLock lock(&mu_);
  for (const OpSchema& schema : *schemas) {
    if (schemas_.contains(schema.name)) return AlreadyExists("Op with name ", schema.name, " is registered already");
  }
  schemas_.reserve(schemas_.size() + schemas->size());
  for (OpSchema& schema : *schemas) WEIR_RETURN_IF_ERROR(RegisterLocked(std::move(schema)));
  return OkStatus();
}

void OpRegistry::RegisterShapeFunction(std::string_view name, ShapeFunction function) {
  absl::MutexLock lock(&mu_);
  shape_functions_.insert_or_assign(std::string(name), function);
  // While families register their functions before their tables, there is nothing to go through.
  for (auto& [op, schema] : schemas_) {
    if (schema->shape_function_name == name) schema->shape_function = function;
  }
}

const OpSchema* OpRegistry::Find(std::string_view name) const {
  absl::ReaderMutexLock lock(&mu_);
  auto found = schemas_.find(name);
  return found != schemas_.end() ? found->second.get() : nullptr;
}

StatusOr<const OpSchema*> OpRegistry::LookUp(std::string_view name) const {
  if (const OpSchema* schema = Find(name)) return schema;
  return NotFound("Op type not registered '", name, "' in binary running on ", HostName(),
                  ". Make sure the Op and Kernel are registered in the binary running in this process.");
}

std::vector<const OpSchema*> OpRegistry::All() const {
  std::vector<const OpSchema*> out;
  {
    absl::ReaderMutexLock lock(&mu_);
    out.reserve(schemas_.size());
    for (const auto& [name, schema] : schemas_) out.push_back(schema.get());
  }
  std::ranges::sort(out, {}, [](const OpSchema* schema) -> const std::string& { return schema->name; });
  return out;
}

}  // namespace weir
