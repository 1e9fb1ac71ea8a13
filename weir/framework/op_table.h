// Op tables: the textual form of schemas, in the families' `.ops` files or supplied by users at run time. The syntax is
// described in docs/op_tables.md.
//
//   types float = bf16 f16 f32 f64
//   op MatMul(a: T, b: T) -> (product: T)
//     transpose_a: bool = false
//     transpose_b: bool = false
//     T: {float i32 i64}
//     gradient yes
//     doc "Product of two matrices, either of them transposed first if asked."
#ifndef WEIR_FRAMEWORK_OP_TABLE_H_
#define WEIR_FRAMEWORK_OP_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "weir/framework/op_schema.h"

namespace weir {

// The schemas of a table in order, with the given family. INVALID_ARGUMENT has the position of the first mistake: "line
// 3, column 7: ...". Shape functions are named but not resolved.
StatusOr<std::vector<OpSchema>> ParseOpTable(std::string_view text, std::string_view family = "");

// The schema as text that parses back to it.
std::string FormatOpSchema(const OpSchema& schema);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_OP_TABLE_H_
