#include "weir/collective/direct_team.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/collective/merge_order.h"
#include "weir/collective/network_reduce.h"

namespace weir::collective {
namespace {

// Up to this size, every rank of a host merges everything itself, which takes one meeting instead of two.
constexpr size_t kDirectBytes = 32 << 10;
// Up to this number, all hosts exchange notes directly; more hosts use rounds of doubling distance.
constexpr int kDirectHosts = 8;

}  // namespace

StatusOr<std::unique_ptr<Team>> DirectTeam::Make(const Place& place, absl::Duration timeout, const Alarm& alarm) {
  static_assert(sizeof(Note) <= SharedSegment::kNoteBytes);
  std::unique_ptr<DirectTeam> team(new DirectTeam());
  team->rank_ = place.rank;
  team->size_ = place.size;
  team->timeout_ = timeout;
  team->host_of_.assign(place.size, 0);
  if (place.size > 1 && place.job.empty()) {
    return InvalidArgument(place.launcher,
                           " gives the job no name, so its processes cannot find each other; set WEIR_JOB");
  }
  if (place.local_size != place.size) {
    WEIR_ASSIGN_OR_RETURN(MeetingResult meeting, MeetRanks(place, timeout, alarm));
    for (int r = 0; r < place.size; ++r) team->host_of_[r] = meeting.ranks[r].host;
    team->network_ = std::make_shared<Network>(place.rank, std::move(meeting), Credentials{place.secret, place.tls});
  }
  WEIR_RETURN_IF_ERROR(team->Prepare(place.job, alarm));
  return StatusOr<std::unique_ptr<Team>>(std::move(team));
}

StatusOr<std::unique_ptr<Team>> DirectTeam::MakePart(const std::vector<int>& ranks, const std::string& name) {
  std::unique_ptr<DirectTeam> team(new DirectTeam());
  team->size_ = static_cast<int>(ranks.size());
  team->timeout_ = timeout_;
  team->network_ = network_;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == rank_) team->rank_ = static_cast<int>(i);
    team->net_rank_.push_back(net(ranks[i]));
    team->host_of_.push_back(host_of_[ranks[i]]);
  }
  WEIR_RETURN_IF_ERROR(team->Prepare(Cat(job_, "/", name), {}));
  return StatusOr<std::unique_ptr<Team>>(std::move(team));
}

// Orders the ranks by host and opens the shared memory.
Status DirectTeam::Prepare(const std::string& job, const Alarm& alarm) {
  job_ = job;
  OrderByHost();
  lanes_ = local_size();
  for (const auto& ranks : hosts_) lanes_ = std::min(lanes_, static_cast<int>(ranks.size()));
  if (local_size() > 1) {
    SharedSegment::Options options{.timeout = timeout_, .opening_alarm = alarm};
    for (const int r : hosts_[host()]) options.names.push_back(net(r));
    if (network_ != nullptr) options.alarm = [network = network_.get()] { return network->watch().Check(); };
    // Simulated hosts (network namespaces, containers) may share this memory, so each needs a name of its own.
    const std::string name = hosts_.size() == 1 ? job_ : Cat(job_, "/", net(hosts_[host()][0]));
    WEIR_ASSIGN_OR_RETURN(segment_, SharedSegment::Open(name, local_rank(), local_size(), options));
  }
  return OkStatus();
}

Status DirectTeam::Fail(Status status) {
  if (!failed_.ok()) return failed_;
  // Tells the reason to the ranks on all hosts.
  return failed_ = network_ != nullptr ? network_->watch().Report(status) : status;
}

Status DirectTeam::Meet() {
  if (!failed_.ok()) return failed_;
  if (segment_ == nullptr) return OkStatus();
  Status status = segment_->Meet();
  if (status.ok()) return status;
  // A rank on another host may know better who is late.
  if (absl::IsDeadlineExceeded(status) && network_ != nullptr && network_->watch().Check().ok()) {
    return failed_ = network_->watch().ReportLate(timeout_, std::string(Message(status)));
  }
  return Fail(status);
}

