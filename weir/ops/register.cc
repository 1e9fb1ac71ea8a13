#include "weir/framework/op_registry.h"
#include "weir/framework/shape_context.h"
#include "weir/ops/op_tables.h"
#include "weir/ops/shape_tools.h"

namespace weir {

Status RegisterBuiltinOps(OpRegistry& registry) {
  RegisterCommonShapeFunctions(registry);
  RegisterBuiltinShapeFunctions(registry);
  for (const OpTable& table : BuiltinOpTables()) {
    WEIR_RETURN_IF_ERROR(registry.RegisterTable(table.text, table.family));
  }
  return OkStatus();
}

}  // namespace weir
