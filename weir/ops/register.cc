#include "weir/framework/op_registry.h"
#include "weir/framework/shape_context.h"
#include "weir/ops/op_tables.h"

namespace weir {

Status RegisterBuiltinOps(OpRegistry& registry) {
  RegisterCommonShapeFunctions(registry);
  for (const OpTable& table : BuiltinOpTables()) {
    WEIR_RETURN_IF_ERROR(registry.RegisterTable(table.text, table.family));
  }
  return OkStatus();
}

}  // namespace weir
