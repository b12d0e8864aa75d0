#include "pkg/sim/simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::sim {
namespace {

// Events this close, relative to the time of day, happen together.
constexpr double kSameInstant = 1e-12;
constexpr double kRelativeError = 1e-9;
constexpr std::int32_t kEveryLevel = std::numeric_limits<std::int32_t>::max();

double ToBytesPerSecond(double gbps) { return gbps * 1e9 / 8; }

}  // namespace

Simulator::Simulator(const std::vector<double>& link_gbps, const SimulatorOptions& options)
    : options_(options),
      active_on_(link_gbps.size()),
      share_(link_gbps.size()),
      link_mark_(link_gbps.size(), 0) {
  for (const double gbps : link_gbps) capacity_.push_back(ToBytesPerSecond(gbps));
}

std::int32_t Simulator::AddJob(const JobSpec& spec) {
  const auto index = static_cast<std::int32_t>(jobs_.size());
  JobState job;
  job.spec = spec;
  job.first_flow = static_cast<std::int32_t>(flows_.size());
  job.running = true;
  for (const FlowSpec& flow : spec.flows) {
    FlowState state;
    state.job = index;
    state.links = flow.links;
    state.uses = flow.uses;
    state.bytes = flow.bytes;
    state.weight = flow.weight;
    state.level = flow.background ? kBackgroundLevel : spec.level;
    state.start = flow.communication_start;
    state.every = flow.every_iterations;
    state.background = flow.background;
    job.starts.push_back(flow.communication_start);
    flows_.push_back(std::move(state));
  }
  std::sort(job.starts.begin(), job.starts.end());
  job.starts.erase(std::unique(job.starts.begin(), job.starts.end()), job.starts.end());
  job.spec.flows.clear();  // lives in flows_ from here on
  jobs_.push_back(std::move(job));
  queue_.push({now_ + spec.offset_seconds, EventKind::kStart, index, 0});
  return index;
}

void Simulator::RemoveJob(std::int32_t job) {
  JobState& state = jobs_[job];
  if (!state.running) return;
  const JobTotals totals = Totals(job);
  state.compute_seconds = totals.compute_seconds;
  state.computing = false;
  state.running = false;
  state.finished = now_;
  ++state.version;
  for (std::size_t f = 0; f < totals.flow_bytes.size(); ++f) {
    const std::int32_t flow = state.first_flow + static_cast<std::int32_t>(f);
    if (flows_[flow].active) Deactivate(flow);
  }
}

void Simulator::SetLevel(std::int32_t job, std::int32_t level) {
  JobState& state = jobs_[job];
  const std::int32_t higher = std::max(state.spec.level, level);
  state.spec.level = level;
  for (std::size_t f = state.first_flow; f < flows_.size() && flows_[f].job == job; ++f) {
    if (flows_[f].background) continue;
    flows_[f].level = level;
    if (flows_[f].active) Reach(flows_[f].links, higher);
  }
}

void Simulator::SetPath(std::int32_t job, std::int32_t flow,
                        const std::vector<std::int32_t>& links) {
  const std::int32_t index = jobs_[job].first_flow + flow;
  const bool active = flows_[index].active;
  if (active) Deactivate(index);
  flows_[index].links = links;
  flows_[index].uses.clear();
  if (active) Activate(index);
}

void Simulator::SetCapacity(std::int32_t link, double gbps) {
  capacity_[link] = ToBytesPerSecond(gbps);
  Reach(std::span(&link, 1), kEveryLevel);
}

bool Simulator::Stale(const Event& event) const {
  if (event.kind == EventKind::kFlowDone) return flows_[event.index].version != event.version;
  return jobs_[event.index].version != event.version;
}

void Simulator::DropStale() {
  while (!queue_.empty() && Stale(queue_.top())) queue_.pop();
}

double Simulator::Together() const { return now_ + kSameInstant * std::max(1.0, now_); }

void Simulator::Apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kStart:
      StartJob(event.index);
      break;
    case EventKind::kReady:
      StartFlows(event.index);
      break;
    case EventKind::kComputeDone: {
      JobState& job = jobs_[event.index];
      job.computing = false;
      job.compute_seconds += now_ - job.compute_began;
      EndIterationIfDone(event.index);
      break;
    }
    case EventKind::kFlowDone:
      FinishFlow(event.index);
      break;
  }
}

void Simulator::StartJob(std::int32_t job) {
  const JobSpec& spec = jobs_[job].spec;
  if (jobs_[job].waiting) {
    jobs_[job].waiting = false;
    BeginIteration(job);
    return;
  }
  jobs_[job].due = now_;
  if (spec.start == JobStart::kFresh || jobs_[job].starts.empty()) {
    BeginIteration(job);
    return;
  }
  BeginIteration(job, 1 - jobs_[job].starts.front());
}

