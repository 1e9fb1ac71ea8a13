#include "weir/device/cuda/communicator.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>

#include "weir/base/strings.h"

namespace weir::cuda {
namespace {

// How often NCCL is asked for errors while calls are unfinished.
constexpr absl::Duration kAskForErrors = absl::Milliseconds(50);

NcclReduction ToNccl(ChunkMerge merge) {
  switch (merge) {
    case ChunkMerge::kMul:
      return kNcclProd;
    case ChunkMerge::kMin:
      return kNcclMin;
    case ChunkMerge::kMax:
      return kNcclMax;
    case ChunkMerge::kAdd:
      break;
  }
  return kNcclSum;
}

// The state whose calls this thread is answering: a callback may drop the last reference to its communicator.
thread_local const void* answering = nullptr;

// Events for moments, of each card.
EventPool& EventsOf(ContextHandle context) {
  struct Pools {
    absl::Mutex mu;
    std::map<ContextHandle, std::unique_ptr<EventPool>> pools ABSL_GUARDED_BY(mu);
  };
  static auto& all = *new Pools;  // as long as the cards
  absl::MutexLock lock(&all.mu);
  std::unique_ptr<EventPool>& pool = all.pools[context];
  if (pool == nullptr) pool = std::make_unique<EventPool>(context, kEventDisableTiming);
  return *pool;
}

class CudaMoment : public DeviceMoment {
 public:
  CudaMoment(std::shared_ptr<CudaRun> run, EventHandle event) : run(std::move(run)), event(event) {}
  ~CudaMoment() override { EventsOf(run->parts().gpu->context()).Give(event); }
  StatusOr<std::string> MakeCommunicatorId() override { return NcclCommunicator::MakeId(); }
  std::shared_ptr<DeviceCommunicator> Join(const std::string& id, int ranks, int rank) override {
    return std::make_shared<CudaCommunicator>(*run->parts().gpu, id, ranks, rank);
  }

