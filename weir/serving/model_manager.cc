#include "weir/serving/model_manager.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/serving/version_folders.h"

namespace weir {
namespace {

constexpr double kMemoryOverFiles = 1.2;
constexpr absl::Duration kHintEvery = absl::Seconds(10);

// The calling thread gives way to those that serve requests.
void BecomeLowPriority(const char* name) {
  pthread_setname_np(pthread_self(), name);
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 15);
}

}  // namespace

// Where versions go that nothing refers to any more: their memory is freed by a thread of its own, not by the request
// that happened to be the last.
class ModelManager::Graveyard {
 public:
  Graveyard() : thread_([this] { Work(); }) {}
  void Bury(ServedVersion* version) {
    absl::MutexLock lock(&mu_);
    versions_.push_back(version);
    changed_.Signal();
  }
  void SetCallback(std::function<void(const std::string&, int64_t)> gone) {
    absl::MutexLock lock(&mu_);
    gone_ = std::move(gone);
  }
  void End() {
    {
      absl::MutexLock lock(&mu_);
      ending_ = true;
      changed_.Signal();
    }
    thread_.join();
  }

 private:
  void Work() {
    BecomeLowPriority("weir_unload");
    while (true) {
      ServedVersion* version = nullptr;
      std::function<void(const std::string&, int64_t)> gone;
      {
        absl::MutexLock lock(&mu_);
        while (versions_.empty() && !ending_) changed_.Wait(&mu_);
        if (versions_.empty()) return;
        version = versions_.back();
        versions_.pop_back();
        gone = gone_;
      }
      const std::string model = version->model();
      const int64_t number = version->version();
      delete version;
      if (gone) gone(model, number);
      malloc_trim(0);
      WEIR_LOG(INFO) << "model " << model << " version " << number << " is unloaded";
    }
  }
  absl::Mutex mu_;
  absl::CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<ServedVersion*> versions_ ABSL_GUARDED_BY(mu_);
  std::function<void(const std::string&, int64_t)> gone_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

ModelManager::ModelManager(ManagerOptions options)
    : options_(std::move(options)), graveyard_(std::make_shared<Graveyard>()) {
  graveyard_->SetCallback([this](const std::string& name, int64_t number) {
    shared_tensors_.Sweep();
    absl::MutexLock lock(&mu_);
    auto model = models_.find(name);
    if (model == models_.end()) return;
    auto version = model->second.versions.find(number);
    if (version != model->second.versions.end() && version->second.state == VersionState::kUnloading) {
      version->second.state = VersionState::kEnd;
      version->second.bytes = 0;
    }
    Advance();
    changed_.SignalAll();
  });
  threads_.emplace_back([this] { PollLoop(); });
  for (int i = 0; i < std::max(options_.num_load_threads, 1); ++i) threads_.emplace_back([this] { LoadLoop(); });
}

ModelManager::~ModelManager() {
  Stop();
  for (std::thread& thread : threads_) thread.join();
  {
    absl::MutexLock lock(&mu_);
    for (auto& [name, model] : models_) {
      for (auto& [number, version] : model.versions) version.served.reset();
    }
  }
  graveyard_->SetCallback(nullptr);
  graveyard_->End();
}

void ModelManager::Stop() {
  absl::MutexLock lock(&mu_);
  stopping_ = true;
  changed_.SignalAll();
}

Status ModelManager::Configure(std::vector<ModelSettings> models) {
  absl::MutexLock one(&configure_mu_);
  // Labels must lead to a version that is there, or will be.
  std::map<std::string, std::map<int64_t, std::string>> wanted;
  for (const ModelSettings& settings : models) {
    StatusOr<std::map<int64_t, std::string>> found = ListVersions(settings.base_path);
    if (found.ok()) wanted[settings.name] = ChooseVersions(*found, settings.policy);
  }
  std::vector<std::string> fresh;
  {
    absl::MutexLock lock(&mu_);
    for (const ModelSettings& settings : models) {
      auto known = models_.find(settings.name);
      for (const auto& [label, version] : settings.labels) {
        const bool is_there = known != models_.end() && known->second.versions.contains(version) &&
                              known->second.versions[version].state == VersionState::kAvailable;
        if (is_there || wanted[settings.name].contains(version)) continue;
        return FailedPrecondition("Label ", label, " of model ", settings.name, " is for version ", version,
                                  ", which is not there");
      }
    }
    std::set<std::string> names;
    for (ModelSettings& settings : models) {
      names.insert(settings.name);
      auto [at, is_new] = models_.try_emplace(settings.name);
      Model& model = at->second;
      if (is_new || model.removed) fresh.push_back(settings.name);
      model.removed = model.listed = false;
      model.settings = std::make_shared<const ModelSettings>(std::move(settings));
      ApplyLabels(model);
    }
    for (auto& [name, model] : models_) {
      if (names.contains(name)) continue;
      model.removed = true;
      model.aspired.clear();
      model.labels.clear();
    }
    Advance();
    poll_now_ = true;
    changed_.SignalAll();
  }
  absl::MutexLock lock(&mu_);
  for (const auto& [name, versions] : wanted) {
    if (versions.empty()) continue;
    while (!stopping_ && !Settled(name)) changed_.Wait(&mu_);
  }
  for (const std::string& name : fresh) {
    while (!stopping_ && !Settled(name)) changed_.Wait(&mu_);
    if (stopping_) return Cancelled("The server is shutting down");
    const Model& model = models_.find(name)->second;
    Status error;
    bool available = false;
    for (const auto& [number, version] : model.versions) {
      available = available || version.state == VersionState::kAvailable;
      if (!version.error.ok()) error = version.error;
    }
    if (!available && !error.ok()) {
      return Annotate(error, Cat("1 model(s) did not become available: {", name, "} Last error: "));
    }
  }
  return OkStatus();
}

bool ModelManager::Settled(const std::string& name) const {
  auto at = models_.find(name);
  if (at == models_.end() || at->second.removed) return true;
  const Model& model = at->second;
  if (!model.listed || model.aspired.empty()) return false;
  for (const auto& [number, folder] : model.aspired) {
    auto version = model.versions.find(number);
    if (version == model.versions.end() || version->second.state < VersionState::kAvailable) return false;
  }
  return true;
}

void ModelManager::PollLoop() {
  BecomeLowPriority("weir_poll");
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      const absl::Time next =
          options_.poll > absl::ZeroDuration() ? absl::Now() + options_.poll : absl::InfiniteFuture();
      while (!stopping_ && !poll_now_) {
        if (changed_.WaitWithDeadline(&mu_, next)) break;
      }
      if (stopping_) return;
      poll_now_ = false;
    }
    Poll();
  }
}

