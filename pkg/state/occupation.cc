#include "pkg/state/occupation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/slot.h"

namespace yardmaster::state {

using fabric::HostId;

void Occupation::Update(const ObjectTable<api::Pod>& pods, const HostIndex& hosts,
                        const HostChanges& changes, const HostCapacity& capacity,
                        bool other_columns, JobIndex& jobs, std::set<NamespacedName>& changed) {
  capacity_ = &capacity;
  const bool all = changes.renumbered || other_columns || gpu_resource_ != hosts.gpu_resource();
  gpu_resource_ = hosts.gpu_resource();
  if (all) StartOver(hosts, changes);
  ObjectTable<api::Pod>::Differences(pods_, pods, [&](const auto& before, const auto& after) {
    if (before != nullptr) Remove(*before, changed);
    if (after != nullptr && !after->finished() && !after->node_name.empty()) {
      Add(after, *hosts.places(), changed);
    }
  });
  pods_ = pods;
  if (all) {
    for (const auto& [key, share] : shares_) changed.insert(key);
    for (const auto& [key, job] : jobs.jobs()) changed.insert(key);
  }
  for (const NamespacedName& key : changed) Count(key, jobs.Find(key));
}

// The slot was made from what labels say; they are read first, because that needs no JSON.
void Occupation::Add(std::shared_ptr<const api::Pod> pod, const fabric::Places& places,
                     std::set<NamespacedName>& changed) {
  const HostId host = places.FindHost(pod->node_name);
  BoundPod bound{pod, host, std::nullopt, std::nullopt};
  std::optional<NamespacedName> gang;
  const std::string& ns = pod->metadata.namespace_name;
  if (api::WantsGang(*pod)) {
    auto membership = api::ResolveMembership(*pod);
    if (membership.ok() && *membership) {
      gang = NamespacedName{ns, (*membership)->gang_name};
      bound.membership = *std::move(*membership);
    }
  }
  if (!gang) {
    const auto text = api::Find(pod->metadata.annotations, api::kSlotAnnotation);
    if (!text) return AddLoose({std::move(pod), host});
    const absl::StatusOr<api::Slot> slot = api::DecodeSlot(*text);
    if (!slot.ok()) return AddLoose({std::move(pod), host});
    gang = NamespacedName{ns, slot->gang};
    bound.rank = slot->rank;
  }
  gang_of_pod_.emplace(pod.get(), *gang);
  changed.insert(*gang);
  shares_[*gang].pods.insert_or_assign(pod->metadata.name, std::move(bound));
}

void Occupation::AddLoose(LoosePod pod) {
  const ColumnAmounts amounts = capacity_->ColumnsOf(pod.pod->requests);
  Change({pod.host, GpusOf(*pod.pod), std::make_shared<const ColumnAmounts>(amounts)}, 1);
  const api::Pod* key = pod.pod.get();
  loose_.insert_or_assign(key, std::move(pod));
}

void Occupation::Remove(const api::Pod& pod, std::set<NamespacedName>& changed) {
  if (const auto at = gang_of_pod_.find(&pod); at != gang_of_pod_.end()) {
    changed.insert(at->second);
    shares_[at->second].pods.erase(pod.metadata.name);
    gang_of_pod_.erase(at);
  } else if (const auto loose = loose_.find(&pod); loose != loose_.end()) {
    Change({loose->second.host, GpusOf(pod),
            std::make_shared<const ColumnAmounts>(capacity_->ColumnsOf(pod.requests))},
           -1);
    loose_.erase(loose);
  }
}

void Occupation::StartOver(const HostIndex& hosts, const HostChanges& changes) {
  const fabric::Places& places = *hosts.places();
  const auto move = [&](HostId& host, const api::Pod& pod) {
    if (!changes.renumbered) return;
    HostId to;
    if (host.valid() && !changes.moved_to.empty()) to = changes.moved_to[host.index()];
    host = to.valid() ? to : places.FindHost(pod.node_name);
  };
  held_.assign(static_cast<std::size_t>(places.num_hosts()), 0);
  held_resources_.assign(held_.size() * capacity_->columns(), 0);
  for (auto& [key, share] : shares_) {
    share.held.clear();
    for (auto& [name, pod] : share.pods) move(pod.host, *pod.pod);
  }
  for (auto& [key, pod] : loose_) {
    move(pod.host, *pod.pod);
    Change({pod.host, GpusOf(*pod.pod),
            std::make_shared<const ColumnAmounts>(capacity_->ColumnsOf(pod.pod->requests))},
           1);
  }
}

void Occupation::Count(const NamespacedName& key, KeptJob* job) {
  Share& share = shares_[key];
  for (const Held& held : share.held) Change(held, -1);
  share.held.clear();
  if (job == nullptr && share.pods.empty()) {
    shares_.erase(key);
    return;
  }
  if (job != nullptr && job->gang == nullptr) job->state.assignment = PlaceByPods(share, *job);
  if (job != nullptr && job->state.assignment) CountPromises(job->state, share.held);
  CountPods(share, job, share.held);
  for (const Held& held : share.held) Change(held, 1);
}

void Occupation::CountPromises(const plan::JobState& state, std::vector<Held>& held) const {
  const std::vector<workload::Role>& roles = state.job.roles;
  auto role = roles.begin();
  auto amounts = std::make_shared<const ColumnAmounts>(capacity_->ColumnsOf(state.job.requests));
  int rank = 0;
  for (HostId host : state.assignment->host_of_rank) {
    for (; role != roles.end() && role->first_rank <= rank; ++role) {
      amounts = std::make_shared<const ColumnAmounts>(capacity_->ColumnsOf(role->requests));
    }
    held.push_back({host, state.job.HostGpusOf(rank), amounts});
    ++rank;
  }
}

// A pod on its slot's host holds what was promised; what it asks for beyond that counts besides, and so does all
// that another pod of its rank there asks for.
void Occupation::CountPods(const Share& share, const KeptJob* job, std::vector<Held>& held) const {
  std::set<int> taken;  // ranks whose promise a pod holds
  for (const auto& [name, pod] : share.pods) {
    ColumnAmounts amounts = capacity_->ColumnsOf(pod.pod->requests);
    std::int64_t gpus = GpusOf(*pod.pod);
    if (OnItsSlot(pod, job) && taken.insert(*RankOf(pod, *job)).second) {
      const std::optional<int> rank = RankOf(pod, *job);
      gpus = std::max<std::int64_t>(0, gpus - job->state.job.HostGpusOf(*rank));
      for (auto& [column, amount] : amounts) {
        for (const auto& [promised_column, part] :
             capacity_->ColumnsOf(job->state.job.RequestsOf(*rank))) {
          if (promised_column == column) amount -= part;
        }
      }
      std::erase_if(amounts, [](const auto& entry) { return entry.second <= 0; });
      if (amounts.empty() && gpus == 0) continue;
    }
    held.push_back({pod.host, gpus, std::make_shared<const ColumnAmounts>(std::move(amounts))});
  }
}

std::optional<int> Occupation::RankOf(const BoundPod& pod, const KeptJob& job) {
  return pod.membership ? job.RankOf(*pod.membership) : pod.rank;
}

bool Occupation::OnItsSlot(const BoundPod& pod, const KeptJob* job) {
  if (job == nullptr || !job->state.assignment) return false;
  const std::optional<int> rank = RankOf(pod, *job);
  const auto& hosts = job->state.assignment->host_of_rank;
  return rank && *rank >= 0 && *rank < static_cast<int>(hosts.size()) &&
         hosts[static_cast<std::size_t>(*rank)] == pod.host;
}

// A TrainingJob that runs although its Gang is not here is placed where its pods are.
std::optional<plan::Assignment> Occupation::PlaceByPods(const Share& share, const KeptJob& job) {
  std::map<int, HostId> host_of_rank;
  for (const auto& [name, pod] : share.pods) {
    const std::optional<int> rank = RankOf(pod, job);
    if (!rank || !pod.host.valid()) continue;
    const auto [at, fresh] = host_of_rank.emplace(*rank, pod.host);
    if (!fresh) at->second = std::min(at->second, pod.host);
  }
  const int workers = job.state.job.workers;
  if (workers < 1 || static_cast<int>(host_of_rank.size()) != workers ||
      host_of_rank.begin()->first != 0 || host_of_rank.rbegin()->first != workers - 1) {
    return std::nullopt;
  }
  plan::Assignment assignment;
  for (const auto& [rank, host] : host_of_rank) assignment.host_of_rank.push_back(host);
  return assignment;
}

std::int64_t Occupation::GpusOf(const api::Pod& pod) const {
  return api::GpusOf(pod, gpu_resource_);
}

void Occupation::Change(const Held& held, int sign) {
  if (!held.host.valid()) return;
  held_[held.host.index()] += sign * Sum{held.gpus};
  const std::size_t row = held.host.index() * capacity_->columns();
  for (const auto& [column, amount] : *held.amounts) {
    held_resources_[row + column] += sign * Sum{amount};
  }
}

std::vector<std::int64_t> Occupation::held_resources() const {
  std::vector<std::int64_t> out(held_resources_.size());
  std::transform(held_resources_.begin(), held_resources_.end(), out.begin(), Clamped);
  return out;
}

}  // namespace yardmaster::state
