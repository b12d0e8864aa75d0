#include "pkg/extender/ledger/gang_notices.h"

#include <utility>

namespace yardmaster::extender {

std::vector<ObjectNotice> OnOwnerAndPod(ObjectNotice on_owner, const gather::GatheredGang* pods) {
  std::vector<ObjectNotice> notices = {std::move(on_owner)};
  if (pods == nullptr || pods->members.empty()) return notices;
  const api::ObjectMeta& pod = pods->members.front().pod->metadata;
  notices.push_back(notices.front());
  notices.back().regarding = {"v1", "Pod", pod.name, pod.uid, false};
  return notices;
}

}  // namespace yardmaster::extender
