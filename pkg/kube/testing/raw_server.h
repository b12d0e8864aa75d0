// A server on loopback that says exactly what a test tells it to, right or wrong, over TCP or TLS.
// Thread safety: the handler runs on a thread per connection; the counters from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pkg/base/mutex.h"

namespace yardmaster::kube {

// One accepted connection. Blocking; ends when the server is destroyed.
class RawConnection {
 public:
  virtual ~RawConnection() = default;
  // Up to some KB; empty at the end of the stream or on an error.
  virtual std::string Read() = 0;
  // False once the peer is gone.
  virtual bool Write(std::string_view data) = 0;
  // The client's certificate's common name; empty without one.
  virtual std::string PeerName() = 0;

  // Reads up to and including the empty line after the headers, plus a body of Content-Length.
  std::string ReadRequest();

 private:
  std::string buffered_;
};

struct RawServerTls {
  std::string cert_pem;
  std::string key_pem;
  // Not empty: clients must show a certificate of this authority.
  std::string client_ca_pem;
};

class RawServer {
 public:
  using Handler = std::function<void(RawConnection&)>;
  // The connection is closed when the handler returns.
  explicit RawServer(Handler handler);
  RawServer(RawServerTls tls, Handler handler);
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  int port() const { return port_; }
  int connections() const { return connections_.load(); }

 private:
  void Listen();
  void AcceptLoop();
  void Serve(int fd);

  const Handler handler_;
  std::shared_ptr<void> tls_context_;  // SSL_CTX
  int listen_fd_ = -1;
  int port_ = 0;
  std::atomic<int> connections_{0};
  Mutex mutex_;
  std::vector<int> open_fds_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
  std::thread acceptor_;
};

}  // namespace yardmaster::kube
