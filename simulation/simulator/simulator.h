// A flow-level simulator of training jobs on links, driven by events.
//
// Model: a job repeats iterations of compute and communication; a flow starts when its
// `communication_start`, a fraction of the compute, is done; an iteration ends when its compute and
// its flows are done, and the next begins immediately. A flow may run in every n-th iteration only,
// the n-th first. A flow in the background is carried below every
// level and holds up no iteration but the one in which it is to run again. Links serve levels
// strictly and preemptively, and share fairly inside a level. Time is in seconds, sizes in bytes,
// capacities in Gbit/s. Jobs arrive and run until the simulation ends; their levels and paths stay
// the same.
//
// Bandwidth is that of flow_rates.h. Events at the same instant (within kSameInstant, relative) are
// all applied before bandwidth is divided, so the order in which they were entered does not matter.
//
// Invariants, checked by CheckConservation: those of flow_rates.h; bytes delivered never exceed
// bytes sent.
// Deterministic. Thread safety: single threaded.
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "pkg/base/ids.h"
#include "pkg/base/status.h"
#include "simulation/simulator/flow_rates.h"

namespace yardmaster::sim {

struct FlowSpec {
  double bytes = 0;                 // per iteration, > 0
  std::vector<std::int32_t> links;  // at least one
  double communication_start = 1;   // fraction of compute after which it starts
  std::int32_t every_iterations = 1;
  bool background = false;
  // What of the flow's rate each link carries; empty: all of it. A ring is one flow here, with the
  // links of all its hops, each of them once (crux/streams.h).
  std::vector<double> uses = {};
};

// The level of flows in the background.
inline constexpr std::int32_t kBackgroundLevel = -1;

enum class JobStart {
  kFresh,               // the first iteration begins
  kReadyToCommunicate,  // the first iteration stands where its first flow may start
};

struct SimulatedJob {
  double compute_seconds = 0;
  std::int32_t level = 0;  // >= 0
  std::vector<FlowSpec> flows;
  double offset_seconds = 0;  // the job waits so long before it starts
  JobStart start = JobStart::kFresh;
  // Iterations are due so far apart, and none begins before it is due; 0: at once, one after
  // another.
  double period_seconds = 0;
};

struct JobTotals {
  double compute_seconds = 0;      // spent computing until now
  std::int64_t iterations = 0;     // that ended
  std::vector<double> flow_bytes;  // delivered, per flow
};

struct SimulatorOptions {
  // Stops a window that would take for ever (an iteration of a nanosecond in a window of a day).
  std::int64_t max_events = 200'000'000;
  // The compute of each iteration differs from the job's by up to this share, uniformly, drawn from
  // (seed, job, iteration). In [0, 1).
  double compute_jitter = 0;
  std::uint64_t seed = 1;
};

// The n-th job that was added.
using SimulatedJobId = Id<struct JobTag>;

class Simulator {
 public:
  explicit Simulator(const std::vector<double>& link_gbps, const SimulatorOptions& options = {});

  // The job arrives now. Ids count up from 0.
  SimulatedJobId AddJob(const SimulatedJob& spec);
  // Runs to `seconds`. Errors: ResourceExhausted when that takes more than max_events.
  absl::Status RunUntil(double seconds);

  double now() const { return now_; }
  std::int64_t events() const { return events_; }
  JobTotals Totals(SimulatedJobId job) const;
  // Bytes per second the flow moves right now.
  double RateOf(SimulatedJobId job, std::int32_t flow) const;
  // For tests: verifies the invariants above from scratch. OK while a change waits for time to go
  // on.
  absl::Status CheckConservation() const;

 private:
  enum class EventKind : std::int8_t { kStart, kReady, kComputeDone, kFlowDone };
  // Ordered by time, then kind and index, so that ties are the same on every run.
  struct Event {
    double at;
    EventKind kind;
    std::int32_t index;     // of a job, or of a flow
    std::uint32_t version;  // of the flow's rate; 0: of a job
    bool operator>(const Event& other) const {
      return std::tie(at, kind, index, version) >
             std::tie(other.at, other.kind, other.index, other.version);
    }
  };
  // What a flow is to its job; beside rates_.
  struct FlowOfJob {
    SimulatedJobId job;
    double bytes = 0;
    double start = 1;
    std::int32_t every = 1;
    bool background = false;
    bool RunsIn(std::int64_t iteration) const { return iteration % every == 0; }  // from 1
  };
  struct JobState {
    SimulatedJob spec;
    FlowId first_flow;  // the others follow
    std::int32_t flow_count = 0;
    bool computing = false;
    double compute_length = 0;  // of the iteration under way
    double compute_began = 0;
    double compute_done = 0;
    double compute_seconds = 0;
    std::vector<double> starts;  // of its flows, rising, each once
    std::size_t next_start = 0;  // in the iteration under way
    std::int32_t flows_left = 0;
    std::int64_t iterations = 0;
    double due = 0;        // when the iteration under way was due, where they are
    bool waiting = false;  // for the next to be due
  };

  FlowId FlowOf(const JobState& job, std::int32_t flow) const {
    return FlowId(job.first_flow.value + flow);
  }
  void Enter(double at, EventKind kind, SimulatedJobId job);
  bool Stale(const Event& event) const;
  void DropStale();
  void Apply(const Event& event);
  void StartJob(SimulatedJobId job);
  // `left`: the part of the compute that is still to be done.
  void BeginIteration(SimulatedJobId job, double left = 1);
  // Starts the flows that may start now; enters the next instant at which some may.
  void StartFlows(SimulatedJobId job);
  // Events up to this instant happen now.
  double Together() const;
  bool WaitsForBackground(SimulatedJobId job) const;
  void FinishFlow(FlowId flow);
  void EndIterationIfDone(SimulatedJobId job);
  absl::Status Step(double until);

  const SimulatorOptions options_;
  double now_ = 0;
  std::int64_t events_ = 0;
  FlowRates rates_;
  std::vector<FlowOfJob> flows_;  // by FlowId
  std::vector<JobState> jobs_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
};

}  // namespace yardmaster::sim
