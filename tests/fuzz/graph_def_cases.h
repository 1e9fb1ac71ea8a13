// Hostile GraphDefs: how they are made and what is done with them. Shared by the libFuzzer target and the corpus test.
#ifndef TESTS_FUZZ_GRAPH_DEF_CASES_H_
#define TESTS_FUZZ_GRAPH_DEF_CASES_H_

#include <random>
#include <string>
#include <string_view>

#include "weir/base/status.h"

namespace weir {

// Imports the graph, feeds its placeholders and runs it in a session: all that nothing consumes at once, then one by
// one, each step with a short time-out and all under a memory limit. Whatever the steps say, the session must close
// with none left running. Gives the import's status, or INTERNAL if a step outlived its session.
Status ImportAndRun(std::string_view graph_def);

// A changed copy: flipped bits, cut or repeated bytes, or, if it still parses, exchanged ops, inputs, attributes,
// types, shapes and names. The same bytes and generator state give the same copy on every machine.
std::string Mutate(std::string_view graph_def, std::mt19937& random);

}  // namespace weir

#endif  // TESTS_FUZZ_GRAPH_DEF_CASES_H_
