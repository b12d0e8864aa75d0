#include "pkg/crux/search/schedule_evaluator.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "pkg/crux/intensity.h"
#include "pkg/crux/path_selection.h"

namespace yardmaster::crux {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSameInstant = 1e-12;
constexpr std::size_t kTableStreams = 12;

template <typename Visit>
void ForEachBit(std::uint64_t set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(std::countr_zero(set));
}

}  // namespace

double WindowOf(const Problem& problem, std::span<const ContendingJobId> jobs, double iterations) {
  LoadCounter counter(problem);
  double slowest = 0;
  for (const ContendingJobId j : jobs) {
    const ContendingJob& job = problem.jobs[j.index()];
    const double span = counter.SpanSeconds(job, SelectAlone(problem, job));
    slowest = std::max(slowest, IterationSeconds(job, span));
  }
  return slowest * iterations;
}

bool ScheduleEvaluator::Fits(const Problem& problem, std::span<const ContendingJobId> jobs) {
  std::size_t streams = 0;
  for (const ContendingJobId j : jobs) streams += MergedStreamCount(problem.jobs[j.index()]);
  return streams <= kMaxStreams;
}

ScheduleEvaluator::JobRun ScheduleEvaluator::LoadJob(const ContendingJob& job,
                                                     const std::vector<Stream>& streams) {
  JobRun run{job.compute_seconds,
             job.flop_per_iteration / job.compute_seconds,
             0,
             0,
             {},
             0,
             0,
             0,
             0,
             0,
             1};
  for (const Stream& stream : streams) {
    const std::uint64_t bit = std::uint64_t{1} << streams_.size();
    streams_.push_back({stream.bytes, 0, 0});
    run.streams |= bit;
    if (stream.background) run.background |= bit;
    const Batch batch{stream.start, stream.every_iterations, bit};
    const auto at = std::find_if(run.batches.begin(), run.batches.end(), [&](const Batch& other) {
      return std::tie(other.start, other.every) >= std::tie(batch.start, batch.every);
    });
    const bool known =
        at != run.batches.end() && at->start == batch.start && at->every == batch.every;
    if (known) {
      at->streams |= bit;
    } else {
      run.batches.insert(at, batch);
    }
  }
  return run;
}

void ScheduleEvaluator::Load(std::span<const ContendingJobId> jobs, const Paths& paths,
                             std::span<const std::int32_t> levels) {
  std::vector<std::vector<Stream>> streams;
  for (const Merging merging : {Merging::kRings, Merging::kJobs}) {
    streams.clear();
    std::size_t count = 0;
    for (const ContendingJobId j : jobs) {
      streams.push_back(StreamsOf(problem_.jobs[j.index()], paths[j.index()], merging));
      count += streams.back().size();
    }
    if (count <= kMaxStreams) break;
  }
  jobs_.clear();
  streams_.clear();
  active_ = 0;
  std::uint64_t background = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    JobRun job = LoadJob(problem_.jobs[jobs[i].index()], streams[i]);
    // At time 0 every job may begin to communicate.
    BeginIteration(job, 0, job.batches.empty() ? 0 : job.batches.front().start);
    background |= job.background;
    jobs_.push_back(std::move(job));
  }
  LoadLinks(streams);
  std::vector<std::int32_t> places(jobs.size());
  std::iota(places.begin(), places.end(), 0);
  const auto level_at = [&](std::int32_t place) { return levels[jobs[place].index()]; };
  std::stable_sort(places.begin(), places.end(),
                   [&](std::int32_t a, std::int32_t b) { return level_at(a) > level_at(b); });
  level_streams_.clear();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool same = i > 0 && level_at(places[i]) == level_at(places[i - 1]);
    if (!same) level_streams_.push_back(0);
    level_streams_.back() |= jobs_[places[i]].streams & ~background;
  }
  level_streams_.push_back(background);
  rates_.clear();
  map_.clear();
  table_.assign(streams_.size() <= kTableStreams ? std::size_t{1} << streams_.size() : 0, -1);
}

