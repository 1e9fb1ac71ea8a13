// Reader: records of the files whose names a queue gives.
//
// A reader works on one file at a time and takes the next name when that is read to its end. Reads of one reader go one
// after the other; one that has to wait, for a file name or for its turn, waits without a thread.
#ifndef WEIR_OPS_IO_READER_H_
#define WEIR_OPS_IO_READER_H_

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "weir/resources/queue.h"

namespace weir {

struct ReadRecord {
  std::string key;
  std::string value;
};

// How the records of one kind of file are read. One thread at a time.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // Begins a file.
  virtual Status Open(const std::string& file) = 0;
  // The next record; false at the end of the file.
  virtual StatusOr<bool> Next(ReadRecord* record) = 0;
  // True if the record given last is known to be the file's last.
  virtual bool at_end() const { return false; }
  virtual void Close() {}
  // Whether a reader's counts and file name are all of its state.
  virtual bool can_restore() const { return false; }
};

// Thread-safe.
class Reader : public Resource, public std::enable_shared_from_this<Reader> {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow15ReaderInterfaceE";
  using Done = absl::AnyInvocable<void(StatusOr<std::vector<ReadRecord>>)>;
  // Starts a closure in another thread.
  using Runner = std::function<void(std::function<void()>)>;

  Reader(std::string name, std::unique_ptr<RecordSource> source) : name_(std::move(name)), source_(std::move(source)) {}
  std::string_view type_name() const override { return kTypeName; }

  // 1 to `count` records, all of one file. Called back once, from any thread. What waits uses `runner` to go on.
  void Read(std::shared_ptr<Queue> queue, int64_t count, CancellationManager& cancellation, const Runner& runner,
            Done done);
  int64_t records_produced() const;
  int64_t work_units_completed() const;
  // Back to the beginning; the file at work is forgotten.
  void Reset();
  // UNIMPLEMENTED for readers that stand in the middle of a file.
  StatusOr<std::string> SerializeState() const;
  Status RestoreState(const std::string& state);

 private:
  struct Attempt {
    std::shared_ptr<Queue> queue;
    int64_t count;
    CancellationManager* cancellation;
    CancellationManager::Token token = CancellationManager::kNoToken;
    const Runner* runner;
    Done done;
    uint64_t id = 0;
  };
  enum class Progress { kFinished, kNeedsFile };

  // Works on the attempt at hand, and then on those in line, until one has to wait.
  void Work();
  // Lets the attempt at hand ask its queue for a file; true if the answer came at once.
  bool AskForFile();
  void TakeFile(StatusOr<Queue::Tuple> element);
  Progress ReadFromFile(StatusOr<std::vector<ReadRecord>>& result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Status OpenFile(StatusOr<Queue::Tuple> element) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Cancel(uint64_t id);
  bool at_work() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return work_started_ > work_finished_; }

  const std::string name_;
  mutable absl::Mutex mu_;
  const std::unique_ptr<RecordSource> source_ ABSL_GUARDED_BY(mu_);
  std::string file_ ABSL_GUARDED_BY(mu_);
  int64_t work_started_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t work_finished_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t records_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::list<Attempt> line_ ABSL_GUARDED_BY(mu_);  // the first is at hand while busy_
  bool busy_ ABSL_GUARDED_BY(mu_) = false;
  Status file_status_ ABSL_GUARDED_BY(mu_);  // of asking for a file
};

}  // namespace weir

#endif  // WEIR_OPS_IO_READER_H_
