#include "weir/collective/timeline.h"

#include <cerrno>
#include <cstring>

#include "weir/base/strings.h"

namespace weir::collective {
namespace {

// Escapes a text for a JSON string.
std::string JsonText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

}  // namespace

Status Timeline::Start(const std::string& path, int rank) {
  absl::MutexLock lock(&mu_);
  if (file_ != nullptr) return FailedPrecondition("a timeline is being written already");
  file_ = std::fopen(path.c_str(), "w");
  if (file_ == nullptr) return Unavailable("cannot write the timeline ", path, ": ", std::strerror(errno));
  rank_ = rank;
  rows_.clear();
  std::fprintf(file_, "[\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %d, \"args\": {\"name\": \"rank %d\"}}",
               rank, rank);
  return OkStatus();
}

void Timeline::Stop() {
  absl::MutexLock lock(&mu_);
  if (file_ == nullptr) return;
  std::fprintf(file_, "\n]\n");
  std::fclose(file_);
  file_ = nullptr;
}

bool Timeline::is_on() const {
  absl::MutexLock lock(&mu_);
  return file_ != nullptr;
}

void Timeline::Add(std::string_view name, std::string_view event, absl::Time begin, absl::Time end) {
  absl::MutexLock lock(&mu_);
  if (file_ == nullptr) return;
  auto found = rows_.find(name);
  if (found == rows_.end()) {
    found = rows_.emplace(std::string(name), static_cast<int>(rows_.size())).first;
    std::fprintf(
        file_, ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": %d, \"tid\": %d, \"args\": {\"name\": \"%s\"}}",
        rank_, found->second, JsonText(name).c_str());
  }
  std::fprintf(file_, ",\n{\"name\": \"%s\", \"ph\": \"X\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f}",
               JsonText(event).c_str(), rank_, found->second, absl::ToDoubleMicroseconds(begin - absl::UnixEpoch()),
               absl::ToDoubleMicroseconds(end - begin));
}

}  // namespace weir::collective
