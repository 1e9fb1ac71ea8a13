// SessionTable: the sessions of a server by handle, with their calls in flight.
#ifndef WEIR_DISTRIBUTED_SESSION_TABLE_H_
#define WEIR_DISTRIBUTED_SESSION_TABLE_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/runtime/session.h"

namespace weir {

// A session as the server knows it. Thread-safe.
class ServedSession {
 public:
  ServedSession(std::string handle, std::unique_ptr<Session> session)
      : handle_(std::move(handle)), session_(std::move(session)) {}

  const std::string& handle() const { return handle_; }
  Session& session() { return *session_; }

  // Adds nodes if the client knows the current version; returns the new version.
  StatusOr<int64_t> Extend(const GraphDef& graph, int64_t expected_version);

  // Records the feeds and fetches that a partial run still waits for, by name.
  void BeginPartialRun(const std::string& run, std::set<std::string> names);
  bool HasPartialRun(const std::string& run) const;
  // Removes feeds and fetches from those. True if they were the last ones.
  bool AdvancePartialRun(const std::string& run, std::span<const Feed> feeds, std::span<const std::string> fetches);

  // Records whether the steps of a callable produce a report.
  void AddCallable(Session::Callable callable, bool traced);
  void RemoveCallable(Session::Callable callable);
  bool IsTracedCallable(Session::Callable callable) const;

  // Must be called around each call. BeginCall fails once the session is closed.
  Status BeginCall();
  void EndCall();
  // Cancels running steps; `done` is called when the last call in flight has ended, possibly immediately. Must be
  // called only once.
  void Close(const Status& reason, std::function<void()> done);
  // Since when no call has been in flight; the infinite future if there is one.
  absl::Time idle_since() const;

 private:
  const std::string handle_;
  const std::unique_ptr<Session> session_;
  absl::Mutex extend_mu_;
  int64_t version_ ABSL_GUARDED_BY(extend_mu_) = 0;
  mutable absl::Mutex mu_;
  int calls_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::function<void()> closed_done_ ABSL_GUARDED_BY(mu_);
  absl::Time idle_since_ ABSL_GUARDED_BY(mu_) = absl::Now();
  std::map<std::string, std::set<std::string>> partial_runs_ ABSL_GUARDED_BY(mu_);
  std::set<Session::Callable> traced_callables_ ABSL_GUARDED_BY(mu_);
};

struct SessionLimits {
  int max_sessions = 0;                            // 0: any number
  absl::Duration idle = absl::InfiniteDuration();  // close sessions that have been unused for this long
  absl::Duration look_every = absl::Seconds(10);   // how often to look for idle sessions
};

// Thread-safe.
class SessionTable {
 public:
  explicit SessionTable(const SessionLimits& limits);
  // Closes all sessions and waits for them.
  ~SessionTable();

  // Adds a session under the given handle, or under a new one that cannot be guessed. RESOURCE_EXHAUSTED if there are
  // too many, ALREADY_EXISTS if the handle is taken.
  StatusOr<std::shared_ptr<ServedSession>> Add(std::unique_ptr<Session> session, std::string handle = "");
  // A handle that cannot be guessed.
  static std::string NewHandle();
  // RESOURCE_EXHAUSTED if the table is full, so that calls can fail before they read a graph.
  Status CheckRoom() const;
  std::shared_ptr<ServedSession> Find(std::string_view handle) const;  // null if there is none
  // Removes a session from the table; null if there is none.
  std::shared_ptr<ServedSession> Remove(std::string_view handle);
  std::vector<std::shared_ptr<ServedSession>> RemoveAll();
  size_t size() const;

 private:
  void Maintain();
  // Destroys a session on the table's own thread: the last reference may be held by a step of that session.
  void Dispose(ServedSession* session);

  const SessionLimits limits_;
  mutable absl::Mutex mu_;
  StringMap<std::shared_ptr<ServedSession>> sessions_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<ServedSession>> disposed_ ABSL_GUARDED_BY(mu_);
  int alive_ ABSL_GUARDED_BY(mu_) = 0;  // sessions that have not been destroyed yet
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_SESSION_TABLE_H_
