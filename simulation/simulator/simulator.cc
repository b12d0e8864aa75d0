#include "simulation/simulator/simulator.h"

#include <algorithm>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::sim {
namespace {

// Events this close, relative to the time of day, happen together.
constexpr double kSameInstant = 1e-12;
constexpr double kRelativeError = 1e-9;

}  // namespace

Simulator::Simulator(const std::vector<double>& link_gbps, const SimulatorOptions& options)
    : options_(options), rates_(link_gbps) {}

void Simulator::Enter(double at, EventKind kind, SimulatedJobId job) {
  queue_.push({at, kind, job.value, 0});
}

SimulatedJobId Simulator::AddJob(const SimulatedJob& spec) {
  const SimulatedJobId id(static_cast<std::int32_t>(jobs_.size()));
  JobState job;
  job.spec = spec;
  job.first_flow = FlowId(static_cast<std::int32_t>(flows_.size()));
  job.flow_count = static_cast<std::int32_t>(spec.flows.size());
  for (const FlowSpec& flow : spec.flows) {
    MovingFlow moving;
    moving.links = flow.links;
    moving.uses = flow.uses;
    moving.level = flow.background ? kBackgroundLevel : spec.level;
    rates_.Add(std::move(moving));
    flows_.push_back(
        {id, flow.bytes, flow.communication_start, flow.every_iterations, flow.background});
    job.starts.push_back(flow.communication_start);
  }
  std::sort(job.starts.begin(), job.starts.end());
  job.starts.erase(std::unique(job.starts.begin(), job.starts.end()), job.starts.end());
  job.spec.flows.clear();  // lives in flows_ and rates_ from here on
  jobs_.push_back(std::move(job));
  Enter(now_ + spec.offset_seconds, EventKind::kStart, id);
  return id;
}

bool Simulator::Stale(const Event& event) const {
  return event.kind == EventKind::kFlowDone &&
         rates_.flow(FlowId(event.index)).version != event.version;
}

void Simulator::DropStale() {
  while (!queue_.empty() && Stale(queue_.top())) queue_.pop();
}

double Simulator::Together() const { return now_ + kSameInstant * std::max(1.0, now_); }

void Simulator::Apply(const Event& event) {
  switch (event.kind) {
    case EventKind::kStart:
      StartJob(SimulatedJobId(event.index));
      break;
    case EventKind::kReady:
      StartFlows(SimulatedJobId(event.index));
      break;
    case EventKind::kComputeDone: {
      JobState& job = jobs_[SimulatedJobId(event.index).index()];
      job.computing = false;
      job.compute_seconds += now_ - job.compute_began;
      EndIterationIfDone(SimulatedJobId(event.index));
      break;
    }
    case EventKind::kFlowDone:
      FinishFlow(FlowId(event.index));
      break;
  }
}

void Simulator::StartJob(SimulatedJobId job) {
  JobState& state = jobs_[job.index()];
  if (state.waiting) {
    state.waiting = false;
    BeginIteration(job);
    return;
  }
  state.due = now_;
  if (state.spec.start == JobStart::kFresh || state.starts.empty()) {
    BeginIteration(job);
    return;
  }
  BeginIteration(job, 1 - state.starts.front());
}

void Simulator::BeginIteration(SimulatedJobId job, double left) {
  JobState& state = jobs_[job.index()];
  state.compute_length = state.spec.compute_seconds;
  if (options_.compute_jitter > 0) {
    Random random(options_.seed + (static_cast<std::uint64_t>(job.value) << 40) +
                  static_cast<std::uint64_t>(state.iterations));
    state.compute_length *= 1 + options_.compute_jitter * (2 * random.Unit() - 1);
  }
  const double compute_done = now_ + left * state.compute_length;
  state.computing = true;
  state.compute_began = now_;
  state.compute_done = compute_done;
  state.next_start = 0;
  state.flows_left = 0;
  for (std::int32_t f = 0; f < state.flow_count; ++f) {
    const FlowOfJob& flow = flows_[FlowOf(state, f).index()];
    if (!flow.background && flow.RunsIn(state.iterations + 1)) ++state.flows_left;
  }
  Enter(compute_done, EventKind::kComputeDone, job);
  StartFlows(job);
}

