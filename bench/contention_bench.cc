// What it gains to look at the predicted load of uplinks among placements that are otherwise equal
// (PlanOptions::contention), against packing alone: docs/placement.md has the figures.
//
//   contention_bench [JOBS] [SEEDS] [FIRST_SEED] [GAP_SECONDS] [LARGE_SHARE] [LOAD] [WAYS] [DRAWS]
//                                          default 150 jobs, 5 seeds from 1, 600 s, 0.6, 1, contention, 8
// LOAD multiplies the bytes of every job. WAYS, joined by commas, are compared with packing, each with the
// same jobs; with others than `contention` on the fabric with scarce uplinks only:
//   contention    PlanOptions::contention
//   drawn         each job takes, of the equal places that DRAWS random preferences among segments lead to,
//                 the one that the planner's prediction prefers
//   oracle        of these the one at which the jobs that run get most done (FLOP/s) by the prediction that is
//                 reported; it looks at one arrival at a time, so better places for a series of jobs may exist
//   share-oracle  the same, by the sum of shares of ideal rates, weighted by GPUs
//   moved         as contention; at each instant that is reported jobs may leave their places for equal ones,
//                 chosen as by oracle, one after the other until none gains
//
// On two fabrics of 16 segments of 16 hosts: HPN's (2 to 1 at the ToRs of every rail) and one with
// a single uplink of 200 Gbit/s per ToR, 16 to 1, to see what scarce uplinks change.
//
// The mix: models and sizes of test/data/lingjun-2023/model-gpus.csv (recorded; its README has
// origin and licence), arrivals and run times generated from them by seed (sim/trace_workload.h),
// more of them large than recorded so that gangs span segments and share uplinks. All ways place
// the same jobs at the same arrivals and departures; what differs is only the choice among equals.
// Reported, as means over time: the load of the busiest segment's uplinks and the unevenness (root
// of the mean square over the mean) as the planner predicts them, and the share of its ideal rate
// that a job is predicted to get once paths and levels are chosen, weighted by its GPUs. Then what a way
// gains over packing in FLOP/s, which is its gain in utilisation, and in that share, with 95 % bootstrap
// intervals over seeds: apart for instants at which the fullest uplinks are busy for more than 0.8 of the
// time (in the mean of both ways), and for the others, with what no choice of places of the same objective
// exceeds: that every job gets its ideal rate.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "bench/model_sizes.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/crux/intensity.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/plan/contention_cost.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"
#include "pkg/sim/trace_workload.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

constexpr int kSampleEvery = 12;  // events between two predictions of rates
constexpr double kFullLoad = 0.8;
constexpr double kMovedAbove = 0.7;  // of the load; jobs are moved there only
constexpr int kMaxSweeps = 3;
constexpr int kResamples = 2000;

enum class Way { kPacking, kContention, kDrawn, kOracle, kShareOracle, kMoved };
constexpr const char* kWays[] = {"packing", "contention",   "drawn",
                                 "oracle",  "share-oracle", "moved"};
bool Draws(Way way) {
  return way == Way::kDrawn || way == Way::kOracle || way == Way::kShareOracle;
}

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
  double flop_rate = 0;  // of all jobs
  double lone_flop_rate = 0;
};

// Jobs that were placed, and those with more than one equal place.
struct Choices {
  int placed = 0;
  int spanning = 0;  // of several segments
  int several = 0;   // of them
  int other = 0;     // of them: not at the place that packing prefers
};

struct Figures {
  double busiest = 0;     // load of the busiest segment over the mean load
  double unevenness = 0;  // root mean square over mean
  double share = 0;       // of the ideal rate
  double split = 0;       // GPUs in gangs of more than one segment
  double waited = 0;      // seconds per job
};

using Hosts = std::vector<fabric::HostId>;

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
    options.contention = way_ == Way::kContention || way_ == Way::kMoved;
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
      const placement::GangPlan other = placement::PlanGang(
          snapshot.cluster, {&state.job, state.groups.get(), state.eligible.get(), job.value},
          options);
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
      crux::Job iteration;
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

// Of one seed, at instants at which the same jobs run in both ways.
struct Sums {
  double packed_flop = 0, flop = 0, lone_flop = 0;
  double packed_share = 0, share = 0, gpus = 0;
  int samples = 0;

  void Add(const Sample& packed, const Sample& other) {
    packed_flop += packed.flop_rate;
    flop += other.flop_rate;
    lone_flop += packed.lone_flop_rate;
    packed_share += packed.share;
    share += other.share;
    gpus += packed.gpus;
    ++samples;
  }
};

double Percent(double ours, double other) { return other > 0 ? 100 * (ours / other - 1) : 0; }

// Over all seeds, a ratio of sums, since seeds have different numbers of samples.
double Gain(const std::vector<const Sums*>& seeds, double Sums::*ours, double Sums::*other) {
  double a = 0, b = 0;
  for (const Sums* seed : seeds) {
    a += seed->*ours;
    b += seed->*other;
  }
  return Percent(a, b);
}

