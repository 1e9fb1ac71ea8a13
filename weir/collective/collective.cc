#include "weir/collective/collective.h"

#include <algorithm>

#include "absl/synchronization/notification.h"
#include "weir/base/strings.h"
#include "weir/collective/engine.h"
#include "weir/collective/engine_access.h"
#include "weir/collective/merge.h"

namespace weir::collective {

class HandleState {
 public:
  void Answer(StatusOr<collective::Answer> answer) {
    answer_ = std::move(answer);
    done_.Notify();
  }
  bool is_done() const { return done_.HasBeenNotified(); }
  const StatusOr<collective::Answer>& Wait() const {
    done_.WaitForNotification();
    return answer_;
  }

 private:
  absl::Notification done_;
  StatusOr<collective::Answer> answer_ = Internal("no answer yet");
};

namespace {

struct ProcessEngine {
  absl::Mutex mu;
  std::shared_ptr<Engine> engine ABSL_GUARDED_BY(mu);
};

// Never destroyed, because threads may use it during exit.
ProcessEngine& TheEngine() {
  static ProcessEngine* const the = new ProcessEngine();
  return *the;
}

std::string EnvironmentTimeline() {
  const std::string own = ProcessVariable("WEIR_TIMELINE");
  return own.empty() ? ProcessVariable("HOROVOD_TIMELINE") : own;
}

Handle SubmitRequest(Request request) {
  auto state = std::make_shared<HandleState>();
  request.done = [state](StatusOr<Answer> answer) { state->Answer(std::move(answer)); };
  SubmitToEngine(std::move(request));
  return Handle(state);
}

std::vector<int64_t> DimsOf(const Tensor& value, int from) {
  std::vector<int64_t> out;
  for (int i = from; i < value.rank(); ++i) out.push_back(value.dim(i));
  return out;
}

Request MakeReduction(RequestKind kind, const std::string& name, const std::vector<Tensor>& values,
                      const AllReduceOptions& options) {
  Request request;
  request.name = name;
  request.set = options.set;
  request.values = values;
  request.signature.kind = kind;
  request.signature.op = options.op;
  request.signature.compression = options.compression;
  request.signature.prescale = options.prescale;
  request.signature.postscale = options.postscale;
  for (const Tensor& value : values) {
    request.signature.dtypes.push_back(value.dtype());
    request.signature.shapes.push_back(DimsOf(value, 0));
  }
  return request;
}

Request MakeExchange(RequestKind kind, const std::string& name, const Tensor& value, ProcessSet set) {
  Request request;
  request.name = name;
  request.set = set;
  request.values = {value};
  request.signature.kind = kind;
  request.signature.dtypes = {value.dtype()};
  request.signature.shapes = {DimsOf(value, kind == RequestKind::kBroadcast ? 0 : 1)};
  return request;
}

void SetPlace(const DevicePlace& place, Request* request) {
  request->home = place.home;
  request->arithmetic = place.arithmetic;
  request->signature.on_device = !place.deterministic && place.arithmetic != nullptr;
}

}  // namespace

std::shared_ptr<Engine> FindEngine() {
  ProcessEngine& the = TheEngine();
  absl::MutexLock lock(&the.mu);
  return the.engine;
}

void SubmitToEngine(Request request) {
  std::shared_ptr<Engine> engine = FindEngine();
  if (engine == nullptr) {
    return request.done(FailedPrecondition("weir::collective::Init was not called, or Shutdown was"));
  }
  // Reject errors that this rank can detect itself; the other ranks detect them, too.
  Status status;
  const Signature& signature = request.signature;
  for (const Tensor& value : request.values) {
    const bool reduces = signature.kind == RequestKind::kAllReduce || signature.kind == RequestKind::kReduceScatter;
    if (reduces && !CanMerge(value.dtype())) {
      status = InvalidArgument("Values of type ", Name(value.dtype()), " cannot be reduced");
    } else if (!IsPlain(value.dtype())) {
      status = InvalidArgument("Values of type ", Name(value.dtype()), " cannot be exchanged");
    } else if (reduces && (signature.prescale != 1 || signature.postscale != 1) && !IsFloating(value.dtype())) {
      status = InvalidArgument("prescale and postscale need a floating type, not ", Name(value.dtype()));
    } else if (reduces && signature.compression == Compression::kInt8 && signature.op != ReduceOp::kSum &&
               signature.op != ReduceOp::kAverage) {
      status = InvalidArgument("Only sums and averages can be compressed to int8");
    } else if (value.rank() < 1 && signature.kind != RequestKind::kAllReduce &&
               signature.kind != RequestKind::kBroadcast) {
      status = InvalidArgument("'", request.name, "' needs a tensor of rank 1 or more, not a scalar");
    }
  }
  if (!status.ok()) return request.done(status);
  engine->Submit(std::move(request));
}

void StartAllReduce(const std::string& name, const std::vector<Tensor>& values, const AllReduceOptions& options,
                    const DevicePlace& place, std::function<void(StatusOr<Answer>)> done) {
  Request request = MakeReduction(RequestKind::kAllReduce, name, values, options);
  SetPlace(place, &request);
  request.done = std::move(done);
  SubmitToEngine(std::move(request));
}

void StartExchange(RequestKind kind, const std::string& name, const Tensor& value, const ExchangeOptions& options,
                   const DevicePlace& place, std::function<void(StatusOr<Answer>)> done) {
  Request request = kind == RequestKind::kReduceScatter ? MakeReduction(kind, name, {value}, options.reduce)
                                                        : MakeExchange(kind, name, value, options.reduce.set);
  request.signature.root = options.root;
  request.splits = options.splits;
  SetPlace(place, &request);
  request.done = std::move(done);
  SubmitToEngine(std::move(request));
}

Status Init(const InitOptions& options) {
  WEIR_ASSIGN_OR_RETURN(Place place, FindPlace());
  return Init(place, options);
}

Status Init(const Place& place, const InitOptions& options) {
  ProcessEngine& the = TheEngine();
  absl::MutexLock lock(&the.mu);
  if (the.engine != nullptr) return FailedPrecondition("weir::collective::Init was called already");
  WEIR_ASSIGN_OR_RETURN(auto group, ProcessGroup::Init(place, {options.timeout, options.meeting_alarm}));
  auto engine = std::make_shared<Engine>(std::move(group), options);
  const std::string timeline = options.timeline.empty() ? EnvironmentTimeline() : options.timeline;
  if (!timeline.empty() && engine->rank() == 0) WEIR_RETURN_IF_ERROR(engine->timeline().Start(timeline, 0));
  the.engine = std::move(engine);
  return OkStatus();
}

void Shutdown() {
  std::shared_ptr<Engine> engine;
  {
    ProcessEngine& the = TheEngine();
    absl::MutexLock lock(&the.mu);
    engine.swap(the.engine);
  }
  if (engine != nullptr) engine->Stop();
}

bool IsInitialized() { return FindEngine() != nullptr; }

Status Failure() {
  auto engine = FindEngine();
  return engine != nullptr ? engine->failure() : OkStatus();
}

int Rank() {
  auto engine = FindEngine();
  return engine != nullptr ? engine->rank() : 0;
}
int Size() {
  auto engine = FindEngine();
  return engine != nullptr ? engine->size() : 1;
}
int LocalRank() {
  auto engine = FindEngine();
  return engine != nullptr ? engine->local_rank() : 0;
}
int LocalSize() {
  auto engine = FindEngine();
  return engine != nullptr ? engine->local_size() : 1;
}
int CrossRank() {
  auto engine = FindEngine();
  return engine != nullptr ? engine->host() : 0;
}
int CrossSize() {
  auto engine = FindEngine();
  return engine != nullptr ? engine->num_hosts() : 1;
}

StatusOr<ProcessSet> AddProcessSet(const std::vector<int>& ranks) {
  Request request;
  request.name = "add_process_set";
  request.signature.kind = RequestKind::kAddSet;
  request.signature.ranks.assign(ranks.begin(), ranks.end());
  absl::Notification done;
  StatusOr<ProcessSet> set = Internal("no answer");
  request.done = [&](StatusOr<Answer> answer) {
    set = answer.ok() ? StatusOr<ProcessSet>(answer->number) : answer.status();
    done.Notify();
  };
  SubmitToEngine(std::move(request));
  done.WaitForNotification();
  return set;
}

bool Handle::IsDone() const { return state_ != nullptr && state_->is_done(); }

StatusOr<std::vector<Tensor>> Handle::WaitAll() const {
  if (state_ == nullptr) return FailedPrecondition("the handle belongs to no request");
  const StatusOr<Answer>& answer = state_->Wait();
  if (!answer.ok()) return answer.status();
  return answer->values;
}

StatusOr<Tensor> Handle::Wait() const {
  WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> values, WaitAll());
  if (values.size() != 1) return FailedPrecondition("there are ", values.size(), " results: use WaitAll");
  return values[0];
}

