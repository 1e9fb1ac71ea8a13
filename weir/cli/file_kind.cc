#include "weir/cli/file_kind.h"

#include <google/protobuf/unknown_field_set.h>

#include "weir/io/checkpoint_reader.h"
#include "weir/io/coding.h"
#include "weir/io/crc32c.h"
#include "weir/io/file.h"
#include "weir/io/proto_file.h"
#include "weir/io/saved_model.h"
#include "weir/io/table_reader.h"
#include "weir/proto/event.pb.h"
#include "weir/proto/saved_model.pb.h"

namespace weir {
namespace {

// Messages of other kinds parse too, into fields that are not known; so do most short texts.
template <typename Message>
bool IsExactly(std::string_view bytes, Message* message) {
  return ParseBinaryProto(bytes, message) && message->GetReflection()->GetUnknownFields(*message).empty();
}

bool LooksRight(const GraphDef& graph) {
  for (const NodeDef& node : graph.node()) {
    if (node.name().empty() || node.op().empty()) return false;
  }
  return graph.node_size() > 0 || graph.has_library() || graph.has_versions();
}
bool LooksRight(const MetaGraphDef& meta) { return meta.has_meta_info_def() && meta.has_graph_def(); }
bool LooksRight(const SavedModel& model) { return model.meta_graphs_size() > 0; }

template <typename Message>
std::shared_ptr<Message> Parse(std::string_view bytes) {
  auto message = std::make_shared<Message>();
  if (IsExactly(bytes, message.get()) && LooksRight(*message)) return message;
  return nullptr;
}

// A file of records begins with a length and its checksum.
bool BeginsWithRecord(const std::string& path, Compression compression) {
  StatusOr<std::unique_ptr<InputStream>> stream = OpenStream(path, compression);
  std::string head;
  if (!stream.ok() || !(*stream)->Read(12, &head).ok() || head.size() < 12) return false;
  return UnmaskCrc(DecodeFixed32(head.data() + 8)) == Crc32c(std::string_view(head).substr(0, 8));
}

bool IsEventFile(const std::string& path, Compression compression) {
  StatusOr<std::unique_ptr<RecordReader>> reader = RecordReader::Open(path, compression);
  std::string record;
  Event event;
  return reader.ok() && (*reader)->Read(&record).ok() && event.ParseFromString(record) &&
         event.file_version().starts_with("brain.Event:");
}

std::optional<KnownFile> AsRecords(const std::string& path) {
  StatusOr<Compression> guessed = GuessCompression(path);
  if (!guessed.ok()) return std::nullopt;
  for (Compression compression : {Compression::kNone, *guessed}) {
    if (!BeginsWithRecord(path, compression)) continue;
    FileKind kind = IsEventFile(path, compression) ? FileKind::kEvents : FileKind::kRecords;
    return KnownFile{kind, path, compression, nullptr, nullptr, nullptr};
  }
  return std::nullopt;
}

KnownFile Checkpoint(std::string prefix) {
  KnownFile out;
  out.kind = FileKind::kCheckpoint;
  out.path = std::move(prefix);
  return out;
}

// "<prefix>.index" and "<prefix>.data-00000-of-00001" are known by their prefix.
std::string PrefixOf(const std::string& path) {
  if (path.ends_with(".index")) return path.substr(0, path.size() - 6);
  size_t data = path.rfind(".data-");
  return data != path.npos && IsFile(Cat(path.substr(0, data), ".index")) ? path.substr(0, data) : path;
}

StatusOr<KnownFile> AsMessage(const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  if (bytes.empty()) return InvalidArgument(path, " is empty");
  KnownFile out;
  out.path = path;
  if ((out.saved_model = Parse<SavedModel>(bytes)) != nullptr) {
    out.kind = FileKind::kSavedModel;
    size_t slash = path.rfind('/');
    out.path = slash == path.npos ? "." : path.substr(0, slash);
  } else if ((out.meta_graph = Parse<MetaGraphDef>(bytes)) != nullptr) {
    out.kind = FileKind::kMetaGraph;
  } else if ((out.graph = Parse<GraphDef>(bytes)) != nullptr) {
    out.kind = FileKind::kGraph;
  } else {
    // Text. What is not even that is told by the zeros in it.
    if (bytes.find('\0') != bytes.npos) return InvalidArgument(path, " is not a file that weir recognizes");
    out.saved_model = std::make_shared<SavedModel>();
    out.meta_graph = std::make_shared<MetaGraphDef>();
    out.graph = std::make_shared<GraphDef>();
    if (ParseTextProto(bytes, out.saved_model.get()).ok() && LooksRight(*out.saved_model)) {
      out.kind = FileKind::kSavedModel;
      size_t slash = path.rfind('/');
      out.path = slash == path.npos ? "." : path.substr(0, slash);
    } else if (ParseTextProto(bytes, out.meta_graph.get()).ok() && LooksRight(*out.meta_graph)) {
      out.kind = FileKind::kMetaGraph;
    } else {
      Status status = ParseTextProto(bytes, out.graph.get());
      if (!status.ok())
        return InvalidArgument(path, " is not a file that weir recognizes (as text: ", Message(status), ")");
      if (!LooksRight(*out.graph)) return InvalidArgument(path, " is a graph with nodes that lack a name or an op");
      out.kind = FileKind::kGraph;
    }
  }
  return out;
}

}  // namespace

StatusOr<KnownFile> RecogniseFile(const std::string& path) {
  if (IsFolder(path)) {
    if (IsSavedModelFolder(path)) {
      KnownFile out;
      out.kind = FileKind::kSavedModel;
      out.path = path;
      WEIR_ASSIGN_OR_RETURN(out.saved_model, ReadSavedModel(path));
      return out;
    }
    if (!IsFile(Cat(path, "/checkpoint"))) {
      return InvalidArgument(path, " is a folder with neither a saved_model.pb nor a checkpoint in it");
    }
    WEIR_ASSIGN_OR_RETURN(std::string prefix, LatestCheckpoint(path));
    return Checkpoint(std::move(prefix));
  }
  if (!IsFile(path)) {
    if (IsFile(Cat(path, ".index"))) return Checkpoint(path);
    return NotFound(path, ": no such file, folder or checkpoint");
  }
  if (IsTable(path)) return Checkpoint(PrefixOf(path));
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  std::string head(6, '\0');
  WEIR_RETURN_IF_ERROR(file->ReadUpTo(0, head.size(), head.data()).status());
  if (head == "\x93NUMPY") {
    KnownFile out;
    out.kind = FileKind::kNpy;
    out.path = path;
    return out;
  }
  if (std::optional<KnownFile> records = AsRecords(path); records.has_value()) return *std::move(records);
  if (std::string prefix = PrefixOf(path); prefix != path) return Checkpoint(prefix);
  if (path.ends_with("/checkpoint") || path == "checkpoint") {
    StatusOr<std::string> prefix = LatestCheckpoint(path == "checkpoint" ? "." : path.substr(0, path.rfind('/')));
    if (prefix.ok()) return Checkpoint(*std::move(prefix));
  }
  return AsMessage(path);
}

}  // namespace weir
