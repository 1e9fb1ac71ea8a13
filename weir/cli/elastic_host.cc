#include "weir/cli/elastic_host.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "weir/base/strings.h"
#include "weir/collective/rendezvous.h"

namespace weir {
namespace {

using collective::Socket;

// A stranger that connects and says nothing must not keep the workers waiting.
constexpr absl::Duration kTimeToSay = absl::Seconds(2);

}  // namespace

StatusOr<std::unique_ptr<ElasticHost>> ElasticHost::Make(const ElasticHostOptions& options) {
  WEIR_ASSIGN_OR_RETURN(Socket listener, collective::Listen(0));
  return std::unique_ptr<ElasticHost>(new ElasticHost(options, std::move(listener)));
}

void ElasticHost::AddWorker(int worker, const std::string& host) { workers_[worker].host = host; }

void ElasticHost::RemoveWorker(int worker) {
  const bool was_member = workers_[worker].is_member;
  workers_.erase(worker);
  if (was_member) TellMembers("lost");
}

void ElasticHost::RetireWorker(int worker) {
  Worker& retired = workers_[worker];
  if (std::exchange(retired.is_retired, true)) return;
  if (retired.port != 0) {
    Tell(retired, "leave");
  } else {
    TellMembers("news");
  }
}

bool ElasticHost::IsRetired(int worker) const {
  auto found = workers_.find(worker);
  return found != workers_.end() && found->second.is_retired;
}

std::vector<pollfd> ElasticHost::files() const {
  std::vector<pollfd> out{{listener_.file(), POLLIN, 0}};
  for (const auto& each : workers_) {
    if (each.second.connection.is_open()) out.push_back({each.second.connection.file(), POLLIN, 0});
  }
  return out;
}

void ElasticHost::Step() {
  Accept();
  for (auto& each : workers_) Hear(each.second);
  if (is_done_) return;
  if (IsTimeForARound()) return BeginRound();
  // Newcomers ask the others for another round.
  const bool has_newcomer = std::any_of(workers_.begin(), workers_.end(), [](const auto& each) {
    return each.second.port != 0 && !each.second.is_member && !each.second.is_retired;
  });
  if (has_newcomer && round_ > 0 && !std::exchange(has_told_news_, true)) TellMembers("news");
}

void ElasticHost::Accept() {
  while (true) {
    StatusOr<Socket> socket = collective::Accept(listener_);
    if (!socket.ok() || !socket->is_open()) return;
    const absl::Time limit = absl::Now() + kTimeToSay;
    if (!collective::ProveAsListener(*socket, options_.credentials, collective::kRendezvousTopic, limit).ok()) continue;
    StatusOr<std::string> name = collective::ReceiveText(*socket, limit);
    int number = 0;
    if (!name.ok() || !absl::SimpleAtoi(*name, &number) || !workers_.contains(number)) continue;
    if (!collective::IsLoopback(collective::LocalAddress(*socket))) reachable_ = collective::LocalAddress(*socket);
    workers_[number].connection = *std::move(socket);
  }
}

void ElasticHost::Hear(Worker& worker) {
  pollfd waiting{worker.connection.file(), POLLIN, 0};
  while (worker.connection.is_open() && poll(&waiting, 1, 0) > 0) {
    StatusOr<std::string> text = collective::ReceiveText(worker.connection, absl::Now() + kTimeToSay);
    if (!text.ok()) {
      worker.connection.Close();
      worker.port = 0;
      return;
    }
    if (*text == "done") is_done_ = true;
    if (!absl::StartsWith(*text, "join ")) continue;
    worker.port = std::atoi(text->c_str() + 5);
    if (is_done_) worker.is_retired = true;
    if (worker.is_retired) Tell(worker, "leave");
    if (worker.is_member) awaited_since_ = std::min(awaited_since_, absl::Now());
  }
}

void ElasticHost::Tell(Worker& worker, const std::string& text) {
  if (!worker.connection.is_open()) return;
  if (!collective::SendText(worker.connection, text, absl::Now() + kTimeToSay).ok()) worker.connection.Close();
}

void ElasticHost::TellMembers(const std::string& text) {
  for (auto& each : workers_) {
    if (each.second.is_member) Tell(each.second, text);
  }
}

bool ElasticHost::IsTimeForARound() {
  int ready = 0, waiting_for = 0;
  for (const auto& each : workers_) {
    const Worker& worker = each.second;
    if (worker.is_retired) continue;
    if (worker.port != 0) {
      ++ready;
    } else if (worker.is_member || round_ == 0) {
      ++waiting_for;
    }
  }
  if (ready < options_.min_workers || ready == 0) return false;
  // Members are in the middle of a round unless one of them asks for another.
  const bool is_between =
      round_ == 0 || awaited_since_ != absl::InfiniteFuture() ||
      std::none_of(workers_.begin(), workers_.end(), [](const auto& each) { return each.second.is_member; });
  if (!is_between) return false;
  if (waiting_for == 0) return true;
  return round_ == 0 && absl::Now() - started_ > options_.first_round_after;
}

void ElasticHost::BeginRound() {
  ++round_;
  std::vector<Worker*> ranks;
  for (auto& each : workers_) {
    Worker& worker = each.second;
    worker.is_member = worker.port != 0 && !worker.is_retired;
    if (!worker.is_member) continue;
    if (worker.first_round == 0) worker.first_round = round_;
    ranks.push_back(&worker);
  }
  // By time of service, which the map's order breaks ties of; a host comes where its first worker does.
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const Worker* a, const Worker* b) { return a->first_round < b->first_round; });
  std::map<std::string, std::vector<Worker*>> by_host;
  std::vector<std::string> hosts;
  for (Worker* worker : ranks) {
    if (by_host[worker->host].empty()) hosts.push_back(worker->host);
    by_host[worker->host].push_back(worker);
  }
  const std::string address = AddressOf(*ranks[0]);
  int rank = 0;
  for (const std::string& host : hosts) {
    const std::vector<Worker*>& here = by_host[host];
    for (size_t local = 0; local < here.size(); ++local) {
      here[local]->port = 0;
      Tell(*here[local],
           Cat("place ", round_, " ", rank++, " ", ranks.size(), " ", local, " ", here.size(), " ", address));
    }
  }
  awaited_since_ = absl::InfiniteFuture();
  has_told_news_ = false;
}

std::string ElasticHost::AddressOf(const Worker& worker) const {
  std::string host = collective::RemoteAddress(worker.connection);
  if (collective::IsLoopback(host)) {
    if (!options_.address.empty()) {
      host = options_.address;
    } else if (!reachable_.empty()) {
      host = reachable_;
    }
  }
  return collective::Endpoint{host, worker.port}.ToString();
}

std::vector<int> ElasticHost::Overdue() const {
  std::vector<int> out;
  if (absl::Now() - awaited_since_ < options_.patience) return out;
  for (const auto& each : workers_) {
    if (each.second.is_member && each.second.port == 0) out.push_back(each.first);
  }
  return out;
}

}  // namespace weir
