#include "weir/runtime/remote.h"

namespace weir {
namespace {

// The mark is part of the text, because the text is the only part of an error that all messages between tasks carry.
constexpr std::string_view kDerivedMark = "[_Derived_]";

}  // namespace

Status MarkDerived(const Status& status, std::string_view task) {
  if (status.ok() || IsDerived(status)) return status;
  return Annotate(status, task.empty() ? std::string(kDerivedMark) : Cat(kDerivedMark, "From ", task, ":\n"));
}

bool IsDerived(const Status& status) { return FromAbsl(status.message()).find(kDerivedMark) != std::string_view::npos; }

Status WithoutDerivedMark(const Status& status) {
  std::string_view text = FromAbsl(status.message());
  size_t at = text.rfind(kDerivedMark);
  if (at == text.npos) return status;
  return Status(status.code(), ToAbsl(text.substr(at + kDerivedMark.size())));
}

}  // namespace weir
