#include "pkg/plan/verifier.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using workload::Axis;
using workload::Enforcement;
using workload::GroupPolicy;
using workload::TopologyLevel;

// More faults than these say nothing new.
constexpr std::size_t kMaxFaults = 20;

class Verifier {
 public:
  Verifier(const Snapshot& snapshot, JobId job, const std::vector<HostId>& host_of_rank,
           bool may_use_backup)
      : snapshot_(snapshot),
        places_(*snapshot.places),
        index_(job),
        state_(snapshot.jobs[job.index()]),
        job_(state_.job),
        host_of_(host_of_rank),
        may_use_backup_(may_use_backup) {
    NumberGpus();
  }

  absl::Status Run() {
    if (!Complete()) return Result();
    CheckHosts();
    CheckGpuModels();
    CheckRoom();
    const workload::PlacementPolicy& policy = job_.placement;
    CheckFamily("tensor", {Axis::kTensor}, policy.tensor);
    CheckFamily("context", {Axis::kContext}, policy.context);
    CheckFamily("expert", {Axis::kExpert}, policy.expert);
    CheckFamily("data", {Axis::kContext, Axis::kExpert, Axis::kData}, policy.data);
    CheckFamily("pipeline", {Axis::kPipeline}, policy.pipeline);
    CheckStages();
    CheckUnits();
    return Result();
  }

 private:
  void Fault(std::string text) { faults_.push_back(std::move(text)); }

  absl::Status Result() const {
    if (faults_.empty()) return absl::OkStatus();
    std::vector<std::string> shown(
        faults_.begin(),
        faults_.begin() + static_cast<std::ptrdiff_t>(std::min(faults_.size(), kMaxFaults)));
    if (faults_.size() > kMaxFaults) shown.push_back(StrCat(faults_.size() - kMaxFaults, " more"));
    return absl::FailedPreconditionError(StrCat(job_.key.text(), ": ", Join(shown, "; ")));
  }

