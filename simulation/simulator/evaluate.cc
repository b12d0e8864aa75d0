#include "simulation/simulator/evaluate.h"

#include <algorithm>
#include <utility>

#include "pkg/crux/intensity.h"
#include "pkg/crux/path_selection.h"
#include "pkg/crux/streams.h"

namespace yardmaster::sim {

double DefaultWindow(const crux::Problem& problem, const crux::Solution* solution) {
  crux::LoadCounter counter(problem);
  double slowest = 0;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const crux::ContendingJob& job = problem.jobs[j];
    const std::vector<std::int32_t> paths =
        solution != nullptr ? solution->jobs[j].paths : crux::SelectAlone(problem, job);
    slowest = std::max(slowest, crux::IterationSeconds(job, counter.SpanSeconds(job, paths)));
  }
  return slowest * kDefaultIterations;
}

SimulatedJob SpecOf(const crux::ContendingJob& job, const crux::JobDecision& decision,
                    JobStart start) {
  SimulatedJob spec;
  spec.compute_seconds = job.compute_seconds;
  spec.level = decision.level;
  spec.offset_seconds = decision.offset_seconds;
  spec.start = start;
  for (crux::Stream& stream : crux::StreamsOf(job, decision.paths)) {
    spec.flows.push_back({stream.bytes, std::move(stream.links), stream.start,
                          stream.every_iterations, stream.background, std::move(stream.uses)});
  }
  return spec;
}

absl::StatusOr<Evaluation> Evaluate(const crux::Problem& problem, const crux::Solution& solution,
                                    const EvaluateOptions& options) {
  std::vector<double> gbps;
  for (const crux::Link& link : problem.links) gbps.push_back(link.gbps);
  Simulator simulator(gbps, options.simulator);
  Evaluation result;
  result.window_seconds =
      options.window_seconds > 0 ? options.window_seconds : DefaultWindow(problem, &solution);
  std::vector<SimulatedJobId> ids;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    ids.push_back(
        simulator.AddJob(SpecOf(problem.jobs[j], solution.jobs[j], JobStart::kReadyToCommunicate)));
  }
  YM_RETURN_IF_ERROR(simulator.RunUntil(result.window_seconds));
  double done = 0;
  double possible = 0;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const crux::ContendingJob& job = problem.jobs[j];
    result.jobs.push_back(simulator.Totals(ids[j]));
    const double flop_per_second = job.flop_per_iteration / job.compute_seconds;
    done += options.simulator.compute_jitter > 0
                ? job.flop_per_iteration * static_cast<double>(result.jobs[j].iterations)
                : flop_per_second * result.jobs[j].compute_seconds;
    possible += flop_per_second * result.window_seconds;
  }
  result.utilisation = possible > 0 ? done / possible : 0;
  result.events = simulator.events();
  return result;
}

}  // namespace yardmaster::sim
