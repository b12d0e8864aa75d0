#include "pkg/cli/testing/reading_connector.h"

#include <utility>

#include "nlohmann/json.hpp"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

class ReadingClient final : public kube::Client {
 public:
  explicit ReadingClient(kube::Client& client) : client_(client) {}

  absl::StatusOr<json> Get(const kube::Target& target) override { return client_.Get(target); }
  absl::StatusOr<kube::PageEnd> ReadPage(const kube::Target& target,
                                         const kube::ListOptions& options,
                                         const kube::OnObject& on_object) override {
    return client_.ReadPage(target, options, on_object);
  }
  absl::StatusOr<json> Create(const kube::Target&, const json&,
                              const kube::WriteOptions&) override {
    return Refused();
  }
  absl::StatusOr<json> Replace(const kube::Target&, const json&,
                               const kube::WriteOptions&) override {
    return Refused();
  }
  absl::StatusOr<json> Patch(const kube::Target&, const kube::PatchBody&,
                             const kube::WriteOptions&) override {
    return Refused();
  }
  absl::Status Delete(const kube::Target&, const kube::DeleteOptions&) override {
    return Refused();
  }
  absl::Status Watch(const kube::Target&, const kube::WatchOptions&, std::stop_token,
                     const std::function<void(const kube::WatchEvent&)>&) override {
    return Refused();
  }

 private:
  static absl::Status Refused() { return absl::InternalError("the verbs only read"); }

  kube::Client& client_;
};

}  // namespace

Connector ReadingConnector(kube::Client& client, std::string default_namespace) {
  return [&client, ns = std::move(default_namespace)](
             const ClusterFlags&) -> absl::StatusOr<ClusterConnection> {
    ClusterConnection connection;
    connection.client = std::make_unique<ReadingClient>(client);
    connection.default_namespace = ns;
    return connection;
  };
}

}  // namespace yardmaster::cli
