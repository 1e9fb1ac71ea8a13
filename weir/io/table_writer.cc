#include "weir/io/table_writer.h"

#include <algorithm>

#include "weir/base/varint.h"
#include "weir/io/coding.h"
#include "weir/io/crc32c.h"
#include "weir/io/format_versions.h"

namespace weir {
namespace {

constexpr size_t kBlockBytes = 262144;
constexpr size_t kHandlesBytes = 40;

size_t SharedBytes(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first -
                             a.begin());
}

// A short key from `last` up to, but without, `next`.
std::string Separator(const std::string& last, std::string_view next) {
  size_t shared = SharedBytes(last, next);
  if (shared >= std::min(last.size(), next.size())) return last;
  auto byte = static_cast<unsigned char>(last[shared]);
  if (byte == 0xff || byte + 1 >= static_cast<unsigned char>(next[shared])) return last;
  std::string out = last.substr(0, shared + 1);
  out.back() = static_cast<char>(byte + 1);
  return out;
}

// A short key that is not below `last`.
std::string Successor(const std::string& last) {
  size_t at = last.find_first_not_of('\xff');
  if (at == last.npos) return last;
  std::string out = last.substr(0, at + 1);
  out.back() = static_cast<char>(static_cast<unsigned char>(out.back()) + 1);
  return out;
}

}  // namespace

void TableWriter::Block::Add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (entries % restart_interval == 0) {
    AppendFixed32(&restarts, static_cast<uint32_t>(bytes.size()));
  } else {
    shared = SharedBytes(last_key, key);
  }
  AppendVarint(shared, &bytes);
  AppendVarint(key.size() - shared, &bytes);
  AppendVarint(value.size(), &bytes);
  bytes.append(key.substr(shared)).append(value);
  last_key = key;
  ++entries;
}

std::string TableWriter::Block::Finish() {
  if (restarts.empty()) AppendFixed32(&restarts, 0);
  std::string out = bytes + restarts;
  AppendFixed32(&out, static_cast<uint32_t>(restarts.size() / 4));
  bytes.clear();
  restarts.clear();
  entries = 0;
  last_key.clear();
  return out;
}

std::string TableWriter::WriteBlock(Block* block) {
  std::string bytes = block->Finish();
  std::string handle;
  AppendVarint(file_.size(), &handle);
  AppendVarint(bytes.size(), &handle);
  bytes.push_back('\0');  // not compressed
  AppendFixed32(&bytes, MaskCrc(Crc32c(bytes)));
  file_ += bytes;
  return handle;
}

void TableWriter::FinishDataBlock(std::string_view separator) {
  std::string handle = WriteBlock(&data_);
  index_.Add(separator, handle);
}

void TableWriter::Add(std::string_view key, std::string_view value) {
  if (data_.bytes.size() + data_.restarts.size() + 4 >= kBlockBytes) FinishDataBlock(Separator(data_.last_key, key));
  data_.Add(key, value);
}

std::string TableWriter::Finish() {
  if (data_.entries > 0) FinishDataBlock(Successor(data_.last_key));
  Block metaindex(16);
  std::string footer = WriteBlock(&metaindex);
  footer += WriteBlock(&index_);
  footer.resize(kHandlesBytes, '\0');
  AppendFixed64(&footer, kTableMagic);
  return std::move(file_) + footer;
}

}  // namespace weir
