// A stand-in for libnccl.so.2 on the emulated driver: ranks are threads, streams or processes of one machine
// (nccl_hub.h). As with the real library,
// - a call enqueues work that waits in its stream until all ranks have come to it, or this rank aborts;
// - a rank that dies or aborts leaves the others waiting; only the loss of the process that made the id is noticed, by
//   ncclCommGetAsyncError;
// - a nonblocking communicator is joined in the background;
// - two ranks on one card are refused.
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "tests/cuda_emulator/libraries/emulator.h"
#include "tests/cuda_emulator/libraries/nccl_hub.h"
#include "weir/device/cuda/abi/nccl_abi.h"

namespace weir::cuda {
namespace {

using cuda_emulator::Enqueue;
using cuda_emulator::HostAddress;

// A rank's side of a communicator. The work in streams keeps it.
class Rank {
 public:
  Rank(std::string hub, int ranks, int rank) : hub_(std::move(hub)), ranks_(ranks), rank_(rank) {}

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }

  NcclResult state() {
    std::lock_guard lock(mutex_);
    return state_;
  }
  void set_state(NcclResult state) {
    std::lock_guard lock(mutex_);
    state_ = state;
  }
  uint64_t NextNumber(NcclKind kind, int peer) {
    std::lock_guard lock(mutex_);
    const bool is_collective = kind != NcclKind::kSend && kind != NcclKind::kReceive;
    return ++numbers_[is_collective ? std::pair(NcclKind::kAllReduce, -1) : std::pair(kind, peer)];
  }

  void Abort() {
    std::lock_guard lock(mutex_);
    is_aborted_ = true;
    for (int file : open_) shutdown(file, SHUT_RDWR);
    aborted_.notify_all();
  }

  // One call, from the greeting to the answer, which must be `room` bytes if there is any. Errors become the state.
  void Converse(NcclGreeting greeting, const void* brought, void* answer, size_t room) {
    greeting.ranks = ranks_;
    greeting.rank = rank_;
    const int file = ConnectToNcclHub(hub_);
    {
      std::lock_guard lock(mutex_);
      if (is_aborted_) {
        if (file >= 0) close(file);
        return;
      }
      if (file >= 0) open_.insert(file);
    }
    NcclReply reply{};
    std::string bytes;
    bool is_heard = file >= 0 && SendAll(file, &greeting, sizeof(greeting)) && SendAll(file, brought, greeting.bytes) &&
                    ReceiveAll(file, &reply, sizeof(reply));
    if (is_heard) {
      bytes.resize(reply.bytes);
      is_heard = ReceiveAll(file, bytes.data(), bytes.size());
    }
    std::unique_lock lock(mutex_);
    open_.erase(file);
    if (file >= 0) close(file);
    if (is_aborted_) return;
    if (!is_heard) {
      state_ = kNcclRemoteError;  // and the work goes on waiting until somebody ends it
      aborted_.wait(lock, [&] { return is_aborted_; });
      return;
    }
    if (reply.result != kNcclSuccess || (!bytes.empty() && bytes.size() != room)) {
      state_ = kNcclInvalidUsage;
      return;
    }
    if (!bytes.empty()) std::memcpy(answer, bytes.data(), bytes.size());
  }

 private:
  const std::string hub_;
  const int ranks_, rank_;
  std::mutex mutex_;
  std::condition_variable aborted_;
  NcclResult state_ = kNcclSuccess;
  bool is_aborted_ = false;
  std::set<int> open_;
  std::map<std::pair<NcclKind, int>, uint64_t> numbers_;
};

std::atomic<int64_t> calls_made = 0;
std::atomic<int> calls_to_fail = 0;  // the next ones

// Calls between GroupStart and GroupEnd are enqueued at its end.
thread_local int group_depth = 0;
thread_local std::vector<std::function<bool()>> grouped;

NcclResult Submit(std::function<bool()> enqueue) {
  if (group_depth > 0) {
    grouped.push_back(std::move(enqueue));
    return kNcclSuccess;
  }
  return enqueue() ? kNcclSuccess : kNcclUnhandledCudaError;
}

// The card whose context is current in this thread.
std::string CurrentCard() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return {};
  auto device = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuCtxGetDevice"));
  auto bus = reinterpret_cast<int (*)(char*, int, int)>(dlsym(driver, "cuDeviceGetPCIBusId"));
  int ordinal = 0;
  char text[32] = "";
  if (device != nullptr && bus != nullptr && device(&ordinal) == 0) bus(text, sizeof(text), ordinal);
  return text;
}

}  // namespace

