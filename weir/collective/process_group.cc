#include "weir/collective/process_group.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "weir/base/strings.h"
#include "weir/collective/adasum.h"
#include "weir/collective/merge.h"
#include "weir/collective/team.h"

namespace weir::collective {
namespace {

MergeOp ToMerge(ReduceOp op) {
  switch (op) {
    case ReduceOp::kMin:
      return MergeOp::kMin;
    case ReduceOp::kMax:
      return MergeOp::kMax;
    case ReduceOp::kProduct:
      return MergeOp::kMul;
    default:
      return MergeOp::kAdd;
  }
}

void Scale(Tensor* value, double factor) {
  if (factor == 1.0) return;
  DispatchDType(value->dtype(), FloatTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = std::conditional_t<sizeof(T) == 2, float, T>;
    T* data = static_cast<T*>(value->raw_data());
    for (int64_t i = 0; i < value->num_elements(); ++i) {
      data[i] = T(static_cast<W>(data[i]) * static_cast<W>(factor));
    }
  });
}

Status CheckReduce(const Tensor& value, const ReduceOptions& options) {
  if (!CanMerge(value.dtype())) {
    return InvalidArgument("Values of type ", Name(value.dtype()),
                           " cannot be reduced; half, bfloat16, float, double, int32 and int64 can");
  }
  if ((options.prescale != 1.0 || options.postscale != 1.0) && !IsFloating(value.dtype())) {
    return InvalidArgument("prescale and postscale need a floating type, not ", Name(value.dtype()));
  }
  return OkStatus();
}

}  // namespace

ProcessGroup::ProcessGroup(Place place, std::unique_ptr<Team> team)
    : place_(std::move(place)), team_(std::move(team)) {}
ProcessGroup::~ProcessGroup() = default;

StatusOr<std::unique_ptr<ProcessGroup>> ProcessGroup::Init(const GroupOptions& options) {
  WEIR_ASSIGN_OR_RETURN(Place place, FindPlace());
  return Init(place, options);
}

StatusOr<std::unique_ptr<ProcessGroup>> ProcessGroup::Init(const Place& place, const GroupOptions& options) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Team> team, Team::Make(place, options.timeout, options.meeting_alarm));
  return std::unique_ptr<ProcessGroup>(new ProcessGroup(place, std::move(team)));
}

int ProcessGroup::rank() const { return team_->rank(); }
int ProcessGroup::size() const { return team_->size(); }
int ProcessGroup::local_rank() const { return team_->local_rank(); }
int ProcessGroup::local_size() const { return team_->local_size(); }
int ProcessGroup::host() const { return team_->host(); }
int ProcessGroup::num_hosts() const { return team_->num_hosts(); }
bool ProcessGroup::IsAwaited() const { return team_->IsAwaited(); }
void ProcessGroup::GiveUp(const Status& status) { team_->GiveUp(status); }
Status ProcessGroup::CheckPeers() { return size() > 1 ? team_->Check() : OkStatus(); }

StatusOr<std::unique_ptr<ProcessGroup>> ProcessGroup::Part(const std::vector<int>& ranks) {
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (ranks.empty() || sorted.front() < 0 || sorted.back() >= size() ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return InvalidArgument("A part of a group needs one or more of its ranks, which are 0 to ", size() - 1,
                           ", each at most once");
  }
  const int number = parts_++;
  if (!std::binary_search(sorted.begin(), sorted.end(), rank())) return std::unique_ptr<ProcessGroup>();
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Team> team, team_->MakePart(ranks, Cat("part", number)));
  return std::unique_ptr<ProcessGroup>(new ProcessGroup(place_, std::move(team)));
}

Note ProcessGroup::MakeNote(int kind, const Tensor& value) const {
  Note note;
  note.kind = kind;
  note.dtype = static_cast<int32_t>(value.dtype());
  note.rank = value.rank();
  note.elements = value.num_elements();
  note.rows = value.rank() > 0 ? value.dim(0) : 0;
  const bool rows_differ = kind == kGather || kind == kExchange;
  for (int i = rows_differ ? 1 : 0; i < value.rank(); ++i) {
    note.shape = note.shape * 1000003 + static_cast<uint64_t>(value.dim(i)) + 1;
  }
  return note;
}

