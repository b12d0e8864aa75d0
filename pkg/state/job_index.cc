#include "pkg/state/job_index.h"

#include <algorithm>
#include <utility>

#include "pkg/base/strings.h"

namespace yardmaster::state {

namespace {

// Roles that differ only in the nodes that they ask for are one.
std::vector<workload::Role> RequestsByRank(const std::vector<api::GangRole>& roles) {
  std::vector<workload::Role> out;
  for (const api::GangRole& role : roles) {
    if (!out.empty() && out.back().requests == role.requests && out.back().gpus == role.gpus) {
      continue;
    }
    out.push_back({role.first_rank, role.requests, role.gpus});
  }
  if (out.size() == 1 && roles.size() > 1) out.clear();
  return out;
}

bool SameShape(const workload::Job& a, const workload::Job& b) {
  return a.workers == b.workers && a.gpus_per_worker == b.gpus_per_worker &&
         a.parallelism == b.parallelism && !a.gpus_differ() && !b.gpus_differ();
}

std::string WantedGpuModel(const api::NodeConstraints& constraints) {
  if (!constraints.gpu_model.empty()) return constraints.gpu_model;
  const auto selected = api::Find(constraints.node_selector, api::kGpuModelLabel);
  return selected ? std::string(*selected) : "";
}

// Every role with GPUs names the model that it wants, and they are not all the same: none mixes
// models, and the gang is meant to.
bool NamesAModelForEachRole(const api::Gang& gang) {
  std::set<std::string> models;
  for (const api::GangRole& role : gang.roles) {
    if (role.gpus == 0) continue;
    models.insert(WantedGpuModel(role.constraints.value_or(gang.constraints)));
  }
  return models.size() > 1 && models.count("") == 0;
}

}  // namespace

std::optional<int> KeptJob::RankOf(std::string_view subgroup, int index) const {
  static const std::vector<api::RankBase> kOnlySubgroup = {{"", 0}};
  const bool has_bases = gang != nullptr && !gang->rank_bases.empty();
  return api::RankOf(has_bases ? gang->rank_bases : kOnlySubgroup, subgroup, index);
}

const std::vector<api::Toleration>& KeptJob::TolerationsOf(int rank) const {
  const api::NodeConstraints* asked = &constraints();
  for (std::size_t i = 0; i < role_limits.size() && gang->roles[i].first_rank <= rank; ++i) {
    asked = &ConstraintsOf(gang->roles[i]);
  }
  return asked->tolerations;
}

void KeptJob::AskForLimits(HostLimits& limits) {
  if (limit != nullptr) return;
  limit = limits.Of(constraints());
  role_limits.clear();
  if (gang == nullptr) return;
  const bool differ =
      std::any_of(gang->roles.begin(), gang->roles.end(),
                  [](const api::GangRole& role) { return role.constraints.has_value(); });
  for (std::size_t i = 0; differ && i < gang->roles.size(); ++i) {
    role_limits.push_back(limits.Of(ConstraintsOf(gang->roles[i])));
  }
}

void KeptJob::SetHosts(plan::JobState& snapshot_job) {
  snapshot_job.eligible = limit->eligible;
  if (role_limits.empty()) return;
  std::vector<placement::RoleHosts> roles;
  for (std::size_t i = 0; i < role_limits.size(); ++i) {
    roles.push_back({gang->roles[i].first_rank, role_limits[i]->eligible});
  }
  const auto is_same = [](const placement::RoleHosts& a, const placement::RoleHosts& b) {
    return a.first_rank == b.first_rank && a.hosts == b.hosts;
  };
  if (role_hosts == nullptr ||
      !std::equal(roles.begin(), roles.end(), role_hosts->begin(), role_hosts->end(), is_same)) {
    hosts_of_any = placement::HostsOfAny(roles);
    role_hosts = std::make_shared<const std::vector<placement::RoleHosts>>(std::move(roles));
  }
  snapshot_job.eligible = hosts_of_any;
  snapshot_job.role_hosts = role_hosts;
}

std::set<NamespacedName> JobIndex::Update(const ClusterState& cluster, const HostIndex& hosts,
                                          const HostChanges& changes) {
  read_all_ = gpus_per_host_ != hosts.gpus_per_host() || gpu_resource_ != hosts.gpu_resource();
  gpu_resource_ = hosts.gpu_resource();
  gpus_per_host_ = hosts.gpus_per_host();
  ++round_;
  changed_.clear();
  JobsByGang without_gang;
  for (const JobPtr& job : cluster.jobs) {
    without_gang[{job->metadata.namespace_name,
                  api::GangName(api::kTrainingJobKind, job->metadata.name)}] = job;
  }
  for (const auto& gang : cluster.gangs) {
    JobPtr owner = ExtractOwner(*gang, without_gang);
    if (api::IsTrue(gang->status.conditions, kFinishedCondition)) continue;
    UpdateJob(KeyOf(gang->metadata), gang, std::move(owner));
  }
  for (const auto& [key, job] : without_gang) {
    if (!job->status.ended() && !job->metadata.deleted_ms) UpdateJob(key, nullptr, job);
  }
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    if (at->second.round == round_) {
      ++at;
      continue;
    }
    changed_.insert(at->first);
    at = jobs_.erase(at);
  }
  for (auto& [key, kept] : jobs_) {
    const bool changed = changed_.count(key) != 0;
    if (!changed && (!changes.renumbered || MoveAssignment(changes, kept))) continue;
    ReadAssignment(*hosts.places(), kept);
    changed_.insert(key);
  }
  return std::move(changed_);
}

