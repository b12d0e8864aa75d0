#include "pkg/kube/client.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"

namespace yardmaster::kube {
namespace {

constexpr int kMaxListRestarts = 3;

// Texts inside our own objects may hold bytes that are no UTF-8 (a log line in a condition): they
// are replaced, since nlohmann would otherwise throw.
std::string Dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

PatchBody JsonPatch(const nlohmann::json& operations) {
  return {PatchType::kJson, Dump(operations)};
}

PatchBody MergePatch(const nlohmann::json& body) { return {PatchType::kMerge, Dump(body)}; }

bool EndsInitialEvents(const WatchEvent& bookmark) {
  return bookmark.type == WatchEventType::kBookmark &&
         StringAt(bookmark.object, {"metadata", "annotations", "k8s.io/initial-events-end"}) ==
             "true";
}

namespace {

ObjectPtr DocumentOf(JsonView object, const Resource& resource) {
  nlohmann::json item = object.ToJson();
  if (!item.contains("apiVersion")) item["apiVersion"] = resource.ApiVersion();
  if (!item.contains("kind")) item["kind"] = resource.kind;
  return std::make_shared<const nlohmann::json>(std::move(item));
}

}  // namespace

ListOptions NextPage(ListOptions options, const PageEnd& end, int most) {
  options.continue_token = end.continue_token;
  options.limit = end.cut_to > 0 ? end.cut_to : std::min(2 * options.limit, most);
  return options;
}

absl::Status ReadAll(Client& client, const Target& target, const std::function<void()>& begin,
                     const OnObject& on_object, const ListOptions& options) {
  ListOptions next = options;
  for (int restart = 0;; ++restart) {
    begin();
    absl::StatusOr<PageEnd> end = PageEnd{};
    do {
      next = NextPage(std::move(next), *end, options.limit);
      end = client.ReadPage(target, next, on_object);
    } while (end.ok() && !end->continue_token.empty());
    if (!absl::IsOutOfRange(end.status()) || restart == kMaxListRestarts) return end.status();
  }
}

absl::StatusOr<std::vector<ObjectPtr>> ListAll(Client& client, const Target& target,
                                               const ListOptions& options) {
  std::vector<ObjectPtr> all;
  YM_RETURN_IF_ERROR(ReadAll(
      client, target, [&] { all.clear(); },
      [&](JsonView object) { all.push_back(DocumentOf(object, target.resource)); }, options));
  return all;
}

}  // namespace yardmaster::kube
