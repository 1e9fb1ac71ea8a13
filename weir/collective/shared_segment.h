// SharedSegment: memory that the processes of a job on one host share, and how they keep in step.
//
// Every process goes through the same sequence of *phases*. It writes into its own part of the memory, publishes the
// phase, and waits until all others have published it; then it may read their parts. There are two input buffers per
// process, used in turn: one may be written for phase p + 1 while slow readers still read the other's phase p.
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
    std::vector<int> names;                 // of the ranks, for messages; none: their numbers here
    std::function<Status()> alarm;          // looked at during long waits; an error of it ends the wait. May be empty
    std::function<Status()> opening_alarm;  // the same, until all have come
  };
  // Waits until all `size` processes of the job have come. DEADLINE_EXCEEDED names the ranks that have not.
  static StatusOr<std::unique_ptr<SharedSegment>> Open(const std::string& job, int rank, int size,
                                                       const Options& options);
  // Tells the others that this process has left.
  ~SharedSegment();
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // The memory of a rank for the phase that is published next (or was published last, after Meet).
  char* input(int rank, bool next) const;
  // What a rank says about the phase, beside its data.
  char* note(int rank, bool next) const;
  // As `input`, for so little that it lies beside the note.
  char* scalar(int rank, bool next) const;
  // The memory for a rank's results. Written after one Meet and read after the next.
  char* result(int rank) const;

  // Publishes the next phase and waits for all others. UNAVAILABLE if a process has died, ABORTED if one has left or
  // given up, DEADLINE_EXCEEDED with the ranks that are missing. After an error no phase can be published any more.
  Status Meet();
  // Whether another process has published a phase that this one has not.
  bool IsAwaited() const;

 private:
  struct Header;
  struct Member;
  SharedSegment(int rank, int size, const Options& options) : rank_(rank), size_(size), options_(options) {}
  int NameOf(int rank) const { return options_.names.empty() ? rank : options_.names[rank]; }
  Status Map(int file);
  // UNAVAILABLE if a rank, or any, has died without leaving.
  Status CheckAlive(int rank) const;
  Status CheckAlive() const;
  Status WaitFor(int rank, uint32_t phase, absl::Time deadline);
  Status GiveUp(Status status);
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
