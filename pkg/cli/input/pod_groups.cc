#include "pkg/cli/input/pod_groups.h"

#include <cstdint>
#include <set>

#include "pkg/api/field_reader.h"
#include "pkg/api/gang.h"
#include "pkg/base/strings.h"

namespace yardmaster::cli {

namespace {

constexpr std::string_view kSchedulingGroup = "scheduling.k8s.io/";

std::set<std::string> NamesOf(const gather::GatheredGang& pods) {
  std::set<std::string> names;
  for (const auto* list : {&pods.members, &pods.strays}) {
    for (const gather::GangMember& member : *list) {
      if (!member.pod->pod_group.empty()) names.insert(member.pod->pod_group);
    }
  }
  return names;
}

}  // namespace

bool IsPodGroup(std::string_view api_version, std::string_view kind) {
  return kind == "PodGroup" && api_version.starts_with(kSchedulingGroup);
}

absl::StatusOr<PodGroup> DecodePodGroup(JsonView object) {
  api::FieldErrors errors;
  api::FieldReader in(object, "", api::UnknownFields::kIgnore, &errors);
  PodGroup out;
  api::FieldReader metadata = in.Object("metadata");
  out.key = {metadata.String("namespace", "default"), metadata.RequiredString("name")};
  api::FieldReader spec = in.Object("spec");
  api::FieldReader gang = spec.Object("schedulingPolicy").Object("gang");
  const int count = gang.Int("minCount", 0, 1, api::kMaxListedRanks);
  if (count > 0) out.min_count = count;
  out.composite = spec.String("parentCompositePodGroupName");
  if (!errors.empty()) return errors.status();
  return out;
}

gather::DeclaredSizes SizesOf(const PodGroups& groups, const gather::GatheredGang& pods) {
  gather::DeclaredSizes sizes;
  std::int64_t sum = 0;
  for (const std::string& name : NamesOf(pods)) {
    const NamespacedName key{pods.namespace_name, name};
    const auto at = groups.find(key);
    if (at == groups.end()) {
      sizes.why_no_group = StrCat("PodGroup ", key.text(), " is not among the manifests");
    } else if (!at->second.composite.empty()) {
      sizes.why_no_group = StrCat("PodGroup ", key.text(), " belongs to CompositePodGroup ",
                                  at->second.composite, ", which is not read from manifests");
    } else if (!at->second.min_count) {
      sizes.why_no_group =
          StrCat("PodGroup ", key.text(), " has no spec.schedulingPolicy.gang.minCount");
    } else {
      sum += *at->second.min_count;
      continue;
    }
    return sizes;
  }
  if (sum > api::kMaxListedRanks) {
    sizes.why_no_group = StrCat("its PodGroups say that they have ", sum, " pods");
  } else if (sum > 0) {
    sizes.of_group = static_cast<int>(sum);
  }
  return sizes;
}

}  // namespace yardmaster::cli
