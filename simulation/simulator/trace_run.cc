#include "simulation/simulator/trace_run.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/path_selection.h"
#include "simulation/simulator/fabric_paths.h"
#include "simulation/simulator/gang_placer.h"
#include "simulation/simulator/gpu_pool.h"
#include "simulation/simulator/running_speed.h"
#include "simulation/simulator/trace_flows.h"

namespace yardmaster::sim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool DecidesByCrux(crux::Policy policy) {
  return policy == crux::Policy::kCrux || policy == crux::Policy::kPublished;
}

bool ChoosesPaths(crux::Policy policy) {
  return DecidesByCrux(policy) || policy == crux::Policy::kTaccl || policy == crux::Policy::kExact;
}

void NumberRings(const TraceJobFlows& hops, crux::ContendingJob& job) {
  for (std::size_t f = 0; f < job.flows.size(); ++f) job.flows[f].ring = hops.ring_of[f];
}

void KeepPath(crux::Flow& flow, std::int32_t path) {
  crux::PathList only;
  only.Add(flow.paths[path]);
  flow.paths = std::move(only);
}

crux::Problem NothingRuns(const fabric::Network& network, const HostLinks& links,
                          std::int32_t levels) {
  crux::Problem problem;
  problem.levels = levels;
  problem.links = LinksOf(network);
  links.AppendTo(problem.links);
  return problem;
}

class Replay {
 public:
  Replay(const fabric::Network& network, const std::vector<TraceJob>& jobs,
         const TraceOptions& options)
      : network_(network),
        trace_(jobs),
        options_(options),
        links_(options.host.value_or(HostSpecOf(network.spec())), network.places().num_hosts(),
               network.num_links()),
        pool_(network.places().num_hosts(), network.spec().gpus_per_host, options.scatter,
              options.fragmented),
        placer_(network, options.segment_hosts),
        problem_(NothingRuns(network, links_, options.levels)),
        speeds_(problem_.links, network.num_links(), options.window_iterations,
                options.policy == crux::Policy::kCassini) {
    result_.jobs.resize(jobs.size());
    arrivals_.resize(jobs.size());
    std::iota(arrivals_.begin(), arrivals_.end(), 0);
    std::sort(arrivals_.begin(), arrivals_.end(), [&](std::size_t a, std::size_t b) {
      return std::tie(jobs[a].arrival_seconds, jobs[a].id) <
             std::tie(jobs[b].arrival_seconds, jobs[b].id);
    });
  }

  absl::StatusOr<TraceResult> Run() {
    std::size_t next = 0;
    while (next < trace_.size() || !waiting_.empty() || !running_.empty()) {
      const double arrival =
          next < trace_.size() ? trace_[arrivals_[next]].arrival_seconds : kInfinity;
      const double finish = NextFinish();
      Advance(std::min(arrival, finish));
      bool changed = Retire();
      if (arrival <= now_) waiting_.push_back(arrivals_[next++]);
      YM_ASSIGN_OR_RETURN(const bool started, StartWaiting());
      changed |= started;
      YM_ASSIGN_OR_RETURN(const bool moved, MoveRunning(changed));
      changed |= moved;
      if (changed) YM_RETURN_IF_ERROR(Reschedule());
    }
    Summarise();
    return std::move(result_);
  }

 private:
  double NextFinish() const {
    double finish = kInfinity;
    for (const RunningJob& job : running_) {
      if (job.share <= 0) continue;
      finish = std::min(finish, now_ + job.stalled_seconds + job.left_seconds / job.share);
    }
    return finish;
  }

  void Advance(double until) {
    const double seconds = std::max(0.0, until - now_);
    for (std::size_t r = 0; r < running_.size(); ++r) {
      RunningJob& job = running_[r];
      const double stalled = std::min(job.stalled_seconds, seconds);
      job.stalled_seconds -= stalled;
      const double computed = std::min(job.left_seconds, job.share * (seconds - stalled));
      job.left_seconds -= computed;
      const crux::ContendingJob& iteration = problem_.jobs[r];
      const double flop_rate = iteration.flop_per_iteration / iteration.compute_seconds;
      flop_done_ += computed * flop_rate;
      flop_possible_ += seconds * flop_rate;
      flop_alone_ += seconds * flop_rate * job.lone_share;
      const double byte_rate = job.network_bytes / iteration.compute_seconds;
      bytes_sent_ += computed * byte_rate;
      bytes_alone_ += seconds * byte_rate * job.lone_share;
    }
    if (!running_.empty()) {
      load_seconds_ += seconds * speeds_.shared_load();
      busy_seconds_ += seconds;
    }
    now_ = std::max(now_, until);
  }

