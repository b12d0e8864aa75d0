#include "simulation/bench/contention_replay.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "pkg/base/random.h"
#include "pkg/crux/intensity.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/plan/contention_cost.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"
#include "simulation/bench/predicted_load.h"

namespace yardmaster::bench {
namespace {

constexpr int kSampleEvery = 12;     // events between two predictions of rates
constexpr double kMovedAbove = 0.7;  // of the load; jobs are moved there only
constexpr int kMaxSweeps = 3;

using Hosts = std::vector<fabric::HostId>;

// The job as the planner takes it: tensor groups of a host, stages as the model's size says.
plan::JobState StateOf(const sim::TraceJob& job, std::uint64_t seed, double load) {
  const int hosts = std::max(1, (job.gpus + 7) / 8);
  const sim::JobProfile profile = sim::ProfileOf(job, hosts, seed);
  plan::JobState state;
  state.job.key = {"default", job.id};
  state.job.workers = hosts;
  state.job.parallelism.tensor = 8;
  state.job.parallelism.pipeline = hosts % profile.stages == 0 ? profile.stages : 1;
  state.job.parallelism.data = hosts / state.job.parallelism.pipeline;
  state.job.parallelism_given = true;
  state.job.profile.flop_per_iteration = profile.flop_per_iteration;
  state.job.profile.compute_seconds = profile.compute_seconds;
  state.job.profile.communication_start = profile.communication_start;
  state.job.profile.data_bytes = load * profile.ring_bytes_per_gpu;
  state.groups = std::make_shared<const workload::WorkerGroups>(
      workload::GroupsOf(state.job.parallelism, hosts, 8));
  return state;
}

class Replay {
 public:
  Replay(const fabric::FabricSpec& spec, const std::vector<sim::TraceJob>& jobs, std::uint64_t seed,
         Way way, double load, int draws)
      : trace_(jobs),
        seed_(seed),
        way_(way),
        bytes_factor_(load),
        draws_(draws),
        random_(seed),
        snapshot_(plan::MakeSnapshot(spec)) {}

  Figures Run() {
    std::size_t next = 0;
    while (next < trace_.size() || !snapshot_.jobs.empty()) {
      const double arrival = next < trace_.size() ? trace_[next].arrival_seconds : 1e300;
      double end = 1e300;
      for (const Running& job : running_) end = std::min(end, job.ends);
      Advance(std::min(arrival, end));
      if (arrival <= end) {
        Arrive(next++);
      } else {
        Leave();
      }
      PlaceWaiting();
      if (++events_ % kSampleEvery == 0) SampleRates();
    }
    Figures mean = sum_;
    mean.busiest /= seconds_;
    mean.unevenness /= seconds_;
    mean.split /= seconds_;
    mean.share /= weight_;
    mean.waited /= static_cast<double>(trace_.size());
    return mean;
  }
  const std::vector<Sample>& samples() const { return samples_; }
  const Choices& choices() const { return choices_; }

 private:
  struct Running {  // beside snapshot_.jobs
    std::size_t index = 0;
    double ends = 1e300;
  };

  void Advance(double until) {
    const double seconds = until - now_;
    double total = 0, squares = 0, most = 0;
    for (double load : load_) {
      total += load;
      squares += load * load;
      most = std::max(most, load);
    }
    const auto count = static_cast<double>(std::max<std::size_t>(1, load_.size()));
    if (total > 0) {
      sum_.busiest += seconds * most / (total / count);
      sum_.unevenness += seconds * std::sqrt(squares / count) / (total / count);
      sum_.split += seconds * split_;
      seconds_ += seconds;
    }
    now_ = until;
  }

  void Arrive(std::size_t index) {
    plan::JobState state = StateOf(trace_[index], seed_ * 7919 + index, bytes_factor_);
    state.job.created_ms = static_cast<std::int64_t>(now_ * 1000);
    snapshot_.jobs.push_back(std::move(state));
    running_.push_back({index, 1e300});
  }

