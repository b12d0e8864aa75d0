#include "pkg/kube/read_only_client.h"

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::kube {

namespace {

absl::Status Refuse(const char* verb, const Target& target) {
  return absl::PermissionDeniedError(StrCat(
      verb, " ", Describe(target), ": refused, this process only observes (--mode=Observe)"));
}

}  // namespace

absl::StatusOr<nlohmann::json> ReadOnlyClient::Get(const Target& target) {
  return inner_->Get(target);
}

absl::StatusOr<PageEnd> ReadOnlyClient::ReadPage(const Target& target, const ListOptions& options,
                                                 const OnObject& on_object) {
  return inner_->ReadPage(target, options, on_object);
}

absl::Status ReadOnlyClient::Watch(const Target& target, const WatchOptions& options,
                                   std::stop_token stop,
                                   const std::function<void(const WatchEvent&)>& on_event) {
  return inner_->Watch(target, options, std::move(stop), on_event);
}

absl::StatusOr<nlohmann::json> ReadOnlyClient::Create(const Target& target,
                                                      const nlohmann::json& /*object*/,
                                                      const WriteOptions& /*options*/) {
  return Refuse("create", target);
}

absl::StatusOr<nlohmann::json> ReadOnlyClient::Replace(const Target& target,
                                                       const nlohmann::json& /*object*/,
                                                       const WriteOptions& /*options*/) {
  return Refuse("replace", target);
}

absl::StatusOr<nlohmann::json> ReadOnlyClient::Patch(const Target& target,
                                                     const PatchBody& /*patch*/,
                                                     const WriteOptions& /*options*/) {
  return Refuse("patch", target);
}

absl::Status ReadOnlyClient::Delete(const Target& target, const DeleteOptions& /*options*/) {
  return Refuse("delete", target);
}

}  // namespace yardmaster::kube
