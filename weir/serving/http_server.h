// HttpServer: HTTP/1.1 for one handler, with limits on everything that a client sends.
//
// One thread waits for all connections and reads their requests; whole requests go to a few threads that call the
// handler and write its answer. A slow or silent client so costs a buffer, never a thread, and is hung up on when its
// time is over. Connections are kept alive; pipelined requests are answered in their order. Bodies may come in chunks
// and compressed by gzip.
#ifndef WEIR_SERVING_HTTP_SERVER_H_
#define WEIR_SERVING_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/base/status.h"
#include "weir/base/thread_pool.h"

namespace weir {

struct HttpRequest {
  std::string method;
  std::string path;                            // without the query
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // decompressed
  bool keep_alive = true;
  std::string_view Header(const std::string& name) const {
    auto found = headers.find(name);
    return found != headers.end() ? std::string_view(found->second) : std::string_view();
  }
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

struct HttpOptions {
  std::string host = "0.0.0.0";
  int port = 0;  // 0: a free one
  int num_threads = 4;
  int max_connections = 10'000;
  size_t max_head_bytes = 64 << 10;
  size_t max_body_bytes = INT32_MAX;
  absl::Duration idle_timeout = absl::Seconds(60);     // between requests
  absl::Duration request_timeout = absl::Seconds(30);  // from the first byte of a request to its last, and for answers
};

// Reads requests from bytes as they come.
class HttpParser {
 public:
  HttpParser(size_t max_head, size_t max_body) : max_head_(max_head), max_body_(max_body) {}
  // Takes a request off the front of `bytes`. False if more bytes are needed. An error ends the connection; its code
  // says what to answer: INVALID_ARGUMENT 400, RESOURCE_EXHAUSTED 413, UNIMPLEMENTED 501.
  StatusOr<bool> Take(std::string* bytes, HttpRequest* request) const;
  // Whether the head has come and says that the body will follow once the server agrees.
  bool AwaitsContinue(std::string_view bytes) const;

 private:
  StatusOr<bool> TakeChunks(std::string_view bytes, size_t* end, std::string* body) const;
  const size_t max_head_;
  const size_t max_body_;
};

// Thread-safe.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  // UNAVAILABLE if the address cannot be had.
  static StatusOr<std::unique_ptr<HttpServer>> Start(const HttpOptions& options, Handler handler);
  // Waits for handlers that run.
  ~HttpServer();
  int port() const { return port_; }

 private:
  struct Connection;
  HttpServer(const HttpOptions& options, Handler handler, int listener, int port);
  void Loop();
  void Accept();
  void Receive(Connection* connection);
  void StartNext(Connection* connection);
  void Handle(Connection* connection);
  void Answer(Connection* connection, const HttpResponse& response, bool keep_alive);
  void Send(Connection* connection);
  void Close(Connection* connection);
  void CloseLate();
  void Watch(Connection* connection, uint32_t events);

  const HttpOptions options_;
  const Handler handler_;
  const HttpParser parser_;
  const int listener_;
  const int port_;
  int epoll_ = -1;
  int wake_ = -1;                                                   // an eventfd: answers are ready, or the server ends
  std::map<Connection*, std::unique_ptr<Connection>> connections_;  // of the loop's thread
  absl::Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Connection*> answered_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<ThreadPool> pool_;
  std::thread thread_;
};

}  // namespace weir

#endif  // WEIR_SERVING_HTTP_SERVER_H_