void Simulator::BeginIteration(std::int32_t job, double left) {
  JobState& state = jobs_[job];
  state.compute_length = state.spec.compute_seconds;
  if (options_.compute_jitter > 0) {
    Random random(options_.seed + (static_cast<std::uint64_t>(job) << 40) +
                  static_cast<std::uint64_t>(state.iterations));
    state.compute_length *= 1 + options_.compute_jitter * (2 * random.Unit() - 1);
  }
  const double compute_done = now_ + left * state.compute_length;
  state.computing = true;
  state.compute_began = now_;
  state.compute_done = compute_done;
  state.next_start = 0;
  state.flows_left = 0;
  for (std::size_t f = state.first_flow; f < flows_.size() && flows_[f].job == job; ++f) {
    if (!flows_[f].background && flows_[f].RunsIn(state.iterations + 1)) ++state.flows_left;
  }
  queue_.push({compute_done, EventKind::kComputeDone, job, state.version});
  StartFlows(job);
}

void Simulator::StartFlows(std::int32_t job) {
  JobState& state = jobs_[job];
  for (; state.next_start < state.starts.size(); ++state.next_start) {
    const double start = state.starts[state.next_start];
    const double ready = state.compute_done - (1 - start) * state.compute_length;
    if (ready > Together()) {
      queue_.push({ready, EventKind::kReady, job, state.version});
      return;
    }
    for (std::size_t f = state.first_flow; f < flows_.size() && flows_[f].job == job; ++f) {
      if (flows_[f].start != start || !flows_[f].RunsIn(state.iterations + 1)) continue;
      flows_[f].remaining = flows_[f].bytes;
      Activate(static_cast<std::int32_t>(f));
    }
  }
}

void Simulator::FinishFlow(std::int32_t flow) {
  FlowState& state = flows_[flow];
  state.delivered += state.remaining;
  state.remaining = 0;
  state.updated = now_;
  Deactivate(flow);
  if (!state.background) --jobs_[state.job].flows_left;
  EndIterationIfDone(state.job);
}

// One that the next iteration starts again, or that a job which has done all its iterations leaves.
bool Simulator::WaitsForBackground(std::int32_t job) const {
  const JobState& state = jobs_[job];
  const bool last = state.spec.iterations > 0 && state.iterations + 1 >= state.spec.iterations;
  for (std::size_t f = state.first_flow; f < flows_.size() && flows_[f].job == job; ++f) {
    const FlowState& flow = flows_[f];
    const bool runs = flow.background && flow.active;
    if (runs && (last || flow.RunsIn(state.iterations + 2))) return true;
  }
  return false;
}

void Simulator::EndIterationIfDone(std::int32_t job) {
  JobState& state = jobs_[job];
  if (state.computing || state.waiting || state.flows_left > 0 || WaitsForBackground(job)) return;
  ++state.iterations;
  if (state.spec.iterations > 0 && state.iterations >= state.spec.iterations) {
    state.running = false;
    state.finished = now_;
    finished_.push_back(job);
    return;
  }
  state.due += state.spec.period_seconds;
  if (state.spec.period_seconds > 0 && state.due > Together()) {
    state.waiting = true;
    queue_.push({state.due, EventKind::kStart, job, state.version});
    return;
  }
  BeginIteration(job);
}

void Simulator::Activate(std::int32_t flow) {
  FlowState& state = flows_[flow];
  state.active = true;
  state.rate = 0;
  state.updated = now_;
  for (const std::int32_t link : state.links) active_on_[link].push_back(flow);
  Reach(state.links, state.level);
}

void Simulator::Deactivate(std::int32_t flow) {
  FlowState& state = flows_[flow];
  Settle(state);
  state.active = false;
  state.rate = 0;
  ++state.version;
  for (const std::int32_t link : state.links) {
    auto& on = active_on_[link];
    on.erase(std::find(on.begin(), on.end(), flow));
  }
  Reach(state.links, state.level);
}

void Simulator::Settle(FlowState& flow) {
  const double moved = std::min(flow.remaining, flow.rate * (now_ - flow.updated));
  flow.remaining -= moved;
  flow.delivered += moved;
  flow.updated = now_;
}

void Simulator::SetRate(std::int32_t flow, double rate) {
  FlowState& state = flows_[flow];
  if (std::abs(rate - state.rate) <= kSameInstant * state.rate) return;
  Settle(state);
  state.rate = rate;
  ++state.version;
  if (rate > 0) {
    queue_.push({now_ + state.remaining / rate, EventKind::kFlowDone, flow, state.version});
  }
}

void Simulator::Reach(std::span<const std::int32_t> links, std::int32_t level) {
  const auto visit = [&](std::span<const std::int32_t> path, std::int32_t at_most) {
    for (const std::int32_t link : path) {
      for (const std::int32_t flow : active_on_[link]) {
        if (flows_[flow].level > at_most || flows_[flow].mark == mark_) continue;
        flows_[flow].mark = mark_;
        reached_.push_back(flow);
      }
    }
  };
  std::size_t next = reached_.size();
  visit(links, level);
  for (; next < reached_.size(); ++next) {
    const FlowState& flow = flows_[reached_[next]];
    visit(flow.links, flow.level);
  }
}