void ModelManager::Poll() {
  std::vector<std::shared_ptr<const ModelSettings>> all;
  std::vector<std::pair<std::string, int64_t>> failed;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [name, model] : models_) {
      if (!model.removed) all.push_back(model.settings);
    }
  }
  for (const auto& settings : all) {
    StatusOr<std::map<int64_t, std::string>> found = ListVersions(settings->base_path);
    // A store that does not answer is no reason to drop what is served.
    if (!found.ok()) {
      WEIR_LOG(WARNING) << "model " << settings->name << ": " << Message(found.status());
      continue;
    }
    const std::map<int64_t, std::string> chosen = ChooseVersions(*found, settings->policy);
    if (chosen.empty()) {
      static std::atomic<int64_t> last_hint{0};
      const int64_t now = absl::ToUnixSeconds(absl::Now());
      if (now - last_hint.exchange(now) >= absl::ToInt64Seconds(kHintEvery)) {
        WEIR_LOG(WARNING) << "no versions of model " << settings->name << " in " << settings->base_path
                          << ": a version is a folder with a number as its name, as in " << settings->base_path
                          << "/1/saved_model.pb";
      }
    }
    std::map<int64_t, uint64_t> prints;
    {
      absl::MutexLock lock(&mu_);
      auto at = models_.find(settings->name);
      if (at == models_.end() || at->second.settings != settings) continue;
      for (const auto& [number, folder] : chosen) {
        auto version = at->second.versions.find(number);
        if (version != at->second.versions.end() && !version->second.error.ok()) prints[number] = 0;
      }
    }
    for (auto& [number, print] : prints) print = SummarizeFolder(chosen.at(number)).fingerprint;
    absl::MutexLock lock(&mu_);
    auto at = models_.find(settings->name);
    if (at == models_.end() || at->second.settings != settings) continue;
    Model& model = at->second;
    model.listed = true;
    model.aspired = chosen;
    for (const auto& [number, print] : prints) {
      Version& version = model.versions[number];
      const bool waits = !version.error.ok() && (version.state == VersionState::kEnd || version.next_try > absl::Now());
      if (!waits || version.files == print) continue;
      version.attempts = 0;
      version.state = VersionState::kStart;  // its files have changed
    }
    Advance();
    changed_.SignalAll();
  }
}

