#include "pkg/rpc/testing/agent_client.h"

#include <chrono>
#include <grpcpp/create_channel.h>
#include <grpcpp/grpcpp.h>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/rpc/agent.grpc.pb.h"
#include "pkg/rpc/credentials.h"
#include "pkg/rpc/testing/client_conversion.h"
#include "pkg/rpc/testing/health.grpc.pb.h"

namespace yardmaster::rpc {

namespace {

absl::Status FromGrpc(const grpc::Status& status, const std::string& target) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      StrCat("agent at ", target, ": ", status.error_message()));
}

void SetDeadline(grpc::ClientContext& context, std::int64_t timeout_ms) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms));
}

}  // namespace

class AgentClient::Impl {
 public:
  Impl(std::string target, const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : target_(std::move(target)),
        channel_(grpc::CreateChannel(target_, credentials)),
        stub_(agent::v1::Agent::NewStub(channel_)),
        health_(grpc::health::v1::Health::NewStub(channel_)) {}

  absl::StatusOr<AgentStatus> Status(const StatusFilter& filter, std::int64_t timeout_ms) const {
    grpc::ClientContext context;
    SetDeadline(context, timeout_ms);
    agent::v1::StatusRequest request;
    request.set_node(filter.node);
    request.set_pod_uid(filter.pod_uid);
    agent::v1::StatusResponse response;
    YM_RETURN_IF_ERROR(FromGrpc(stub_->Status(&context, request, &response), target_));
    return FromProto(response);
  }

  absl::Status Report(const IterationReport& report, std::int64_t timeout_ms) const {
    grpc::ClientContext context;
    SetDeadline(context, timeout_ms);
    agent::v1::IterationReply reply;
    return FromGrpc(stub_->ReportIterations(&context, ToProto(report), &reply), target_);
  }

  absl::StatusOr<bool> Serving(std::int64_t timeout_ms) const {
    grpc::ClientContext context;
    SetDeadline(context, timeout_ms);
    grpc::health::v1::HealthCheckResponse response;
    YM_RETURN_IF_ERROR(FromGrpc(health_->Check(&context, {}, &response), target_));
    return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  }

 private:
  const std::string target_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<agent::v1::Agent::Stub> stub_;
  const std::unique_ptr<grpc::health::v1::Health::Stub> health_;
};

absl::StatusOr<std::unique_ptr<AgentClient>> AgentClient::Create(const std::string& target,
                                                                 const TlsFiles& tls) {
  YM_ASSIGN_OR_RETURN(auto credentials, ChannelCredentialsOf(tls));
  return std::unique_ptr<AgentClient>(new AgentClient(std::make_unique<Impl>(target, credentials)));
}

AgentClient::AgentClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AgentClient::~AgentClient() = default;

absl::StatusOr<AgentStatus> AgentClient::Status(const StatusFilter& filter,
                                                std::int64_t timeout_ms) const {
  return impl_->Status(filter, timeout_ms);
}
absl::Status AgentClient::Report(const IterationReport& report, std::int64_t timeout_ms) const {
  return impl_->Report(report, timeout_ms);
}
absl::StatusOr<bool> AgentClient::Serving(std::int64_t timeout_ms) const {
  return impl_->Serving(timeout_ms);
}

}  // namespace yardmaster::rpc
