// Case files of `kubectl yardmaster crux`: for all bytes, reading ends in a problem or an
// error; a problem that was accepted is always decided, the decision keeps its promises and is a
// fixed point, and a simulated window of it ends.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "pkg/crux/testing/valid_compression.h"
#include "simulation/formats/crux_case.h"
#include "simulation/policies/policies.h"
#include "simulation/simulator/evaluate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace yardmaster;  // NOLINT: a program of one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto problem = sim::ReadCruxCase(text, "case");
  if (!problem.ok()) return 0;
  for (const crux::Policy policy : crux::AllPolicies()) {
    if (policy == crux::Policy::kExact) continue;
    const auto solution = crux::DecideBy(policy, *problem);
    if (!solution.ok()) std::abort();
    std::vector<std::int32_t> levels;
    for (const crux::JobDecision& job : solution->jobs) {
      if (job.level < 0 || job.level >= problem->levels) std::abort();
      levels.push_back(job.level);
    }
    if (!crux::IsValidCompression(solution->edges, levels)) std::abort();
    sim::CruxAnswer(*problem, *solution, 0).dump();
    if (policy != crux::Policy::kCrux) continue;
    sim::EvaluateOptions window;
    window.simulator.max_events = 5000;
    const auto evaluation = sim::Evaluate(*problem, *solution, window);
    if (evaluation.ok() ? !(evaluation->utilisation >= 0 && evaluation->utilisation <= 1 + 1e-6)
                        : !absl::IsResourceExhausted(evaluation.status())) {
      std::abort();
    }
    // Told that this holds, it decides the same again.
    crux::PresentState present;
    present.previous = *solution;
    const auto again = crux::DecideBy(policy, *problem, {}, {}, present);
    if (!again.ok() || crux::PathsOf(*again) != crux::PathsOf(*solution)) std::abort();
    for (std::size_t j = 0; j < levels.size(); ++j) {
      if (again->jobs[j].level != levels[j]) std::abort();
    }
  }
  return 0;
}
