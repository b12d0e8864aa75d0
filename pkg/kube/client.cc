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
  return {PatchType::kJson, Dump(operations), "", false};
}

PatchBody MergePatch(const nlohmann::json& body) {
  return {PatchType::kMerge, Dump(body), "", false};
}

PatchBody ApplyPatch(const nlohmann::json& object, std::string_view field_manager, bool force) {
  return {PatchType::kApply, Dump(object), std::string(field_manager), force};
}

absl::StatusOr<ListPage> ListAll(Client& client, const Target& target, const ListOptions& options) {
  for (int restart = 0;; ++restart) {
    ListPage all;
    ListOptions page_options = options;
    absl::Status status;
    do {
      absl::StatusOr<ListPage> page = client.List(target, page_options);
      status = page.status();
      if (!status.ok()) break;
      if (all.items.empty()) {
        all.items = std::move(page->items);
      } else {
        all.items.insert(all.items.end(), page->items.begin(), page->items.end());
      }
      all.resource_version = page->resource_version;
      page_options.continue_token = page->continue_token;
    } while (!page_options.continue_token.empty());
    if (status.ok()) return all;
    if (!absl::IsOutOfRange(status) || restart == kMaxListRestarts) return status;
  }
}

}  // namespace yardmaster::kube
