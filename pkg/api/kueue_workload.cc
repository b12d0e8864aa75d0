#include "pkg/api/kueue_workload.h"

#include <algorithm>
#include <set>

#include "pkg/api/field_codec.h"

namespace yardmaster::api {

namespace {

constexpr int kMaxCount = INT32_MAX;
constexpr ListRule kPodSetList{18};

constexpr KeptMetadata kKept = {
    [](std::string_view key) { return key == kPodSetsAnnotation ? std::size_t{128} : 0; },
    [](std::string_view) { return false; }, 0};

std::vector<Toleration> ReadTolerations(FieldReader& in) {
  std::vector<Toleration> out;
  DecodeFields(in, [&](FieldVisitor& fields) { TolerationsField(fields, out); });
  return out;
}

std::optional<int> ReadCount(FieldReader& in, const char* key) {
  if (!in.has(key)) return std::nullopt;
  return in.Int(key, 0, 0, kMaxCount);
}

QuotaAssignment ReadAssignment(FieldReader& in) {
  QuotaAssignment out;
  out.name = in.String("name", "main");
  std::set<std::string> flavors;
  for (auto& [resource, flavor] : in.StringMap("flavors")) flavors.insert(flavor);
  out.flavors.assign(flavors.begin(), flavors.end());
  out.count = ReadCount(in, "count");
  out.has_topology = in.Raw("topologyAssignment").present();
  return out;
}

PodSetAddition ReadAddition(FieldReader& in) {
  PodSetAddition out;
  out.name = in.String("name", "main");
  out.labels = in.StringMap("labels");
  out.annotations = in.StringMap("annotations");
  out.node_selector = in.StringMap("nodeSelector");
  out.tolerations = ReadTolerations(in);
  return out;
}

void ReadStatus(FieldReader status, KueueWorkload& out) {
  out.conditions = ReadConditions(status);
  FieldReader admission = status.Object("admission");
  out.has_admission = admission.present();
  out.cluster_queue = admission.String("clusterQueue");
  for (FieldReader& set : admission.Objects("podSetAssignments", kPodSetList)) {
    out.assignments.push_back(ReadAssignment(set));
  }
  for (FieldReader& check : status.Objects("admissionChecks")) {
    if (check.String("state") != "Ready") continue;
    for (FieldReader& update : check.Objects("podSetUpdates", kPodSetList)) {
      out.additions.push_back(ReadAddition(update));
    }
  }
  for (FieldReader& entry : status.Objects("reclaimablePods", kPodSetList)) {
    out.reclaimable[entry.String("name")] = entry.Int("count", 0, 0, kMaxCount);
  }
}

}  // namespace

bool KueueWorkload::has_finalizer() const {
  const auto& all = metadata.finalizers;
  return std::find(all.begin(), all.end(), kQuotaFinalizer) != all.end();
}

absl::StatusOr<KueueWorkload> DecodeKueueWorkload(JsonView object) {
  FieldErrors errors;
  FieldReader in(object, "", UnknownFields::kIgnore, &errors);
  KueueWorkload out;
  out.metadata = ReadMetadata(in, Namespaced::kYes, &kKept);
  FieldReader spec = in.Object("spec");
  out.queue = spec.String("queueName");
  for (FieldReader& set : spec.Objects("podSets", kPodSetList)) {
    out.pod_sets.push_back({set.String("name", "main"), set.Int("count", 1, 0, kMaxCount),
                            ReadCount(set, "minCount")});
  }
  ReadStatus(in.Object("status"), out);
  if (!errors.empty()) return errors.status();
  return out;
}

absl::StatusOr<ResourceFlavor> DecodeResourceFlavor(JsonView object) {
  FieldErrors errors;
  FieldReader in(object, "", UnknownFields::kIgnore, &errors);
  ResourceFlavor out;
  FieldReader spec = in.Object("spec");
  out.node_labels = spec.StringMap("nodeLabels");
  out.tolerations = ReadTolerations(spec);
  if (!errors.empty()) return errors.status();
  return out;
}

}  // namespace yardmaster::api
