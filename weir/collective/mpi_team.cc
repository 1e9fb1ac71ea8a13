#include "weir/collective/mpi_team.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <thread>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"

namespace weir::collective {
namespace {

constexpr int kNotesTag = 1, kPartTag = 2, kFailureTag = 3, kDataTag = 4, kGroupTag = 5;
constexpr int kAnySource = -1;
constexpr size_t kNameBytes = 256;
// MPI counts in int.
constexpr int64_t kMostElements = 1 << 28;
constexpr size_t kMostBytes = size_t{1} << 30;
// A rank that waits for longer than this no longer keeps its processor busy.
constexpr absl::Duration kImpatience = absl::Milliseconds(1), kNap = absl::Microseconds(50);
// How long ranks have for answering when the roll is called, and how often waiting ranks listen.
constexpr absl::Duration kRollCall = absl::Seconds(1);
constexpr int kListenEvery = 256;
// The first letter of messages about failures.
constexpr char kWhoIsHere = '?', kHere = '!', kGone = 'x', kGaveUp = 'e';

}  // namespace

StatusOr<std::unique_ptr<Team>> MpiTeam::Make(const Place& place, absl::Duration timeout) {
  if (place.launcher == "weir launch" || place.launcher == "torchrun" || place.launcher == "Horovod") {
    return FailedPrecondition(place.launcher, " does not start MPI programs: with WEIR_TRANSPORT=mpi, use mpirun");
  }
  WEIR_ASSIGN_OR_RETURN(Mpi * mpi, Mpi::Start());
  std::unique_ptr<MpiTeam> team(new MpiTeam(mpi, timeout));
  WEIR_RETURN_IF_ERROR(mpi->Run([&] { return team->Prepare(place); }));
  return StatusOr<std::unique_ptr<Team>>(std::move(team));
}

Status MpiTeam::Prepare(const Place& place) {
  WEIR_RETURN_IF_ERROR(mpi_.Check(mpi_.Comm_rank(mpi_.world, &rank_), "MPI_Comm_rank"));
  WEIR_RETURN_IF_ERROR(mpi_.Check(mpi_.Comm_size(mpi_.world, &size_), "MPI_Comm_size"));
  if (rank_ != place.rank || size_ != place.size) {
    return FailedPrecondition("MPI says rank ", rank_, " of ", size_, ", but ", place.launcher, " says rank ",
                              place.rank, " of ", place.size, ": start the program by Open MPI's mpirun",
                              place.launcher == "Slurm" ? " or by srun --mpi=pmix" : "");
  }
  for (MpiHandle* comm : {&data_, &control_}) {
    // MPI gives a handle at once, but nothing may use it, as Listen does, before the request is done.
    MpiHandle made = nullptr, request = nullptr;
    WEIR_RETURN_IF_ERROR(mpi_.Check(mpi_.Comm_idup(mpi_.world, &made, &request), "MPI_Comm_idup"));
    WEIR_RETURN_IF_ERROR(Wait(request));
    *comm = made;
  }
  std::vector<char> names(kNameBytes * static_cast<size_t>(size_), 0);
  std::memcpy(names.data(), place.host.data(), std::min(place.host.size(), kNameBytes - 1));
  WEIR_RETURN_IF_ERROR(Spread(&names, kNameBytes, AllRanks(), rank_, kPartTag));
  std::map<std::string, int> hosts;
  host_of_.resize(size_);
  for (int i = 0; i < size_; ++i) {
    const std::string name = names.data() + static_cast<size_t>(i) * kNameBytes;
    host_of_[(rank_ + i) % size_] = hosts.emplace(name, static_cast<int>(hosts.size())).first->second;
  }
  OrderByHost();
  return OkStatus();
}

MpiTeam::~MpiTeam() {
  // Ranks that have been lost would be waited for.
  if (!failed_.ok()) return;
  mpi_.Run([this] {
        for (MpiHandle* comm : {&data_, &control_}) {
          if (*comm != nullptr) mpi_.Comm_free(comm);
        }
        return OkStatus();
      })
      .IgnoreError();
}

StatusOr<std::unique_ptr<Team>> MpiTeam::MakePart(const std::vector<int>& ranks, const std::string&) {
  std::unique_ptr<MpiTeam> team(new MpiTeam(&mpi_, timeout_));
  team->size_ = static_cast<int>(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == rank_) team->rank_ = static_cast<int>(i);
    team->host_of_.push_back(host_of_[ranks[i]]);
  }
  team->OrderByHost();
  WEIR_RETURN_IF_ERROR(Run([&]() -> Status {
    // MPI would wait for a member that never comes, so all meet before.
    std::vector<char> present(ranks.size(), 1);
    WEIR_RETURN_IF_ERROR(Spread(&present, 1, ranks, team->rank_, kPartTag));
    MpiHandle all = nullptr, some = nullptr;
    WEIR_RETURN_IF_ERROR(mpi_.Check(mpi_.Comm_group(control_, &all), "MPI_Comm_group"));
    WEIR_RETURN_IF_ERROR(mpi_.Check(mpi_.Group_incl(all, team->size_, ranks.data(), &some), "MPI_Group_incl"));
    for (MpiHandle* comm : {&team->data_, &team->control_}) {
      WEIR_RETURN_IF_ERROR(
          mpi_.Check(mpi_.Comm_create_group(control_, some, kGroupTag, comm), "MPI_Comm_create_group"));
    }
    mpi_.Group_free(&some);
    mpi_.Group_free(&all);
    return OkStatus();
  }));
  return StatusOr<std::unique_ptr<Team>>(std::move(team));
}

