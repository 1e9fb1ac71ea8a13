#include "weir/collective/engine.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/base/strings.h"
#include "weir/collective/fusion_buffer.h"
#include "weir/collective/quantized_reduce.h"

namespace weir::collective {
namespace {

// How often an idle rank checks whether others wait, and the pause after a cycle without results.
constexpr absl::Duration kLookAround = absl::Milliseconds(5);
constexpr absl::Duration kPause = absl::Milliseconds(1);

int64_t FusionBytes(const InitOptions& options) {
  if (options.fusion_bytes >= 0) return options.fusion_bytes;
  for (const char* name : {"WEIR_FUSION_BYTES", "HOROVOD_FUSION_THRESHOLD"}) {
    const std::string value = ProcessVariable(name);
    if (!value.empty()) return std::max<int64_t>(std::atoll(value.c_str()), 0);
  }
  return int64_t{64} << 20;
}

std::string_view EventName(RequestKind kind) {
  static constexpr std::string_view kNames[] = {"ALLREDUCE",     "ALLGATHER", "BROADCAST", "ALLTOALL",
                                                "REDUCESCATTER", "BARRIER",   "JOIN",      "ADD_PROCESS_SET"};
  return kNames[static_cast<int>(kind)];
}

std::string_view NameInKey(std::string_view key) { return key.substr(key.find('/') + 1); }

}  // namespace

Engine::Engine(std::unique_ptr<ProcessGroup> group, const InitOptions& options)
    : options_(options),
      rank_(group->rank()),
      size_(group->size()),
      local_rank_(group->local_rank()),
      local_size_(group->local_size()),
      host_(group->host()),
      num_hosts_(group->num_hosts()),
      group_(std::move(group)),
      negotiation_(size_, FusionBytes(options)),
      next_stall_report_(absl::Now() + options.stall_warning) {
  std::vector<int> all(size_);
  for (int r = 0; r < size_; ++r) all[r] = r;
  {
    absl::MutexLock lock(&mu_);
    set_ranks_[kAllRanks] = all;
  }
  thread_ = std::thread([this] { Run(); });
}

void Engine::Stop() {
  if (!thread_.joinable()) return;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    news_.Signal();
  }
  thread_.join();
  timeline_.Stop();
  FailAll(Cancelled("the collectives were shut down"));
}

std::vector<int> Engine::RanksOf(ProcessSet set) const {
  absl::MutexLock lock(&mu_);
  auto found = set_ranks_.find(set);
  return found != set_ranks_.end() ? found->second : std::vector<int>();
}

void Engine::Submit(Request request) {
  request.asked = absl::Now();
  Status refused;
  {
    absl::MutexLock lock(&mu_);
    auto members = set_ranks_.find(request.set);
    if (!failed_.ok()) {
      refused = failed_;
    } else if (stopping_) {
      refused = Cancelled("the collectives were shut down");
    } else if (members == set_ranks_.end() ||
               std::find(members->second.begin(), members->second.end(), rank_) == members->second.end()) {
      refused = InvalidArgument("Rank ", rank_, " is not in the process set ", request.set);
    } else {
      if (request.signature.on_device) {
        // A rank has one seat in a communicator: tensors of its other devices go through host memory.
        if (device_memory_ == nullptr) device_memory_ = request.home->allocator();
        request.signature.on_device = device_memory_ == request.home->allocator() && CanRunOnDevices(request.signature);
      }
      queue_.push_back(std::move(request));
      news_.Signal();
      return;
    }
  }
  request.done(refused);
}

bool Engine::WaitForCycle(bool was_idle) {
  const bool waits = !pending_.empty() || !joins_.empty();
  const absl::Duration limit = waits ? (was_idle ? kPause : absl::ZeroDuration()) : kLookAround;
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      if (!HasNews() && limit > absl::ZeroDuration()) news_.WaitWithTimeout(&mu_, limit);
      if (HasNews()) return true;
    }
    if (waits || announced_stop_ || group_->IsAwaited()) return true;
  }
}

void Engine::Run() {
  bool was_idle = false;
  const absl::Time forever = absl::InfiniteFuture();
  absl::Time leave_at = forever;
  while (!all_stop_ && WaitForCycle(was_idle)) {
    Status status = Cycle(&was_idle);
    if (!status.ok()) {
      FailAll(status);
      break;
    }
    if (announced_stop_ && leave_at == forever) leave_at = absl::Now() + options_.timeout;
    if (absl::Now() > leave_at) break;
    if (announced_stop_ && was_idle) absl::SleepFor(kPause);
  }
}

