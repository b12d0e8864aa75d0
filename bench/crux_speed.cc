// Speed of the network planner on a fabric of 122,880 GPUs: a full recompute and one arrival, over
// growing numbers of jobs (the complexity shows in the ratio of neighbouring rows).
#include <algorithm>
#include <benchmark/benchmark.h>

#include "bench/large_case.h"
#include "pkg/crux/decide.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

void FullRecompute(benchmark::State& state) {
  const crux::Problem problem = bench::LargeCase(static_cast<std::int32_t>(state.range(0)), 1);
  for (auto run : state) {
    benchmark::DoNotOptimize(crux::Decide(problem));
  }
  state.SetComplexityN(state.range(0));
}

void OneArrival(benchmark::State& state) {
  const crux::Problem problem = bench::LargeCase(static_cast<std::int32_t>(state.range(0)), 1);
  crux::Options options;
  options.previous = *crux::Decide(problem);
  // The job in the middle arrives again.
  const auto arrival = static_cast<std::int32_t>(problem.jobs.size() / 2);
  options.previous->jobs[arrival].paths.clear();
  options.previous->jobs[arrival].level = -1;
  options.changed = {arrival};
  for (auto run : state) {
    benchmark::DoNotOptimize(crux::Decide(problem, options));
  }
  state.SetComplexityN(state.range(0));
}

BENCHMARK(FullRecompute)->RangeMultiplier(2)->Range(375, 3000)->Unit(benchmark::kMillisecond);
BENCHMARK(OneArrival)->RangeMultiplier(2)->Range(375, 3000)->Unit(benchmark::kMillisecond);

}  // namespace