  bool Retire() {
    std::size_t kept = 0;
    for (std::size_t r = 0; r < running_.size(); ++r) {
      if (running_[r].left_seconds <= 1e-9 * now_) {
        Finish(running_[r]);
        continue;
      }
      if (kept != r) {
        running_[kept] = std::move(running_[r]);
        problem_.jobs[kept] = std::move(problem_.jobs[r]);
      }
      ++kept;
    }
    const bool some = kept < running_.size();
    departures_ |= some;
    running_.resize(kept);
    problem_.jobs.resize(kept);
    return some;
  }

  void Finish(const RunningJob& job) {
    TraceJobResult& result = result_.jobs[job.index];
    result.finish_seconds = now_;
    const double took = now_ - result.start_seconds;
    result.utilisation = took > 0 ? computed_[job.index] / took : 1;
    result.slowdown = std::max(1.0, took / (computed_[job.index] / job.lone_share));
    result.lost_share = 1 - 1 / result.slowdown;
    pool_.Give(job.places);
    ++finished_;
    if (options_.progress) options_.progress(finished_, trace_.size());
  }

  absl::StatusOr<bool> StartWaiting() {
    std::size_t at = 0;
    for (; at < waiting_.size(); ++at) {
      const TraceJob& job = trace_[waiting_[at]];
      const std::int32_t need = pool_.HostsFor(job.gpus);
      if (need < 1 || need > pool_.hosts()) {
        return FieldError(job.id, StrCat("needs ", Count(need, "host"), " of ", pool_.hosts()),
                          "use a larger fabric, or leave the job out");
      }
      const std::uint64_t seed = SeedOf(options_.seed, job.id);
      auto places = pool_.TakeAt(job.places, seed);
      const bool in_place = places.has_value();
      if (!in_place && options_.planner_places) {
        YM_ASSIGN_OR_RETURN(const auto planned, placer_.PlacesOf(job, pool_));
        places = pool_.TakeAt(planned, seed);
      } else if (!in_place) {
        places = pool_.Take(job.gpus, seed);
      }
      if (!places && running_.empty()) {
        return FieldError(job.id, "does not fit although no job runs",
                          "use a larger fabric, or leave the job out");
      }
      if (!places) break;
      Start(waiting_[at], *std::move(places), in_place, seed);
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(at));
    return at > 0;
  }

  void Start(std::size_t index, std::vector<HostGpus> places, bool in_place, std::uint64_t seed) {
    const TraceJob& traced = trace_[index];
    RunningJob state;
    state.index = index;
    crux::ContendingJob job;
    StandAt(std::move(places), seed, state, job);
    state.left_seconds = traced.run_seconds * state.lone_share;
    computed_[index] = state.left_seconds;
    result_.jobs[index].id = traced.id;
    result_.jobs[index].gpus = traced.gpus;
    result_.jobs[index].start_seconds = now_;
    result_.jobs[index].in_place = in_place;
    running_.push_back(std::move(state));
    problem_.jobs.push_back(std::move(job));
  }

  // What follows from the places of a job that begins to run there.
  void StandAt(std::vector<HostGpus> places, std::uint64_t seed, RunningJob& state,
               crux::ContendingJob& job) {
    const TraceJob& traced = trace_[state.index];
    Random random(seed + 1);
    state.places = std::move(places);
    const JobProfile profile =
        ProfileOf(traced, static_cast<std::int32_t>(state.places.size()), random.Next());
    job = {};
    job.id = traced.id;
    job.gpus = traced.gpus;
    job.compute_seconds = profile.compute_seconds;
    job.communication_start = profile.communication_start;
    job.flop_per_iteration = profile.flop_per_iteration;
    state.hops = FlowsOf(network_, links_, state.places, profile,
                         {options_.max_paths, network_.spec().nic_ports, options_.load});
    job.flows = state.hops.flows;
    NumberRings(state.hops, job);
    state.ring_bytes_per_gpu = options_.load * profile.ring_bytes_per_gpu;
    state.network_bytes = 0;
    for (const crux::Flow& flow : job.flows) {
      if (flow.paths.size() > 1) state.network_bytes += flow.bytes;
    }
    const std::vector<std::int32_t> best = crux::SelectAlone(problem_, job);
    const double seconds = crux::CommunicationSeconds(crux::LinkLoads(problem_, job, best));
    state.lone_share = profile.compute_seconds / crux::IterationSeconds(job, seconds);
    state.decision = {};
    state.decision.level = -1;
    state.phase = random.Unit();
    const bool chooses = ChoosesPaths(options_.policy) && !options_.hashed_paths;
    if (!chooses && !options_.paths_of_crux) {
      state.hops =
          Hashed(state.hops, std::max(1, options_.connections / network_.spec().nic_ports), random);
      job.flows = state.hops.flows;
      NumberRings(state.hops, job);
    }
  }

