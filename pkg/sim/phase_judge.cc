#include "pkg/sim/phase_judge.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "pkg/crux/intensity.h"
#include "pkg/sim/evaluate.h"

namespace yardmaster::sim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSameInstant = 1e-12;
constexpr std::size_t kTableFlows = 12;

template <typename Visit>
void ForEachBit(std::uint64_t set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(std::countr_zero(set));
}

}  // namespace

PhaseJudge::PhaseJudge(const crux::Problem& problem, double window_seconds, std::int64_t max_events)
    : problem_(problem),
      window_seconds_(window_seconds),
      bound_(problem, window_seconds),
      max_events_(max_events) {}

PhaseJudge::Job PhaseJudge::LoadJob(const crux::Job& job) {
  Job state{job.compute_seconds,
            job.flop_per_iteration / job.compute_seconds,
            0,
            0,
            {},
            0,
            0,
            0,
            0,
            0,
            1};
  for (const crux::Flow& flow : job.flows) {
    const std::uint64_t bit = std::uint64_t{1} << flows_.size();
    flows_.push_back({static_cast<std::int32_t>(jobs_.size()), flow.bytes, 0, 0});
    state.flows |= bit;
    if (flow.background) state.background |= bit;
    const Batch batch{crux::StartOf(job, flow), flow.every_iterations, bit};
    const auto at =
        std::find_if(state.batches.begin(), state.batches.end(), [&](const Batch& other) {
          return std::tie(other.start, other.every) >= std::tie(batch.start, batch.every);
        });
    const bool known =
        at != state.batches.end() && at->start == batch.start && at->every == batch.every;
    if (known) {
      at->flows |= bit;
    } else {
      state.batches.insert(at, batch);
    }
  }
  return state;
}

void PhaseJudge::Load(std::span<const std::int32_t> jobs, const crux::Paths& paths,
                      std::span<const std::int32_t> levels) {
  jobs_.clear();
  flows_.clear();
  active_ = 0;
  std::uint64_t background = 0;
  for (const std::int32_t j : jobs) {
    Job job = LoadJob(problem_.jobs[j]);
    // At time 0 every job may begin to communicate.
    BeginIteration(job, 0, job.batches.empty() ? 0 : job.batches.front().start);
    background |= job.background;
    jobs_.push_back(std::move(job));
  }
  LoadLinks(jobs, paths);
  std::vector<std::int32_t> places(jobs.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](std::int32_t a, std::int32_t b) {
    return levels[jobs[a]] > levels[jobs[b]];
  });
  level_flows_.clear();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool same = i > 0 && levels[jobs[places[i]]] == levels[jobs[places[i - 1]]];
    if (!same) level_flows_.push_back(0);
    level_flows_.back() |= jobs_[places[i]].flows & ~background;
  }
  level_flows_.push_back(background);
  rates_.clear();
  map_.clear();
  table_.assign(flows_.size() <= kTableFlows ? std::size_t{1} << flows_.size() : 0, -1);
}

void PhaseJudge::LoadLinks(std::span<const std::int32_t> jobs, const crux::Paths& paths) {
  uses_.clear();
  std::uint64_t flow = 1;
  for (const std::int32_t j : jobs) {
    const crux::Job& job = problem_.jobs[j];
    for (std::size_t f = 0; f < job.flows.size(); ++f, flow <<= 1) {
      for (const std::int32_t link : job.flows[f].paths[paths[j][f]]) {
        uses_.emplace_back(link, flow);
      }
    }
  }
  std::sort(uses_.begin(), uses_.end());
  links_.clear();
  for (std::size_t u = 0; u < uses_.size();) {
    const std::int32_t link = uses_[u].first;
    std::uint64_t users = 0;
    for (; u < uses_.size() && uses_[u].first == link; ++u) users |= uses_[u].second;
    links_.push_back({users, crux::BytesPerSecond(problem_.links[link]), 0});
  }
  std::sort(links_.begin(), links_.end(), [](const Bottleneck& a, const Bottleneck& b) {
    return std::pair(a.users, a.bytes_per_second) < std::pair(b.users, b.bytes_per_second);
  });
  const auto same = [](const Bottleneck& a, const Bottleneck& b) { return a.users == b.users; };
  links_.erase(std::unique(links_.begin(), links_.end(), same), links_.end());
}

void PhaseJudge::BeginIteration(Job& job, double now, double computed_share) {
  job.compute_began = now;
  job.compute_ends = now + (1 - computed_share) * job.compute;
  job.next = 0;
  AwaitBatch(job, now);
}

// Sets when the next batch of this iteration starts. REQUIRES: the job computes.
void PhaseJudge::AwaitBatch(Job& job, double now) {
  const auto runs = [&](const Batch& batch) { return job.iteration % batch.every == 0; };
  while (job.next < job.batches.size() && !runs(job.batches[job.next])) ++job.next;
  job.ready_at = kInfinity;
  if (job.next == job.batches.size()) return;
  const double hidden = (1 - job.batches[job.next].start) * job.compute;
  job.ready_at = std::max(now, job.compute_ends - hidden);
}

