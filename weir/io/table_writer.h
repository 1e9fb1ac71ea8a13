// Writes sorted tables (docs/formats/checkpoint.md).
#ifndef WEIR_IO_TABLE_WRITER_H_
#define WEIR_IO_TABLE_WRITER_H_

#include <string>
#include <string_view>

namespace weir {

class TableWriter {
 public:
  // REQUIRES: `key` is above all keys before it.
  void Add(std::string_view key, std::string_view value);
  // The whole table. REQUIRES: called once, last.
  std::string Finish();

 private:
  // Entries, then where those stand that share nothing with the key before.
  struct Block {
    explicit Block(int interval) : restart_interval(interval) {}
    void Add(std::string_view key, std::string_view value);
    std::string Finish();

    int restart_interval;
    std::string bytes;
    std::string restarts;
    int entries = 0;
    std::string last_key;
  };
  // Puts the block's bytes into the file; its handle.
  std::string WriteBlock(Block* block);
  void FinishDataBlock(std::string_view separator);

  std::string file_;
  Block data_{16};
  Block index_{1};
};

}  // namespace weir

#endif  // WEIR_IO_TABLE_WRITER_H_
