#include "pkg/gather/leaving_pods.h"

namespace yardmaster::gather {

namespace {

// Between clocks, and for a kubelet to say that a pod has ended.
constexpr std::int64_t kSlackMs = 60'000;

template <typename Is>
std::vector<PodPtr> Leaving(const GatheredGang* gang, const Is& is) {
  std::vector<PodPtr> pods;
  if (gang == nullptr) return pods;
  for (const auto* list : {&gang->members, &gang->leaving, &gang->strays}) {
    for (const GangMember& member : *list) {
      const api::Pod& pod = *member.pod;
      if (!pod.node_name.empty() && pod.metadata.deleted_ms && is(*pod.metadata.deleted_ms)) {
        pods.push_back(member.pod);
      }
    }
  }
  return pods;
}

}  // namespace

std::vector<PodPtr> WithMoreGrace(const GatheredGang* gang, std::int64_t now_ms,
                                  std::int64_t max_grace_ms) {
  return Leaving(gang,
                 [&](std::int64_t ends_ms) { return ends_ms - now_ms > max_grace_ms + kSlackMs; });
}

bool EndsTooLate(const GatheredGang* gang, std::int64_t now_ms) {
  return !Leaving(gang, [&](std::int64_t ends_ms) { return now_ms - ends_ms >= kSlackMs; }).empty();
}

}  // namespace yardmaster::gather
