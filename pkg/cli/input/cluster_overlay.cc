#include "pkg/cli/input/cluster_overlay.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "pkg/api/rank_resolver.h"
#include "pkg/gather/gather.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::cli {

namespace {

template <typename T>
void NoteYoungest(const state::ObjectTable<T>& table, std::int64_t& youngest_ms) {
  for (const auto& object : table) {
    youngest_ms = std::max(youngest_ms, object->metadata.created_ms);
  }
}

std::optional<NamespacedName> GangOfPod(const api::Pod& pod) {
  if (!api::WantsGang(pod)) return std::nullopt;
  const auto membership = api::ResolveMembership(pod);
  if (!membership.ok() || !*membership) return std::nullopt;
  return NamespacedName{pod.metadata.namespace_name, (*membership)->gang_name};
}

bool HasEnded(const std::vector<api::Condition>& conditions) {
  return api::IsTrue(conditions, "Succeeded") || api::IsTrue(conditions, "Failed") ||
         api::IsTrue(conditions, state::kFinishedCondition);
}

class Overlayer {
 public:
  Overlayer(Manifests cluster, const Manifests& given) : out_(std::move(cluster)), given_(given) {
    NoteYoungest(out_.cluster.jobs, youngest_ms_);
    NoteYoungest(out_.cluster.gangs, youngest_ms_);
    NoteYoungest(out_.cluster.pods, youngest_ms_);
    for (const auto& pod : out_.cluster.pods) {
      if (const auto gang = GangOfPod(*pod)) pods_of_[*gang].push_back(pod);
    }
  }

  Manifests Run() {
    RemoveWhatChanges();
    if (!given_.cluster.fabrics.empty()) out_.cluster.fabrics.clear();
    Put(given_.cluster.fabrics, out_.cluster.fabrics);
    Put(given_.cluster.nodes, out_.cluster.nodes);
    Put(given_.cluster.jobs, out_.cluster.jobs);
    Put(given_.cluster.gangs, out_.cluster.gangs);
    Put(given_.cluster.pods, out_.cluster.pods);
    Put(given_.cluster.devices.slices, out_.cluster.devices.slices);
    Put(given_.cluster.devices.classes, out_.cluster.devices.classes);
    Put(given_.cluster.devices.claims, out_.cluster.devices.claims);
    Put(given_.cluster.devices.templates, out_.cluster.devices.templates);
    for (const auto& pod : given_.expected_pods) {
      out_.expected_pods.push_back(Aged<api::Pod>(*pod, nullptr));
    }
    for (const api::DisruptionBudget& budget : given_.budgets) PutBudget(budget);
    out_.pod_groups = given_.pod_groups;
    out_.workload_of_pod = given_.workload_of_pod;
    out_.origin = given_.origin;
    out_.ignored = given_.ignored;
    return std::move(out_);
  }

 private:
  // Jobs that are given again leave first, with all they hold.
  void RemoveWhatChanges() {
    std::set<NamespacedName> leaving;
    for (const auto& job : given_.cluster.jobs) {
      const auto there = out_.cluster.jobs.Find(KeyOf(job->metadata));
      if (there && there->job == job->job && there->constraints == job->constraints &&
          there->requests == job->requests && !HasEnded(there->status.conditions)) {
        continue;
      }
      leaving.insert(
          {job->metadata.namespace_name, api::GangName(api::kTrainingJobKind, job->metadata.name)});
    }
    for (const auto& pods : gather::Gather(given_.expected_pods).gangs) {
      const NamespacedName key{pods.namespace_name, pods.name};
      const auto wanted = gather::MakeGang(pods, nullptr, SizesOf(given_.pod_groups, pods));
      const std::optional<api::Gang> there = GangThere(key);
      if (there && wanted.ok() && *wanted && there->job == (*wanted)->job &&
          there->constraints == (*wanted)->constraints &&
          // A Gang that was made before requests were counted says nothing of them.
          (there->requests.empty() ||
           (there->requests == (*wanted)->requests && there->roles == (*wanted)->roles)) &&
          !HasEnded(there->status.conditions)) {
        continue;
      }
      leaving.insert(key);
    }
    out_.cluster.gangs.EraseIf(
        [&](const auto& gang) { return leaving.count(KeyOf(gang->metadata)) > 0; });
    out_.cluster.pods.EraseIf([&](const auto& pod) {
      const auto gang = GangOfPod(*pod);
      return gang && leaving.count(*gang) > 0;
    });
  }

  // The Gang of that name, or what the pods that are there would make.
  std::optional<api::Gang> GangThere(const NamespacedName& key) const {
    if (const auto gang = out_.cluster.gangs.Find(key)) return *gang;
    const auto pods = pods_of_.find(key);
    if (pods == pods_of_.end()) return std::nullopt;
    for (const auto& gathered : gather::Gather(pods->second).gangs) {
      auto gang = gather::MakeGang(gathered, nullptr);
      if (gang.ok() && *gang) return **std::move(gang);
    }
    return std::nullopt;
  }

  template <typename T>
  void Put(const state::ObjectTable<T>& given, state::ObjectTable<T>& table) const {
    for (const auto& object : given) {
      const auto there = table.Find(KeyOf(object->metadata));
      table.Put(Aged<T>(*object, there.get()));
    }
  }

  template <typename T>
  std::shared_ptr<const T> Aged(T object, const T* before) const {
    api::ObjectMeta& meta = object.metadata;
    if (meta.created_ms == 0) {
      meta.created_ms = before != nullptr ? before->metadata.created_ms : youngest_ms_ + 1;
    }
    if (meta.uid.empty() && before != nullptr) meta.uid = before->metadata.uid;
    return std::make_shared<const T>(std::move(object));
  }

  void PutBudget(const api::DisruptionBudget& budget) {
    std::erase_if(out_.budgets, [&](const auto& other) {
      return KeyOf(other.metadata) == KeyOf(budget.metadata);
    });
    out_.budgets.push_back(budget);
  }

  Manifests out_;
  const Manifests& given_;
  std::map<NamespacedName, std::vector<gather::PodPtr>> pods_of_;
  std::int64_t youngest_ms_ = 0;
};

}  // namespace

Manifests Overlay(Manifests cluster, const Manifests& given) {
  return Overlayer(std::move(cluster), given).Run();
}

}  // namespace yardmaster::cli