// Collects the requests since the last cycle. Of several requests with one name, only the first is announced.
CycleMessage Engine::Collect() {
  std::vector<Request> fresh;
  CycleMessage message;
  {
    absl::MutexLock lock(&mu_);
    fresh.swap(queue_);
    message.is_stopping = stopping_;
  }
  announced_stop_ = message.is_stopping;
  for (Request& request : fresh) {
    if (request.signature.kind == RequestKind::kJoin) {
      joins_.push_back(std::move(request));
      continue;
    }
    const std::string key = Negotiation::KeyOf(request);
    std::deque<Request>& same = pending_[key];
    if (same.empty()) to_announce_.push_back(key);
    same.push_back(std::move(request));
  }
  for (const std::string& key : to_announce_) {
    message.announcements.push_back({key, pending_[key].front().signature.Encode()});
  }
  to_announce_.clear();
  message.has_joined = !joins_.empty();
  return message;
}

void Engine::ReportStalls(CycleMessage* message) {
  if (rank_ != 0) return;
  for (const Negotiation::Stall& stall : negotiation_.StallsLongerThan(options_.stall_error)) {
    message->stalled.push_back(stall.key);
  }
  if (absl::Now() < next_stall_report_) return;
  const std::vector<Negotiation::Stall> stalls = negotiation_.StallsLongerThan(options_.stall_warning);
  if (stalls.empty()) return;
  next_stall_report_ = absl::Now() + options_.stall_warning;
  for (const Negotiation::Stall& stall : stalls) {
    WEIR_LOG(WARNING) << stall.what << " has been waiting for "
                      << absl::FormatDuration(absl::Trunc(stall.waited, absl::Seconds(1))) << " for ranks "
                      << absl::StrJoin(stall.missing, ", ") << ": they may run another program, or be behind";
  }
}

Status Engine::Cycle(bool* was_idle) {
  CycleMessage message = Collect();
  ReportStalls(&message);
  const std::string own = negotiation_.Encode(message);
  std::vector<std::string_view> messages{own};
  Tensor all;
  if (size_ > 1) {
    // Each rank's message is preceded by its length, because lengths differ.
    const uint32_t length = static_cast<uint32_t>(own.size());
    WEIR_ASSIGN_OR_RETURN(Tensor bytes, Tensor::Allocate(DType::kUInt8, Shape({static_cast<int64_t>(own.size() + 4)})));
    std::memcpy(bytes.raw_data(), &length, 4);
    std::memcpy(static_cast<char*>(bytes.raw_data()) + 4, own.data(), own.size());
    WEIR_ASSIGN_OR_RETURN(all, group_->AllGather(bytes));
    messages.clear();
    const char* at = static_cast<const char*>(all.raw_data());
    for (int r = 0; r < size_; ++r) {
      uint32_t theirs = 0;
      std::memcpy(&theirs, at, 4);
      messages.emplace_back(at + 4, theirs);
      at += 4 + theirs;
    }
  }
  WEIR_ASSIGN_OR_RETURN(CycleResult result, negotiation_.Take(messages));
  *was_idle = result.buckets.empty() && message.announcements.empty();
  for (const Bucket& bucket : result.buckets) {
    RunBucket(bucket);
    absl::MutexLock lock(&mu_);
    if (!failed_.ok()) return failed_;
  }
  if (result.last_joined >= 0 && !joins_.empty()) {
    Answer answer;
    answer.number = result.last_joined;
    joins_.front().done(answer);
    joins_.pop_front();
  }
  all_stop_ = result.all_stop;
  return OkStatus();
}

Request Engine::TakeRequest(const std::string& key, const Signature& signature, bool has_failed) {
  auto found = pending_.find(key);
  if (found != pending_.end()) {
    Request request = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) {
      pending_.erase(found);
    } else {
      to_announce_.push_back(key);
    }
    return request;
  }
  // This rank has joined, or the request fails on all ranks.
  Request request;
  request.signature = signature;
  request.done = [](StatusOr<Answer>) {};
  for (size_t i = 0; i < signature.dtypes.size() && !has_failed; ++i) {
    std::vector<int64_t> dims = signature.shapes[i];
    if (signature.kind == RequestKind::kAllGather) dims.insert(dims.begin(), 0);
    StatusOr<Shape> shape = Shape::Make(dims);
    if (!shape.ok()) continue;
    StatusOr<Tensor> zeros = Tensor::Zeros(signature.dtypes[i], *shape);
    if (zeros.ok()) request.values.push_back(*std::move(zeros));
  }
  return request;
}