  bool Complete() {
    if (host_of_.size() != static_cast<std::size_t>(job_.workers)) {
      Fault(StrCat(host_of_.size(), " ranks have a host, the job has ", job_.workers));
    }
    for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
      if (host_of_[rank].value < 0 || host_of_[rank].value >= places_.num_hosts()) {
        Fault(StrCat("rank ", rank, " has no host"));
      }
    }
    return faults_.empty();
  }

  // Worker by worker; where roles have different numbers of GPUs and the sizes of the parallelism
  // do not count all of them, only the workers with the most have numbers.
  void NumberGpus() {
    for (int worker = 0; worker < job_.workers; ++worker) {
      worker_of_gpu_.insert(worker_of_gpu_.end(), static_cast<std::size_t>(job_.GpusOf(worker)),
                            worker);
    }
    const workload::Parallelism& p = job_.parallelism;
    const auto sizes = std::uint64_t{1} * p.tensor * p.context * p.data * p.pipeline;
    if (worker_of_gpu_.size() == sizes) return;
    std::erase_if(worker_of_gpu_,
                  [&](int worker) { return job_.GpusOf(worker) < job_.gpus_per_worker; });
  }

  bool Keeps(std::size_t rank) const {
    return state_.assignment && rank < state_.assignment->host_of_rank.size() &&
           state_.assignment->host_of_rank[rank] == host_of_[rank];
  }

  void CheckHosts() {
    for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
      if (Keeps(rank)) continue;
      const placement::HostState& host = snapshot_.cluster.hosts[host_of_[rank].index()];
      const std::string who = StrCat("rank ", rank, " on host ", places_.name(host_of_[rank]));
      if (host.unavailable != placement::Unavailability::kNo)
        Fault(StrCat(who, ": the host is out of service"));
      if (host.backup && !may_use_backup_) Fault(StrCat(who, ": it is a backup host"));
      if (host.reserved_for >= 0 && host.reserved_for != index_.value) {
        Fault(StrCat(who, ": it is reserved for another job"));
      }
      if (state_.eligible && !state_.eligible->empty() &&
          (*state_.eligible)[host_of_[rank].index()] == 0) {
        Fault(StrCat(who, ": the pod template does not allow it"));
      } else if (!RoleAllows(rank)) {
        Fault(StrCat(who, ": its role's pods may not use it"));
      }
    }
  }

  bool RoleAllows(std::size_t rank) const {
    const placement::HostSet* hosts = nullptr;
    for (std::size_t i = 0; state_.role_hosts && i < state_.role_hosts->size(); ++i) {
      const placement::RoleHosts& role = (*state_.role_hosts)[i];
      if (role.first_rank <= static_cast<int>(rank)) hosts = role.hosts.get();
    }
    return hosts == nullptr || (*hosts)[host_of_[rank].index()] != 0;
  }

  // Ranks that are new to their host have the GPU model of the others.
  void CheckGpuModels() {
    if (job_.mixed_gpu_models || snapshot_.cluster.gpu_models == nullptr) return;
    std::set<std::string> kept, added;
    for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
      const placement::HostState& host = snapshot_.cluster.hosts[host_of_[rank].index()];
      if (host.gpus == 0 || job_.GpusOf(static_cast<int>(rank)) == 0) continue;
      (Keeps(rank) ? kept : added).insert((*snapshot_.cluster.gpu_models)[host.gpu_model]);
    }
    std::set<std::string> models = added;
    if (kept.size() == 1) models.insert(*kept.begin());
    if (kept.size() < 2 && models.size() > 1) {
      Fault(StrCat("hosts of different GPU models: ",
                   Join(std::vector<std::string>(models.begin(), models.end()), ", ")));
    }
  }

  // Room for every rank that is new to its host. Ranks that leave a host make room on it.
  void CheckRoom() {
    std::map<HostId, std::int64_t> gpus;
    std::map<std::pair<HostId, std::string>, std::int64_t> amounts;
    const auto add = [&](std::size_t rank, HostId host, int sign) {
      if (job_.counts_gpus) gpus[host] += sign * job_.GpusOf(static_cast<int>(rank));
      for (const workload::ResourceAmount& request : job_.RequestsOf(static_cast<int>(rank))) {
        amounts[{host, request.name}] += sign * request.amount;
      }
    };
    std::set<HostId> taken;
    for (std::size_t rank = 0; rank < host_of_.size(); ++rank) {
      if (Keeps(rank)) continue;
      add(rank, host_of_[rank], 1);
      taken.insert(host_of_[rank]);
    }
    for (std::size_t rank = 0; state_.assignment && rank < state_.assignment->host_of_rank.size();
         ++rank) {
      const HostId host = state_.assignment->host_of_rank[rank];
      const bool stays = rank < host_of_.size() && Keeps(rank);
      if (!stays && taken.count(host) != 0) add(rank, host, -1);
    }
    for (const auto& [host, given] : gpus) {
      CheckAmount(host, "GPUs", given, snapshot_.cluster.hosts[host.index()].free_gpus);
    }
    const placement::HostResources& resources = snapshot_.cluster.resources;
    for (std::size_t column = 0; column < resources.columns(); ++column) {
      const std::string& name = (*resources.names)[column];
      for (HostId host : taken) {
        const auto given = amounts.find({host, name});
        if (given == amounts.end()) continue;
        CheckAmount(host, name, given->second,
                    resources.free[host.index() * resources.columns() + column]);
      }
    }
  }

  void CheckAmount(HostId host, std::string_view what, std::int64_t given, std::int64_t free) {
    if (given <= 0 || given <= free) return;
    Fault(StrCat("host ", places_.name(host), ": ", given, " ", what, " are given out and ", free,
                 " are free"));
  }

  // The coordinates of a GPU, straight from the definition of the order.
  std::vector<std::int64_t> At(std::int64_t gpu) const {
    const workload::Parallelism& p = job_.parallelism;
    const std::int64_t size[] = {p.tensor, p.context, p.expert, p.data / p.expert, p.pipeline};
    std::vector<std::int64_t> at(5);
    for (Axis axis : p.order) {
      const auto a = static_cast<std::size_t>(axis);
      at[a] = gpu % size[a];
      gpu /= size[a];
    }
    return at;
  }

  std::string PlaceOf(HostId host, TopologyLevel within) const {
    const fabric::SegmentId segment = places_.segment_of(host);
    switch (within) {
      case TopologyLevel::kHost:
        return places_.name(host);
      case TopologyLevel::kDomain:
        return places_.name(places_.hosts_of(places_.domain_of(host))[0]);
      case TopologyLevel::kSegment:
        return StrCat(places_.name(places_.fabric_pod_of(segment)), "/", places_.name(segment));
      case TopologyLevel::kFabricPod:
        return places_.name(places_.fabric_pod_of(segment));
      case TopologyLevel::kFabric:
        return "";
    }
    return "";
  }

  void CheckFamily(const char* name, const std::vector<Axis>& varying, const GroupPolicy& policy) {
    if (policy.mode != Enforcement::kRequired || policy.within == TopologyLevel::kFabric) return;
    std::map<std::vector<std::int64_t>, HostId> first;
    std::set<std::vector<std::int64_t>> split;
    for (std::size_t gpu = 0; gpu < worker_of_gpu_.size(); ++gpu) {
      std::vector<std::int64_t> key = At(static_cast<std::int64_t>(gpu));
      for (Axis axis : varying) key[static_cast<std::size_t>(axis)] = 0;
      const HostId host = host_of_[static_cast<std::size_t>(worker_of_gpu_[gpu])];
      const HostId before = first.emplace(key, host).first->second;
      if (before == host) continue;
      if (PlaceOf(before, policy.within) != PlaceOf(host, policy.within)) split.insert(key);
    }
    if (split.empty()) return;
    static constexpr std::string_view kLevels[] = {"host", "domain", "segment", "fabric pod",
                                                   "fabric"};
    Fault(StrCat(Count(static_cast<std::int64_t>(split.size()), "group"), " of ", name,
                 " split although Required within one ",
                 kLevels[static_cast<std::size_t>(policy.within)]));
  }

  void CheckStages() {
    const int limit = job_.placement.max_stages_per_segment;
    if (limit == 0) return;
    std::map<fabric::SegmentId, std::set<std::int64_t>> stages;
    for (std::size_t gpu = 0; gpu < worker_of_gpu_.size(); ++gpu) {
      const HostId host = host_of_[static_cast<std::size_t>(worker_of_gpu_[gpu])];
      const std::vector<std::int64_t> at = At(static_cast<std::int64_t>(gpu));
      stages[places_.segment_of(host)].insert(at[static_cast<std::size_t>(Axis::kPipeline)]);
    }
    for (const auto& [segment, held] : stages) {
      if (static_cast<int>(held.size()) <= limit) continue;
      Fault(StrCat("segment ", places_.name(segment), " holds ", held.size(), " stages, at most ",
                   limit, " may"));
    }
  }

  // Ranks 0 to n - 1 in one domain, and so on, and no two such units in one.
  void CheckUnits() {
    if (job_.placement.domain_unit == 0 || !places_.has_domains()) return;
    int workers_of_host = 1;
    for (const placement::HostState& host : snapshot_.cluster.hosts) {
      if (!job_.counts_gpus || job_.gpus_per_worker == 0) break;
      workers_of_host = std::max(workers_of_host, host.gpus / job_.gpus_per_worker);
    }
    const int length = job_.placement.domain_unit * workers_of_host;
    std::map<fabric::DomainId, std::set<int>> units;
    std::map<int, std::set<fabric::DomainId>> domains;
    for (int rank = 0; rank < job_.workers; ++rank) {
      const fabric::DomainId domain = places_.domain_of(host_of_[static_cast<std::size_t>(rank)]);
      units[domain].insert(rank / length);
      domains[rank / length].insert(domain);
    }
    for (const auto& [domain, held] : units) {
      if (held.size() == 1) continue;
      Fault(StrCat("domain ", places_.name(domain), " holds ranks of ", held.size(), " units of ",
                   Count(job_.placement.domain_unit, "host")));
    }
    for (const auto& [unit, in] : domains) {
      if (in.size() == 1) continue;
      Fault(StrCat("ranks ", unit * length, " to ", std::min((unit + 1) * length, job_.workers) - 1,
                   " lie in ", in.size(), " domains although a unit of ",
                   Count(job_.placement.domain_unit, "host"), " lies in one"));
    }
  }

  const Snapshot& snapshot_;
  const fabric::Places& places_;
  const JobId index_;
  const JobState& state_;
  const workload::Job& job_;
  const std::vector<HostId>& host_of_;
  const bool may_use_backup_;
  std::vector<int> worker_of_gpu_;
  std::vector<std::string> faults_;
};

}  // namespace

absl::Status VerifyPlacement(const Snapshot& snapshot, JobId job,
                             const std::vector<HostId>& host_of_rank, bool may_use_backup) {
  return Verifier(snapshot, job, host_of_rank, may_use_backup).Run();
}

}  // namespace yardmaster::plan