Status DirectTeam::Check() {
  if (!failed_.ok()) return failed_;
  Status status = segment_ != nullptr ? segment_->Check() : OkStatus();
  if (status.ok() && network_ != nullptr) status = network_->watch().Check();
  return status.ok() ? status : Fail(status);
}

void DirectTeam::GiveUp(const Status& status) {
  if (!failed_.ok()) return;
  if (segment_ != nullptr) segment_->GiveUp(status).IgnoreError();
  Fail(status).IgnoreError();
}

bool DirectTeam::IsAwaited() const {
  return (segment_ != nullptr && segment_->IsAwaited()) || (network_ != nullptr && network_->HasData());
}

// Every host sends the notes of its ranks and their merged values to all other hosts; the values are then merged in the
// order of hosts. A host whose ranks disagree sends no values.
Status DirectTeam::TalkToOtherHosts(const std::vector<Note>& own, DType dtype, MergeOp op, std::vector<char>* values,
                                    int64_t count) {
  const int n = num_hosts();
  const bool direct = n <= kDirectHosts;
  const uint64_t value_bytes = direct ? values->size() : 0;
  std::vector<std::vector<char>> messages(n), payloads(n);
  auto note_bytes = [&](int h) { return hosts_[h].size() * sizeof(Note); };
  std::vector<char>& mine = messages[host()];
  mine.resize(sizeof(value_bytes) + note_bytes(host()) + value_bytes);
  std::memcpy(mine.data(), &value_bytes, sizeof(value_bytes));
  std::memcpy(mine.data() + sizeof(value_bytes), own.data(), note_bytes(host()));
  if (value_bytes > 0) std::memcpy(mine.data() + mine.size() - value_bytes, values->data(), value_bytes);
  for (int h = 0; h < n; ++h) {
    if (h != host()) messages[h].resize(sizeof(value_bytes) + note_bytes(h));
  }
  if (direct) {
    Exchange exchange(network_.get(), timeout_);
    for (int i = 1; i < n; ++i) {
      const int h = (host() + i) % n, peer = net(hosts_[h][0]);
      exchange.Send(peer, mine.data(), mine.size());
      exchange.Receive(peer, messages[h].data(), messages[h].size(), [&, h, peer] {
        uint64_t bytes = 0;
        std::memcpy(&bytes, messages[h].data(), sizeof(bytes));
        payloads[h].resize(std::min<uint64_t>(bytes, kDirectBytes));
        if (!payloads[h].empty()) exchange.Receive(peer, payloads[h].data(), payloads[h].size());
      });
    }
    WEIR_RETURN_IF_ERROR(exchange.Run());
  } else {
    // Before round k, a host has the messages of 2^k hosts, and in it receives those of the next 2^k.
    for (int distance = 1; distance < n; distance *= 2) {
      Exchange exchange(network_.get(), timeout_);
      const int to = net(hosts_[(host() + n - distance) % n][0]), from = net(hosts_[(host() + distance) % n][0]);
      for (int i = 0; i < std::min(distance, n - distance); ++i) {
        const std::vector<char>& out = messages[(host() + i) % n];
        std::vector<char>& in = messages[(host() + distance + i) % n];
        exchange.Send(to, out.data(), out.size());
        exchange.Receive(from, in.data(), in.size());
      }
      WEIR_RETURN_IF_ERROR(exchange.Run());
    }
  }
  for (int h = 0; h < n; ++h) {
    for (size_t i = 0; i < hosts_[h].size(); ++i) {
      std::memcpy(&notes_[hosts_[h][i]], messages[h].data() + sizeof(value_bytes) + i * sizeof(Note), sizeof(Note));
    }
  }
  if (count == 0 || !CompareNotes(notes_).ok()) return OkStatus();
  if (!direct) {
    std::vector<int> leaders;
    for (const auto& ranks : hosts_) leaders.push_back(net(ranks[0]));
    return ReduceOverNetwork(network_.get(), leaders, host(), dtype, op, values->data(), count, timeout_);
  }
  payloads[host()] = *values;
  std::vector<const void*> parts;
  for (const auto& payload : payloads) parts.push_back(payload.data());
  MergeInOrder(dtype, op, parts, values->data(), count);
  return OkStatus();
}

