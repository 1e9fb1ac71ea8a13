// The kinds of RecordSource.
#ifndef WEIR_OPS_IO_READER_SOURCES_H_
#define WEIR_OPS_IO_READER_SOURCES_H_

#include <memory>

#include "weir/io/record_reader.h"
#include "weir/ops/io/reader.h"

namespace weir {

struct FixedLengthLayout {
  int64_t header_bytes = 0;
  int64_t record_bytes = 1;
  int64_t footer_bytes = 0;
  int64_t hop_bytes = 0;  // from one record's begin to the next; 0: records follow each other
};

// The names themselves.
std::unique_ptr<RecordSource> MakeIdentitySource();
std::unique_ptr<RecordSource> MakeWholeFileSource();
// Lines without their ends; carriage returns are dropped.
std::unique_ptr<RecordSource> MakeTextLineSource(int64_t skip_header_lines);
std::unique_ptr<RecordSource> MakeFixedLengthSource(const FixedLengthLayout& layout, Compression compression);
std::unique_ptr<RecordSource> MakeRecordFileSource(Compression compression);

}  // namespace weir

#endif  // WEIR_OPS_IO_READER_SOURCES_H_
