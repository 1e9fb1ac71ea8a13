// RecordWriter: TFRecord files (docs/formats/records.md).
#ifndef WEIR_IO_RECORD_WRITER_H_
#define WEIR_IO_RECORD_WRITER_H_

#include <memory>
#include <string>
#include <string_view>

#include "weir/base/export.h"
#include "weir/io/record_reader.h"

namespace WEIR_PUBLIC weir {

// One thread at a time. The file is made, or emptied, at once; a reader sees whole records after Flush.
class RecordWriter {
 public:
  static StatusOr<std::unique_ptr<RecordWriter>> Create(const std::string& path,
                                                        Compression compression = Compression::kNone);
  // Closes, if Close was not called; errors are lost then.
  ~RecordWriter();

  Status Write(std::string_view record);
  // Hands everything to the operating system. A compressed file can be read to its end only after Close.
  Status Flush();
  Status Close();

 private:
  struct State;
  explicit RecordWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir

#endif  // WEIR_IO_RECORD_WRITER_H_
