#include "weir/collective/network.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"

namespace weir::collective {
namespace {

constexpr char kStreamTopic[] = "weir stream 1";
constexpr absl::Duration kTimeForHello = absl::Seconds(5);
// Smaller pieces all use the first stream: distributing them would cost more than it gains.
constexpr size_t kSpreadBytes = 64 << 10;

struct StreamHello {
  int32_t rank;
  int32_t stream;
};

}  // namespace

bool Network::Peer::is_complete() const {
  return !streams.empty() && std::all_of(streams.begin(), streams.end(), [](const Socket& s) { return s.is_open(); });
}

Network::Network(int rank, MeetingResult meeting, Credentials credentials)
    : rank_(rank),
      credentials_(std::move(credentials)),
      addresses_(std::move(meeting.ranks)),
      listener_(std::move(meeting.listener)),
      watch_(std::move(meeting.watch)),
      peers_(addresses_.size()) {}

bool Network::HasData() const {
  std::vector<pollfd> entries{{listener_.file(), POLLIN, 0}, {watch_->file(), POLLIN, 0}};
  for (const Peer& peer : peers_) {
    for (const Socket& stream : peer.streams) {
      if (stream.has_buffered()) return true;
      if (stream.is_open()) entries.push_back({stream.file(), POLLIN, 0});
    }
  }
  return poll(entries.data(), entries.size(), 0) > 0;
}

// Accepts one pending connection, if there is one. Rejects strangers.
Status Network::Welcome(absl::Time deadline) {
  WEIR_ASSIGN_OR_RETURN(Socket socket, Accept(listener_));
  if (!socket.is_open()) return OkStatus();
  const absl::Time limit = std::min(deadline, absl::Now() + kTimeForHello);
  StreamHello hello = {};
  if (!ProveAsListener(socket, credentials_, kStreamTopic, limit).ok() ||
      !ReceiveBytes(socket, &hello, sizeof(hello), limit).ok() || hello.rank <= rank_ || hello.rank >= size() ||
      hello.stream < 0 || hello.stream >= kStreams) {
    return OkStatus();
  }
  Peer& peer = peers_[hello.rank];
  peer.streams.resize(kStreams);
  peer.streams[hello.stream] = std::move(socket);
  return OkStatus();
}

// The higher rank connects to the lower one, so there is no circular wait.
Status Network::Connect(const std::vector<int>& peers, absl::Time deadline) {
  const Alarm alarm = [this] { return watch_->Check(); };
  for (const int other : peers) {
    if (other > rank_ || peers_[other].is_complete()) continue;
    peers_[other].streams.resize(kStreams);
    for (int i = 0; i < kStreams; ++i) {
      auto connect = [&]() -> Status {
        WEIR_ASSIGN_OR_RETURN(Socket socket, ConnectTo(addresses_[other].endpoint, deadline, alarm));
        WEIR_RETURN_IF_ERROR(ProveAsCaller(socket, credentials_, kStreamTopic, deadline, alarm));
        const StreamHello hello{rank_, i};
        WEIR_RETURN_IF_ERROR(
            SendBytes(socket, std::string_view(reinterpret_cast<const char*>(&hello), sizeof(hello)), deadline, alarm));
        peers_[other].streams[i] = std::move(socket);
        return OkStatus();
      };
      Status status = connect();
      if (status.ok()) continue;
      WEIR_RETURN_IF_ERROR(watch_->Check());
      if (absl::IsDeadlineExceeded(status)) {
        return DeadlineExceeded("rank ", rank_, " cannot connect to rank ", other, " at ",
                                addresses_[other].endpoint.ToString());
      }
      return Unavailable("Rank ", other, " cannot be reached at ", addresses_[other].endpoint.ToString(), ": ",
                         Message(status));
    }
  }
  while (true) {
    std::vector<int> missing;
    for (const int other : peers) {
      if (other > rank_ && !peers_[other].is_complete()) missing.push_back(other);
    }
    if (missing.empty()) return OkStatus();
    WEIR_RETURN_IF_ERROR(Welcome(deadline));
    pollfd entries[2] = {{listener_.file(), POLLIN, 0}, {watch_->file(), POLLIN, 0}};
    poll(entries, 2, 100);
    WEIR_RETURN_IF_ERROR(watch_->Check());
    if (absl::Now() > deadline) {
      return DeadlineExceeded("rank ", rank_, " waits for a connection from ", absl::StrJoin(missing, ", "));
    }
  }
}

Exchange::Exchange(Network* network, absl::Duration timeout) : network_(network), timeout_(timeout) {}

Exchange::Talk& Exchange::TalkTo(int peer) {
  for (auto& talk : talks_) {
    if (talk->peer == peer) return *talk;
  }
  talks_.push_back(std::make_unique<Talk>());
  talks_.back()->peer = peer;
  return *talks_.back();
}

Exchange::Stream& Exchange::StreamFor(Talk& talk, size_t count, size_t bytes) {
  return talk.streams[bytes < kSpreadBytes ? 0 : count % Network::kStreams];
}

void Exchange::Send(int peer, const void* data, size_t bytes, int after) {
  if (bytes == 0) return;
  Talk& talk = TalkTo(peer);
  StreamFor(talk, talk.sent++, bytes).out.push_back({static_cast<const char*>(data), bytes, after});
}

int Exchange::AddIncoming(int peer, Incoming incoming) {
  const int number = static_cast<int>(incoming_.size());
  incoming_.push_back(std::move(incoming));
  Incoming& added = incoming_.back();
  if (added.bytes == 0) {
    added.is_done = true;
    if (added.done) added.done(nullptr);
    return number;
  }
  Talk& talk = TalkTo(peer);
  StreamFor(talk, talk.received++, added.bytes).in.push_back(number);
  return number;
}

int Exchange::Receive(int peer, void* into, size_t bytes, std::function<void()> done) {
  Incoming incoming;
  incoming.into = static_cast<char*>(into);
  incoming.bytes = bytes;
  if (done) incoming.done = [done = std::move(done)](const char*) { done(); };
  return AddIncoming(peer, std::move(incoming));
}

int Exchange::Receive(int peer, size_t bytes, std::function<void(const char*)> done) {
  Incoming incoming;
  incoming.bytes = bytes;
  incoming.done = std::move(done);
  return AddIncoming(peer, std::move(incoming));
}

void Exchange::SendLarge(int peer, const void* data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kPieceBytes) {
    Send(peer, static_cast<const char*>(data) + at, std::min(kPieceBytes, bytes - at));
  }
}