struct NcclCommOpaque {
  std::shared_ptr<Rank> rank;

  NcclResult Run(NcclKind kind, uint64_t count, NcclDataType type, NcclReduction reduction, int root, const void* send,
                 size_t sent, void* receive, size_t received, void* stream) {
    if (rank->state() != kNcclSuccess) return rank->state() == kNcclInProgress ? kNcclInvalidUsage : rank->state();
    if ((sent > 0 && send == nullptr) || (received > 0 && receive == nullptr)) return kNcclInvalidArgument;
    if (root < 0 || root >= rank->ranks() || NcclSizeOf(type) == 0) return kNcclInvalidArgument;
    ++calls_made;
    if (calls_to_fail > 0 && --calls_to_fail >= 0) return kNcclInternalError;
    NcclGreeting greeting{};
    const bool is_pair = kind == NcclKind::kSend || kind == NcclKind::kReceive;
    greeting.call = {kind, is_pair ? 0 : root, type, reduction, count};
    greeting.peer = root;
    greeting.number = rank->NextNumber(kind, root);
    greeting.bytes = sent;
    return Submit([rank = rank, greeting, send, receive, received, stream] {
      return Enqueue(stream, [=] {
        rank->Converse(greeting, greeting.bytes > 0 ? HostAddress(send) : nullptr,
                       received > 0 ? HostAddress(receive) : nullptr, received);
      });
    });
  }
};

}  // namespace weir::cuda

using namespace weir::cuda;

WEIR_EXPORT NcclResult ncclGetVersion(int* version) {
  *version = 22800;
  return kNcclSuccess;
}

WEIR_EXPORT NcclResult ncclGetUniqueId(NcclUniqueId* id) {
  if (id == nullptr) return kNcclInvalidArgument;
  const std::string hub = StartNcclHub();
  if (hub.empty()) return kNcclSystemError;
  *id = {};
  std::memcpy(id->internal, hub.data(), hub.size());
  return kNcclSuccess;
}

WEIR_EXPORT NcclResult ncclCommInitRankConfig(NcclComm* comm, int ranks, NcclUniqueId id, int rank,
                                              NcclConfig* config) {
  if (comm == nullptr || ranks < 1 || rank < 0 || rank >= ranks) return kNcclInvalidArgument;
  if (config != nullptr && (config->magic != NcclConfig().magic || config->version < 21400))
    return kNcclInvalidArgument;
  auto state = std::make_shared<Rank>(std::string(id.internal, strnlen(id.internal, sizeof(id.internal))), ranks, rank);
  *comm = new NcclCommOpaque{state};
  NcclGreeting greeting{};
  greeting.call.kind = NcclKind::kJoin;
  const std::string card = CurrentCard();
  std::memcpy(greeting.card, card.data(), std::min(card.size(), sizeof(greeting.card) - 1));
  auto join = [state, greeting] {
    state->Converse(greeting, nullptr, nullptr, 0);
    if (state->state() == kNcclInProgress) state->set_state(kNcclSuccess);
  };
  state->set_state(kNcclInProgress);
  if (config != nullptr && config->blocking == 0) {
    std::thread(join).detach();
    return kNcclInProgress;
  }
  join();
  return state->state();
}

WEIR_EXPORT NcclResult ncclCommFinalize(NcclComm comm) { return comm == nullptr ? kNcclInvalidArgument : kNcclSuccess; }

WEIR_EXPORT NcclResult ncclCommDestroy(NcclComm comm) {
  delete comm;
  return kNcclSuccess;
}

WEIR_EXPORT NcclResult ncclCommAbort(NcclComm comm) {
  if (comm == nullptr) return kNcclInvalidArgument;
  comm->rank->Abort();
  delete comm;
  return kNcclSuccess;
}

WEIR_EXPORT NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult* error) {
  if (comm == nullptr || error == nullptr) return kNcclInvalidArgument;
  *error = comm->rank->state();
  return kNcclSuccess;
}

