#include "weir/cli/cost_file.h"

#include "weir/io/file.h"
#include "weir/io/file_system.h"

namespace weir {

StatusOr<std::shared_ptr<const CostTable>> ReadCosts(const std::string& path) {
  if (path.empty()) return std::shared_ptr<const CostTable>();
  WEIR_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  StatusOr<CostTable> table = CostTable::FromText(text);
  if (!table.ok()) return Annotate(table.status(), Cat(path, ": "));
  return std::make_shared<const CostTable>(*std::move(table));
}

StatusOr<CostTable> ReadCostsIfAny(const std::string& path) {
  if (!IsFile(path)) return CostTable();
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<const CostTable> table, ReadCosts(path));
  return *table;
}

Status WriteCosts(const std::string& path, const CostTable& costs) { return WriteWholeFile(path, costs.ToText()); }

}  // namespace weir
