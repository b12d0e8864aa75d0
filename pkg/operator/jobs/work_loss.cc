#include "pkg/operator/jobs/work_loss.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "pkg/operator/jobs/incident.h"
#include "pkg/workload/data_groups.h"

namespace yardmaster::op {

namespace {

// Seconds of work that are repeated after an interruption at `at_ms`.
double RepeatedSeconds(const api::TrainingJob& job, std::int64_t last_checkpoint_ms,
                       std::int64_t at_ms) {
  const api::Condition* running = api::FindCondition(job.status.conditions, "Running");
  if (running == nullptr || running->status != api::ConditionStatus::kTrue) return 0;
  const std::int64_t since_ms = running->transition_ms;
  if (last_checkpoint_ms >= since_ms) {
    return static_cast<double>(std::max<std::int64_t>(0, at_ms - last_checkpoint_ms)) / 1000;
  }
  const double ran = static_cast<double>(std::max<std::int64_t>(0, at_ms - since_ms)) / 1000;
  return std::min(ran, static_cast<double>(job.checkpoint.interval_seconds)) / 2;
}

const api::Incident* FindIncident(const api::RecoveryState& recovery, std::int64_t attempt) {
  for (const api::Incident& incident : recovery.incidents) {
    if (incident.attempt == attempt) return &incident;
  }
  return nullptr;
}

// The workers that an incident stops, where the others go on; nullopt: it stops the job.
std::optional<std::size_t> StoppedWorkers(const api::TrainingJob& job,
                                          const api::Incident& incident) {
  if (incident.action != api::OnHostLoss::kReplace) return std::nullopt;
  const std::vector<int> groups = api::RestartGroupsOf(job);
  if (groups.empty()) return std::nullopt;
  const std::vector<int> stopped = workload::WithDataGroups(incident.ranks, groups);
  return static_cast<std::size_t>(std::count_if(stopped.begin(), stopped.end(),
                                                [&](int rank) { return rank < job.job.workers; }));
}

// A span of the job's time and the incidents in it.
struct Observed {
  int incidents = 0;
  double seconds = 0;
};

// The time since all workers ran first. Where the oldest kept incident is younger, older ones may
// have been dropped: then the time since that incident, which is not itself one in that time.
Observed ObservedSince(const api::TrainingJobStatus& status, std::int64_t now_ms) {
  if (status.start_ms == 0) return {};
  const std::vector<api::Incident>& kept = status.recovery.incidents;
  std::int64_t since_ms = status.start_ms;
  Observed observed;
  if (kept.size() >= api::kKeptIncidents && kept.front().start_ms > since_ms) {
    since_ms = kept.front().start_ms;
    observed.incidents = -1;
  }
  for (const api::Incident& incident : kept) observed.incidents += incident.start_ms >= since_ms;
  observed.seconds = static_cast<double>(std::max<std::int64_t>(0, now_ms - since_ms)) / 1000;
  return observed;
}

}  // namespace

double OptimalInterval(double checkpoint_seconds, double mean_seconds_between_failures) {
  const double ratio = checkpoint_seconds / (2 * mean_seconds_between_failures);
  if (ratio >= 1) return mean_seconds_between_failures;
  return std::sqrt(2 * checkpoint_seconds * mean_seconds_between_failures) *
             (1 + std::sqrt(ratio) / 3 + ratio / 9) -
         checkpoint_seconds;
}

double MeanSecondsBetweenIncidents(int hosts, int incidents, double running_seconds) {
  const double host_seconds = kHostHoursPerFailure * 3600 + running_seconds * hosts;
  return host_seconds / (1.0 + incidents) / std::max(1, hosts);
}

void SetCheckpoint(const api::TrainingJob& before, const api::CheckpointMark& mark,
                   std::int64_t now_ms, api::TrainingJobStatus& status) {
  if (mark.time_ms == before.status.checkpoint.last_ms) return;
  status.checkpoint.last_ms = mark.time_ms;
  if (mark.seconds <= 0) return;
  status.checkpoint.cost_seconds = mark.seconds;
  const Observed observed = ObservedSince(status, now_ms);
  const double mean =
      MeanSecondsBetweenIncidents(before.job.workers, observed.incidents, observed.seconds);
  status.checkpoint.interval_seconds =
      std::max(1, static_cast<int>(std::round(OptimalInterval(mark.seconds, mean))));
}

double StartedGpus(const state::ObjectTable<api::TrainingJob>& jobs) {
  double gpus = 0;
  for (const auto& job : jobs) {
    const api::TrainingJobStatus& status = job->status;
    if (status.start_ms == 0 || status.recovery.suspended || status.ended()) continue;
    gpus += static_cast<double>(job->job.workers) * job->job.gpus_per_worker;
  }
  return gpus;
}

void AddLostWork(const api::TrainingJob& before, std::int64_t now_ms,
                 api::TrainingJobStatus& status) {
  const auto all = static_cast<std::size_t>(before.job.workers);
  const auto add = [&](const std::string& cause, std::size_t workers, double seconds) {
    const double gpus = static_cast<double>(workers) * before.job.gpus_per_worker;
    if (seconds > 0) status.lost_gpu_seconds[cause] += std::round(gpus * seconds);
  };
  const std::int64_t checkpoint_ms = status.checkpoint.last_ms;
  for (const api::Incident& incident : status.recovery.incidents) {
    // Pods of roles were recreated, and the workers went on.
    if (incident.action == api::OnHostLoss::kReplace && !incident.ranks.empty() &&
        incident.ranks.front() >= before.job.workers) {
      continue;
    }
    const api::Incident* known = FindIncident(before.status.recovery, incident.attempt);
    const bool ended = incident.end_ms != 0 && (known == nullptr || known->end_ms == 0);
    // A restart of data groups may become one of the job, and that repeats work.
    const bool begins = known == nullptr || known->action != incident.action;
    if (!begins && !ended) continue;
    const std::optional<std::size_t> stopped = StoppedWorkers(before, incident);
    if (begins && !stopped) {
      add(NameOf(incident.cause), all, RepeatedSeconds(before, checkpoint_ms, incident.start_ms));
    }
    if (ended) {
      add(NameOf(incident.cause), stopped.value_or(all),
          static_cast<double>(incident.end_ms - incident.start_ms) / 1000);
    }
  }
  if (status.recovery.suspended && !before.status.recovery.suspended) {
    add(before.run.suspended ? "Suspended" : "CapacityLeft", all,
        RepeatedSeconds(before, checkpoint_ms, now_ms));
  }
}

}  // namespace yardmaster::op
