#include "weir/collective/watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"

namespace weir::collective {
namespace {

// A message is a text preceded by its length. The first character is its kind.
constexpr char kLeftTheJob = 'l';  // rank
constexpr char kFailedWith = 'f';  // code, space, text
constexpr char kIsLate = 't';      // for what the sender waits
constexpr char kWhoWaits = 'q';
constexpr char kIWait = 'h';

constexpr absl::Duration kTimeToAnswer = absl::Seconds(1);
constexpr absl::Duration kTimeToTell = absl::Seconds(2);

// Removes one complete message from the front of `received`; false if there is none.
bool TakeMessage(std::string* received, std::string* message) {
  uint32_t length = 0;
  if (received->size() < sizeof(length)) return false;
  std::memcpy(&length, received->data(), sizeof(length));
  if (received->size() < sizeof(length) + length) return false;
  *message = received->substr(sizeof(length), length);
  received->erase(0, sizeof(length) + length);
  return true;
}

// Reads all available data. False at the end of the connection.
bool ReadAvailable(Socket& connection, std::string* received) {
  char bytes[4096];
  while (true) {
    const ssize_t got = connection.Receive(bytes, sizeof(bytes));
    if (got > 0) {
      received->append(bytes, static_cast<size_t>(got));
      if (received->size() > (size_t{2} << 20)) return false;
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      return false;
    } else if (errno == EAGAIN) {
      return true;
    }
  }
}

std::string EncodeFailure(const Status& status) {
  return Cat(std::string(1, kFailedWith), static_cast<int>(status.code()), " ", Message(status));
}

Status DecodeFailure(std::string_view message) {
  const std::string text(message.substr(1));
  return Status(static_cast<absl::StatusCode>(std::atoi(text.c_str())), text.substr(text.find(' ') + 1));
}

}  // namespace

struct Relay::State {
  std::vector<Socket> connections;
  std::vector<std::string> names;
  std::vector<std::string> received;
  int stop = -1;
  bool has_failed = false;
  // The question that is being answered.
  absl::Time verdict_at = absl::InfiniteFuture();
  std::vector<bool> waits;
  std::string late;

