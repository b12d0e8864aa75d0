#include "pkg/rpc/agent_server.h"

#include <chrono>
#include <cstring>
#include <deque>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "pkg/base/mutex.h"
#include "pkg/base/strings.h"
#include "pkg/rpc/agent.grpc.pb.h"
#include "pkg/rpc/conversion.h"
#include "pkg/rpc/credentials.h"

namespace yardmaster::rpc {

namespace {

constexpr std::string_view kUnix = "unix:";
// A status request names one node and one pod; a report has some dozens of numbers.
constexpr int kMaxRequestBytes = 4096;
constexpr unsigned kTlsReloadSeconds = 10;

bool IsUnix(std::string_view address) { return address.substr(0, kUnix.size()) == kUnix; }

class Service final : public agent::v1::Agent::Service {
 public:
  Service(AgentServer::StatusSource source, AgentServer::ReportSink sink)
      : source_(std::move(source)), sink_(std::move(sink)) {}

  grpc::Status Status(grpc::ServerContext*, const agent::v1::StatusRequest* request,
                      agent::v1::StatusResponse* response) override {
    *response = ToProto(Filtered(source_(), {request->node(), request->pod_uid()}));
    return grpc::Status::OK;
  }

  grpc::Status ReportIterations(grpc::ServerContext*, const agent::v1::IterationReport* request,
                                agent::v1::IterationReply*) override {
    if (!sink_) return {grpc::StatusCode::UNIMPLEMENTED, "this agent takes no reports"};
    const absl::Status taken = sink_(FromProto(*request));
    // The codes of the two are the same numbers.
    return {static_cast<grpc::StatusCode>(taken.code()), MessageOf(taken)};
  }

 private:
  const AgentServer::StatusSource source_;
  const AgentServer::ReportSink sink_;
};

absl::Status CheckOptions(const AgentServerOptions& options) {
  if (options.addresses.empty()) {
    return FieldError("--grpc-bind-address", "is empty", "give unix:/path or host:port");
  }
  const TlsFiles& tls = options.tls;
  if (!tls.empty() && !tls.complete()) {
    return FieldError("gRPC TLS", "certificate, key and authority belong together",
                      "give all three files or none");
  }
  for (const std::string& address : options.addresses) {
    if (IsUnix(address)) {
      if (address.size() - kUnix.size() >= sizeof(sockaddr_un::sun_path)) {
        return FieldError("--grpc-bind-address", StrCat(address, " is too long for a unix socket"),
                          "use a path below 108 bytes");
      }
    } else if (address.rfind(':') == std::string::npos) {
      return FieldError("--grpc-bind-address", StrCat("\"", address, "\" has no port"),
                        "write host:port or unix:/path");
    } else if (tls.empty() && !IsLoopback(address)) {
      return FieldError("--grpc-bind-address", StrCat(address, " would serve every client"),
                        "give certificates, or bind to loopback or a unix socket");
    }
  }
  return absl::OkStatus();
}

// A socket file that a killed process left behind would make the bind fail. Anything else of that
// name is left alone.
void RemoveOldSocket(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) ::unlink(path.c_str());
}

}  // namespace

class AgentServer::Impl {
 public:
  Impl(StatusSource source, ReportSink sink) : service_(std::move(source), std::move(sink)) {}

  absl::Status Start(const AgentServerOptions& options) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
    // Two agents on one port would each answer half of the calls.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.RegisterService(&service_);
    for (const std::string& address : options.addresses) {
      if (IsUnix(address)) RemoveOldSocket(address.substr(kUnix.size()));
      const bool local = IsUnix(address);
      builder.AddListeningPort(
          ListeningAddress(address),
          ServerCredentialsOf(local ? TlsFiles() : options.tls, kTlsReloadSeconds),
          &ports_.emplace_back(0));
    }
    std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      if (server == nullptr || ports_[i] == 0) {
        return absl::UnavailableError(StrCat(
            "cannot serve gRPC on ", Join(options.addresses, ", "),
            ": is the address in use, the folder missing, or a certificate file unreadable?"));
      }
      const std::string& address = options.addresses[i];
      if (IsUnix(address)) {
        ::chmod(address.substr(kUnix.size()).c_str(), 0660);
        ports_[i] = 0;
      }
    }
    {
      const MutexLock lock(mutex_);
      server_ = std::move(server);
    }
    SetServing(false);
    return absl::OkStatus();
  }

  void SetServing(bool serving) {
    const MutexLock lock(mutex_);
    if (server_ == nullptr) return;
    grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
    health->SetServingStatus(serving);
    health->SetServingStatus(agent::v1::Agent::service_full_name(), serving);
  }

  int port(std::size_t i) const { return ports_.at(i); }

  void Stop(std::int64_t timeout_ms) {
    std::unique_ptr<grpc::Server> server;
    {
      const MutexLock lock(mutex_);
      server = std::move(server_);
    }
    if (server == nullptr) return;
    server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms));
    server->Wait();
  }

 private:
  Service service_;
  std::deque<int> ports_;  // gRPC keeps pointers to its elements until the server has started
  Mutex mutex_;
  std::unique_ptr<grpc::Server> server_ ABSL_GUARDED_BY(mutex_);  // null: it does not run
};

absl::StatusOr<std::unique_ptr<AgentServer>> AgentServer::Start(const AgentServerOptions& options,
                                                                StatusSource source,
                                                                ReportSink sink) {
  YM_RETURN_IF_ERROR(CheckOptions(options));
  auto impl = std::make_unique<Impl>(std::move(source), std::move(sink));
  YM_RETURN_IF_ERROR(impl->Start(options));
  return std::unique_ptr<AgentServer>(new AgentServer(std::move(impl)));
}

AgentServer::AgentServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AgentServer::~AgentServer() { impl_->Stop(0); }
void AgentServer::SetServing(bool serving) { impl_->SetServing(serving); }
int AgentServer::port(std::size_t i) const { return impl_->port(i); }
void AgentServer::Stop(std::int64_t timeout_ms) { impl_->Stop(timeout_ms); }

}  // namespace yardmaster::rpc