KeptJob* JobIndex::Find(const NamespacedName& key) {
  const auto at = jobs_.find(key);
  return at == jobs_.end() ? nullptr : &at->second;
}

// The TrainingJob that owns a gang of any name, or null.
JobIndex::JobPtr JobIndex::ExtractOwner(const api::Gang& gang, JobsByGang& jobs) {
  if (jobs.empty() || gang.owner.kind != api::kTrainingJobKind) return nullptr;
  const auto at =
      jobs.find({gang.metadata.namespace_name, api::GangName(gang.owner.kind, gang.owner.name)});
  if (at == jobs.end()) return nullptr;
  JobPtr job = at->second;
  if (!gang.owner.uid.empty() && !job->metadata.uid.empty() &&
      gang.owner.uid != job->metadata.uid) {
    return nullptr;  // of an earlier object of the same name
  }
  jobs.erase(at);
  return job;
}

// A Gang goes before a TrainingJob whose own Gang will have the same name one day.
void JobIndex::UpdateJob(const NamespacedName& key, std::shared_ptr<const api::Gang> gang,
                         JobPtr job) {
  KeptJob& kept = jobs_[key];
  if (kept.round == round_) return;
  kept.round = round_;
  if (kept.gang == gang && kept.job == job && !read_all_) return;
  kept.gang = std::move(gang);
  kept.job = std::move(job);
  Read(key, kept);
  changed_.insert(key);
}

// What `spec` asks for on behalf of a kept job.
workload::Job JobIndex::JobOf(const NamespacedName& key, const KeptJob& kept,
                              const api::JobSpec& spec) const {
  const bool has_gang = kept.gang != nullptr;
  const auto created_ms =
      kept.job != nullptr ? kept.job->metadata.created_ms : kept.gang->metadata.created_ms;
  workload::Job job =
      api::ToJob(spec, key, has_gang ? kept.gang->owner.uid : kept.job->metadata.uid, created_ms,
                 gpus_per_host_);
  job.requests = has_gang ? kept.gang->requests : kept.job->requests;
  job.counts_gpus = spec.gpu_resource == gpu_resource_;
  job.gpu_model = WantedGpuModel(has_gang ? kept.gang->constraints : kept.job->constraints);
  if (has_gang) job.roles = RequestsByRank(kept.gang->roles);
  if (has_gang && NamesAModelForEachRole(*kept.gang)) job.mixed_gpu_models = true;
  const bool other_gpus = !job.counts_gpus;
  workload::SetAmount(job.requests, spec.gpu_resource, other_gpus ? job.gpus_per_worker : 0);
  for (workload::Role& role : job.roles) {
    const int gpus = role.gpus.value_or(job.gpus_per_worker);
    workload::SetAmount(role.requests, spec.gpu_resource, other_gpus ? gpus : 0);
  }
  // One data group over all GPUs is of another size where roles have different numbers of them.
  if (!job.parallelism_given && job.gpus_differ()) {
    job.parallelism.data = api::DerivedData(job.parallelism, job.gpus());
  }
  return job;
}

// A tenant can write a job of a million workers in ten lines; its groups would take 100 MB.
std::vector<std::string> JobIndex::ProblemsOf(const workload::Job& job) const {
  std::vector<std::string> problems = workload::Problems(job, gpus_per_host_);
  if (problems.empty() && job.workers > api::kMaxListedRanks) {
    problems.push_back(StrCat("spec.workers: is ", job.workers, "; a Gang has at most ",
                              api::kMaxListedRanks,
                              " ranks; use fewer workers with more GPUs each"));
  }
  return problems;
}