// Progressive filling: the link that can give its users least gives it to them, and so on.
void PhaseJudge::DivideLevel(std::uint64_t flows) {
  while (flows != 0) {
    const Bottleneck* least = nullptr;
    double min_share = kInfinity;
    for (const Bottleneck& link : links_) {
      const std::uint64_t users = link.users & flows;
      if (users == 0) continue;
      const double share = link.left / std::popcount(users);
      if (share < min_share) {
        min_share = share;
        least = &link;
      }
    }
    const std::uint64_t served = least->users & flows;
    ForEachBit(served, [&](int f) { flows_[f].rate = min_share; });
    for (Bottleneck& link : links_) {
      link.left = std::max(0.0, link.left - min_share * std::popcount(link.users & served));
    }
    flows &= ~served;
  }
}

void PhaseJudge::DivideActive() {
  for (Bottleneck& link : links_) link.left = link.bytes_per_second;
  for (const std::uint64_t level : level_flows_) DivideLevel(level & active_);
}

// In the order of the bits of active_; valid until asked again.
const double* PhaseJudge::RatesOfActive() {
  std::int32_t& at = table_.empty() ? map_.try_emplace(active_, -1).first->second : table_[active_];
  if (at < 0) {
    at = static_cast<std::int32_t>(rates_.size());
    DivideActive();
    ForEachBit(active_, [&](int f) { rates_.push_back(flows_[f].rate); });
  }
  return rates_.data() + at;
}

double PhaseJudge::NextEvent(double now) const {
  double next = kInfinity;
  for (const Job& job : jobs_) next = std::min({next, job.ready_at, job.compute_ends});
  ForEachBit(active_, [&](int f) {
    if (flows_[f].rate > 0) next = std::min(next, now + flows_[f].remaining / flows_[f].rate);
  });
  return next;
}

void PhaseJudge::Advance(double now, double next) {
  ForEachBit(active_, [&](int f) {
    Flow& flow = flows_[f];
    const double left = flow.remaining - flow.rate * (next - now);
    // What is left takes less than an instant.
    const bool done = left <= flow.rate * kSameInstant * std::max(1.0, next);
    flow.remaining = done ? 0 : left;
    if (done && flow.rate > 0) active_ &= ~(std::uint64_t{1} << f);
  });
}

bool PhaseJudge::StartBatch(Job& job, double now, double together) {
  if (job.ready_at > together) return false;
  const std::uint64_t flows = job.batches[job.next].flows;
  active_ |= flows;
  ForEachBit(flows, [&](int f) { flows_[f].remaining = flows_[f].bytes; });
  ++job.next;
  AwaitBatch(job, now);
  return true;
}

bool PhaseJudge::IterationIsDone(const Job& job) const {
  if (job.compute_ends < kInfinity || job.ready_at < kInfinity) return false;
  std::uint64_t awaited = job.flows & ~job.background;
  for (const Batch& batch : job.batches) {
    // What is still written of the last time has to be done where it runs again.
    if ((job.iteration + 1) % batch.every == 0) awaited |= batch.flows;
  }
  return (active_ & awaited) == 0;
}

void PhaseJudge::Settle(double now) {
  const double together = now + kSameInstant * std::max(1.0, now);
  for (Job& job : jobs_) {
    // Several of these can fall on one instant, in this order.
    for (bool again = true; again && !exhausted(); ++events_) {
      again = StartBatch(job, now, together);
      if (again) continue;
      if (job.compute_ends <= together) {
        job.computed += now - job.compute_began;
        job.compute_ends = kInfinity;
      }
      if (IterationIsDone(job)) {
        ++job.iteration;
        BeginIteration(job, now, 0);
        again = job.ready_at <= together || job.compute_ends <= together;
      }
    }
  }
}

double PhaseJudge::FlopRate(std::span<const std::int32_t> jobs, const crux::Paths& paths,
                            std::span<const std::int32_t> levels) {
  std::size_t flow_count = 0;
  for (const std::int32_t j : jobs) flow_count += problem_.jobs[j].flows.size();
  if (exhausted()) return 0;
  if (flow_count > kMaxFlows) return Simulated(jobs, paths, levels);
  Load(jobs, paths, levels);
  double now = 0;
  Settle(now);
  while (!exhausted()) {
    ++events_;
    const double* rate = RatesOfActive();
    ForEachBit(active_, [&](int f) { flows_[f].rate = *rate++; });
    const double next = NextEvent(now);
    if (next > window_seconds_) break;
    Advance(now, next);
    now = next;
    Settle(now);
  }
  double flop = 0;
  for (const Job& job : jobs_) {
    const double under_way = job.compute_ends < kInfinity ? window_seconds_ - job.compute_began : 0;
    flop += job.flop_per_second * (job.computed + under_way);
  }
  return flop / window_seconds_;
}

double PhaseJudge::Simulated(std::span<const std::int32_t> jobs, const crux::Paths& paths,
                             std::span<const std::int32_t> levels) {
  crux::Problem some{problem_.levels, problem_.links, {}};
  crux::Solution solution;
  double possible = 0;
  for (const std::int32_t j : jobs) {
    const crux::Job& job = problem_.jobs[j];
    some.jobs.push_back(job);
    crux::JobDecision decision;
    decision.level = levels[j];
    decision.paths = paths[j];
    solution.jobs.push_back(std::move(decision));
    possible += job.flop_per_iteration / job.compute_seconds;
  }
  EvaluateOptions options;
  options.window_seconds = window_seconds_;
  options.simulator.max_events = max_events_ - events_;
  const auto evaluation = Evaluate(some, solution, options);
  if (!evaluation.ok()) {
    events_ = max_events_ + 1;
    return 0;
  }
  // Its events cost several of ours.
  events_ += 8 * evaluation->events;
  return evaluation->utilisation * possible;
}

}  // namespace yardmaster::sim
