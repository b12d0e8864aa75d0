#include "pkg/sim/trace_run.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/crux/contention.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/path_selection.h"
#include "pkg/sim/evaluate.h"
#include "pkg/sim/fabric_paths.h"

namespace yardmaster::sim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Running {
  std::size_t index;  // into the trace
  std::vector<TracePlace> places;
  crux::Job job;
  crux::JobDecision decision;
  double left_seconds;  // of compute
  double share = 0;     // computed seconds per second
  double lone_share = 1;
};

class Hosts {
 public:
  Hosts(std::int32_t count, std::int32_t gpus, double scatter, std::uint64_t seed)
      : used_(count, 0), gpus_(gpus), whole_(count), scatter_(scatter), random_(seed) {}

  // Hosts nobody is on.
  std::int32_t left() const { return whole_; }
  std::int32_t all() const { return static_cast<std::int32_t>(used_.size()); }

  bool Free(const std::vector<TracePlace>& places) const {
    return !places.empty() && std::all_of(places.begin(), places.end(), [&](const TracePlace& p) {
      return used_[p.host] + p.gpus <= gpus_;
    });
  }
  void Take(const std::vector<TracePlace>& places) {
    for (const TracePlace& p : places) Use(p.host, p.gpus);
  }
  // Whole hosts, sorted. REQUIRES: count <= left().
  std::vector<TracePlace> TakeWhole(std::int32_t count) {
    std::vector<TracePlace> taken;
    std::size_t at = random_.Below(used_.size());
    while (static_cast<std::int32_t>(taken.size()) < count) {
      if (random_.Unit() < scatter_) at = random_.Below(used_.size());
      while (used_[at] > 0) at = (at + 1) % used_.size();
      taken.push_back({static_cast<std::int32_t>(at), gpus_});
      Use(taken.back().host, gpus_);
    }
    std::sort(taken.begin(), taken.end(),
              [](const TracePlace& a, const TracePlace& b) { return a.host < b.host; });
    return taken;
  }
  void Give(const std::vector<TracePlace>& places) {
    for (const TracePlace& p : places) Use(p.host, -p.gpus);
  }

 private:
  void Use(std::int32_t host, std::int32_t gpus) {
    whole_ -= used_[host] == 0 ? 1 : 0;
    used_[host] += gpus;
    whole_ += used_[host] == 0 ? 1 : 0;
  }

  std::vector<std::int32_t> used_;  // GPUs, by host
  const std::int32_t gpus_;
  std::int32_t whole_;
  const double scatter_;
  Random random_;
};

class Replay {
 public:
  Replay(const fabric::Network& network, const std::vector<TraceJob>& jobs,
         const TraceOptions& options)
      : network_(network),
        trace_(jobs),
        options_(options),
        hosts_(network.places().num_hosts(), network.spec().gpus_per_host, options.scatter,
               options.seed ^ 0x5CA77E5) {
    problem_.levels = options.levels;
    problem_.links = LinksOf(network);
    for (const crux::Link& link : problem_.links) gbps_.push_back(link.gbps);
    result_.jobs.resize(jobs.size());
  }

  absl::StatusOr<TraceResult> Run() {
    std::size_t next = 0;
    while (next < trace_.size() || !waiting_.empty() || !running_.empty()) {
      const double arrival = next < trace_.size() ? trace_[next].arrival_seconds : kInfinity;
      const double finish = NextFinish();
      Advance(std::min(arrival, finish));
      bool changed = Retire();
      if (arrival <= now_) waiting_.push_back(next++);
      YM_ASSIGN_OR_RETURN(const bool started, StartWaiting());
      changed |= started;
      if (changed) YM_RETURN_IF_ERROR(Reschedule());
    }
    Summarise();
    return std::move(result_);
  }

 private:
  double NextFinish() const {
    double finish = kInfinity;
    for (const Running& job : running_) {
      if (job.share > 0) finish = std::min(finish, now_ + job.left_seconds / job.share);
    }
    return finish;
  }

  void Advance(double until) {
    const double seconds = std::max(0.0, until - now_);
    for (Running& job : running_) {
      const double computed = std::min(job.left_seconds, job.share * seconds);
      job.left_seconds -= computed;
      const double flop_rate = job.job.flop_per_iteration / job.job.compute_seconds;
      flop_done_ += computed * flop_rate;
      flop_possible_ += seconds * flop_rate;
    }
    now_ = std::max(now_, until);
  }

  bool Retire() {
    const auto done = [&](const Running& job) { return job.left_seconds <= 1e-9 * now_; };
    for (const Running& job : running_) {
      if (!done(job)) continue;
      TraceJobResult& result = result_.jobs[job.index];
      result.finish_seconds = now_;
      const double took = now_ - result.start_seconds;
      result.utilisation = took > 0 ? computed_[job.index] / took : 1;
      result.slowdown = std::max(1.0, took / (computed_[job.index] / job.lone_share));
      hosts_.Give(job.places);
      ++finished_;
      if (options_.progress) options_.progress(finished_, trace_.size());
    }
    return std::erase_if(running_, done) > 0;
  }

