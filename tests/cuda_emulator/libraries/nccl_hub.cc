#include "tests/cuda_emulator/libraries/nccl_hub.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

namespace weir::cuda {
namespace {

// The ranks' n-th call, or their joining.
struct Meeting {
  NcclGreeting first{};
  bool differs = false;
  std::vector<std::string> brought, results;
  std::set<std::string> cards;
  int arrived = 0;
  bool is_done = false;
  NcclResult result = kNcclSuccess;
};

// For tests: calls that are kept waiting.
struct Hold {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_on = false;
  int held = 0;
};
Hold& TheHold() {
  static auto& hold = *new Hold;
  return hold;
}

void WaitWhileHeld() {
  Hold& hold = TheHold();
  std::unique_lock lock(hold.mutex);
  if (!hold.is_on) return;
  ++hold.held;
  hold.changed.notify_all();
  hold.changed.wait(lock, [&] { return !hold.is_on; });
  --hold.held;
}

// One communicator. Lives until the process ends: threads may still wait in it.
struct Hub {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint64_t, Meeting> meetings;                            // by number; 0: joining
  std::map<std::tuple<int, int, uint64_t>, std::string> messages;  // by sender, receiver and number
};

void CloseMeeting(Meeting& meeting, int ranks) {
  if (meeting.differs) {
    meeting.result = kNcclInvalidUsage;
  } else if (meeting.first.call.kind == NcclKind::kJoin) {
    // As the real library: "Duplicate GPU detected".
    if (static_cast<int>(meeting.cards.size()) < ranks) meeting.result = kNcclInvalidUsage;
  } else {
    meeting.results = NcclResults(meeting.first.call, meeting.brought);
  }
  meeting.results.resize(static_cast<size_t>(ranks));
  meeting.is_done = true;
}

// Waits for the other ranks; the answer for this one.
std::string Meet(Hub& hub, const NcclGreeting& greeting, std::string brought, NcclResult* result) {
  std::unique_lock lock(hub.mutex);
  Meeting& meeting = hub.meetings[greeting.number];
  if (meeting.arrived == 0) {
    meeting.first = greeting;
    meeting.brought.resize(static_cast<size_t>(greeting.ranks));
  }
  if (!(meeting.first.call == greeting.call) || meeting.first.ranks != greeting.ranks) meeting.differs = true;
  meeting.cards.insert(greeting.card);
  if (greeting.rank < meeting.first.ranks) meeting.brought[static_cast<size_t>(greeting.rank)] = std::move(brought);
  if (++meeting.arrived == meeting.first.ranks) {
    CloseMeeting(meeting, meeting.first.ranks);
    hub.changed.notify_all();
  }
  hub.changed.wait(lock, [&] { return meeting.is_done; });
  *result = meeting.result;
  std::string own;
  if (greeting.rank < meeting.first.ranks) own = std::move(meeting.results[static_cast<size_t>(greeting.rank)]);
  if (--meeting.arrived == 0) hub.meetings.erase(greeting.number);
  return own;
}

std::string Serve(Hub& hub, const NcclGreeting& greeting, std::string brought, NcclResult* result) {
  if (greeting.call.kind != NcclKind::kJoin) WaitWhileHeld();
  if (greeting.call.kind == NcclKind::kSend) {
    std::lock_guard lock(hub.mutex);
    hub.messages[{greeting.rank, greeting.peer, greeting.number}] = std::move(brought);
    hub.changed.notify_all();
    return {};
  }
  if (greeting.call.kind != NcclKind::kReceive) return Meet(hub, greeting, std::move(brought), result);
  std::unique_lock lock(hub.mutex);
  const std::tuple key(greeting.peer, greeting.rank, greeting.number);
  hub.changed.wait(lock, [&] { return hub.messages.contains(key); });
  std::string message = std::move(hub.messages[key]);
  hub.messages.erase(key);
  return message;
}

void Converse(Hub& hub, int file) {
  NcclGreeting greeting;
  std::string brought;
  if (ReceiveAll(file, &greeting, sizeof(greeting))) {
    brought.resize(greeting.bytes);
    if (ReceiveAll(file, brought.data(), brought.size())) {
      NcclResult result = kNcclSuccess;
      const std::string answer = Serve(hub, greeting, std::move(brought), &result);
      const NcclReply reply{result, 0, answer.size()};
      SendAll(file, &reply, sizeof(reply)) && SendAll(file, answer.data(), answer.size());
    }
  }
  close(file);
}

// In the abstract namespace of sockets, so that nothing is left behind.
std::pair<sockaddr_un, socklen_t> Address(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

}  // namespace

std::string StartNcclHub() {
  static std::mutex mutex;
  static int started = 0;
  std::lock_guard lock(mutex);
  char name[64];
  std::snprintf(name, sizeof(name), "emulated-nccl-%d-%d", static_cast<int>(getpid()), ++started);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto [address, length] = Address(name);
  if (listener < 0 || bind(listener, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(listener, 128) != 0) {
    return {};
  }
  static auto& hubs = *new std::vector<std::unique_ptr<Hub>>;
  hubs.push_back(std::make_unique<Hub>());
  std::thread([listener, hub = hubs.back().get()] {
    for (int file; (file = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      std::thread([hub, file] { Converse(*hub, file); }).detach();
    }
  }).detach();
  return name;
}

void HoldNcclHubs(bool hold) {
  std::lock_guard lock(TheHold().mutex);
  TheHold().is_on = hold;
  TheHold().changed.notify_all();
}

void AwaitHeldInNcclHubs(int count) {
  std::unique_lock lock(TheHold().mutex);
  TheHold().changed.wait(lock, [&] { return TheHold().held >= count; });
}

int ConnectToNcclHub(const std::string& name) {
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto [address, length] = Address(name);
  if (file >= 0 && connect(file, reinterpret_cast<const sockaddr*>(&address), length) == 0) return file;
  if (file >= 0) close(file);
  return -1;
}

bool SendAll(int file, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = send(file, at, bytes, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

bool ReceiveAll(int file, void* data, size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(file, at, bytes, 0);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace weir::cuda