void Exchange::ReceiveLarge(int peer, void* into, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kPieceBytes) {
    Receive(peer, static_cast<char*>(into) + at, std::min(kPieceBytes, bytes - at));
  }
}

StatusOr<bool> Exchange::Progress(Talk& talk, Stream& stream, bool* moved) {
  stream.is_full = false;
  while (!stream.out.empty()) {
    Outgoing& next = stream.out.front();
    if (next.after != kNow && !incoming_[next.after].is_done) break;
    const ssize_t sent = stream.socket->Send(next.data, next.bytes);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return network_->watch_->ExplainLoss(talk.peer);
      stream.is_full = true;
      break;
    }
    *moved = true;
    next.data += sent;
    next.bytes -= static_cast<size_t>(sent);
    if (next.bytes == 0) stream.out.pop_front();
  }
  while (!stream.in.empty()) {
    Incoming& next = incoming_[stream.in.front()];
    if (next.into == nullptr && stream.memory.size() < next.bytes) stream.memory.resize(next.bytes);
    char* const into = next.into != nullptr ? next.into : stream.memory.data();
    const ssize_t got = stream.socket->Receive(into + next.got, next.bytes - next.got);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return network_->watch_->ExplainLoss(talk.peer);
      break;
    }
    if (got == 0) return network_->watch_->ExplainLoss(talk.peer);
    *moved = true;
    next.got += static_cast<size_t>(got);
    if (next.got < next.bytes) continue;
    stream.in.pop_front();
    if (next.done) next.done(into);
    next.is_done = true;
  }
  return !stream.out.empty() || !stream.in.empty();
}

std::string Exchange::Describe() const {
  std::vector<int> from, to;
  for (const auto& talk : talks_) {
    bool receives = false, sends = false;
    for (const Stream& stream : talk->streams) {
      receives = receives || !stream.in.empty();
      sends = sends || !stream.out.empty();
    }
    if (receives) from.push_back(talk->peer);
    if (sends) to.push_back(talk->peer);
  }
  return Cat("rank ", network_->rank(), " waits for data",
             from.empty() ? "" : Cat(" from ranks ", absl::StrJoin(from, ", ")),
             to.empty() ? "" : Cat(" to be taken by ranks ", absl::StrJoin(to, ", ")));
}

Status Exchange::WaitForEvents(absl::Time deadline) {
  std::vector<pollfd> entries{{network_->watch_->file(), POLLIN, 0}};
  for (const auto& talk : talks_) {
    for (const Stream& stream : talk->streams) {
      const int events = (stream.in.empty() ? 0 : POLLIN) | (stream.is_full ? POLLOUT : 0);
      if (events != 0) entries.push_back({stream.socket->file(), static_cast<short>(events), 0});
    }
  }
  const absl::Time now = absl::Now();
  if (now > deadline) return network_->watch_->ReportLate(timeout_, Describe());
  const int64_t left = absl::ToInt64Milliseconds(deadline - now) + 1;
  poll(entries.data(), entries.size(), static_cast<int>(std::min<int64_t>(left, 1000)));
  if (entries[0].revents != 0) return network_->watch_->Check();
  return OkStatus();
}

Status Exchange::Run() {
  const absl::Time deadline = absl::Now() + timeout_;
  std::vector<int> peers;
  for (const auto& talk : talks_) peers.push_back(talk->peer);
  Status connected = network_->Connect(peers, deadline);
  if (!connected.ok()) {
    if (absl::IsDeadlineExceeded(connected))
      return network_->watch_->ReportLate(timeout_, std::string(Message(connected)));
    return network_->watch_->Report(connected);
  }
  for (const auto& talk : talks_) {
    for (int i = 0; i < Network::kStreams; ++i) talk->streams[i].socket = &network_->peers_[talk->peer].streams[i];
  }
  while (true) {
    bool more = false, moved = false;
    for (const auto& talk : talks_) {
      for (Stream& stream : talk->streams) {
        if (stream.out.empty() && stream.in.empty()) continue;
        WEIR_ASSIGN_OR_RETURN(const bool has_more, Progress(*talk, stream, &moved));
        more = more || has_more || !stream.in.empty() || !stream.out.empty();
      }
    }
    // A piece that arrived may have released or added another one on a stream that was visited earlier.
    if (moved) continue;
    if (!more) return OkStatus();
    WEIR_RETURN_IF_ERROR(WaitForEvents(deadline));
  }
}

}  // namespace weir::collective