// Fills notes_. If there are values (of all ranks of the host, in the segment), also merges them into *values, provided
// that all ranks agree.
Status DirectTeam::ExchangeNotes(const Note& note, DType dtype, MergeOp op, std::vector<char>* values, int64_t count) {
  if (segment_ != nullptr) std::memcpy(segment_->note(local_rank(), true), &note, sizeof(note));
  WEIR_RETURN_IF_ERROR(Meet());
  if (network_ == nullptr || num_hosts() == 1) {
    notes_[rank_] = note;
    for (int r = 0; r < size_ && segment_ != nullptr; ++r) {
      std::memcpy(&notes_[r], segment_->note(r, false), sizeof(Note));
    }
    return OkStatus();
  }
  const size_t bytes = count * SizeOf(dtype), note_bytes = size_ * sizeof(Note);
  if (local_rank() == 0) {
    std::vector<Note> own(local_size(), note);
    bool agree = true;
    for (int l = 0; l < local_size() && segment_ != nullptr; ++l) {
      std::memcpy(&own[l], segment_->note(l, false), sizeof(Note));
      agree = agree && own[0].AgreesWith(own[l]);
    }
    if (segment_ != nullptr && agree && count > 0) {
      std::vector<const void*> parts;
      for (int l = 0; l < local_size(); ++l) parts.push_back(segment_->input(l, false));
      MergeInOrder(dtype, op, parts, values->data(), count);
    }
    std::vector<char> nothing;
    Status status = TalkToOtherHosts(own, dtype, op, agree ? values : &nothing, agree ? count : 0);
    if (!status.ok()) return Fail(status);
    if (segment_ != nullptr) {
      std::memcpy(segment_->result(0), notes_.data(), note_bytes);
      if (count > 0) std::memcpy(segment_->result(0) + note_bytes, values->data(), bytes);
    }
  }
  WEIR_RETURN_IF_ERROR(Meet());
  if (local_rank() != 0) {
    std::memcpy(notes_.data(), segment_->result(0), note_bytes);
    if (count > 0) std::memcpy(values->data(), segment_->result(0) + note_bytes, bytes);
  }
  return OkStatus();
}

Status DirectTeam::Agree(const Note& note) {
  if (!failed_.ok()) return failed_;
  std::vector<char> nothing;
  WEIR_RETURN_IF_ERROR(ExchangeNotes(note, DType::kFloat, MergeOp::kAdd, &nothing, 0));
  return CompareNotes(notes_);
}

// Small values travel together with the notes, in a single exchange. Larger ones are merged in three steps: in each
// host into one part per lane, then over the network lane by lane; then each host distributes the parts to its ranks.
Status DirectTeam::Reduce(const Note& note, DType dtype, MergeOp op, void* values, int64_t count) {
  if (!failed_.ok()) return failed_;
  char* const data = static_cast<char*>(values);
  const size_t bytes = count * SizeOf(dtype);
  if (size_ == 1) return OkStatus();
  if (num_hosts() == 1) return ReduceOnHost(note, dtype, op, data, count);
  if (bytes <= kDirectBytes) {
    std::vector<char> merged(data, data + bytes);
    if (segment_ != nullptr) std::memcpy(segment_->input(local_rank(), true), data, bytes);
    WEIR_RETURN_IF_ERROR(ExchangeNotes(note, dtype, op, &merged, count));
    WEIR_RETURN_IF_ERROR(CompareNotes(notes_));
    if (bytes > 0) std::memcpy(data, merged.data(), bytes);
    return OkStatus();
  }
  WEIR_RETURN_IF_ERROR(Agree(note));
  std::vector<int64_t> begin;
  for (int l = 0; l <= lanes_; ++l) begin.push_back(count * l / lanes_);
  WEIR_RETURN_IF_ERROR(MergeLanes(dtype, op, data, begin));
  const size_t element = SizeOf(dtype);
  if (local_rank() < lanes_) {
    std::vector<int> members;
    for (const auto& ranks : hosts_) members.push_back(net(ranks[local_rank()]));
    Status status = ReduceOverNetwork(network_.get(), members, host(), dtype, op, data + begin[local_rank()] * element,
                                      begin[local_rank() + 1] - begin[local_rank()], timeout_);
    if (!status.ok()) return Fail(status);
  }
  std::vector<std::vector<Range>> held(local_size());
  for (int l = 0; l < lanes_; ++l) held[l].push_back({begin[l] * element, begin[l + 1] * element});
  return SpreadLocally(data, held);
}

