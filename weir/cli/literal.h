// Tensors written on a command line: 1.5, true, hello, [1, 2, 3], [["a", "b"], ["c", "d"]].
#ifndef WEIR_CLI_LITERAL_H_
#define WEIR_CLI_LITERAL_H_

#include <string_view>

#include "weir/tensor/tensor.h"

namespace weir {

// Parses a literal of the given type. INVALID_ARGUMENT for values that do not fit the type, and for ragged lists.
// Strings only need quotes inside a list.
StatusOr<Tensor> ParseLiteral(std::string_view text, DType dtype);

}  // namespace weir

#endif  // WEIR_CLI_LITERAL_H_
