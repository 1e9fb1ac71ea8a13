#include "weir/io/hparams.h"

#include <bit>
#include <cstring>

#include "absl/time/clock.h"

namespace weir {
namespace {

// The plugin's messages are few, so they are put together field by field (docs/formats/events.md).
class WireMessage {
 public:
  void Varint(int field, uint64_t value) {
    Raw(static_cast<uint64_t>(field) << 3);
    Raw(value);
  }
  void Double(int field, double value) {
    Raw(static_cast<uint64_t>(field) << 3 | 1);
    uint64_t bits = std::bit_cast<uint64_t>(value);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(bits >> (8 * i));
  }
  void Bytes(int field, std::string_view value) {
    Raw(static_cast<uint64_t>(field) << 3 | 2);
    Raw(value.size());
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// google.protobuf.Value.
std::string Encoded(const std::variant<double, bool, std::string>& value) {
  WireMessage out;
  if (auto* number = std::get_if<double>(&value)) out.Double(2, *number);
  if (auto* text = std::get_if<std::string>(&value)) out.Bytes(3, *text);
  if (auto* truth = std::get_if<bool>(&value)) out.Varint(4, *truth);
  return out.bytes();
}

double Now() { return absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()); }

// A summary whose tensor says nothing and whose metadata say all.
Status WritePluginData(EventWriter& writer, const char* tag, int field, const WireMessage& message) {
  WireMessage data;
  data.Bytes(field, message.bytes());
  WEIR_ASSIGN_OR_RETURN(Tensor nothing, Tensor::Zeros(DType::kFloat, Shape({0})));
  WEIR_RETURN_IF_ERROR(writer.TensorSummary(0, tag, nothing, "hparams", data.bytes()));
  return writer.Flush();
}

}  // namespace

Status WriteHParams(EventWriter& writer, const HParams& parameters, const std::string& run_name) {
  WireMessage start;
  for (const auto& [name, value] : parameters) {
    WireMessage entry;
    entry.Bytes(1, name);
    entry.Bytes(2, Encoded(value));
    start.Bytes(1, entry.bytes());
  }
  if (!run_name.empty()) start.Bytes(4, run_name);
  start.Double(5, Now());
  return WritePluginData(writer, "_hparams_/session_start_info", 3, start);
}

Status WriteHParamsEnd(EventWriter& writer, bool success) {
  WireMessage end;
  end.Varint(1, success ? 1 : 2);
  end.Double(2, Now());
  return WritePluginData(writer, "_hparams_/session_end_info", 4, end);
}

}  // namespace weir
