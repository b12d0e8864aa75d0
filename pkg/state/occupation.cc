#include "pkg/state/occupation.h"

#include <algorithm>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/slot.h"

namespace yardmaster::state {

using fabric::HostId;

namespace {

bool IsCounted(const api::Pod& pod) { return !pod.node_name.empty() && !pod.finished(); }

// The same of the same host.
bool AskSame(const api::Pod& a, const api::Pod& b) {
  return a.node_name == b.node_name && a.requests_unreadable == b.requests_unreadable &&
         a.requests == b.requests;
}

// The gang of a pod that only its slot says.
std::optional<api::Slot> SlotOf(const api::Pod& pod) {
  const auto text = api::Find(pod.metadata.annotations, api::kSlotAnnotation);
  if (!text) return std::nullopt;
  absl::StatusOr<api::Slot> slot = api::DecodeSlot(*text);
  if (!slot.ok()) return std::nullopt;
  return *std::move(slot);
}

using PodList = Occupation::OrdinaryPods;

plan::OrdinaryPod OrdinaryPodOf(const api::Pod& pod, std::int64_t gpus) {
  return {KeyOf(pod.metadata).text(), pod.priority, gpus};
}

PodList::iterator FindPod(PodList& pods, const std::string& name) {
  return std::lower_bound(
      pods.begin(), pods.end(), name,
      [](const plan::OrdinaryPod& pod, const std::string& wanted) { return pod.name < wanted; });
}

// Lists are shared with snapshots: each change makes another one.
std::shared_ptr<const PodList> WithPod(const std::shared_ptr<const PodList>& before,
                                       plan::OrdinaryPod pod) {
  auto pods = before == nullptr ? std::make_shared<PodList>() : std::make_shared<PodList>(*before);
  const auto at = FindPod(*pods, pod.name);
  pods->insert(at, std::move(pod));
  return pods;
}

std::shared_ptr<const PodList> WithoutPod(const std::shared_ptr<const PodList>& before,
                                          const std::string& name) {
  if (before == nullptr) return nullptr;
  auto pods = std::make_shared<PodList>(*before);
  const auto at = FindPod(*pods, name);
  if (at != pods->end() && at->name == name) pods->erase(at);
  return pods->empty() ? nullptr : pods;
}

// Another state of a pod of no gang holds the same and is in no gang, either.
bool StaysLoose(const api::Pod& before, const api::Pod& after) {
  return AskSame(before, after) && !api::WantsGang(after) && !SlotOf(after);
}

}  // namespace

void Occupation::Update(const ObjectTable<api::Pod>& pods, const HostIndex& hosts,
                        const HostChanges& changes, const HostCapacity& capacity,
                        bool other_columns, JobIndex& jobs, std::set<NamespacedName>& changed) {
  capacity_ = &capacity;
  const bool recount = other_columns || gpu_resource_ != hosts.gpu_resource();
  gpu_resource_ = hosts.gpu_resource();
  if (recount || changes.renumbered) StartOver(hosts, changes, recount, jobs, changed);
  ObjectTable<api::Pod>::Differences(pods_, pods, [&](const auto& before, const auto& after) {
    const bool counted = after != nullptr && IsCounted(*after);
    if (before != nullptr && IsCounted(*before)) {
      const auto member = members_.find(before.get());
      if (member == members_.end()) {
        if (counted && StaysLoose(*before, *after)) return;
        RemoveLoose(*before);
      } else if (counted && Replace(member, after)) {
        return;
      } else {
        Remove(member, changed);
      }
    }
    if (counted) Add(after, *hosts.places(), changed);
  });
  pods_ = pods;
  for (const NamespacedName& key : changed) Count(key, jobs.Find(key));
}

// The slot was made from what labels say; they are read first, because that needs no JSON.
void Occupation::Add(std::shared_ptr<const api::Pod> pod, const fabric::Places& places,
                     std::set<NamespacedName>& changed) {
  std::optional<api::Membership> membership;
  if (api::WantsGang(*pod)) {
    auto resolved = api::ResolveMembership(*pod);
    if (resolved.ok()) membership = *std::move(resolved);
  }
  const std::optional<api::Slot> slot = membership ? std::nullopt : SlotOf(*pod);
  if (!membership && !slot) return AddLoose(*pod, places);
  const NamespacedName gang{pod->metadata.namespace_name,
                            membership ? membership->gang_name : slot->gang};
  BoundPod bound{pod, places.FindHost(pod->node_name), std::nullopt, {}, 0};
  if (membership) {
    bound.subgroup = std::move(membership->subgroup);
    bound.index = membership->index;
  } else {
    bound.rank = slot->rank;
  }
  changed.insert(gang);
  const auto share = shares_.try_emplace(gang).first;
  // Pods come by name when there are many.
  BoundPods& pods = share->second.pods;
  const auto at = pods.insert_or_assign(pods.end(), pod->metadata.name, std::move(bound));
  members_.insert_or_assign(pod.get(), Member{share, at});
}

bool Occupation::Replace(Members::iterator member, const std::shared_ptr<const api::Pod>& after) {
  const api::Pod& before = *member->first;
  if (!AskSame(before, *after) || !api::SameMembershipInputs(before, *after)) return false;
  member->second.pod->second.pod = after;
  auto moved = members_.extract(member);
  moved.key() = after.get();
  members_.insert(std::move(moved));
  return true;
}

void Occupation::AddLoose(const api::Pod& pod, const fabric::Places& places) {
  const Loose asked = LooseDemand(pod);
  if (asked.none()) return;
  const auto [load, fresh] = loads_.try_emplace(pod.node_name);
  if (fresh) {
    load->second.host = places.FindHost(pod.node_name);
    load->second.amounts.resize(capacity_->columns());
  }
  Change(load->second, pod, asked, 1);
}

void Occupation::Remove(Members::iterator member, std::set<NamespacedName>& changed) {
  const auto [share, pod] = member->second;
  changed.insert(share->first);
  share->second.pods.erase(pod);
  members_.erase(member);
}

void Occupation::RemoveLoose(const api::Pod& pod) {
  const Loose asked = LooseDemand(pod);
  if (asked.none()) return;
  const auto load = loads_.find(pod.node_name);
  Change(load->second, pod, asked, -1);
  if (load->second.pods == 0) loads_.erase(load);
}

Occupation::Loose Occupation::LooseDemand(const api::Pod& pod) {
  scratch_.clear();
  capacity_->ForColumns(pod.requests, [this](std::size_t column, std::int64_t amount) {
    scratch_.push_back({column, amount});
  });
  return {GpusOf(pod), scratch_};
}

void Occupation::Change(NodeLoad& load, const api::Pod& pod, const Loose& asked, int sign) {
  load.pods += sign;
  load.gpus += sign * Sum{asked.gpus};
  if (asked.gpus > 0) {
    load.with_gpus = sign > 0 ? WithPod(load.with_gpus, OrdinaryPodOf(pod, asked.gpus))
                              : WithoutPod(load.with_gpus, KeyOf(pod.metadata).text());
  }
  for (const auto& [column, amount] : asked.amounts) load.amounts[column] += sign * Sum{amount};
  if (!load.host.valid()) return;
  held_[load.host.index()] += sign * Sum{asked.gpus};
  const std::size_t row = load.host.index() * capacity_->columns();
  for (const auto& [column, amount] : asked.amounts) {
    held_resources_[row + column] += sign * Sum{amount};
  }
}

void Occupation::StartOver(const HostIndex& hosts, const HostChanges& changes, bool recount,
                           JobIndex& jobs, std::set<NamespacedName>& changed) {
  held_.assign(static_cast<std::size_t>(hosts.places()->num_hosts()), 0);
  held_resources_.assign(held_.size() * capacity_->columns(), 0);
  if (recount) {
    RecountLoads(*hosts.places());
  } else {
    MoveLoads(*hosts.places(), changes);
  }
  for (auto& [key, share] : shares_) {
    const bool moved = !changes.renumbered || MoveShare(*hosts.places(), changes, share);
    const KeptJob* job = jobs.Find(key);
    const bool placed_by_pods = job != nullptr && job->gang == nullptr;
    if (moved && !recount && !placed_by_pods) {
      for (const Held& held : share.held) Change(held, 1);
    } else {
      share.held.clear();
      changed.insert(key);
    }
  }
  if (!recount) return;
  for (const auto& [key, job] : jobs.jobs()) changed.insert(key);
}

void Occupation::RecountLoads(const fabric::Places& places) {
  loads_.clear();
  for (const auto& pod : pods_) {
    if (IsCounted(*pod) && members_.count(pod.get()) == 0) AddLoose(*pod, places);
  }
}

void Occupation::MoveLoads(const fabric::Places& places, const HostChanges& changes) {
  const std::size_t columns = capacity_->columns();
  for (auto& [node, load] : loads_) {
    load.host = MovedHost(places, changes, load.host, node);
    if (!load.host.valid()) continue;
    held_[load.host.index()] += load.gpus;
    for (std::size_t column = 0; column < columns; ++column) {
      held_resources_[load.host.index() * columns + column] += load.amounts[column];
    }
  }
}

HostId Occupation::MovedHost(const fabric::Places& places, const HostChanges& changes,
                             HostId before, const std::string& node) {
  if (!before.valid() || changes.moved_to.empty()) return places.FindHost(node);
  return changes.moved_to[before.index()];
}

// False where more than ids has changed: a host came or went, or nothing was known before.
bool Occupation::MoveShare(const fabric::Places& places, const HostChanges& changes, Share& share) {
  bool same = true;
  const auto move = [&](HostId& host, const std::string& node) {
    const bool was_known = host.valid();
    host = MovedHost(places, changes, host, node);
    same &= was_known == host.valid();
  };
  for (auto& [name, pod] : share.pods) move(pod.host, pod.pod->node_name);
  if (changes.moved_to.empty()) return false;
  for (Held& held : share.held) {
    if (held.host.valid()) move(held.host, {});
  }
  return same;
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
  if (job != nullptr && job->state.next) CountNext(job->state, share.held);
  CountPods(share, job, share.held);
  for (const Held& held : share.held) Change(held, 1);
}

void Occupation::CountPromises(const plan::JobState& state, std::vector<Held>& held) const {
  const std::vector<workload::Role>& roles = state.job.roles;
  auto role = roles.begin();
  Demand demand = DemandOf(state.job.host_gpus_per_worker(), state.job.requests);
  int rank = 0;
  held.reserve(state.assignment->host_of_rank.size());
  for (HostId host : state.assignment->host_of_rank) {
    if (role != roles.end() && role->first_rank <= rank) {
      while (role != roles.end() && role->first_rank <= rank) ++role;
      demand = DemandOf(state.job.HostGpusOf(rank), state.job.RequestsOf(rank));
    }
    held.push_back({host, demand});
    ++rank;
  }
}

// Of ranks that keep their host, or go to that of another rank, the host holds the greater demand.
void Occupation::CountNext(const plan::JobState& state, std::vector<Held>& held) const {
  struct Total {
    Sum gpus = 0;
    std::map<std::size_t, Sum> amounts;  // by column
  };
  std::map<HostId, Total> more;
  const auto add = [&](HostId host, const Demand& demand, int sign) {
    Total& total = more[host];
    total.gpus += sign * Sum{demand.gpus};
    if (demand.amounts == nullptr) return;
    for (const auto& [column, amount] : *demand.amounts)
      total.amounts[column] += sign * Sum{amount};
  };
  int rank = 0;
  for (HostId host : state.next->host_of_rank) {
    add(host, DemandOf(state.job.HostGpusOf(rank), state.job.RequestsOf(rank)), 1);
    ++rank;
  }
  for (const Held& now : held) {
    if (more.count(now.host) != 0) add(now.host, now.demand, -1);
  }
  for (const auto& [host, total] : more) {
    Demand demand{Clamped(std::max(total.gpus, Sum{0})), nullptr};
    ColumnAmounts amounts;
    for (const auto& [column, amount] : total.amounts) {
      if (amount > 0) amounts.push_back({column, Clamped(amount)});
    }
    if (!amounts.empty())
      demand.amounts = std::make_shared<const ColumnAmounts>(std::move(amounts));
    if (demand.gpus > 0 || demand.amounts != nullptr) held.push_back({host, std::move(demand)});
  }
}

// A pod on its slot's host holds what was promised; what it asks for beyond that counts besides,
// and so does all that another pod of its rank there asks for.
void Occupation::CountPods(const Share& share, const KeptJob* job, std::vector<Held>& held) const {
  std::vector<char> taken(held.size(), 0);  // by rank: a pod holds its promise
  for (const auto& [name, pod] : share.pods) {
    Demand promise;
    const std::optional<std::size_t> rank = RankOnSlot(pod, job);
    if (rank && taken[*rank] == 0) {
      taken[*rank] = 1;
      promise = held[*rank].demand;
    }
    Demand more = Beyond(*pod.pod, promise);
    if (more.gpus > 0 || more.amounts != nullptr) held.push_back({pod.host, std::move(more)});
  }
}

Occupation::Demand Occupation::DemandOf(std::int64_t gpus,
                                        const workload::ResourceList& requests) const {
  ColumnAmounts amounts = capacity_->ColumnsOf(requests);
  if (amounts.empty()) return {gpus, nullptr};
  return {gpus, std::make_shared<const ColumnAmounts>(std::move(amounts))};
}

Occupation::Demand Occupation::Beyond(const api::Pod& pod, const Demand& promise) const {
  static const ColumnAmounts kNone;
  const ColumnAmounts& promised = promise.amounts != nullptr ? *promise.amounts : kNone;
  auto at = promised.begin();
  ColumnAmounts more;
  capacity_->ForColumns(pod.requests, [&](std::size_t column, std::int64_t amount) {
    while (at != promised.end() && at->first < column) ++at;
    if (at != promised.end() && at->first == column) amount -= at->second;
    if (amount > 0) more.push_back({column, amount});
  });
  Demand out{std::max<std::int64_t>(0, GpusOf(pod) - promise.gpus), nullptr};
  if (!more.empty()) out.amounts = std::make_shared<const ColumnAmounts>(std::move(more));
  return out;
}

std::optional<int> Occupation::RankOf(const BoundPod& pod, const KeptJob& job) {
  return pod.rank ? pod.rank : job.RankOf(pod.subgroup, pod.index);
}

std::optional<std::size_t> Occupation::RankOnSlot(const BoundPod& pod, const KeptJob* job) {
  if (job == nullptr || !job->state.assignment) return std::nullopt;
  const std::optional<int> rank = RankOf(pod, *job);
  if (!rank || *rank < 0) return std::nullopt;
  const auto slot = static_cast<std::size_t>(*rank);
  const auto& hosts = job->state.assignment->host_of_rank;
  if (slot >= hosts.size() || hosts[slot] != pod.host) return std::nullopt;
  return slot;
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
  held_[held.host.index()] += sign * Sum{held.demand.gpus};
  if (held.demand.amounts == nullptr) return;
  const std::size_t row = held.host.index() * capacity_->columns();
  for (const auto& [column, amount] : *held.demand.amounts) {
    held_resources_[row + column] += sign * Sum{amount};
  }
}

std::vector<std::shared_ptr<const PodList>> Occupation::ordinary_pods(JobIndex& jobs) const {
  std::vector<std::shared_ptr<const PodList>> pods(held_.size());
  for (const auto& [node, load] : loads_) {
    if (load.host.valid()) pods[load.host.index()] = load.with_gpus;
  }
  // Of a gang without a place they run as ordinary ones do.
  for (const auto& [key, share] : shares_) {
    if (share.pods.empty()) continue;
    const KeptJob* job = jobs.Find(key);
    if (job != nullptr && job->state.assignment) continue;
    for (const auto& [name, pod] : share.pods) {
      const std::int64_t gpus = GpusOf(*pod.pod);
      if (!pod.host.valid() || gpus == 0) continue;
      auto& there = pods[pod.host.index()];
      there = WithPod(there, OrdinaryPodOf(*pod.pod, gpus));
    }
  }
  return pods;
}

std::vector<std::int64_t> Occupation::held_resources() const {
  std::vector<std::int64_t> out(held_resources_.size());
  std::transform(held_resources_.begin(), held_resources_.end(), out.begin(), Clamped);
  return out;
}

}  // namespace yardmaster::state
