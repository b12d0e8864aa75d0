#include "pkg/app/webhook_server.h"

#include <chrono>
#include <thread>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/webhook/gate_admission.h"
#include "pkg/metrics/endpoints.h"
#include "pkg/tls/certificate_names.h"

namespace yardmaster::app {

namespace {

constexpr std::int64_t kCertificatePollMs = 10'000;
constexpr int kBindThreads = 8;
// A review holds one pod, which etcd takes up to 1.5 MiB of.
constexpr std::size_t kReviewBytes = std::size_t{4} << 20;

// `fresh`: whether there is anything to answer from. kube-scheduler tries again after an error.
http::Handler Answer(metrics::Histogram seconds, std::function<absl::Status()> fresh,
                     std::function<absl::StatusOr<std::string>(std::string_view)> call) {
  return [seconds, fresh = std::move(fresh), call = std::move(call)](const http::Request& request,
                                                                     const http::Done& done) {
    if (const absl::Status status = fresh(); !status.ok()) {
      return done(http::ErrorResponse(503, MessageOf(status)));
    }
    const auto began = std::chrono::steady_clock::now();
    auto body = call(request.body);
    seconds.Observe(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    if (body.ok()) return done(http::JsonResponse(200, *std::move(body)));
    done(http::ErrorResponse(400, MessageOf(body.status())));
  };
}

}  // namespace

void WebhookServer::AddVerb(const char* verb, std::function<absl::Status()> fresh,
                            std::function<absl::StatusOr<std::string>(std::string_view)> call) {
  const metrics::Histogram seconds =
      runtime_.registry().GetHistogram("yardmaster_extender_webhook_seconds", "time in the handler",
                                       metrics::LatencyBuckets(), {{"verb", verb}});
  router_->Add("POST", StrCat("/", verb), Answer(seconds, std::move(fresh), std::move(call)));
}

void WebhookServer::AddBind() {
  bind_workers_ = std::make_unique<http::EventLoop>([this] {
    runtime_.log().Error("bind", {{"error", "a binding threw an exception"}});
  });
  bind_workers_->Start(kBindThreads);
  router_->Add("POST", "/bind", [this](http::Request request, http::Done done) {
    bind_workers_->Post([this, request = std::move(request), done = std::move(done)] {
      extender::ArgsReader reader;
      const auto args = reader.ReadBind(request.body);
      if (!args.ok()) return done(http::ErrorResponse(400, MessageOf(args.status())));
      const absl::Status bound = binder_.Bind(webhook_.view().get(), *args);
      done(http::JsonResponse(200, extender::EncodeBindResult(MessageOf(bound))));
    });
  });
}

absl::Status WebhookServer::MakeServer() {
  YM_ASSIGN_OR_RETURN(http::ServerOptions http, ParseBindAddress(options_.bind_address));
  if (!options_.client_ca_file.empty()) {
    http.trusts = [names = options_.client_names](const tls::CertificateNames& client) {
      return tls::HasAllowedName(client, names);
    };
  }
  server_ = std::make_unique<http::Server>(std::move(http), http::HandlerOf(router_));
  return absl::OkStatus();
}

absl::Status WebhookServer::MakeGateServer() {
  if (options_.gate_bind_address.empty()) return absl::OkStatus();
  YM_ASSIGN_OR_RETURN(http::ServerOptions http, ParseBindAddress(options_.gate_bind_address));
  http.limits.body_bytes = kReviewBytes;
  http.limits.total_body_bytes = 16 * kReviewBytes;
  const metrics::Histogram seconds =
      runtime_.registry().GetHistogram("yardmaster_extender_webhook_seconds", "time in the handler",
                                       metrics::LatencyBuckets(), {{"verb", "gate"}});
  auto router = std::make_shared<http::Router>();
  router->Add("POST", "/gate",
              Answer(
                  seconds, [] { return absl::OkStatus(); }, extender::AdmitBehindGate));
  gate_server_ = std::make_unique<http::Server>(std::move(http), http::HandlerOf(router));
  return absl::OkStatus();
}

absl::Status WebhookServer::UseCertificates(const tls::CertificateFiles& files) {
  if (gate_server_ != nullptr) {
    YM_RETURN_IF_ERROR(gate_server_->SetTls({files.certificate_pem, files.key_pem}));
  }
  return server_->SetTls({files.certificate_pem, files.key_pem, files.client_ca_pem});
}

void WebhookServer::WatchCertificates() {
  certificates_ = std::make_unique<tls::CertificateWatcher>(
      tls::CertificatePaths{options_.tls_cert_file, options_.tls_key_file, options_.client_ca_file},
      tls::CertificateWatcher::Callbacks{
          [this](const tls::CertificateFiles& files) { return UseCertificates(files); },
          [this](const absl::Status& status) {
            if (status.ok()) return runtime_.log().Info("certificates in use");
            runtime_.log().Error("certificates", {{"error", MessageOf(status)}});
          }});
}

absl::Status WebhookServer::Start(std::function<absl::Status()> fresh) {
  AddVerb("filter", fresh, [this](std::string_view body) { return webhook_.Filter(body); });
  AddVerb("prioritize", fresh, [this](std::string_view body) { return webhook_.Prioritize(body); });
  AddVerb("preempt", fresh, [this](std::string_view body) { return webhook_.Preempt(body); });
  AddBind();
  YM_RETURN_IF_ERROR(MakeServer());
  YM_RETURN_IF_ERROR(Annotate(MakeGateServer(), "--gate-bind-address"));
  WatchCertificates();
  YM_RETURN_IF_ERROR(
      Annotate(certificates_->Poll(), "--tls-cert-file, --tls-key-file, --client-ca-file"));
  YM_RETURN_IF_ERROR(Annotate(server_->Start(), StrCat("--bind-address ", options_.bind_address)));
  std::vector<metrics::NamedServer> servers = {{"webhook", server_.get()}};
  if (gate_server_ != nullptr) {
    YM_RETURN_IF_ERROR(Annotate(gate_server_->Start(),
                                StrCat("--gate-bind-address ", options_.gate_bind_address)));
    servers.push_back({"gate", gate_server_.get()});
  }
  certificates_->Start(kCertificatePollMs);
  metrics::ExportServers(runtime_.registry(), servers);
  return absl::OkStatus();
}

absl::Status WebhookServer::Drain(std::int64_t max_ms) {
  // What is left of an admission call is cut by Stop; the API server then follows its
  // failurePolicy.
  std::jthread gate;
  if (gate_server_ != nullptr) {
    gate = std::jthread([this, max_ms] { gate_server_->Drain(max_ms).IgnoreError(); });
  }
  return server_ == nullptr ? absl::OkStatus() : server_->Drain(max_ms);
}

void WebhookServer::Stop() {
  if (certificates_) certificates_->Stop();
  if (gate_server_) gate_server_->Stop();
  if (server_) server_->Stop();
  if (bind_workers_) bind_workers_->StopNow();
}

}  // namespace yardmaster::app
