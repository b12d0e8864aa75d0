#include "pkg/crux/path_selection.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/crux/intensity.h"

namespace yardmaster::crux {
namespace {

// Candidates looked at when a job's lone communication time is estimated.
constexpr std::int32_t kEstimateCandidates = 16;

// What flows put on links, in share of time. Links are looked at when a path first leads over them;
// a large fabric has many that none does. Gives its space back as it found it.
class LinkLoad {
 public:
  LinkLoad(const Problem& problem, PathSpace& space, const BaseLoad* base = nullptr)
      : problem_(problem), base_(base), space_(space) {
    space.busy.resize(problem.links.size(), 0);
    space.alone.resize(problem.links.size(), 0);
    space.seconds_per_byte.resize(problem.links.size(), 0);
  }
  ~LinkLoad() {
    for (const std::int32_t link : known_) {
      space_.busy[link] = space_.alone[link] = space_.seconds_per_byte[link] = 0;
    }
  }
  LinkLoad(const LinkLoad&) = delete;
  LinkLoad& operator=(const LinkLoad&) = delete;

  void Add(const PathList& paths, std::int32_t path, double bytes_per_second) {
    AddTo(space_.busy, paths, path, bytes_per_second);
  }
  // (fullest link, sum over links) with the flow on the path. Links of `common` do not count.
  std::pair<double, double> Congestion(const PathList& paths, std::int32_t path,
                                       double bytes_per_second,
                                       std::span<const std::int32_t> common) {
    return CongestionIn(space_.busy, paths, path, bytes_per_second, common);
  }
  std::int32_t LeastCongested(const PathList& paths, double bytes_per_second,
                              std::span<const std::int32_t> common) {
    return LeastCongestedIn(space_.busy, paths, bytes_per_second, paths.size(), common);
  }
  // The job's own choice on an empty network, among `at_most` candidates of each flow.
  std::vector<std::int32_t> ChooseAlone(const ContendingJob& job, std::int32_t at_most);

 private:
  void Know(std::int32_t link) {
    if (space_.seconds_per_byte[link] != 0) return;
    space_.seconds_per_byte[link] = 1 / BytesPerSecond(problem_.links[link]);
    if (base_ != nullptr) space_.busy[link] = base_->BusyWith(link);
    known_.push_back(link);
  }
  void AddTo(std::vector<double>& busy, const PathList& paths, std::int32_t path,
             double bytes_per_second) {
    paths.Each(path, [&](std::int32_t link, double share) {
      Know(link);
      busy[link] += bytes_per_second * share * space_.seconds_per_byte[link];
    });
  }
  std::pair<double, double> CongestionIn(const std::vector<double>& busy, const PathList& paths,
                                         std::int32_t path, double bytes_per_second,
                                         std::span<const std::int32_t> common) {
    double fullest = 0;
    double sum = 0;
    paths.Each(path, [&](std::int32_t link, double share) {
      if (std::find(common.begin(), common.end(), link) != common.end()) return;
      Know(link);
      const double with_flow =
          busy[link] + bytes_per_second * share * space_.seconds_per_byte[link];
      fullest = std::max(fullest, with_flow);
      sum += with_flow;
    });
    return {fullest, sum};
  }
  std::int32_t LeastCongestedIn(const std::vector<double>& busy, const PathList& paths,
                                double bytes_per_second, std::int32_t at_most,
                                std::span<const std::int32_t> common) {
    std::int32_t best = 0;
    auto best_congestion = CongestionIn(busy, paths, 0, bytes_per_second, common);
    const std::int32_t count = std::min(at_most, paths.size());
    for (std::int32_t p = 1; p < count; ++p) {
      const auto congestion = CongestionIn(busy, paths, p, bytes_per_second, common);
      if (congestion < best_congestion) {
        best = p;
        best_congestion = congestion;
      }
    }
    return best;
  }

  const Problem& problem_;
  const BaseLoad* const base_;
  PathSpace& space_;
  std::vector<std::int32_t> known_;
};

// The links that every path has. Few where there are many candidates, so the search ends early.
void CommonLinks(const PathList& paths, std::vector<std::int32_t>& common) {
  common.assign(paths[0].begin(), paths[0].end());
  for (std::int32_t p = 1; p < paths.size() && !common.empty(); ++p) {
    const auto path = paths[p];
    std::erase_if(common, [&](std::int32_t link) {
      return std::find(path.begin(), path.end(), link) == path.end();
    });
  }
}

// Larger flows first, then by index.
std::vector<std::int32_t> FlowOrder(const ContendingJob& job) {
  std::vector<std::int32_t> order(job.flows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return MeanBytes(job.flows[a]) > MeanBytes(job.flows[b]);
  });
  return order;
}

std::vector<std::int32_t> LinkLoad::ChooseAlone(const ContendingJob& job, std::int32_t at_most) {
  std::vector<std::int32_t> paths(job.flows.size(), 0);
  for (const std::int32_t f : FlowOrder(job)) {
    const Flow& flow = job.flows[f];
    paths[f] = LeastCongestedIn(space_.alone, flow.paths, MeanBytes(flow), at_most, {});
    AddTo(space_.alone, flow.paths, paths[f], MeanBytes(flow));
  }
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    for (const std::int32_t link : job.flows[f].paths[paths[f]]) space_.alone[link] = 0;
  }
  return paths;
}

struct Estimate {
  double intensity = 0;
  double period_seconds = 1;
};

