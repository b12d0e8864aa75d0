// A client that forwards reads and refuses every write. In Observe mode it backs up the missing
// rights of the process.
//
// Thread safety: as Client.
#pragma once

#include <memory>
#include <utility>

#include "pkg/kube/client.h"

namespace yardmaster::kube {

class ReadOnlyClient : public Client {
 public:
  explicit ReadOnlyClient(std::unique_ptr<Client> inner) : inner_(std::move(inner)) {}

  absl::StatusOr<nlohmann::json> Get(const Target& target) override;
  absl::StatusOr<PageEnd> ReadPage(const Target& target, const ListOptions& options,
                                   const OnObject& on_object) override;
  absl::Status Watch(const Target& target, const WatchOptions& options, std::stop_token stop,
                     const std::function<void(const WatchEvent&)>& on_event) override;
  // PermissionDenied, without a call, also of a dry run: admission plugins of others may act on it.
  absl::StatusOr<nlohmann::json> Create(const Target& target, const nlohmann::json& object,
                                        const WriteOptions& options) override;
  absl::StatusOr<nlohmann::json> Replace(const Target& target, const nlohmann::json& object,
                                         const WriteOptions& options) override;
  absl::StatusOr<nlohmann::json> Patch(const Target& target, const PatchBody& patch,
                                       const WriteOptions& options) override;
  absl::Status Delete(const Target& target, const DeleteOptions& options) override;

 private:
  std::unique_ptr<Client> inner_;
};

}  // namespace yardmaster::kube
