#include "weir/collective/process_group.h"

#include <algorithm>
#include <cstring>

#include "weir/base/strings.h"
#include "weir/collective/merge.h"

namespace weir::collective {
namespace {

// Up to this size every rank merges everything itself, which takes one meeting instead of two.
constexpr size_t kDirectBytes = 32 << 10;

enum Kind { kAllReduce, kGather, kBroadcastFrom, kExchange, kScatter, kBarrier };
constexpr std::string_view kKindNames[] = {"AllReduce", "AllGather",     "Broadcast",
                                           "AllToAll",  "ReduceScatter", "Barrier"};

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

// Merges the ranks' values in their order. `parts[own]` may be the output's memory, if own is 0 or `scratch` is there.
void MergeInOrder(DType dtype, MergeOp op, const std::vector<const void*>& parts, void* out, int64_t count) {
  if (parts.size() == 1) {
    std::memmove(out, parts[0], count * SizeOf(dtype));
    return;
  }
  MergeChunks(dtype, op, parts[0], parts[1], out, count);
  for (size_t i = 2; i < parts.size(); ++i) MergeChunks(dtype, op, out, parts[i], out, count);
}

}  // namespace

// What a rank is about to do.
struct ProcessGroup::Note {
  int32_t kind = 0;
  int32_t dtype = 0;
  int32_t op = 0;
  int32_t root = 0;
  int32_t rank = 0;  // of the shape
  int32_t unused = 0;
  int64_t elements = 0;
  int64_t rows = 0;
  uint64_t shape = 0;  // a hash of the dimensions that must agree
  std::string ToString() const {
    return Cat("a ", kKindNames[std::clamp<int>(kind, 0, kBarrier)], " of ", Name(static_cast<DType>(dtype)), " with ",
               elements, " elements in ", rank, " dimensions", kind == kBroadcastFrom ? Cat(" from rank ", root) : "",
               kind == kAllReduce || kind == kScatter ? Cat(", reduction ", op) : "");
  }
};

StatusOr<std::unique_ptr<ProcessGroup>> ProcessGroup::Init(const GroupOptions& options) {
  WEIR_ASSIGN_OR_RETURN(Place place, FindPlace());
  return Init(place, options);
}

StatusOr<std::unique_ptr<ProcessGroup>> ProcessGroup::Init(const Place& place, const GroupOptions& options) {
  static_assert(sizeof(Note) <= SharedSegment::kNoteBytes);
  std::unique_ptr<SharedSegment> segment;
  if (place.local_size != place.size) {
    return Unimplemented("The ", place.size, " ranks of this job are on several hosts (", place.local_size,
                         " on this one, says ", place.launcher,
                         "); a ProcessGroup is for the ranks of one host. Use collective operations in the graphs of a "
                         "cluster of servers instead");
  }
  if (place.size > 1) {
    if (place.job.empty()) {
      return InvalidArgument(place.launcher,
                             " gives the job no name, so its processes cannot find each other; set WEIR_JOB");
    }
    WEIR_ASSIGN_OR_RETURN(segment, SharedSegment::Open(place.job, place.rank, place.size, options.timeout));
  }
  return std::unique_ptr<ProcessGroup>(new ProcessGroup(place, options, std::move(segment)));
}

ProcessGroup::Note ProcessGroup::MakeNote(int kind, const Tensor& value) const {
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

ProcessGroup::Note& ProcessGroup::NoteOf(int rank) const {
  return *reinterpret_cast<Note*>(segment_->note(rank, false));
}

Status ProcessGroup::MeetWithNote(const Note& note) {
  std::memcpy(segment_->note(rank(), true), &note, sizeof(note));
  WEIR_RETURN_IF_ERROR(Meet());
  const Note& first = NoteOf(0);
  const bool rows_differ = first.kind == kGather || first.kind == kExchange;
  for (int other = 1; other < size(); ++other) {
    const Note& theirs = NoteOf(other);
    if (theirs.kind == first.kind && theirs.dtype == first.dtype && theirs.op == first.op &&
        theirs.root == first.root && theirs.rank == first.rank && theirs.shape == first.shape &&
        (rows_differ || theirs.elements == first.elements)) {
      continue;
    }
    const std::string here = first.ToString(), there = theirs.ToString();
    // A slow rank may still compare: nobody goes on before all have.
    WEIR_RETURN_IF_ERROR(Meet());
    return InvalidArgument("The ranks disagree: rank 0 calls ", here, " but rank ", other, " ", there,
                           here == there ? " of another shape" : "");
  }
  return OkStatus();
}

Status ProcessGroup::Reduce(Tensor* value, const ReduceOptions& options) {
  const DType dtype = value->dtype();
  const MergeOp op = ToMerge(options.op);
  Scale(value, options.prescale);
  if (segment_ != nullptr) {
    Note note = MakeNote(kAllReduce, *value);
    note.op = static_cast<int32_t>(options.op);
    char* const data = static_cast<char*>(value->raw_data());
    const size_t bytes = value->num_bytes();
    std::vector<const void*> parts(size());
    if (bytes <= kDirectBytes) {
      std::memcpy(segment_->input(rank(), true), data, bytes);
      WEIR_RETURN_IF_ERROR(MeetWithNote(note));
      for (int i = 0; i < size(); ++i) parts[i] = segment_->input(i, false);
      MergeInOrder(dtype, op, parts, data, value->num_elements());
    } else {
      const int64_t element = static_cast<int64_t>(SizeOf(dtype));
      const int64_t total = value->num_elements();
      const int64_t block = static_cast<int64_t>(SharedSegment::kBufferBytes) / element;
      for (int64_t begin = 0; begin < total; begin += block) {
        // Rank i merges chunk i of the block.
        const int64_t count = std::min(block, total - begin);
        const int64_t chunk = (count + size() - 1) / size();
        auto from = [&](int i) { return std::min(count, chunk * i); };
        char* const at = data + begin * element;
        char* const own_input = segment_->input(rank(), true);
        for (int i = 0; i < size(); ++i) {
          if (i == rank()) continue;
          std::memcpy(own_input + from(i) * element, at + from(i) * element, (from(i + 1) - from(i)) * element);
        }
        WEIR_RETURN_IF_ERROR(begin == 0 ? MeetWithNote(note) : Meet());
        const int64_t mine = from(rank());
        for (int i = 0; i < size(); ++i) {
          parts[i] = i == rank() ? at + mine * element : segment_->input(i, false) + mine * element;
        }
        const int64_t length = from(rank() + 1) - mine;
        char* const result = segment_->result(rank());
        MergeInOrder(dtype, op, parts, result, length);
        std::memcpy(at + mine * element, result, length * element);
        WEIR_RETURN_IF_ERROR(Meet());
        for (int i = 0; i < size(); ++i) {
          if (i != rank()) std::memcpy(at + from(i) * element, segment_->result(i), (from(i + 1) - from(i)) * element);
        }
      }
    }
  }
  if (options.op == ReduceOp::kAverage) DivideChunk(dtype, size(), value->raw_data(), value->num_elements());
  Scale(value, options.postscale);
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
  std::vector<bool> done(values.size(), false);
  // Tensors of one type travel in one buffer.
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

Status ProcessGroup::Exchange(const std::vector<const char*>& out, const std::vector<size_t>& out_bytes,
                              const std::vector<char*>& in, const std::vector<size_t>& in_bytes, size_t most_bytes) {
  const size_t slot = SharedSegment::kBufferBytes / size() / 64 * 64;
  for (size_t begin = 0; begin < most_bytes; begin += slot) {
    char* const own = segment_->input(rank(), true);
    for (int to = 0; to < size(); ++to) {
      if (to == rank() || out_bytes[to] <= begin) continue;
      std::memcpy(own + to * slot, out[to] + begin, std::min(slot, out_bytes[to] - begin));
    }
    WEIR_RETURN_IF_ERROR(Meet());
    for (int from = 0; from < size(); ++from) {
      if (from == rank() || in_bytes[from] <= begin) continue;
      std::memcpy(in[from] + begin, segment_->input(from, false) + rank() * slot,
                  std::min(slot, in_bytes[from] - begin));
    }
  }
  if (out_bytes[rank()] > 0) std::memmove(in[rank()], out[rank()], out_bytes[rank()]);
  return OkStatus();
}

StatusOr<Tensor> ProcessGroup::AllGather(const Tensor& value) {
  if (!IsPlain(value.dtype())) return InvalidArgument("Values of type ", Name(value.dtype()), " cannot be gathered");
  if (value.rank() < 1) return InvalidArgument("AllGather needs a tensor of rank 1 or more, not a scalar");
  if (segment_ == nullptr) return value;
  WEIR_RETURN_IF_ERROR(MeetWithNote(MakeNote(kGather, value)));
  std::vector<int64_t> rows(size());
  int64_t total = 0;
  for (int i = 0; i < size(); ++i) total += rows[i] = NoteOf(i).rows;
  Shape shape = value.shape();
  WEIR_RETURN_IF_ERROR(shape.SetDim(0, total));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(value.dtype(), shape));
  const size_t row_bytes = shape.dim(0) > 0 ? out.num_bytes() / static_cast<size_t>(total) : 0;
  // One value for all: it is published once, not once for each receiver.
  size_t most = 0;
  std::vector<size_t> begin(size() + 1, 0);
  for (int i = 0; i < size(); ++i) {
    begin[i + 1] = begin[i] + rows[i] * row_bytes;
    most = std::max(most, rows[i] * row_bytes);
  }
  char* const data = static_cast<char*>(out.raw_data());
  const char* const own = static_cast<const char*>(value.raw_data());
  if (value.num_bytes() > 0) std::memcpy(data + begin[rank()], own, value.num_bytes());
  for (size_t at = 0; at < most; at += SharedSegment::kBufferBytes) {
    if (value.num_bytes() > at) {
      std::memcpy(segment_->input(rank(), true), own + at,
                  std::min(SharedSegment::kBufferBytes, value.num_bytes() - at));
    }
    WEIR_RETURN_IF_ERROR(Meet());
    for (int i = 0; i < size(); ++i) {
      const size_t bytes = begin[i + 1] - begin[i];
      if (i == rank() || bytes <= at) continue;
      std::memcpy(data + begin[i] + at, segment_->input(i, false), std::min(SharedSegment::kBufferBytes, bytes - at));
    }
  }
  return out;
}

StatusOr<Tensor> ProcessGroup::Broadcast(const Tensor& value, int root) {
  if (!IsPlain(value.dtype())) return InvalidArgument("Values of type ", Name(value.dtype()), " cannot be broadcast");
  if (root < 0 || root >= size()) return InvalidArgument("There is no rank ", root, " among ", size());
  if (segment_ == nullptr) return value;
  Note note = MakeNote(kBroadcastFrom, value);
  note.root = root;
  WEIR_RETURN_IF_ERROR(MeetWithNote(note));
  Tensor out = value;
  if (rank() != root) {
    WEIR_ASSIGN_OR_RETURN(out, Tensor::Allocate(value.dtype(), value.shape()));
  }
  for (size_t at = 0; at < value.num_bytes(); at += SharedSegment::kBufferBytes) {
    const size_t bytes = std::min(SharedSegment::kBufferBytes, value.num_bytes() - at);
    if (rank() == root) {
      std::memcpy(segment_->input(root, true), static_cast<const char*>(value.raw_data()) + at, bytes);
    }
    WEIR_RETURN_IF_ERROR(Meet());
    if (rank() != root) std::memcpy(static_cast<char*>(out.raw_data()) + at, segment_->input(root, false), bytes);
  }
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
    if (count < 0) return InvalidArgument("A split cannot be ", count);
    sum += count;
  }
  if (static_cast<int>(rows.size()) != size() || sum != value.dim(0)) {
    return InvalidArgument("The splits must be ", size(), " numbers with the sum ", value.dim(0), ", but are ",
                           rows.size(), " with the sum ", sum);
  }
  if (segment_ == nullptr) {
    if (received != nullptr) *received = rows;
    return value;
  }
  WEIR_RETURN_IF_ERROR(MeetWithNote(MakeNote(kExchange, value)));
  // Everybody learns who sends how much to whom.
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
  WEIR_RETURN_IF_ERROR(Exchange(out, out_bytes, in, in_bytes, most));
  if (received != nullptr) {
    received->clear();
    for (int from = 0; from < size(); ++from) received->push_back(counts[from * size() + rank()]);
  }
  return result;
}

StatusOr<Tensor> ProcessGroup::ReduceScatter(const Tensor& value, const ReduceOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckReduce(value, options));
  if (value.rank() < 1) return InvalidArgument("ReduceScatter needs a tensor of rank 1 or more, not a scalar");
  const int64_t each = value.dim(0) / size();
  const int64_t more = value.dim(0) % size();
  auto row = [&](int r) { return each * r + std::min<int64_t>(r, more); };
  const int64_t row_elements = value.shape().Slice(1, value.rank()).num_elements();
  WEIR_ASSIGN_OR_RETURN(Tensor scaled, value.Clone());
  Scale(&scaled, options.prescale);
  WEIR_ASSIGN_OR_RETURN(Tensor out, scaled.Slice(row(rank()), row(rank() + 1)).Clone());
  if (segment_ != nullptr) {
    Note note = MakeNote(kScatter, value);
    note.op = static_cast<int32_t>(options.op);
    WEIR_RETURN_IF_ERROR(MeetWithNote(note));
    const int64_t element = static_cast<int64_t>(SizeOf(value.dtype()));
    const int64_t slot = static_cast<int64_t>(SharedSegment::kBufferBytes) / size() / 64 * 64 / element;
    const int64_t most = (each + (more > 0 ? 1 : 0)) * row_elements;
    const char* const data = static_cast<const char*>(scaled.raw_data());
    std::vector<const void*> parts(size());
    for (int64_t begin = 0; begin < most; begin += slot) {
      auto count = [&](int r) { return std::clamp<int64_t>((row(r + 1) - row(r)) * row_elements - begin, 0, slot); };
      for (int to = 0; to < size(); ++to) {
        if (to == rank() || count(to) == 0) continue;
        std::memcpy(segment_->input(rank(), true) + to * slot * element,
                    data + (row(to) * row_elements + begin) * element, count(to) * element);
      }
      WEIR_RETURN_IF_ERROR(Meet());
      if (count(rank()) == 0) continue;
      for (int from = 0; from < size(); ++from) {
        parts[from] = from == rank() ? data + (row(from) * row_elements + begin) * element
                                     : segment_->input(from, false) + rank() * slot * element;
      }
      MergeInOrder(value.dtype(), ToMerge(options.op), parts, static_cast<char*>(out.raw_data()) + begin * element,
                   count(rank()));
    }
  }
  if (options.op == ReduceOp::kAverage) DivideChunk(out.dtype(), size(), out.raw_data(), out.num_elements());
  Scale(&out, options.postscale);
  return out;
}

Status ProcessGroup::Barrier() {
  if (segment_ == nullptr) return OkStatus();
  return MeetWithNote(MakeNote(kBarrier, Tensor()));
}

}  // namespace weir::collective