void ModelManager::Advance() {
  const absl::Time now = absl::Now();
  for (auto& [name, model] : models_) {
    // The newest first.
    for (auto at = model.aspired.rbegin(); at != model.aspired.rend(); ++at) {
      Version& version = model.versions[at->first];
      const bool again = version.state == VersionState::kLoading && !version.error.ok() && now >= version.next_try;
      const bool back = version.state == VersionState::kEnd && version.error.ok();
      if (version.state != VersionState::kStart && !again && !back) continue;
      version.state = VersionState::kLoading;
      version.error = OkStatus();
      loads_.push_back({name, at->first, at->second});
      changed_.SignalAll();
    }
    bool has_aspired = false;
    for (const auto& [number, folder] : model.aspired) {
      has_aspired = has_aspired || model.versions[number].state == VersionState::kAvailable;
    }
    if (!has_aspired && !model.aspired.empty()) continue;  // the old ones stay until a new one is there
    if (!model.listed && !model.removed) continue;
    for (auto& [number, version] : model.versions) {
      if (version.state == VersionState::kAvailable && !model.aspired.contains(number)) {
        Unload(model, version, name, number);
      }
    }
  }
}

void ModelManager::Unload(Model& model, Version& version, const std::string& name, int64_t number) {
  WEIR_LOG(INFO) << "model " << name << " version " << number << " is taken out of service";
  version.state = VersionState::kUnloading;
  version.served.reset();  // the graveyard hears of it when the last request has ended
  std::erase_if(model.labels, [&](const auto& label) { return label.second == number; });
}

void ModelManager::ApplyLabels(Model& model) {
  std::erase_if(model.labels, [&](const auto& label) { return !model.settings->labels.contains(label.first); });
  for (const auto& [label, number] : model.settings->labels) {
    auto version = model.versions.find(number);
    if (version != model.versions.end() && version->second.state == VersionState::kAvailable)
      model.labels[label] = number;
  }
}

void ModelManager::LoadLoop() {
  BecomeLowPriority("weir_load");
  while (true) {
    LoadTask task;
    {
      absl::MutexLock lock(&mu_);
      while (!stopping_ && loads_.empty()) changed_.Wait(&mu_);
      if (stopping_) return;
      task = loads_.front();
      loads_.erase(loads_.begin());
    }
    Load(task);
  }
}

Status ModelManager::CheckBudget(int64_t bytes) const {
  if (options_.memory_budget == 0) return OkStatus();
  int64_t used = 0;
  for (const auto& [name, model] : models_) {
    for (const auto& [number, version] : model.versions) used += version.bytes;
  }
  if (used + bytes <= options_.memory_budget) return OkStatus();
  return ResourceExhausted("its ", bytes, " bytes and the ", used, " bytes already loaded exceed the budget of ",
                           options_.memory_budget, " bytes");
}

StatusOr<std::shared_ptr<ServedVersion>> ModelManager::Read(const LoadTask& task, int64_t* bytes) {
  VersionOptions options = options_.version;
  options.model = task.model;
  options.version = task.version;
  options.folder = task.folder;
  options.shared_tensors = &shared_tensors_;
  *bytes = static_cast<int64_t>(static_cast<double>(SummarizeFolder(task.folder).bytes) * kMemoryOverFiles);
  {
    absl::MutexLock lock(&mu_);
    WEIR_RETURN_IF_ERROR(CheckBudget(*bytes));
    Model& model = models_[task.model];
    model.versions[task.version].bytes = *bytes;
    options.share = model.share;
  }
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ServedVersion> read, ServedVersion::Load(std::move(options)));
  std::shared_ptr<ServedVersion> version(read.release(),
                                         [graveyard = graveyard_](ServedVersion* last) { graveyard->Bury(last); });
  if (options_.warm_up) {
    WEIR_RETURN_IF_ERROR(Annotate(options_.warm_up(version), "Warming up: "));
  }
  return version;
}

