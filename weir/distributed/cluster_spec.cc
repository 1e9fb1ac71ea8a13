#include "weir/distributed/cluster_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "weir/proto/config.pb.h"

namespace weir {
namespace {

using nlohmann::json;

constexpr int kMaxTasks = 100'000;

bool IsJobName(std::string_view text) {
  return !text.empty() && absl::ascii_isalpha(text[0]) &&
         std::ranges::all_of(text, [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

bool IsAddress(std::string_view text) {
  size_t colon = text.rfind(':');
  int port = 0;
  return colon != text.npos && colon > 0 && absl::SimpleAtoi(ToAbsl(text.substr(colon + 1)), &port) && port > 0 &&
         port < 65536;
}

Status AddJson(const json& jobs, ClusterSpec* spec) {
  if (!jobs.is_object()) return InvalidArgument("A cluster must be a JSON object of jobs");
  for (const auto& [job, tasks] : jobs.items()) {
    if (!tasks.is_array() && !tasks.is_object()) {
      return InvalidArgument("Job '", job, "' must be a list of \"host:port\", or an object of them by index");
    }
    int position = 0;
    for (const auto& [key, address] : tasks.items()) {
      int index = position++;
      if (tasks.is_object() && !absl::SimpleAtoi(key, &index)) {
        return InvalidArgument("Job '", job, "' has the task index '", key, "', which is not a number");
      }
      if (!address.is_string()) return InvalidArgument("Task ", index, " of job '", job, "' has no \"host:port\"");
      WEIR_RETURN_IF_ERROR(spec->Add(job, index, address.get<std::string>()));
    }
  }
  return OkStatus();
}

StatusOr<json> ParseObject(std::string_view text) {
  json value = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded() || !value.is_object()) return InvalidArgument("Not a JSON object");
  return value;
}

Status CheckPlace(const ClusterPlace& place) {
  if (place.cluster.Find(place.job, place.task) != nullptr) return OkStatus();
  return InvalidArgument("The cluster has no task ", TaskName(place.job, place.task));
}

}  // namespace

std::string TaskName(std::string_view job, int index) { return Cat("/job:", job, "/replica:0/task:", index); }

std::string_view TaskOfDevice(std::string_view device) { return device.substr(0, device.find("/device:")); }

StatusOr<ClusterSpec> ClusterSpec::FromJson(std::string_view text) {
  WEIR_ASSIGN_OR_RETURN(json value, ParseObject(text));
  ClusterSpec spec;
  auto inner = value.find("cluster");
  // A job may also be called "cluster", but then its value is a list.
  const bool nested = inner != value.end() && inner->is_object() && value.size() <= 3 &&
                      std::ranges::all_of(*inner, [](const json& job) { return job.is_structured(); });
  WEIR_RETURN_IF_ERROR(AddJson(nested ? *inner : value, &spec));
  return spec;
}

StatusOr<ClusterSpec> ClusterSpec::FromProto(const ClusterDef& def) {
  ClusterSpec spec;
  for (const JobDef& job : def.job()) {
    for (const auto& [index, address] : job.tasks()) WEIR_RETURN_IF_ERROR(spec.Add(job.name(), index, address));
  }
  return spec;
}

Status ClusterSpec::Add(std::string_view job, int index, std::string_view address) {
  if (!IsJobName(job)) return InvalidArgument("'", job, "' is not a valid job name");
  if (index < 0 || index >= kMaxTasks) return InvalidArgument("Job '", job, "' has the task index ", index);
  if (!IsAddress(address)) {
    return InvalidArgument("Task ", index, " of job '", job, "' has the address '", address, "', not \"host:port\"");
  }
  auto at = std::ranges::find_if(
      tasks_, [&](const Task& task) { return task.job > job || (task.job == job && task.index >= index); });
  if (at != tasks_.end() && at->job == job && at->index == index) {
    return InvalidArgument("Task ", index, " of job '", job, "' is given twice");
  }
  tasks_.insert(at, {std::string(job), index, std::string(address)});
  return OkStatus();
}

Status ClusterSpec::AddJob(std::string_view job, std::string_view addresses) {
  int index = 0;
  for (absl::string_view address : absl::StrSplit(ToAbsl(addresses), ',', absl::SkipWhitespace())) {
    WEIR_RETURN_IF_ERROR(Add(job, index++, FromAbsl(absl::StripAsciiWhitespace(address))));
  }
  return OkStatus();
}

const ClusterSpec::Task* ClusterSpec::Find(std::string_view job, int index) const {
  auto found = std::ranges::find_if(tasks_, [&](const Task& task) { return task.job == job && task.index == index; });
  return found != tasks_.end() ? &*found : nullptr;
}

void ClusterSpec::ToProto(ClusterDef* def) const {
  for (const Task& task : tasks_) {
    if (def->job_size() == 0 || def->job(def->job_size() - 1).name() != task.job) def->add_job()->set_name(task.job);
    (*def->mutable_job(def->job_size() - 1)->mutable_tasks())[task.index] = task.address;
  }
}

StatusOr<ClusterPlace> FromTfConfig(std::string_view text) {
  StatusOr<json> value = ParseObject(text);
  if (!value.ok()) return Annotate(value.status(), "TF_CONFIG: ");
  ClusterPlace place;
  if (!value->contains("cluster")) return InvalidArgument("TF_CONFIG has no \"cluster\"");
  Status added = AddJson((*value)["cluster"], &place.cluster);
  if (!added.ok()) return Annotate(added, "TF_CONFIG: ");
  const json task = value->value("task", json::object());
  if (!task.is_object() || !task.contains("type") || !task["type"].is_string()) {
    return InvalidArgument("TF_CONFIG has no \"task\" with a \"type\"");
  }
  place.job = task["type"].get<std::string>();
  const json index = task.value("index", json(0));
  // Some launchers write the index as a string.
  if (index.is_number_integer()) {
    place.task = index.get<int>();
  } else if (!index.is_string() || !absl::SimpleAtoi(index.get<std::string>(), &place.task)) {
    return InvalidArgument("TF_CONFIG: the task's index is not a number");
  }
  WEIR_RETURN_IF_ERROR(CheckPlace(place));
  return place;
}

StatusOr<ClusterPlace> FromServerDef(const ServerDef& def) {
  ClusterPlace place;
  WEIR_ASSIGN_OR_RETURN(place.cluster, ClusterSpec::FromProto(def.cluster()));
  place.job = def.job_name();
  place.task = def.task_index();
  WEIR_RETURN_IF_ERROR(CheckPlace(place));
  return place;
}

StatusOr<std::vector<std::string>> ExpandSlurmNodes(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    size_t end = 0;
    for (bool inside = false; end < list.size() && (inside || list[end] != ','); ++end) {
      if (list[end] == '[' || list[end] == ']') inside = list[end] == '[';
    }
    std::string_view item = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    size_t open = item.find('['), close = item.find(']');
    if (open == item.npos && close == item.npos && !item.empty()) {
      out.emplace_back(item);
      continue;
    }
    if (open == item.npos || close != item.size() - 1) return InvalidArgument("Bad Slurm node list at '", item, "'");
    for (absl::string_view range : absl::StrSplit(ToAbsl(item.substr(open + 1, close - open - 1)), ',')) {
      std::pair<std::string, std::string> ends = absl::StrSplit(range, absl::MaxSplits('-', 1));
      if (ends.second.empty()) ends.second = ends.first;
      int first = 0, last = 0;
      if (!absl::SimpleAtoi(ends.first, &first) || !absl::SimpleAtoi(ends.second, &last) || first < 0 || last < first ||
          last - first >= kMaxTasks) {
        return InvalidArgument("Bad Slurm node list at '", item, "'");
      }
      for (int i = first; i <= last; ++i) {
        std::string number = Cat(i);
        // Leading zeros are kept: "n[08-10]".
        if (number.size() < ends.first.size()) number.insert(0, ends.first.size() - number.size(), '0');
        out.push_back(Cat(item.substr(0, open), number));
      }
    }
  }
  return out;
}

StatusOr<std::vector<int>> ExpandSlurmCounts(std::string_view list) {
  std::vector<int> out;
  for (absl::string_view item : absl::StrSplit(ToAbsl(list), ',', absl::SkipEmpty())) {
    int count = 0, times = 1;
    absl::string_view number = item;
    bool good = true;
    if (size_t open = item.find("(x"); open != item.npos) {
      number = item.substr(0, open);
      absl::string_view repeats = item.substr(open + 2);
      good = absl::ConsumeSuffix(&repeats, ")") && absl::SimpleAtoi(repeats, &times);
    }
    good = good && absl::SimpleAtoi(number, &count) && count > 0;
    if (!good || times < 1 || times > kMaxTasks)
      return InvalidArgument("Bad Slurm task counts at '", FromAbsl(item), "'");
    out.insert(out.end(), times, count);
  }
  return out;
}

StatusOr<ClusterPlace> FromSlurm(const std::vector<std::pair<std::string, int>>& jobs, int first_port,
                                 const GetVariable& variable) {
  auto first_set = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (std::string value = variable(name); !value.empty()) return value;
    }
    return std::string();
  };
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> nodes,
                        ExpandSlurmNodes(first_set({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"})));
  WEIR_ASSIGN_OR_RETURN(std::vector<int> counts,
                        ExpandSlurmCounts(first_set({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"})));
  int rank = -1;
  if (nodes.empty() || !absl::SimpleAtoi(variable("SLURM_PROCID"), &rank)) {
    return NotFound("Slurm's variables SLURM_PROCID and SLURM_STEP_NODELIST are not set: is this a process of srun?");
  }
  if (counts.empty()) counts.assign(nodes.size(), 1);
  if (counts.size() != nodes.size()) {
    return InvalidArgument("Slurm names ", nodes.size(), " nodes but counts tasks on ", counts.size());
  }
  std::vector<std::string> addresses;
  for (size_t node = 0; node < nodes.size(); ++node) {
    for (int i = 0; i < counts[node]; ++i) addresses.push_back(Cat(nodes[node], ":", first_port + i));
  }
  ClusterPlace place;
  size_t next = 0;
  for (const auto& [job, count] : jobs) {
    for (int i = 0; i < count; ++i, ++next) {
      if (next >= addresses.size()) {
        return InvalidArgument("The jobs have more tasks than the ", addresses.size(), " that Slurm started");
      }
      if (static_cast<int>(next) == rank) {
        place.job = job;
        place.task = i;
      }
      WEIR_RETURN_IF_ERROR(place.cluster.Add(job, i, addresses[next]));
    }
  }
  if (place.job.empty()) return InvalidArgument("The jobs have no task for SLURM_PROCID ", rank);
  return place;
}

}  // namespace weir