// Of links with the same users only those are kept that some user fills more than on every other.
void ScheduleEvaluator::LoadLinks(std::span<const std::vector<Stream>> streams) {
  std::map<std::int32_t, std::vector<std::pair<int, double>>> by_link;
  int number = 0;
  for (const auto& of_job : streams) {
    for (const Stream& stream : of_job) {
      for (std::size_t i = 0; i < stream.links.size(); ++i) {
        by_link[stream.links[i]].emplace_back(number, stream.uses[i]);
      }
      ++number;
    }
  }
  std::map<std::uint64_t, std::vector<Bottleneck>> by_users;
  const auto covers = [](const Bottleneck& a, const Bottleneck& b) {
    for (std::size_t i = 0; i < a.uses.size(); ++i) {
      if (a.uses[i].second * b.bytes_per_second < b.uses[i].second * a.bytes_per_second) {
        return false;
      }
    }
    return true;
  };
  for (auto& [link, uses] : by_link) {
    Bottleneck fresh{0, std::move(uses), BytesPerSecond(problem_.links[link]), 0};
    for (const auto& [stream, use] : fresh.uses) fresh.users |= std::uint64_t{1} << stream;
    std::vector<Bottleneck>& same = by_users[fresh.users];
    if (std::any_of(same.begin(), same.end(),
                    [&](const Bottleneck& other) { return covers(other, fresh); })) {
      continue;
    }
    std::erase_if(same, [&](const Bottleneck& other) { return covers(fresh, other); });
    same.push_back(std::move(fresh));
  }
  links_.clear();
  for (auto& [users, same] : by_users) {
    for (Bottleneck& link : same) links_.push_back(std::move(link));
  }
}

void ScheduleEvaluator::BeginIteration(JobRun& job, double now, double computed_share) {
  job.compute_began = now;
  job.compute_ends = now + (1 - computed_share) * job.compute;
  job.next = 0;
  AwaitBatch(job, now);
}

// Sets when the next batch of this iteration starts. REQUIRES: the job computes.
void ScheduleEvaluator::AwaitBatch(JobRun& job, double now) {
  const auto runs = [&](const Batch& batch) { return job.iteration % batch.every == 0; };
  while (job.next < job.batches.size() && !runs(job.batches[job.next])) ++job.next;
  job.ready_at = kInfinity;
  if (job.next == job.batches.size()) return;
  const double hidden = (1 - job.batches[job.next].start) * job.compute;
  job.ready_at = std::max(now, job.compute_ends - hidden);
}

// Progressive filling: the link that can give its users least gives it to them, and so on.
void ScheduleEvaluator::DivideLevel(std::uint64_t streams) {
  const auto weight = [](const Bottleneck& link, std::uint64_t users) {
    double sum = 0;
    for (const auto& [stream, use] : link.uses) {
      if (users >> stream & 1) sum += use;
    }
    return sum;
  };
  while (streams != 0) {
    const Bottleneck* least = nullptr;
    double min_share = kInfinity;
    for (const Bottleneck& link : links_) {
      if ((link.users & streams) == 0) continue;
      const double share = link.left / weight(link, streams);
      if (share < min_share) {
        min_share = share;
        least = &link;
      }
    }
    const std::uint64_t served = least->users & streams;
    ForEachBit(served, [&](int s) { streams_[s].rate = min_share; });
    for (Bottleneck& link : links_) {
      if ((link.users & served) == 0) continue;
      link.left = std::max(0.0, link.left - min_share * weight(link, served));
    }
    streams &= ~served;
  }
}

void ScheduleEvaluator::DivideActive() {
  for (Bottleneck& link : links_) link.left = link.bytes_per_second;
  for (const std::uint64_t level : level_streams_) DivideLevel(level & active_);
}

