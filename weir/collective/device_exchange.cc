#include "weir/collective/device_exchange.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/base/strings.h"
#include "weir/collective/merge.h"

namespace weir::collective {
namespace {

// How often a rank that waits for NCCL looks whether the others are alive.
constexpr absl::Duration kLook = absl::Milliseconds(20);
// Bytes of a card's name, or of an obstacle, when ranks exchange them; the first byte says which of them it is.
constexpr int64_t kCardBytes = 256;
constexpr char kIsCard = 'c', kIsObstacle = 'o', kIsLate = 'l';
constexpr int64_t kIdBytes = 129;  // the first byte says whether there is one
// How long ranks try whether NCCL works.
constexpr absl::Duration kTrial = absl::Seconds(60);
// A rank whose trial has failed waits for the others. If theirs does not end soon, it has failed, too.
constexpr absl::Duration kTrialOfOthers = absl::Seconds(2);
// Tensors in a buffer begin at multiples of this.
constexpr int64_t kSlotBytes = 256;

CommunicatorSource& SourceOf(const Request& request) {
  return *dynamic_cast<CommunicatorSource*>(request.arithmetic.get());
}

StatusOr<Tensor> AllocateFor(const Request& request, DType dtype, const Shape& shape) {
  return Tensor::Allocate(dtype, shape, request.home->allocator());
}

ChunkMerge MergeOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMin:
      return ChunkMerge::kMin;
    case ReduceOp::kMax:
      return ChunkMerge::kMax;
    case ReduceOp::kProduct:
      return ChunkMerge::kMul;
    default:
      return ChunkMerge::kAdd;
  }
}

StatusOr<Tensor> TextTensor(std::string text, int64_t bytes) {
  text.resize(static_cast<size_t>(bytes), '\0');
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kUInt8, Shape({1, bytes})));
  std::memcpy(out.raw_data(), text.data(), text.size());
  return out;
}

// What each rank says, by rank; at most kCardBytes - 1 bytes.
StatusOr<std::vector<std::string>> GatherTexts(ProcessGroup& group, const std::string& own) {
  WEIR_ASSIGN_OR_RETURN(const Tensor text, TextTensor(own.substr(0, kCardBytes - 1), kCardBytes));
  WEIR_ASSIGN_OR_RETURN(const Tensor all, group.AllGather(text));
  std::vector<std::string> texts;
  for (int r = 0; r < group.size(); ++r) texts.push_back(static_cast<const char*>(all.raw_data()) + r * kCardBytes);
  return texts;
}

}  // namespace

bool CanRunOnDevices(const Signature& signature) {
  switch (signature.kind) {
    case RequestKind::kAllReduce:
    case RequestKind::kReduceScatter:
      return signature.op != ReduceOp::kAdasum && signature.compression == Compression::kNone &&
             signature.prescale == 1 && signature.postscale == 1;
    case RequestKind::kAllGather:
    case RequestKind::kBroadcast:
    case RequestKind::kAllToAll:
      return true;
    default:
      return false;
  }
}

StatusOr<bool> DeviceExchange::IsPossible(const Request& request) {
  if (!was_asked_) {
    was_asked_ = true;
    WEIR_RETURN_IF_ERROR(Join(request));
  }
  return communicator_ != nullptr;
}

Status DeviceExchange::Join(const Request& request) {
  const StatusOr<std::string> card = SourceOf(request).CommunicatorCard();
  const std::string text = card.ok() ? kIsCard + *card : kIsObstacle + std::string(Message(card.status()));
  WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> cards, GatherTexts(group_, text));
  std::string obstacle;
  std::map<std::string, int> ranks;  // by card
  for (int r = 0; r < group_.size() && obstacle.empty(); ++r) {
    const std::string& theirs = cards[static_cast<size_t>(r)];
    if (theirs[0] == kIsObstacle) {
      obstacle = Cat("rank ", r, ": ", theirs.substr(1));
    } else if (auto [other, is_new] = ranks.emplace(theirs, r); !is_new) {
      obstacle = Cat("ranks ", other->second, " and ", r, " are on one card");
    }
  }
  StatusOr<std::shared_ptr<DeviceMoment>> moment = SourceOf(request).Mark();
  WEIR_RETURN_IF_ERROR(moment.status());
  std::string id(1, kIsObstacle);
  if (obstacle.empty() && group_.rank() == 0) {
    StatusOr<std::string> made = (*moment)->MakeCommunicatorId();
    id = made.ok() ? kIsCard + *made : kIsObstacle + std::string(Message(made.status()));
  }
  if (obstacle.empty()) {
    WEIR_ASSIGN_OR_RETURN(const Tensor offered, TextTensor(id, kIdBytes));
    WEIR_ASSIGN_OR_RETURN(const Tensor agreed, group_.Broadcast(offered, 0));
    id.assign(static_cast<const char*>(agreed.raw_data()), static_cast<size_t>(kIdBytes));
    if (id[0] == kIsObstacle) obstacle = Cat("rank 0: ", id.substr(1));
  }
  if (obstacle.empty()) {
    const Status works = Try(request, **moment, id.substr(1));
    const char kind = absl::IsDeadlineExceeded(works) ? kIsLate : kIsObstacle;
    WEIR_ASSIGN_OR_RETURN(const std::vector<std::string> results,
                          GatherTexts(group_, works.ok() ? "" : kind + std::string(Message(works))));
    // Ranks that have waited in vain know the reason least.
    for (const char wanted : {kIsObstacle, kIsLate}) {
      for (int r = 0; r < group_.size() && obstacle.empty(); ++r) {
        const std::string& result = results[static_cast<size_t>(r)];
        if (!result.empty() && result[0] == wanted) obstacle = Cat("rank ", r, ": ", result.substr(1));
      }
    }
    if (!obstacle.empty()) communicator_ = nullptr;
  }
  if (!obstacle.empty() && group_.rank() == 0) {
    WEIR_LOG(INFO) << "Collectives of the GPUs of " << group_.size() << " ranks run without NCCL: " << obstacle;
  }
  return OkStatus();
}

