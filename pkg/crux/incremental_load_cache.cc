#include "pkg/crux/incremental_load_cache.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "pkg/crux/contention.h"

namespace yardmaster::crux {
namespace {

// Where more than one in so many jobs moved, pairs are found from nothing.
constexpr std::size_t kManyMoved = 4;

bool PairBefore(const ContendingPair& p, const ContendingPair& q) {
  return std::tuple(p.a, p.b) < std::tuple(q.a, q.b);
}

}  // namespace

void IncrementalLoadCache::Clear() { *this = {}; }

// False where a link that was known is another one now.
bool IncrementalLoadCache::FollowLinks(const Problem& problem) {
  if (problem.links.size() < gbps_.size()) return false;
  for (std::size_t l = 0; l < gbps_.size(); ++l) {
    if (problem.links[l].gbps != gbps_[l]) return false;
  }
  gbps_.reserve(problem.links.size());
  for (std::size_t l = gbps_.size(); l < problem.links.size(); ++l) {
    gbps_.push_back(problem.links[l].gbps);
  }
  users_.Resize(gbps_.size());
  busy_.resize(gbps_.size(), 0);
  touched_.resize(gbps_.size(), 0);
  mean_bytes_.resize(gbps_.size(), 0);
  all_bytes_.resize(gbps_.size(), 0);
  return true;
}

std::vector<ContendingJobId> IncrementalLoadCache::MatchJobs(const Problem& problem) const {
  std::vector<ContendingJobId> before;
  before.reserve(problem.jobs.size());
  std::unordered_map<std::string_view, ContendingJobId> index;  // only looked up
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    if (j < jobs_.size() && jobs_[j].id == problem.jobs[j].id) {
      before.emplace_back(static_cast<std::int32_t>(j));
      continue;
    }
    if (index.empty()) {
      for (const ContendingJobId k : AllJobs(jobs_.size())) index.emplace(jobs_[k.index()].id, k);
    }
    const auto at = index.find(problem.jobs[j].id);
    before.push_back(at == index.end() ? ContendingJobId() : at->second);
  }
  return before;
}

std::vector<ContendingJobId> IncrementalLoadCache::Begin(const Problem& problem) {
  std::vector<ContendingJobId> before = MatchJobs(problem);
  ContendingJobId last;
  bool in_order = true;
  for (const ContendingJobId old : before) {
    if (!old.valid()) continue;
    in_order &= old > last;
    last = old;
  }
  if (!in_order || !FollowLinks(problem)) {
    Clear();
    FollowLinks(problem);
    before.assign(problem.jobs.size(), ContendingJobId());
  }
  Arrange(problem, before);
  return before;
}

