// A stand-in for libnccl.so.2 on the emulated driver: ranks are threads or streams of one process. As with the real
// library, a call enqueues work that waits in its stream until all ranks have come to it.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/cuda_emulator/libraries/emulator.h"
#include "weir/device/cuda/abi/nccl_abi.h"

namespace weir::cuda {
namespace {

using cuda_emulator::Element;
using cuda_emulator::Enqueue;
using cuda_emulator::HostAddress;

// What one rank brings to a call.
struct Part {
  const char* send = nullptr;
  char* receive = nullptr;
};

enum class Kind { kAllReduce, kBroadcast, kReduce, kAllGather, kReduceScatter };

struct Call {
  Kind kind;
  size_t count;
  NcclDataType type;
  NcclReduction reduction;
  int root;
  bool operator==(const Call&) const = default;
};

// The ranks' n-th call: the last one to come does the work for all.
struct Meeting {
  int arrived = 0, left = 0;
  bool is_done = false;
  Call call{};
  std::vector<Part> parts;
};

size_t SizeOf(NcclDataType type) {
  switch (type) {
    case kNcclInt8:
    case kNcclUint8:
      return 1;
    case kNcclFloat16:
    case kNcclBfloat16:
      return 2;
    case kNcclInt32:
    case kNcclUint32:
    case kNcclFloat32:
      return 4;
    case kNcclInt64:
    case kNcclUint64:
    case kNcclFloat64:
      return 8;
  }
  return 0;
}

template <typename T>
T Combine(NcclReduction reduction, T a, T b) {
  switch (reduction) {
    case kNcclProd:
      return static_cast<T>(a * b);
    case kNcclMax:
      return std::max(a, b);
    case kNcclMin:
      return std::min(a, b);
    case kNcclSum:
    case kNcclAvg:
      break;
  }
  return static_cast<T>(a + b);
}

// Element `at` of all ranks as one; T is what it is stored as, W what it is computed in.
template <typename T, typename W>
void ReduceElement(const Call& call, const std::vector<Part>& parts, size_t at, char* to) {
  auto load = [&](const Part& part) { return cuda_emulator::Convert<W>(reinterpret_cast<const T*>(part.send)[at]); };
  W value = load(parts[0]);
  for (size_t rank = 1; rank < parts.size(); ++rank) value = Combine(call.reduction, value, load(parts[rank]));
  if (call.reduction == kNcclAvg) value = static_cast<W>(value / static_cast<W>(parts.size()));
  *reinterpret_cast<T*>(to) = static_cast<T>(value);
}
void ReduceElement(const Call& call, const std::vector<Part>& parts, size_t at, char* to) {
  switch (call.type) {
    case kNcclInt8:
      return ReduceElement<int8_t, int64_t>(call, parts, at, to);
    case kNcclUint8:
      return ReduceElement<uint8_t, uint64_t>(call, parts, at, to);
    case kNcclInt32:
      return ReduceElement<int32_t, int64_t>(call, parts, at, to);
    case kNcclUint32:
      return ReduceElement<uint32_t, uint64_t>(call, parts, at, to);
    case kNcclInt64:
      return ReduceElement<int64_t, int64_t>(call, parts, at, to);
    case kNcclUint64:
      return ReduceElement<uint64_t, uint64_t>(call, parts, at, to);
    case kNcclFloat16:
      return ReduceElement<_Float16, double>(call, parts, at, to);
    case kNcclFloat32:
      return ReduceElement<float, double>(call, parts, at, to);
    case kNcclFloat64:
      return ReduceElement<double, double>(call, parts, at, to);
    case kNcclBfloat16:
      return ReduceElement<cuda_emulator::Bfloat16, double>(call, parts, at, to);
  }
}

// Results are made apart first: a rank may receive where another still reads.
void DoWork(const Meeting& meeting) {
  const Call& call = meeting.call;
  const size_t size = SizeOf(call.type), ranks = meeting.parts.size();
  const bool gathers = call.kind == Kind::kAllGather, scatters = call.kind == Kind::kReduceScatter;
  const size_t total = gathers || scatters ? call.count * ranks : call.count;
  std::vector<char> whole(total * size);
  if (gathers) {
    for (size_t r = 0; r < ranks; ++r) {
      std::memcpy(whole.data() + r * call.count * size, meeting.parts[r].send, call.count * size);
    }
  } else if (call.kind == Kind::kBroadcast) {
    std::memcpy(whole.data(), meeting.parts[static_cast<size_t>(call.root)].send, total * size);
  } else {
    for (size_t i = 0; i < total; ++i) ReduceElement(call, meeting.parts, i, whole.data() + i * size);
  }
  for (size_t r = 0; r < ranks; ++r) {
    if (call.kind == Kind::kReduce && static_cast<int>(r) != call.root) continue;
    const size_t first = scatters ? r * call.count * size : 0;
    std::memcpy(meeting.parts[r].receive, whole.data() + first, scatters ? call.count * size : total * size);
  }
}

// All ranks of a communicator.
struct Group {
  int ranks = 0;
  int joined = 0;
  bool is_aborted = false;
  bool has_failed = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint64_t, Meeting> meetings;
  std::map<std::pair<int, int>, std::vector<std::vector<char>>> messages;  // by sender and receiver

