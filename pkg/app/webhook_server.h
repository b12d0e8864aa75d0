// The HTTPS server that answers kube-scheduler: the webhook's verbs over the router, client
// certificates, the watch of the certificate files, and worker threads for bindings, which wait for
// the API server. On request a second one for the API server's admission calls
// (extender/webhook/gate_admission.h), which brings no client certificate and so has a port of its
// own.
//
// Thread safety: Start, Drain and Stop from one thread. Lifetimes: everything passed in outlives
// the object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "pkg/app/runtime.h"
#include "pkg/extender/webhook/binder.h"
#include "pkg/extender/webhook/webhook.h"
#include "pkg/http/event_loop.h"
#include "pkg/http/router.h"
#include "pkg/http/server.h"
#include "pkg/tls/certificate_watcher.h"

namespace yardmaster::app {

struct WebhookServerOptions {
  std::string bind_address = ":8443";
  std::string tls_cert_file;
  std::string tls_key_file;
  std::string client_ca_file;  // empty: clients need no certificate
  // Common names or DNS names of clients that may call; "*": all that client_ca_file vouches for.
  std::vector<std::string> client_names = {"kube-scheduler"};
  std::string gate_bind_address;  // of POST /gate, for every client; empty: none
};

class WebhookServer {
 public:
  WebhookServer(const WebhookServerOptions& options, extender::Webhook& webhook,
                extender::Binder& binder, Runtime& runtime)
      : options_(options), webhook_(webhook), binder_(binder), runtime_(runtime) {}

  // `fresh`: whether the webhook knows enough of the cluster to answer. Filter, prioritize and
  // preempt answer its errors with 503; bind and gate do not ask it. Errors: what could not be read
  // or bound, naming the flag.
  absl::Status Start(std::function<absl::Status()> fresh);
  // Takes no more connections, and waits for the last call of those that are open.
  absl::Status Drain(std::int64_t max_ms);
  void Stop();

  int port() const { return server_->port(); }  // REQUIRES: started
  // 0 without --gate-bind-address. REQUIRES: started
  int gate_port() const { return gate_server_ == nullptr ? 0 : gate_server_->port(); }

 private:
  void AddVerb(const char* verb, std::function<absl::Status()> fresh,
               std::function<absl::StatusOr<std::string>(std::string_view)> call);
  void AddBind();
  absl::Status MakeServer();
  absl::Status MakeGateServer();
  absl::Status UseCertificates(const tls::CertificateFiles& files);
  void WatchCertificates();

  const WebhookServerOptions& options_;
  extender::Webhook& webhook_;
  extender::Binder& binder_;
  Runtime& runtime_;
  std::unique_ptr<http::EventLoop> bind_workers_;
  std::shared_ptr<http::Router> router_ = std::make_shared<http::Router>();
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<http::Server> gate_server_;  // null: none is asked for
  std::unique_ptr<tls::CertificateWatcher> certificates_;
};

}  // namespace yardmaster::app