// Gives jobs that stayed their new index, takes out those that left and makes room for new ones.
void IncrementalLoadCache::Arrange(const Problem& problem,
                                   const std::vector<ContendingJobId>& before) {
  const std::size_t count = before.size();
  bool same = count == jobs_.size();
  for (std::size_t j = 0; same && j < count; ++j) {
    same = before[j] == ContendingJobId(static_cast<std::int32_t>(j));
  }
  dirty_.assign(count, 0);
  if (same) return;
  std::vector<ContendingJobId> now(jobs_.size());
  for (const ContendingJobId j : AllJobs(count)) {
    if (before[j.index()].valid()) now[before[j.index()].index()] = j;
  }
  std::erase_if(draft_.pairs, [&](const ContendingPair& pair) {
    return !now[pair.a.index()].valid() || !now[pair.b.index()].valid();
  });
  for (ContendingPair& pair : draft_.pairs) {
    pair.a = now[pair.a.index()];
    pair.b = now[pair.b.index()];
  }
  dirty_.resize(std::max(count, jobs_.size()), 0);
  for (std::size_t old = 0; old < jobs_.size(); ++old) {
    if (now[old].valid()) continue;
    Remove(old);
    free_slots_.push_back(jobs_[old].slot);
  }
  dirty_.assign(count, 0);
  std::vector<CachedJob> jobs(count);
  Draft draft;
  draft.paths.resize(count);
  draft.loads.resize(count);
  draft.traffic.resize(count);
  draft.intensities.resize(count, 0);
  draft.pairs = std::move(draft_.pairs);
  std::vector<JobContention> contention(count);
  for (std::size_t j = 0; j < count; ++j) {
    if (before[j].valid()) {
      const std::size_t old = before[j].index();
      jobs[j] = std::move(jobs_[old]);
      draft.paths[j] = std::move(draft_.paths[old]);
      draft.loads[j] = std::move(draft_.loads[old]);
      draft.traffic[j] = draft_.traffic[old];
      draft.intensities[j] = draft_.intensities[old];
      contention[j] = contention_[old];
    } else {
      jobs[j].id = problem.jobs[j].id;
      if (free_slots_.empty()) {
        free_slots_.push_back(static_cast<std::int32_t>(rank_.size()));
        rank_.push_back(-1);
        period_.push_back(1);
        span_period_.push_back(1);
      }
      jobs[j].slot = free_slots_.back();
      free_slots_.pop_back();
      dirty_[j] = 1;
    }
    rank_[jobs[j].slot] = static_cast<std::int32_t>(j);
  }
  jobs_ = std::move(jobs);
  draft_ = std::move(draft);
  contention_ = std::move(contention);
}

// Whether the links kept from `begin` to `end`, of one path, were counted with these shares.
bool IncrementalLoadCache::SameShares(const CachedJob& kept, std::uint32_t begin, std::uint32_t end,
                                      std::span<const double> shares) {
  if (kept.shares.empty() && shares.empty()) return true;
  for (std::uint32_t i = begin; i < end; ++i) {
    const double before = kept.shares.empty() ? 1 : kept.shares[i];
    if (before != (shares.empty() ? 1 : shares[i - begin])) return false;
  }
  return true;
}

bool IncrementalLoadCache::Same(const CachedJob& kept, const ContendingJob& job,
                                std::span<const std::int32_t> paths) {
  if (!kept.present || kept.flows.size() != job.flows.size() ||
      kept.flop_per_iteration != job.flop_per_iteration ||
      kept.compute_seconds != job.compute_seconds ||
      kept.communication_start != job.communication_start) {
    return false;
  }
  std::uint32_t begin = 0;
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    const Flow& flow = job.flows[f];
    const CachedFlow& was = kept.flows[f];
    if (was.bytes != flow.bytes || was.start != StartOf(job, flow) ||
        was.every_iterations != flow.every_iterations || was.background != flow.background) {
      return false;
    }
    const auto path = flow.paths[paths[f]];
    if (path.size() != was.path_end - begin ||
        !std::equal(path.begin(), path.end(), kept.links.begin() + begin) ||
        !SameShares(kept, begin, was.path_end, flow.paths.shares(paths[f]))) {
      return false;
    }
    begin = was.path_end;
  }
  return true;
}

void IncrementalLoadCache::Touch(std::int32_t link) {
  if (touched_[link] != 0) return;
  touched_[link] = 1;
  touched_links_.push_back(link);
}

void IncrementalLoadCache::Remove(std::size_t j) {
  CachedJob& job = jobs_[j];
  dirty_[j] = 1;
  job.present = false;
  for (const std::int32_t link : job.used) {
    users_.Remove(job.slot, link);
    Touch(link);
  }
  job.used.clear();
  draft_.loads[j].clear();
}

