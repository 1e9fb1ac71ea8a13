// The op tables that are compiled in: one `.ops` file a family, as text.
#ifndef WEIR_OPS_OP_TABLES_H_
#define WEIR_OPS_OP_TABLES_H_

#include <span>
#include <string_view>

#include "weir/base/export.h"
#include "weir/base/status.h"

namespace WEIR_PUBLIC weir {

class OpRegistry;

struct OpTable {
  std::string_view family;
  std::string_view text;
};
std::span<const OpTable> BuiltinOpTables();

// Registers every schema of these tables and the common shape functions.
Status RegisterBuiltinOps(OpRegistry& registry);

}  // namespace weir

#endif  // WEIR_OPS_OP_TABLES_H_
