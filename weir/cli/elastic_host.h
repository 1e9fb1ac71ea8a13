// The launcher's side of an elastic job: keeps track of the workers and determines the ranks of each round
// (collective/rendezvous.h).
//
// A round begins when all workers of the previous round that still run have asked for it; workers that wait to join
// become part of it. The first round waits, for a limited time, for all workers that were started. Rank 0 is the worker
// that has been there longest, so that it has the shared state; the workers of a host get consecutive ranks.
#ifndef WEIR_CLI_ELASTIC_HOST_H_
#define WEIR_CLI_ELASTIC_HOST_H_

#include <poll.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/collective/socket.h"

namespace weir {

struct ElasticHostOptions {
  collective::Credentials credentials;
  int min_workers = 1;
  absl::Duration first_round_after = absl::Seconds(30);  // when enough, but not all workers have asked
  absl::Duration patience = absl::Seconds(60);           // for a worker that does not ask for the next round
  std::string address;  // of this host, as seen by others; empty: as seen by a worker's connection
};

class ElasticHost {
 public:
  static StatusOr<std::unique_ptr<ElasticHost>> Make(const ElasticHostOptions& options);
  int port() const { return collective::PortOf(listener_); }

  // Must be called when a process was started on a host, and when it has ended.
  void AddWorker(int worker, const std::string& host);
  void RemoveWorker(int worker);
  // The worker gets no place any more: when it asks for one, it is told to leave.
  void RetireWorker(int worker);
  // Whether it has been or will be told to leave.
  bool IsRetired(int worker) const;

  // The files to poll.
  std::vector<pollfd> files() const;
  // Handles connections and messages, and begins a round if it is time. Must be called when one of the files is ready,
  // after changes, and from time to time.
  void Step();

  // Whether a worker has reported that training has ended.
  bool is_done() const { return is_done_; }
  int round() const { return round_; }
  // Workers that others have been waiting for too long.
  std::vector<int> Overdue() const;

 private:
  struct Worker {
    std::string host;
    collective::Socket connection;
    int port = 0;         // where it listens; 0: it has not asked for a place
    int first_round = 0;  // 0: none yet
    bool is_member = false;
    bool is_retired = false;
  };
  ElasticHost(const ElasticHostOptions& options, collective::Socket listener)
      : options_(options), listener_(std::move(listener)), started_(absl::Now()) {}
  void Accept();
  void Hear(Worker& worker);
  void Tell(Worker& worker, const std::string& text);
  void TellMembers(const std::string& text);
  bool IsTimeForARound();
  void BeginRound();
  std::string AddressOf(const Worker& worker) const;

  const ElasticHostOptions options_;
  const collective::Socket listener_;
  const absl::Time started_;
  std::map<int, Worker> workers_;
  int round_ = 0;
  bool is_done_ = false;
  bool has_told_news_ = false;  // in the current round
  absl::Time awaited_since_ = absl::InfiniteFuture();
  std::string reachable_;  // this host's address as seen by workers on other hosts
};

}  // namespace weir

#endif  // WEIR_CLI_ELASTIC_HOST_H_