  // Moves jobs, if something has changed, and starts what then fits.
  absl::StatusOr<bool> MoveRunning(bool changed) {
    if (!changed || !options_.moves.on) return false;
    MoverInput input{&trace_, &running_, &problem_.jobs,        {},
                     nullptr, &pool_,    options_.segment_hosts};
    for (const RunningJob& job : running_) {
      input.ran_seconds.push_back(now_ - result_.jobs[job.index].start_seconds);
    }
    if (!waiting_.empty()) input.waiting = &trace_[waiting_.front()];
    YM_ASSIGN_OR_RETURN(const std::vector<TraceMove> moves,
                        MovesOf(network_, input, options_.moves));
    for (const TraceMove& move : moves) {
      RunningJob& job = running_[move.running];
      const std::uint64_t seed = SeedOf(options_.seed, trace_[job.index].id);
      pool_.Give(job.places);
      auto places = pool_.TakeAt(move.to, seed);
      if (!places) return absl::InternalError("a move to GPUs that are not free");
      StandAt(*std::move(places), seed, job, problem_.jobs[move.running]);
      job.stalled_seconds += options_.moves.lost_seconds();
      result_.job_moves += 1;
      result_.moved_gpu_seconds += options_.moves.lost_seconds() * trace_[job.index].gpus;
    }
    if (moves.empty()) return false;
    departures_ = true;
    YM_RETURN_IF_ERROR(StartWaiting().status());
    return true;
  }

  absl::Status Reschedule() {
    crux::Options options = options_.decide;
    options.seed = options_.seed;
    crux::PresentState present;
    present.reserved_levels = options_.reserved_levels;
    crux::Solution previous;
    for (std::size_t r = 0; r < running_.size(); ++r) {
      previous.jobs.push_back(running_[r].decision);
      if (running_[r].decision.level < 0)
        present.changed.emplace_back(static_cast<std::int32_t>(r));
    }
    present.departures = std::exchange(departures_, false);
    if (options_.policy == crux::Policy::kCrux && !options_.decide_from_nothing) {
      present.previous = std::move(previous);
    } else {
      present.changed.clear();
    }
    if (!ChoosesPaths(options_.policy) && options_.paths_of_crux)
      return FollowCrux(options, present);
    if (options_.knows_ends) present.remaining_seconds = RemainingSeconds();
    YM_ASSIGN_OR_RETURN(const crux::Solution solution, DecideAll(options, present));
    Follow(solution);
    return absl::OkStatus();
  }

  // Of jobs as fast as they are now; a new one says how long it runs alone.
  std::vector<double> RemainingSeconds() const {
    std::vector<double> seconds;
    for (const RunningJob& job : running_) {
      seconds.push_back(job.left_seconds / (job.share > 0 ? job.share : job.lone_share));
    }
    return seconds;
  }

  void Follow(const crux::Solution& solution) {
    for (std::size_t r = 0; r < running_.size(); ++r) {
      RunningJob& job = running_[r];
      const crux::JobDecision& next = solution.jobs[r];
      double stall = 0;
      if (job.decision.level >= 0 && next.paths != job.decision.paths) {
        ++result_.path_moves;
        stall = options_.path_stall_seconds;
      }
      if (job.decision.level >= 0 && next.level != job.decision.level) {
        ++result_.level_moves;
        stall = std::max(stall, options_.level_stall_seconds);
      }
      job.stalled_seconds = std::max(job.stalled_seconds, stall);
      job.decision = next;
    }
    MeasureSpeeds(solution);
  }

  absl::StatusOr<crux::Solution> DecideAll(const crux::Options& options,
                                           const crux::PresentState& present) const {
    if (options_.policy != crux::Policy::kTaccl || options_.taccl == crux::TacclReading::kGlobal) {
      return crux::DecideBy(options_.policy, problem_, options, {}, present);
    }
    crux::Paths held;
    for (const RunningJob& job : running_) held.push_back(job.decision.paths);
    const auto usable =
        crux::UsableLevels(problem_.levels, options_.reserved_levels, problem_.jobs.size());
    const auto plan = crux::TacclSchedule(problem_, static_cast<std::int32_t>(usable.size()),
                                          options_.taccl, held);
    return crux::Describe(problem_, plan.paths, plan.levels, usable);
  }

