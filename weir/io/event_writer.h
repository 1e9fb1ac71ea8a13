// EventWriter: the files that TensorBoard shows (docs/formats/events.md).
#ifndef WEIR_IO_EVENT_WRITER_H_
#define WEIR_IO_EVENT_WRITER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weir/base/export.h"
#include "weir/base/status.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

class Event;  // wire format

// Thread-safe. Events are seen by readers after Flush.
class EventWriter {
 public:
  // A new file `events.out.tfevents.<seconds>.<host>.<process>.<number><suffix>` in the folder, which is made if it is
  // missing.
  static StatusOr<std::unique_ptr<EventWriter>> Create(const std::string& folder, std::string_view suffix = "");
  ~EventWriter();

  const std::string& path() const;
  // Time and step of the moment are the caller's to set.
  Status Write(const Event& event);
  // A serialized Event.
  Status WriteBytes(std::string_view event);

  Status Scalar(int64_t step, std::string_view tag, double value);
  // How often values fall into each of thirty equal parts of their range.
  Status Histogram(int64_t step, std::string_view tag, std::span<const double> values);
  // Shown as Markdown.
  Status Text(int64_t step, std::string_view tag, std::string_view text);
  // An encoded PNG.
  Status Image(int64_t step, std::string_view tag, std::string_view png, int width, int height);
  // Any tensor under a plugin's name, as TensorFlow 2 writes summaries.
  Status TensorSummary(int64_t step, std::string_view tag, const Tensor& tensor, std::string_view plugin,
                       std::string_view plugin_content = "");
  // The bytes of a GraphDef.
  Status GraphBytes(std::string_view graph_def, int64_t step = 0);

  Status Flush();
  Status Close();

 private:
  struct State;
  explicit EventWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir

#endif  // WEIR_IO_EVENT_WRITER_H_
