// WebhookServer is the HTTPS server for kube-scheduler: it routes the webhook's verbs, checks
// client certificates, watches the certificate files, and runs bindings on worker threads, because
// these wait for the API server. If configured, a second server answers the API server's admission
// calls (extender/webhook/gate_admission.h). The API server sends no client certificate, so that
// server has its own port.
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
  // Common names or DNS names of permitted clients; "*": all with a certificate of client_ca_file.
  std::vector<std::string> client_names = {"kube-scheduler"};
  std::string gate_bind_address;  // address of POST /gate, for every client; empty: none
};

class WebhookServer {
 public:
  WebhookServer(const WebhookServerOptions& options, extender::Webhook& webhook,
                extender::Binder& binder, Runtime& runtime)
      : options_(options), webhook_(webhook), binder_(binder), runtime_(runtime) {}

  // `fresh`: checks whether the webhook's state is recent enough. Filter, prioritize and preempt
  // answer its errors with 503; bind and gate do not use it. Errors: what could not be read or
  // bound, with the flag.
  absl::Status Start(std::function<absl::Status()> fresh);
  // Accepts no more connections, and waits for the last call of the open ones.
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
  std::unique_ptr<http::Server> gate_server_;  // null: not configured
  std::unique_ptr<tls::CertificateWatcher> certificates_;
};

}  // namespace yardmaster::app
