// TLS 1.3 over a connection between two processes of a job.
//
// Without certificates the job's secret is the pre-shared key of the handshake: who does not know it cannot connect,
// and as the key exchange is Diffie-Hellman's, a secret that leaks later does not give away what was sent before. With
// certificates, both sides show one that the CA has signed; names in it are not looked at, because ranks are found by
// their addresses.
#ifndef WEIR_COLLECTIVE_TLS_H_
#define WEIR_COLLECTIVE_TLS_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "weir/base/status.h"
#include "weir/collective/place.h"

struct ssl_st;  // OpenSSL's SSL

namespace weir::collective {

// For one thread at a time.
class TlsSession {
 public:
  // `file` is a connected socket that does not block; it must outlive the session. INVALID_ARGUMENT if a file of the
  // options cannot be used.
  static StatusOr<std::unique_ptr<TlsSession>> Make(int file, const TlsOptions& options, const std::string& secret,
                                                    bool is_caller);
  ~TlsSession();

  // Goes on with the handshake. Returns 0 when it is done, else what to poll the socket for before the next call.
  // PERMISSION_DENIED if the sides do not accept each other, UNAVAILABLE if the connection is lost.
  StatusOr<short> Handshake();

  // As send(2) and recv(2) on a socket that does not block, errno included.
  ssize_t Send(const void* data, size_t bytes);
  ssize_t Receive(void* into, size_t bytes);
  // Whether bytes have come that poll(2) on the socket does not report.
  bool has_buffered() const;

 private:
  struct Deleter {
    void operator()(ssl_st* ssl) const;
  };
  TlsSession(std::unique_ptr<ssl_st, Deleter> ssl, const std::string& secret, bool is_caller);
  // What an operation that failed with `result` means for who expects errno.
  ssize_t Explain(int result, bool receives);
  // Gives out the key: the signature that OpenSSL's callbacks share after their first arguments.
  static unsigned GiveKey(ssl_st* ssl, unsigned char* key, unsigned max_bytes);

  const std::unique_ptr<ssl_st, Deleter> ssl_;
  const std::string secret_;
  const bool is_caller_;
};

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_TLS_H_
