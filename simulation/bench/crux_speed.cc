// Speed of the network planner on a fabric of 122,880 GPUs: a full recompute and one arrival, over
// growing numbers of jobs (the complexity shows in the ratio of neighbouring rows).
#include <algorithm>
#include <benchmark/benchmark.h>

#include "pkg/crux/decide.h"
#include "simulation/bench/large_case.h"

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
  for (auto run : state) benchmark::DoNotOptimize(crux::Decide(problem, {}, {}, &report));
  Report(state, report);
}

// The job in the middle arrives at a cluster without it, that has been decided. `kept`: with what
// was kept of that decision, as the operator has it; otherwise everything is counted from nothing.
void Arrival(benchmark::State& state, bool kept) {
  const crux::Problem whole = CaseOf(state);
  crux::Problem problem = whole;
  const auto arrival = static_cast<std::ptrdiff_t>(problem.jobs.size() / 2);
  problem.jobs.erase(problem.jobs.begin() + arrival);
  crux::PresentState before;
  before.previous = *crux::Decide(problem);
  crux::PresentState present = before;
  present.previous->jobs.emplace(present.previous->jobs.begin() + arrival)->level = -1;
  present.changed = {crux::ContendingJobId(static_cast<std::int32_t>(arrival))};
  crux::DecisionMemory memory;
  crux::DecisionReport report;
  for (auto run : state) {
    state.PauseTiming();
    if (kept) benchmark::DoNotOptimize(crux::Decide(problem, {}, before, nullptr, &memory));
    state.ResumeTiming();
    benchmark::DoNotOptimize(crux::Decide(whole, {}, present, &report, kept ? &memory : nullptr));
  }
  Report(state, report);
}
void OneArrivalFromNothing(benchmark::State& state) { Arrival(state, false); }
void OneArrival(benchmark::State& state) { Arrival(state, true); }

BENCHMARK(FullRecompute)
    ->ArgsProduct({{375, 1000, 3000}, {0, 1}})
    ->ArgNames({"jobs", "scattered"})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(OneArrivalFromNothing)
    ->ArgsProduct({{375, 1000, 3000}, {0, 1}})
    ->ArgNames({"jobs", "scattered"})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(OneArrival)
    ->ArgsProduct({{375, 1000, 3000}, {0, 1}})
    ->ArgNames({"jobs", "scattered"})
    ->Unit(benchmark::kMillisecond);

}  // namespace
