// SharedSegment: memory shared by the processes of a job on one host, with a barrier.
//
// Every process goes through the same sequence of *phases*. In each, it writes to its own part of the memory, publishes
// the phase, and waits until all others have published it; then it may read their parts. Each process has two input
// buffers, which alternate: while slow readers still read the buffer of phase p, the other one can be written for phase
// p + 1.
#ifndef WEIR_COLLECTIVE_SHARED_SEGMENT_H_
#define WEIR_COLLECTIVE_SHARED_SEGMENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/status.h"

namespace weir::collective {

class SharedSegment {
 public:
  static constexpr size_t kBufferBytes = 512 << 10;
  static constexpr size_t kNoteBytes = 48;
  static constexpr size_t kScalarBytes = 8;

  struct Options {
    absl::Duration timeout = absl::Minutes(5);
    std::vector<int> names;                 // of the ranks, for messages; empty: 0, 1, ...
    std::function<Status()> alarm;          // called during long waits; an error ends the wait. May be empty
    std::function<Status()> opening_alarm;  // the same, until all processes are present
  };
  // Waits until all `size` processes of the job are present. DEADLINE_EXCEEDED names the missing ranks.
  static StatusOr<std::unique_ptr<SharedSegment>> Open(const std::string& job, int rank, int size,
                                                       const Options& options);
  // Tells the others that this process has left.
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // The memory of a rank for the next phase (or, after Meet, for the last one published).
  char* input(int rank, bool next) const;
  // A small message of a rank in addition to its data.
  char* note(int rank, bool next) const;
  // Like `input`, for data so small that it is stored beside the note.
  char* scalar(int rank, bool next) const;
  // The memory for a rank's results. Must be written after one Meet and read after the next.
  char* result(int rank) const;

  // Publishes the next phase and waits for all others. UNAVAILABLE if a process has died, ABORTED if one has left or
  // given up, DEADLINE_EXCEEDED with the missing ranks. After an error, Meet always fails.
  Status Meet();
  // UNAVAILABLE if a process has died without leaving; ABORTED if one has left or given up.
  Status Check() const;
  // Fails, and lets the others fail that wait for this process. Returns `status`.
  Status GiveUp(Status status);
  // Whether another process has published a phase that this one has not.
  bool IsAwaited() const;

 private:
  struct Header;
  struct Member;
  SharedSegment(int rank, int size, const Options& options) : rank_(rank), size_(size), options_(options) {}
  int NameOf(int rank) const { return options_.names.empty() ? rank : options_.names[rank]; }
  Status Map(int file);
  // UNAVAILABLE if the rank (or any rank) has died without leaving.
  Status CheckAlive(int rank) const;
  Status CheckAlive() const;
  Status CheckPresent(int rank) const;
  Status WaitFor(int rank, uint32_t phase, absl::Time deadline);
  static size_t Bytes(int size);
  Header* header() const;
  Member& member(int rank) const;

  const int rank_;
  const int size_;
  const Options options_;
  int spins_ = 0;
  char* memory_ = nullptr;
  uint32_t phase_ = 0;
  Status failed_;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_SHARED_SEGMENT_H_
