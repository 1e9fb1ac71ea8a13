// The output of `weir show`, by kind of file.
#ifndef WEIR_CLI_SHOW_H_
#define WEIR_CLI_SHOW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "weir/cli/file_kind.h"

namespace weir {

class FunctionDef;  // wire formats
class GraphDef;

struct ShowOptions {
  bool json = false;
  int64_t limit = 0;                 // number of records, events or tensors; 0: all
  int64_t values = 0;                // number of values per tensor; 0: depends on the kind of file
  std::vector<std::string> tensors;  // for a checkpoint: only these
};

// One line per node: "y = MatMul(x, w) {transpose_a=false} on /device:CPU:0".
std::string GraphToText(const GraphDef& graph);
Status ShowGraph(const GraphDef& graph, const ShowOptions& options);
Status ShowSavedModel(const KnownFile& file, const ShowOptions& options);
Status ShowMetaGraph(const MetaGraphDef& meta, const ShowOptions& options);
Status ShowCheckpoint(const std::string& prefix, const ShowOptions& options);
Status ShowRecords(const KnownFile& file, const ShowOptions& options);
Status ShowEvents(const KnownFile& file, const ShowOptions& options);
Status ShowNpy(const std::string& path, const ShowOptions& options);

}  // namespace weir

#endif  // WEIR_CLI_SHOW_H_
