// Conditionals, loops and functions, written as C++ lambdas that build their bodies.
//
// A body is built once, in a scope of its own, and becomes a function of the graph. It may use tensors of the
// surrounding graph, which automatically become inputs of the function. Gradients flow through all of these.
//
//   std::vector<Output> sum = While(root, {zero, ten},
//       [](const Scope& scope, const std::vector<Output>& v) { return v[1] > 0; },
//       [](const Scope& scope, const std::vector<Output>& v) { return std::vector<Output>{v[0] + v[1], v[1] - 1}; });
#ifndef WEIR_CLIENT_CONTROL_FLOW_H_
#define WEIR_CLIENT_CONTROL_FLOW_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/input.h"

namespace WEIR_PUBLIC weir {

using Branch = std::function<std::vector<Output>(const Scope& scope)>;
using Body = std::function<std::vector<Output>(const Scope& scope, const std::vector<Output>& arguments)>;
using Condition = std::function<Output(const Scope& scope, const std::vector<Output>& arguments)>;

// Runs one of two branches. INVALID_ARGUMENT if their results differ in number or type.
std::vector<Output> Cond(const Scope& scope, const Output& predicate, const Branch& then_branch,
                         const Branch& else_branch);
// Runs the branch with number `index` (an int32 scalar); the last one if the index is out of range.
std::vector<Output> Case(const Scope& scope, const Output& index, const std::vector<Branch>& branches);

struct WhileOptions {
  int64_t parallel_iterations = 10;
};
// Repeats `body` while `condition` is true. The values keep their types, and their shapes unless the loop changes them.
std::vector<Output> While(const Scope& scope, const std::vector<Output>& values, const Condition& condition,
                          const Body& body, const WhileOptions& options = {});

// Calls a body as a function of the graph's library; the function's name begins with `name`.
std::vector<Output> Call(const Scope& scope, const std::string& name, const std::vector<Output>& arguments,
                         const Body& body);

// Applies a function to every row of `rows` and stacks the results.
Output MapFn(const Scope& scope, const Output& rows,
             const std::function<Output(const Scope& scope, const Output& row)>& function);
// Applies a function to a state and each row in turn; returns all states, stacked.
Output Scan(const Scope& scope, const Output& rows, const Output& initial,
            const std::function<Output(const Scope& scope, const Output& state, const Output& row)>& function);

}  // namespace weir

#endif  // WEIR_CLIENT_CONTROL_FLOW_H_
