// Networks between the tasks of a test's cluster that can be made to lose or delay what passes.
//
// Where the system lets us (root), a task lives in a network namespace of its own, behind a pair of virtual interfaces:
// what it sends then vanishes as on a real network, without a connection being closed. Elsewhere, and where packets
// shall be late, its connections pass through a proxy in the test's process that holds back what it should lose.
#ifndef WEIR_TESTS_NETWORK_LINK_H_
#define WEIR_TESTS_NETWORK_LINK_H_

#include <arpa/inet.h>
#include <poll.h>

#include <cstdlib>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "tests/process_cluster.h"

namespace weir {

class NetworkLink {
 public:
  virtual ~NetworkLink() = default;
  // A cluster of worker 0 on this side and ps 0 on the other.
  virtual ClusterLayout layout() const = 0;
  virtual void Drop() = 0;
  virtual void Restore() = 0;
};

// Copies the bytes of connections to one port on to another.
class ProxyLink : public NetworkLink {
 public:
  explicit ProxyLink(absl::Duration delay = absl::ZeroDuration()) : delay_(delay) {
    ports_ = FreePorts(2);  // of the worker and of ps 0 itself
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~ProxyLink() override {
    {
      absl::MutexLock lock(&mu_);
      closing_ = true;
    }
    acceptor_.join();
    for (std::thread& pump : pumps_) pump.join();
    close(listener_);
  }
  ClusterLayout layout() const override {
    ClusterLayout out;
    out.ps = {Cat("127.0.0.1:", port_)};
    out.workers = {Cat("127.0.0.1:", ports_[0])};
    out.options[TaskName("ps", 0)] = {"--port", Cat(ports_[1])};
    return out;
  }
  void Drop() override { SetDropping(true); }
  void Restore() override { SetDropping(false); }

 private:
  static constexpr int kLookEveryMs = 20;  // whether all shall end

  static sockaddr_in Loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    return address;
  }
  void SetDropping(bool dropping) {
    absl::MutexLock lock(&mu_);
    dropping_ = dropping;
  }
  bool closing() {
    absl::MutexLock lock(&mu_);
    return closing_;
  }
  bool Readable(int fd) const {
    pollfd poll_fd{fd, POLLIN, 0};
    return poll(&poll_fd, 1, kLookEveryMs) > 0;
  }

  void Accept() {
    while (!closing()) {
      if (!Readable(listener_)) continue;
      const int from = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (from < 0) continue;
      const int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const sockaddr_in address = Loopback(ports_[1]);
      if (connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        close(from);
        close(to);
        continue;
      }
      pumps_.emplace_back([this, from, to] { Pump(from, to); });
    }
  }

  // Both ways of one connection, until an end closes it.
  void Pump(int a, int b) {
    std::vector<char> bytes(1 << 16);
    bool open = true;
    while (open && !closing()) {
      pollfd ends[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
      if (poll(ends, 2, kLookEveryMs) <= 0) continue;
      for (int i = 0; i < 2 && open; ++i) {
        if ((ends[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
        const ssize_t count = read(ends[i].fd, bytes.data(), bytes.size());
        open = count > 0 && Forward(ends[1 - i].fd, bytes.data(), count);
      }
    }
    close(a);
    close(b);
  }
  bool Forward(int to, const char* bytes, ssize_t count) {
    {
      absl::MutexLock lock(&mu_);
      auto passes = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !dropping_ || closing_; };
      mu_.Await(absl::Condition(&passes));
      if (closing_) return false;
    }
    absl::SleepFor(delay_);  // the network that is tested: nothing waits for this
    while (count > 0) {
      const ssize_t sent = send(to, bytes, static_cast<size_t>(count), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes += sent;
      count -= sent;
    }
    return true;
  }

  const absl::Duration delay_;
  std::vector<int> ports_;
  int listener_ = -1, port_ = 0;
  absl::Mutex mu_;
  bool dropping_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  std::thread acceptor_;
  std::list<std::thread> pumps_;  // the acceptor's until it has ended
};

// ps 0 in a namespace of its own, with one interface to this one.
class NamespaceLink : public NetworkLink {
 public:
  // Null where namespaces are not permitted.
  static std::unique_ptr<NamespaceLink> Make() {
    std::unique_ptr<NamespaceLink> link(new NamespaceLink);
    return link->Create() ? std::move(link) : nullptr;
  }
  ~NamespaceLink() override {
    Command(Cat("ip link del ", here_));
    Command(Cat("ip netns del ", name_));
  }
  ClusterLayout layout() const override {
    const std::vector<int> ports = FreePorts(2);
    ClusterLayout out;
    out.ps = {Cat(net_, there_address_, ":", ports[0])};
    out.workers = {Cat(net_, here_address_, ":", ports[1])};
    out.before[TaskName("ps", 0)] = {ip_, "netns", "exec", name_};
    return out;
  }
  // What ps 0 sends vanishes, acknowledgements too.
  void Drop() override { EXPECT_TRUE(Command(Cat("ip -n ", name_, " route replace blackhole ", net_, here_address_))); }
  void Restore() override { EXPECT_TRUE(Command(Cat("ip -n ", name_, " route del blackhole ", net_, here_address_))); }

 private:
  NamespaceLink() {
    // Of the addresses that are set aside for tests of networks, four for each process.
    const int place = getpid() % (1 << 14);
    net_ = Cat("198.18.", place >> 6, ".");
    here_address_ = (place & 63) * 4 + 1;
    there_address_ = here_address_ + 1;
  }
  static bool Command(const std::string& command) { return std::system(Cat(command, " >/dev/null 2>&1").c_str()) == 0; }
  bool Create() {
    for (const char* path : {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"}) {
      if (ip_.empty() && access(path, X_OK) == 0) ip_ = path;
    }
    if (ip_.empty() || !Command(Cat("ip netns add ", name_))) return false;
    for (const std::string& command :
         {Cat("ip link add ", here_, " type veth peer name ", there_), Cat("ip link set ", there_, " netns ", name_),
          Cat("ip addr add ", net_, here_address_, "/30 dev ", here_), Cat("ip link set ", here_, " up"),
          Cat("ip -n ", name_, " addr add ", net_, there_address_, "/30 dev ", there_),
          Cat("ip -n ", name_, " link set ", there_, " up"), Cat("ip -n ", name_, " link set lo up")}) {
      if (!Command(command)) return false;
    }
    return true;
  }

  const std::string name_ = Cat("weir", getpid());
  const std::string here_ = Cat("wr", getpid(), "a"), there_ = Cat("wr", getpid(), "b");
  std::string ip_, net_;
  int here_address_ = 0, there_address_ = 0;
};

}  // namespace weir

#endif  // WEIR_TESTS_NETWORK_LINK_H_