void ModelManager::Load(const LoadTask& task) {
  const absl::Time start = absl::Now();
  WEIR_LOG(INFO) << "loading model " << task.model << " version " << task.version << " from " << task.folder;
  int64_t bytes = 0;
  const uint64_t files = SummarizeFolder(task.folder).fingerprint;
  StatusOr<std::shared_ptr<ServedVersion>> served = Read(task, &bytes);
  const absl::Duration took = absl::Now() - start;
  ServingMetrics& metrics = *options_.version.metrics;
  metrics.Count(":tensorflow:cc:saved_model:load_attempt_count",
                {{"model_path", task.folder}, {"status", served.ok() ? "success" : "fail"}});
  metrics.Observe(":tensorflow:cc:saved_model:load_latency", {{"model_path", task.folder}},
                  absl::ToDoubleMicroseconds(took));
  absl::MutexLock lock(&mu_);
  changed_.SignalAll();
  Model& model = models_[task.model];
  Version& version = model.versions[task.version];
  if (!model.aspired.contains(task.version)) {  // it has gone meanwhile
    version.state = VersionState::kEnd;
    version.bytes = 0;
    return;
  }
  if (served.ok()) {
    WEIR_LOG(INFO) << "model " << task.model << " version " << task.version << " is available after "
                   << absl::FormatDuration(took) << "; it shares " << (*served)->shared_bytes()
                   << " bytes with other versions";
    version.state = VersionState::kAvailable;
    version.error = OkStatus();
    version.served = *std::move(served);
    version.bytes = std::max<int64_t>(version.bytes - version.served->shared_bytes(), 0);
    ApplyLabels(model);
    Advance();
    return;
  }
  version.error = served.status();
  version.files = files;
  version.bytes = 0;
  const bool again = ++version.attempts <= options_.max_load_retries;
  version.state = again ? VersionState::kLoading : VersionState::kEnd;
  version.next_try = absl::Now() + options_.load_retry_interval;
  WEIR_LOG(ERROR) << "model " << task.model << " version " << task.version
                  << " cannot be loaded: " << Message(served.status())
                  << (again ? Cat("; next try in ", absl::FormatDuration(options_.load_retry_interval),
                                  " or when its files change")
                            : std::string("; it is given up until its files change"));
}

StatusOr<std::shared_ptr<ServedVersion>> ModelManager::Find(const VersionChoice& choice) const {
  if (choice.model.empty()) return InvalidArgument("ModelSpec has no name specified.");
  absl::ReaderMutexLock lock(&mu_);
  auto at = models_.find(choice.model);
  std::optional<int64_t> number = choice.version;
  if (at != models_.end() && choice.label.has_value()) {
    auto label = at->second.labels.find(*choice.label);
    if (label == at->second.labels.end()) {
      return InvalidArgument("Unrecognized servable version label: ", *choice.label);
    }
    number = label->second;
  }
  if (at != models_.end()) {
    const auto& versions = at->second.versions;
    if (number.has_value()) {
      auto version = versions.find(*number);
      if (version != versions.end() && version->second.served != nullptr) return version->second.served;
    } else {
      for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
        if (version->second.served != nullptr) return version->second.served;
      }
    }
  }
  return number.has_value() ? NotFound("Servable not found for request: Specific(", choice.model, ", ", *number, ")")
                            : NotFound("Servable not found for request: Latest(", choice.model, ")");
}

StatusOr<std::vector<VersionStatus>> ModelManager::StatusOf(const VersionChoice& choice) const {
  if (choice.model.empty()) return InvalidArgument("Missing ModelSpec");
  absl::ReaderMutexLock lock(&mu_);
  auto at = models_.find(choice.model);
  if (at == models_.end() || at->second.versions.empty()) {
    return NotFound("Could not find any versions of model ", choice.model);
  }
  std::optional<int64_t> number = choice.version;
  if (choice.label.has_value()) {
    auto label = at->second.labels.find(*choice.label);
    if (label == at->second.labels.end()) {
      return InvalidArgument("Unrecognized servable version label: ", *choice.label);
    }
    number = label->second;
  }
  std::vector<VersionStatus> out;
  const auto& versions = at->second.versions;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    if (number.has_value() && version->first != *number) continue;
    out.push_back({version->first, version->second.state, version->second.error});
  }
  if (out.empty()) return NotFound("Could not find version ", *number, " of model ", choice.model);
  return out;
}

std::shared_ptr<const ModelSettings> ModelManager::SettingsOf(const std::string& model) const {
  absl::ReaderMutexLock lock(&mu_);
  auto at = models_.find(model);
  return at != models_.end() ? at->second.settings : nullptr;
}

}  // namespace weir
