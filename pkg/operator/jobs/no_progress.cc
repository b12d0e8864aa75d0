#include "pkg/operator/jobs/no_progress.h"

#include <algorithm>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

using api::ProcessActivity;

constexpr std::size_t kShownSuspects = 3;

struct Waiting {
  int rank = 0;
  std::int64_t since_ms = 0;
  const api::ProgressReport* report = nullptr;
};

// In the order of their ranks.
std::vector<Waiting> WaitingWorkers(const JobObservation& job) {
  std::vector<Waiting> waiting;
  const std::int64_t attempt_ms = job.now_ms - job.running_ms;
  for (int rank = 0; rank < job.ranks(); ++rank) {
    const Worker& worker = job.workers[static_cast<std::size_t>(rank)];
    if (!worker.progress || worker.progress->state != api::ProgressState::kWaiting) continue;
    const std::int64_t since_ms = worker.progress->last_progress_ms;
    if (since_ms < attempt_ms || job.IsAhead(since_ms)) continue;
    const std::int64_t time_ms = worker.progress->time_ms;
    if (job.now_ms - time_ms > api::kProgressLifeMs || job.IsAhead(time_ms)) continue;
    waiting.push_back({rank, since_ms, &*worker.progress});
  }
  return waiting;
}

// In the present attempt.
bool SaysTrainingIsOver(const JobObservation& job) {
  const std::int64_t attempt_ms = job.now_ms - job.running_ms;
  return std::any_of(job.workers.begin(), job.workers.end(), [&](const Worker& worker) {
    return worker.last_checkpoint_ms != 0 && worker.last_checkpoint_ms >= attempt_ms;
  });
}

bool IsMajority(std::size_t count, const JobObservation& job) {
  return 2 * count > static_cast<std::size_t>(job.ranks());
}

// A worker that fails takes the others with it.
bool RunsTogether(const JobObservation& job) {
  return job.policy.on_worker_failure != api::OnHostLoss::kReplace && job.group_of_rank.empty();
}

std::vector<int> With(const std::vector<Waiting>& waiting, ProcessActivity activity) {
  std::vector<int> ranks;
  for (const Waiting& worker : waiting) {
    if (worker.report->processes == activity) ranks.push_back(worker.rank);
  }
  return ranks;
}

std::vector<int> FirstToStop(const JobObservation& job, const std::vector<Waiting>& waiting) {
  if (waiting.size() < 3 || waiting.size() != static_cast<std::size_t>(job.ranks())) return {};
  std::vector<Waiting> order = waiting;
  std::sort(order.begin(), order.end(), [](const Waiting& a, const Waiting& b) {
    return std::pair(a.since_ms, a.rank) < std::pair(b.since_ms, b.rank);
  });
  const auto iteration_ms = static_cast<std::int64_t>(1000 * order[0].report->iteration_seconds);
  const std::int64_t apart_ms = order[1].since_ms - order[0].since_ms;
  return apart_ms > std::max(kApartMs, iteration_ms) ? std::vector<int>{order[0].rank}
                                                     : std::vector<int>();
}

std::string NamesOf(const JobObservation& job, const std::vector<int>& ranks) {
  std::string names;
  for (std::size_t i = 0; i < std::min(ranks.size(), kShownSuspects); ++i) {
    names += StrCat(i == 0 ? "" : ", ", "worker ", ranks[i], " on host ",
                    job.workers[static_cast<std::size_t>(ranks[i])].host);
  }
  if (ranks.size() > kShownSuspects)
    names += StrCat(" and ", ranks.size() - kShownSuspects, " more");
  return names;
}

class Finder {
 public:
  explicit Finder(const JobObservation& job) : job_(job), waiting_(WaitingWorkers(job)) {}

  NoProgress Run() {
    if (!FindStopped()) FindPause();
    for (const Waiting& worker : waiting_) {
      LookAgain(worker.report->time_ms + api::kProgressLifeMs + 1 - job_.now_ms);
    }
    return std::move(found_);
  }

 private:
  void LookAgain(std::int64_t ms) {
    found_.look_again_ms = std::min(found_.look_again_ms.value_or(ms), ms);
  }
  // Whether the worker has waited that long since `since_ms`; if not, the next look is when it has.
  bool HasWaited(std::int64_t since_ms, std::int64_t limit_ms) {
    const std::int64_t left_ms = since_ms + limit_ms - job_.now_ms;
    if (left_ms > 0) LookAgain(left_ms);
    return left_ms <= 0;
  }
  std::string Since(std::int64_t ms) const {
    return StrCat("the job makes no progress since ", FormatTime(ms));
  }
  std::int64_t EarliestMs() const {
    return std::min_element(
               waiting_.begin(), waiting_.end(),
               [](const Waiting& a, const Waiting& b) { return a.since_ms < b.since_ms; })
        ->since_ms;
  }