void Simulator::DivideReached() {
  if (reached_.empty()) return;
  dividing_.clear();
  shares_.clear();
  for (const std::int32_t flow : reached_) {
    if (!flows_[flow].active) continue;
    dividing_.push_back(flow);
    const FlowState& state = flows_[flow];
    shares_.push_back({state.links, state.level, state.weight, 0, state.uses});
  }
  for (const std::int32_t flow : dividing_) {
    for (const std::int32_t link : flows_[flow].links) {
      if (link_mark_[link] == mark_) continue;
      link_mark_[link] = mark_;
      double left = capacity_[link];
      for (const std::int32_t other : active_on_[link]) {
        if (flows_[other].mark != mark_) left -= flows_[other].rate * flows_[other].UseOn(link);
      }
      share_.SetCapacity(link, std::max(0.0, left));
    }
  }
  share_.Divide(shares_);
  for (std::size_t i = 0; i < dividing_.size(); ++i) SetRate(dividing_[i], shares_[i].rate);
  reached_.clear();
  ++mark_;
}

absl::Status Simulator::Step(double until) {
  DivideReached();
  DropStale();
  if (queue_.empty() || queue_.top().at > until) {
    now_ = until;
    return absl::OkStatus();
  }
  now_ = std::max(now_, queue_.top().at);
  for (DropStale(); !queue_.empty() && queue_.top().at <= Together(); DropStale()) {
    const Event event = queue_.top();
    queue_.pop();
    Apply(event);
    if (++events_ > options_.max_events) {
      return absl::ResourceExhaustedError(
          StrCat("more than ", options_.max_events, " events until second ", now_,
                 " of the simulated time; simulate a shorter window"));
    }
  }
  return absl::OkStatus();
}

absl::Status Simulator::RunUntil(double seconds) {
  while (now_ < seconds) YM_RETURN_IF_ERROR(Step(seconds));
  finished_.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::int32_t>> Simulator::RunUntilFinish(double seconds) {
  finished_.clear();
  while (now_ < seconds && finished_.empty()) YM_RETURN_IF_ERROR(Step(seconds));
  std::sort(finished_.begin(), finished_.end());
  return std::exchange(finished_, {});
}

JobTotals Simulator::Totals(std::int32_t job) const {
  const JobState& state = jobs_[job];
  JobTotals totals;
  totals.compute_seconds = state.compute_seconds;
  if (state.computing) totals.compute_seconds += now_ - state.compute_began;
  totals.iterations = state.iterations;
  totals.finished_seconds = state.finished;
  for (std::size_t f = state.first_flow; f < flows_.size() && flows_[f].job == job; ++f) {
    const FlowState& flow = flows_[f];
    const double moving = std::min(flow.remaining, flow.rate * (now_ - flow.updated));
    totals.flow_bytes.push_back(flow.delivered + (flow.active ? moving : 0));
  }
  return totals;
}

double Simulator::RateOf(std::int32_t job, std::int32_t flow) const {
  return flows_[jobs_[job].first_flow + flow].rate;
}

absl::Status Simulator::CheckConservation() const {
  if (!reached_.empty()) return absl::OkStatus();  // time has not gone on since a change
  for (std::size_t link = 0; link < capacity_.size(); ++link) {
    double sum = 0;
    for (const std::int32_t flow : active_on_[link]) {
      sum += flows_[flow].rate * flows_[flow].UseOn(static_cast<std::int32_t>(link));
    }
    if (sum > capacity_[link] * (1 + kRelativeError)) {
      return absl::InternalError(StrCat("link ", link, " carries ", sum, " of ", capacity_[link]));
    }
  }
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    const FlowState& flow = flows_[f];
    const JobState& job = jobs_[flow.job];
    const double sent = flow.bytes * static_cast<double>(job.iterations + 1);
    if (flow.delivered > sent * (1 + kRelativeError)) {
      return absl::InternalError(StrCat("flow ", f, " delivered ", flow.delivered, " of ", sent));
    }
    if (!flow.active) continue;
    // A bottleneck: full with its own and higher levels, and no flow of its level gets more there.
    const auto stops_it = [&](std::int32_t link) {
      double at_least = 0;
      double most = 0;
      for (const std::int32_t other : active_on_[link]) {
        if (flows_[other].level < flow.level) continue;
        at_least += flows_[other].rate * flows_[other].UseOn(link);
        if (flows_[other].level == flow.level) {
          most = std::max(most, flows_[other].rate / flows_[other].weight);
        }
      }
      return at_least >= capacity_[link] * (1 - kRelativeError) &&
             flow.rate / flow.weight >= most * (1 - kRelativeError);
    };
    if (std::none_of(flow.links.begin(), flow.links.end(), stops_it)) {
      return absl::InternalError(StrCat("flow ", f, " could have more than ", flow.rate));
    }
  }
  return absl::OkStatus();
}

}  // namespace yardmaster::sim