  // False if the communicator was aborted, or the ranks' calls differ.
  bool Meet(uint64_t number, int rank, const Call& call, const Part& part) {
    std::unique_lock lock(mutex);
    Meeting& meeting = meetings[number];
    if (meeting.arrived == 0) {
      meeting.call = call;
      meeting.parts.resize(static_cast<size_t>(ranks));
    }
    if (!(meeting.call == call)) has_failed = true;
    meeting.parts[static_cast<size_t>(rank)] = part;
    if (++meeting.arrived == ranks) {
      if (!has_failed) DoWork(meeting);
      meeting.is_done = true;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return meeting.is_done || is_aborted; });
    if (++meeting.left == ranks) meetings.erase(number);
    return !is_aborted && !has_failed;
  }
};

std::mutex groups_mutex;
std::map<std::string, std::shared_ptr<Group>>& Groups() {
  static auto& groups = *new std::map<std::string, std::shared_ptr<Group>>;
  return groups;
}

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

}  // namespace

struct NcclCommOpaque {
  std::shared_ptr<Group> group;
  int rank = 0;
  uint64_t calls = 0;

  NcclResult Collect(const Call& call, const void* send, void* receive, void* stream) {
    if (call.count > 0 && (send == nullptr || receive == nullptr)) return kNcclInvalidArgument;
    if (call.root < 0 || call.root >= group->ranks || SizeOf(call.type) == 0) return kNcclInvalidArgument;
    return Submit([group = group, rank = rank, number = calls++, call, send, receive, stream] {
      return Enqueue(stream, [=] {
        group->Meet(number, rank, call,
                    {static_cast<const char*>(HostAddress(send)), static_cast<char*>(HostAddress(receive))});
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
  std::lock_guard lock(groups_mutex);
  static uint64_t next = 1;
  *id = {};
  std::memcpy(id->internal, &next, sizeof(next));
  ++next;
  return kNcclSuccess;
}

WEIR_EXPORT NcclResult ncclCommInitRank(NcclComm* comm, int ranks, NcclUniqueId id, int rank) {
  if (comm == nullptr || ranks < 1 || rank < 0 || rank >= ranks) return kNcclInvalidArgument;
  std::shared_ptr<Group> group;
  {
    std::lock_guard lock(groups_mutex);
    std::shared_ptr<Group>& found = Groups()[std::string(id.internal, sizeof(id.internal))];
    if (found == nullptr) found = std::make_shared<Group>();
    group = found;
  }
  std::unique_lock lock(group->mutex);
  if (group->ranks == 0) group->ranks = ranks;
  if (group->ranks != ranks) return kNcclInvalidUsage;
  *comm = new NcclCommOpaque{group, rank};
  ++group->joined;
  group->changed.notify_all();
  // Inside a group the other ranks may be this thread's own.
  if (group_depth == 0) group->changed.wait(lock, [&] { return group->joined == ranks; });
  return kNcclSuccess;
}

WEIR_EXPORT NcclResult ncclCommDestroy(NcclComm comm) {
  delete comm;
  return kNcclSuccess;
}

WEIR_EXPORT NcclResult ncclCommAbort(NcclComm comm) {
  if (comm == nullptr) return kNcclInvalidArgument;
  {
    std::lock_guard lock(comm->group->mutex);
    comm->group->is_aborted = true;
    comm->group->changed.notify_all();
  }
  delete comm;
  return kNcclSuccess;
}

WEIR_EXPORT NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult* error) {
  if (comm == nullptr || error == nullptr) return kNcclInvalidArgument;
  std::lock_guard lock(comm->group->mutex);
  *error = comm->group->has_failed ? kNcclInvalidUsage : comm->group->is_aborted ? kNcclRemoteError : kNcclSuccess;
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
  return comm->Collect({Kind::kAllReduce, count, type, reduction, 0}, send, receive, stream);
}
WEIR_EXPORT NcclResult ncclBroadcast(const void* send, void* receive, size_t count, NcclDataType type, int root,
                                     NcclComm comm, void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  // Only the root's `send` is looked at.
  return comm->Collect({Kind::kBroadcast, count, type, kNcclSum, root}, comm->rank == root ? send : receive, receive,
                       stream);
}
WEIR_EXPORT NcclResult ncclReduce(const void* send, void* receive, size_t count, NcclDataType type,
                                  NcclReduction reduction, int root, NcclComm comm, void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  void* into = comm->rank == root ? receive : const_cast<void*>(send);  // which is not written
  return comm->Collect({Kind::kReduce, count, type, reduction, root}, send, into, stream);
}
WEIR_EXPORT NcclResult ncclAllGather(const void* send, void* receive, size_t send_count, NcclDataType type,
                                     NcclComm comm, void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  return comm->Collect({Kind::kAllGather, send_count, type, kNcclSum, 0}, send, receive, stream);
}
WEIR_EXPORT NcclResult ncclReduceScatter(const void* send, void* receive, size_t receive_count, NcclDataType type,
                                         NcclReduction reduction, NcclComm comm, void* stream) {
  if (comm == nullptr) return kNcclInvalidArgument;
  return comm->Collect({Kind::kReduceScatter, receive_count, type, reduction, 0}, send, receive, stream);
}

WEIR_EXPORT NcclResult ncclSend(const void* send, size_t count, NcclDataType type, int peer, NcclComm comm,
                                void* stream) {
  if (comm == nullptr || peer < 0 || peer >= comm->group->ranks || SizeOf(type) == 0) return kNcclInvalidArgument;
  return Submit([group = comm->group, from = comm->rank, peer, send, bytes = count * SizeOf(type), stream] {
    return Enqueue(stream, [=] {
      const char* host = static_cast<const char*>(HostAddress(send));
      std::lock_guard lock(group->mutex);
      group->messages[{from, peer}].emplace_back(host, host + bytes);
      group->changed.notify_all();
    });
  });
}
WEIR_EXPORT NcclResult ncclRecv(void* receive, size_t count, NcclDataType type, int peer, NcclComm comm, void* stream) {
  if (comm == nullptr || peer < 0 || peer >= comm->group->ranks || SizeOf(type) == 0) return kNcclInvalidArgument;
  return Submit([group = comm->group, to = comm->rank, peer, receive, bytes = count * SizeOf(type), stream] {
    return Enqueue(stream, [=] {
      std::unique_lock lock(group->mutex);
      auto& queue = group->messages[{peer, to}];
      group->changed.wait(lock, [&] { return !queue.empty() || group->is_aborted; });
      if (queue.empty()) return;
      if (queue.front().size() == bytes) {
        std::memcpy(HostAddress(receive), queue.front().data(), bytes);
      } else {
        group->has_failed = true;
      }
      queue.erase(queue.begin());
    });
  });
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

WEIR_NCCL_FUNCTIONS(WEIR_CHECK_SIGNATURE)
