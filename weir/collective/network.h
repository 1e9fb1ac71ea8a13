// Network: data connections between the ranks of a job, and Exchange: transfers over them that run at the same time.
//
// Two ranks are connected when they first exchange data, by several streams. Transfers between two ranks need no
// headers: both sides add the same sequence of pieces, which travel in this order, large ones spread over the streams.
// A piece may wait for another to arrive first, so an algorithm of many steps is one exchange in which every piece goes
// as soon as it can: the pipeline follows from what depends on what.
#ifndef WEIR_COLLECTIVE_NETWORK_H_
#define WEIR_COLLECTIVE_NETWORK_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/collective/meeting.h"

namespace weir::collective {

// For one thread at a time.
class Network {
 public:
  static constexpr int kStreams = 4;
  Network(int rank, MeetingResult meeting, Credentials credentials);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(addresses_.size()); }
  const std::vector<RankAddress>& addresses() const { return addresses_; }
  Watch& watch() { return *watch_; }
  // Whether another rank has sent something, or wants to connect.
  bool HasData() const;

 private:
  friend class Exchange;
  struct Peer {
    std::vector<Socket> streams;
    bool is_complete() const;
  };
  // All of them, or an error that names one that cannot be reached.
  Status Connect(const std::vector<int>& peers, absl::Time deadline);
  Status Welcome(absl::Time deadline);

  const int rank_;
  const Credentials credentials_;
  std::vector<RankAddress> addresses_;
  Socket listener_;
  std::unique_ptr<Watch> watch_;
  std::vector<Peer> peers_;
};

// One use: add pieces, then Run.
class Exchange {
 public:
  static constexpr size_t kPieceBytes = 256 << 10;  // the best size for pieces of something large
  static constexpr int kNow = -1;

  Exchange(Network* network, absl::Duration timeout);

  // Sends bytes once piece `after` (of Receive) has arrived and its `done` has run. The memory must stay until the end
  // of Run.
  void Send(int peer, const void* data, size_t bytes, int after = kNow);
  // Gives the piece's number. `done` may be empty, and may add pieces from and to the same peer.
  int Receive(int peer, void* into, size_t bytes, std::function<void()> done = {});
  // Into memory that is valid during `done` only.
  int Receive(int peer, size_t bytes, std::function<void(const char*)> done);
  // The same, in pieces.
  void SendLarge(int peer, const void* data, size_t bytes);
  void ReceiveLarge(int peer, void* into, size_t bytes);

  // Until everything has arrived and left.
  Status Run();

 private:
  struct Incoming {
    char* into = nullptr;  // null: the stream's own memory
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
    bool is_full = false;  // the last send could not send all
  };
  struct Talk {
    int peer = 0;
    size_t sent = 0;  // pieces
    size_t received = 0;
    Stream streams[Network::kStreams];
  };
  Talk& TalkTo(int peer);
  Stream& StreamFor(Talk& talk, size_t count, size_t bytes);
  int AddIncoming(int peer, Incoming incoming);
  // Whether there is more to do; moves what can be moved without waiting.
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
