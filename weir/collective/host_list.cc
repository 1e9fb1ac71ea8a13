#include "weir/collective/host_list.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "weir/base/strings.h"

namespace weir::collective {
namespace {

constexpr size_t kMostHosts = 65536;

bool IsDigits(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Expands "1-3,07", keeping leading zeros.
Status ExpandNumbers(std::string_view text, std::vector<std::string>* out) {
  for (const auto part : absl::StrSplit(ToAbsl(text), ',')) {
    const std::string_view entry(part.data(), part.size());
    const size_t dash = entry.find('-');
    const std::string_view first = entry.substr(0, dash);
    const std::string_view last = dash == entry.npos ? first : entry.substr(dash + 1);
    if (!IsDigits(first) || !IsDigits(last)) return InvalidArgument("'", entry, "' is not a range of numbers");
    const int from = std::atoi(std::string(first).c_str()), to = std::atoi(std::string(last).c_str());
    if (from > to) return InvalidArgument("'", entry, "' counts backwards");
    if (static_cast<size_t>(to - from) + out->size() >= kMostHosts) return InvalidArgument("too many hosts");
    for (int i = from; i <= to; ++i) {
      std::string number = Cat(i);
      if (number.size() < first.size()) number.insert(0, first.size() - number.size(), '0');
      out->push_back(std::move(number));
    }
  }
  return OkStatus();
}

// Expands one name with any number of brackets; nothing may follow the last one.
Status ExpandName(std::string_view name, std::vector<std::string>* out) {
  std::vector<std::string> hosts{""};
  bool had_bracket = false;
  while (!name.empty()) {
    const size_t open = name.find('[');
    const std::string_view literal = name.substr(0, open);
    if (literal.find(']') != literal.npos) return InvalidArgument("a ']' without a '['");
    for (std::string& host : hosts) host += literal;
    if (open == name.npos) {
      if (had_bracket) return InvalidArgument("nothing may follow the last bracket");
      break;
    }
    had_bracket = true;
    const size_t close = name.find(']', open);
    if (close == name.npos) return InvalidArgument("a '[' is not closed");
    std::vector<std::string> numbers;
    WEIR_RETURN_IF_ERROR(ExpandNumbers(name.substr(open + 1, close - open - 1), &numbers));
    if (hosts.size() * numbers.size() > kMostHosts) return InvalidArgument("too many hosts");
    std::vector<std::string> more;
    for (const std::string& host : hosts) {
      for (const std::string& number : numbers) more.push_back(host + number);
    }
    hosts = std::move(more);
    name.remove_prefix(close + 1);
  }
  out->insert(out->end(), hosts.begin(), hosts.end());
  return OkStatus();
}

StatusOr<HostSlots> ParseHost(std::string_view text) {
  HostSlots out;
  const size_t bracket = text.rfind(']');
  const size_t colon = text.rfind(':');
  const bool has_slots = colon != text.npos && (bracket == text.npos || colon > bracket);
  out.host = text.substr(0, has_slots ? colon : text.npos);
  if (out.host.starts_with('[') && out.host.ends_with(']')) out.host = out.host.substr(1, out.host.size() - 2);
  if (has_slots &&
      (!IsDigits(text.substr(colon + 1)) || !absl::SimpleAtoi(ToAbsl(text.substr(colon + 1)), &out.slots))) {
    return InvalidArgument("'", text, "' is not a host such as name:4");
  }
  if (out.host.empty() || out.slots < 1) return InvalidArgument("'", text, "' is not a host such as name:4");
  // The name becomes an argument of ssh.
  if (out.host.starts_with('-')) return InvalidArgument("A host's name cannot start with '-': ", text);
  return out;
}

}  // namespace

StatusOr<std::vector<std::string>> ParseSlurmHosts(std::string_view list) {
  std::vector<std::string> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size()) {
      depth += list[i] == '[' ? 1 : list[i] == ']' ? -1 : 0;
      if (depth > 1) return InvalidArgument("The host list '", list, "' has a bracket inside a bracket");
      if (list[i] != ',' || depth > 0) continue;
    }
    Status status = ExpandName(list.substr(begin, i - begin), &out);
    if (!status.ok()) return InvalidArgument("The host list '", list, "' cannot be read: ", Message(status));
    if (begin == i && !out.empty() && out.back().empty()) out.pop_back();  // empty parts are skipped
    begin = i + 1;
  }
  return out;
}

StatusOr<std::vector<int>> ParseSlurmTasks(std::string_view list) {
  std::vector<int> out;
  for (const auto part : absl::StrSplit(ToAbsl(list), ',')) {
    const std::string_view entry(part.data(), part.size());
    const size_t times = entry.find("(x");
    int tasks = 0;
    int nodes = 1;
    bool good =
        IsDigits(entry.substr(0, times)) && absl::SimpleAtoi(ToAbsl(entry.substr(0, times)), &tasks) && tasks > 0;
    if (good && times != entry.npos) {
      const std::string_view count = entry.substr(times + 2, entry.size() - times - 3);
      good = entry.ends_with(')') && IsDigits(count) && absl::SimpleAtoi(ToAbsl(count), &nodes) && nodes > 0;
    }
    if (!good || static_cast<size_t>(nodes) + out.size() > kMostHosts) {
      return InvalidArgument("SLURM_STEP_TASKS_PER_NODE=", list, " is not a list such as 2(x3),1");
    }
    out.insert(out.end(), static_cast<size_t>(nodes), tasks);
  }
  return out;
}

StatusOr<std::vector<HostSlots>> ParseHosts(std::string_view list) {
  std::vector<HostSlots> out;
  for (const auto part : absl::StrSplit(ToAbsl(list), ',', absl::SkipWhitespace())) {
    WEIR_ASSIGN_OR_RETURN(HostSlots host, ParseHost(std::string_view(part.data(), part.size())));
    out.push_back(std::move(host));
  }
  if (out.empty()) return InvalidArgument("The list of hosts is empty");
  return out;
}

StatusOr<std::vector<HostSlots>> ParseHostFile(std::string_view text) {
  std::vector<HostSlots> out;
  for (const auto line : absl::StrSplit(ToAbsl(text), '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line.substr(0, line.find('#')), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    WEIR_ASSIGN_OR_RETURN(HostSlots host, ParseHost(words[0]));
    for (size_t i = 1; i < words.size(); ++i) {
      absl::string_view value = words[i];
      if (absl::ConsumePrefix(&value, "slots=")) {
        if (!absl::SimpleAtoi(value, &host.slots) || host.slots < 1) {
          return InvalidArgument("The host file's line '", words[0], " ", words[i], "' has no number of slots");
        }
      } else if (!absl::StartsWith(value, "max_slots=") && !absl::StartsWith(value, "max-slots=")) {
        return InvalidArgument("The host file says '", words[i], "' of ", words[0], ", which is not slots=N");
      }
    }
    out.push_back(std::move(host));
  }
  if (out.empty()) return InvalidArgument("The host file names no host");
  return out;
}

}  // namespace weir::collective