  void Leave() {
    const auto at =
        std::min_element(running_.begin(), running_.end(),
                         [](const Running& a, const Running& b) { return a.ends < b.ends; });
    const auto job = snapshot_.jobs.begin() + (at - running_.begin());
    for (fabric::HostId host : job->assignment->host_of_rank) {
      snapshot_.cluster.hosts[host.index()].free_gpus = 8;
    }
    snapshot_.jobs.erase(job);
    running_.erase(at);
  }

  // First come, first served, so that all ways start the same jobs where they can.
  void PlaceWaiting() {
    plan::PlanOptions options;
    if (way_ == Way::kContention || way_ == Way::kMoved) {
      options.policies = {plan::AvoidContention()};
    }
    options.placement.explain = false;
    for (bool again = true; again;) {
      again = false;
      const plan::Plan plan = plan::MakePlan(snapshot_, options);
      for (const plan::JobPlan& job : plan.jobs) {
        if (snapshot_.jobs[job.job.index()].assignment) continue;
        if (!job.is_new) break;
        Start(job);
        // The plan does not know where an oracle puts the job.
        again = Draws(way_);
        if (again) break;
      }
    }
    load_ = PredictedUplinkLoad(snapshot_);
    split_ = 0;
    for (const plan::JobState& job : snapshot_.jobs) {
      if (!job.assignment) continue;
      const auto& hosts = job.assignment->host_of_rank;
      if (placement::Evaluate(*snapshot_.places, *job.groups, hosts).data_split_segments > 0) {
        split_ += job.job.workers * 8;
      }
    }
  }

  void Start(const plan::JobPlan& job) {
    Hosts hosts = job.gang.host_of_rank;
    ++choices_.placed;
    if (Draws(way_) && job.gang.objective.segments > 1) {
      const std::vector<Hosts> equal = EqualPlaces(snapshot_, job.job, job.gang);
      ++choices_.spanning;
      choices_.several += equal.size() > 1;
      hosts = Best(snapshot_, job.job, equal);
      choices_.other += hosts != equal.front();
    }
    plan::Place(snapshot_, job.job, hosts);
    const sim::TraceJob& trace = trace_[running_[job.job.index()].index];
    running_[job.job.index()].ends = now_ + trace.run_seconds;
    sum_.waited += now_ - trace.arrival_seconds;
  }

  // The place of the plan, and those as good that random preferences among segments lead to.
  std::vector<Hosts> EqualPlaces(plan::Snapshot snapshot, plan::JobId job,
                                 const placement::GangPlan& gang) {
    std::vector<Hosts> places = {gang.host_of_rank};
    const plan::JobState& state = snapshot.jobs[job.index()];
    for (int draw = 0; draw < draws_; ++draw) {
      snapshot.cluster.uplink_load.clear();
      for (int s = 0; s < snapshot.places->num_segments(); ++s) {
        snapshot.cluster.uplink_load.push_back(random_.Unit());
      }
      placement::PlannerOptions options;
      options.explain = false;
      const placement::GangPlan other =
          placement::PlanGang(snapshot.cluster, plan::RequestOf(state, job), options);
      const bool equal =
          other.outcome == placement::Outcome::kPlaced && other.objective == gang.objective &&
          std::find(places.begin(), places.end(), other.host_of_rank) == places.end();
      if (equal) places.push_back(other.host_of_rank);
    }
    return places;
  }

  Hosts Best(plan::Snapshot snapshot, plan::JobId job, const std::vector<Hosts>& places) const {
    if (way_ == Way::kDrawn) {
      const plan::ContentionCost cost(snapshot);
      return places[plan::ChoosePlace(snapshot, cost, job, places).chosen];
    }
    std::size_t best = 0;
    double most = -1;
    for (std::size_t p = 0; p < places.size() && places.size() > 1; ++p) {
      snapshot.jobs[job.index()].assignment = plan::Assignment{places[p]};
      const Sample sample = Predict(snapshot);
      const double done = way_ == Way::kShareOracle ? sample.share : sample.flop_rate;
      if (done <= most * (1 + 1e-9)) continue;
      most = done;
      best = p;
    }
    return places[best];
  }

