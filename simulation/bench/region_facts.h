// The figures that the Crux paper reports of its trace beside those of the runs of crux_region at
// each point, as a table in Markdown. Figures are means over seeds, gains are paired by seed with
// their 95 % interval. A cell says whether the published figure is met, by this rule:
//   shares of jobs and GPUs that meet contention   within a quarter of the published figure
//   share of these jobs that meet on the network   above 50 %
//   gains, that of network utilisation included    the mean is at least the published least; no
//                                                  verdict where nothing is published
//   loss of the worst job                          of no seed more than the published one
// A cell without runs is "-". Thread safety: pure functions.
#pragma once

#include <string>

#include "simulation/bench/region_results.h"

namespace yardmaster::bench {

std::string FactsTable(const Region& region);

}  // namespace yardmaster::bench
