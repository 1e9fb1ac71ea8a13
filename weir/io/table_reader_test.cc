#include "weir/io/table_reader.h"

#include <gtest/gtest.h>
#include <snappy.h>

#include <map>

#include "weir/base/varint.h"
#include "weir/io/coding.h"
#include "weir/io/crc32c.h"
#include "weir/io/damage_fixture.h"

namespace weir {
namespace {

// A table of one block, compressed if asked.
std::string MakeTable(const std::map<std::string, std::string>& entries, bool compressed) {
  std::string file;
  auto add_block = [&](std::string block, bool compress) {
    AppendFixed32(&block, 0);
    AppendFixed32(&block, 1);
    char kind = 0;
    if (compress) {
      std::string small;
      snappy::Compress(block.data(), block.size(), &small);
      block = small;
      kind = 1;
    }
    std::string handle;
    AppendVarint(file.size(), &handle);
    AppendVarint(block.size(), &handle);
    block.push_back(kind);
    AppendFixed32(&block, MaskCrc(Crc32c(block)));
    file += block;
    return handle;
  };
  auto entry = [](size_t shared, std::string_view rest, std::string_view value) {
    std::string out;
    AppendVarint(shared, &out);
    AppendVarint(rest.size(), &out);
    AppendVarint(value.size(), &out);
    return out.append(rest).append(value);
  };
  std::string block, last;
  for (const auto& [key, value] : entries) {
    size_t shared = 0;
    while (shared < std::min(last.size(), key.size()) && last[shared] == key[shared]) ++shared;
    block += entry(shared, std::string_view(key).substr(shared), value);
    last = key;
  }
  std::string data = add_block(block, compressed);
  std::string metaindex = add_block("", false);
  std::string index = add_block(entry(0, last, data), false);
  std::string footer = metaindex + index;
  footer.resize(40);
  AppendFixed64(&footer, 0xdb4775248b80fb57ull);
  return file + footer;
}

TEST(TableReader, FindsKeysInRawAndCompressedBlocks) {
  std::map<std::string, std::string> entries = {{"", "head"}, {"abc", "1"}, {"abd", std::string(1000, 'x')}, {"b", ""}};
  for (bool compressed : {false, true}) {
    std::string path = testing::TempDir() + "/one.table";
    WriteBytes(path, MakeTable(entries, compressed));
    EXPECT_TRUE(IsTable(path));
    auto table = TableReader::Open(path);
    ASSERT_TRUE(table.ok()) << table.status();
    std::map<std::string, std::string> seen;
    ASSERT_TRUE((*table)
                    ->ForEach([&](std::string_view key, std::string_view value) {
                      seen[std::string(key)] = value;
                      return OkStatus();
                    })
                    .ok());
    EXPECT_EQ(seen, entries);
    for (const auto& [key, value] : entries) EXPECT_EQ((*table)->Find(key).value(), value);
    EXPECT_EQ((*table)->Find("abca").value(), std::nullopt);
    EXPECT_EQ((*table)->Find("zzz").value(), std::nullopt);
  }
}

TEST(TableReader, DamageGivesAnErrorOrTheSameEntries) {
  std::map<std::string, std::string> entries = {{"", "head"}, {"abc", "1"}, {"abd", std::string(100, 'x')}};
  for (bool compressed : {false, true}) {
    std::string path = testing::TempDir() + "/damaged.table";
    WriteBytes(path, MakeTable(entries, compressed));
    ForEachDamage(path, 1, [&](bool cut, size_t at) {
      std::map<std::string, std::string> seen;
      auto table = TableReader::Open(path);
      Status status = table.status();
      if (table.ok()) {
        status = (*table)->ForEach([&](std::string_view key, std::string_view value) {
          seen[std::string(key)] = value;
          return OkStatus();
        });
      }
      if (status.ok()) {
        EXPECT_EQ(seen, entries) << at;
      } else {
        EXPECT_TRUE(absl::IsDataLoss(status)) << status << " cut " << cut << " at " << at;
      }
    });
  }
}

TEST(TableReader, RefusesOtherFiles) {
  std::string path = testing::TempDir() + "/not.table";
  WriteBytes(path, std::string(200, 'a'));
  EXPECT_FALSE(IsTable(path));
  EXPECT_TRUE(absl::IsDataLoss(TableReader::Open(path).status()));
  EXPECT_TRUE(absl::IsNotFound(TableReader::Open(path + ".missing").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(TableReader::Open(testing::TempDir()).status()));
}

}  // namespace
}  // namespace weir