Status ProcessGroup::Reduce(Tensor* value, const ReduceOptions& options) {
  Scale(value, options.prescale);
  if (options.op == ReduceOp::kAdasum) {
    WEIR_RETURN_IF_ERROR(ReduceAdasum(value));
  } else if (size() > 1) {
    Note note = MakeNote(kAllReduce, *value);
    note.op = static_cast<int32_t>(options.op);
    WEIR_RETURN_IF_ERROR(
        team_->Reduce(note, value->dtype(), ToMerge(options.op), value->raw_data(), value->num_elements()));
  }
  if (options.op == ReduceOp::kAverage) {
    DivideChunk(value->dtype(), size(), value->raw_data(), value->num_elements());
  }
  Scale(value, options.postscale);
  return OkStatus();
}

// In round k, ranks whose numbers differ in bit k exchange their vectors and combine them.
Status ProcessGroup::ReduceAdasum(Tensor* value) {
  if (!IsFloating(value->dtype())) {
    return InvalidArgument("Adasum needs a floating type, not ", Name(value->dtype()));
  }
  if (!std::has_single_bit(static_cast<unsigned>(size()))) {
    return InvalidArgument("Adasum needs a number of ranks that is a power of two, not ", size());
  }
  Note note = MakeNote(kAllReduce, *value);
  note.op = static_cast<int32_t>(ReduceOp::kAdasum);
  WEIR_RETURN_IF_ERROR(team_->Agree(note));
  WEIR_ASSIGN_OR_RETURN(Tensor theirs, Tensor::Allocate(value->dtype(), value->shape()));
  for (int distance = 1; distance < size(); distance *= 2) {
    const int peer = rank() ^ distance;
    std::vector<const char*> out(size(), nullptr);
    std::vector<char*> in(size(), nullptr);
    std::vector<size_t> out_bytes(size(), 0), in_bytes(size(), 0);
    out[peer] = static_cast<const char*>(value->raw_data());
    in[peer] = static_cast<char*>(theirs.raw_data());
    out_bytes[peer] = in_bytes[peer] = value->num_bytes();
    WEIR_RETURN_IF_ERROR(team_->ExchangeAll(out, out_bytes, in, in_bytes, value->num_bytes()));
    // The vector of the lower rank comes first on both sides, so that both get the same bits.
    CombineAdasum(value->dtype(), rank() < peer ? value->raw_data() : theirs.raw_data(),
                  rank() < peer ? theirs.raw_data() : value->raw_data(), value->raw_data(), value->num_elements());
  }
  return OkStatus();
}

Status ProcessGroup::AllReduceInPlace(Tensor* value, const ReduceOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckReduce(*value, options));
  return Reduce(value, options);
}

StatusOr<Tensor> ProcessGroup::AllReduce(const Tensor& value, const ReduceOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckReduce(value, options));
  WEIR_ASSIGN_OR_RETURN(Tensor out, value.Clone());
  WEIR_RETURN_IF_ERROR(Reduce(&out, options));
  return out;
}