std::vector<int> MpiTeam::AllRanks() const {
  std::vector<int> ranks(size_);
  for (int r = 0; r < size_; ++r) ranks[r] = r;
  return ranks;
}

Status MpiTeam::Run(const std::function<Status()>& work) {
  if (!failed_.ok()) return failed_;
  return mpi_.Run([&]() -> Status {
    Status status = work();
    return status.ok() ? status : Fail(status);
  });
}

Status MpiTeam::Fail(const Status& status) {
  if (failed_.ok()) {
    failed_ = status;
    mpi_.Abandon();
  }
  return failed_;
}

Status MpiTeam::Wait(std::vector<MpiHandle> requests) {
  const absl::Time begun = absl::Now();
  for (int i = 1;; ++i) {
    int done = 0;
    WEIR_RETURN_IF_ERROR(
        mpi_.Check(mpi_.Testall(static_cast<int>(requests.size()), requests.data(), &done, nullptr), "MPI_Testall"));
    if (done != 0) return OkStatus();
    std::this_thread::yield();
    if (i % kListenEvery != 0) continue;
    const absl::Duration waited = absl::Now() - begun;
    if (waited > timeout_) return CallRoll();
    WEIR_RETURN_IF_ERROR(Listen());
    if (waited > kImpatience) {
      absl::SleepFor(kNap);
      i = kListenEvery - 1;
    }
  }
}

void MpiTeam::Say(int rank, const std::string& text) {
  said_.push_back(text);
  // Small messages leave at once; nothing waits for the others.
  MpiHandle request = nullptr;
  mpi_.Isend(said_.back().data(), static_cast<int>(text.size()), mpi_.byte, rank, kFailureTag, control_, &request);
}

Status MpiTeam::Listen() {
  if (control_ == nullptr) return OkStatus();
  for (;;) {
    int flag = 0;
    MpiStatus from = {};
    WEIR_RETURN_IF_ERROR(mpi_.Check(mpi_.Iprobe(kAnySource, kFailureTag, control_, &flag, &from), "MPI_Iprobe"));
    if (flag == 0) return OkStatus();
    std::string text(from.bytes, ' ');
    WEIR_RETURN_IF_ERROR(mpi_.Check(
        mpi_.Recv(text.data(), static_cast<int>(text.size()), mpi_.byte, from.source, kFailureTag, control_, &from),
        "MPI_Recv"));
    if (text.empty()) continue;
    if (text[0] == kGone) {
      return DeadlineExceeded("The other ranks have given up on rank ", rank_, ", which is late: ", text.substr(1));
    }
    if (text[0] == kGaveUp) return Aborted("Rank ", from.source, " has given up: ", text.substr(1));
    const bool is_calling = !present_.empty();
    if (is_calling) present_[from.source] = true;
    if (text[0] == kHere) continue;
    Say(from.source, std::string(1, kHere));
    if (!is_calling) return CallRoll();
  }
}

Status MpiTeam::CallRoll() {
  if (control_ == nullptr) {
    return DeadlineExceeded("Not all ranks have come to the start of MPI within ", absl::FormatDuration(timeout_));
  }
  present_.assign(size_, false);
  present_[rank_] = true;
  for (int r = 0; r < size_; ++r) {
    if (r != rank_) Say(r, std::string(1, kWhoIsHere));
  }
  const absl::Time until = absl::Now() + kRollCall;
  while (absl::Now() < until) {
    WEIR_RETURN_IF_ERROR(Listen());
    if (std::ranges::find(present_, false) == present_.end()) break;
    absl::SleepFor(kNap);
  }
  std::vector<int> missing;
  for (int r = 0; r < size_; ++r) {
    if (!present_[r]) missing.push_back(r);
  }
  const Status status =
      missing.empty()
          ? DeadlineExceeded("After ", absl::FormatDuration(timeout_), " all ranks wait, but not for the same call")
          : DeadlineExceeded("After ", absl::FormatDuration(timeout_), " these ranks of ", size_,
                             " have not come to the call: ", absl::StrJoin(missing, ", "));
  for (int r : missing) Say(r, Cat(std::string(1, kGone), Message(status)));
  return status;
}

