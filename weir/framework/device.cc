#include "weir/framework/device.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace weir {
namespace {

bool IsTypeName(std::string_view text) {
  return !text.empty() && absl::ascii_isalpha(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

// "7", or "*" for any.
bool ParseIndex(std::string_view text, int* value) {
  if (text == "*") {
    *value = -1;
    return true;
  }
  return absl::SimpleAtoi(ToAbsl(text), value) && *value >= 0;
}

// One part of a name, without its slash.
bool ParsePart(std::string_view part, DeviceName* name) {
  size_t colon = part.find(':');
  std::string key = absl::AsciiStrToLower(ToAbsl(part.substr(0, colon)));
  std::string_view value = colon == std::string_view::npos ? std::string_view() : part.substr(colon + 1);
  if (key == "job" && colon != std::string_view::npos) {
    if (value == "*") return true;
    name->job = value;
    return IsTypeName(value);
  }
  if (key == "replica") return ParseIndex(value, &name->replica);
  if (key == "task") return ParseIndex(value, &name->task);
  if (key == "device" && colon != std::string_view::npos) {
    size_t second = value.find(':');
    std::string_view type = value.substr(0, second);
    if (type != "*") {
      if (!IsTypeName(type)) return false;
      name->type = absl::AsciiStrToUpper(ToAbsl(type));
    }
    return second == std::string_view::npos || ParseIndex(value.substr(second + 1), &name->id);
  }
  // The old form: "cpu:0", "gpu", "cpu:*".
  if (!IsTypeName(key)) return false;
  name->type = absl::AsciiStrToUpper(key);
  return colon == std::string_view::npos || ParseIndex(value, &name->id);
}

}  // namespace

StatusOr<std::vector<Tensor>> DeviceRun::StartRecording(std::span<const Tensor>) {
  return Unimplemented("The device does not record runs");
}

StatusOr<std::shared_ptr<DeviceRecording>> DeviceRun::EndRecording(std::span<const Tensor>) {
  return Internal("The run was not recorded");
}

StatusOr<DeviceName> DeviceName::Parse(std::string_view text) {
  DeviceName name;
  std::string_view rest = text;
  if (rest == "/") return name;
  while (!rest.empty()) {
    if (rest[0] == '/') rest.remove_prefix(1);
    size_t end = rest.find('/');
    if (!ParsePart(rest.substr(0, end), &name)) return InvalidArgument("Malformed device specification '", text, "'");
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  }
  return name;
}

std::string DeviceName::ToString() const {
  std::string out;
  if (!job.empty()) out += Cat("/job:", job);
  if (replica >= 0) out += Cat("/replica:", replica);
  if (task >= 0) out += Cat("/task:", task);
  if (!type.empty() || id >= 0) {
    out += Cat("/device:", type.empty() ? std::string("*") : type, ":");
    out += id >= 0 ? Cat(id) : std::string("*");
  }
  return out;
}

bool DeviceName::Matches(const DeviceName& pattern) const {
  return (pattern.job.empty() || pattern.job == job) && (pattern.replica < 0 || pattern.replica == replica) &&
         (pattern.task < 0 || pattern.task == task) && (pattern.type.empty() || pattern.type == type) &&
         (pattern.id < 0 || pattern.id == id);
}

DeviceName DeviceName::MergedOver(const DeviceName& base) const {
  DeviceName out = *this;
  if (out.job.empty()) out.job = base.job;
  if (out.replica < 0) out.replica = base.replica;
  if (out.task < 0) out.task = base.task;
  if (out.type.empty()) {
    out.type = base.type;
    if (out.id < 0) out.id = base.id;
  } else if (out.id < 0 && out.type == base.type) {
    out.id = base.id;
  }
  return out;
}

namespace {

// Copies that are under way together.
struct CopyAll {
  absl::Mutex mu;
  std::vector<Tensor> copies ABSL_GUARDED_BY(mu);
  Status status ABSL_GUARDED_BY(mu);
  size_t left ABSL_GUARDED_BY(mu) = 0;
  Device::CopyAllDone done;

  void Add(size_t index, StatusOr<Tensor> copy) {
    std::vector<Tensor> all;
    Status ended;
    {
      absl::MutexLock lock(&mu);
      if (copy.ok()) {
        copies[index] = std::move(*copy);
      } else if (status.ok()) {
        status = copy.status();
      }
      if (--left > 0) return;
      ended = status;
      all = std::move(copies);
    }
    ended.ok() ? done(std::move(all)) : done(ended);
  }
};

}  // namespace

void Device::CopyAllFromHost(std::vector<Tensor> host_tensors, CopyAllDone done) {
  if (host_tensors.empty()) return done(std::vector<Tensor>());
  auto all = std::make_shared<CopyAll>();
  all->done = std::move(done);
  {
    absl::MutexLock lock(&all->mu);
    all->copies.resize(host_tensors.size());
    all->left = host_tensors.size();
  }
  for (size_t i = 0; i < host_tensors.size(); ++i) {
    CopyFromHost(host_tensors[i], nullptr, [all, i](StatusOr<Tensor> copy) { all->Add(i, std::move(copy)); });
  }
}

namespace {

StatusOr<Tensor> CopyNow(Device& device, const Tensor& tensor, DeviceRun* run, bool to_host) {
  absl::Notification done;
  StatusOr<Tensor> out = Internal("A copy was dropped");
  auto finish = [&](StatusOr<Tensor> copy) {
    out = std::move(copy);
    done.Notify();
  };
  to_host ? device.CopyToHost(tensor, run, finish) : device.CopyFromHost(tensor, run, finish);
  done.WaitForNotification();
  return out;
}

}  // namespace

StatusOr<Tensor> CopyToHostNow(Device& device, const Tensor& tensor, DeviceRun* run) {
  return CopyNow(device, tensor, run, /*to_host=*/true);
}
StatusOr<Tensor> CopyFromHostNow(Device& device, const Tensor& tensor, DeviceRun* run) {
  return CopyNow(device, tensor, run, /*to_host=*/false);
}

void DeviceSet::Add(std::shared_ptr<Device> device) {
  if (host_ == nullptr && device->is_host()) host_ = device.get();
  devices_.push_back(std::move(device));
}

void DeviceSet::Defer(std::function<Status()> add) {
  deferred_ = std::make_shared<Deferred>();
  deferred_->add = std::move(add);
  deferred_->early = devices_;
}

Status DeviceSet::Complete(const std::function<Status()>& add) const {
  if (is_complete()) return OkStatus();
  absl::MutexLock lock(&deferred_->mu);
  if (is_complete()) return OkStatus();
  WEIR_RETURN_IF_ERROR(add());
  deferred_->is_done.store(true, std::memory_order_release);
  return OkStatus();
}

const std::vector<std::shared_ptr<Device>>& DeviceSet::devices() const {
  if (!is_complete()) Complete(deferred_->add).IgnoreError();
  return devices_;
}

std::vector<std::shared_ptr<Device>> DeviceSet::at_hand() const { return is_complete() ? devices_ : deferred_->early; }

Device* DeviceSet::Find(std::string_view full_name) const {
  for (const auto& device : devices()) {
    if (device->name() == full_name) return device.get();
  }
  return nullptr;
}

}  // namespace weir
