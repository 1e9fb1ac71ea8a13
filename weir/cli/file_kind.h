// Recognises the kind of a file by its contents.
#ifndef WEIR_CLI_FILE_KIND_H_
#define WEIR_CLI_FILE_KIND_H_

#include <memory>
#include <string>

#include "weir/base/status.h"
#include "weir/io/record_reader.h"

namespace weir {

class GraphDef;  // wire formats
class MetaGraphDef;
class SavedModel;

enum class FileKind { kGraph, kMetaGraph, kSavedModel, kCheckpoint, kRecords, kEvents, kNpy };

struct KnownFile {
  FileKind kind = FileKind::kGraph;
  // For a SavedModel its folder, for a checkpoint its prefix, otherwise the file.
  std::string path;
  Compression compression = Compression::kNone;
  std::shared_ptr<GraphDef> graph;  // the parsed message, for the kinds that are a single message
  std::shared_ptr<MetaGraphDef> meta_graph;
  std::shared_ptr<SavedModel> saved_model;
};

// `path` is a file, a folder (a SavedModel, or one with a file `checkpoint`) or the prefix of a checkpoint. NOT_FOUND
// if it does not exist, INVALID_ARGUMENT if its kind is unknown.
StatusOr<KnownFile> RecogniseFile(const std::string& path);

}  // namespace weir

#endif  // WEIR_CLI_FILE_KIND_H_
