// FakeKubelet is kubelet's side of the PodResources socket. For tests only.
//
// Thread safety: `answer` is set before a client calls; `asked` may be read at any time.
#pragma once

#include <atomic>
#include <filesystem>
#include <grpcpp/grpcpp.h>
#include <memory>
#include <string>

#include "pkg/base/strings.h"
#include "pkg/rpc/pod_resources.grpc.pb.h"

namespace yardmaster::rpc {

class FakeKubelet final : public v1::PodResourcesLister::Service {
 public:
  explicit FakeKubelet(const std::string& socket) {
    std::filesystem::remove(socket);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(StrCat("unix:", socket), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* out) override {
    ++asked;
    *out = answer;
    return grpc::Status::OK;
  }

  v1::ListPodResourcesResponse answer;
  std::atomic<int> asked = 0;

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace yardmaster::rpc