Status DirectTeam::ReduceOnHost(const Note& note, DType dtype, MergeOp op, char* data, int64_t total) {
  const int64_t element = static_cast<int64_t>(SizeOf(dtype));
  const size_t bytes = total * element;
  std::vector<const void*>& parts = parts_;
  parts.resize(size_);
  if (bytes <= kDirectBytes) {
    const bool is_tiny = bytes <= SharedSegment::kScalarBytes;
    if (bytes > 0) {
      std::memcpy(is_tiny ? segment_->scalar(rank_, true) : segment_->input(rank_, true), data, bytes);
    }
    WEIR_RETURN_IF_ERROR(Agree(note));
    for (int i = 0; i < size_; ++i) parts[i] = is_tiny ? segment_->scalar(i, false) : segment_->input(i, false);
    MergeInOrder(dtype, op, parts, data, total);
    return OkStatus();
  }
  const int64_t block = static_cast<int64_t>(SharedSegment::kBufferBytes) / element;
  for (int64_t begin = 0; begin < total; begin += block) {
    // Rank i merges chunk i of the block.
    const int64_t count = std::min(block, total - begin);
    const int64_t chunk = (count + size_ - 1) / size_;
    auto from = [&](int i) { return std::min(count, chunk * i); };
    char* const at = data + begin * element;
    char* const own_input = segment_->input(rank_, true);
    for (int i = 0; i < size_; ++i) {
      if (i == rank_) continue;
      std::memcpy(own_input + from(i) * element, at + from(i) * element, (from(i + 1) - from(i)) * element);
    }
    WEIR_RETURN_IF_ERROR(begin == 0 ? Agree(note) : Meet());
    const int64_t mine = from(rank_);
    for (int i = 0; i < size_; ++i) {
      parts[i] = i == rank_ ? at + mine * element : segment_->input(i, false) + mine * element;
    }
    const int64_t length = from(rank_ + 1) - mine;
    char* const result = segment_->result(rank_);
    MergeInOrder(dtype, op, parts, result, length);
    std::memcpy(at + mine * element, result, length * element);
    WEIR_RETURN_IF_ERROR(Meet());
    for (int i = 0; i < size_; ++i) {
      if (i != rank_) std::memcpy(at + from(i) * element, segment_->result(i), (from(i + 1) - from(i)) * element);
    }
  }
  return OkStatus();
}

