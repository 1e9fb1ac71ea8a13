// ModelManager: determines which versions of which models are served.
//
// A model is a folder whose numeric subfolders are its versions. A thread polls the folders and decides by each model's
// policy which versions to serve. Low-priority threads load, compile and warm up a new version while the old one keeps
// serving; then the new one replaces it atomically, and unwanted versions are dropped. Requests hold references to
// their versions, so an old version is freed, on a separate thread, after its last request. A version that fails to
// load is reported, and loading is retried after a while or as soon as its files change. An old version stays until the
// new one is available.
#ifndef WEIR_SERVING_MODEL_MANAGER_H_
#define WEIR_SERVING_MODEL_MANAGER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/serving/config.h"
#include "weir/serving/served_version.h"

namespace weir {

enum class VersionState { kUnknown = 0, kStart = 10, kLoading = 20, kAvailable = 30, kUnloading = 40, kEnd = 50 };

struct VersionStatus {
  int64_t version = 0;
  VersionState state = VersionState::kUnknown;
  Status error;  // why loading failed
};

// The version that a request names: a number, a label, or the latest available one.
struct VersionChoice {
  std::string model;
  std::optional<int64_t> version;
  std::optional<std::string> label;
};

struct ManagerOptions {
  absl::Duration poll = absl::Seconds(1);  // polling interval for the folders; zero: only check at each Configure
  int num_load_threads = 1;
  int max_load_retries = 5;
  absl::Duration load_retry_interval = absl::Minutes(1);
  // Limit in bytes for all versions together, estimated from the sizes of their files, minus what they share; 0: no
  // limit. Versions that would exceed it are not loaded.
  int64_t memory_budget = 0;
  VersionOptions version;  // options that all versions share
  // Called on the loading thread, before the version is available. An error makes loading fail.
  std::function<Status(const std::shared_ptr<ServedVersion>&)> warm_up;
};

// Thread-safe.
class ModelManager {
 public:
  explicit ModelManager(ManagerOptions options);
  // REQUIRES: nobody holds a version.
  ~ModelManager();

  // Serves exactly these models from now on. Waits until all versions of new models are available or have failed.
  // Returns the error of a new model if none of its versions could be loaded. FAILED_PRECONDITION, without any effect,
  // for a label of a version that does not exist.
  Status Configure(std::vector<ModelSettings> models);
  // Ends a waiting Configure, and later ones, with CANCELLED.
  void Stop();

  // NOT_FOUND if there is no such model or version, INVALID_ARGUMENT if there is no such label.
  StatusOr<std::shared_ptr<ServedVersion>> Find(const VersionChoice& choice) const;
  // Newest first.
  StatusOr<std::vector<VersionStatus>> StatusOf(const VersionChoice& choice) const;
  // Null if there is no such model.
  std::shared_ptr<const ModelSettings> SettingsOf(const std::string& model) const;

 private:
  struct Version {
    VersionState state = VersionState::kStart;
    Status error;
    std::shared_ptr<ServedVersion> served;
    int64_t bytes = 0;
    int attempts = 0;
    absl::Time next_try;
    uint64_t files = 0;  // a fingerprint of the files that could not be loaded
  };
  struct Model {
    std::shared_ptr<const ModelSettings> settings;
    std::shared_ptr<StepScheduler::Share> share = std::make_shared<StepScheduler::Share>();
    std::map<std::string, int64_t> labels;  // in effect
    std::map<int64_t, Version> versions;
    std::map<int64_t, std::string> aspired;  // the wanted versions and their folders
    bool listed = false;                     // its folder has been listed
    bool removed = false;                    // by a Configure
  };
  class Graveyard;

  void PollLoop();
  void LoadLoop();
  void Poll();
  // Starts loading wanted versions and drops unwanted ones.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ApplyLabels(Model& model) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Unload(Model& model, Version& version, const std::string& name, int64_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status CheckBudget(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Settled(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  struct LoadTask {
    std::string model;
    int64_t version = 0;
    std::string folder;
  };
  void Load(const LoadTask& task);
  StatusOr<std::shared_ptr<ServedVersion>> Read(const LoadTask& task, int64_t* bytes);

  const ManagerOptions options_;
  SharedTensors shared_tensors_;
  const std::shared_ptr<Graveyard> graveyard_;
  absl::Mutex configure_mu_;  // one Configure at a time
  mutable absl::Mutex mu_;
  absl::CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool poll_now_ ABSL_GUARDED_BY(mu_) = false;
  std::map<std::string, Model, std::less<>> models_ ABSL_GUARDED_BY(mu_);
  std::vector<LoadTask> loads_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace weir

#endif  // WEIR_SERVING_MODEL_MANAGER_H_
