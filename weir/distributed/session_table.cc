#include "weir/distributed/session_table.h"

#include <random>

#include "weir/base/logging.h"

namespace weir {
namespace {

constexpr char kClosedText[] = "Step was cancelled by an explicit call to `Session::Close()`.";

}  // namespace

// 16 hexadecimal digits. They must be hard to guess, because a client that knows the handle can use the session.
std::string SessionTable::NewHandle() {
  std::random_device source;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string handle;
  for (int word = 0; word < 2; ++word) {
    uint32_t bits = source();
    for (int i = 0; i < 8; ++i, bits >>= 4) handle.push_back(kDigits[bits & 15]);
  }
  return handle;
}

StatusOr<int64_t> ServedSession::Extend(const GraphDef& graph, int64_t expected_version) {
  absl::MutexLock lock(&extend_mu_);
  if (expected_version != version_) {
    return Aborted("Current version is ", version_, " but caller expected ", expected_version, ".");
  }
  WEIR_RETURN_IF_ERROR(session_->Extend(graph));
  return ++version_;
}

void ServedSession::BeginPartialRun(const std::string& run, std::set<std::string> names) {
  absl::MutexLock lock(&mu_);
  partial_runs_[run] = std::move(names);
}

bool ServedSession::HasPartialRun(const std::string& run) const {
  absl::MutexLock lock(&mu_);
  return partial_runs_.contains(run);
}

bool ServedSession::AdvancePartialRun(const std::string& run, std::span<const Feed> feeds,
                                      std::span<const std::string> fetches) {
  absl::MutexLock lock(&mu_);
  auto it = partial_runs_.find(run);
  if (it == partial_runs_.end()) return false;
  for (const Feed& feed : feeds) it->second.erase(feed.first);
  for (const std::string& fetch : fetches) it->second.erase(fetch);
  if (!it->second.empty()) return false;
  partial_runs_.erase(it);
  return true;
}

void ServedSession::AddCallable(Session::Callable callable, bool traced) {
  absl::MutexLock lock(&mu_);
  if (traced) traced_callables_.insert(callable);
}

void ServedSession::RemoveCallable(Session::Callable callable) {
  absl::MutexLock lock(&mu_);
  traced_callables_.erase(callable);
}

bool ServedSession::IsTracedCallable(Session::Callable callable) const {
  absl::MutexLock lock(&mu_);
  return traced_callables_.contains(callable);
}

Status ServedSession::BeginCall() {
  absl::MutexLock lock(&mu_);
  if (closed_) return Aborted("Session ", handle_, " is not found.");
  ++calls_;
  return OkStatus();
}

void ServedSession::EndCall() {
  std::function<void()> done;
  {
    absl::MutexLock lock(&mu_);
    if (--calls_ > 0) return;
    idle_since_ = absl::Now();
    if (closed_) done = std::exchange(closed_done_, nullptr);
  }
  if (done) done();
}

void ServedSession::Close(const Status& reason, std::function<void()> done) {
  session_->StartClose(reason);
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
    if (calls_ > 0) {
      closed_done_ = std::move(done);
      return;
    }
  }
  if (done) done();
}

absl::Time ServedSession::idle_since() const {
  absl::MutexLock lock(&mu_);
  return calls_ > 0 ? absl::InfiniteFuture() : idle_since_;
}

SessionTable::SessionTable(const SessionLimits& limits) : limits_(limits), thread_([this] { Maintain(); }) {}

SessionTable::~SessionTable() {
  for (auto& session : RemoveAll()) session->Close(Cancelled(kClosedText), nullptr);
  {
    absl::MutexLock lock(&mu_);
    stop_ = true;
  }
  thread_.join();
}

Status SessionTable::CheckRoom() const {
  absl::MutexLock lock(&mu_);
  if (limits_.max_sessions > 0 && static_cast<int>(sessions_.size()) >= limits_.max_sessions) {
    return ResourceExhausted("The server already has ", sessions_.size(), " sessions, its limit");
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<ServedSession>> SessionTable::Add(std::unique_ptr<Session> session, std::string handle) {
  WEIR_RETURN_IF_ERROR(CheckRoom());
  absl::MutexLock lock(&mu_);
  if (!handle.empty() && sessions_.contains(handle)) return AlreadyExists("Session ", handle, " already exists");
  while (handle.empty() || sessions_.contains(handle)) handle = NewHandle();
  std::shared_ptr<ServedSession> served(new ServedSession(handle, std::move(session)),
                                        [this](ServedSession* last) { Dispose(last); });
  ++alive_;
  sessions_.emplace(handle, served);
  return served;
}

std::shared_ptr<ServedSession> SessionTable::Find(std::string_view handle) const {
  absl::MutexLock lock(&mu_);
  auto it = sessions_.find(handle);
  return it != sessions_.end() ? it->second : nullptr;
}

std::shared_ptr<ServedSession> SessionTable::Remove(std::string_view handle) {
  absl::MutexLock lock(&mu_);
  auto it = sessions_.find(handle);
  if (it == sessions_.end()) return nullptr;
  std::shared_ptr<ServedSession> session = std::move(it->second);
  sessions_.erase(it);
  return session;
}

std::vector<std::shared_ptr<ServedSession>> SessionTable::RemoveAll() {
  absl::MutexLock lock(&mu_);
  std::vector<std::shared_ptr<ServedSession>> all;
  for (auto& [handle, session] : sessions_) all.push_back(std::move(session));
  sessions_.clear();
  return all;
}

size_t SessionTable::size() const {
  absl::MutexLock lock(&mu_);
  return sessions_.size();
}

void SessionTable::Dispose(ServedSession* session) {
  absl::MutexLock lock(&mu_);
  disposed_.emplace_back(session);
}

void SessionTable::Maintain() {
  auto woken = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return !disposed_.empty() || (stop_ && alive_ == 0); };
  while (true) {
    std::vector<std::unique_ptr<ServedSession>> ended;
    std::vector<std::shared_ptr<ServedSession>> idle;
    {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithTimeout(absl::Condition(&woken), limits_.look_every);
      if (stop_ && alive_ == 0) return;
      ended.swap(disposed_);
      alive_ -= static_cast<int>(ended.size());
      absl::Time limit = absl::Now() - limits_.idle;
      for (auto it = sessions_.begin(); it != sessions_.end();) {
        auto here = it++;
        if (here->second->idle_since() > limit) continue;
        idle.push_back(std::move(here->second));
        sessions_.erase(here);
      }
    }
    for (auto& session : idle) {
      WEIR_LOG(INFO) << "session " << session->handle() << " was not used for " << absl::FormatDuration(limits_.idle)
                     << "; closed";
      session->Close(Cancelled(kClosedText), nullptr);
    }
  }
}

}  // namespace weir