std::string WithInterval(const std::vector<Sums>& seeds, double Sums::*ours, double Sums::*other) {
  std::vector<const Sums*> all;
  for (const Sums& seed : seeds) all.push_back(&seed);
  Random random(1);
  std::vector<double> gains;
  for (int r = 0; r < kResamples; ++r) {
    std::vector<const Sums*> drawn;
    for (std::size_t i = 0; i < all.size(); ++i) drawn.push_back(all[random.Below(all.size())]);
    gains.push_back(Gain(drawn, ours, other));
  }
  std::sort(gains.begin(), gains.end());
  char text[64];
  std::snprintf(text, sizeof text, "%+.2f [%+.2f, %+.2f] %%", Gain(all, ours, other),
                gains[kResamples / 40], gains[kResamples - 1 - kResamples / 40]);
  return text;
}

// What a way gains over packing, seed by seed.
struct Comparison {
  std::vector<Sums> below, above;  // kFullLoad
  std::vector<double> gains, relief;

  void Add(const std::vector<Sample>& packed, const std::vector<Sample>& other) {
    below.emplace_back();
    above.emplace_back();
    for (std::size_t i = 0; i < std::min(packed.size(), other.size()); ++i) {
      const Sample& a = packed[i];
      const Sample& b = other[i];
      if (a.seconds != b.seconds || a.gpus != b.gpus) continue;  // the queues went other ways
      ((a.load + b.load) / 2 > kFullLoad ? above : below).back().Add(a, b);
    }
  }

  static void Print(const char* when, const std::vector<Sums>& seeds) {
    int samples = 0;
    for (const Sums& seed : seeds) samples += seed.samples;
    if (samples == 0) return;
    std::printf("  load %s: %d samples, FLOP/s %s, share %s; ideal %s\n", when, samples,
                WithInterval(seeds, &Sums::flop, &Sums::packed_flop).c_str(),
                WithInterval(seeds, &Sums::share, &Sums::packed_share).c_str(),
                WithInterval(seeds, &Sums::lone_flop, &Sums::packed_flop).c_str());
  }

  void Print(const std::string& fabric, const char* way) const {
    double gain = 0, squares = 0, less = 0;
    const auto count = static_cast<double>(gains.size());
    for (std::size_t s = 0; s < gains.size(); ++s) {
      gain += gains[s] / count;
      squares += gains[s] * gains[s] / count;
      less += relief[s] / count;
    }
    std::printf(
        "%s, %s: busiest uplinks %.1f %% less loaded; share %+.3f %% +- %.3f over %zu seeds\n",
        fabric.c_str(), way, less, gain, std::sqrt(std::max(0.0, squares - gain * gain)),
        gains.size());
    Print("up to 0.8", below);
    Print("above 0.8", above);
  }
};

void Print(const Choices& choices) {
  std::printf(
      "    %d jobs placed, %d in several segments, of them %d with a choice, %d elsewhere\n",
      choices.placed, choices.spanning, choices.several, choices.other);
}

void Compare(const fabric::FabricSpec& spec, const sim::GenerateOptions& mix, int seeds,
             double load, const std::vector<Way>& ways, int draws) {
  const std::vector<sim::ModelSize> sizes = bench::ReadModelSizes(1024);
  std::vector<Comparison> comparisons(ways.size());
  for (int s = 0; s < seeds; ++s) {
    sim::GenerateOptions generate = mix;
    generate.seed += static_cast<std::uint64_t>(s);
    const auto trace = sim::GenerateTrace(sizes, generate);
    Replay packed(spec, trace, generate.seed, Way::kPacking, load, draws);
    const Figures packing = packed.Run();
    std::printf("%s, seed %d\n", spec.name.c_str(), static_cast<int>(generate.seed));
    Print("  packing", packing);
    for (std::size_t w = 0; w < ways.size(); ++w) {
      Replay replay(spec, trace, generate.seed, ways[w], load, draws);
      const Figures figures = replay.Run();
      const char* name = kWays[static_cast<int>(ways[w])];
      Print(StrCat("  ", name).c_str(), figures);
      if (Draws(ways[w])) Print(replay.choices());
      comparisons[w].Add(packed.samples(), replay.samples());
      comparisons[w].gains.push_back(Percent(figures.share, packing.share));
      comparisons[w].relief.push_back(-Percent(figures.busiest, packing.busiest));
      Comparison::Print("above 0.8 so far", comparisons[w].above);
      std::fflush(stdout);
    }
  }
  for (std::size_t w = 0; w < ways.size(); ++w) {
    comparisons[w].Print(spec.name, kWays[static_cast<int>(ways[w])]);
  }
}

std::vector<Way> ParseWays(const std::string& names) {
  std::vector<Way> ways;
  for (const std::string& name : Split(names, ',')) {
    const auto* const at = std::find(std::begin(kWays), std::end(kWays), name);
    if (at == std::end(kWays)) {
      std::fprintf(stderr, "unknown way %s\n", name.c_str());
      std::exit(2);
    }
    ways.push_back(static_cast<Way>(at - std::begin(kWays)));
  }
  return ways;
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
  const std::vector<Way> ways = ParseWays(argc > 7 ? argv[7] : "contention");
  const int draws = argc > 8 ? std::atoi(argv[8]) : 8;
  Compare(Scarce(hpn), mix, seeds, load, ways, draws);
  if (ways == std::vector{Way::kContention}) Compare(hpn, mix, seeds, load, ways, draws);
  return 0;
}
