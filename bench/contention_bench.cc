// What it gains to look at the predicted load of uplinks among placements that are otherwise equal
// (PlanOptions::contention), against packing alone: docs/placement.md has the figures.
//
//   contention_bench [JOBS] [SEEDS] [FIRST_SEED] [GAP_SECONDS] [LARGE_SHARE] [LOAD]
//                                          default 150 jobs, 5 seeds from 1, 600 s, 0.6, 1
// LOAD multiplies the bytes of every job.
//
// On two fabrics of 16 segments of 16 hosts: HPN's (2 to 1 at the ToRs of every rail) and one with
// a single uplink of 200 Gbit/s per ToR, 16 to 1, to see what scarce uplinks change.
//
// The mix: models and sizes of test/data/lingjun-2023/model-gpus.csv (recorded; its README has
// origin and licence), arrivals and run times generated from them by seed (sim/trace_workload.h),
// more of them large than recorded so that gangs span segments and share uplinks. Both ways place
// the same jobs at the same arrivals and departures; what differs is only the choice among equals.
// Reported, as means over time: the load of the busiest segment's uplinks and the unevenness (root
// of the mean square over the mean) as the planner predicts them, and the share of its ideal rate
// that a job is predicted to get once paths and levels are chosen, weighted by its GPUs. The share is
// then given apart for instants at which the fullest uplinks are busy for more than 0.8 of the time
// (in the mean of both ways), and for the others, with what no choice of places of the same objective exceeds: that
// every job gets its ideal rate.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/model_sizes.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/plan/contention_cost.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"
#include "pkg/sim/trace_workload.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

constexpr int kSampleEvery = 12;  // events between two predictions of rates
constexpr double kFullLoad = 0.8;

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

// What was predicted at one instant.
struct Sample {
  double seconds = 0;  // when
  double load = 0;     // share of time that the fullest uplinks are busy
  double share = 0;    // of the ideal rate, times GPUs
  double gpus = 0;
};

struct Figures {
  double busiest = 0;     // load of the busiest segment over the mean load
  double unevenness = 0;  // root mean square over mean
  double share = 0;       // of the ideal rate
  double split = 0;       // GPUs in gangs of more than one segment
  double waited = 0;      // seconds per job
};

class Replay {
 public:
  Replay(const fabric::FabricSpec& spec, const std::vector<sim::TraceJob>& jobs, std::uint64_t seed,
         bool contention, double load)
      : trace_(jobs),
        seed_(seed),
        contention_(contention),
        bytes_factor_(load),
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

  // First come, first served, so that both ways start the same jobs where they can.
  void PlaceWaiting() {
    plan::PlanOptions options;
    options.contention = contention_;
    options.placement.explain = false;
    const plan::Plan plan = plan::MakePlan(snapshot_, options);
    bool blocked = false;
    for (const plan::JobPlan& job : plan.jobs) {
      if (snapshot_.jobs[job.job.index()].assignment) continue;
      blocked = blocked || !job.is_new;
      if (blocked) continue;
      plan::Place(snapshot_, job.job, job.gang.host_of_rank);
      const sim::TraceJob& trace = trace_[running_[job.job.index()].index];
      running_[job.job.index()].ends = now_ + trace.run_seconds;
      sum_.waited += now_ - trace.arrival_seconds;
    }
    load_ = netplan::PredictedUplinkLoad(snapshot_);
    split_ = 0;
    for (const plan::JobState& job : snapshot_.jobs) {
      if (!job.assignment) continue;
      const auto& hosts = job.assignment->host_of_rank;
      if (placement::Evaluate(*snapshot_.places, *job.groups, hosts).data_split_segments > 0) {
        split_ += job.job.workers * 8;
      }
    }
  }

  void SampleRates() {
    netplan::NetworkInput input;
    input.ports = false;
    input.predict_shares = true;
    plan::Snapshot placed = snapshot_;
    std::erase_if(placed.jobs, [](const plan::JobState& job) { return !job.assignment; });
    Sample sample{now_, 0, 0, 0};
    for (const double busy : plan::ContentionCost(placed).BusyUplinks()) {
      sample.load = std::max(sample.load, busy);
    }
    const netplan::NetworkPlan plan =
        netplan::PlanNetwork(placed, netplan::PlacedJobs(placed), input);
    for (std::size_t j = 0; j < plan.jobs.size(); ++j) {
      if (!plan.jobs[j] || !plan.jobs[j]->share) continue;
      const double gpus = placed.jobs[j].job.workers * 8.0;
      sample.share += gpus * *plan.jobs[j]->share;
      sample.gpus += gpus;
    }
    sum_.share += sample.share;
    weight_ += sample.gpus;
    samples_.push_back(sample);
  }

