#include "pkg/extender/facts/departures.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/plan/leaving_hosts.h"

namespace yardmaster::extender {

namespace {

// That the API server gives a pod that asks for no other one.
constexpr std::int64_t kDefaultGraceMs = 30'000;

using Departures = std::vector<plan::Departure>;

// What ends, and when pods that are not being deleted yet are expected to be gone.
using Ending = std::map<NamespacedName, std::int64_t>;

// The first that says so.
Ending EndingGangs(const PassFacts& facts) {
  Ending ending;
  for (const auto& job : facts.cluster.jobs) {
    if (!job->metadata.deleted_ms) continue;
    ending.emplace(NamespacedName{job->metadata.namespace_name,
                                  api::GangName(api::kTrainingJobKind, job->metadata.name)},
                   *job->metadata.deleted_ms + kDefaultGraceMs);
  }
  for (const auto& [key, gang] : facts.gangs) {
    if (gang->metadata.deleted_ms) {
      ending.emplace(key, *gang->metadata.deleted_ms + kDefaultGraceMs);
    }
  }
  for (const auto& [key, winner] : facts.victims) {
    ending.emplace(key, facts.gangs.at(winner)->status.preemption->started_ms + kDefaultGraceMs);
  }
  for (const auto& [key, gathered] : facts.gathered) {
    if (gathered->leaving.empty() || facts.FindGang(key) != nullptr) continue;
    std::int64_t last_ms = 0;
    for (const gather::GangMember& member : gathered->leaving) {
      last_ms = std::max(last_ms, member.pod->metadata.deleted_ms.value_or(0));
    }
    if (last_ms > 0) ending.emplace(key, last_ms);
  }
  return ending;
}

std::string HolderOf(const PassFacts& facts, const NamespacedName& key) {
  if (const GangPtr gang = facts.FindGang(key)) {
    return StrCat(gang->owner.kind, " ", key.namespace_name, "/", gang->owner.name);
  }
  const gather::GatheredGang& gathered = *facts.GatheredOf(key);
  for (const auto* list : {&gathered.members, &gathered.leaving, &gathered.strays}) {
    for (const gather::GangMember& member : *list) {
      const api::OwnerReference& owner = member.membership->owner;
      return StrCat(owner.kind, " ", key.namespace_name, "/", owner.name);
    }
  }
  return key.text();
}

class Collector {
 public:
  explicit Collector(const PassFacts& facts) : facts_(facts) {}

  // All that the gang and its pods hold. `ends_ms`: of pods that are not being deleted yet.
  void AddGang(const NamespacedName& key, std::int64_t ends_ms) {
    const plan::JobId id = IdOfJob(*facts_.snapshot, key);
    const gather::GatheredGang* gathered = facts_.GatheredOf(key);
    if (id.valid() && facts_.Job(id).assignment) {
      AddPromises(key, facts_.Job(id), LastEndMs(gathered, ends_ms));
    } else if (gathered != nullptr) {
      AddPods(*gathered, HolderOf(facts_, key), ends_ms);
    }
  }
  // Those of its pods that are being deleted.
  void AddLeavingPods(const gather::GatheredGang& gathered, const std::string& holder) {
    for (const gather::GangMember& member : gathered.leaving) {
      if (member.pod->metadata.deleted_ms) AddPod(*member.pod, holder, 0);
    }
  }
  void AddPod(const api::Pod& pod, const std::string& holder, std::int64_t ends_ms) {
    if (pod.node_name.empty() || pod.finished()) return;
    Add({facts_.snapshot->places->FindHost(pod.node_name),
         pod.metadata.deleted_ms.value_or(ends_ms),
         static_cast<int>(api::GpusOf(pod, facts_.snapshot->gpu_resource())), pod.requests,
         holder});
  }
  Departures Take() {
    std::sort(departures_.begin(), departures_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.host, a.holder, a.free_ms) < std::tie(b.host, b.holder, b.free_ms);
    });
    return std::move(departures_);
  }

 private:
  static std::int64_t LastEndMs(const gather::GatheredGang* gathered, std::int64_t ends_ms) {
    std::int64_t last_ms = 0;
    if (gathered == nullptr) return ends_ms;
    for (const auto* list : {&gathered->members, &gathered->leaving, &gathered->strays}) {
      for (const gather::GangMember& member : *list) {
        if (member.pod->node_name.empty()) continue;
        last_ms = std::max(last_ms, member.pod->metadata.deleted_ms.value_or(ends_ms));
      }
    }
    return last_ms > 0 ? last_ms : ends_ms;
  }

  void AddPromises(const NamespacedName& key, const plan::JobState& job, std::int64_t ends_ms) {
    const std::string holder = HolderOf(facts_, key);
    int rank = 0;
    for (const fabric::HostId host : job.assignment->host_of_rank) {
      Add({host, ends_ms, job.job.HostGpusOf(rank), job.job.RequestsOf(rank), holder});
      ++rank;
    }
  }
  void AddPods(const gather::GatheredGang& gathered, const std::string& holder,
               std::int64_t ends_ms) {
    for (const auto* list : {&gathered.members, &gathered.leaving, &gathered.strays}) {
      for (const gather::GangMember& member : *list) AddPod(*member.pod, holder, ends_ms);
    }
  }
  void Add(plan::Departure departure) {
    if (!departure.host.valid()) return;
    if (departure.free_ms + plan::kLeavingSlackMs < facts_.now.wall_ms) return;
    departures_.push_back(std::move(departure));
  }

  const PassFacts& facts_;
  Departures departures_;
};

}  // namespace

Departures DeparturesOf(const PassFacts& facts) {
  const Ending ending = EndingGangs(facts);
  Collector collector(facts);
  for (const auto& [key, ends_ms] : ending) {
    if (facts.isolated.count(key) == 0) collector.AddGang(key, ends_ms);
  }
  for (const auto& [key, gathered] : facts.gathered) {
    if (gathered->leaving.empty() || ending.count(key) != 0) continue;
    const GangPtr gang = facts.FindGang(key);
    if (gang != nullptr && HoldsHosts(gang->status)) continue;
    collector.AddLeavingPods(*gathered, HolderOf(facts, key));
  }
  for (const gather::PodPtr& pod : facts.leaving_pods) {
    collector.AddPod(*pod, StrCat("Pod ", KeyOf(pod->metadata).text()), 0);
  }
  return collector.Take();
}

}  // namespace yardmaster::extender
