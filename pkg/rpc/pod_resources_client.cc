#include "pkg/rpc/pod_resources_client.h"

#include <chrono>
#include <grpcpp/create_channel.h>
#include <grpcpp/grpcpp.h>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/rpc/pod_resources.grpc.pb.h"

namespace yardmaster::rpc {

namespace {

// A node has some hundred pods with some ten devices each.
constexpr int kMaxAnswerBytes = 16 * 1024 * 1024;

std::vector<PodDevices> FromAnswer(const v1::ListPodResourcesResponse& answer) {
  std::vector<PodDevices> pods;
  for (const v1::PodResources& entry : answer.pod_resources()) {
    PodDevices pod{entry.namespace_(), entry.name(), {}};
    for (const v1::ContainerResources& container : entry.containers()) {
      for (const v1::ContainerDevices& devices : container.devices()) {
        for (const std::string& id : devices.device_ids()) {
          pod.devices.push_back({devices.resource_name(), id});
        }
      }
    }
    if (!pod.devices.empty()) pods.push_back(std::move(pod));
  }
  return pods;
}

}  // namespace

class PodResourcesClient::Impl {
 public:
  explicit Impl(const std::string& socket) : socket_(socket) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
    // Kubelet's server refuses the path of a socket as an authority.
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
    stub_ = v1::PodResourcesLister::NewStub(grpc::CreateCustomChannel(
        StrCat("unix:", socket), grpc::InsecureChannelCredentials(), arguments));
  }

  absl::StatusOr<std::vector<PodDevices>> List(std::int64_t timeout_ms) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms));
    v1::ListPodResourcesResponse answer;
    const grpc::Status status = stub_->List(&context, v1::ListPodResourcesRequest(), &answer);
    if (!status.ok()) {
      return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                          StrCat("kubelet at ", socket_, ": ", status.error_message()));
    }
    return FromAnswer(answer);
  }

 private:
  const std::string socket_;
  std::unique_ptr<v1::PodResourcesLister::Stub> stub_;
};

PodResourcesClient::PodResourcesClient(const std::string& socket)
    : impl_(std::make_unique<Impl>(socket)) {}
PodResourcesClient::~PodResourcesClient() = default;

absl::StatusOr<std::vector<PodDevices>> PodResourcesClient::List(std::int64_t timeout_ms) const {
  return impl_->List(timeout_ms);
}

absl::StatusOr<std::vector<PodDevices>> ParsePodResources(std::string_view bytes) {
  v1::ListPodResourcesResponse answer;
  if (!answer.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("not a ListPodResourcesResponse");
  }
  return FromAnswer(answer);
}

}  // namespace yardmaster::rpc
