// What a Service does in front of its replicas, on one port of loopback: a new connection goes to
// one of the endpoints in use, in turn; one that is established stays with its replica until an end
// closes it, also after the replica has left the endpoints. Bytes and the end of each direction are
// passed on as they come.
//
// An endpoint is in use while its replica is not terminating and answers /readyz with 200. A change
// of either takes effect `delay_ms` later, as it does on its way through EndpointSlices to every
// node.
//
// Thread safety: all methods from any thread. The destructor cuts every connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "pkg/base/mutex.h"
#include "pkg/base/unique_fd.h"

namespace yardmaster::testing {

class Balancer {
 public:
  struct Options {
    int port = 0;  // 0: the kernel's choice
    std::int64_t probe_ms = 500;
    std::int64_t delay_ms = 1'000;
    // Of bytes and ends, each way: far more than in a cluster, so that what is sent meets what is
    // on its way.
    std::int64_t latency_ms = 10;
  };

  explicit Balancer(Options options);
  ~Balancer();
  Balancer(const Balancer&) = delete;
  Balancer& operator=(const Balancer&) = delete;

  int port() const { return port_; }
  // A replica that serves on `port` and answers probes on `health_port`.
  void Add(int port, int health_port);
  // Its pod has been deleted.
  void Terminate(int port);
  // Whether new connections go there.
  bool Uses(int port) const;
  // That were handed to this replica.
  std::int64_t connections(int port) const;
  // Connections for which there was no endpoint, or whose replica did not take them.
  std::int64_t refused() const { return refused_; }

 private:
  struct Endpoint {
    int port;
    int health_port;
    bool terminating = false;
    bool ready = false;
    bool used = false;
    std::int64_t changed_ms = 0;  // since when `used` is not what it should be
    std::int64_t connections = 0;
  };

  void Accept(const std::stop_token& stop);
  void Probe(const std::stop_token& stop);
  void Follow(std::int64_t now_ms);
  std::optional<int> Next();
  void Serve(UniqueFd client, const std::stop_token& stop);

  const Options options_;
  UniqueFd listener_;
  int port_ = 0;
  std::atomic<std::int64_t> refused_{0};
  mutable Mutex mutex_;
  std::vector<Endpoint> endpoints_ ABSL_GUARDED_BY(mutex_);
  std::size_t turn_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::jthread> connections_;  // of the accepting thread
  std::jthread accepting_;
  std::jthread probing_;
};

}  // namespace yardmaster::testing