  bool FindStopped() {
    std::size_t count = 0;
    for (const Waiting& worker : waiting_) {
      if (worker.report->is_stopped() && HasWaited(worker.since_ms, kStoppedMs)) ++count;
    }
    if (count == 0 || (!RunsTogether(job_) && !IsMajority(waiting_.size(), job_))) return false;
    std::vector<int> stopped = With(waiting_, ProcessActivity::kStopped);
    found_.stall = {kCannotRun, StrCat(Since(EarliestMs()), ": of ", NamesOf(job_, stopped),
                                       " a process is stopped (state T); continue it with SIGCONT, "
                                       "or restart the job")};
    if (!IsMajority(stopped.size(), job_)) found_.suspects = std::move(stopped);
    found_.look_again_ms.reset();
    return true;
  }

  void FindPause() {
    const std::int64_t limit_ms = job_.policy.stall_seconds > 0
                                      ? std::int64_t{1000} * job_.policy.stall_seconds
                                      : kAutomaticLimitMs;
    const bool any_computes = std::any_of(
        waiting_.begin(), waiting_.end(),
        [](const Waiting& worker) { return worker.report->gpus_compute.value_or(false); });
    std::size_t count = 0;
    for (const Waiting& worker : waiting_) {
      if (HasWaited(std::max(worker.since_ms, job_.checkpoint_ms), limit_ms)) ++count;
    }
    if (any_computes || !IsMajority(count, job_)) return;
    found_.stall = {kNoProgress, StrCat(Since(EarliestMs()), ": ", FindSuspects())};
    found_.look_again_ms.reset();
  }

  // Why they are.
  std::string FindSuspects() {
    std::vector<int> in_kernel = With(waiting_, ProcessActivity::kUninterruptible);
    const std::vector<int> idle = With(waiting_, ProcessActivity::kIdle);
    const std::vector<int> busy = With(waiting_, ProcessActivity::kBusy);
    if (!in_kernel.empty()) {
      std::string why = StrCat("of ", NamesOf(job_, in_kernel),
                               " a process waits in the kernel (state D) for a device or a file "
                               "system; look at ",
                               in_kernel.size() == 1 ? "its host" : "their hosts");
      if (!IsMajority(in_kernel.size(), job_)) found_.suspects = std::move(in_kernel);
      return why;
    }
    if (!idle.empty() && 4 * idle.size() <= static_cast<std::size_t>(job_.ranks()) &&
        IsMajority(busy.size(), job_)) {
      found_.suspects = idle;
      return StrCat(NamesOf(job_, idle), " is idle while the others poll");
    }
    found_.suspects = FirstToStop(job_, waiting_);
    if (found_.suspects.empty()) return "nothing tells one worker from the others";
    return StrCat(NamesOf(job_, found_.suspects), " stopped first");
  }

  const JobObservation& job_;
  const std::vector<Waiting> waiting_;
  NoProgress found_;
};

bool SaysProgress(const Worker& worker, const JobObservation& job, std::int64_t stalled_ms) {
  return worker.progress && worker.progress->state == api::ProgressState::kProgressing &&
         worker.progress->time_ms >= stalled_ms - kSeenBeforeMs &&
         !job.IsAhead(worker.progress->time_ms);
}

}  // namespace

NoProgress FindNoProgress(const JobObservation& job) {
  return SaysTrainingIsOver(job) ? NoProgress() : Finder(job).Run();
}

bool MadeProgressSince(const JobObservation& job, std::int64_t stalled_ms) {
  if (job.has_gone_on) return true;
  if (job.checkpoint_ms > stalled_ms && !job.IsAhead(job.checkpoint_ms)) return true;
  const std::vector<Waiting> waiting = WaitingWorkers(job);
  return std::any_of(
             waiting.begin(), waiting.end(),
             [](const Waiting& worker) { return worker.report->gpus_compute.value_or(false); }) ||
         std::any_of(job.workers.begin(), job.workers.begin() + job.ranks(),
                     [&](const Worker& worker) { return SaysProgress(worker, job, stalled_ms); });
}

}  // namespace yardmaster::op
