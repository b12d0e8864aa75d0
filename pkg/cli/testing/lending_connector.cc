#include "pkg/cli/testing/lending_connector.h"

#include <memory>
#include <utility>

#include "nlohmann/json.hpp"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

// Lends a client to a ClusterConnection, which owns what it has.
class Lent : public kube::Client {
 public:
  explicit Lent(kube::Client& client) : client_(client) {}
  absl::StatusOr<json> Get(const kube::Target& target) override { return client_.Get(target); }
  absl::StatusOr<kube::PageEnd> ReadPage(const kube::Target& target,
                                         const kube::ListOptions& options,
                                         const kube::OnObject& on_object) override {
    return client_.ReadPage(target, options, on_object);
  }
  absl::StatusOr<json> Create(const kube::Target& target, const json& object,
                              const kube::WriteOptions& options) override {
    return client_.Create(target, object, options);
  }
  absl::StatusOr<json> Replace(const kube::Target& target, const json& object,
                               const kube::WriteOptions& options) override {
    return client_.Replace(target, object, options);
  }
  absl::StatusOr<json> Patch(const kube::Target& target, const kube::PatchBody& patch,
                             const kube::WriteOptions& options) override {
    return client_.Patch(target, patch, options);
  }
  absl::Status Delete(const kube::Target& target, const kube::DeleteOptions& options) override {
    return client_.Delete(target, options);
  }
  absl::Status Watch(const kube::Target& target, const kube::WatchOptions& options,
                     std::stop_token stop,
                     const std::function<void(const kube::WatchEvent&)>& on_event) override {
    return client_.Watch(target, options, stop, on_event);
  }

 private:
  kube::Client& client_;
};

class LentForReading final : public Lent {
 public:
  using Lent::Lent;
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
};

}  // namespace

Connector LendingConnector(kube::Client& client, const Clock& clock,
                           std::string default_namespace) {
  return [&client, &clock, ns = std::move(default_namespace)](
             const ClusterFlags&) -> absl::StatusOr<ClusterConnection> {
    ClusterConnection connection;
    connection.client = std::make_unique<Lent>(client);
    connection.default_namespace = ns;
    connection.now_ms = clock.WallMs();
    return connection;
  };
}

Connector ReadingConnector(kube::Client& client, std::string default_namespace) {
  return [&client, ns = std::move(default_namespace)](
             const ClusterFlags&) -> absl::StatusOr<ClusterConnection> {
    ClusterConnection connection;
    connection.client = std::make_unique<LentForReading>(client);
    connection.default_namespace = ns;
    return connection;
  };
}

}  // namespace yardmaster::cli
