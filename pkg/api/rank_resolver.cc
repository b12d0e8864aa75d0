#include "pkg/api/rank_resolver.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

// One kind of owner. A row fits a pod that has `name_label` and, if given, `only_label` with value
// `only_value`. Empty strings: the kind has no such label.
struct Row {
  const char* kind;
  const char* api_version;
  const char* name_label;  // the owner's name
  const char* only_label;
  const char* only_value;
  const char* uid_label;    // else the controller in ownerReferences
  const char* group_label;  // one owner, several gangs: told apart by this
  const char* subgroup_label;
  const char* index_label;  // also looked for among the annotations
  const char* size_annotation;
  const char* index_fix;
};

constexpr char kCompletionIndex[] = "batch.kubernetes.io/job-completion-index";
constexpr char kJobSetName[] = "jobset.sigs.k8s.io/jobset-name";
constexpr char kJobSetUid[] = "jobset.sigs.k8s.io/jobset-uid";
constexpr char kJobSetIndex[] = "jobset.sigs.k8s.io/job-global-index";
constexpr char kTrainingName[] = "training.kubeflow.org/job-name";
constexpr char kTrainingIndex[] = "training.kubeflow.org/replica-index";
constexpr char kTrainingOperator[] = "training.kubeflow.org/operator-name";
constexpr char kIndexedFix[] = "let its Jobs have completionMode: Indexed";
constexpr char kTrainingFix[] = "only replicas that the training operator numbers can join a gang";

constexpr Row kTable[] = {
    {"TrainingJob", kGroupVersion, kJobLabel, "", "", "", "", "", kRankLabel, "",
     "the operator sets it; do not make such pods by hand"},
    {"TrainJob", "trainer.kubeflow.org/v1alpha1", kJobSetName,
     "trainer.kubeflow.org/trainjob-ancestor-step", "trainer", kJobSetUid, "", kJobSetIndex,
     kCompletionIndex, "", kIndexedFix},
    {"JobSet", "jobset.x-k8s.io/v1alpha2", kJobSetName, "", "", kJobSetUid, "", kJobSetIndex,
     kCompletionIndex, "", kIndexedFix},
    {"MPIJob", "kubeflow.org/v2beta1", kTrainingName, kTrainingOperator, "mpi-operator", "", "",
     "training.kubeflow.org/job-role", kTrainingIndex, "", kTrainingFix},
    {"PyTorchJob", "kubeflow.org/v1", kTrainingName, "", "", "", "",
     "training.kubeflow.org/replica-type", kTrainingIndex, "", kTrainingFix},
    {"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkerset.sigs.k8s.io/name", "", "",
     "", "leaderworkerset.sigs.k8s.io/group-index", "", "leaderworkerset.sigs.k8s.io/worker-index",
     "leaderworkerset.sigs.k8s.io/size", "the LeaderWorkerSet controller sets it"},
    {"VolcanoJob", "batch.volcano.sh/v1alpha1", "volcano.sh/job-name", "", "", "", "",
     "volcano.sh/task-spec", "volcano.sh/task-index", "", "Volcano's controller sets it"},
    {"Job", "batch/v1", "batch.kubernetes.io/job-name", "", "",
     "batch.kubernetes.io/controller-uid", "", "", kCompletionIndex, "",
     "let the Job have completionMode: Indexed"},
};

std::optional<std::string_view> LabelOrAnnotation(const Pod& pod, const char* key) {
  if (key[0] == '\0') return std::nullopt;
  const auto label = Find(pod.metadata.labels, key);
  return label ? label : Find(pod.metadata.annotations, key);
}

bool Fits(const Row& row, const Pod& pod) {
  if (!Find(pod.metadata.labels, row.name_label)) return false;
  return row.only_label[0] == '\0' ||
         Find(pod.metadata.labels, row.only_label) == std::string_view(row.only_value);
}

