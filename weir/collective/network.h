// Network: data connections between the ranks of a job, and Exchange: concurrent transfers over them.
//
// Two ranks connect when they first exchange data, with several streams. Transfers between two ranks need no headers:
// both sides add the same sequence of pieces, which are sent in this order, large ones distributed over the streams. A
// piece may depend on the arrival of another one, so an algorithm with many steps is a single exchange in which every
// piece is sent as soon as possible. The dependencies alone form the pipeline.
#ifndef WEIR_COLLECTIVE_NETWORK_H_
#define WEIR_COLLECTIVE_NETWORK_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/collective/meeting.h"

namespace weir::collective {

// May be used by one thread at a time.
class Network {
 public:
  static constexpr int kStreams = 4;
  Network(int rank, MeetingResult meeting, Credentials credentials);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(addresses_.size()); }
  const std::vector<RankAddress>& addresses() const { return addresses_; }
  Watch& watch() { return *watch_; }
  // Whether another rank has sent data or wants to connect.
  bool HasData() const;

 private:
  friend class Exchange;
  struct Peer {
    std::vector<Socket> streams;
    bool is_complete() const;
  };
  // Connects to all peers, or returns an error that names one that cannot be reached.
  Status Connect(const std::vector<int>& peers, absl::Time deadline);
  Status Welcome(absl::Time deadline);

  const int rank_;
  const Credentials credentials_;
  std::vector<RankAddress> addresses_;
  Socket listener_;
  std::unique_ptr<Watch> watch_;
  std::vector<Peer> peers_;
};

// For a single use: add pieces, then call Run.
class Exchange {
 public:
  static constexpr size_t kPieceBytes = 256 << 10;  // the best size for pieces of large data
  static constexpr int kNow = -1;

  Exchange(Network* network, absl::Duration timeout);

  // Sends bytes after piece `after`, the result of a Receive, has arrived and its `done` has run. The memory must stay
  // valid until Run returns.
  void Send(int peer, const void* data, size_t bytes, int after = kNow);
  // Returns the number of the piece. `done` may be empty; it may add pieces for the same peer.
  int Receive(int peer, void* into, size_t bytes, std::function<void()> done = {});
  // Receives into memory that is only valid during `done`.
  int Receive(int peer, size_t bytes, std::function<void(const char*)> done);
  // The same, in pieces of the best size.
  void SendLarge(int peer, const void* data, size_t bytes);
  void ReceiveLarge(int peer, void* into, size_t bytes);

  // Returns when all data has been sent and received.
  Status Run();

 private:
  struct Incoming {
    char* into = nullptr;  // null: memory of the stream
    size_t bytes = 0;
    size_t got = 0;
    std::function<void(const char*)> done;
    bool is_done = false;
  };
  struct Outgoing {
    const char* data = nullptr;
    size_t bytes = 0;
    int after = kNow;
  };
  struct Stream {
    Socket* socket = nullptr;
    std::deque<Outgoing> out;
    std::deque<int> in;
    std::vector<char> memory;
    bool is_full = false;  // the socket did not accept all data
  };
  struct Talk {
    int peer = 0;
    size_t sent = 0;  // number of pieces
    size_t received = 0;
    Stream streams[Network::kStreams];
  };
  Talk& TalkTo(int peer);
  Stream& StreamFor(Talk& talk, size_t count, size_t bytes);
  int AddIncoming(int peer, Incoming incoming);
  // Moves as much data as possible without waiting. Returns whether there is more to do.
  StatusOr<bool> Progress(Talk& talk, Stream& stream, bool* moved);
  Status WaitForEvents(absl::Time deadline);
  std::string Describe() const;

  Network* const network_;
  const absl::Duration timeout_;
  std::vector<std::unique_ptr<Talk>> talks_;
  std::deque<Incoming> incoming_;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_NETWORK_H_
