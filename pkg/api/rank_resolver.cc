#include "pkg/api/rank_resolver.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "pkg/api/job_role.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

// Which controller a pod of a row has, and where the uid of its owner is.
enum class Controller {
  kOwner,        // the owner itself
  kJobOfUid,     // a Job; a label carries its uid
  kJobOfOwner,   // a Job that the owner made; a label carries the owner's uid
  kMpiJob,       // the MPIJob, or the Job "<owner>-launcher"
  kStatefulSet,  // "<owner>" or "<owner>-<group>"
};

// One kind of owner. A row fits a pod that has `name_label` and, if given, `only_label` with value
// `only_value`. Empty strings: the kind has no such label.
struct Row {
  const char* kind;
  const char* api_version;
  const char* gang_prefix;  // stands for the kind in the gang's name
  const char* name_label;   // the owner's name
  const char* only_label;
  const char* only_value;
  Controller controller;
  const char* uid_label;
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
constexpr char kKueueGroup[] = "kueue.x-k8s.io/pod-group-name";
constexpr char kKueueGroupSize[] = "kueue.x-k8s.io/pod-group-total-count";
constexpr char kRayCluster[] = "ray.io/cluster";
constexpr char kIndexedFix[] = "let its Jobs have completionMode: Indexed";
constexpr char kTrainingFix[] = "only replicas that the training operator numbers can join a gang";

// A TrainJob makes a JobSet of its name, whose pods say nothing of the TrainJob: its gang is the
// JobSet's. The launcher of an MPIJob has an index only with runLauncherAsWorker, and then the
// workers count from 1: indexes are ranks there. Volcano's kind is Job, too. The pods of a
// RayCluster, that of its head among them where it asks for GPUs, have the rank that we give them
// (unnumbered_pod.h).
constexpr Row kTable[] = {
    {"TrainingJob", kGroupVersion, "TrainingJob", kJobLabel, "", "", Controller::kOwner, "", "", "",
     kRankLabel, "", "the operator sets it; do not make such pods by hand"},
    {"JobSet", "jobset.x-k8s.io/v1alpha2", "JobSet", kJobSetName, "", "", Controller::kJobOfOwner,
     kJobSetUid, "", kJobSetIndex, kCompletionIndex, "", kIndexedFix},
    {"MPIJob", "kubeflow.org/v2beta1", "MPIJob", kTrainingName, kTrainingOperator, "mpi-operator",
     Controller::kMpiJob, "", "", "", kTrainingIndex, "",
     "the launcher can join a gang only with runLauncherAsWorker: true"},
    {"PyTorchJob", "kubeflow.org/v1", "PyTorchJob", kTrainingName, "", "", Controller::kOwner, "",
     "", "training.kubeflow.org/replica-type", kTrainingIndex, "", kTrainingFix},
    {"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
     "leaderworkerset.sigs.k8s.io/name", "", "", Controller::kStatefulSet, "",
     "leaderworkerset.sigs.k8s.io/group-index", "", "leaderworkerset.sigs.k8s.io/worker-index",
     "leaderworkerset.sigs.k8s.io/size", "the LeaderWorkerSet controller sets it"},
    {"Job", "batch.volcano.sh/v1alpha1", "VolcanoJob", "volcano.sh/job-name", "", "",
     Controller::kOwner, "", "", "volcano.sh/task-spec", "volcano.sh/task-index", "",
     "Volcano's controller sets it"},
    {"RayCluster", "ray.io/v1", "RayCluster", kRayCluster, "", "", Controller::kOwner, "", "", "",
     kRankLabel, "", "the extender numbers the pods when all are there"},
    {"Job", "batch/v1", "Job", "batch.kubernetes.io/job-name", "", "", Controller::kJobOfUid,
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
  // Pods of a TrainingJob's roles have no rank.
  if (row.name_label == std::string_view(kJobLabel) && Find(pod.metadata.labels, kRoleLabel)) {
    return false;
  }
  return row.only_label[0] == '\0' ||
         Find(pod.metadata.labels, row.only_label) == std::string_view(row.only_value);
}

absl::StatusOr<int> ReadIndex(const Pod& pod, const char* key, const char* fix) {
  const auto text = LabelOrAnnotation(pod, key);
  const auto field = [key] { return JoinPath("metadata.labels", key); };
  if (!text) return FieldError(field(), "is missing", fix);
  const std::optional<int> index = ParseNumber<int>(*text);
  if (!index || *index < 0 || *index > kHighestRank) {
    return FieldError(field(), StrCat("\"", *text, "\" is not an index"),
                      StrCat("use a number from 0 to ", kHighestRank));
  }
  return *index;
}

std::string_view GroupOf(std::string_view api_version) {
  return api_version.substr(0, api_version.find('/'));
}

bool IsOfKind(const OwnerReference& controller, std::string_view kind, std::string_view group) {
  return controller.kind == kind && GroupOf(controller.api_version) == group;
}

// Whether the labels of a pod describe its controller.
bool Agrees(const Row& row, const Pod& pod, const std::string& name,
            const OwnerReference& controller) {
  const std::optional<std::string_view> uid = LabelOrAnnotation(pod, row.uid_label);
  switch (row.controller) {
    case Controller::kOwner:
      // Our labels may stand on pods of any other kind: they are that object's.
      if (row.name_label == std::string_view(kJobLabel) &&
          GroupOf(controller.api_version) != kGroup) {
        return true;
      }
      // The training operator has one set of labels for all its kinds.
      return controller.name == name && GroupOf(controller.api_version) == GroupOf(row.api_version);
    case Controller::kJobOfUid:
      return IsOfKind(controller, "Job", "batch") && (!uid || *uid == controller.uid);
    case Controller::kJobOfOwner:
      return IsOfKind(controller, "Job", "batch");
    case Controller::kMpiJob:
      return IsOfKind(controller, "MPIJob", "kubeflow.org")
                 ? controller.name == name
                 : IsOfKind(controller, "Job", "batch") && controller.name == name + "-launcher";
    case Controller::kStatefulSet: {
      const auto group = LabelOrAnnotation(pod, row.group_label);
      return IsOfKind(controller, "StatefulSet", "apps") &&
             (controller.name == name || controller.name == StrCat(name, "-", group.value_or("")));
    }
  }
  return false;
}

absl::Status Disagreement(const Row& row, const Pod& pod, const std::string& name,
                          const OwnerReference& controller) {
  const auto uid = LabelOrAnnotation(pod, row.uid_label);
  const char* label = uid ? row.uid_label : row.name_label;
  return FieldError(JoinPath("metadata.labels", label),
                    StrCat("names ", row.kind, " ", uid ? *uid : std::string_view(name),
                           " and the pod's controller is ", controller.kind, " ", controller.name,
                           " of uid ", controller.uid),
                    StrCat("remove the copied label, or let the ", row.kind, " make the pod"));
}

void SetOwner(const Row& row, const Pod& pod, const OwnerReference* controller, Membership& out) {
  OwnerReference& owner = out.owner;
  if (row.controller == Controller::kMpiJob || row.controller == Controller::kStatefulSet) {
    // Only one of the controllers is the gang's.
    const bool is_root = controller != nullptr && controller->name == owner.name;
    if (is_root) out.root = *controller;
    return;
  }
  if (const auto uid = LabelOrAnnotation(pod, row.uid_label)) owner.uid = std::string(*uid);
  if (row.controller == Controller::kOwner && controller != nullptr) {
    owner.kind = controller->kind;
    owner.api_version = controller->api_version;
    owner.name = controller->name;
  }
  if (owner.uid.empty() && controller != nullptr && row.controller != Controller::kJobOfOwner) {
    owner.uid = controller->uid;
  }
  out.root = owner;
}

// The size that pods without a controller say; nullopt: they say none, and are no gang of their
// own.
std::optional<std::string_view> SizeOfPlainPods(const Pod& pod) {
  if (pod.metadata.controller() != nullptr || !Find(pod.metadata.labels, kJobLabel)) {
    return std::nullopt;
  }
  const auto size = Find(pod.metadata.annotations, kGangSizeAnnotation);
  if (size || !Find(pod.metadata.labels, kKueueGroup)) return size;
  return Find(pod.metadata.annotations, kKueueGroupSize);
}

absl::Status ResolvePlain(const Pod& pod, std::string_view size, Membership& out) {
  const std::string name(*Find(pod.metadata.labels, kJobLabel));
  out.owner = {"v1", kPlainPodKind, name, "", false};
  out.gang_name = GangName("Pods", name);
  out.size = ParseNumber<int>(size);
  if (!out.size || *out.size < 1) {
    return FieldError(JoinPath("metadata.annotations", kGangSizeAnnotation),
                      StrCat("\"", size, "\" is not a size"), "write how many pods the gang has");
  }
  YM_ASSIGN_OR_RETURN(out.index, ReadIndex(pod, kRankLabel, "number the pods from 0"));
  return absl::OkStatus();
}

absl::Status Resolve(const Row& row, const Pod& pod, Membership& out) {
  out.owner = {row.api_version, row.kind, std::string(*Find(pod.metadata.labels, row.name_label)),
               "", false};
  const OwnerReference* controller = pod.metadata.controller();
  if (controller != nullptr && !Agrees(row, pod, out.owner.name, *controller)) {
    return Disagreement(row, pod, out.owner.name, *controller);
  }
  std::string name = out.owner.name;
  SetOwner(row, pod, controller, out);
  if (const auto group = LabelOrAnnotation(pod, row.group_label)) name += StrCat("-", *group);
  // Kinds that share a row, as the training operator's do, go by their own name.
  const bool own_name = row.controller == Controller::kOwner && out.owner.kind != row.kind;
  out.gang_name = GangName(own_name ? out.owner.kind : row.gang_prefix, name);
  if (const auto size = LabelOrAnnotation(pod, row.size_annotation)) {
    out.size = ParseNumber<int>(*size);
  }
  if (Find(pod.metadata.labels, kRankLabel)) {
    YM_ASSIGN_OR_RETURN(out.index, ReadIndex(pod, kRankLabel, row.index_fix));
    return absl::OkStatus();
  }
  if (const auto subgroup = LabelOrAnnotation(pod, row.subgroup_label)) {
    out.subgroup = std::string(*subgroup);
  }
  YM_ASSIGN_OR_RETURN(out.index, ReadIndex(pod, row.index_label, row.index_fix));
  return absl::OkStatus();
}

int RoleOrder(std::string_view subgroup) {
  for (std::string_view first : {"master", "chief", "launcher", "leader"}) {
    if (subgroup == first) return 0;
  }
  return 1;
}

// A pod without GPUs that has a rank all the same: the launcher of an MPIJob that works, too, and
// any pod of a LeaderWorkerSet, whose size counts all. Only where it asks for a gang by annotation:
// it stays in it when its gate has opened.
bool IsNumberedWithWorkers(const Pod& pod) {
  if (!Find(pod.metadata.annotations, kParallelismAnnotation)) return false;
  const auto& labels = pod.metadata.labels;
  if (Find(labels, "leaderworkerset.sigs.k8s.io/worker-index")) return true;
  return Find(labels, kTrainingOperator) == std::string_view("mpi-operator") &&
         Find(labels, kTrainingIndex).has_value();
}

}  // namespace

bool IsMembershipKey(std::string_view key) {
  if (key == kKueueGroup || key == kKueueGroupSize) return true;
  return !key.empty() && std::any_of(std::begin(kTable), std::end(kTable), [&](const Row& row) {
    return key == row.name_label || key == row.only_label || key == row.uid_label ||
           key == row.group_label || key == row.subgroup_label || key == row.index_label ||
           key == row.size_annotation;
  });
}

bool WantsGang(const Pod& pod) {
  // Every pod of the cluster is asked, and most ask for no gang: their requests are not looked at.
  const ObjectMeta& meta = pod.metadata;
  const bool asks = pod.gated() || Find(meta.annotations, kParallelismAnnotation).has_value() ||
                    (Find(meta.labels, kJobLabel) && !Find(meta.labels, kRoleLabel));
  if (!asks || Find(meta.annotations, kReleasedAnnotation)) return false;
  return pod.gpus() != 0 || pod.claims_gpus() || IsNumberedWithWorkers(pod);
}

bool SameMembershipInputs(const Pod& a, const Pod& b) {
  return a.gated() == b.gated() && (a.gpus() == 0) == (b.gpus() == 0) &&
         a.claims.empty() == b.claims.empty() && a.metadata.labels == b.metadata.labels &&
         a.metadata.annotations == b.metadata.annotations && a.metadata.owners == b.metadata.owners;
}

bool IsOfOwner(const Gang& gang, std::string_view owner_uid, std::string_view root_uid) {
  if (!owner_uid.empty()) return gang.owner.uid == owner_uid;
  const auto& owners = gang.metadata.owners;
  if (root_uid.empty() || owners.empty()) return true;
  return std::any_of(owners.begin(), owners.end(),
                     [&](const OwnerReference& owner) { return owner.uid == root_uid; });
}

absl::StatusOr<std::optional<Membership>> ResolveMembership(const Pod& pod) {
  std::optional<Membership> member;
  if (const auto size = SizeOfPlainPods(pod)) {
    YM_RETURN_IF_ERROR(ResolvePlain(pod, *size, member.emplace()));
    return member;
  }
  for (const Row& row : kTable) {
    if (!Fits(row, pod)) continue;
    YM_RETURN_IF_ERROR(Resolve(row, pod, member.emplace()));
    break;
  }
  return member;
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
    first = std::min(first + sizes[subgroup], kHighestRank);
  }
  return bases;
}

std::optional<int> RankOf(const std::vector<RankBase>& bases, std::string_view subgroup,
                          int index) {
  for (const RankBase& base : bases) {
    if (base.subgroup != subgroup) continue;
    const int rank = base.first_rank + index;
    // Where the next subgroup begins this one has ended.
    const bool beyond = std::any_of(bases.begin(), bases.end(), [&](const RankBase& other) {
      return other.first_rank > base.first_rank && other.first_rank <= rank;
    });
    return beyond ? std::nullopt : std::optional<int>(rank);
  }
  return std::nullopt;
}

}  // namespace yardmaster::api
