#include "pkg/crux/search/path_variants.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <ranges>
#include <utility>

namespace yardmaster::crux {
namespace {

// A link that others fill leaves a little, so that periods stay finite.
constexpr double kMinLeft = 0.02;
// What the bound counts for against the estimate.
constexpr double kBoundWeight = 0.5;

using PathChoice = std::vector<std::int32_t>;  // a path per flow

std::vector<std::int32_t> ChoosingFlows(const ContendingJob& job) {
  std::vector<std::int32_t> flows;
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    if (job.flows[f].paths.size() > 1) flows.push_back(static_cast<std::int32_t>(f));
  }
  std::stable_sort(flows.begin(), flows.end(), [&](std::int32_t a, std::int32_t b) {
    return MeanBytes(job.flows[a]) > MeanBytes(job.flows[b]);
  });
  return flows;
}

// Every choice of paths; twins next to each other are not exchanged.
std::vector<PathChoice> AllChoices(const ContendingJob& job, std::span<const std::int32_t> flows,
                                   PathChoice paths) {
  std::vector<PathChoice> out;
  std::vector<char> twin(flows.size(), 0);
  for (std::size_t i = 1; i < flows.size(); ++i) {
    twin[i] = AreTwins(job.flows[flows[i - 1]], job.flows[flows[i]]);
  }
  for (const std::int32_t f : flows) paths[f] = 0;
  while (true) {
    bool exchanged = false;
    for (std::size_t i = 1; i < flows.size(); ++i) {
      exchanged |= twin[i] != 0 && paths[flows[i]] < paths[flows[i - 1]];
    }
    if (!exchanged) out.push_back(paths);
    std::size_t i = 0;
    for (; i < flows.size() && ++paths[flows[i]] == job.flows[flows[i]].paths.size(); ++i) {
      paths[flows[i]] = 0;
    }
    if (i == flows.size()) return out;
  }
}

// `now`, then the choices to try, each once; the first `max_variants` count.
std::vector<PathChoice> ChoicesOf(const ContendingJob& job, const PathChoice& now,
                                  std::size_t max_variants, std::span<const PathChoice> also) {
  const std::vector<std::int32_t> flows = ChoosingFlows(job);
  double all = 1;
  for (const std::int32_t f : flows) all *= job.flows[f].paths.size();
  const bool few = all <= 2.0 * static_cast<double>(max_variants);
  std::vector<PathChoice> every;
  if (few) every = AllChoices(job, flows, now);
  std::erase(every, now);
  std::vector<PathChoice> choices = {now};
  if (!few || every.size() >= max_variants) {
    for (const PathChoice& paths : also) {
      if (std::ranges::find(choices, paths) == choices.end()) choices.push_back(paths);
    }
  }
  // What follows differs among itself, so it is compared with those before it alone.
  const auto first = static_cast<std::ptrdiff_t>(choices.size());
  const auto add = [&](PathChoice paths) {
    const auto end = choices.begin() + first;
    if (std::find(choices.begin(), end, paths) == end) choices.push_back(std::move(paths));
  };
  for (PathChoice& paths : every) add(std::move(paths));
  if (few) return choices;
  for (const std::int32_t f : flows) {
    for (std::int32_t p = 0; p < job.flows[f].paths.size(); ++p) {
      PathChoice moved = now;
      moved[f] = p;
      add(std::move(moved));
    }
    if (choices.size() > max_variants) break;
  }
  return choices;
}

struct LinkUser {
  std::int32_t link;
  std::int32_t job;  // place in what was chosen
  double seconds;
};

// By link, and of a link by job. A counting sort: a search asks thousands of times.
std::vector<LinkUser> UsersByLink(std::size_t links, std::span<const PathVariant* const> chosen) {
  std::vector<std::size_t> next(links + 1, 0);  // place of the next user of a link
  for (const PathVariant* variant : chosen) {
    for (const LinkSeconds& load : variant->loads) ++next[load.link + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<LinkUser> users(next.back());
  for (std::size_t j = 0; j < chosen.size(); ++j) {
    for (const LinkSeconds& load : chosen[j]->loads) {
      users[next[load.link]++] = {load.link, static_cast<std::int32_t>(j), load.seconds};
    }
  }
  return users;
}

// What is lost at least on a link that cannot carry all its users need, in FLOP/s.
double LossOn(std::span<const LinkUser> users, std::span<const double> flop,
              std::span<const PathVariant* const> chosen) {
  double excess = -1;
  for (const LinkUser& user : users)
    excess += user.seconds * chosen[user.job]->iterations_per_second;
  if (excess <= 0) return 0;
  std::vector<LinkUser> cheapest(users.begin(), users.end());
  std::sort(cheapest.begin(), cheapest.end(), [&](const LinkUser& a, const LinkUser& b) {
    return flop[a.job] / a.seconds < flop[b.job] / b.seconds;
  });
  double loss = 0;
  for (const LinkUser& user : cheapest) {
    const double busy = user.seconds * chosen[user.job]->iterations_per_second;
    const double cut = std::min(excess, busy);
    loss += cut * flop[user.job] / user.seconds;
    excess -= cut;
    if (excess <= 0) break;
  }
  return loss;
}

std::vector<double> FlopOf(const Problem& problem) {
  std::vector<double> flop;
  for (const ContendingJob& job : problem.jobs) flop.push_back(job.flop_per_iteration);
  return flop;
}

}  // namespace

std::vector<PathVariant> VariantsOf(const Problem& problem, const ContendingJob& job,
                                    const std::vector<std::int32_t>& now, double window_seconds,
                                    std::size_t max_variants,
                                    std::span<const std::vector<std::int32_t>> also) {
  LoadCounter counter(problem);
  std::vector<PathVariant> variants;
  for (PathChoice& paths : ChoicesOf(job, now, max_variants, also)) {
    if (variants.size() == max_variants) break;
    PathVariant variant;
    variant.loads = counter.Count(job, paths);
    variant.paths = std::move(paths);
    const double seconds = CommunicationSeconds(variant.loads);
    const double iterations =
        IterationsBegun(job, counter.SpanSeconds(job, variant.paths), window_seconds);
    variant.iterations_per_second = iterations / window_seconds;
    variant.rate = job.flop_per_iteration * (1 - FirstStart(job) + iterations) / window_seconds;
    variant.intensity = Intensity(job, seconds);
    variants.push_back(std::move(variant));
  }
  return variants;
}

double BoundOf(const Problem& problem, std::span<const PathVariant* const> chosen) {
  const std::vector<double> flop = FlopOf(problem);
  const std::vector<LinkUser> users = UsersByLink(problem.links.size(), chosen);
  struct Loss {
    double flop_rate;
    std::span<const LinkUser> users;
  };
  std::vector<Loss> losses;
  for (std::size_t begin = 0; begin < users.size();) {
    std::size_t end = begin;
    while (end < users.size() && users[end].link == users[begin].link) ++end;
    const auto here = std::span(users).subspan(begin, end - begin);
    const double loss = here.size() > 1 ? LossOn(here, flop, chosen) : 0;
    if (loss > 0) losses.push_back({loss, here});
    begin = end;
  }
  std::stable_sort(losses.begin(), losses.end(),
                   [](const Loss& a, const Loss& b) { return a.flop_rate > b.flop_rate; });
  std::vector<char> counted(chosen.size(), 0);
  double bound = 0;
  for (const PathVariant* variant : chosen) bound += variant->rate;
  for (const Loss& loss : losses) {
    const auto seen = [&](const LinkUser& user) { return counted[user.job] != 0; };
    if (std::any_of(loss.users.begin(), loss.users.end(), seen)) continue;
    for (const LinkUser& user : loss.users) counted[user.job] = 1;
    bound -= loss.flop_rate;
  }
  return bound;
}

double EstimateOf(const Problem& problem, std::span<const PathVariant* const> chosen) {
  std::vector<ContendingJobId> order = AllJobs(chosen.size());
  std::stable_sort(order.begin(), order.end(), [&](ContendingJobId a, ContendingJobId b) {
    return chosen[a.index()]->intensity > chosen[b.index()]->intensity;
  });
  std::vector<double> busy(problem.links.size(), 0);
  double rate = 0;
  for (const ContendingJobId j : order) {
    double longest = 0;
    for (const LinkSeconds& load : chosen[j.index()]->loads) {
      longest = std::max(longest, load.seconds / std::max(kMinLeft, 1 - busy[load.link]));
    }
    const double period = IterationSeconds(problem.jobs[j.index()], longest);
    rate += problem.jobs[j.index()].flop_per_iteration / period;
    for (const LinkSeconds& load : chosen[j.index()]->loads)
      busy[load.link] += load.seconds / period;
  }
  return rate;
}

std::vector<Combination> RankedCombinations(const Problem& problem,
                                            std::span<const std::vector<PathVariant>> variants,
                                            std::span<const double> move_cost,
                                            std::size_t max_combinations) {
  const std::size_t count = variants.size();
  std::vector<std::vector<std::int32_t>> choices;
  double all = 1;
  for (const auto& of_job : variants) all *= static_cast<double>(of_job.size());
  std::vector<std::int32_t> digits(count, 0);
  if (all <= static_cast<double>(max_combinations)) {
    for (std::size_t i = 0; i < count;) {
      if (i == 0) choices.push_back(digits);
      if (static_cast<std::size_t>(++digits[i]) < variants[i].size()) {
        i = 0;
      } else {
        digits[i++] = 0;
      }
    }
  } else {
    choices.push_back(digits);
    const auto vary = [&](std::size_t j, auto&& then) {
      for (std::size_t v = 1; v < variants[j].size(); ++v) {
        digits[j] = static_cast<std::int32_t>(v);
        then();
      }
      digits[j] = 0;
    };
    const auto keep = [&] {
      if (choices.size() < max_combinations) choices.push_back(digits);
    };
    for (std::size_t j = 0; j < count; ++j) vary(j, keep);
    for (std::size_t j = 0; j < count; ++j) {
      for (std::size_t k = j + 1; k < count; ++k) vary(j, [&] { vary(k, keep); });
    }
  }
  std::vector<Combination> ranked;
  std::vector<const PathVariant*> chosen(count);
  for (auto& choice : choices) {
    double cost = 0;
    for (std::size_t j = 0; j < count; ++j) {
      chosen[j] = &variants[j][choice[j]];
      cost += choice[j] != 0 ? move_cost[j] : 0;
    }
    const double bound = BoundOf(problem, chosen) - cost;
    const double estimate = EstimateOf(problem, chosen) - cost;
    ranked.push_back(
        {std::move(choice), bound, kBoundWeight * bound + (1 - kBoundWeight) * estimate});
  }
  const auto moves = [](const Combination& c) {
    return std::count_if(c.variant.begin(), c.variant.end(), [](auto v) { return v != 0; });
  };
  std::stable_sort(ranked.begin(), ranked.end(), [&](const Combination& a, const Combination& b) {
    return std::pair(-a.promise, moves(a)) < std::pair(-b.promise, moves(b));
  });
  return ranked;
}

}  // namespace yardmaster::crux