Status MpiTeam::Spread(std::vector<char>* all, size_t bytes, const std::vector<int>& ranks, int own, int tag) {
  const int n = static_cast<int>(ranks.size());
  all->resize(static_cast<size_t>(n) * bytes);
  // Before round k this rank has what 2^k ranks bring, and in it receives that of the next 2^k.
  for (int distance = 1; distance < n; distance *= 2) {
    const int count = static_cast<int>(bytes) * std::min(distance, n - distance);
    const int to = ranks[(own + n - distance) % n], from = ranks[(own + distance) % n];
    std::vector<MpiHandle> requests(2, nullptr);
    char* const into = all->data() + static_cast<size_t>(distance) * bytes;
    WEIR_RETURN_IF_ERROR(
        mpi_.Check(mpi_.Irecv(into, count, mpi_.byte, from, tag, control_, &requests[0]), "MPI_Irecv"));
    WEIR_RETURN_IF_ERROR(
        mpi_.Check(mpi_.Isend(all->data(), count, mpi_.byte, to, tag, control_, &requests[1]), "MPI_Isend"));
    WEIR_RETURN_IF_ERROR(Wait(std::move(requests)));
  }
  return OkStatus();
}

Status MpiTeam::Agree(const Note& note) {
  WEIR_RETURN_IF_ERROR(Run([&]() -> Status {
    std::vector<char> notes(sizeof(Note) * static_cast<size_t>(size_));
    std::memcpy(notes.data(), &note, sizeof(Note));
    WEIR_RETURN_IF_ERROR(Spread(&notes, sizeof(Note), AllRanks(), rank_, kNotesTag));
    for (int i = 0; i < size_; ++i) {
      std::memcpy(&notes_[(rank_ + i) % size_], notes.data() + static_cast<size_t>(i) * sizeof(Note), sizeof(Note));
    }
    return OkStatus();
  }));
  return CompareNotes(notes_);
}

Status MpiTeam::Reduce(const Note& note, DType dtype, MergeOp op, void* data, int64_t count) {
  WEIR_RETURN_IF_ERROR(Agree(note));
  return Run([&] { return ReduceValues(dtype, op, data, count); });
}

Status MpiTeam::ReduceValues(DType dtype, MergeOp op, void* data, int64_t count) {
  if (SizeOf(dtype) == 2) {  // MPI has no such numbers
    wide_.resize(static_cast<size_t>(count) * sizeof(float));
    float* const wide = reinterpret_cast<float*>(wide_.data());
    Status status;
    DispatchDType(dtype, TypeList<Half, BFloat16>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* const narrow = static_cast<T*>(data);
      for (int64_t i = 0; i < count; ++i) wide[i] = static_cast<float>(narrow[i]);
      status = ReduceValues(DType::kFloat, op, wide, count);
      for (int64_t i = 0; i < count && status.ok(); ++i) narrow[i] = T(wide[i]);
    });
    return status;
  }
  const MpiHandle type = dtype == DType::kFloat    ? mpi_.float32
                         : dtype == DType::kDouble ? mpi_.float64
                         : dtype == DType::kInt32  ? mpi_.int32
                                                   : mpi_.int64;
  const MpiHandle ops[] = {mpi_.sum, mpi_.product, mpi_.minimum, mpi_.maximum};
  std::vector<MpiHandle> requests;
  for (int64_t begin = 0; begin < count; begin += kMostElements) {
    char* const at = static_cast<char*>(data) + begin * static_cast<int64_t>(SizeOf(dtype));
    requests.push_back(nullptr);
    void* const in_place = reinterpret_cast<void*>(1);
    WEIR_RETURN_IF_ERROR(
        mpi_.Check(mpi_.Iallreduce(in_place, at, static_cast<int>(std::min(kMostElements, count - begin)), type,
                                   ops[static_cast<int>(op)], data_, &requests.back()),
                   "MPI_Iallreduce"));
  }
  return Wait(std::move(requests));
}

