#include "pkg/netplan/network_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/crux/decide.h"
#include "pkg/crux/starvation.h"
#include "pkg/netplan/flow_problem.h"
#include "pkg/netplan/port_plan.h"
#include "pkg/plan/queue.h"
#include "pkg/workload/traffic.h"

namespace yardmaster::netplan {

namespace {

using fabric::HostId;
using workload::TrafficDemand;

// Traffic that differs by less is the same traffic, measured again.
constexpr double kSameTraffic = 0.1;

std::vector<std::uint8_t> Unusable(const plan::Snapshot& snapshot, const NetworkInput& input) {
  std::vector<std::uint8_t> out = snapshot.cable_down;
  out.resize(static_cast<std::size_t>(snapshot.network->num_cables()), 0);
  for (fabric::CableId cable : input.avoid) out[cable.index()] = 1;
  return out;
}

bool Differs(double before, double now) {
  return before > 0 && std::abs(now - before) > kSameTraffic * std::max(before, now);
}

class NetworkPlanner {
 public:
  NetworkPlanner(const plan::Snapshot& snapshot, const std::vector<PlacedJob>& placed,
                 const NetworkInput& input)
      : snapshot_(snapshot),
        input_(input),
        unusable_(Unusable(snapshot, input)),
        flows_(*snapshot.network, unusable_, input.max_candidates, NumbersOf(input), input.lossy),
        ports_(snapshot, input, unusable_) {
    plan_.jobs.resize(snapshot.jobs.size());
    if (!ports_.status().ok()) plan_.report.hashes_problem = MessageOf(ports_.status());
    for (const PlacedJob& job : placed) {
      flows_.AddJob(job.job, StateOf(job.job).job, job.host_of_rank);
    }
    flows_.problem().levels = snapshot.network->spec().levels.count;
  }

  NetworkPlan Run() {
    NetworkPlan plan = Planned();
    if (input_.memory != nullptr) input_.memory->links = flows_.TakeLinkNumbers();
    return plan;
  }

 private:
  static LinkNumbers NumbersOf(const NetworkInput& input) {
    return input.memory == nullptr ? LinkNumbers{} : std::move(input.memory->links);
  }

  NetworkPlan Planned() {
    ReadPreviousPlan();
    auto solution = Decide();
    // All levels of the Fabric are reserved: no job is given one.
    if (!solution.ok()) {
      plan_.report.problem = MessageOf(solution.status());
      return std::move(plan_);
    }
    Record(*solution);
    if (input_.predict_shares) PredictShares(*solution);
    if (input_.ports && ports_.status().ok()) {
      ports_.Run(flows_.jobs(), previous_, *solution, plan_);
      plan_.sprayed = flows_.LoadsOfSprayed(*solution);
    }
    return std::move(plan_);
  }

  const plan::JobState& StateOf(plan::JobId job) const { return snapshot_.jobs[job.index()]; }
  std::optional<JobNetwork>& NetworkOf(const JobFlows& job) { return plan_.jobs[job.job.index()]; }
  const PreviousJob* PreviousOf(const JobFlows& job) const {
    if (input_.previous == nullptr) return nullptr;
    const auto at = input_.previous->find(StateOf(job.job).job.key);
    return at == input_.previous->end() ? nullptr : &at->second;
  }
  // As the planner counts them: scaled where the communication time was measured.
  static double BytesOf(const crux::ContendingJob& job) {
    double bytes = 0;
    for (const crux::Flow& flow : job.flows) bytes += flow.bytes;
    return bytes;
  }

  // Fills the previous solution that Crux starts from, and which jobs have changed since.
  void ReadPreviousPlan() {
    bool any = false;
    for (std::size_t j = 0; j < flows_.jobs().size(); ++j) {
      const JobFlows& job = flows_.jobs()[j];
      const PreviousJob* previous = ports_.status().ok() ? PreviousOf(job) : nullptr;
      std::vector<std::int32_t> kept;
      if (ports_.status().ok()) kept = ports_.Add(job, previous);
      crux::JobDecision decision;
      decision.level = -1;
      bool changed = true;
      if (previous != nullptr) {
        any = true;
        decision.level = previous->level;
        decision.correction = previous->correction;
        decision.paths = std::move(kept);
        changed =
            HasOtherTraffic(*previous, flows_.problem().jobs[j]) ||
            std::find(decision.paths.begin(), decision.paths.end(), -1) != decision.paths.end();
      }
      if (changed) changed_.emplace_back(static_cast<std::int32_t>(j));
      previous_.jobs.push_back(std::move(decision));
    }
    has_previous_ = any;
    departures_ = HasDepartures();
    plan_.report.changed_jobs = static_cast<int>(changed_.size());
  }

  // Whether a job that had network decisions is not planned any more.
  bool HasDepartures() const {
    if (input_.previous == nullptr) return false;
    std::size_t known = 0;
    for (const JobFlows& job : flows_.jobs()) known += PreviousOf(job) != nullptr ? 1 : 0;
    return known < input_.previous->size();
  }