Status DeviceExchange::Try(const Request& request, DeviceMoment& moment, const std::string& id) {
  communicator_ = moment.Join(id, group_.size(), group_.rank());
  DeviceCollectiveCall call;
  WEIR_ASSIGN_OR_RETURN(call.to, AllocateFor(request, DType::kInt64, Shape({1})));
  call.from = call.to;
  return Call(request, std::move(call), std::min(timeout_, kTrial), kTrialOfOthers);
}

Status DeviceExchange::Call(const Request& request, DeviceCollectiveCall call, absl::Duration timeout,
                            absl::Duration patience) {
  WEIR_ASSIGN_OR_RETURN(call.moment, SourceOf(request).Mark());
  struct Ending {
    absl::Notification done;
    Status status;
  };
  auto ending = std::make_shared<Ending>();
  communicator_->Start(std::move(call), [ending](const Status& status) {
    ending->status = status;
    ending->done.Notify();
  });
  absl::Time deadline = absl::Now() + timeout;
  Status lost;
  while (lost.ok() && !ending->done.WaitForNotificationWithTimeout(kLook)) {
    lost = group_.CheckPeers();
    if (patience < timeout && group_.IsAwaited()) {
      deadline = std::min(deadline, absl::Now() + patience);
      patience = timeout;
    }
    if (lost.ok() && absl::Now() > deadline) {
      lost = DeadlineExceeded("All ranks have begun a collective of their GPUs, but it has not ended in time");
    }
  }
  if (lost.ok()) {
    // Ranks that all get INVALID_ARGUMENT go on, but this one may be the only one.
    return absl::IsInvalidArgument(ending->status) ? Internal(Message(ending->status)) : ending->status;
  }
  communicator_->Abort(lost);
  ending->done.WaitForNotification();
  return lost;
}

Status DeviceExchange::Reduce(const Signature& signature, const std::vector<Request>& requests,
                              std::vector<Answer>* answers) {
  const Request& first = requests[0];
  ChunkArithmetic& arithmetic = *first.arithmetic;
  std::map<DType, int64_t> lengths;
  std::vector<int64_t> begins;  // by tensor, in the buffer of its type
  for (const Request& request : requests) {
    for (const Tensor& value : request.values) {
      int64_t& length = lengths[value.dtype()];
      const int64_t step = kSlotBytes / static_cast<int64_t>(SizeOf(value.dtype()));
      length = (length + step - 1) / step * step;
      begins.push_back(length);
      length += value.num_elements();
    }
  }
  for (const auto& [dtype, length] : lengths) {
    WEIR_ASSIGN_OR_RETURN(Tensor buffer, AllocateFor(first, dtype, Shape({length})));
    const bool is_single = requests.size() == 1 && first.values.size() == 1;
    size_t next = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      (*answers)[i].values.resize(requests[i].values.size());
      for (size_t j = 0; j < requests[i].values.size(); ++j) {
        const Tensor& value = requests[i].values[j];
        const int64_t begin = begins[next++];
        if (value.dtype() != dtype) continue;
        const Tensor slot = buffer.Slice(begin, begin + value.num_elements());
        if (!is_single) WEIR_RETURN_IF_ERROR(arithmetic.Copy(value, slot));
        WEIR_ASSIGN_OR_RETURN((*answers)[i].values[j], slot.Reshaped(value.shape()));
      }
    }
    if (length == 0) continue;
    DeviceCollectiveCall call;
    call.kind = DeviceCollective::kReduce;
    call.merge = MergeOf(signature.op);
    call.from = is_single ? first.values[0] : buffer;
    call.to = buffer;
    WEIR_RETURN_IF_ERROR(Call(first, std::move(call)));
    if (signature.op == ReduceOp::kAverage) WEIR_RETURN_IF_ERROR(arithmetic.Divide(buffer, group_.size()));
  }
  return OkStatus();
}

