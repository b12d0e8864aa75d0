#include "pkg/extender/facts/volume_reach.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/kube/object.h"

namespace yardmaster::extender {

namespace {

using nlohmann::json;
using placement::HostSet;
using HostSetPtr = std::shared_ptr<const HostSet>;
using Reaches = std::vector<const VolumeReach*>;  // that limit a pod, ascending

Reaches ReachesOf(const VolumesByClaim& volumes, const api::Pod& pod) {
  Reaches reaches;
  for (const std::string& claim : pod.volume_claims) {
    const auto at = volumes.find({pod.metadata.namespace_name, claim});
    if (at != volumes.end() && at->second.nodes) reaches.push_back(&at->second);
  }
  std::sort(reaches.begin(), reaches.end());
  return reaches;
}

HostSetPtr HostsThatReach(const Reaches& reaches, const state::ObjectTable<api::Node>& nodes,
                          const plan::Snapshot& snapshot) {
  auto hosts = std::make_shared<HostSet>(snapshot.cluster.hosts.size(), 0);
  for (const fabric::HostId host : snapshot.places->hosts()) {
    const auto node = nodes.Find({"", snapshot.places->name(host)});
    const bool all =
        node != nullptr && std::all_of(reaches.begin(), reaches.end(), [&](const auto* reach) {
          return api::Selects(*reach->nodes, *node);
        });
    (*hosts)[host.index()] = all ? 1 : 0;
  }
  return hosts;
}

// Null: every host.
HostSetPtr Common(const HostSetPtr& a, const HostSetPtr& b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  auto common = std::make_shared<HostSet>(*a);
  for (std::size_t host = 0; host < common->size(); ++host) (*common)[host] &= (*b)[host];
  return common;
}

// The hosts of every rank by what its volumes and its role say; equal ones share a set.
class RankHosts {
 public:
  RankHosts(const state::ObjectTable<api::Node>& nodes, const plan::Snapshot& snapshot,
            const plan::JobState& job)
      : nodes_(nodes), snapshot_(snapshot), job_(job) {}

  const HostSetPtr& Of(int rank, const Reaches& reaches) {
    const HostSetPtr own = OwnOf(rank);
    const auto [at, is_new] = common_.try_emplace({own.get(), reaches});
    if (is_new) at->second = Common(own, ReachOf(reaches));
    return at->second;
  }
  std::size_t sets() const { return common_.size(); }

 private:
  HostSetPtr OwnOf(int rank) const {
    HostSetPtr own;
    for (std::size_t i = 0; job_.role_hosts && i < job_.role_hosts->size(); ++i) {
      if ((*job_.role_hosts)[i].first_rank <= rank) own = (*job_.role_hosts)[i].hosts;
    }
    return own;
  }
  HostSetPtr ReachOf(const Reaches& reaches) {
    if (reaches.empty()) return nullptr;
    HostSetPtr& hosts = reach_[reaches];
    if (hosts == nullptr) hosts = HostsThatReach(reaches, nodes_, snapshot_);
    return hosts;
  }

  const state::ObjectTable<api::Node>& nodes_;
  const plan::Snapshot& snapshot_;
  const plan::JobState& job_;
  std::map<Reaches, HostSetPtr> reach_;
  std::map<std::pair<const HostSet*, Reaches>, HostSetPtr> common_;
};

// Of ranks whose pods have volumes that limit them.
std::map<int, Reaches> LimitedRanks(const VolumesByClaim& volumes,
                                    const gather::GatheredGang& pods) {
  std::map<int, Reaches> limited;
  for (const gather::GangMember& member : pods.members) {
    if (!member.rank || member.pod->volume_claims.empty()) continue;
    Reaches reaches = ReachesOf(volumes, *member.pod);
    if (!reaches.empty()) limited[*member.rank] = std::move(reaches);
  }
  return limited;
}

bool AreFew(const std::map<int, Reaches>& limited) {
  std::set<Reaches> distinct;
  for (const auto& [rank, reaches] : limited) distinct.insert(reaches);
  return distinct.size() < placement::kMaxHostClasses;
}

}  // namespace

std::string VolumeOfClaim(const json& claim) {
  return kube::StringAt(claim, {"spec", "volumeName"});
}

std::string UidOfClaim(const json& claim) { return kube::StringAt(claim, {"metadata", "uid"}); }

VolumeReach ReachOfVolume(const json& volume) {
  VolumeReach reach{true, std::nullopt};
  api::FieldErrors errors;
  api::FieldReader in(volume, "", api::UnknownFields::kIgnore, &errors);
  const bool limited =
      in.OpenObject("spec").OpenObject("nodeAffinity").OpenObject("required").present();
  if (!limited || !errors.empty()) return reach;
  // As in a pod, with the same bounds.
  const json pod_spec = {{"affinity",
                          {{"nodeAffinity",
                            {{"requiredDuringSchedulingIgnoredDuringExecution",
                              volume["spec"]["nodeAffinity"]["required"]}}}}}};
  api::FieldReader spec(pod_spec, "spec", api::UnknownFields::kIgnore, &errors);
  api::NodeConstraints nodes = api::ReadPodConstraints(spec);
  if (errors.empty()) reach.nodes = std::move(nodes);
  return reach;
}

bool MayLimit(const VolumesByClaim& volumes, const gather::GatheredGang& pods) {
  return AreFew(LimitedRanks(volumes, pods));
}

void LimitToVolumes(const VolumesByClaim& volumes, const gather::GatheredGang& pods,
                    const state::ObjectTable<api::Node>& nodes, const plan::Snapshot& snapshot,
                    plan::JobState& job) {
  const std::map<int, Reaches> limited = LimitedRanks(volumes, pods);
  if (limited.empty() || !AreFew(limited)) return;
  RankHosts hosts(nodes, snapshot, job);
  std::vector<placement::RoleHosts> roles;
  const int workers = std::max(job.job.workers, job.resize ? job.resize->job.workers : 0);
  const int last = std::max(workers - 1, limited.rbegin()->first);
  for (int rank = 0; rank <= last; ++rank) {
    const auto at = limited.find(rank);
    const HostSetPtr& own = hosts.Of(rank, at == limited.end() ? Reaches() : at->second);
    if (roles.empty() || roles.back().hosts != own) roles.push_back({rank, own});
  }
  if (hosts.sets() > placement::kMaxHostClasses) return;
  job.eligible = Common(job.eligible, placement::HostsOfAny(roles));
  // One set for all ranks is that of the job.
  job.role_hosts =
      roles.size() == 1
          ? nullptr
          : std::make_shared<const std::vector<placement::RoleHosts>>(std::move(roles));
}

}  // namespace yardmaster::extender