WEIR_EXPORT const char* ncclGetErrorString(NcclResult result) {
  switch (result) {
    case kNcclSuccess:
      return "no error";
    case kNcclUnhandledCudaError:
      return "unhandled cuda error";
    case kNcclSystemError:
      return "unhandled system error";
    case kNcclInternalError:
      return "internal error";
    case kNcclInvalidArgument:
      return "invalid argument";
    case kNcclInvalidUsage:
      return "invalid usage";
    case kNcclRemoteError:
      return "remote process exited or there was a network error";
    case kNcclInProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}

WEIR_EXPORT NcclResult ncclAllReduce(const void* send, void* receive, size_t count, NcclDataType type,
                                     NcclReduction reduction, NcclComm comm, void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  const size_t bytes = count * NcclSizeOf(type);
  return comm->Run(NcclKind::kAllReduce, count, type, reduction, 0, send, bytes, receive, bytes, stream);
}
WEIR_EXPORT NcclResult ncclBroadcast(const void* send, void* receive, size_t count, NcclDataType type, int root,
                                     NcclComm comm, void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  const size_t bytes = count * NcclSizeOf(type);
  // Only the root's `send` is looked at.
  return comm->Run(NcclKind::kBroadcast, count, type, kNcclSum, root, send, comm->rank->rank() == root ? bytes : 0,
                   receive, bytes, stream);
}
WEIR_EXPORT NcclResult ncclReduce(const void* send, void* receive, size_t count, NcclDataType type,
                                  NcclReduction reduction, int root, NcclComm comm, void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  const size_t bytes = count * NcclSizeOf(type);
  return comm->Run(NcclKind::kReduce, count, type, reduction, root, send, bytes, receive,
                   comm->rank->rank() == root ? bytes : 0, stream);
}
WEIR_EXPORT NcclResult ncclAllGather(const void* send, void* receive, size_t send_count, NcclDataType type,
                                     NcclComm comm, void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  const size_t bytes = send_count * NcclSizeOf(type);
  return comm->Run(NcclKind::kAllGather, send_count, type, kNcclSum, 0, send, bytes, receive,
                   bytes * static_cast<size_t>(comm->rank->ranks()), stream);
}
WEIR_EXPORT NcclResult ncclReduceScatter(const void* send, void* receive, size_t receive_count, NcclDataType type,
                                         NcclReduction reduction, NcclComm comm, void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  const size_t bytes = receive_count * NcclSizeOf(type);
  return comm->Run(NcclKind::kReduceScatter, receive_count, type, reduction, 0, send,
                   bytes * static_cast<size_t>(comm->rank->ranks()), receive, bytes, stream);
}

WEIR_EXPORT NcclResult ncclSend(const void* send, size_t count, NcclDataType type, int peer, NcclComm comm,
                                void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  return comm->Run(NcclKind::kSend, count, type, kNcclSum, peer, send, count * NcclSizeOf(type), nullptr, 0, stream);
}
WEIR_EXPORT NcclResult ncclRecv(void* receive, size_t count, NcclDataType type, int peer, NcclComm comm, void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  return comm->Run(NcclKind::kReceive, count, type, kNcclSum, peer, nullptr, 0, receive, count * NcclSizeOf(type),
                   stream);
}

WEIR_EXPORT NcclResult ncclGroupStart() {
  ++group_depth;
  return kNcclSuccess;
}
WEIR_EXPORT NcclResult ncclGroupEnd() {
  if (group_depth == 0) return kNcclInvalidUsage;
  if (--group_depth > 0) return kNcclSuccess;
  std::vector<std::function<bool()>> calls;
  calls.swap(grouped);
  bool ok = true;
  for (const auto& call : calls) ok = call() && ok;
  return ok ? kNcclSuccess : kNcclUnhandledCudaError;
}

// For tests.
WEIR_EXPORT int64_t emulatedNcclCalls() { return calls_made; }
WEIR_EXPORT void emulatedNcclFail(int calls) { calls_to_fail = calls; }
WEIR_EXPORT void emulatedNcclHold(int hold) { HoldNcclHubs(hold != 0); }
WEIR_EXPORT void emulatedNcclAwaitHeld(int count) { AwaitHeldInNcclHubs(count); }

WEIR_NCCL_FUNCTIONS(WEIR_CHECK_SIGNATURE)