  static Sample Predict(const plan::Snapshot& snapshot) {
    netplan::NetworkInput input;
    input.ports = false;
    input.predict_shares = true;
    plan::Snapshot placed = snapshot;
    std::erase_if(placed.jobs, [](const plan::JobState& job) { return !job.assignment; });
    Sample sample;
    for (const double busy : plan::ContentionCost(placed).BusyUplinks()) {
      sample.load = std::max(sample.load, busy);
    }
    const netplan::NetworkPlan plan =
        netplan::PlanNetwork(placed, netplan::PlacedJobs(placed), input);
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
      if (!plan.jobs[j] || !plan.jobs[j]->share) continue;
      const netplan::JobNetwork& network = *plan.jobs[j];
      const double gpus = placed.jobs[j].job.workers * 8.0;
      sample.share += gpus * *network.share;
      sample.gpus += gpus;
      crux::ContendingJob iteration;
      iteration.compute_seconds = network.compute_seconds;
      iteration.communication_start = placed.jobs[j].job.profile.communication_start;
      const double rate = network.flop_per_iteration /
                          crux::IterationSeconds(iteration, network.communication_seconds);
      sample.flop_rate += *network.share * rate;
      sample.lone_flop_rate += rate;
    }
    return sample;
  }

  // What is predicted once jobs have left their places for equal ones as long as that gains.
  Sample OnceMoved(Sample best) {
    plan::Snapshot snapshot = snapshot_;
    bool gained = true;
    for (int sweep = 0; sweep < kMaxSweeps && gained; ++sweep) {
      gained = false;
      for (const plan::JobId job : snapshot.job_ids()) {
        plan::JobState& state = snapshot.jobs[job.index()];
        if (!state.assignment) continue;
        placement::GangPlan now;
        now.host_of_rank = state.assignment->host_of_rank;
        now.objective = placement::Evaluate(*snapshot.places, *state.groups, now.host_of_rank);
        if (now.objective.segments < 2) continue;
        for (const fabric::HostId host : now.host_of_rank) {
          snapshot.cluster.hosts[host.index()].free_gpus = 8;
        }
        state.assignment.reset();
        plan::Place(snapshot, job, Best(snapshot, job, EqualPlaces(snapshot, job, now)));
        const Sample then = Predict(snapshot);
        gained |= then.flop_rate > best.flop_rate * (1 + 1e-6);
        if (then.flop_rate > best.flop_rate) best = then;
      }
    }
    return best;
  }

  void SampleRates() {
    Sample sample = Predict(snapshot_);
    const double load = sample.load;
    if (way_ == Way::kMoved && load > kMovedAbove) sample = OnceMoved(sample);
    sample.seconds = now_;
    sample.load = load;
    sum_.share += sample.share;
    weight_ += sample.gpus;
    samples_.push_back(sample);
  }

  const std::vector<sim::TraceJob>& trace_;
  const std::uint64_t seed_;
  const Way way_;
  const double bytes_factor_;
  const int draws_;
  Random random_;
  plan::Snapshot snapshot_;
  std::vector<Running> running_;
  std::vector<double> load_;
  double split_ = 0;
  double now_ = 0;
  double seconds_ = 0;
  double weight_ = 0;
  int events_ = 0;
  Choices choices_;
  std::vector<Sample> samples_;
  Figures sum_;
};

}  // namespace

ContentionReplay ReplayContention(const fabric::FabricSpec& spec,
                                  const std::vector<sim::TraceJob>& jobs, std::uint64_t seed,
                                  Way way, double load, int draws) {
  Replay replay(spec, jobs, seed, way, load, draws);
  ContentionReplay result;
  result.figures = replay.Run();
  result.choices = replay.choices();
  result.samples = replay.samples();
  return result;
}

}  // namespace yardmaster::bench
