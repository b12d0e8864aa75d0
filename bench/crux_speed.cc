// Speed of the network planner on a fabric of 122,880 GPUs: a full recompute and one arrival, over
// growing numbers of jobs (the complexity shows in the ratio of neighbouring rows).
#include <algorithm>
#include <benchmark/benchmark.h>

#include "bench/large_case.h"
#include "pkg/crux/decide.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

// Range 1: whether hosts are scattered, so that jobs contend and the search has work.
crux::Problem CaseOf(const benchmark::State& state) {
  return bench::LargeCase(static_cast<std::int32_t>(state.range(0)), 1,
                          {.scattered = state.range(1) != 0});
}

void Report(benchmark::State& state, const crux::DecisionReport& report) {
  state.counters["events"] = static_cast<double>(report.events);
  state.counters["searches"] = static_cast<double>(report.searches);
  state.counters["evaluations"] = static_cast<double>(report.evaluations);
}

void FullRecompute(benchmark::State& state) {
  const crux::Problem problem = CaseOf(state);
  crux::DecisionReport report;
  for (auto run : state) benchmark::DoNotOptimize(crux::Decide(problem, {}, &report));
  Report(state, report);
}

void OneArrival(benchmark::State& state) {
  const crux::Problem problem = CaseOf(state);
  crux::Options options;
  options.previous = *crux::Decide(problem);
  // The job in the middle arrives again.
  const crux::JobId arrival(static_cast<std::int32_t>(problem.jobs.size() / 2));
  options.previous->jobs[arrival.index()].paths.clear();
  options.previous->jobs[arrival.index()].level = -1;
  options.changed = {arrival};
  crux::DecisionReport report;
  for (auto run : state) benchmark::DoNotOptimize(crux::Decide(problem, options, &report));
  Report(state, report);
}

BENCHMARK(FullRecompute)
    ->ArgsProduct({{375, 1000, 3000}, {0, 1}})
    ->ArgNames({"jobs", "scattered"})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(OneArrival)
    ->ArgsProduct({{375, 1000, 3000}, {0, 1}})
    ->ArgNames({"jobs", "scattered"})
    ->Unit(benchmark::kMillisecond);

}  // namespace