void Engine::RunBucket(const Bucket& bucket) {
  std::vector<Request> requests;
  const std::vector<int> members = RanksOf(bucket.set);
  if (std::find(members.begin(), members.end(), rank_) == members.end()) return;
  const absl::Time begin = absl::Now();
  for (size_t i = 0; i < bucket.keys.size(); ++i) {
    requests.push_back(TakeRequest(bucket.keys[i], bucket.signatures[i], !bucket.status.ok()));
    if (requests.back().asked > absl::UnixEpoch()) {
      timeline_.Add(NameInKey(bucket.keys[i]), Cat("NEGOTIATE_", EventName(bucket.signatures[i].kind)),
                    requests.back().asked, begin);
    }
  }
  auto answer_all = [&](const Status& status) {
    for (Request& request : requests) request.done(status);
  };
  if (!bucket.status.ok()) return answer_all(bucket.status);
  ProcessGroup& group = bucket.set == kAllRanks ? *group_ : *sets_[bucket.set];
  std::vector<Answer> answers(requests.size());
  StatusOr<bool> is_done = RunOnDevices(group, bucket, requests, &answers);
  Status status = is_done.status();
  if (status.ok() && !*is_done) status = RunOnHost(group, bucket, requests, &answers);
  // All ranks get the same error for bad arguments and continue. Any other error is final.
  if (!status.ok() && !absl::IsInvalidArgument(status) && !absl::IsUnimplemented(status)) {
    // Errors of this rank alone must not leave the others waiting.
    group.GiveUp(status);
    group_->GiveUp(status);
    absl::MutexLock lock(&mu_);
    failed_ = status;
  }
  if (!status.ok()) return answer_all(status);
  const absl::Time end = absl::Now();
  for (size_t i = 0; i < requests.size(); ++i) {
    timeline_.Add(NameInKey(bucket.keys[i]), EventName(bucket.signatures[i].kind), begin, end);
    requests[i].done(std::move(answers[i]));
  }
}

StatusOr<bool> Engine::RunOnDevices(ProcessGroup& group, const Bucket& bucket, const std::vector<Request>& requests,
                                    std::vector<Answer>* answers) {
  const Signature& first = bucket.signatures[0];
  if (!first.on_device || group.size() == 1) return false;
  std::unique_ptr<DeviceExchange>& devices = device_exchanges_[bucket.set];
  if (devices == nullptr) devices = std::make_unique<DeviceExchange>(group, options_.timeout);
  WEIR_ASSIGN_OR_RETURN(const bool is_possible, devices->IsPossible(requests[0]));
  if (!is_possible) return false;
  const absl::Time begin = absl::Now();
  if (first.kind == RequestKind::kAllReduce) {
    WEIR_RETURN_IF_ERROR(devices->Reduce(first, requests, answers));
  } else {
    WEIR_ASSIGN_OR_RETURN(std::optional<Answer> answer, devices->Run(first, requests[0]));
    if (!answer.has_value()) return false;
    (*answers)[0] = *std::move(answer);
  }
  for (const std::string& key : bucket.keys) {
    timeline_.Add(NameInKey(key), Cat("NCCL_", EventName(first.kind)), begin, absl::Now());
  }
  return true;
}

Status Engine::RunOnHost(ProcessGroup& group, const Bucket& bucket, std::vector<Request>& requests,
                         std::vector<Answer>* answers) {
  for (Request& request : requests) WEIR_RETURN_IF_ERROR(BringToHost(&request));
  if (bucket.signatures[0].kind == RequestKind::kAllReduce) {
    WEIR_RETURN_IF_ERROR(RunReduction(group, bucket, requests, answers));
  } else {
    WEIR_ASSIGN_OR_RETURN((*answers)[0], RunOne(group, bucket.signatures[0], requests[0]));
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    WEIR_RETURN_IF_ERROR(BringToDevice(requests[i], &(*answers)[i]));
  }
  return OkStatus();
}

StatusOr<Answer> Engine::RunOne(ProcessGroup& group, const Signature& signature, Request& request) {
  Answer answer;
  answer.values.resize(1);
  Tensor& out = answer.values[0];
  switch (signature.kind) {
    case RequestKind::kAllGather: {
      WEIR_ASSIGN_OR_RETURN(out, group.AllGather(request.values[0]));
      break;
    }
    case RequestKind::kBroadcast: {
      WEIR_ASSIGN_OR_RETURN(out, group.Broadcast(request.values[0], signature.root));
      break;
    }
    case RequestKind::kAllToAll: {
      WEIR_ASSIGN_OR_RETURN(out, group.AllToAll(request.values[0], request.splits, &answer.received_splits));
      break;
    }
    case RequestKind::kReduceScatter: {
      const ReduceOptions options{signature.op, signature.prescale, signature.postscale};
      WEIR_ASSIGN_OR_RETURN(out, group.ReduceScatter(request.values[0], options));
      break;
    }
    case RequestKind::kAddSet:
      return MakeSet(signature);
    default:  // a barrier: all ranks are here
      answer.values.clear();
  }
  return answer;
}

