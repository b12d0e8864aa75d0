// How often the exact search is cut: random gangs of 8 to 256 workers with any parallelism, order
// and limits, on 10 to 32 unequal segments (docs/evaluation/placement.md has the figures).
//
//   irregular_gangs [GANGS [SEED [list] [default]]]
//
// `list` prints every gang that was cut; `default` gives all Megatron's order and the default
// limits of groups.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/placement/testing/cases.h"

namespace {

using namespace yardmaster;
using namespace yardmaster::placement;

std::string Text(const Objective& o) {
  return StrCat(o.tensor_split_fabric_pods, " ", o.data_split_fabric_pods, " ",
                o.tensor_split_segments, " ", o.data_split_segments, " ", o.fabric_pods, " ",
                o.segments);
}

struct Tally {
  int placed = 0;
  int refused = 0;      // proved not to fit now
  int cut_placed = 0;   // placed, with a bound
  int cut_refused = 0;  // not placed, without a proof
  std::vector<double> ms;
};

Case WithDefaults(Case c) {
  const int stages = c.job.placement.max_stages_per_segment;
  c.job.placement = {};
  c.job.placement.max_stages_per_segment = stages;
  c.job.parallelism.order = workload::kMegatronOrder;
  return MakeCase(std::move(c.cluster), std::move(c.job));
}

void Count(const Case& c, bool list, Tally& tally) {
  const auto start = std::chrono::steady_clock::now();
  const GangPlan plan = PlanGang(c.cluster, c.request(), {PlannerOptions{}.max_steps, false});
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  tally.ms.push_back(took.count());
  const bool placed = plan.outcome == Outcome::kPlaced;
  if (plan.optimal) {
    ++(placed ? tally.placed : tally.refused);
    return;
  }
  ++(placed ? tally.cut_placed : tally.cut_refused);
  if (!list) return;
  std::cout << (placed ? "placed " : "refused ") << took.count() << " ms  " << Describe(c);
  if (placed) std::cout << "\n    " << Text(plan.objective) << "  bound " << Text(plan.bound);
  std::cout << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  const int gangs = argc > 1 ? std::atoi(argv[1]) : 1500;
  Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  bool list = false, defaults = false;
  for (int i = 3; i < argc; ++i) {
    list |= std::string(argv[i]) == "list";
    defaults |= std::string(argv[i]) == "default";
  }
  Tally tally;
  for (int i = 0; i < gangs; ++i) {
    Case c = IrregularCase(random);
    Count(defaults ? WithDefaults(std::move(c)) : c, list, tally);
  }
  std::sort(tally.ms.begin(), tally.ms.end());
  std::cout << "gangs " << gangs << ": placed exactly " << tally.placed << ", proved not to fit "
            << tally.refused << ", cut " << tally.cut_placed + tally.cut_refused << " (placed "
            << tally.cut_placed << ", not placed " << tally.cut_refused << ")\n";
  if (!tally.ms.empty()) {
    std::cout << "median " << tally.ms[tally.ms.size() / 2] << " ms, longest " << tally.ms.back()
              << " ms\n";
  }
  return 0;
}
