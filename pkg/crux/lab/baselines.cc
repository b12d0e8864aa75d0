#include "pkg/crux/lab/baselines.h"

#include <algorithm>
#include <cmath>
#include <numeric>
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
  std::int32_t other;
  double own_seconds;
  double other_seconds;
};

// Breadth first from the busiest job of each piece.
std::vector<std::int32_t> BreadthFirst(const std::vector<std::vector<Meeting>>& meetings) {
  std::vector<std::int32_t> roots(meetings.size());
  std::iota(roots.begin(), roots.end(), 0);
  std::stable_sort(roots.begin(), roots.end(), [&](std::int32_t a, std::int32_t b) {
    return meetings[a].size() > meetings[b].size();
  });
  std::vector<char> seen(meetings.size(), 0);
  std::vector<std::int32_t> order;
  for (const std::int32_t root : roots) {
    if (seen[root]) continue;
    seen[root] = 1;
    order.push_back(root);
    for (std::size_t at = order.size() - 1; at < order.size(); ++at) {
      for (const Meeting& meeting : meetings[order[at]]) {
        if (seen[meeting.other]) continue;
        seen[meeting.other] = 1;
        order.push_back(meeting.other);
      }
    }
  }
  return order;
}

}  // namespace

std::vector<std::int32_t> SincroniaOrder(std::int32_t link_count,
                                         std::span<const std::vector<LinkSeconds>> loads) {
  const auto count = static_cast<std::int32_t>(loads.size());
  std::vector<double> total(link_count, 0);
  std::vector<std::vector<std::pair<std::int32_t, double>>> users(link_count);
  for (std::int32_t j = 0; j < count; ++j) {
    for (const LinkSeconds& load : loads[j]) {
      total[load.link] += load.seconds;
      users[load.link].emplace_back(j, load.seconds);
    }
  }
  std::vector<double> weight(count, 1);
  std::vector<char> placed(count, 0);
  std::vector<std::int32_t> backwards;
  while (static_cast<std::int32_t>(backwards.size()) < count) {
    const auto link = std::max_element(total.begin(), total.end()) - total.begin();
    std::int32_t last = -1;
    double last_demand = 0;
    for (const auto& [j, demand] : link_count > 0 ? users[link] : decltype(users)::value_type{}) {
      if (placed[j]) continue;
      if (last < 0 || weight[j] * last_demand < weight[last] * demand) {
        last = j;
        last_demand = demand;
      }
    }
    if (last < 0) {  // only jobs that send nothing are left
      for (std::int32_t j = count - 1; j >= 0; --j) {
        if (!placed[j]) backwards.push_back(j);
      }
      break;
    }
    for (const auto& [j, demand] : users[link]) {
      if (!placed[j] && j != last) weight[j] -= weight[last] * demand / last_demand;
    }
    placed[last] = 1;
    backwards.push_back(last);
    for (const LinkSeconds& load : loads[last]) {
      total[load.link] = std::max(0.0, total[load.link] - load.seconds);
      bool unused = true;
      for (const auto& user : users[load.link]) unused &= placed[user.first] != 0;
      if (unused) total[load.link] = 0;  // not what rounding left over
    }
  }
  std::reverse(backwards.begin(), backwards.end());
  return backwards;
}

std::vector<std::int32_t> LevelPerJob(std::span<const std::int32_t> order, std::int32_t levels) {
  std::vector<std::int32_t> result(order.size(), 0);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    result[order[rank]] = std::max(0, levels - 1 - static_cast<std::int32_t>(rank));
  }
  return result;
}

std::vector<std::int32_t> VarysOrder(std::span<const std::vector<LinkSeconds>> loads) {
  std::vector<double> bottleneck;
  for (const auto& job : loads) bottleneck.push_back(CommunicationSeconds(job));
  std::vector<std::int32_t> order(loads.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return bottleneck[a] < bottleneck[b]; });
  return order;
}

std::vector<std::int32_t> BalancedLevels(std::span<const std::int32_t> order, std::int32_t levels) {
  std::vector<std::int32_t> result(order.size(), 0);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::size_t block = rank * static_cast<std::size_t>(levels) / order.size();
    result[order[rank]] = levels - 1 - static_cast<std::int32_t>(block);
  }
  return result;
}

TacclPlan TacclSchedule(const Problem& problem, std::int32_t levels, TacclReading reading,
                        const Paths& held) {
  struct Entry {
    std::int32_t distance, job, flow;
    double bytes;
  };
  std::vector<Entry> entries;
  std::vector<std::int32_t> distance(problem.jobs.size(), 0);
  TacclPlan plan;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    plan.paths.emplace_back(job.flows.size(), 0);
    for (std::size_t f = 0; f < job.flows.size(); ++f) {
      const std::int32_t length = LongestPath(job.flows[f]);
      distance[j] = std::max(distance[j], length);
      entries.push_back({length, static_cast<std::int32_t>(j), static_cast<std::int32_t>(f),
                         MeanBytes(job.flows[f])});
    }
  }
  std::vector<double> load(problem.links.size(), 0);
  const auto arrived = [&](std::int32_t j) {
    return reading != TacclReading::kGlobal && static_cast<std::size_t>(j) < held.size() &&
           held[j].size() == problem.jobs[j].flows.size();
  };
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    if (!arrived(static_cast<std::int32_t>(j))) continue;
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
  std::int32_t before = -1;
  for (const Entry& entry : entries) {
    if (apart && entry.job != before) std::fill(load.begin(), load.end(), 0.0);
    before = entry.job;
    const PathList& paths = problem.jobs[entry.job].flows[entry.flow].paths;
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
    plan.paths[entry.job][entry.flow] = best;
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
    meetings[pair.a].push_back({pair.b, pair.a_seconds, pair.b_seconds});
    meetings[pair.b].push_back({pair.a, pair.b_seconds, pair.a_seconds});
  }
  std::vector<double> period;
  for (std::size_t j = 0; j < loads.size(); ++j) {
    period.push_back(IterationSeconds(problem.jobs[j], CommunicationSeconds(loads[j])));
  }
  const std::vector<std::int32_t> order = BreadthFirst(meetings);
  std::vector<double> offset(loads.size(), 0);
  std::vector<char> placed(loads.size(), 0);
  const auto overlap_at = [&](std::int32_t j, double shift) {
    double sum = 0;
    for (const Meeting& meeting : meetings[j]) {
      if (!placed[meeting.other]) continue;
      const double horizon = kOverlapPeriods * std::max(period[j], period[meeting.other]);
      const Pulse own{shift, meeting.own_seconds, period[j]};
      const Pulse other{offset[meeting.other], meeting.other_seconds, period[meeting.other]};
      sum += Overlap(own, other, horizon) / horizon;
    }
    return sum;
  };
  for (int sweep = 0; sweep < kCircleSweeps; ++sweep) {
    bool moved = false;
    for (const std::int32_t j : order) {
      double best = overlap_at(j, offset[j]);
      for (int step = 0; step < kCircleSteps && best > 0; ++step) {
        const double shift = period[j] * step / kCircleSteps;
        const double overlap = overlap_at(j, shift);
        if (overlap < best - 1e-12) {
          best = overlap;
          offset[j] = shift;
          moved = true;
        }
      }
      placed[j] = 1;
    }
    if (!moved) break;
  }
  return offset;
}

}  // namespace yardmaster::crux