const std::vector<int64_t>& Handle::received_splits() const {
  static const std::vector<int64_t>* const kNone = new std::vector<int64_t>();
  if (state_ == nullptr) return *kNone;
  const StatusOr<Answer>& answer = state_->Wait();
  return answer.ok() ? answer->received_splits : *kNone;
}

Handle AllReduceAsync(const std::string& name, const Tensor& value, const AllReduceOptions& options) {
  return SubmitRequest(MakeReduction(RequestKind::kAllReduce, name, {value}, options));
}

Handle GroupedAllReduceAsync(const std::string& name, const std::vector<Tensor>& values,
                             const AllReduceOptions& options) {
  return SubmitRequest(MakeReduction(RequestKind::kAllReduce, name, values, options));
}

Handle AllGatherAsync(const std::string& name, const Tensor& value, ProcessSet set) {
  return SubmitRequest(MakeExchange(RequestKind::kAllGather, name, value, set));
}

Handle BroadcastAsync(const std::string& name, const Tensor& value, int root, ProcessSet set) {
  Request request = MakeExchange(RequestKind::kBroadcast, name, value, set);
  request.signature.root = root;
  return SubmitRequest(std::move(request));
}

Handle AllToAllAsync(const std::string& name, const Tensor& value, const std::vector<int64_t>& splits, ProcessSet set) {
  Request request = MakeExchange(RequestKind::kAllToAll, name, value, set);
  request.splits = splits;
  return SubmitRequest(std::move(request));
}