// In the order of the bits of active_; valid until asked again.
const double* ScheduleEvaluator::RatesOfActive() {
  std::int32_t& at = table_.empty() ? map_.try_emplace(active_, -1).first->second : table_[active_];
  if (at < 0) {
    at = static_cast<std::int32_t>(rates_.size());
    DivideActive();
    ForEachBit(active_, [&](int f) { rates_.push_back(streams_[f].rate); });
  }
  return rates_.data() + at;
}

double ScheduleEvaluator::NextEvent(double now) const {
  double next = kInfinity;
  for (const JobRun& job : jobs_) next = std::min({next, job.ready_at, job.compute_ends});
  ForEachBit(active_, [&](int f) {
    if (streams_[f].rate > 0) next = std::min(next, now + streams_[f].remaining / streams_[f].rate);
  });
  return next;
}

void ScheduleEvaluator::Advance(double now, double next) {
  ForEachBit(active_, [&](int f) {
    Moving& flow = streams_[f];
    const double left = flow.remaining - flow.rate * (next - now);
    // What is left takes less than an instant.
    const bool done = left <= flow.rate * kSameInstant * std::max(1.0, next);
    flow.remaining = done ? 0 : left;
    if (done && flow.rate > 0) active_ &= ~(std::uint64_t{1} << f);
  });
}

bool ScheduleEvaluator::StartBatch(JobRun& job, double now, double together) {
  if (job.ready_at > together) return false;
  const std::uint64_t streams = job.batches[job.next].streams;
  active_ |= streams;
  ForEachBit(streams, [&](int f) { streams_[f].remaining = streams_[f].bytes; });
  ++job.next;
  AwaitBatch(job, now);
  return true;
}

bool ScheduleEvaluator::IterationIsDone(const JobRun& job) const {
  if (job.compute_ends < kInfinity || job.ready_at < kInfinity) return false;
  std::uint64_t awaited = job.streams & ~job.background;
  for (const Batch& batch : job.batches) {
    // What is still written of the last time has to be done where it runs again.
    if ((job.iteration + 1) % batch.every == 0) awaited |= batch.streams;
  }
  return (active_ & awaited) == 0;
}

void ScheduleEvaluator::UpdateRates(double now) {
  const double together = now + kSameInstant * std::max(1.0, now);
  for (JobRun& job : jobs_) {
    // Several of these can fall on one instant, in this order.
    for (bool again = true; again && !exhausted(); budget_.Spend(1)) {
      again = StartBatch(job, now, together);
      if (again) continue;
      if (job.compute_ends <= together) {
        job.computed += now - job.compute_began;
        job.compute_ends = kInfinity;
      }
      if (IterationIsDone(job)) {
        ++job.iteration;
        BeginIteration(job, now, 0);
        again = job.ready_at <= together || job.compute_ends <= together;
      }
    }
  }
}

double ScheduleEvaluator::FlopRate(std::span<const ContendingJobId> jobs, const Paths& paths,
                                   std::span<const std::int32_t> levels) {
  job_rates_.assign(jobs.size(), 0);
  if (exhausted()) return 0;
  Load(jobs, paths, levels);
  double now = 0;
  UpdateRates(now);
  while (!exhausted()) {
    budget_.Spend(1);
    const double* rate = RatesOfActive();
    ForEachBit(active_, [&](int s) { streams_[s].rate = *rate++; });
    const double next = NextEvent(now);
    if (next > window_seconds_) break;
    Advance(now, next);
    now = next;
    UpdateRates(now);
  }
  double flop = 0;
  job_rates_.clear();
  for (const JobRun& job : jobs_) {
    const double under_way = job.compute_ends < kInfinity ? window_seconds_ - job.compute_began : 0;
    const double of_job = job.flop_per_second * (job.computed + under_way);
    flop += of_job;
    job_rates_.push_back(of_job / window_seconds_);
  }
  return flop / window_seconds_;
}

}  // namespace yardmaster::crux