  static bool HasOtherTraffic(const PreviousJob& previous, const crux::ContendingJob& now) {
    return Differs(previous.bytes, BytesOf(now)) ||
           Differs(previous.flop_per_iteration, now.flop_per_iteration) ||
           Differs(previous.compute_seconds, now.compute_seconds);
  }

  // An expected end that has passed counts as unknown.
  std::vector<double> RemainingSeconds() {
    std::vector<double> seconds(flows_.jobs().size(), std::numeric_limits<double>::infinity());
    for (std::size_t j = 0; j < seconds.size(); ++j) {
      const std::optional<std::int64_t> end_ms = plan::ExpectedEndMs(StateOf(flows_.jobs()[j].job));
      if (!end_ms || *end_ms <= snapshot_.now_ms) continue;
      seconds[j] = static_cast<double>(*end_ms - snapshot_.now_ms) / 1000;
    }
    return seconds;
  }

  absl::StatusOr<crux::Solution> Decide() {
    crux::PresentState present;
    const fabric::NetworkLevels& levels = snapshot_.network->spec().levels;
    present.reserved_levels.assign(levels.reserved.begin(), levels.reserved.end());
    if (has_previous_) {
      present.previous = previous_;
      present.changed = changed_;
      present.departures = departures_;
      present.remaining_seconds = RemainingSeconds();
    }
    crux::DecisionMemory* memory = input_.memory == nullptr ? nullptr : &input_.memory->decision;
    const auto decide = [&] {
      return crux::Decide(flows_.problem(), input_.policy, present, &plan_.report.decision, memory);
    };
    auto solution = decide();
    if (solution.ok() || !has_previous_) return solution;
    // The previous plan was refused, which ReadPreviousPlan should have prevented: plan without it.
    present.previous.reset();
    present.changed.clear();
    return decide();
  }

  void Record(const crux::Solution& solution) {
    for (std::size_t j = 0; j < flows_.jobs().size(); ++j) {
      const JobFlows& job = flows_.jobs()[j];
      JobNetwork& network = NetworkOf(job).emplace();
      static_cast<crux::JobNumbers&>(network) = solution.jobs[j];
      network.flop_per_iteration = flows_.problem().jobs[j].flop_per_iteration;
      network.compute_seconds = flows_.problem().jobs[j].compute_seconds;
      network.bytes = BytesOf(flows_.problem().jobs[j]);
    }
  }

  void PredictShares(const crux::Solution& solution) {
    std::vector<std::int32_t> levels;
    const auto& held = input_.held_levels;
    for (std::size_t j = 0; j < flows_.jobs().size(); ++j) {
      const auto at = held.find(StateOf(flows_.jobs()[j].job).job.key);
      levels.push_back(at == held.end() ? solution.jobs[j].level : at->second);
    }
    const std::vector<double> shares = crux::PredictedShares(flows_.problem(), solution, levels);
    for (std::size_t j = 0; j < shares.size(); ++j) NetworkOf(flows_.jobs()[j])->share = shares[j];
  }

  const plan::Snapshot& snapshot_;
  const NetworkInput& input_;
  const std::vector<std::uint8_t> unusable_;  // by cable
  FlowProblem flows_;
  PortPlan ports_;
  crux::Solution previous_;
  std::vector<crux::ContendingJobId> changed_;
  bool has_previous_ = false;
  bool departures_ = false;
  NetworkPlan plan_;
};

}  // namespace

std::vector<PlacedJob> PlacedJobs(const plan::Snapshot& snapshot) {
  std::vector<PlacedJob> placed;
  for (const plan::JobId job : snapshot.job_ids()) {
    const auto& assignment = snapshot.jobs[job.index()].assignment;
    if (assignment) placed.push_back({job, assignment->host_of_rank});
  }
  return placed;
}

std::vector<PlacedJob> PlacedJobs(const plan::Plan& plan) {
  std::vector<PlacedJob> placed;
  for (const plan::JobPlan& job : plan.jobs) {
    if (job.gang.outcome != placement::Outcome::kPlaced) continue;
    placed.push_back({job.job, job.gang.host_of_rank});
  }
  return placed;
}

std::vector<fabric::CableId> DownCables(const plan::Snapshot& snapshot) {
  std::vector<fabric::CableId> down;
  for (std::size_t c = 0; c < snapshot.cable_down.size(); ++c) {
    if (snapshot.cable_down[c] != 0) down.emplace_back(static_cast<std::int32_t>(c));
  }
  return down;
}

NetworkPlan PlanNetwork(const plan::Snapshot& snapshot, const std::vector<PlacedJob>& placed,
                        const NetworkInput& input) {
  if (snapshot.network) return NetworkPlanner(snapshot, placed, input).Run();
  NetworkPlan none;
  none.jobs.resize(snapshot.jobs.size());
  return none;
}

}  // namespace yardmaster::netplan
