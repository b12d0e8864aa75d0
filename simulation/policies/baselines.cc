#include "simulation/policies/baselines.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

namespace yardmaster::crux {
namespace {

constexpr int kCircleSteps = 72;
constexpr int kCircleSweeps = 4;
constexpr int kOverlapPeriods = 10;

std::int32_t LongestPath(const Flow& flow) {
  std::size_t longest = 0;
  for (std::int32_t p = 0; p < flow.paths.size(); ++p) {
    longest = std::max(longest, flow.paths[p].size());
  }
  return static_cast<std::int32_t>(longest);
}

// A link's periodic use by one job: busy for `busy` seconds, every `period`, from `start` on.
struct Pulse {
  double start;
  double busy;
  double period;
};

// Seconds in [0, horizon) in which both are busy.
double Overlap(const Pulse& a, const Pulse& b, double horizon) {
  double overlap = 0;
  double x = a.start;
  double y = b.start;
  while (x < horizon && y < horizon) {
    overlap += std::max(0.0, std::min(x + a.busy, y + b.busy) - std::max(x, y));
    if (x + a.busy < y + b.busy) {
      x += a.period;
    } else {
      y += b.period;
    }
  }
  return overlap;
}

struct Meeting {
  ContendingJobId other;
  double own_seconds;
  double other_seconds;
};

// Breadth first from the busiest job of each piece.
std::vector<ContendingJobId> BreadthFirst(const std::vector<std::vector<Meeting>>& meetings) {
  std::vector<ContendingJobId> roots = AllJobs(meetings.size());
  std::stable_sort(roots.begin(), roots.end(), [&](ContendingJobId a, ContendingJobId b) {
    return meetings[a.index()].size() > meetings[b.index()].size();
  });
  std::vector<char> seen(meetings.size(), 0);
  std::vector<ContendingJobId> order;
  for (const ContendingJobId root : roots) {
    if (seen[root.index()]) continue;
    seen[root.index()] = 1;
    order.push_back(root);
    for (std::size_t at = order.size() - 1; at < order.size(); ++at) {
      for (const Meeting& meeting : meetings[order[at].index()]) {
        if (seen[meeting.other.index()]) continue;
        seen[meeting.other.index()] = 1;
        order.push_back(meeting.other);
      }
    }
  }
  return order;
}

}  // namespace

std::vector<ContendingJobId> SincroniaOrder(std::int32_t link_count,
                                            std::span<const std::vector<LinkSeconds>> loads) {
  const std::vector<ContendingJobId> jobs = AllJobs(loads.size());
  std::vector<double> total(link_count, 0);
  std::vector<std::vector<std::pair<ContendingJobId, double>>> users(link_count);
  for (const ContendingJobId j : jobs) {
    for (const LinkSeconds& load : loads[j.index()]) {
      total[load.link] += load.seconds;
      users[load.link].emplace_back(j, load.seconds);
    }
  }
  std::vector<double> weight(jobs.size(), 1);
  std::vector<char> placed(jobs.size(), 0);
  std::vector<ContendingJobId> backwards;
  while (backwards.size() < jobs.size()) {
    const auto link = std::max_element(total.begin(), total.end()) - total.begin();
    ContendingJobId last;
    double last_demand = 0;
    for (const auto& [j, demand] : link_count > 0 ? users[link] : decltype(users)::value_type{}) {
      if (placed[j.index()]) continue;
      if (!last.valid() || weight[j.index()] * last_demand < weight[last.index()] * demand) {
        last = j;
        last_demand = demand;
      }
    }
    if (!last.valid()) {  // only jobs that send nothing are left
      std::copy_if(jobs.rbegin(), jobs.rend(), std::back_inserter(backwards),
                   [&](ContendingJobId j) { return placed[j.index()] == 0; });
      break;
    }
    for (const auto& [j, demand] : users[link]) {
      if (placed[j.index()] || j == last) continue;
      weight[j.index()] -= weight[last.index()] * demand / last_demand;
    }
    placed[last.index()] = 1;
    backwards.push_back(last);
    for (const LinkSeconds& load : loads[last.index()]) {
      total[load.link] = std::max(0.0, total[load.link] - load.seconds);
      bool unused = true;
      for (const auto& user : users[load.link]) unused &= placed[user.first.index()] != 0;
      if (unused) total[load.link] = 0;  // not what rounding left over
    }
  }
  std::reverse(backwards.begin(), backwards.end());
  return backwards;
}

std::vector<std::int32_t> LevelPerJob(std::span<const ContendingJobId> order, std::int32_t levels) {
  std::vector<std::int32_t> result(order.size(), 0);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    result[order[rank].index()] = std::max(0, levels - 1 - static_cast<std::int32_t>(rank));
  }
  return result;
}

std::vector<ContendingJobId> VarysOrder(std::span<const std::vector<LinkSeconds>> loads) {
  std::vector<double> bottleneck;
  for (const auto& job : loads) bottleneck.push_back(CommunicationSeconds(job));
  std::vector<ContendingJobId> order = AllJobs(loads.size());
  std::stable_sort(order.begin(), order.end(), [&](ContendingJobId a, ContendingJobId b) {
    return bottleneck[a.index()] < bottleneck[b.index()];
  });
  return order;
}

std::vector<std::int32_t> BalancedLevels(std::span<const ContendingJobId> order,
                                         std::int32_t levels) {
  std::vector<std::int32_t> result(order.size(), 0);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::size_t block = rank * static_cast<std::size_t>(levels) / order.size();
    result[order[rank].index()] = levels - 1 - static_cast<std::int32_t>(block);
  }
  return result;
}

