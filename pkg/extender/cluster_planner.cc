#include "pkg/extender/cluster_planner.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <tuple>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/eligible_hosts.h"
#include "pkg/extender/ledger/gang_status.h"

namespace yardmaster::extender {

ClusterPlanner::ClusterPlanner(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
                               Fence fence, Publish publish, Notify notify, Options options)
    : client_(client),
      cache_(cache),
      clock_(clock),
      publish_(std::move(publish)),
      notify_(std::move(notify)),
      ledger_(client, cache, std::move(fence), options.ledger),
      tools_{client, cache, ledger_, clock, notify_},
      quarantine_(clock, notify_),
      backoff_(clock),
      budgets_(client),
      preemption_(tools_, budgets_, options.eviction_threads, options.preemption.max_grace_ms),
      decider_(tools_, preemption_, budgets_, options.preemption),
      owners_(tools_),
      cleanup_(tools_),
      adoption_(tools_),
      gates_(tools_, options.gates),
      placement_(tools_, preemption_, decider_, quarantine_, options.plan, options.write_slice_ms),
      unplaced_size_(client, clock),
      resize_(tools_, options.plan.placement),
      stale_releases_(tools_, options.stale_releases),
      unschedulable_(tools_),
      release_(tools_,
               {options.release_threads, options.release_slice_ms, options.network_wait_ms}),
      taints_(tools_, options.taints),
      revocation_(tools_, preemption_),
      write_slice_ms_(options.write_slice_ms),
      group_times_(clock) {}

std::vector<PodProblem> ClusterPlanner::MatchGangs(PassState& pass) {
  for (const auto& gang : pass.cluster.gangs) pass.gangs[KeyOf(gang->metadata)] = gang;
  gatherer_.Update(pass.cluster.pods);
  std::vector<PodProblem> problems = gatherer_.Problems();
  const auto gang_of = [&pass](const GatheredGang& gathered) -> const api::Gang* {
    const auto known = pass.gangs.find({gathered.namespace_name, gathered.name});
    return known != pass.gangs.end() && IsSameLife(*known->second, gathered) ? known->second.get()
                                                                             : nullptr;
  };
  for (auto& gang : gatherer_.Gangs(gang_of)) {
    NamespacedName key{gang->namespace_name, gang->name};
    // Pods of another life of the job wait until the garbage collector has taken the old Gang.
    const auto known = pass.gangs.find(key);
    if (known != pass.gangs.end() && !IsSameLife(*known->second, *gang)) continue;
    pass.gathered.insert_or_assign(std::move(key), std::move(gang));
  }
  return problems;
}

// Each once as an event on its pod, where people look when it stays pending.
void ClusterPlanner::ReportProblems(PassState& pass, std::vector<PodProblem> problems) {
  for (const auto& [key, gathered] : pass.gathered) {
    const auto gang = pass.gangs.find(key);
    if (gang == pass.gangs.end() || pass.growing.count(key) != 0) continue;
    std::vector<PodProblem> strays = StrayProblems(*gathered, gang->second->job.workers);
    std::move(strays.begin(), strays.end(), std::back_inserter(problems));
  }
  constexpr int kMaxEvents = 50;  // in one pass; the rest follows
  std::map<std::string, std::string> before;
  before.swap(reported_);
  int events = 0;
  for (PodProblem& problem : problems) {
    const auto at = before.find(problem.uid);
    const bool is_new = at == before.end() || at->second != problem.text;
    if (!is_new || (ledger_.may_write() && events < kMaxEvents)) {
      reported_[problem.uid] = problem.text;
    }
    if (is_new && ledger_.may_write() && events++ < kMaxEvents) {
      notify_({{"v1", "Pod", problem.pod, problem.uid, false},
               problem.namespace_name,
               true,
               "NotInGang",
               problem.text});
    }
    pass.report.problems.push_back(std::move(problem.text));
  }
}

PassReport ClusterPlanner::Pass() {
  PassState pass;
  try {
    RunPass(pass);
  } catch (const std::exception& error) {
    if (pass.handling) quarantine_.Add(pass, *pass.handling, "its handling", error.what());
    // Nothing is lost: what was derived from the cache is derived anew.
    gatherer_ = Gatherer(Orphans::kRefuse);
    builder_ = state::SnapshotBuilder();
    pass.report.errors.push_back(StrCat("a pass was cut short: ", error.what()));
    pass.report.more_to_do = true;
  }
  return std::move(pass.report);
}

// The queue as users see it, for any cause of waiting: a place, the other pods, a quarantine.
void ClusterPlanner::NoteOldestGatedPod(PassState& pass) const {
  const std::int64_t now_ms = clock_.WallMs();
  std::int64_t oldest_ms = now_ms;
  for (const auto& [key, gathered] : pass.gathered) {
    if (gathered->gated == 0) continue;
    for (const GangMember& member : gathered->members) {
      if (member.pod->gated()) oldest_ms = std::min(oldest_ms, member.pod->metadata.created_ms);
    }
  }
  pass.report.oldest_gated_seconds = static_cast<double>(now_ms - oldest_ms) / 1000;
}

void ClusterPlanner::RunPass(PassState& pass) {
  budgets_.Forget();
  backoff_.Begin(pass);
  const bool leader = ledger_.BeginPass(pass);
  pass.cluster = cache_.Take();
  std::vector<PodProblem> problems = MatchGangs(pass);
  quarantine_.Begin(pass);
  if (leader) {
    owners_.Run(pass);
    cleanup_.Run(pass);
    CreateGangs(pass);
    resize_.FollowOwners(pass);
    MarkReleased(pass);
    adoption_.Run(pass);
    gates_.Run(pass, gatherer_.Idle());
    preemption_.CarryOn(pass);
    stale_releases_.Run(pass);
  }
  ReportProblems(pass, std::move(problems));
  LoadSnapshot(pass);
  if (leader && revocation_.Run(pass)) LoadSnapshot(pass);
  PublishView(pass);
  if (leader && ledger_.may_write()) {
    placement_.Run(pass);
    resize_.Apply(pass);
    unschedulable_.Run(pass);
    PublishView(pass);
    release_.Run(pass);
    taints_.Run(pass);
  }
  NoteOldestGatedPod(pass);
  backoff_.End(pass);
}

// Gangs without hosts that may say something else than their pods, in the order in which they are written: by
// priority, then those that have waited for longest since they were due or tried. Those whose write failed come last,
// so that writes which take all the time of a pass to fail leave no other behind for ever. The others are kept as they
// were compared.
std::vector<NamespacedName> ClusterPlanner::GangsToCompare(const PassState& pass,
                                                           const TrainingJobs& jobs) {
  std::map<NamespacedName, Compared> before;
  before.swap(compared_);
  std::vector<std::tuple<bool, std::int64_t, std::int64_t, std::int64_t, NamespacedName>> order;
  for (const auto& [key, gathered] : pass.gathered) {
    const auto gang = pass.gangs.find(key);
    if (gang != pass.gangs.end() && gang->second->status.committed()) continue;
    if (pass.quarantined.count(key) != 0 || gathered->members.empty()) continue;
    const auto at = before.find(key);
    if (gang != pass.gangs.end() && at != before.end() && at->second.pods == gathered) {
      compared_.insert(*at);
      continue;
    }
    const bool was_due = at != before.end() && at->second.pods == nullptr;
    const std::int64_t since_ms = was_due ? at->second.since_ms : clock_.SteadyMs();
    const bool failed = was_due && at->second.failed;
    compared_[key] = {nullptr, false, since_ms, failed};
    const auto job = jobs.find(key);
    const api::Pod& pod = *gathered->members.front().pod;
    const std::int64_t own = job == jobs.end() ? 0 : job->second->job.priority;
    const std::int64_t priority = own != 0 ? own : pod.priority;
    order.emplace_back(failed, -priority, since_ms, pod.metadata.created_ms, key);
  }
  std::sort(order.begin(), order.end());
  std::vector<NamespacedName> keys;
  keys.reserve(order.size());
  for (auto& entry : order) keys.push_back(std::move(std::get<4>(entry)));
  return keys;
}

void ClusterPlanner::CreateGangs(PassState& pass) {
  TrainingJobs jobs;
  for (const auto& job : pass.cluster.jobs) {
    jobs[{job->metadata.namespace_name, api::GangName(api::kTrainingJobKind, job->metadata.name)}] =
        job.get();
  }
  unplaced_size_.Begin();
  group_times_.Begin();
  std::erase_if(group_sizes_,
                [&](const auto& entry) { return pass.gathered.count(entry.first) == 0; });
  std::erase_if(never_whole_,
                [&](const auto& entry) { return pass.gathered.count(entry.first) == 0; });
  WorkShare share(clock_, std::max(write_slice_ms_, placement_.planning_ms()));
  for (const NamespacedName& key : GangsToCompare(pass, jobs)) {
    const auto job = jobs.find(key);
    // A TrainingJob's pods without the TrainingJob are what the garbage collector has still to
    // take.
    const bool ours =
        pass.gathered.at(key)->members.front().membership->owner.kind == api::kTrainingJobKind;
    if (ours && (job == jobs.end() || job->second->metadata.deleted_ms)) {
      compared_.erase(key);
      continue;
    }
    quarantine_.Contain(pass, key, "gathering its pods", [&] {
      compared_[key].agrees = WriteGang(pass, key, ours ? job->second : nullptr, share);
    });
  }
  unplaced_size_.End();
  group_times_.End();
}

// The minCount of the core PodGroup that the pods name. Nothing: they name none, it is not there, or
// it does not ask for a gang.
std::optional<int> ClusterPlanner::GroupSize(PassState& pass, const NamespacedName& key,
                                             const GatheredGang& pods) {
  const std::string& name = pods.members.front().pod->pod_group;
  if (name.empty()) return std::nullopt;
  std::optional<int>& size = group_sizes_[key];
  if (!group_times_.IsDue(pass, key)) return size;
  size.reset();
  const auto group = client_.Get({{"scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup", true},
                                  pods.namespace_name,
                                  name,
                                  ""});
  const nlohmann::json::json_pointer at("/spec/schedulingPolicy/gang/minCount");
  if (!group.ok() || !group->contains(at) || !(*group)[at].is_number_integer()) {
    return std::nullopt;
  }
  const auto count = (*group)[at].get<std::int64_t>();
  if (count >= 1 && count <= INT32_MAX) size = static_cast<int>(count);
  return size;
}

// On the owner, where it can be mended, and on a pod, where people look. Once for every wording.
void ClusterPlanner::ReportNeverWhole(PassState& pass, const NamespacedName& key,
                                      const std::string& why) {
  const GatheredGang& pods = *pass.gathered.at(key);
  const std::string text =
      StrCat(Count(static_cast<std::int64_t>(pods.members.size()), "pod"), " of gang ", key.name,
             pods.members.size() == 1 ? " waits" : " wait", " for the others: ", why);
  pass.report.problems.push_back(StrCat("Gang ", key.text(), ": ", text));
  if (!ledger_.may_write() || std::exchange(never_whole_[key], text) == text) return;
  const GangMember& first = pods.members.front();
  const api::ObjectMeta& pod = first.pod->metadata;
  notify_({first.membership->owner, key.namespace_name, true, "NeverComplete", text});
  notify_(
      {{"v1", "Pod", pod.name, pod.uid, false}, key.namespace_name, true, "NeverComplete", text});
}

// Makes the Gang of a set of pods, or brings one that holds no host up to date with them, unless `share` is over.
// True: it says what the pods say.
bool ClusterPlanner::WriteGang(PassState& pass, const NamespacedName& key,
                               const api::TrainingJob* job, WorkShare& share) {
  const std::shared_ptr<const GatheredGang> gathered = pass.gathered.at(key);
  GatheredGang pods = WithOpenRanks(*gathered);
  DeclaredSizes declared{GroupSize(pass, key, pods), std::nullopt};
  auto made = MakeGang(pods, job, declared);
  if (job == nullptr && (!made.ok() || *made == std::nullopt) && pods.held_by_others == 0) {
    const OwnerSays says = unplaced_size_.Of(pass, key, /*contradict=*/!made.ok());
    if (gatherer_.NoteEnded(*gathered, says.ended)) {
      pass.WakeIn(0);  // it is gathered with them then
      return false;
    }
    declared.of_owner = says.size;
    // Of the stages that have begun, too, `data` follows.
    declared.was_scaled = says.more_to_come || pass.gangs.count(key) != 0;
    if (!says.why_not.empty()) ReportNeverWhole(pass, key, says.why_not);
    if (declared.of_owner) made = MakeGang(pods, job, declared);
  }
  if (!made.ok()) {
    pass.report.problems.push_back(MessageOf(made.status()));
    return false;
  }
  const auto known = pass.gangs.find(key);
  const bool is_new = known == pass.gangs.end();
  if (*made == std::nullopt || !ledger_.may_write()) {
    // The next pass checks again whether the owner now wants fewer pods.
    const bool may_have_shrunk = job == nullptr && *made == std::nullopt;
    compared_[key].pods = is_new || may_have_shrunk ? nullptr : gathered;
    return false;
  }
  api::Gang next = **made;
  if (!is_new) {
    // As the API server gives it back, with every default written out.
    const auto wanted = api::DecodeGang(api::EncodeGang(next), api::Decoding::kLenient);
    if (!wanted.ok()) {
      pass.report.problems.push_back(MessageOf(wanted.status()));
      return false;
    }
    next = *known->second;
    next.job = wanted->job;
    next.constraints = wanted->constraints;
    next.requests = wanted->requests;
    next.roles = wanted->roles;
    next.rank_bases = wanted->rank_bases;
    if (next == *known->second) {
      compared_[key].pods = gathered;
      return true;
    }
  }
  Compared& compared = compared_[key];
  if (share.IsOver(pass.report)) {
    const std::int64_t priority = next.job.priority;
    if (!compared.failed) {
      pass.left_priority = std::max(priority, pass.left_priority.value_or(priority));
    }
    return false;
  }
  compared.since_ms = clock_.SteadyMs();
  const auto write = [&] { return ledger_.WriteSpec(pass, next, std::move(pods)); };
  compared.failed = !share.Spend(write);
  if (compared.failed) return false;
  if (is_new) ++pass.report.gangs_created;
  return true;
}

void ClusterPlanner::MarkReleased(PassState& pass) {
  for (auto& [key, gang] : pass.gangs) {
    const GatheredGang* gathered = pass.GatheredOf(key);
    if (!HoldsHosts(gang->status) || gathered == nullptr) continue;
    if (api::IsTrue(gang->status.conditions, api::kReleasedCondition)) continue;
    if (gathered->members.empty() || gathered->gated > 0) continue;
    pass.handling = key;
    api::GangStatus status = gang->status;
    status.observed_generation = gang->metadata.generation;
    SetCondition(status, *gang, api::kReleasedCondition, true, "PodsReleased",
                 "every pod is pinned to its host and released", clock_.WallMs());
    ledger_.Write(pass, *gang, status);
  }
  pass.handling.reset();
}

state::ClusterState ClusterPlanner::PlanningInput(const PassState& pass) const {
  std::vector<std::shared_ptr<const api::Gang>> gangs;
  std::vector<std::shared_ptr<const api::TrainingJob>> jobs;
  for (const auto& [key, gang] : pass.gangs) {
    if (IsFinished(gang->status) || pass.quarantined.count(key) != 0) continue;
    const GatheredGang* gathered = pass.GatheredOf(key);
    const bool complete = gathered != nullptr && IsComplete(*gathered, gang->job.workers) &&
                          gathered->held_by_others == 0;
    // A gang whose pods are not all there yet is not planned; a committed one keeps its hosts.
    if (!complete && !gang->status.committed()) continue;
    // Nor is one whose pods say something else than it does.
    const auto compared = compared_.find(key);
    if (!gang->status.committed() && compared != compared_.end() && !compared->second.agrees) {
      continue;
    }
    // One for which others were stopped keeps the place that they left.
    // The others do not go before those of higher priority that are yet to be made.
    const bool is_behind = pass.left_priority && gang->job.priority < *pass.left_priority;
    const bool waits = (pass.backing_off.count(key) != 0 || is_behind) && !gang->status.preemption;
    if (!gang->status.committed() && waits) continue;
    // Told by the adoption step.
    if (!gang->status.committed() && (AnyBound(*gathered) || NamesHosts(*gathered))) continue;
    gangs.push_back(gang);
    // For what only the TrainingJob says. One that is not this gang's would be a job of its own.
    if (gang->owner.kind != api::kTrainingJobKind) continue;
    const auto owner = pass.cluster.jobs.Find({key.namespace_name, gang->owner.name});
    if (owner == nullptr || owner->metadata.uid != gang->owner.uid) continue;
    if (key.name == api::GangName(api::kTrainingJobKind, gang->owner.name)) {
      jobs.push_back(owner);
    }
  }
  state::ClusterState input = pass.cluster;
  input.gangs = state::ObjectTable<api::Gang>::Of(std::move(gangs));
  // A TrainingJob is planned through its Gang.
  input.jobs = state::ObjectTable<api::TrainingJob>::Of(std::move(jobs));
  return input;
}

// If it throws, the gangs are tried one by one, and those that make it throw are put in quarantine.
void ClusterPlanner::BuildSnapshot(PassState& pass) {
  const state::ClusterState input = PlanningInput(pass);
  try {
    pass.snapshot = std::make_shared<plan::Snapshot>(builder_.Build(input));
    return;
  } catch (const std::exception& error) {
    pass.report.errors.push_back(StrCat("the snapshot failed: ", error.what()));
  }
  builder_ = state::SnapshotBuilder();
  for (const auto& gang : input.gangs) {
    quarantine_.Contain(pass, KeyOf(gang->metadata), "reading it into the snapshot", [&] {
      state::ClusterState alone = input;
      alone.gangs.clear();
      alone.gangs.Put(gang);
      state::BuildSnapshot(alone);
    });
  }
  pass.snapshot = std::make_shared<plan::Snapshot>(builder_.Build(PlanningInput(pass)));
}

void ClusterPlanner::LoadSnapshot(PassState& pass) {
  BuildSnapshot(pass);
  Quarantine::OccupyHosts(pass);
  pass.snapshot->now_ms = clock_.WallMs();
  for (const plan::JobId id : pass.snapshot->job_ids()) {
    plan::JobState& job = pass.snapshot->jobs[id.index()];
    const api::GangStatus& status = pass.GangOf(id).status;
    const GatheredGang* gathered = pass.GatheredOf(job.job.key);
    // Of a gang that runs in full no rank is placed.
    if (job.assignment && (gathered == nullptr || gathered->unbound == 0)) continue;
    job.eligible = EligibleNow(*pass.snapshot, job, gathered, status);
    const api::Condition* requeued = api::FindCondition(status.conditions, api::kRequeuedCondition);
    if (!job.assignment && requeued != nullptr) {
      job.job.created_ms = std::max(job.job.created_ms, requeued->transition_ms);
    }
  }
  PreemptionStep::KeepHosts(pass);
  ledger_.HoldHostsInDoubt(pass);
  for (const std::string& warning : pass.snapshot->warnings) {
    pass.report.problems.push_back(warning);
  }
  for (const std::string& problem : pass.cluster.problems) pass.report.problems.push_back(problem);
  for (const auto& [key, gang] : pass.gangs) {
    GangNote& note = pass.notes[key];
    note.rank_bases = gang->rank_bases;
    if (const api::Condition* planned =
            api::FindCondition(gang->status.conditions, api::kPlannedCondition)) {
      if (planned->status != api::ConditionStatus::kTrue) note.waiting = planned->message;
    }
  }
}

void ClusterPlanner::PublishView(PassState& pass) {
  publish_(std::make_shared<const View>(std::make_shared<const plan::Snapshot>(*pass.snapshot),
                                        pass.notes, pass.cluster.pods));
}

}  // namespace yardmaster::extender