  absl::StatusOr<bool> StartWaiting() {
    bool started = false;
    std::size_t at = 0;
    for (; at < waiting_.size(); ++at) {
      const TraceJob& job = trace_[waiting_[at]];
      const std::int32_t per_host = network_.spec().gpus_per_host;
      const std::int32_t need = (job.gpus + per_host - 1) / per_host;
      if (need < 1 || need > hosts_.all()) {
        return FieldError(job.id, StrCat("needs ", Count(need, "host"), " of ", hosts_.all()),
                          "use a larger fabric, or leave the job out");
      }
      const bool in_place = hosts_.Free(job.places);
      if (!in_place && need > hosts_.left()) break;
      Start(waiting_[at], need, in_place);
      started = true;
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(at));
    return started;
  }

  void Start(std::size_t index, std::int32_t need, bool in_place) {
    const TraceJob& job = trace_[index];
    Running state;
    state.index = index;
    if (in_place) {
      state.places = job.places;
      hosts_.Take(state.places);
    } else {
      state.places = hosts_.TakeWhole(need);
    }
    const auto hosts = static_cast<std::int32_t>(state.places.size());
    const JobProfile profile = ProfileOf(job, hosts, options_.seed * 7919 + index);
    state.job.id = job.id;
    state.job.gpus = job.gpus;
    state.job.compute_seconds = profile.compute_seconds;
    state.job.communication_start = profile.communication_start;
    state.job.flop_per_iteration = profile.flop_per_iteration;
    AddFlows(profile, state);
    const std::vector<std::int32_t> best = crux::SelectAlone(problem_, state.job);
    const double seconds = crux::CommunicationSeconds(crux::LinkLoads(problem_, state.job, best));
    state.lone_share = profile.compute_seconds / crux::IterationSeconds(state.job, seconds);
    state.left_seconds = job.run_seconds * state.lone_share;
    state.decision.level = -1;
    computed_[index] = state.left_seconds;
    result_.jobs[index].id = job.id;
    result_.jobs[index].gpus = job.gpus;
    result_.jobs[index].start_seconds = now_;
    result_.jobs[index].in_place = in_place;
    running_.push_back(std::move(state));
  }

  void AddFlows(const JobProfile& profile, Running& state) {
    const int rails = network_.spec().rails;
    const double per_rail = static_cast<double>(network_.spec().gpus_per_host) / rails;
    const double bytes = profile.ring_bytes_per_gpu * per_rail * options_.load;
    const std::size_t ring = state.places.size() / static_cast<std::size_t>(profile.stages);
    if (ring < 2 || bytes <= 0) return;
    bool local = false;
    for (std::size_t begin = 0; begin + ring <= state.places.size(); begin += ring) {
      for (std::size_t i = 0; i < ring; ++i) {
        const fabric::HostId from(state.places[begin + i].host);
        const fabric::HostId to(state.places[begin + (i + 1) % ring].host);
        const bool below_tor = network_.tor({from, 0, 0}) == network_.tor({to, 0, 0});
        if (below_tor && std::exchange(local, true)) continue;
        for (int rail = 0; rail < (below_tor ? 1 : rails); ++rail) {
          crux::Flow flow{StrCat(from.value, "r", rail), bytes, {}};
          flow.paths = PathsBetween(network_, from, to, rail, options_.max_paths);
          if (!flow.paths.empty()) state.job.flows.push_back(std::move(flow));
        }
      }
    }
  }

  absl::Status Reschedule() {
    problem_.jobs.clear();
    crux::Options options = options_.decide;
    options.seed = options_.seed;
    options.reserved_levels = options_.reserved_levels;
    crux::Solution previous;
    for (std::size_t r = 0; r < running_.size(); ++r) {
      problem_.jobs.push_back(running_[r].job);
      previous.jobs.push_back(running_[r].decision);
      // Everybody may move, but only for a gain beyond the hysteresis.
      options.changed.push_back(static_cast<std::int32_t>(r));
    }
    options.paths.hysteresis = options_.hysteresis;
    if (options_.judged_jobs > 0) {
      options.judge = MakeJudge();
      options.refine_jobs = options_.judged_jobs;
    }
    if (options_.policy == crux::Policy::kCrux && options_.hysteresis >= 0) {
      options.previous = std::move(previous);
    }
    YM_ASSIGN_OR_RETURN(const crux::Solution solution,
                        crux::Decide(problem_, options_.policy, options));
    for (std::size_t r = 0; r < running_.size(); ++r) running_[r].decision = solution.jobs[r];
    return MeasureSpeeds(solution);
  }

