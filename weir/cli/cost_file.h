// Files of measured costs (passes/cost_table.h).
#ifndef WEIR_CLI_COST_FILE_H_
#define WEIR_CLI_COST_FILE_H_

#include <memory>
#include <string>

#include "weir/passes/cost_table.h"

namespace weir {

// Null for an empty path. Errors name the file.
StatusOr<std::shared_ptr<const CostTable>> ReadCosts(const std::string& path);
// An empty table if there is no such file.
StatusOr<CostTable> ReadCostsIfAny(const std::string& path);
Status WriteCosts(const std::string& path, const CostTable& costs);

}  // namespace weir

#endif  // WEIR_CLI_COST_FILE_H_
