#include "pkg/crux/contention.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace yardmaster::crux {
namespace {

// Union-find over jobs whose representative is the lowest member.
class Sets {
 public:
  explicit Sets(std::int32_t count) : parent_(static_cast<std::size_t>(count)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  std::int32_t Find(std::int32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void Join(std::int32_t x, std::int32_t y) {
    x = Find(x);
    y = Find(y);
    parent_[std::max(x, y)] = std::min(x, y);
  }
  std::vector<std::vector<ContendingJobId>> Members() {
    const auto count = static_cast<std::int32_t>(parent_.size());
    std::vector<std::int32_t> slot(parent_.size(), -1);
    std::vector<std::vector<ContendingJobId>> members;
    for (std::int32_t x = 0; x < count; ++x) {
      std::int32_t& at = slot[Find(x)];
      if (at < 0) {
        at = static_cast<std::int32_t>(members.size());
        members.emplace_back();
      }
      members[at].emplace_back(x);
    }
    return members;
  }

 private:
  std::vector<std::int32_t> parent_;
};

}  // namespace

std::vector<ContendingPair> ContendingPairs(std::int32_t link_count,
                                            std::span<const std::vector<LinkSeconds>> loads) {
  struct User {
    ContendingJobId job;
    double seconds;
  };
  // Most links of a large fabric have one user or none; only shared ones get a list.
  std::vector<std::int32_t> slot(static_cast<std::size_t>(link_count), 0);
  for (const auto& job : loads) {
    for (const LinkSeconds& load : job) ++slot[load.link];
  }
  std::int32_t shared = 0;
  for (std::int32_t& count : slot) count = count > 1 ? shared++ : -1;
  std::vector<std::vector<User>> users(static_cast<std::size_t>(shared));
  for (std::size_t j = 0; j < loads.size(); ++j) {
    for (const LinkSeconds& load : loads[j]) {
      if (slot[load.link] < 0) continue;
      users[slot[load.link]].push_back(
          {ContendingJobId(static_cast<std::int32_t>(j)), load.seconds});
    }
  }
  std::vector<ContendingPair> all;
  for (const auto& sharing : users) {
    for (std::size_t x = 0; x < sharing.size(); ++x) {
      for (std::size_t y = x + 1; y < sharing.size(); ++y) {
        all.push_back({sharing[x].job, sharing[y].job, sharing[x].seconds, sharing[y].seconds});
      }
    }
  }
  KeepFullestLinks(all);
  return all;
}

void KeepFullestLinks(std::vector<ContendingPair>& pairs) {
  // The fullest shared link of a pair comes first and is the one kept.
  const auto key = [](const ContendingPair& p) {
    return std::tuple(p.a, p.b, -(p.a_seconds + p.b_seconds), p.a_seconds, p.b_seconds);
  };
  std::sort(pairs.begin(), pairs.end(),
            [&](const ContendingPair& p, const ContendingPair& q) { return key(p) < key(q); });
  const auto same_pair = [](const ContendingPair& p, const ContendingPair& q) {
    return p.a == q.a && p.b == q.b;
  };
  pairs.erase(std::unique(pairs.begin(), pairs.end(), same_pair), pairs.end());
}

std::vector<std::vector<ContendingJobId>> Components(std::int32_t job_count,
                                                     std::span<const ContendingPair> pairs) {
  Sets sets(job_count);
  for (const ContendingPair& pair : pairs) sets.Join(pair.a.value, pair.b.value);
  return sets.Members();
}

std::vector<std::vector<ContendingJobId>> PossibleComponents(const Problem& problem) {
  Sets sets(static_cast<std::int32_t>(problem.jobs.size()));
  std::vector<std::int32_t> user(problem.links.size(), -1);
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const auto job = static_cast<std::int32_t>(j);
    for (const Flow& flow : problem.jobs[j].flows) {
      for (std::int32_t p = 0; p < flow.paths.size(); ++p) {
        for (const std::int32_t link : flow.paths[p]) {
          if (user[link] >= 0) sets.Join(user[link], job);
          user[link] = job;
        }
      }
    }
  }
  return sets.Members();
}

std::vector<ContentionEdge> ContentionDag(std::span<const ContendingPair> pairs,
                                          std::span<const ContendingJobId> order,
                                          std::span<const double> intensities) {
  std::vector<std::int32_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    position[order[i].index()] = static_cast<std::int32_t>(i);
  }
  const auto from_of = [&](const ContendingPair& pair) {
    return position[pair.a.index()] < position[pair.b.index()] ? pair.a : pair.b;
  };
  // Where the edges of each job begin. Those to lower jobs are met before those to higher ones,
  // each in rising order, since that is the order of the pairs.
  std::vector<std::size_t> next(order.size() + 1, 0);
  for (const ContendingPair& pair : pairs) ++next[from_of(pair).index() + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<ContentionEdge> edges(pairs.size());
  for (const ContendingPair& pair : pairs) {
    const ContendingJobId from = from_of(pair);
    edges[next[from.index()]++] = {from, from == pair.a ? pair.b : pair.a,
                                   intensities[from.index()]};
  }
  return edges;
}

double Loss(std::span<const ContentionEdge> edges, std::span<const std::int32_t> levels) {
  double loss = 0;
  for (const ContentionEdge& edge : edges) {
    if (levels[edge.from.index()] == levels[edge.to.index()]) loss += edge.weight;
  }
  return loss;
}

}  // namespace yardmaster::crux