  void MeasureSpeeds(const crux::Solution& solution) {
    std::int32_t gpus = 0;
    for (const crux::ContendingJob& job : problem_.jobs) gpus += job.gpus;
    result_.peak_jobs = std::max(result_.peak_jobs, static_cast<std::int32_t>(running_.size()));
    result_.peak_gpus = std::max(result_.peak_gpus, gpus);
    for (const auto& group : speeds_.Measure(problem_, solution, running_)) {
      for (const crux::ContendingJobId j : group)
        result_.jobs[running_[j.index()].index].contended = true;
    }
    for (const crux::ContendingJobId j : speeds_.met_in_network()) {
      result_.jobs[running_[j.index()].index].contended_in_network = true;
    }
  }

  // The policy decides all but the paths.
  absl::Status FollowCrux(const crux::Options& options, const crux::PresentState& present) {
    const crux::Paths paths = crux::SelectPaths(problem_, options.paths);
    crux::Problem fixed = problem_;
    for (std::size_t r = 0; r < running_.size(); ++r) {
      for (std::size_t f = 0; f < paths[r].size(); ++f) {
        KeepPath(fixed.jobs[r].flows[f], paths[r][f]);
      }
    }
    YM_ASSIGN_OR_RETURN(crux::Solution solution,
                        crux::DecideBy(options_.policy, fixed, options, {}, present));
    for (std::size_t r = 0; r < running_.size(); ++r) solution.jobs[r].paths = paths[r];
    Follow(solution);
    return absl::OkStatus();
  }

  void Summarise() {
    if (flop_possible_ > 0) {
      result_.utilisation = flop_done_ / flop_possible_;
      result_.lone_utilisation = flop_alone_ / flop_possible_;
    }
    if (bytes_alone_ > 0) result_.network_share = bytes_sent_ / bytes_alone_;
    double gpus = 0;
    const auto count = static_cast<double>(std::max<std::size_t>(1, trace_.size()));
    result_.mean_slowdown = 0;
    double wide = 0;
    for (std::size_t j = 0; j < trace_.size(); ++j) {
      const TraceJobResult& job = result_.jobs[j];
      result_.mean_completion_seconds += (job.finish_seconds - trace_[j].arrival_seconds) / count;
      result_.mean_slowdown += job.slowdown / count;
      result_.worst_slowdown = std::max(result_.worst_slowdown, job.slowdown);
      result_.contended_jobs += job.contended / count;
      result_.contended_gpus += job.contended ? job.gpus : 0;
      result_.network_contended_jobs += job.contended_in_network / count;
      const bool slowed = job.lost_share > kSlowedShare;
      result_.slowed_jobs += slowed / count;
      result_.slowed_gpus += slowed ? job.gpus : 0;
      gpus += job.gpus;
      const double waited = job.start_seconds - trace_[j].arrival_seconds;
      result_.mean_wait_seconds += waited / count;
      if (pool_.HostsFor(job.gpus) >= kWideHosts) {
        result_.mean_wide_wait_seconds += waited;
        ++wide;
      }
    }
    if (wide > 0) result_.mean_wide_wait_seconds /= wide;
    if (gpus > 0) {
      result_.contended_gpus /= gpus;
      result_.slowed_gpus /= gpus;
    }
    if (busy_seconds_ > 0) result_.shared_load = load_seconds_ / busy_seconds_;
  }

  const fabric::Network& network_;
  const std::vector<TraceJob>& trace_;
  const TraceOptions& options_;
  HostLinks links_;
  GpuPool pool_;
  GangPlacer placer_;
  crux::Problem problem_;
  double now_ = 0;
  double flop_done_ = 0;
  double flop_possible_ = 0;
  double flop_alone_ = 0;
  double bytes_sent_ = 0;
  double bytes_alone_ = 0;
  double load_seconds_ = 0;
  double busy_seconds_ = 0;
  bool departures_ = false;
  std::size_t finished_ = 0;
  std::vector<std::size_t> arrivals_;  // into the trace, in the order of arrival
  std::vector<std::size_t> waiting_;
  std::vector<RunningJob> running_;         // beside problem_.jobs
  std::map<std::size_t, double> computed_;  // compute seconds of a whole job
  RunningSpeeds speeds_;
  TraceResult result_;
};

}  // namespace

absl::StatusOr<TraceResult> RunTrace(const fabric::Network& network,
                                     const std::vector<TraceJob>& jobs,
                                     const TraceOptions& options) {
  return Replay(network, jobs, options).Run();
}

}  // namespace yardmaster::sim