absl::StatusOr<int> ReadIndex(const Pod& pod, const char* key, const char* fix) {
  const auto text = LabelOrAnnotation(pod, key);
  const std::string field = JoinPath("metadata.labels", key);
  if (!text) return FieldError(field, "is missing", fix);
  const std::optional<int> index = ParseNumber<int>(*text);
  if (!index || *index < 0 || *index > 1'000'000) {
    return FieldError(field, StrCat("\"", *text, "\" is no index"), "use a number from 0");
  }
  return *index;
}

OwnerReference OwnerOf(const Row& row, const Pod& pod) {
  OwnerReference owner;
  owner.kind = row.kind;
  owner.api_version = row.api_version;
  owner.name = std::string(*Find(pod.metadata.labels, row.name_label));
  if (const auto uid = LabelOrAnnotation(pod, row.uid_label)) {
    owner.uid = std::string(*uid);
  } else if (const OwnerReference* controller = pod.metadata.controller()) {
    owner.uid = controller->uid;
    // The training operator has one set of labels for all its kinds; the owner says which.
    if (owner.name == controller->name && row.kind == std::string_view("PyTorchJob")) {
      owner.kind = controller->kind;
      owner.api_version = controller->api_version;
    }
  }
  return owner;
}

absl::StatusOr<Membership> Resolve(const Row& row, const Pod& pod) {
  Membership out;
  out.owner = OwnerOf(row, pod);
  std::string name = out.owner.name;
  if (const auto group = LabelOrAnnotation(pod, row.group_label)) name += StrCat("-", *group);
  out.gang_name = GangName(out.owner.kind, name);
  if (const auto size = LabelOrAnnotation(pod, row.size_annotation)) {
    out.size = ParseNumber<int>(*size);
  }
  if (Find(pod.metadata.labels, kRankLabel)) {
    YM_ASSIGN_OR_RETURN(out.index, ReadIndex(pod, kRankLabel, row.index_fix));
    return out;
  }
  if (const auto subgroup = LabelOrAnnotation(pod, row.subgroup_label)) {
    out.subgroup = std::string(*subgroup);
  }
  YM_ASSIGN_OR_RETURN(out.index, ReadIndex(pod, row.index_label, row.index_fix));
  return out;
}

int RoleOrder(std::string_view subgroup) {
  for (std::string_view first : {"master", "chief", "launcher", "leader"}) {
    if (subgroup == first) return 0;
  }
  return 1;
}

}  // namespace

bool WantsGang(const Pod& pod) {
  return pod.gated() || Find(pod.metadata.annotations, kParallelismAnnotation).has_value() ||
         Find(pod.metadata.labels, kJobLabel).has_value();
}

absl::StatusOr<std::optional<Membership>> ResolveMembership(const Pod& pod) {
  for (const Row& row : kTable) {
    if (!Fits(row, pod)) continue;
    YM_ASSIGN_OR_RETURN(Membership member, Resolve(row, pod));
    return std::optional<Membership>(std::move(member));
  }
  return std::optional<Membership>();
}

bool SubgroupLess(std::string_view a, std::string_view b) {
  const std::optional<int> x = ParseNumber<int>(a);
  const std::optional<int> y = ParseNumber<int>(b);
  if (x && y) return *x < *y;
  if (x.has_value() != y.has_value()) return x.has_value();
  if (RoleOrder(a) != RoleOrder(b)) return RoleOrder(a) < RoleOrder(b);
  return a < b;
}

std::vector<RankBase> RankBasesOf(const std::vector<Membership>& members) {
  std::map<std::string, int> sizes;
  for (const Membership& member : members) {
    int& size = sizes[member.subgroup];
    size = std::max(size, member.index + 1);
  }
  std::vector<std::string> order;
  for (const auto& [subgroup, size] : sizes) order.push_back(subgroup);
  std::sort(order.begin(), order.end(), SubgroupLess);
  std::vector<RankBase> bases;
  int first = 0;
  for (const std::string& subgroup : order) {
    bases.push_back({subgroup, first});
    first += sizes[subgroup];
  }
  return bases;
}

std::optional<int> RankOf(const std::vector<RankBase>& bases, const Membership& member) {
  for (const RankBase& base : bases) {
    if (base.subgroup == member.subgroup) return base.first_rank + member.index;
  }
  return std::nullopt;
}

}  // namespace yardmaster::api