  const std::vector<sim::TraceJob>& trace_;
  const std::uint64_t seed_;
  const bool contention_;
  const double bytes_factor_;
  plan::Snapshot snapshot_;
  std::vector<Running> running_;
  std::vector<double> load_;
  double split_ = 0;
  double now_ = 0;
  double seconds_ = 0;
  double weight_ = 0;
  int events_ = 0;
  std::vector<Sample> samples_;
  Figures sum_;
};

void Print(const char* name, const Figures& f) {
  std::printf(
      "%-12s busiest/mean %6.3f  rms/mean %6.3f  share %8.5f  split GPUs %6.0f  wait %6.0f s\n",
      name, f.busiest, f.unevenness, f.share, f.split, f.waited);
}

fabric::FabricSpec Scarce(fabric::FabricSpec spec) {
  spec.name = "scarce";
  spec.tiers[0].up_ports = 1;
  spec.tiers[0].up_gbps = 200;
  spec.tiers[1].switches = 1;
  spec.tiers[1].down_gbps = 200;
  return spec;
}

// Sums over samples of both ways at the same instants.
struct Shares {
  double packing = 0;
  double contention = 0;
  double gpus = 0;
  int samples = 0;

  void Print(const char* when) const {
    if (samples == 0) return;
    std::printf("  load %s: %d samples, share %.5f packed, rate %+.2f %%; ideal %+.2f %%\n", when,
                samples, packing / gpus, 100 * (contention / packing - 1),
                100 * (gpus / packing - 1));
  }
};

void Split(const std::vector<Sample>& packing, const std::vector<Sample>& contention, Shares& below,
           Shares& above) {
  for (std::size_t i = 0; i < std::min(packing.size(), contention.size()); ++i) {
    const Sample& a = packing[i];
    const Sample& b = contention[i];
    if (a.seconds != b.seconds || a.gpus != b.gpus) continue;  // the queues went other ways
    Shares& sum = (a.load + b.load) / 2 > kFullLoad ? above : below;
    sum.packing += a.share;
    sum.contention += b.share;
    sum.gpus += a.gpus;
    ++sum.samples;
  }
}

void Compare(const fabric::FabricSpec& spec, const sim::GenerateOptions& mix, int seeds,
             double load) {
  const std::vector<sim::ModelSize> sizes = bench::ReadModelSizes(1024);
  double gain = 0, squares = 0, relief = 0;
  Shares below, above;
  for (int s = 0; s < seeds; ++s) {
    sim::GenerateOptions generate = mix;
    generate.seed += static_cast<std::uint64_t>(s);
    const auto trace = sim::GenerateTrace(sizes, generate);
    Replay packed(spec, trace, generate.seed, false, load);
    Replay spread(spec, trace, generate.seed, true, load);
    const Figures packing = packed.Run();
    const Figures contention = spread.Run();
    Split(packed.samples(), spread.samples(), below, above);
    std::printf("%s, seed %d\n", spec.name.c_str(), static_cast<int>(generate.seed));
    Print("  packing", packing);
    Print("  contention", contention);
    std::fflush(stdout);
    const double percent = 100 * (contention.share / packing.share - 1);
    gain += percent / seeds;
    squares += percent * percent / seeds;
    relief += 100 * (1 - contention.busiest / packing.busiest) / seeds;
  }
  std::printf("%s: busiest uplinks %.1f %% less loaded; rate %+.3f %% +- %.3f over %d seeds\n",
              spec.name.c_str(), relief, gain, std::sqrt(std::max(0.0, squares - gain * gain)),
              seeds);
  below.Print("up to 0.8");
  above.Print("above 0.8");
}

}  // namespace

int main(int argc, char** argv) {
  sim::GenerateOptions mix;
  mix.jobs = argc > 1 ? std::atoi(argv[1]) : 150;
  const int seeds = argc > 2 ? std::atoi(argv[2]) : 5;
  mix.seed = static_cast<std::uint64_t>(argc > 3 ? std::atoi(argv[3]) : 1);
  mix.mean_run_seconds = 5400;
  mix.mean_gap_seconds = argc > 4 ? std::atof(argv[4]) : 600;
  mix.large_share = argc > 5 ? std::atof(argv[5]) : 0.6;
  const fabric::FabricSpec hpn = fabric::SmallHpn(1, 16, 17);
  const double load = argc > 6 ? std::atof(argv[6]) : 1;
  Compare(Scarce(hpn), mix, seeds, load);
  Compare(hpn, mix, seeds, load);
  return 0;
}
