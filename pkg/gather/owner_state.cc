#include "pkg/gather/owner_state.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>
#include <utility>

#include "pkg/api/training_job.h"
#include "pkg/base/strings.h"

namespace yardmaster::gather {

namespace {

struct OwnerKind {
  const char* group;
  const char* kind;
  const char* version;
  const char* plural;
};
constexpr OwnerKind kKinds[] = {
    {"batch", "Job", "v1", "jobs"},
    {"jobset.x-k8s.io", "JobSet", "v1alpha2", "jobsets"},
    {"kubeflow.org", "MPIJob", "v2beta1", "mpijobs"},
    {"kubeflow.org", "PyTorchJob", "v1", "pytorchjobs"},
    {"kubeflow.org", "TFJob", "v1", "tfjobs"},
    {"kubeflow.org", "XGBoostJob", "v1", "xgboostjobs"},
    {"kubeflow.org", "PaddleJob", "v1", "paddlejobs"},
    {"kubeflow.org", "JAXJob", "v1", "jaxjobs"},
    {"leaderworkerset.x-k8s.io", "LeaderWorkerSet", "v1", "leaderworkersets"},
    {"batch.volcano.sh", "Job", "v1alpha1", "jobs"},
    {"ray.io", "RayCluster", "v1", "rayclusters"},
    {"yardmaster.dev", "TrainingJob", "v1alpha1", "trainingjobs"}};

// Condition types that mean the end in one of the kinds.
constexpr std::string_view kEnds[] = {"Complete", "Completed", "Succeeded", "Failed"};
// Phases of Volcano's jobs.
constexpr std::string_view kVolcanoEnds[] = {"Completed", "Failed", "Terminated"};
constexpr std::string_view kVolcanoPauses[] = {"Aborting", "Aborted"};

template <std::size_t N>
bool IsOneOf(const std::string& word, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::string EndOf(JsonView object) {
  std::string end;
  object.At({"status", "conditions"}).ForEachElement([&](JsonView condition) {
    std::string type = condition["type"].Text();
    const bool ends = IsOneOf(type, kEnds) && condition["status"].String() == "True";
    if (ends && end.empty()) end = std::move(type);
  });
  return end;
}

// The group of a LeaderWorkerSet that a gang stands for: the number after the owner's name.
std::optional<std::int64_t> GroupOf(const api::Gang& gang) {
  const std::string& name = gang.metadata.name;
  const std::size_t dash = name.rfind('-');
  return dash == name.npos ? std::nullopt : ParseNumber<std::int64_t>(name.substr(dash + 1));
}

bool IsSuspended(const api::Gang& gang, JsonView object) {
  if (object.At({"spec", "suspend"}).Bool() == true) return true;
  if (object.At({"spec", "runPolicy", "suspend"}).Bool() == true) return true;
  if (gang.owner.kind == api::kTrainingJobKind) {
    // An elastic one on the way to another size, or one that has no pods while its operator holds
    // it: suspended, or between rented hosts.
    return object.At({"status", "elastic", "targetData"}).WholeNumber().value_or(0) > 0 ||
           object.At({"status", "recovery", "suspended"}).Bool() == true;
  }
  if (gang.owner.kind == "Job" && object.At({"spec", "parallelism"}).WholeNumber() == 0) {
    return true;
  }
  if (gang.owner.kind != "LeaderWorkerSet") return false;
  const auto group = GroupOf(gang);
  return group && object.At({"spec", "replicas"}).WholeNumber().value_or(1) <= *group;
}

bool IsVersion(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0;
  });
}

}  // namespace

std::optional<kube::Resource> ResourceOfOwner(const api::OwnerReference& owner) {
  const std::size_t slash = owner.api_version.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const std::string_view api_version = owner.api_version;
  const std::string_view group = api_version.substr(0, slash);
  const std::string_view version = api_version.substr(slash + 1);
  for (const OwnerKind& kind : kKinds) {
    if (group != kind.group || owner.kind != kind.kind) continue;
    return kube::Resource{kind.group, std::string(IsVersion(version) ? version : kind.version),
                          kind.plural, kind.kind, true};
  }
  return std::nullopt;
}

OwnerState OwnerStateOf(const api::Gang& gang, JsonView object) {
  const std::string who =
      StrCat(gang.owner.kind, " ", gang.metadata.namespace_name, "/", gang.owner.name);
  if (!object.is_object()) return {OwnerPhase::kGone, who + " is gone"};
  const auto uid = object.At({"metadata", "uid"}).String();
  if (!gang.owner.uid.empty() && uid && *uid != gang.owner.uid) {
    return {OwnerPhase::kGone, who + " was deleted and made again"};
  }
  if (object.At({"metadata", "deletionTimestamp"}).is_string()) {
    return {OwnerPhase::kGone, who + " is being deleted"};
  }
  if (const std::string end = EndOf(object); !end.empty()) {
    return {OwnerPhase::kFinished, StrCat(who, " has ended: ", end)};
  }
  const std::string phase = object.At({"status", "state", "phase"}).Text();
  if (IsOneOf(phase, kVolcanoEnds)) {
    return {OwnerPhase::kFinished, StrCat(who, " has ended: ", phase)};
  }
  if (IsOneOf(phase, kVolcanoPauses)) {
    return {OwnerPhase::kSuspended, StrCat(who, " is stopped: ", phase)};
  }
  if (IsSuspended(gang, object)) return {OwnerPhase::kSuspended, who + " is suspended"};
  return {OwnerPhase::kActive, who + " makes its pods again"};
}

}  // namespace yardmaster::gather