// Inside the host, lane l gets the sum of its part, from begin[l] to begin[l + 1], in place.
Status DirectTeam::MergeLanes(DType dtype, MergeOp op, char* data, const std::vector<int64_t>& begin) {
  if (segment_ == nullptr) return OkStatus();
  const int64_t element = static_cast<int64_t>(SizeOf(dtype));
  const int64_t slot = static_cast<int64_t>(SharedSegment::kBufferBytes) / lanes_ / 64 * 64 / element;
  int64_t most = 0;
  for (int l = 0; l < lanes_; ++l) most = std::max(most, begin[l + 1] - begin[l]);
  std::vector<const void*> parts(local_size());
  for (int64_t at = 0; at < most; at += slot) {
    auto count = [&](int l) { return std::clamp<int64_t>(begin[l + 1] - begin[l] - at, 0, slot); };
    for (int l = 0; l < lanes_; ++l) {
      if (l == local_rank() || count(l) == 0) continue;
      std::memcpy(segment_->input(local_rank(), true) + l * slot * element, data + (begin[l] + at) * element,
                  count(l) * element);
    }
    WEIR_RETURN_IF_ERROR(Meet());
    if (local_rank() >= lanes_ || count(local_rank()) == 0) continue;
    char* const own = data + (begin[local_rank()] + at) * element;
    for (int l = 0; l < local_size(); ++l) {
      parts[l] = l == local_rank() ? own : segment_->input(l, false) + local_rank() * slot * element;
    }
    scratch_.resize(slot * element);
    MergeInOrder(dtype, op, parts, scratch_.data(), count(local_rank()));
    std::memcpy(own, scratch_.data(), count(local_rank()) * element);
  }
  return OkStatus();
}

Status DirectTeam::SpreadLocally(char* data, const std::vector<std::vector<Range>>& held) {
  if (segment_ == nullptr) return OkStatus();
  size_t most = 0;
  for (const auto& ranges : held) {
    size_t sum = 0;
    for (const Range& range : ranges) sum += range.end - range.begin;
    most = std::max(most, sum);
  }
  // Calls `copy` for the sections of the ranges that go into a buffer, after `at` bytes of the ranges went into earlier
  // ones.
  auto for_buffer = [](const std::vector<Range>& ranges, size_t at, const auto& copy) {
    size_t before = 0;
    for (const Range& range : ranges) {
      const size_t length = range.end - range.begin;
      const size_t from = std::max(before, at), to = std::min(before + length, at + SharedSegment::kBufferBytes);
      if (from < to) copy(range.begin + (from - before), from - at, to - from);
      before += length;
    }
  };
  for (size_t at = 0; at < most; at += SharedSegment::kBufferBytes) {
    char* const own = segment_->input(local_rank(), true);
    for_buffer(held[local_rank()], at, [&](size_t offset, size_t in_buffer, size_t bytes) {
      std::memcpy(own + in_buffer, data + offset, bytes);
    });
    WEIR_RETURN_IF_ERROR(Meet());
    for (int l = 0; l < local_size(); ++l) {
      if (l == local_rank()) continue;
      const char* const theirs = segment_->input(l, false);
      for_buffer(held[l], at, [&](size_t offset, size_t in_buffer, size_t bytes) {
        std::memcpy(data + offset, theirs + in_buffer, bytes);
      });
    }
  }
  return OkStatus();
}

Status DirectTeam::ReduceScatter(DType dtype, MergeOp op, const char* data, const std::vector<int64_t>& begin,
                                 char* out) {
  const int64_t element = static_cast<int64_t>(SizeOf(dtype));
  const int64_t mine = begin[rank_ + 1] - begin[rank_];
  std::vector<char> copy(data, data + begin[size_] * element);
  if (num_hosts() == 1) {
    if (segment_ != nullptr) WEIR_RETURN_IF_ERROR(MergeLanes(dtype, op, copy.data(), begin));
  } else {
    Note note;  // the ranks have agreed already
    note.elements = begin[size_];
    WEIR_RETURN_IF_ERROR(Reduce(note, dtype, op, copy.data(), begin[size_]));
  }
  if (mine > 0) std::memcpy(out, copy.data() + begin[rank_] * element, mine * element);
  return OkStatus();
}

