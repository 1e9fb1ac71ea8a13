#include "weir/collective/shared_segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "weir/base/fingerprint.h"
#include "weir/base/processors.h"
#include "weir/base/strings.h"

namespace weir::collective {
namespace {

constexpr uint32_t kMagic = 0x77656972;
// Waits are mostly short: first spin, then yield the processor, and only then sleep.
constexpr int kSpins = 300;
constexpr int kYields = 20;
constexpr absl::Duration kYieldTime = absl::Microseconds(300);
constexpr absl::Duration kSleep = absl::Milliseconds(20);
constexpr absl::Duration kTimeToExplain = absl::Seconds(2);

enum State : uint32_t { kAbsent, kPresent, kLeft, kGaveUp };

void FutexWait(std::atomic<uint32_t>* word, uint32_t seen, absl::Duration timeout) {
  const timespec limit = absl::ToTimespec(timeout);
  syscall(SYS_futex, word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>* word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Also false for a process that has ended but has not been reaped.
bool IsAlive(int pid) {
  FILE* file = std::fopen(Cat("/proc/", pid, "/stat").c_str(), "r");
  if (file == nullptr) return false;
  char text[256];
  const size_t length = std::fread(text, 1, sizeof(text) - 1, file);
  std::fclose(file);
  text[length] = 0;
  const char* end = std::strrchr(text, ')');
  return end == nullptr || (end[1] == ' ' && end[2] != 'Z' && end[2] != 'X');
}

std::string SegmentName(const std::string& job) {
  return Cat("/weir_", getuid(), "_", absl::Hex(Fingerprint64(job), absl::kZeroPad16));
}

}  // namespace

struct SharedSegment::Header {
  std::atomic<uint32_t> magic;
  std::atomic<uint32_t> size;
};

// The fields that a rank publishes with every phase are adjacent, so that others fetch them together.
struct alignas(128) SharedSegment::Member {
  std::atomic<uint32_t> phase;
  std::atomic<uint32_t> waiters;
  std::atomic<int32_t> processor;  // on which it published the phase
  alignas(16) char notes[2][kNoteBytes];
  alignas(8) char scalars[2][kScalarBytes];
  std::atomic<uint32_t> state;
  std::atomic<int32_t> pid;
};

size_t SharedSegment::Bytes(int size) {
  return 4096 + (sizeof(Member) + 4095) / 4096 * 4096 * size + size_t{3} * kBufferBytes * size;
}

SharedSegment::Header* SharedSegment::header() const { return reinterpret_cast<Header*>(memory_); }

SharedSegment::Member& SharedSegment::member(int rank) const {
  return *reinterpret_cast<Member*>(memory_ + 4096 + (sizeof(Member) + 4095) / 4096 * 4096 * rank);
}

char* SharedSegment::input(int rank, bool next) const {
  const size_t begin = 4096 + (sizeof(Member) + 4095) / 4096 * 4096 * size_;
  return memory_ + begin + (size_t{3} * rank + ((phase_ + (next ? 1 : 0)) & 1)) * kBufferBytes;
}

char* SharedSegment::note(int rank, bool next) const { return member(rank).notes[(phase_ + (next ? 1 : 0)) & 1]; }

char* SharedSegment::result(int rank) const {
  const size_t begin = 4096 + (sizeof(Member) + 4095) / 4096 * 4096 * size_;
  return memory_ + begin + (size_t{3} * rank + 2) * kBufferBytes;
}

char* SharedSegment::scalar(int rank, bool next) const { return member(rank).scalars[(phase_ + (next ? 1 : 0)) & 1]; }

Status SharedSegment::Map(int file) {
  static_assert(offsetof(Member, state) == 128);
  void* memory = mmap(nullptr, Bytes(size_), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    return ResourceExhausted("cannot map ", Bytes(size_), " bytes of shared memory: ", std::strerror(errno));
  }
  memory_ = static_cast<char*>(memory);
  return OkStatus();
}

StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::Open(const std::string& job, int rank, int size,
                                                             const Options& options) {
  const absl::Duration timeout = options.timeout;
  const std::string name = SegmentName(job);
  const absl::Time deadline = absl::Now() + timeout;
  std::unique_ptr<SharedSegment> segment(new SharedSegment(rank, size, options));
  // With more ranks than processors, the other rank may need this processor.
  segment->spins_ = size > NumUsableProcessors() ? 0 : kSpins;
  int file = -1;
  ino_t inode = 0;
  auto open_file = [&]() -> Status {
    if (rank == 0) {
      shm_unlink(name.c_str());  // remains of an earlier job with this name
      file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
      if (file < 0) return Unavailable("cannot create shared memory ", name, ": ", std::strerror(errno));
      if (ftruncate(file, static_cast<off_t>(Bytes(size))) != 0) {
        return ResourceExhausted("cannot get ", Bytes(size), " bytes of shared memory: ", std::strerror(errno));
      }
    } else {
      file = shm_open(name.c_str(), O_RDWR, 0600);
      if (file < 0) return OkStatus();  // rank 0 has not created it yet
    }
    struct stat about = {};
    if (fstat(file, &about) != 0 || about.st_size != static_cast<off_t>(Bytes(size))) {
      close(file);  // incomplete, or from another job
      file = -1;
      return OkStatus();
    }
    inode = about.st_ino;
    Status mapped = segment->Map(file);
    close(file);
    if (!mapped.ok()) return mapped;
    Member& own = segment->member(rank);
    own.pid = getpid();
    own.state = kPresent;
    if (rank == 0) {
      segment->header()->size = static_cast<uint32_t>(size);
      segment->header()->magic = kMagic;
    }
    return OkStatus();
  };
  while (true) {
    if (segment->memory_ == nullptr) WEIR_RETURN_IF_ERROR(open_file());
    if (segment->memory_ != nullptr) {
      std::vector<int> missing;
      for (int i = 0; i < size; ++i) {
        if (segment->member(i).state == kAbsent) missing.push_back(segment->NameOf(i));
      }
      if (missing.empty() && segment->header()->magic == kMagic) break;
      if (absl::Now() > deadline) {
        return DeadlineExceeded("After ", absl::FormatDuration(timeout), " these ranks of ", size,
                                " have not come: ", absl::StrJoin(missing, ", "));
      }
      // Rank 0 has replaced memory that an earlier job left behind.
      struct stat now = {};
      if (rank != 0 && segment->header()->magic == kMagic && stat(Cat("/dev/shm", name).c_str(), &now) == 0 &&
          now.st_ino != inode) {
        munmap(segment->memory_, Bytes(size));
        segment->memory_ = nullptr;
      }
    } else if (absl::Now() > deadline) {
      return DeadlineExceeded("After ", absl::FormatDuration(timeout), " rank ", segment->NameOf(0), " of ", size,
                              " has not come (shared memory ", name, ")");
    }
    if (options.alarm) WEIR_RETURN_IF_ERROR(options.alarm());
    if (options.opening_alarm) WEIR_RETURN_IF_ERROR(options.opening_alarm());
    absl::SleepFor(absl::Milliseconds(1));
  }
  WEIR_RETURN_IF_ERROR(segment->Meet());
  if (rank == 0) shm_unlink(name.c_str());  // all ranks have mapped it
  return segment;
}

SharedSegment::~SharedSegment() {
  if (memory_ == nullptr) return;
  Member& own = member(rank_);
  if (own.state != kGaveUp) own.state = kLeft;
  FutexWake(&own.phase);
  munmap(memory_, Bytes(size_));
}

Status SharedSegment::GiveUp(Status status) {
  failed_ = status;
  Member& own = member(rank_);
  own.state = kGaveUp;
  FutexWake(&own.phase);
  return status;
}

Status SharedSegment::CheckAlive(int rank) const {
  const Member& other = member(rank);
  const uint32_t state = other.state;
  if (state == kLeft || state == kGaveUp || IsAlive(other.pid)) return OkStatus();
  return Unavailable("Rank ", NameOf(rank), " (process ", other.pid.load(), ") has died");
}

// A rank may have left because another one died; in that case report the latter.
Status SharedSegment::CheckAlive() const {
  for (int i = 0; i < size_; ++i) {
    if (i != rank_) WEIR_RETURN_IF_ERROR(CheckAlive(i));
  }
  return OkStatus();
}

Status SharedSegment::CheckPresent(int rank) const {
  const uint32_t state = member(rank).state;
  if (state == kLeft) return Aborted("Rank ", NameOf(rank), " has left the job");
  if (state == kGaveUp) return Aborted("Rank ", NameOf(rank), " has given up after an error of its own");
  return OkStatus();
}

Status SharedSegment::Check() const {
  WEIR_RETURN_IF_ERROR(CheckAlive());
  for (int i = 0; i < size_; ++i) WEIR_RETURN_IF_ERROR(CheckPresent(i));
  return OkStatus();
}

Status SharedSegment::WaitFor(int rank, uint32_t phase, absl::Time deadline) {
  Member& other = member(rank);
  auto has_come = [&] { return static_cast<int32_t>(other.phase.load(std::memory_order_acquire) - phase) >= 0; };
  if (has_come()) return OkStatus();
  // Spinning on the processor that the other rank needs would only delay it.
  const bool shares = other.processor.load(std::memory_order_relaxed) == sched_getcpu();
  for (int i = shares ? spins_ : 0; i < spins_; ++i) {
    if (has_come()) return OkStatus();
    Pause();
  }
  // Reading the clock takes as long as yielding, so do not do it every time.
  for (int i = 0; i < kYields; ++i) {
    if (has_come()) return OkStatus();
    sched_yield();
  }
  const absl::Time sleep_at = std::min(deadline, absl::Now() + kYieldTime);
  do {
    std::this_thread::yield();
    if (has_come()) return OkStatus();
  } while (absl::Now() < sleep_at);
  while (true) {
    other.waiters.fetch_add(1);
    const uint32_t seen = other.phase.load();
    if (static_cast<int32_t>(seen - phase) < 0) FutexWait(&other.phase, seen, kSleep);
    other.waiters.fetch_sub(1);
    if (has_come()) return OkStatus();
    const uint32_t state = other.state;
    // If there is an alarm, it knows the reason why the other rank has gone, or soon will.
    if (options_.alarm) WEIR_RETURN_IF_ERROR(options_.alarm());
    if (options_.alarm && (state == kLeft || state == kGaveUp)) {
      const absl::Time until = absl::Now() + kTimeToExplain;
      while (absl::Now() < until) {
        WEIR_RETURN_IF_ERROR(options_.alarm());
        absl::SleepFor(absl::Milliseconds(5));
      }
    }
    if (state == kLeft || state == kGaveUp) WEIR_RETURN_IF_ERROR(CheckAlive());
    WEIR_RETURN_IF_ERROR(CheckPresent(rank));
    WEIR_RETURN_IF_ERROR(CheckAlive(rank));
    if (absl::Now() > deadline) return OutOfRange("too late");
  }
}

bool SharedSegment::IsAwaited() const {
  for (int i = 0; i < size_; ++i) {
    if (static_cast<int32_t>(member(i).phase.load(std::memory_order_relaxed) - phase_) > 0) return true;
  }
  return false;
}

Status SharedSegment::Meet() {
  WEIR_RETURN_IF_ERROR(failed_);
  Member& own = member(rank_);
  const uint32_t phase = ++phase_;
  own.processor.store(sched_getcpu(), std::memory_order_relaxed);
  own.phase.store(phase);
  if (own.waiters.load() > 0) FutexWake(&own.phase);
  const absl::Time deadline = absl::Now() + options_.timeout;
  for (int i = 1; i < size_; ++i) {
    Status status = WaitFor((rank_ + i) % size_, phase, deadline);
    if (status.ok()) continue;
    if (!absl::IsOutOfRange(status)) return GiveUp(status);
    std::vector<int> missing;
    for (int other = 0; other < size_; ++other) {
      if (static_cast<int32_t>(member(other).phase.load() - phase) < 0) missing.push_back(NameOf(other));
    }
    return GiveUp(DeadlineExceeded("After ", absl::FormatDuration(options_.timeout), " these ranks of ", size_,
                                   " have not come to the collective: ", absl::StrJoin(missing, ", ")));
  }
  return OkStatus();
}

}  // namespace weir::collective
