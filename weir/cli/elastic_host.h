// The launcher's side of an elastic job: who its workers are, and which of them are the ranks of a round
// (collective/rendezvous.h).
//
// A round begins when all workers of the last one that still run ask for it, and those who wait to join are part of it.
// The first waits for all workers that were started, for a limited time. Rank 0 is the worker that has been there
// longest, so that it has what all had in common; workers of a host have ranks beside each other.
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
  absl::Duration first_round_after = absl::Seconds(30);  // if there are enough, but not all
  absl::Duration patience = absl::Seconds(60);           // with a worker that does not come to a round
  std::string address;  // of this host, as others know it; empty: as a worker's connection calls it
};

class ElasticHost {
 public:
  static StatusOr<std::unique_ptr<ElasticHost>> Make(const ElasticHostOptions& options);
  int port() const { return collective::PortOf(listener_); }

  // A process that was started on a host, and one that has ended.
  void AddWorker(int worker, const std::string& host);
  void RemoveWorker(int worker);
  // It gets no place any more: when it asks for one, it is told to leave.
  void RetireWorker(int worker);
  // Whether it was told to leave, or will be.
  bool IsRetired(int worker) const;

  // What to wait for.
  std::vector<pollfd> files() const;
  // Takes connections and words, and begins a round if it is time to. Called when one of the files is ready, after
  // changes, and from time to time.
  void Step();

  // Whether a worker has said that training has ended.
  bool is_done() const { return is_done_; }
  int round() const { return round_; }
  // Workers that others have waited for too long.
  std::vector<int> Overdue() const;

 private:
  struct Worker {
    std::string host;
    collective::Socket connection;
    int port = 0;         // where it listens; 0: it does not ask for a place
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
  bool has_told_news_ = false;  // in this round
  absl::Time awaited_since_ = absl::InfiniteFuture();
  std::string reachable_;  // this host's address as workers on other hosts see it
};

}  // namespace weir

#endif  // WEIR_CLI_ELASTIC_HOST_H_