// Fills mean_bytes_ and all_bytes_, and the kept job's links.
void IncrementalLoadCache::Count(const ContendingJob& job, const std::vector<std::int32_t>& paths,
                                 CachedJob& kept) {
  kept.flows.clear();
  kept.links.clear();
  kept.shares.clear();
  const bool spread = std::any_of(job.flows.begin(), job.flows.end(),
                                  [](const Flow& flow) { return !flow.paths.shares(0).empty(); });
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    const Flow& flow = job.flows[f];
    const double bytes = MeanBytes(flow);
    flow.paths.Each(paths[f], [&](std::int32_t link, double share) {
      if (all_bytes_[link] == 0) kept.used.push_back(link);
      all_bytes_[link] += bytes * share;
      if (!flow.background) mean_bytes_[link] += bytes * share;
      kept.links.push_back(link);
      if (spread) kept.shares.push_back(share);
    });
    kept.flows.push_back({flow.bytes, StartOf(job, flow), flow.every_iterations, flow.background,
                          static_cast<std::uint32_t>(kept.links.size())});
  }
  std::sort(kept.used.begin(), kept.used.end());
}

void IncrementalLoadCache::Place(const Problem& problem, std::size_t j,
                                 const std::vector<std::int32_t>& paths,
                                 std::optional<LoadCounter>& spans) {
  const ContendingJob& job = problem.jobs[j];
  CachedJob& kept = jobs_[j];
  dirty_[j] = 1;
  kept.present = true;
  kept.flop_per_iteration = job.flop_per_iteration;
  kept.compute_seconds = job.compute_seconds;
  kept.communication_start = job.communication_start;
  Count(job, paths, kept);
  std::vector<LinkSeconds>& loads = draft_.loads[j];
  loads.clear();
  loads.reserve(kept.used.size());
  for (const std::int32_t link : kept.used) {
    const double seconds = mean_bytes_[link] / BytesPerSecond(problem.links[link]);
    if (mean_bytes_[link] > 0) loads.push_back({link, seconds});
    users_.Add(kept.slot, {link, seconds, all_bytes_[link]}, rank_);
    Touch(link);
    mean_bytes_[link] = all_bytes_[link] = 0;
  }
  draft_.paths[j] = paths;
  draft_.traffic[j] = TrafficOf(job, loads);
  draft_.intensities[j] = draft_.traffic[j].intensity;
  const double communication = draft_.traffic[j].communication_seconds;
  period_[kept.slot] = IterationSeconds(job, communication);
  span_period_[kept.slot] = period_[kept.slot];
  if (!StartsTogether(job)) {
    if (!spans) spans.emplace(problem);
    span_period_[kept.slot] = IterationSeconds(job, spans->SpanSeconds(job, paths));
  }
}

void IncrementalLoadCache::Follow(const Problem& problem, const Paths& paths,
                                  std::span<const char> absent) {
  std::optional<LoadCounter> spans;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    if (absent[j] != 0) {
      if (jobs_[j].present) Remove(j);
      continue;
    }
    if (Same(jobs_[j], problem.jobs[j], paths[j])) {
      draft_.paths[j] = paths[j];
      continue;
    }
    if (jobs_[j].present) Remove(j);
    Place(problem, j, paths[j], spans);
  }
}

void IncrementalLoadCache::Move(const Problem& problem, std::span<const ContendingJobId> jobs,
                                const Paths& paths) {
  std::optional<LoadCounter> spans;
  for (const ContendingJobId j : jobs) {
    if (jobs_[j.index()].present) Remove(j.index());
    Place(problem, j.index(), paths[j.index()], spans);
  }
}

double IncrementalLoadCache::BusyWith(std::int32_t link) const { return BusyWithout(link, {}); }

double IncrementalLoadCache::BusyWithout(std::int32_t link,
                                         std::span<const ContendingJobId> jobs) const {
  const double seconds_per_byte = 1 / (gbps_[link] * 1e9 / 8);
  double busy = 0;
  users_.Each(link, [&](std::int32_t slot, double, double bytes) {
    if (std::binary_search(jobs.begin(), jobs.end(), ContendingJobId(rank_[slot]))) return;
    busy += bytes / span_period_[slot] * seconds_per_byte;
  });
  return busy;
}