// A placed gang has the size at which it was placed, even if its owner now wants another size.
void JobIndex::Read(const NamespacedName& key, KeptJob& kept) {
  const bool has_gang = kept.gang != nullptr;
  const api::JobSpec& spec = has_gang ? kept.gang->job : kept.job->job;
  const int placed = has_gang ? kept.gang->placed_workers() : 0;
  plan::JobState state;
  state.job = JobOf(key, kept, placed > 0 ? api::WithWorkers(spec, placed) : spec);
  if (kept.job != nullptr) state.grace_seconds = kept.job->checkpoint.grace_seconds;
  state.owner =
      has_gang ? StrCat(kept.gang->owner.kind, " ", key.namespace_name, "/", kept.gang->owner.name)
               : StrCat(api::kTrainingJobKind, " ", KeyOf(kept.job->metadata).text());
  // A TrainingJob without a Gang has a place where its pods run.
  state.released = !has_gang || api::IsTrue(kept.gang->status.conditions, api::kReleasedCondition);
  state.problems = ProblemsOf(state.job);
  if (state.problems.empty()) {
    const bool known = kept.own_problems == 0 && kept.state.groups->workers > 0 &&
                       SameShape(kept.state.job, state.job);
    state.groups = known ? kept.state.groups
                         : std::make_shared<const workload::WorkerGroups>(GroupsOf(state.job));
  }
  if (placed > 0 && placed != spec.workers) state.resize = ResizeOf(key, kept, state.problems);
  kept.own_problems = state.problems.size();
  kept.state = std::move(state);
  kept.limit = nullptr;
}

// Null, and a line in `problems`, when the size that its owner wants contradicts itself.
std::shared_ptr<const plan::Resize> JobIndex::ResizeOf(const NamespacedName& key,
                                                       const KeptJob& kept,
                                                       std::vector<std::string>& problems) const {
  auto resize = std::make_shared<plan::Resize>();
  resize->job = JobOf(key, kept, kept.gang->job);
  const std::vector<std::string> wrong = ProblemsOf(resize->job);
  if (!wrong.empty()) {
    problems.push_back(StrCat("it stays at ", Count(kept.gang->placed_workers(), "worker"), ": ",
                              Join(wrong, "; ")));
    return nullptr;
  }
  resize->groups = std::make_shared<const workload::WorkerGroups>(GroupsOf(resize->job));
  return resize;
}

// False when hosts of it are gone or were not known; then it is read again, name by name.
bool JobIndex::MoveAssignment(const HostChanges& changes, KeptJob& kept) {
  if (!kept.state.assignment || changes.moved_to.empty()) return false;
  plan::JobState& state = kept.state;
  const bool promised = kept.gang != nullptr && kept.gang->status.is_promised_next();
  if (promised && !state.next) return false;
  for (std::optional<plan::Assignment>* place : {&state.assignment, &state.next}) {
    if (!*place) continue;
    for (fabric::HostId& host : (*place)->host_of_rank) {
      host = changes.moved_to[host.index()];
      if (!host.valid()) return false;
    }
  }
  return true;
}

void JobIndex::ReadAssignment(const fabric::Places& places, KeptJob& kept) {
  plan::JobState& state = kept.state;
  state.problems.resize(kept.own_problems);
  state.assignment.reset();
  state.next.reset();
  state.started_ms.reset();
  if (kept.gang == nullptr || kept.gang->status.assignments.empty()) return;
  plan::Assignment assignment;
  for (const api::AssignmentEntry& entry : kept.gang->status.assignments) {
    const fabric::HostId host = places.FindHost(entry.host);
    if (!host.valid()) {
      state.problems.push_back(StrCat(
          "status.assignments[", assignment.host_of_rank.size(), "].host: there is no Node ",
          entry.host, " and its place is not known; ", "restore the Node or delete the Gang"));
      return;
    }
    assignment.host_of_rank.push_back(host);
  }
  state.assignment = std::move(assignment);
  if (kept.gang->status.committed_ms != 0) state.started_ms = kept.gang->status.committed_ms;
  ReadNext(places, kept);
}

// What is kept for a move that does not fit the gang, or names a host whose place is not known,
// cannot be taken up: the extender gives it up.
void JobIndex::ReadNext(const fabric::Places& places, KeptJob& kept) {
  const api::GangStatus& status = kept.gang->status;
  if (!status.is_promised_next()) return;
  plan::Assignment next;
  for (const api::AssignmentEntry& entry : status.move->assignments) {
    const fabric::HostId host = places.FindHost(entry.host);
    if (entry.rank != static_cast<int>(next.host_of_rank.size()) || !host.valid()) return;
    next.host_of_rank.push_back(host);
  }
  if (next.host_of_rank.size() == kept.state.assignment->host_of_rank.size()) {
    kept.state.next = std::move(next);
  }
}

}  // namespace yardmaster::state