StatusOr<std::vector<Tensor>> ProcessGroup::AllReduce(std::span<const Tensor> values, const ReduceOptions& options) {
  std::vector<Tensor> results(values.size());
  if (options.op == ReduceOp::kAdasum) {
    for (size_t i = 0; i < values.size(); ++i) {
      WEIR_ASSIGN_OR_RETURN(results[i], AllReduce(values[i], options));
    }
    return results;
  }
  std::vector<bool> done(values.size(), false);
  // Tensors of one type are fused into one buffer.
  for (size_t first = 0; first < values.size(); ++first) {
    if (done[first]) continue;
    const DType dtype = values[first].dtype();
    WEIR_RETURN_IF_ERROR(CheckReduce(values[first], options));
    int64_t total = 0;
    for (const Tensor& value : values) total += value.dtype() == dtype ? value.num_elements() : 0;
    WEIR_ASSIGN_OR_RETURN(Tensor packed, Tensor::Allocate(dtype, Shape({total})));
    char* at = static_cast<char*>(packed.raw_data());
    for (const Tensor& value : values) {
      if (value.dtype() != dtype) continue;
      if (value.num_bytes() > 0) std::memcpy(at, value.raw_data(), value.num_bytes());
      at += value.num_bytes();
    }
    WEIR_RETURN_IF_ERROR(Reduce(&packed, options));
    int64_t begin = 0;
    for (size_t i = first; i < values.size(); ++i) {
      if (values[i].dtype() != dtype) continue;
      const int64_t end = begin + values[i].num_elements();
      WEIR_ASSIGN_OR_RETURN(results[i], packed.Slice(begin, end).Reshaped(values[i].shape()));
      begin = end;
      done[i] = true;
    }
  }
  return results;
}

StatusOr<Tensor> ProcessGroup::AllGather(const Tensor& value) {
  if (!IsPlain(value.dtype())) return InvalidArgument("Values of type ", Name(value.dtype()), " cannot be gathered");
  if (value.rank() < 1) return InvalidArgument("AllGather needs a tensor of rank 1 or more, not a scalar");
  if (size() == 1) return value;
  WEIR_RETURN_IF_ERROR(team_->Agree(MakeNote(kGather, value)));
  int64_t total = 0;
  for (const Note& note : team_->notes()) total += note.rows;
  Shape shape = value.shape();
  WEIR_RETURN_IF_ERROR(shape.SetDim(0, total));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(value.dtype(), shape));
  const size_t row_bytes = total > 0 ? out.num_bytes() / static_cast<size_t>(total) : 0;
  std::vector<size_t> begin{0};
  for (const Note& note : team_->notes()) begin.push_back(begin.back() + note.rows * row_bytes);
  char* const data = static_cast<char*>(out.raw_data());
  if (value.num_bytes() > 0) std::memcpy(data + begin[rank()], value.raw_data(), value.num_bytes());
  WEIR_RETURN_IF_ERROR(team_->Gather(data, begin));
  return out;
}

StatusOr<Tensor> ProcessGroup::Broadcast(const Tensor& value, int root) {
  if (!IsPlain(value.dtype())) return InvalidArgument("Values of type ", Name(value.dtype()), " cannot be broadcast");
  if (root < 0 || root >= size()) return InvalidArgument("There is no rank ", root, " among ", size());
  if (size() == 1) return value;
  Note note = MakeNote(kBroadcastFrom, value);
  note.root = root;
  WEIR_RETURN_IF_ERROR(team_->Agree(note));
  Tensor out = value;
  if (rank() != root) {
    WEIR_ASSIGN_OR_RETURN(out, Tensor::Allocate(value.dtype(), value.shape()));
  }
  // The root's memory is only read.
  WEIR_RETURN_IF_ERROR(team_->Broadcast(static_cast<char*>(const_cast<void*>(out.raw_data())), out.num_bytes(), root));
  return out;
}