Status MpiTeam::ReduceScatter(DType dtype, MergeOp op, const char* data, const std::vector<int64_t>& begin, char* out) {
  // MPI's own needs counts in int and types that it knows; the sum of all, of which most is dropped, is as correct.
  std::vector<char> whole(data, data + begin.back() * static_cast<int64_t>(SizeOf(dtype)));
  WEIR_RETURN_IF_ERROR(Run([&] { return ReduceValues(dtype, op, whole.data(), begin.back()); }));
  const auto size = static_cast<int64_t>(SizeOf(dtype));
  std::copy(whole.begin() + begin[rank_] * size, whole.begin() + begin[rank_ + 1] * size, out);
  return OkStatus();
}

Status MpiTeam::Gather(char* data, const std::vector<size_t>& begin) {
  return Run([&]() -> Status {
    std::vector<MpiHandle> requests;
    if (begin.back() <= kMostBytes) {
      std::vector<int> counts(size_), begins(size_);
      for (int r = 0; r < size_; ++r) {
        begins[r] = static_cast<int>(begin[r]);
        counts[r] = static_cast<int>(begin[r + 1] - begin[r]);
      }
      requests.push_back(nullptr);
      WEIR_RETURN_IF_ERROR(mpi_.Check(mpi_.Iallgatherv(reinterpret_cast<void*>(1), 0, mpi_.byte, data, counts.data(),
                                                       begins.data(), mpi_.byte, data_, &requests.back()),
                                      "MPI_Iallgatherv"));
      return Wait(std::move(requests));
    }
    for (int r = 0; r < size_; ++r) {
      for (size_t at = begin[r]; at < begin[r + 1]; at += kMostBytes) {
        requests.push_back(nullptr);
        WEIR_RETURN_IF_ERROR(
            mpi_.Check(mpi_.Ibcast(data + at, static_cast<int>(std::min(kMostBytes, begin[r + 1] - at)), mpi_.byte, r,
                                   data_, &requests.back()),
                       "MPI_Ibcast"));
      }
    }
    return Wait(std::move(requests));
  });
}

Status MpiTeam::Broadcast(char* data, size_t bytes, int root) {
  return Run([&]() -> Status {
    std::vector<MpiHandle> requests;
    for (size_t at = 0; at < bytes; at += kMostBytes) {
      requests.push_back(nullptr);
      WEIR_RETURN_IF_ERROR(mpi_.Check(mpi_.Ibcast(data + at, static_cast<int>(std::min(kMostBytes, bytes - at)),
                                                  mpi_.byte, root, data_, &requests.back()),
                                      "MPI_Ibcast"));
    }
    return Wait(std::move(requests));
  });
}

Status MpiTeam::ExchangeAll(const std::vector<const char*>& out, const std::vector<size_t>& out_bytes,
                            const std::vector<char*>& in, const std::vector<size_t>& in_bytes, size_t) {
  return Run([&]() -> Status {
    std::vector<MpiHandle> requests;
    for (int r = 0; r < size_; ++r) {
      if (r == rank_) {
        if (in_bytes[r] > 0) std::memcpy(in[r], out[r], in_bytes[r]);
        continue;
      }
      for (size_t at = 0; at < in_bytes[r]; at += kMostBytes) {
        requests.push_back(nullptr);
        WEIR_RETURN_IF_ERROR(mpi_.Check(mpi_.Irecv(in[r] + at, static_cast<int>(std::min(kMostBytes, in_bytes[r] - at)),
                                                   mpi_.byte, r, kDataTag, data_, &requests.back()),
                                        "MPI_Irecv"));
      }
    }
    for (int i = 1; i < size_; ++i) {
      const int r = (rank_ + i) % size_;
      for (size_t at = 0; at < out_bytes[r]; at += kMostBytes) {
        requests.push_back(nullptr);
        WEIR_RETURN_IF_ERROR(
            mpi_.Check(mpi_.Isend(out[r] + at, static_cast<int>(std::min(kMostBytes, out_bytes[r] - at)), mpi_.byte, r,
                                  kDataTag, data_, &requests.back()),
                       "MPI_Isend"));
      }
    }
    return Wait(std::move(requests));
  });
}

bool MpiTeam::IsAwaited() const {
  if (!failed_.ok()) return true;
  int flag = 0;
  MpiStatus from = {};
  mpi_.Run([&] { return mpi_.Check(mpi_.Iprobe(kAnySource, kNotesTag, control_, &flag, &from), "MPI_Iprobe"); })
      .IgnoreError();
  return flag != 0;
}

Status MpiTeam::Check() {
  return Run([&] { return Listen(); });
}

void MpiTeam::GiveUp(const Status& status) {
  Run([&]() -> Status {
    for (int r = 0; r < size_; ++r) {
      if (r != rank_) Say(r, Cat(std::string(1, kGaveUp), Message(status)));
    }
    return status;
  }).IgnoreError();
}

}  // namespace weir::collective