TacclPlan TacclSchedule(const Problem& problem, std::int32_t levels, TacclReading reading,
                        const Paths& held) {
  struct Entry {
    std::int32_t distance;
    ContendingJobId job;
    std::int32_t flow;
    double bytes;
  };
  std::vector<Entry> entries;
  std::vector<std::int32_t> distance(problem.jobs.size(), 0);
  TacclPlan plan;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const ContendingJob& job = problem.jobs[j];
    plan.paths.emplace_back(job.flows.size(), 0);
    for (std::size_t f = 0; f < job.flows.size(); ++f) {
      const std::int32_t length = LongestPath(job.flows[f]);
      distance[j] = std::max(distance[j], length);
      entries.push_back({length, ContendingJobId(static_cast<std::int32_t>(j)),
                         static_cast<std::int32_t>(f), MeanBytes(job.flows[f])});
    }
  }
  std::vector<double> load(problem.links.size(), 0);
  const auto arrived = [&](ContendingJobId j) {
    return reading != TacclReading::kGlobal && j.index() < held.size() &&
           held[j.index()].size() == problem.jobs[j.index()].flows.size();
  };
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    if (!arrived(ContendingJobId(static_cast<std::int32_t>(j)))) continue;
    plan.paths[j] = held[j];
    for (std::size_t f = 0; f < held[j].size(); ++f) {
      const Flow& flow = problem.jobs[j].flows[f];
      for (const std::int32_t link : flow.paths[held[j][f]]) {
        load[link] += MeanBytes(flow) / BytesPerSecond(problem.links[link]);
      }
    }
  }
  std::erase_if(entries, [&](const Entry& entry) { return arrived(entry.job); });
  // Each job on a network of its own: its entries together, and nothing left of those before.
  const bool apart = reading == TacclReading::kPerJob;
  if (apart) std::fill(load.begin(), load.end(), 0.0);
  std::sort(entries.begin(), entries.end(), [](const Entry& x, const Entry& y) {
    return std::tuple(-x.distance, -x.bytes, x.job, x.flow) <
           std::tuple(-y.distance, -y.bytes, y.job, y.flow);
  });
  if (apart) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& x, const Entry& y) { return x.job < y.job; });
  }
  ContendingJobId before;
  for (const Entry& entry : entries) {
    if (apart && entry.job != before) std::fill(load.begin(), load.end(), 0.0);
    before = entry.job;
    const PathList& paths = problem.jobs[entry.job.index()].flows[entry.flow].paths;
    std::int32_t best = 0;
    std::pair<double, double> best_load{};
    for (std::int32_t p = 0; p < paths.size(); ++p) {
      std::pair<double, double> path_load{};
      for (const std::int32_t link : paths[p]) {
        const double after = load[link] + entry.bytes / BytesPerSecond(problem.links[link]);
        path_load.first = std::max(path_load.first, after);
        path_load.second += after;
      }
      if (p == 0 || path_load < best_load) {
        best = p;
        best_load = path_load;
      }
    }
    plan.paths[entry.job.index()][entry.flow] = best;
    for (const std::int32_t link : paths[best]) {
      load[link] += entry.bytes / BytesPerSecond(problem.links[link]);
    }
  }
  std::vector<std::int32_t> classes = distance;
  std::sort(classes.begin(), classes.end(), std::greater<>());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  for (const std::int32_t d : distance) {
    const auto rank = std::find(classes.begin(), classes.end(), d) - classes.begin();
    plan.levels.push_back(std::max(0, levels - 1 - static_cast<std::int32_t>(rank)));
  }
  return plan;
}

std::vector<double> CassiniOffsets(const Problem& problem,
                                   std::span<const std::vector<LinkSeconds>> loads,
                                   std::span<const ContendingPair> pairs) {
  std::vector<std::vector<Meeting>> meetings(loads.size());
  for (const ContendingPair& pair : pairs) {
    meetings[pair.a.index()].push_back({pair.b, pair.a_seconds, pair.b_seconds});
    meetings[pair.b.index()].push_back({pair.a, pair.b_seconds, pair.a_seconds});
  }
  std::vector<double> period;
  for (std::size_t j = 0; j < loads.size(); ++j) {
    period.push_back(IterationSeconds(problem.jobs[j], CommunicationSeconds(loads[j])));
  }
  const std::vector<ContendingJobId> order = BreadthFirst(meetings);
  std::vector<double> offset(loads.size(), 0);
  std::vector<char> placed(loads.size(), 0);
  const auto overlap_at = [&](ContendingJobId j, double shift) {
    double sum = 0;
    for (const Meeting& meeting : meetings[j.index()]) {
      if (!placed[meeting.other.index()]) continue;
      const double horizon =
          kOverlapPeriods * std::max(period[j.index()], period[meeting.other.index()]);
      const Pulse own{shift, meeting.own_seconds, period[j.index()]};
      const Pulse other{offset[meeting.other.index()], meeting.other_seconds,
                        period[meeting.other.index()]};
      sum += Overlap(own, other, horizon) / horizon;
    }
    return sum;
  };
  for (int sweep = 0; sweep < kCircleSweeps; ++sweep) {
    bool moved = false;
    for (const ContendingJobId j : order) {
      double best = overlap_at(j, offset[j.index()]);
      for (int step = 0; step < kCircleSteps && best > 0; ++step) {
        const double shift = period[j.index()] * step / kCircleSteps;
        const double overlap = overlap_at(j, shift);
        if (overlap < best - 1e-12) {
          best = overlap;
          offset[j.index()] = shift;
          moved = true;
        }
      }
      placed[j.index()] = 1;
    }
    if (!moved) break;
  }
  return offset;
}

}  // namespace yardmaster::crux