void Simulator::StartFlows(SimulatedJobId job) {
  JobState& state = jobs_[job.index()];
  for (; state.next_start < state.starts.size(); ++state.next_start) {
    const double start = state.starts[state.next_start];
    const double ready = state.compute_done - (1 - start) * state.compute_length;
    if (ready > Together()) {
      Enter(ready, EventKind::kReady, job);
      return;
    }
    for (std::int32_t f = 0; f < state.flow_count; ++f) {
      const FlowId id = FlowOf(state, f);
      const FlowOfJob& flow = flows_[id.index()];
      if (flow.start != start || !flow.RunsIn(state.iterations + 1)) continue;
      rates_.Start(id, flow.bytes, now_);
    }
  }
}

void Simulator::FinishFlow(FlowId flow) {
  rates_.Finish(flow, now_);
  const FlowOfJob& done = flows_[flow.index()];
  if (!done.background) --jobs_[done.job.index()].flows_left;
  EndIterationIfDone(done.job);
}

// One that the next iteration starts again.
bool Simulator::WaitsForBackground(SimulatedJobId job) const {
  const JobState& state = jobs_[job.index()];
  for (std::int32_t f = 0; f < state.flow_count; ++f) {
    const FlowId id = FlowOf(state, f);
    const FlowOfJob& flow = flows_[id.index()];
    if (flow.background && rates_.flow(id).active && flow.RunsIn(state.iterations + 2)) return true;
  }
  return false;
}

void Simulator::EndIterationIfDone(SimulatedJobId job) {
  JobState& state = jobs_[job.index()];
  if (state.computing || state.waiting || state.flows_left > 0 || WaitsForBackground(job)) return;
  ++state.iterations;
  state.due += state.spec.period_seconds;
  if (state.spec.period_seconds > 0 && state.due > Together()) {
    state.waiting = true;
    Enter(state.due, EventKind::kStart, job);
    return;
  }
  BeginIteration(job);
}

absl::Status Simulator::Step(double until) {
  for (const FlowId id : rates_.Divide(now_)) {
    const MovingFlow& flow = rates_.flow(id);
    queue_.push({now_ + flow.remaining / flow.rate, EventKind::kFlowDone, id.value, flow.version});
  }
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
  return absl::OkStatus();
}

JobTotals Simulator::Totals(SimulatedJobId job) const {
  const JobState& state = jobs_[job.index()];
  JobTotals totals;
  totals.compute_seconds = state.compute_seconds;
  if (state.computing) totals.compute_seconds += now_ - state.compute_began;
  totals.iterations = state.iterations;
  for (std::int32_t f = 0; f < state.flow_count; ++f) {
    totals.flow_bytes.push_back(rates_.Delivered(FlowOf(state, f), now_));
  }
  return totals;
}

double Simulator::RateOf(SimulatedJobId job, std::int32_t flow) const {
  return rates_.flow(FlowOf(jobs_[job.index()], flow)).rate;
}

absl::Status Simulator::CheckConservation() const {
  if (rates_.changed()) return absl::OkStatus();  // time has not gone on since a change
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    const double delivered = rates_.flow(FlowId(static_cast<std::int32_t>(f))).delivered;
    const JobState& job = jobs_[flows_[f].job.index()];
    const double sent = flows_[f].bytes * static_cast<double>(job.iterations + 1);
    if (delivered > sent * (1 + kRelativeError)) {
      return absl::InternalError(StrCat("flow ", f, " delivered ", delivered, " of ", sent));
    }
  }
  return rates_.CheckRates();
}

}  // namespace yardmaster::sim
