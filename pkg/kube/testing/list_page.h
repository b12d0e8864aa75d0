// One page of a collection, for tests of how lists are paged. Thread safety: as the client.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/kube/client.h"

namespace yardmaster::kube {

struct ListPage {
  std::vector<ObjectPtr> items = {};
  std::string resource_version = {};
  std::string continue_token = {};  // empty: the last page
};

inline absl::StatusOr<ListPage> ReadListPage(Client& client, const Target& target,
                                             const ListOptions& options) {
  ListPage page;
  YM_ASSIGN_OR_RETURN(PageEnd end, client.ReadPage(target, options, [&](JsonView object) {
    page.items.push_back(std::make_shared<const nlohmann::json>(object.ToJson()));
  }));
  page.resource_version = std::move(end.resource_version);
  page.continue_token = std::move(end.continue_token);
  return page;
}

}  // namespace yardmaster::kube