Estimate EstimateOf(const ContendingJob& job, std::span<const std::int32_t> paths,
                    LoadCounter& counter) {
  const double seconds = counter.CommunicationSeconds(job, paths);
  const double span = StartsTogether(job) ? seconds : counter.SpanSeconds(job, paths);
  return {Intensity(job, seconds), IterationSeconds(job, span)};
}

bool HasPaths(const ContendingJob& job, const std::vector<std::int32_t>& paths) {
  if (paths.size() != job.flows.size()) return false;
  for (std::size_t f = 0; f < paths.size(); ++f) {
    if (paths[f] < 0 || paths[f] >= job.flows[f].paths.size()) return false;
  }
  return true;
}

// Storage traffic that has one path: it does not depend on the choice, so every choice counts it.
bool IsGiven(const Flow& flow) { return flow.background && flow.paths.size() == 1; }

void PlaceJob(const ContendingJob& job, double period_seconds, const PathSelectionOptions& options,
              LinkLoad& load, std::vector<std::int32_t>& paths) {
  const bool had_paths = HasPaths(job, paths);
  if (!had_paths) paths.assign(job.flows.size(), 0);
  std::vector<std::int32_t> common;
  for (const std::int32_t f : FlowOrder(job)) {
    const Flow& flow = job.flows[f];
    if (IsGiven(flow)) continue;
    const double rate = MeanBytes(flow) / period_seconds;
    if (flow.paths.size() > 1) {
      common.clear();
      if (!options.count_common_links) CommonLinks(flow.paths, common);
      const std::int32_t best = load.LeastCongested(flow.paths, rate, common);
      const double now = had_paths ? load.Congestion(flow.paths, paths[f], rate, common).first : 0;
      const double then = load.Congestion(flow.paths, best, rate, common).first;
      if (!had_paths || then < (1 - options.hysteresis) * now) paths[f] = best;
    }
    load.Add(flow.paths, paths[f], rate);
  }
}

// `load` holds what all others put on links.
Paths Choose(const Problem& problem, const Paths& previous,
             std::span<const ContendingJobId> changed, const PathSelectionOptions& options,
             std::span<const ContendingJobId> first, LoadCounter& counter, LinkLoad& load) {
  Paths paths = previous;
  std::vector<Estimate> estimates(problem.jobs.size());
  for (const ContendingJobId j : changed) {
    const ContendingJob& job = problem.jobs[j.index()];
    const bool known = HasPaths(job, paths[j.index()]);
    estimates[j.index()] = EstimateOf(
        job, known ? paths[j.index()] : load.ChooseAlone(job, kEstimateCandidates), counter);
  }
  for (const ContendingJobId j : changed) {
    const double period = estimates[j.index()].period_seconds;
    for (const Flow& flow : problem.jobs[j.index()].flows) {
      if (IsGiven(flow)) load.Add(flow.paths, 0, MeanBytes(flow) / period);
    }
  }
  std::vector<ContendingJobId> order(changed.begin(), changed.end());
  std::stable_sort(order.begin(), order.end(), [&](ContendingJobId a, ContendingJobId b) {
    return estimates[a.index()].intensity > estimates[b.index()].intensity;
  });
  std::stable_partition(order.begin(), order.end(), [&](ContendingJobId j) {
    return std::binary_search(first.begin(), first.end(), j);
  });
  for (const ContendingJobId j : order) {
    PlaceJob(problem.jobs[j.index()], estimates[j.index()].period_seconds, options, load,
             paths[j.index()]);
  }
  return paths;
}

}  // namespace

std::vector<std::int32_t> SelectAlone(const Problem& problem, const ContendingJob& job) {
  PathSpace space;
  std::int32_t most = 1;
  for (const Flow& flow : job.flows) most = std::max(most, flow.paths.size());
  return LinkLoad(problem, space).ChooseAlone(job, most);
}

Paths SelectPaths(const Problem& problem, const PathSelectionOptions& options) {
  const std::size_t count = problem.jobs.size();
  return ReselectPaths(problem, Paths(count), AllJobs(count), options);
}

Paths ReselectPaths(const Problem& problem, const Paths& previous,
                    std::span<const ContendingJobId> changed, const PathSelectionOptions& options,
                    std::span<const ContendingJobId> first) {
  PathSpace space;
  LinkLoad load(problem, space);
  LoadCounter counter(problem);
  std::vector<char> chooses(problem.jobs.size(), 0);
  for (const ContendingJobId j : changed) chooses[j.index()] = 1;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    if (chooses[j]) continue;
    const ContendingJob& job = problem.jobs[j];
    const double period = EstimateOf(job, previous[j], counter).period_seconds;
    for (std::size_t f = 0; f < job.flows.size(); ++f) {
      load.Add(job.flows[f].paths, previous[j][f], MeanBytes(job.flows[f]) / period);
    }
  }
  return Choose(problem, previous, changed, options, first, counter, load);
}

Paths ReselectPaths(const Problem& problem, const Paths& previous,
                    std::span<const ContendingJobId> changed, const PathSelectionOptions& options,
                    const BaseLoad& base, PathSpace& space) {
  LinkLoad load(problem, space, &base);
  LoadCounter counter(problem, std::move(space.bytes));
  Paths paths = Choose(problem, previous, changed, options, {}, counter, load);
  space.bytes = counter.TakeSpace();
  return paths;
}

Paths RandomPaths(const Problem& problem, std::uint64_t seed) {
  Random random(seed);
  Paths paths(problem.jobs.size());
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    for (const Flow& flow : problem.jobs[j].flows) {
      paths[j].push_back(static_cast<std::int32_t>(random.Below(flow.paths.size())));
    }
  }
  return paths;
}

}  // namespace yardmaster::crux
