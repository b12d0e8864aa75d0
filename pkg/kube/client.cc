#include "pkg/kube/client.h"

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

// One page after the other, beginning again as ReadAll says.
absl::StatusOr<PageEnd> ReadPages(Client& client, const Target& target, ListOptions options,
                                  const std::function<void()>& begin, const OnObject& on_object) {
  for (int restart = 0;; ++restart) {
    begin();
    absl::StatusOr<PageEnd> end = PageEnd{};
    do {
      options.continue_token = end->continue_token;
      end = client.ReadPage(target, options, on_object);
    } while (end.ok() && !end->continue_token.empty());
    if (end.ok() || !absl::IsOutOfRange(end.status()) || restart == kMaxListRestarts) return end;
  }
}

ObjectPtr DocumentOf(JsonView object, const Resource& resource) {
  nlohmann::json item = object.ToJson();
  if (!item.contains("apiVersion")) item["apiVersion"] = resource.ApiVersion();
  if (!item.contains("kind")) item["kind"] = resource.kind;
  return std::make_shared<const nlohmann::json>(std::move(item));
}

}  // namespace

absl::StatusOr<ListPage> List(Client& client, const Target& target, const ListOptions& options) {
  ListPage page;
  YM_ASSIGN_OR_RETURN(const PageEnd end, client.ReadPage(target, options, [&](JsonView object) {
    page.items.push_back(DocumentOf(object, target.resource));
  }));
  page.resource_version = end.resource_version;
  page.continue_token = end.continue_token;
  return page;
}

absl::Status ReadAll(Client& client, const Target& target, const std::function<void()>& begin,
                     const OnObject& on_object, const ListOptions& options) {
  return ReadPages(client, target, options, begin, on_object).status();
}

absl::StatusOr<ListPage> ListAll(Client& client, const Target& target, const ListOptions& options) {
  ListPage all;
  YM_ASSIGN_OR_RETURN(
      const PageEnd end,
      ReadPages(
          client, target, options, [&] { all.items.clear(); },
          [&](JsonView object) { all.items.push_back(DocumentOf(object, target.resource)); }));
  all.resource_version = end.resource_version;
  return all;
}

}  // namespace yardmaster::kube