// Each value crosses the network once per other host, and is distributed there.
Status DirectTeam::Gather(char* data, const std::vector<size_t>& begin) {
  std::vector<std::vector<Range>> held(local_size());
  for (int r = 0; r < size_; ++r) {
    if (begin[r + 1] > begin[r]) held[local_of_[entry(host(), r)]].push_back({begin[r], begin[r + 1]});
  }
  if (num_hosts() > 1) {
    Exchange exchange(network_.get(), timeout_);
    for (int i = 1; i < num_hosts(); ++i) {
      const int peer = entry((host() + i) % num_hosts(), rank_);
      exchange.SendLarge(net(peer), data + begin[rank_], begin[rank_ + 1] - begin[rank_]);
    }
    for (int r = 0; r < size_; ++r) {
      if (host_of_[r] == host() || entry(host(), r) != rank_) continue;
      exchange.ReceiveLarge(net(r), data + begin[r], begin[r + 1] - begin[r]);
    }
    Status status = exchange.Run();
    if (!status.ok()) return Fail(status);
  }
  return SpreadLocally(data, held);
}

// Between hosts, the data follows a binomial tree, in pieces that are passed on as they arrive.
Status DirectTeam::Broadcast(char* data, size_t bytes, int root) {
  const int n = num_hosts();
  if (n > 1 && rank_ == entry(host(), root)) {
    Exchange exchange(network_.get(), timeout_);
    const int place = (host() - host_of_[root] + n) % n;
    auto rank_at = [&](int p) { return net(entry((p + host_of_[root]) % n, root)); };
    const int reach = place == 0 ? n : place & -place;
    for (size_t at = 0; at < bytes; at += Exchange::kPieceBytes) {
      const size_t length = std::min(Exchange::kPieceBytes, bytes - at);
      const int piece =
          place == 0 ? Exchange::kNow : exchange.Receive(rank_at(place - (place & -place)), data + at, length);
      int first = 1;
      while (first * 2 < reach) first *= 2;
      for (int step = first; step > 0; step /= 2) {
        if (step < reach && place + step < n) exchange.Send(rank_at(place + step), data + at, length, piece);
      }
    }
    Status status = exchange.Run();
    if (!status.ok()) return Fail(status);
  }
  std::vector<std::vector<Range>> held(local_size());
  if (bytes > 0) held[local_of_[entry(host(), root)]].push_back({0, bytes});
  return SpreadLocally(data, held);
}

Status DirectTeam::ExchangeAll(const std::vector<const char*>& out, const std::vector<size_t>& out_bytes,
                               const std::vector<char*>& in, const std::vector<size_t>& in_bytes, size_t most_local) {
  if (num_hosts() > 1) {
    Exchange exchange(network_.get(), timeout_);
    for (int i = 0; i < size_; ++i) {
      const int to = (rank_ + i) % size_;
      if (host_of_[to] == host()) continue;
      exchange.SendLarge(net(to), out[to], out_bytes[to]);
      exchange.ReceiveLarge(net(to), in[to], in_bytes[to]);
    }
    Status status = exchange.Run();
    if (!status.ok()) return Fail(status);
  }
  if (out_bytes[rank_] > 0) std::memmove(in[rank_], out[rank_], out_bytes[rank_]);
  if (segment_ == nullptr) return OkStatus();
  const std::vector<int>& ranks = hosts_[host()];
  const size_t slot = SharedSegment::kBufferBytes / ranks.size() / 64 * 64;
  for (size_t begin = 0; begin < most_local; begin += slot) {
    char* const own = segment_->input(local_rank(), true);
    for (int l = 0; l < local_size(); ++l) {
      const int to = ranks[l];
      if (to == rank_ || out_bytes[to] <= begin) continue;
      std::memcpy(own + l * slot, out[to] + begin, std::min(slot, out_bytes[to] - begin));
    }
    WEIR_RETURN_IF_ERROR(Meet());
    for (int l = 0; l < local_size(); ++l) {
      const int from = ranks[l];
      if (from == rank_ || in_bytes[from] <= begin) continue;
      std::memcpy(in[from] + begin, segment_->input(l, false) + local_rank() * slot,
                  std::min(slot, in_bytes[from] - begin));
    }
  }
  return OkStatus();
}

}  // namespace weir::collective