StatusOr<Answer> Engine::MakeSet(const Signature& signature) {
  const std::vector<int> ranks(signature.ranks.begin(), signature.ranks.end());
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ProcessGroup> part, group_->Part(ranks));
  Answer answer;
  answer.number = static_cast<int>(sets_.size()) + 1;
  sets_[answer.number] = std::move(part);
  negotiation_.AddSet(answer.number, ranks);
  absl::MutexLock lock(&mu_);
  set_ranks_[answer.number] = ranks;
  return answer;
}

Status Engine::RunReduction(ProcessGroup& group, const Bucket& bucket, std::vector<Request>& requests,
                            std::vector<Answer>* answers) {
  const Signature& first = bucket.signatures[0];
  const ReduceOptions options{first.op, first.prescale, first.postscale};
  if (first.op == ReduceOp::kAdasum) {
    // Each tensor by itself, because common directions are only meaningful within one layer.
    for (const Tensor& value : requests[0].values) {
      WEIR_ASSIGN_OR_RETURN(Tensor sum, group.AllReduce(value, options));
      (*answers)[0].values.push_back(std::move(sum));
    }
    return OkStatus();
  }
  const absl::Time begin = absl::Now();
  FusionBuffer buffer(first.compression);
  for (const Request& request : requests) {
    for (const Tensor& value : request.values) buffer.Add(value);
  }
  WEIR_RETURN_IF_ERROR(buffer.Pack());
  const absl::Time packed = absl::Now();
  for (size_t i = 0; i < buffer.parts().size(); ++i) {
    Tensor& part = buffer.parts()[i];
    WEIR_RETURN_IF_ERROR(first.compression == Compression::kInt8 && part.dtype() == DType::kFloat
                             ? ReducePart(group, options, bucket, requests, buffer, i)
                             : group.AllReduceInPlace(&part, options));
  }
  const absl::Time reduced = absl::Now();
  WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> results, buffer.Unpack());
  size_t next = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    for (size_t j = 0; j < requests[i].values.size(); ++j) (*answers)[i].values.push_back(std::move(results[next++]));
  }
  if (timeline_.is_on() && requests.size() > 1) {
    const absl::Time end = absl::Now();
    for (const std::string& key : bucket.keys) {
      timeline_.Add(NameInKey(key), "MEMCPY_IN_FUSION_BUFFER", begin, packed);
      timeline_.Add(NameInKey(key), group.num_hosts() > 1 ? "NETWORK_ALLREDUCE" : "SHARED_MEMORY_ALLREDUCE", packed,
                    reduced);
      timeline_.Add(NameInKey(key), "MEMCPY_OUT_FUSION_BUFFER", reduced, end);
    }
  }
  return OkStatus();
}

Status Engine::ReducePart(ProcessGroup& group, const ReduceOptions& options, const Bucket& bucket,
                          const std::vector<Request>& requests, FusionBuffer& buffer, size_t part) {
  Tensor& values = buffer.parts()[part];
  std::vector<float> lost(values.num_elements());
  auto each_tensor = [&](const auto& visit) {
    size_t next = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      for (size_t j = 0; j < requests[i].values.size(); ++j, ++next) {
        if (buffer.part_of(next) != part) continue;
        std::vector<float>& kept = residuals_[Cat(bucket.keys[i], "#", j)];
        const size_t count = requests[i].values[j].num_elements();
        if (kept.size() != count) kept.assign(count, 0);  // another tensor with the same name
        visit(kept, lost.data() + buffer.begin_of(next));
      }
    }
  };
  each_tensor([](const std::vector<float>& kept, float* at) { std::copy(kept.begin(), kept.end(), at); });
  WEIR_RETURN_IF_ERROR(ReduceQuantized(group, options, {values.data<float>(), lost.size()}, lost));
  each_tensor([](std::vector<float>& kept, const float* at) { std::copy_n(at, kept.size(), kept.begin()); });
  return OkStatus();
}

void Engine::FailAll(const Status& status) {
  std::vector<Request> lost;
  {
    absl::MutexLock lock(&mu_);
    if (failed_.ok()) failed_ = status;
    lost.swap(queue_);
  }
  for (auto& each : pending_) {
    for (Request& request : each.second) lost.push_back(std::move(request));
  }
  pending_.clear();
  for (Request& request : joins_) lost.push_back(std::move(request));
  joins_.clear();
  for (Request& request : lost) request.done(status);
}

}  // namespace weir::collective
