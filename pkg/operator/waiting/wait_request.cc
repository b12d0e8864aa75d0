#include "pkg/operator/waiting/wait_request.h"

#include <string>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/gather/gather.h"

namespace yardmaster::op {

namespace {

// What only a pod that exists can say, as a field of its spec; null: nothing.
const char* OnlyPodsSay(const api::Pod& pod) {
  if (!pod.volume_claims.empty()) return "volumes[].persistentVolumeClaim";
  if (!pod.claims.empty()) return "resourceClaims";
  if (pod.gated_by_others()) return "schedulingGates";
  if (!pod.selected_host().empty()) return "nodeName or its node affinity";
  return pod.pod_group.empty() ? nullptr : "schedulingGroup";
}

absl::StatusOr<api::Membership> MembershipOf(const PodSet& set, const api::Pod& pod) {
  const std::string path = StrCat(set.field, ".template.spec");
  if (const char* field = OnlyPodsSay(pod)) {
    return FieldError(StrCat(path, ".", field), "can be judged only of pods that exist",
                      kLetPodsComeFirst);
  }
  if (!pod.problems.empty()) {
    return absl::InvalidArgumentError(StrCat(path, ": ", Join(pod.problems, "; ")));
  }
  if (!api::WantsGang(pod)) {
    return FieldError(
        StrCat(set.field, ".template"),
        StrCat("asks for no GPU, or has no annotation ", api::kParallelismAnnotation),
        "give its pods both, so that they are a gang, or remove the label yardmaster.dev/wait");
  }
  if (!pod.gated()) {
    return FieldError(StrCat(path, ".schedulingGates"),
                      StrCat("lacks ", api::kPlacementGate,
                             " after admission, so that its pods would start one by one"),
                      "put it there, or let the chart's gate policy apply to the namespace");
  }
  YM_ASSIGN_OR_RETURN(auto member, api::ResolveMembership(pod));
  if (!member) return absl::InternalError(StrCat(path, ": no label says its gang"));
  return *std::move(member);
}

void AddPods(const PodSet& set, const std::shared_ptr<const api::Pod>& pod,
             const api::Membership& first, gather::GatheredGang& gang) {
  for (int job = 0; job < set.jobs; ++job) {
    for (int index = 0; index < set.pods; ++index) {
      api::Membership member = first;
      if (set.first_number) member.subgroup = StrCat(*set.first_number + job);
      member.index = index;
      gang.members.push_back({pod, std::make_shared<const api::Membership>(std::move(member)), {}});
    }
  }
}

}  // namespace

absl::StatusOr<api::Gang> WaitRequestOf(const WaitingJob& job, const std::vector<PodSet>& sets,
                                        const std::vector<std::shared_ptr<const api::Pod>>& first) {
  std::int64_t pods = 0;
  for (const PodSet& set : sets) pods += std::int64_t{1} * set.jobs * set.pods;
  if (pods > api::kMaxListedRanks) {
    return FieldError("spec", StrCat("is of ", pods, " pods"),
                      StrCat("a gang has at most ", api::kMaxListedRanks));
  }
  gather::GatheredGang gathered;
  gathered.namespace_name = job.namespace_name;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    YM_ASSIGN_OR_RETURN(const api::Membership member, MembershipOf(sets[i], *first[i]));
    gathered.name = member.gang_name;
    gathered.owner_uid = member.owner.uid;
    gathered.root = member.root;
    AddPods(sets[i], first[i], member, gathered);
  }
  gather::DeclaredSizes declared;
  declared.of_owner = static_cast<int>(pods);
  YM_ASSIGN_OR_RETURN(std::optional<api::Gang> gang, gather::MakeGang(gathered, nullptr, declared));
  if (!gang) return absl::InternalError(StrCat("gang ", gathered.name, " is not whole"));
  gang->pods = api::GangPods::kFollow;
  return api::DecodeGang(api::EncodeGang(*gang), api::Decoding::kLenient);
}

}  // namespace yardmaster::op
