#include "pkg/sim/evaluate.h"

#include <algorithm>

#include "pkg/crux/intensity.h"
#include "pkg/crux/path_selection.h"
#include "pkg/sim/phase_judge.h"

namespace yardmaster::sim {

double DefaultWindow(const crux::Problem& problem, const crux::Solution* solution) {
  crux::LoadCounter counter(problem);
  double slowest = 0;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const crux::Job& job = problem.jobs[j];
    const std::vector<std::int32_t> paths =
        solution != nullptr ? solution->jobs[j].paths : crux::SelectAlone(problem, job);
    slowest = std::max(slowest, crux::IterationSeconds(job, counter.SpanSeconds(job, paths)));
  }
  return slowest * kDefaultIterations;
}

JobSpec SpecOf(const crux::Job& job, const crux::JobDecision& decision, JobStart start) {
  JobSpec spec;
  spec.compute_seconds = job.compute_seconds;
  spec.level = decision.level;
  spec.offset_seconds = decision.offset_seconds;
  spec.start = start;
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    const crux::Flow& flow = job.flows[f];
    const auto path = flow.paths[decision.paths[f]];
    spec.flows.push_back({flow.bytes,
                          {path.begin(), path.end()},
                          1,
                          crux::StartOf(job, flow),
                          flow.every_iterations,
                          flow.background});
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
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    simulator.AddJob(SpecOf(problem.jobs[j], solution.jobs[j], JobStart::kReadyToCommunicate));
  }
  YM_RETURN_IF_ERROR(simulator.RunUntil(result.window_seconds));
  double done = 0;
  double possible = 0;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const crux::Job& job = problem.jobs[j];
    result.jobs.push_back(simulator.Totals(static_cast<std::int32_t>(j)));
    const double flop_per_second = job.flop_per_iteration / job.compute_seconds;
    done += flop_per_second * result.jobs[j].compute_seconds;
    possible += flop_per_second * result.window_seconds;
  }
  result.utilisation = possible > 0 ? done / possible : 0;
  result.events = simulator.events();
  return result;
}

crux::JudgeFactory MakeJudge(double window_seconds) {
  return [window_seconds](const crux::Problem& problem) -> std::unique_ptr<crux::Judge> {
    const double longest = DefaultWindow(problem, nullptr);
    const double window = window_seconds > 0 ? std::min(window_seconds, longest) : longest;
    return std::make_unique<PhaseJudge>(problem, window);
  };
}

}  // namespace yardmaster::sim