StatusOr<Tensor> ProcessGroup::AllToAll(const Tensor& value, std::span<const int64_t> splits,
                                        std::vector<int64_t>* received) {
  if (!IsPlain(value.dtype())) return InvalidArgument("Values of type ", Name(value.dtype()), " cannot be exchanged");
  if (value.rank() < 1) return InvalidArgument("AllToAll needs a tensor of rank 1 or more, not a scalar");
  std::vector<int64_t> rows(splits.begin(), splits.end());
  if (rows.empty()) {
    if (value.dim(0) % size() != 0) {
      return InvalidArgument("AllToAll without splits needs a first dimension that ", size(), " ranks can share, not ",
                             value.dim(0));
    }
    rows.assign(size(), value.dim(0) / size());
  }
  int64_t sum = 0;
  for (int64_t count : rows) {
    if (count < 0) return InvalidArgument("Splits cannot be negative, but one is ", count);
    sum += count;
  }
  if (static_cast<int>(rows.size()) != size() || sum != value.dim(0)) {
    return InvalidArgument("The splits must be ", size(), " numbers with the sum ", value.dim(0), ", but are ",
                           rows.size(), " with the sum ", sum);
  }
  if (size() == 1) {
    if (received != nullptr) *received = rows;
    return value;
  }
  WEIR_RETURN_IF_ERROR(team_->Agree(MakeNote(kExchange, value)));
  // Every rank learns how much each rank sends to each.
  WEIR_ASSIGN_OR_RETURN(Tensor table, AllGather(Tensor::Vector<int64_t>(std::span<const int64_t>(rows))));
  const int64_t* const counts = table.data<int64_t>();
  int64_t total = 0;
  for (int from = 0; from < size(); ++from) total += counts[from * size() + rank()];
  Shape shape = value.shape();
  WEIR_RETURN_IF_ERROR(shape.SetDim(0, total));
  WEIR_ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(value.dtype(), shape));
  const size_t row_bytes =
      static_cast<size_t>(value.shape().Slice(1, value.rank()).num_elements()) * SizeOf(value.dtype());
  std::vector<const char*> out;
  std::vector<char*> in;
  std::vector<size_t> out_bytes, in_bytes;
  const char* next_out = static_cast<const char*>(value.raw_data());
  char* next_in = static_cast<char*>(result.raw_data());
  for (int i = 0; i < size(); ++i) {
    out.push_back(next_out);
    out_bytes.push_back(rows[i] * row_bytes);
    next_out += out_bytes.back();
    in.push_back(next_in);
    in_bytes.push_back(counts[i * size() + rank()] * row_bytes);
    next_in += in_bytes.back();
  }
  size_t most = 0;
  for (int from = 0; from < size(); ++from) {
    for (int to = 0; to < size(); ++to) {
      if (from != to) most = std::max(most, counts[from * size() + to] * row_bytes);
    }
  }
  WEIR_RETURN_IF_ERROR(team_->ExchangeAll(out, out_bytes, in, in_bytes, most));
  if (received != nullptr) {
    received->clear();
    for (int from = 0; from < size(); ++from) received->push_back(counts[from * size() + rank()]);
  }
  return result;
}

StatusOr<Tensor> ProcessGroup::ReduceScatter(const Tensor& value, const ReduceOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckReduce(value, options));
  if (value.rank() < 1) return InvalidArgument("ReduceScatter needs a tensor of rank 1 or more, not a scalar");
  if (options.op == ReduceOp::kAdasum) return InvalidArgument("ReduceScatter cannot use Adasum");
  const int64_t each = value.dim(0) / size();
  const int64_t more = value.dim(0) % size();
  auto row = [&](int r) { return each * r + std::min<int64_t>(r, more); };
  const int64_t row_elements = value.shape().Slice(1, value.rank()).num_elements();
  WEIR_ASSIGN_OR_RETURN(Tensor scaled, value.Clone());
  Scale(&scaled, options.prescale);
  WEIR_ASSIGN_OR_RETURN(Tensor out, scaled.Slice(row(rank()), row(rank() + 1)).Clone());
  if (size() > 1) {
    Note note = MakeNote(kScatter, value);
    note.op = static_cast<int32_t>(options.op);
    WEIR_RETURN_IF_ERROR(team_->Agree(note));
    std::vector<int64_t> begin;
    for (int r = 0; r <= size(); ++r) begin.push_back(row(r) * row_elements);
    WEIR_RETURN_IF_ERROR(team_->ReduceScatter(value.dtype(), ToMerge(options.op),
                                              static_cast<const char*>(scaled.raw_data()), begin,
                                              static_cast<char*>(out.raw_data())));
  }
  if (options.op == ReduceOp::kAverage) DivideChunk(out.dtype(), size(), out.raw_data(), out.num_elements());
  Scale(&out, options.postscale);
  return out;
}

Status ProcessGroup::Barrier() {
  if (size() == 1) return OkStatus();
  return team_->Agree(MakeNote(kBarrier, Tensor()));
}

}  // namespace weir::collective
