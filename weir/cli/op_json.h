// Formats an operation as one line of JSON: its schema and its kernels.
#ifndef WEIR_CLI_OP_JSON_H_
#define WEIR_CLI_OP_JSON_H_

#include <string>

#include "weir/framework/kernel_registry.h"
#include "weir/framework/op_schema.h"

namespace weir {

// "op", "family", "in", "out", "attr" (type, default, allowed, min), flags that are true, "deprecated", "grad", "doc";
// and for each device type in lower case ("cpu", "gpu") true, or the types by attribute, or a list of such.
std::string OpToJson(const OpSchema& schema, const KernelRegistry& kernels);

}  // namespace weir

#endif  // WEIR_CLI_OP_JSON_H_