StatusOr<std::optional<Answer>> DeviceExchange::Run(const Signature& signature, const Request& request) {
  const Tensor& value = request.values[0];
  if (signature.kind == RequestKind::kAllGather) return Gather(request);
  if (signature.kind == RequestKind::kAllToAll) return AllToAll(request);
  Answer answer;
  DeviceCollectiveCall call;
  call.from = value;
  if (signature.kind == RequestKind::kBroadcast) {
    if (signature.root < 0 || signature.root >= group_.size()) {
      return InvalidArgument("There is no rank ", signature.root, " among ", group_.size());
    }
    call.kind = DeviceCollective::kBroadcast;
    call.root = signature.root;
    call.to = value;
    if (group_.rank() != signature.root) {
      WEIR_ASSIGN_OR_RETURN(call.to, AllocateFor(request, value.dtype(), value.shape()));
    }
  } else {
    if (value.dim(0) % group_.size() != 0) return std::optional<Answer>();  // NCCL scatters equal parts only
    call.kind = DeviceCollective::kReduceScatter;
    call.merge = MergeOf(signature.op);
    Shape shape = value.shape();
    WEIR_RETURN_IF_ERROR(shape.SetDim(0, value.dim(0) / group_.size()));
    WEIR_ASSIGN_OR_RETURN(call.to, AllocateFor(request, value.dtype(), shape));
  }
  answer.values = {call.to};
  if (value.num_elements() == 0) return std::optional<Answer>(std::move(answer));
  WEIR_RETURN_IF_ERROR(Call(request, std::move(call)));
  if (signature.kind == RequestKind::kReduceScatter && signature.op == ReduceOp::kAverage) {
    WEIR_RETURN_IF_ERROR(request.arithmetic->Divide(answer.values[0], group_.size()));
  }
  return std::optional<Answer>(std::move(answer));
}

StatusOr<std::optional<Answer>> DeviceExchange::Gather(const Request& request) {
  const Tensor& value = request.values[0];
  WEIR_ASSIGN_OR_RETURN(const Tensor rows, group_.AllGather(Tensor::Vector<int64_t>({value.dim(0)})));
  DeviceCollectiveCall call;
  call.kind = DeviceCollective::kGather;
  const int64_t row = value.shape().Slice(1, value.rank()).num_elements();
  int64_t total = 0;
  for (int64_t count : rows.span<int64_t>()) {
    total += count;
    call.counts.push_back(count * row);
  }
  Shape shape = value.shape();
  WEIR_RETURN_IF_ERROR(shape.SetDim(0, total));
  call.from = value;
  WEIR_ASSIGN_OR_RETURN(call.to, AllocateFor(request, value.dtype(), shape));
  Answer answer;
  answer.values = {call.to};
  if (total * row > 0) WEIR_RETURN_IF_ERROR(Call(request, std::move(call)));
  return std::optional<Answer>(std::move(answer));
}

StatusOr<std::optional<Answer>> DeviceExchange::AllToAll(const Request& request) {
  const Tensor& value = request.values[0];
  const int n = group_.size();
  std::vector<int64_t> rows = request.splits;
  if (rows.empty() && value.dim(0) % n == 0) rows.assign(static_cast<size_t>(n), value.dim(0) / n);
  int64_t sum = 0;
  bool is_good = static_cast<int>(rows.size()) == n;
  for (int64_t count : rows) {
    sum += count;
    is_good = is_good && count >= 0;
  }
  if (!is_good || sum != value.dim(0)) rows.assign(static_cast<size_t>(n), -1);  // the host's way has the error for it
  WEIR_ASSIGN_OR_RETURN(const Tensor table, group_.AllGather(Tensor::Vector<int64_t>(std::span<const int64_t>(rows))));
  const int64_t row = value.shape().Slice(1, value.rank()).num_elements();
  const int64_t* const counts = table.data<int64_t>();
  int64_t total = 0, moved = 0;
  Answer answer;
  DeviceCollectiveCall call;
  call.kind = DeviceCollective::kExchange;
  for (int r = 0; r < n; ++r) {
    if (counts[r * n] < 0) return std::optional<Answer>();
    for (int to = 0; to < n; ++to) moved += counts[r * n + to];
    const int64_t received = counts[r * n + group_.rank()];
    total += received;
    answer.received_splits.push_back(received);
    call.received.push_back(received * row);
    call.counts.push_back(rows[static_cast<size_t>(r)] * row);
  }
  Shape shape = value.shape();
  WEIR_RETURN_IF_ERROR(shape.SetDim(0, total));
  call.from = value;
  WEIR_ASSIGN_OR_RETURN(call.to, AllocateFor(request, value.dtype(), shape));
  answer.values = {call.to};
  if (moved * row > 0) WEIR_RETURN_IF_ERROR(Call(request, std::move(call)));
  return std::optional<Answer>(std::move(answer));
}

Status BringToHost(Request* request) {
  if (request->home == nullptr) return OkStatus();
  for (Tensor& value : request->values) {
    WEIR_ASSIGN_OR_RETURN(value, CopyToHostNow(*request->home, value));
  }
  return OkStatus();
}

Status BringToDevice(const Request& request, Answer* answer) {
  if (request.home == nullptr) return OkStatus();
  for (Tensor& value : answer->values) {
    WEIR_ASSIGN_OR_RETURN(value, CopyFromHostNow(*request.home, value));
  }
  return OkStatus();
}

}  // namespace weir::collective