  const std::shared_ptr<CudaRun> run;
  const EventHandle event;
};

CudaRun& RunOf(const DeviceCollectiveCall& call) { return *static_cast<CudaMoment&>(*call.moment).run; }

std::vector<int64_t> Scaled(std::vector<int64_t> counts, size_t factor) {
  for (int64_t& count : counts) count *= static_cast<int64_t>(factor);
  return counts;
}

}  // namespace

CudaCommunicator::CudaCommunicator(Gpu& gpu, std::string id, int ranks, int rank) : state_(std::make_shared<State>()) {
  thread_ = std::thread([state = state_, &gpu, id = std::move(id), ranks, rank] { Loop(state, gpu, id, ranks, rank); });
}

CudaCommunicator::~CudaCommunicator() {
  bool is_idle = false;
  {
    absl::MutexLock lock(&state_->mu);
    state_->stopping = true;
    is_idle = state_->unfinished.empty();
  }
  if (!is_idle) state_->End(Cancelled("the group of GPUs was dropped"));
  if (answering == state_.get()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void CudaCommunicator::Start(DeviceCollectiveCall call, std::function<void(Status)> done) {
  Status broken;
  {
    absl::MutexLock lock(&state_->mu);
    broken = state_->broken;
    if (broken.ok()) {
      const int64_t number = state_->next++;
      state_->unfinished[number] = std::move(done);
      state_->queue.push_back({number, std::move(call)});
      return;
    }
  }
  done(broken);
}

void CudaCommunicator::Abort(const Status& reason) { state_->End(reason); }

void CudaCommunicator::State::End(const Status& reason) {
  std::map<int64_t, std::function<void(Status)>> lost;
  std::deque<std::pair<int64_t, DeviceCollectiveCall>> dropped;
  Status status;
  {
    absl::MutexLock lock(&mu);
    if (broken.ok()) broken = reason;
    status = broken;
    lost.swap(unfinished);
    dropped.swap(queue);
  }
  const void* const before = std::exchange(answering, this);
  for (auto& [number, done] : lost) done(status);
  lost.clear();
  answering = before;
}

void CudaCommunicator::State::Finish(int64_t number, const Status& status) {
  std::function<void(Status)> done;
  {
    absl::MutexLock lock(&mu);
    auto found = unfinished.find(number);
    if (found == unfinished.end()) return;
    done = std::move(found->second);
    unfinished.erase(found);
  }
  const void* const before = std::exchange(answering, this);
  done(status);
  done = nullptr;
  answering = before;
}

void CudaCommunicator::Loop(const std::shared_ptr<State>& state, Gpu& gpu, const std::string& id, int ranks, int rank) {
  UseContext(gpu.context());
  std::pair<int64_t, DeviceCollectiveCall> item;  // dropped after the stream, which may still use its tensors
  StatusOr<std::unique_ptr<CudaStream>> stream = CudaStream::Make(gpu.context());
  if (!stream.ok()) return state->End(stream.status());
  auto alarm = [state]() -> Status {
    absl::MutexLock lock(&state->mu);
    return state->stopping && state->broken.ok() ? Cancelled("the group of GPUs was dropped") : state->broken;
  };
  StatusOr<std::unique_ptr<NcclCommunicator>> nccl = NcclCommunicator::Join(gpu.context(), id, ranks, rank, alarm);
  if (!nccl.ok()) return state->End(nccl.status());
  for (;;) {
    bool has_item = false;
    {
      State& s = *state;
      absl::MutexLock lock(&s.mu);
      auto is_wanted = [&s]() ABSL_SHARED_LOCKS_REQUIRED(s.mu) {
        return s.stopping || !s.broken.ok() || !s.queue.empty();
      };
      const bool waits = !s.unfinished.empty();
      s.mu.AwaitWithTimeout(absl::Condition(&is_wanted), waits ? kAskForErrors : absl::InfiniteDuration());
      if (!s.broken.ok()) break;
      has_item = !s.queue.empty();
      if (has_item) {
        item = std::move(s.queue.front());
        s.queue.pop_front();
      } else if (s.stopping) {
        return;  // in peace: the destructors wait for the other ranks
      }
    }
    const Status status = has_item ? Enqueue(**nccl, **stream, item.second) : (*nccl)->AsyncStatus();
    if (!status.ok()) {
      state->End(status);
      break;
    }
    if (!has_item) continue;
    // The pending call is held until its work has ended, also if nobody waits for it any more.
    (*stream)->WhenDone([state, number = item.first, held = std::move(item.second)](const Status& ended) mutable {
      if (!ended.ok()) RunOf(held).parts().Poison(ended);
      held = DeviceCollectiveCall();
      state->Finish(number, ended);
    });
  }
  (*nccl)->Abort();
}

Status CudaCommunicator::Enqueue(NcclCommunicator& nccl, CudaStream& stream, const DeviceCollectiveCall& call) {
  CudaParts& parts = RunOf(call).parts();
  WEIR_RETURN_IF_ERROR(parts.health());
  if (call.to_is_newer) {
    WEIR_RETURN_IF_ERROR(stream.WaitFor(*parts.compute));
  } else {
    const EventHandle event = static_cast<CudaMoment&>(*call.moment).event;
    UseContext(stream.context());
    WEIR_RETURN_IF_CUDA_ERROR(Driver().StreamWaitEvent(stream.handle(), event, 0), "ordering two streams");
  }
  const DType dtype = call.to.dtype();
  const DeviceAddress from = call.from.has_value() ? Address(call.from) : 0, to = Address(call.to);
  // What only moves elements moves bytes, whatever their type.
  const size_t size = SizeOf(dtype);
  const int64_t bytes = static_cast<int64_t>(call.to.num_bytes());
  switch (call.kind) {
    case DeviceCollective::kReduce:
      return nccl.AllReduce(stream, dtype, ToNccl(call.merge), from, to, call.to.num_elements());
    case DeviceCollective::kReduceScatter:
      return nccl.ReduceScatter(stream, dtype, ToNccl(call.merge), from, to, call.to.num_elements());
    case DeviceCollective::kBroadcast:
      return nccl.Broadcast(stream, DType::kUInt8, call.root, nccl.rank() == call.root ? from : to, to, bytes);
    case DeviceCollective::kGather: {
      const bool is_even = std::ranges::all_of(call.counts, [&](int64_t count) { return count == call.counts[0]; });
      if (is_even) return nccl.AllGather(stream, DType::kUInt8, from, to, bytes / nccl.ranks());
      return nccl.AllGatherV(stream, DType::kUInt8, from, to, Scaled(call.counts, size));
    }
    case DeviceCollective::kExchange:
      return nccl.Exchange(stream, DType::kUInt8, from, Scaled(call.counts, size), to, Scaled(call.received, size));
  }
  return Internal("There is no such collective");
}

StatusOr<std::string> CommunicatorCard(const Gpu& gpu) {
  const char* wanted = std::getenv("WEIR_NCCL");
  if (wanted != nullptr && std::string_view(wanted) == "0") return Unavailable("WEIR_NCCL=0");
  WEIR_RETURN_IF_ERROR(CheckNcclLoads());
  // Not the host's name: containers of one machine may see the same card.
  std::string machine;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> machine;
  return Cat(machine, "/", gpu.pci_bus_id());
}

StatusOr<std::shared_ptr<DeviceMoment>> MarkMoment(std::shared_ptr<CudaRun> run) {
  CudaParts& parts = run->parts();
  WEIR_RETURN_IF_ERROR(parts.health());
  EventPool& events = EventsOf(parts.gpu->context());
  WEIR_ASSIGN_OR_RETURN(const EventHandle event, events.Take());
  UseContext(parts.gpu->context());
  auto moment = std::make_shared<CudaMoment>(std::move(run), event);
  WEIR_RETURN_IF_CUDA_ERROR(Driver().EventRecord(event, parts.compute->handle()), "recording an event");
  return std::shared_ptr<DeviceMoment>(std::move(moment));
}

}  // namespace weir::cuda