Paths IncrementalLoadCache::ReselectAsIfNew(const Problem& problem,
                                            std::span<const ContendingJobId> jobs,
                                            const PathSelectionOptions& options) {
  class Others final : public BaseLoad {
   public:
    Others(const IncrementalLoadCache& all, std::span<const ContendingJobId> without)
        : all_(all), without_(without) {}
    double BusyWith(std::int32_t link) const override { return all_.BusyWithout(link, without_); }

   private:
    const IncrementalLoadCache& all_;
    const std::span<const ContendingJobId> without_;
  };
  const Paths none(problem.jobs.size());
  return ReselectPaths(problem, none, jobs, options, Others(*this, jobs), path_space_);
}

void IncrementalLoadCache::Refresh() {
  RefreshPairs();
  RefreshBusy();
  RefreshContention();
  for (const std::int32_t link : touched_links_) touched_[link] = 0;
  touched_links_.clear();
  std::fill(dirty_.begin(), dirty_.end(), 0);
}

// The pairs of jobs that moved, put among those of the others.
void IncrementalLoadCache::RefreshPairs() {
  const auto moved = static_cast<std::size_t>(std::count(dirty_.begin(), dirty_.end(), 1));
  if (moved == 0) return;
  if (moved * kManyMoved > jobs_.size()) {
    draft_.pairs = ContendingPairs(static_cast<std::int32_t>(gbps_.size()), draft_.loads);
    return;
  }
  std::erase_if(draft_.pairs, [&](const ContendingPair& pair) {
    return dirty_[pair.a.index()] != 0 || dirty_[pair.b.index()] != 0;
  });
  std::vector<ContendingPair> fresh;
  for (const ContendingJobId job : AllJobs(jobs_.size())) {
    if (dirty_[job.index()] == 0) continue;
    for (const LinkSeconds& load : draft_.loads[job.index()]) {
      users_.Each(load.link, [&](std::int32_t slot, double seconds, double) {
        const ContendingJobId other(rank_[slot]);
        // Of two that both moved the lower one finds the pair.
        if (other == job || seconds == 0 || (dirty_[other.index()] != 0 && other < job)) return;
        fresh.push_back(job < other ? ContendingPair{job, other, load.seconds, seconds}
                                    : ContendingPair{other, job, seconds, load.seconds});
      });
    }
  }
  KeepFullestLinks(fresh);
  std::vector<ContendingPair> all;
  all.reserve(draft_.pairs.size() + fresh.size());
  std::merge(draft_.pairs.begin(), draft_.pairs.end(), fresh.begin(), fresh.end(),
             std::back_inserter(all), PairBefore);
  draft_.pairs = std::move(all);
}

void IncrementalLoadCache::RefreshBusy() {
  std::vector<char> concerned(jobs_.size(), 0);
  for (std::size_t j = 0; j < jobs_.size(); ++j) concerned[j] = dirty_[j];
  for (const std::int32_t link : touched_links_) {
    double busy = 0;
    users_.Each(link, [&](std::int32_t slot, double seconds, double) {
      if (seconds > 0) busy += seconds / period_[slot];
      concerned[rank_[slot]] = 1;
    });
    busy_[link] = busy;
  }
  contention_.resize(jobs_.size());
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    if (concerned[j] == 0) continue;
    double fullest = 0;
    for (const LinkSeconds& load : draft_.loads[j]) fullest = std::max(fullest, busy_[load.link]);
    contention_[j].fullest_load = fullest;
  }
}

void IncrementalLoadCache::RefreshContention() {
  const auto components = Components(static_cast<std::int32_t>(jobs_.size()), draft_.pairs);
  for (std::size_t c = 0; c < components.size(); ++c) {
    for (const ContendingJobId j : components[c]) {
      contention_[j.index()].component = static_cast<std::int32_t>(c);
      contention_[j.index()].component_jobs = static_cast<std::int32_t>(components[c].size());
    }
  }
}

}  // namespace yardmaster::crux