Handle ReduceScatterAsync(const std::string& name, const Tensor& value, const AllReduceOptions& options) {
  return SubmitRequest(MakeReduction(RequestKind::kReduceScatter, name, {value}, options));
}

StatusOr<Tensor> AllReduce(const std::string& name, const Tensor& value, const AllReduceOptions& options) {
  return AllReduceAsync(name, value, options).Wait();
}
StatusOr<Tensor> AllGather(const std::string& name, const Tensor& value, ProcessSet set) {
  return AllGatherAsync(name, value, set).Wait();
}
StatusOr<Tensor> Broadcast(const std::string& name, const Tensor& value, int root, ProcessSet set) {
  return BroadcastAsync(name, value, root, set).Wait();
}

Status Barrier(ProcessSet set) {
  Request request;
  request.name = "barrier";
  request.set = set;
  request.signature.kind = RequestKind::kBarrier;
  return SubmitRequest(std::move(request)).WaitAll().status();
}

StatusOr<int> Join() {
  Request request;
  request.name = "join";
  request.signature.kind = RequestKind::kJoin;
  absl::Notification done;
  StatusOr<int> last = Internal("no answer");
  request.done = [&](StatusOr<Answer> answer) {
    last = answer.ok() ? StatusOr<int>(answer->number) : answer.status();
    done.Notify();
  };
  SubmitToEngine(std::move(request));
  done.WaitForNotification();
  return last;
}

Status StartTimeline(const std::string& path) {
  auto engine = FindEngine();
  if (engine == nullptr) return FailedPrecondition("weir::collective::Init was not called");
  return engine->timeline().Start(path, engine->rank());
}

void StopTimeline() {
  if (auto engine = FindEngine()) engine->timeline().Stop();
}

}  // namespace weir::collective
