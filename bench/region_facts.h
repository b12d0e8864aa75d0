// What the Crux paper reports of its trace, against what the runs of crux_region give at each point: as a
// table in Markdown. Figures are means over seeds, gains are paired by seed with their 95 % interval, and
// a cell says whether the published figure is met:
//   shares that meet contention, and network utilisation   within a quarter of the published figure
//   gains                                                   the mean is at least the published least
//   loss of the worst job                                   of no seed more than the published one
// Thread safety: pure functions.
#pragma once

#include <string>

#include "bench/region_results.h"

namespace yardmaster::bench {

std::string FactsTable(const Region& region);

}  // namespace yardmaster::bench
