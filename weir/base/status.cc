#include "weir/base/status.h"

namespace weir {

Status Annotate(const Status& status, std::string_view prefix, std::string_view suffix) {
  if (status.ok()) return status;
  Status out(status.code(), Cat(prefix, Message(status), suffix));
  status.ForEachPayload([&out](absl::string_view url, const absl::Cord& payload) { out.SetPayload(url, payload); });
  return out;
}

}  // namespace weir
