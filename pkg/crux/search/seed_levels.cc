#include "pkg/crux/search/seed_levels.h"

#include <cstddef>

#include "pkg/crux/compression.h"
#include "pkg/crux/draft.h"

namespace yardmaster::crux {

namespace {
constexpr std::size_t kExactSeedJobs = 6;
}  // namespace

std::vector<std::int32_t> SeedLevels(const Problem& problem, const Paths& paths,
                                     const CorrectionOptions& correction, std::int32_t levels) {
  const Draft draft(problem, paths);
  const Priorities priorities = PrioritiesOf(problem, draft, correction);
  const auto edges = ContentionDag(draft.pairs, priorities.order, draft.intensities);
  CompressionOptions compression;
  compression.exact_when_small = problem.jobs.size() <= kExactSeedJobs;
  compression.improvements = 0;
  return Compress(static_cast<std::int32_t>(problem.jobs.size()), edges, levels, compression)
      .levels;
}

}  // namespace yardmaster::crux