  absl::Status MeasureSpeeds(const crux::Solution& solution) {
    std::vector<std::vector<crux::LinkSeconds>> loads;
    crux::LoadCounter counter(problem_);
    std::int32_t gpus = 0;
    for (std::size_t r = 0; r < running_.size(); ++r) {
      loads.push_back(counter.Count(problem_.jobs[r], solution.jobs[r].paths));
      gpus += problem_.jobs[r].gpus;
    }
    result_.peak_jobs = std::max(result_.peak_jobs, static_cast<std::int32_t>(running_.size()));
    result_.peak_gpus = std::max(result_.peak_gpus, gpus);
    const auto pairs =
        crux::ContendingPairs(static_cast<std::int32_t>(problem_.links.size()), loads);
    std::map<std::vector<std::int64_t>, std::vector<double>> fresh;
    for (const auto& group : crux::Components(static_cast<std::int32_t>(running_.size()), pairs)) {
      double slowest = 0;
      for (const std::int32_t r : group) {
        const double seconds = crux::CommunicationSeconds(loads[r]);
        const double iteration = crux::IterationSeconds(problem_.jobs[r], seconds);
        slowest = std::max(slowest, iteration);
        running_[r].share = problem_.jobs[r].compute_seconds / iteration;
        result_.jobs[running_[r].index].contended |= group.size() > 1;
      }
      if (group.size() == 1) continue;
      std::vector<std::int64_t> key = KeyOf(group);
      const auto known = measured_.find(key);
      std::vector<double> shares;
      if (known != measured_.end()) {
        shares = known->second;
      } else {
        YM_ASSIGN_OR_RETURN(shares, Simulate(group, slowest * options_.window_iterations));
      }
      for (std::size_t g = 0; g < group.size(); ++g) running_[group[g]].share = shares[g];
      fresh.emplace(std::move(key), std::move(shares));
    }
    measured_ = std::move(fresh);
    return absl::OkStatus();
  }

  std::vector<std::int64_t> KeyOf(const std::vector<std::int32_t>& group) const {
    std::vector<std::int64_t> key;
    for (const std::int32_t r : group) {
      const Running& job = running_[r];
      key.push_back(static_cast<std::int64_t>(job.index));
      key.push_back(job.decision.level);
      key.push_back(static_cast<std::int64_t>(job.decision.offset_seconds * 1e6));
      key.insert(key.end(), job.decision.paths.begin(), job.decision.paths.end());
    }
    return key;
  }

  absl::StatusOr<std::vector<double>> Simulate(const std::vector<std::int32_t>& group,
                                               double window_seconds) const {
    Simulator simulator(gbps_);
    for (const std::int32_t r : group) {
      simulator.AddJob(SpecOf(running_[r].job, running_[r].decision, JobStart::kFresh));
    }
    // The first iterations show the start, not the steady state.
    const double warm_up = window_seconds / 4;
    YM_RETURN_IF_ERROR(simulator.RunUntil(warm_up));
    std::vector<double> shares;
    for (std::size_t g = 0; g < group.size(); ++g) {
      shares.push_back(simulator.Totals(static_cast<std::int32_t>(g)).compute_seconds);
    }
    YM_RETURN_IF_ERROR(simulator.RunUntil(warm_up + window_seconds));
    for (std::size_t g = 0; g < group.size(); ++g) {
      const double computed = simulator.Totals(static_cast<std::int32_t>(g)).compute_seconds;
      // Nobody stands still for ever: a window without progress means less than one iteration.
      shares[g] = std::max((computed - shares[g]) / window_seconds, 1e-3);
    }
    return shares;
  }

  void Summarise() {
    result_.utilisation = flop_possible_ > 0 ? flop_done_ / flop_possible_ : 0;
    double gpus = 0;
    const auto count = static_cast<double>(std::max<std::size_t>(1, trace_.size()));
    result_.mean_slowdown = 0;
    for (std::size_t j = 0; j < trace_.size(); ++j) {
      const TraceJobResult& job = result_.jobs[j];
      result_.mean_completion_seconds += (job.finish_seconds - trace_[j].arrival_seconds) / count;
      result_.mean_slowdown += job.slowdown / count;
      result_.worst_slowdown = std::max(result_.worst_slowdown, job.slowdown);
      result_.contended_jobs += job.contended / count;
      result_.contended_gpus += job.contended ? job.gpus : 0;
      gpus += job.gpus;
    }
    if (gpus > 0) result_.contended_gpus /= gpus;
  }

  const fabric::Network& network_;
  const std::vector<TraceJob>& trace_;
  const TraceOptions& options_;
  Hosts hosts_;
  crux::Problem problem_;
  std::vector<double> gbps_;
  double now_ = 0;
  double flop_done_ = 0;
  double flop_possible_ = 0;
  std::size_t finished_ = 0;
  std::vector<std::size_t> waiting_;
  std::vector<Running> running_;
  std::map<std::size_t, double> computed_;  // compute seconds of a whole job
  std::map<std::vector<std::int64_t>, std::vector<double>> measured_;
  TraceResult result_;
};

}  // namespace

absl::StatusOr<TraceResult> RunTrace(const fabric::Network& network,
                                     const std::vector<TraceJob>& jobs,
                                     const TraceOptions& options) {
  return Replay(network, jobs, options).Run();
}

}  // namespace yardmaster::sim
