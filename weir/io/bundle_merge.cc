#include <cstdio>
#include <map>

#include "weir/io/bundle_writer.h"
#include "weir/io/file.h"
#include "weir/io/table_reader.h"
#include "weir/io/table_writer.h"
#include "weir/proto/checkpoint.pb.h"

namespace weir {
namespace {

std::string ShardPath(const std::string& prefix, int shard, int count) {
  char suffix[64];
  std::snprintf(suffix, sizeof(suffix), ".data-%05d-of-%05d", shard, count);
  return prefix + suffix;
}

struct Merged {
  BundleHeaderProto header;  // of the first
  int num_shards = 0;
  std::map<std::string, BundleEntryProto> entries;
  std::vector<std::string> shards;  // by new number
};

Status AddBundle(const std::string& prefix, bool first, Merged* merged) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<TableReader> table, TableReader::Open(Cat(prefix, ".index")));
  BundleHeaderProto header;
  bool has_header = false;
  WEIR_RETURN_IF_ERROR(table->ForEach([&](std::string_view key, std::string_view value) -> Status {
    if (!has_header) {
      has_header = true;
      if (!key.empty() || !header.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
          header.num_shards() < 1 || header.num_shards() > 1'000'000) {
        return DataLoss(prefix, ".index has no header");
      }
      return OkStatus();
    }
    BundleEntryProto entry;
    if (!entry.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      return DataLoss(prefix, ".index: bad entry of '", key, "'");
    }
    auto [place, added] = merged->entries.try_emplace(std::string(key));
    if (!added && (place->second.slices_size() == 0 || entry.slices_size() == 0)) {
      return InvalidArgument("Duplicate tensor keyed by ", key, " encountered, when merging prefix: ", prefix);
    }
    if (!added) {
      place->second.mutable_slices()->MergeFrom(entry.slices());
      return OkStatus();
    }
    if (entry.slices_size() == 0) entry.set_shard_id(entry.shard_id() + merged->num_shards);
    place->second = std::move(entry);
    return OkStatus();
  }));
  if (!has_header) return DataLoss(prefix, ".index has no header");
  if (first) {
    merged->header = header;
  } else if (header.endianness() != merged->header.endianness() ||
             header.version().SerializeAsString() != merged->header.version().SerializeAsString()) {
    return InvalidArgument("Merging bundles with conflicting endianness or version: ", prefix);
  }
  for (int i = 0; i < header.num_shards(); ++i) merged->shards.push_back(ShardPath(prefix, i, header.num_shards()));
  merged->num_shards += header.num_shards();
  return OkStatus();
}

}  // namespace

Status MergeBundles(std::span<const std::string> prefixes, const std::string& destination, bool allow_missing) {
  Merged merged;
  std::vector<std::string> found;
  for (const std::string& prefix : prefixes) {
    if (allow_missing && !IsFile(Cat(prefix, ".index"))) continue;
    WEIR_RETURN_IF_ERROR(AddBundle(prefix, found.empty(), &merged));
    found.push_back(prefix);
  }
  if (found.empty()) return NotFound("no checkpoint to merge into ", destination);
  for (int i = 0; i < merged.num_shards; ++i) {
    std::string to = ShardPath(destination, i, merged.num_shards);
    WEIR_RETURN_IF_ERROR(RenameFile(merged.shards[i], to));
  }
  merged.header.set_num_shards(merged.num_shards);
  TableWriter table;
  table.Add("", merged.header.SerializeAsString());
  for (const auto& [key, entry] : merged.entries) table.Add(key, entry.SerializeAsString());
  WEIR_RETURN_IF_ERROR(WriteWholeFile(Cat(destination, ".index"), table.Finish()));
  for (const std::string& prefix : found) {
    if (prefix != destination) RemoveFile(Cat(prefix, ".index")).IgnoreError();
  }
  return OkStatus();
}

}  // namespace weir