  void Tell(std::string_view message) {
    for (Socket& connection : connections) {
      if (connection.is_open()) (void)SendText(connection, message, absl::Now() + kTimeToTell);
    }
  }
  void Fail(const Status& status) {
    if (has_failed) return;
    has_failed = true;
    verdict_at = absl::InfiniteFuture();
    Tell(EncodeFailure(status));
  }
  void Handle(size_t rank, const std::string& message) {
    if (message.empty()) return;
    if (message[0] == kLeftTheJob) {
      connections[rank].Close();
      Tell(Cat(std::string(1, kLeftTheJob), rank));
    } else if (message[0] == kFailedWith) {
      Fail(DecodeFailure(message));
    } else if (message[0] == kIWait) {
      if (!waits.empty()) waits[rank] = true;
    } else if (message[0] == kIsLate && verdict_at == absl::InfiniteFuture()) {
      verdict_at = absl::Now() + kTimeToAnswer;
      late = message.substr(1);
      waits.assign(connections.size(), false);
      Tell(std::string(1, kWhoWaits));
    }
  }
  void Decide() {
    std::vector<size_t> missing;
    for (size_t r = 0; r < waits.size(); ++r) {
      if (!waits[r]) missing.push_back(r);
    }
    const size_t space = late.find('\n');
    const std::string waited = late.substr(0, space);
    if (missing.empty()) {
      return Fail(DeadlineExceeded("After ", waited,
                                   " no data has come although all ranks wait: ", late.substr(space + 1),
                                   ". The network may not carry data between them, or they "
                                   "wait in different calls"));
    }
    Fail(DeadlineExceeded("After ", waited, " these ranks of ", connections.size(),
                          " have not come to the collective: ", absl::StrJoin(missing, ", ")));
  }
  void Run() {
    while (true) {
      std::vector<pollfd> files{{stop, POLLIN, 0}};
      std::vector<size_t> ranks;
      for (size_t r = 0; r < connections.size(); ++r) {
        if (!connections[r].is_open()) continue;
        files.push_back({connections[r].file(), POLLIN, 0});
        ranks.push_back(r);
      }
      const absl::Duration left = verdict_at - absl::Now();
      poll(files.data(), files.size(),
           left < absl::Minutes(1) ? static_cast<int>(std::max<int64_t>(absl::ToInt64Milliseconds(left) + 1, 0)) : -1);
      const bool ends = files[0].revents != 0;  // handles pending messages first, such as this rank's farewell
      for (size_t i = 0; i < ranks.size(); ++i) {
        if (files[i + 1].revents == 0) continue;
        const size_t rank = ranks[i];
        const bool open = ReadAvailable(connections[rank], &received[rank]);
        std::string message;
        while (connections[rank].is_open() && TakeMessage(&received[rank], &message)) Handle(rank, message);
        if (!open && connections[rank].is_open()) {
          connections[rank].Close();
          Fail(Unavailable(names[rank], " has died"));
        }
      }
      if (ends) return;
      if (absl::Now() >= verdict_at) Decide();
    }
  }
};

Relay::Relay(std::vector<Socket> connections, std::vector<std::string> names) : state_(std::make_unique<State>()) {
  state_->received.resize(connections.size());
  state_->connections = std::move(connections);
  state_->names = std::move(names);
  state_->stop = eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([state = state_.get()] { state->Run(); });
}

Relay::~Relay() {
  const uint64_t one = 1;
  (void)!write(state_->stop, &one, sizeof(one));
  thread_.join();
  // Rank 0 leaves, so nobody passes on news any more.
  state_->Tell(Cat(std::string(1, kLeftTheJob), 0));
  close(state_->stop);
}

Watch::Watch(Socket connection, std::unique_ptr<Relay> relay)
    : connection_(std::move(connection)), relay_(std::move(relay)) {}

Watch::~Watch() {
  if (connection_.is_open() && relay_ == nullptr) {
    (void)SendText(connection_, std::string(1, kLeftTheJob), absl::Now() + kTimeToTell);
  }
}

Status Watch::Handle(std::string_view message) {
  if (message.empty()) return failed_;
  if (message[0] == kFailedWith && failed_.ok()) failed_ = DecodeFailure(message);
  if (message[0] == kLeftTheJob) left_.insert(std::atoi(std::string(message.substr(1)).c_str()));
  if (message[0] == kWhoWaits) {
    (void)SendText(connection_, std::string(1, kIWait), absl::Now() + kTimeToTell);
  }
  return failed_;
}

Status Watch::Check() {
  if (!failed_.ok() || !connection_.is_open()) return failed_;
  const bool open = ReadAvailable(connection_, &received_);
  std::string message;
  while (TakeMessage(&received_, &message)) (void)Handle(message);
  if (!open) {
    connection_.Close();
    if (failed_.ok() && !left_.contains(0)) failed_ = Unavailable("Rank 0 has died");
  }
  return failed_;
}

Status Watch::WaitForVerdict(absl::Duration limit) {
  const absl::Time until = absl::Now() + limit;
  while (Check().ok() && connection_.is_open() && absl::Now() < until) {
    pollfd entry{connection_.file(), POLLIN, 0};
    poll(&entry, 1, 10);
  }
  return failed_;
}

Status Watch::Report(const Status& status) {
  if (!Check().ok()) return failed_;
  if (connection_.is_open()) (void)SendText(connection_, EncodeFailure(status), absl::Now() + kTimeToTell);
  return failed_ = status;
}

Status Watch::ReportLate(absl::Duration waited, const std::string& what) {
  if (!Check().ok()) return failed_;
  if (connection_.is_open()) {
    (void)SendText(connection_, Cat(std::string(1, kIsLate), absl::FormatDuration(waited), "\n", what),
                   absl::Now() + kTimeToTell);
    WEIR_RETURN_IF_ERROR(WaitForVerdict(kTimeToAnswer + kTimeToTell));
  }
  return failed_ = DeadlineExceeded("After ", absl::FormatDuration(waited), ": ", what);
}

Status Watch::ExplainLoss(int rank) {
  if (!WaitForVerdict(left_.contains(rank) ? absl::ZeroDuration() : kTimeToTell).ok()) return failed_;
  if (left_.contains(rank)) return Report(Aborted("Rank ", rank, " has left the job"));
  return Report(Unavailable("Rank ", rank, " has died, or the network to it is lost"));
}

}  // namespace weir::collective
