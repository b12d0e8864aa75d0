#include "pkg/cli/input/workload_pods.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"

#include "pkg/api/field_reader.h"
#include "pkg/api/names.h"
#include "pkg/api/pod_requests.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/gather/owner_state.h"

namespace yardmaster::cli {

namespace {

using nlohmann::json;

// A larger number is a mistake in the manifest.
constexpr std::int64_t kMaxPods = 100'000;

struct Kind {
  std::string_view group;
  std::string_view name;
};
constexpr Kind kKinds[] = {{"batch", "Job"},
                           {"jobset.x-k8s.io", "JobSet"},
                           {"leaderworkerset.x-k8s.io", "LeaderWorkerSet"},
                           {"kubeflow.org", "MPIJob"},
                           {"kubeflow.org", "PyTorchJob"},
                           {"kubeflow.org", "TFJob"},
                           {"kubeflow.org", "XGBoostJob"},
                           {"kubeflow.org", "PaddleJob"},
                           {"kubeflow.org", "JAXJob"},
                           {"trainer.kubeflow.org", "TrainJob"},
                           {"batch.volcano.sh", "Job"}};

// The member, or an empty object that stays alive.
const json& In(const json& object, const char* key) {
  static const json kNothing = json::object();
  if (!object.is_object()) return kNothing;
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? kNothing : *at;
}

std::string Text(const json& object, const char* key) {
  const json& value = In(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

class Expander {
 public:
  Expander(const json& object, bool as_if_annotated)
      : as_if_annotated_(as_if_annotated),
        object_(object),
        spec_(In(object, "spec")),
        kind_(Text(object, "kind")),
        version_(Text(object, "apiVersion")) {
    const json& meta = In(object, "metadata");
    name_ = Text(meta, "name");
    namespace_ = Text(meta, "namespace");
    if (namespace_.empty()) namespace_ = "default";
    uid_ = Text(meta, "uid");
    controller_ = {version_, kind_, name_};
  }

  absl::StatusOr<std::vector<json>> Run() {
    if (!MakesPods()) return std::vector<json>();
    const std::string group = version_.substr(0, version_.find('/'));
    if (name_.empty()) errors_.Add("metadata.name", "is missing", "give it a name");
    if (group == "batch.volcano.sh") {
      VolcanoJob();
    } else if (kind_ == "Job") {
      AddJob(
          spec_, "spec",
          {{"batch.kubernetes.io/job-name", name_}, {"batch.kubernetes.io/controller-uid", uid_}},
          name_, "NonIndexed");
    } else if (kind_ == "JobSet") {
      JobSet();
    } else if (kind_ == "LeaderWorkerSet") {
      LeaderWorkerSet();
    } else if (kind_ == "TrainJob") {
      TrainJob();
    } else {
      ReplicaSpecs();
    }
    if (!errors_.empty()) return errors_.status();
    return std::move(pods_);
  }

 private:
  using Labels = std::map<std::string, std::string>;
  // What makes the pods: the object itself, or what its controller makes for that.
  struct Controller {
    std::string api_version;
    std::string kind;
    std::string name;
  };

  // Not suspended, deleted or ended.
  bool MakesPods() const {
    api::Gang gang;
    gang.owner.api_version = version_;
    gang.owner.kind = kind_;
    gang.owner.name = name_;
    return gather::OwnerStateOf(gang, object_).phase == gather::OwnerPhase::kActive;
  }

  std::int64_t Number(const json& object, const char* key, const std::string& path,
                      std::int64_t fallback) {
    const json& value = In(object, key);
    if (value.is_object() && value.empty()) return fallback;
    if (value.is_number_integer() && value >= 0 && value <= kMaxPods) {
      return value.get<std::int64_t>();
    }
    errors_.Add(StrCat(path, ".", key), StrCat("is ", api::Shown(value)),
                StrCat("give a number from 0 to ", kMaxPods));
    return 0;
  }

  // Our annotation or gate.
  bool WantsGang(const json& pod_template) const {
    if (as_if_annotated_) return true;
    if (In(In(pod_template, "metadata"), "annotations").contains(api::kParallelismAnnotation)) {
      return true;
    }
    const json& gates = In(In(pod_template, "spec"), "schedulingGates");
    return gates.is_array() && std::any_of(gates.begin(), gates.end(), [](const json& gate) {
             return Text(gate, "name") == api::kPlacementGate;
           });
  }

  static bool AsksForGpus(const json& pod_template) {
    api::FieldErrors unreadable;  // decoding the pod reports them
    api::FieldReader in(&pod_template, "", api::UnknownFields::kIgnore, &unreadable);
    api::ObjectMeta metadata;
    metadata.annotations = in.Object("metadata").StringMap("annotations");
    api::FieldReader spec = in.Object("spec");
    if (!spec.Objects("resourceClaims").empty()) return true;  // which may be GPUs
    api::FieldReader no_status(nullptr, "status", api::UnknownFields::kIgnore, &unreadable);
    const workload::ResourceList requests = api::ReadPodRequests(spec, no_status, metadata);
    return !unreadable.empty() ||
           workload::AmountOf(requests, api::GpuResourceOf(metadata, requests)) > 0;
  }

  // One pod of `pod_template`, if it is one for us. False when too many are there. `numbered`: its
  // kind counts it with the workers, also without a GPU (api::WantsGang).
  bool AddPod(const json& pod_template, const std::string& path, const Labels& labels,
              const Labels& annotations, const std::string& pod_name, bool numbered = false) {
    if (!WantsGang(pod_template) || (!numbered && !AsksForGpus(pod_template))) return true;
    if (static_cast<std::int64_t>(pods_.size()) == kMaxPods) {
      errors_.Add(path, StrCat("stands for more than ", kMaxPods, " pods"), "split the job");
      return false;
    }
    json pod = {{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", In(pod_template, "metadata")},
                {"spec", In(pod_template, "spec")}};
    json& meta = pod["metadata"];
    if (!meta.is_object()) meta = json::object();
    meta["name"] = pod_name;
    meta["namespace"] = namespace_;
    for (const char* map : {"labels", "annotations"}) {
      if (!In(meta, map).is_object())
        errors_.Add(path, StrCat(map, " is not a map"), "write key: value");
      if (!meta.contains(map) || !meta[map].is_object()) meta[map] = json::object();
    }
    for (const auto& [key, value] : labels) meta["labels"][key] = value;
    for (const auto& [key, value] : annotations) meta["annotations"][key] = value;
    const json& created = In(In(object_, "metadata"), "creationTimestamp");
    if (created.is_string()) meta["creationTimestamp"] = created;
    meta["ownerReferences"] = json::array({{{"apiVersion", controller_.api_version},
                                            {"kind", controller_.kind},
                                            {"name", controller_.name},
                                            {"uid", uid_},
                                            {"controller", true}}});
    pods_.push_back(std::move(pod));
    return true;
  }

  // The pods of one batch/v1 Job. JobSet's admission makes Jobs that give no mode Indexed.
  void AddJob(const json& spec, const std::string& path, Labels labels, const std::string& name,
              const std::string& default_mode) {
    controller_ = {"batch/v1", "Job", name};
    const json& pod_template = In(spec, "template");
    if (!WantsGang(pod_template)) return;
    const std::int64_t parallelism = Number(spec, "parallelism", path, 1);
    const std::int64_t completions = Number(spec, "completions", path, parallelism);
    const std::string mode = Text(spec, "completionMode");
    const bool indexed = (mode.empty() ? default_mode : mode) == "Indexed";
    if (as_if_annotated_ && !indexed) return;
    for (std::int64_t i = 0; i < std::min(parallelism, completions); ++i) {
      if (indexed) {
        labels["batch.kubernetes.io/job-completion-index"] = StrCat(i);
      }
      if (!AddPod(pod_template, path, labels, {}, StrCat(name, "-", i))) return;
    }
  }

  void JobSet() {
    const json& groups = In(spec_, "replicatedJobs");
    std::int64_t global = 0;
    for (std::size_t g = 0; groups.is_array() && g < groups.size(); ++g) {
      const std::string path = StrCat("spec.replicatedJobs[", g, "]");
      const std::int64_t replicas = Number(groups[g], "replicas", path, 1);
      for (std::int64_t r = 0; r < replicas && errors_.empty(); ++r, ++global) {
        AddJob(In(In(groups[g], "template"), "spec"), path + ".template.spec",
               {{"jobset.sigs.k8s.io/jobset-name", name_},
                {"jobset.sigs.k8s.io/jobset-uid", uid_},
                {"jobset.sigs.k8s.io/job-global-index", StrCat(global)}},
               StrCat(name_, "-", Text(groups[g], "name"), "-", r), "Indexed");
      }
    }
  }

  void LeaderWorkerSet() {
    const json& workers = In(spec_, "leaderWorkerTemplate");
    const json& worker = In(workers, "workerTemplate");
    const json& leader = In(workers, "leaderTemplate");
    const std::int64_t size = Number(workers, "size", "spec.leaderWorkerTemplate", 1);
    const std::int64_t replicas = Number(spec_, "replicas", "spec", 1);
    for (std::int64_t r = 0; r < replicas && errors_.empty(); ++r) {
      for (std::int64_t w = 0; w < size; ++w) {
        const json& own = w == 0 && !leader.empty() ? leader : worker;
        controller_ = {"apps/v1", "StatefulSet", w == 0 ? name_ : StrCat(name_, "-", r)};
        if (!AddPod(own, "spec.leaderWorkerTemplate",
                    {{"leaderworkerset.sigs.k8s.io/name", name_},
                     {"leaderworkerset.sigs.k8s.io/group-index", StrCat(r)},
                     {"leaderworkerset.sigs.k8s.io/worker-index", StrCat(w)}},
                    {{"leaderworkerset.sigs.k8s.io/size", StrCat(size)}},
                    StrCat(name_, "-", r, "-", w), /*numbered=*/true)) {
          return;
        }
      }
    }
  }

  // pytorchReplicaSpecs, mpiReplicaSpecs, ...: replicas by role.
  void ReplicaSpecs() {
    for (auto role = spec_.begin(); spec_.is_object() && role != spec_.end(); ++role) {
      static constexpr std::string_view kEnd = "ReplicaSpecs";
      const std::string key = role.key();
      if (key.size() < kEnd.size() || key.substr(key.size() - kEnd.size()) != kEnd ||
          !role->is_object()) {
        continue;
      }
      for (auto entry = role->begin(); entry != role->end(); ++entry) {
        Replicas(*entry, StrCat("spec.", key, ".", entry.key()),
                 absl::AsciiStrToLower(entry.key()));
      }
    }
  }
  void Replicas(const json& spec, const std::string& path, const std::string& role) {
    const std::int64_t replicas = Number(spec, "replicas", path, 1);
    const bool mpi = kind_ == "MPIJob";
    const bool launcher_works = mpi && In(spec_, "runLauncherAsWorker") == json(true);
    const bool launcher = mpi && role == "launcher";
    if (launcher) controller_ = {"batch/v1", "Job", name_ + "-launcher"};
    if (mpi && !launcher) controller_ = {version_, kind_, name_};
    for (std::int64_t i = 0; i < replicas; ++i) {
      // Its launcher is the first worker then.
      const std::int64_t index = launcher_works && !launcher ? i + 1 : i;
      Labels labels = {
          {"training.kubeflow.org/job-name", name_},
          {"training.kubeflow.org/replica-index", StrCat(index)},
          {mpi ? "training.kubeflow.org/job-role" : "training.kubeflow.org/replica-type", role}};
      if (mpi) labels["training.kubeflow.org/operator-name"] = "mpi-operator";
      if (!AddPod(In(spec, "template"), path, labels, {}, StrCat(name_, "-", role, "-", i),
                  /*numbered=*/launcher_works)) {
        return;
      }
    }
  }

  void VolcanoJob() {
    const json& tasks = In(spec_, "tasks");
    for (std::size_t t = 0; tasks.is_array() && t < tasks.size(); ++t) {
      const std::string path = StrCat("spec.tasks[", t, "]");
      const std::string task = Text(tasks[t], "name").empty() ? "default" : Text(tasks[t], "name");
      const std::int64_t replicas = Number(tasks[t], "replicas", path, 1);
      for (std::int64_t i = 0; i < replicas; ++i) {
        if (!AddPod(In(tasks[t], "template"), path,
                    {{"volcano.sh/job-name", name_},
                     {"volcano.sh/task-spec", task},
                     {"volcano.sh/task-index", StrCat(i)}},
                    {}, StrCat(name_, "-", task, "-", i))) {
          return;
        }
      }
    }
  }

  // numNodes pods of resourcesPerNode; annotations come from spec.annotations, as the trainer
  // passes them on.
  void TrainJob() {
    const json& trainer = In(spec_, "trainer");
    json pod_template = {
        {"metadata", {{"annotations", In(spec_, "annotations")}}},
        {"spec",
         {{"containers",
           json::array({{{"name", "node"}, {"resources", In(trainer, "resourcesPerNode")}}})}}}};
    const std::int64_t nodes = Number(trainer, "numNodes", "spec.trainer", 1);
    controller_ = {"batch/v1", "Job", name_ + "-node-0"};
    for (std::int64_t i = 0; i < nodes; ++i) {
      if (!AddPod(pod_template, "spec.trainer",
                  {{"jobset.sigs.k8s.io/jobset-name", name_},
                   {"jobset.sigs.k8s.io/jobset-uid", uid_},
                   {"jobset.sigs.k8s.io/job-global-index", "0"},
                   {"batch.kubernetes.io/job-completion-index", StrCat(i)}},
                  {}, StrCat(name_, "-node-0-", i))) {
        return;
      }
    }
  }

  const bool as_if_annotated_;
  const json& object_;
  const json& spec_;
  const std::string kind_;
  const std::string version_;
  std::string name_;
  std::string namespace_;
  std::string uid_;
  Controller controller_;
  std::vector<json> pods_;
  api::FieldErrors errors_;
};

}  // namespace

bool IsWorkload(std::string_view api_version, std::string_view kind) {
  const std::string_view group = api_version.substr(0, api_version.find('/'));
  return std::any_of(std::begin(kKinds), std::end(kKinds),
                     [&](const Kind& k) { return k.group == group && k.name == kind; });
}

absl::StatusOr<std::vector<json>> PodsOfWorkload(const json& object, bool as_if_annotated) {
  return Expander(object, as_if_annotated).Run();
}

}  // namespace yardmaster::cli
