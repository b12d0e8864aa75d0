#include "pkg/crux/starvation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "pkg/crux/intensity.h"

namespace yardmaster::crux {
namespace {

// A link that higher levels fill leaves a little, so that periods stay finite.
constexpr double kMinCapacity = 1e-3;
constexpr int kFairRounds = 30;

// Where `level` stands among the usable ones, or their number.
std::size_t PlaceOf(std::int32_t level, std::span<const std::int32_t> usable) {
  const auto at = std::find(usable.begin(), usable.end(), level);
  return static_cast<std::size_t>(at - usable.begin());
}

void CountWait(const StarvationSample& sample, double elapsed, const StarvationOptions& options,
               StarvationState& state) {
  if (!sample.share || std::isnan(*sample.share)) return;
  // The time since the last step was spent in the state of that step.
  if (*sample.share < options.min_share) {
    if (state.starving) state.below_seconds += elapsed;
    state.starving = true;
    return;
  }
  state.starving = false;
  if (*sample.share >= options.recovered_share) state.below_seconds = 0;
}

// Fluid rates on links, level after level.
class Fluid {
 public:
  Fluid(const Problem& problem, const Solution& solution)
      : problem_(problem),
        taken_(problem.links.size(), 0),
        active_(problem.links.size(), 0),
        users_(problem.links.size(), 0) {
    LoadCounter counter(problem);
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
      const ContendingJob& job = problem.jobs[j];
      loads_.push_back(counter.Count(job, solution.jobs[j].paths));
      const double longest = CommunicationSeconds(loads_[j]);
      const double span =
          StartsTogether(job) ? longest : counter.SpanSeconds(job, solution.jobs[j].paths);
      waits_.push_back(std::max(0.0, span - longest));
      before_.push_back(FirstStart(job) * job.compute_seconds);
      alone_.push_back(IterationSeconds(j, span));
      period_.push_back(alone_[j]);
    }
  }

  // REQUIRES: called from the highest level to the lowest.
  void UpdateRates(std::span<const ContendingJobId> jobs) {
    std::vector<Member> members = MembersOf(jobs);
    for (int round = 0; round < kFairRounds; ++round) {
      for (const Member& member : members) CountPresence(member, 1);
      // Presence stays what was counted until all have their next one.
      for (Member& member : members) FindNextPresence(member);
      for (Member& member : members) {
        CountPresence(member, -1);
        std::swap(member.presence, member.next_presence);
      }
    }
    for (const ContendingJobId j : jobs) {
      for (const LinkSeconds& load : loads_[j.index()])
        taken_[load.link] += load.seconds / period_[j.index()];
    }
  }

  double Share(std::size_t j) const { return std::min(1.0, alone_[j] / period_[j]); }

 private:
  // A job of the level whose rates are being updated.
  struct Member {
    ContendingJobId job;
    double longest = 0;               // on links that no other member uses, which stays
    std::vector<LinkSeconds> shared;  // on the others
    // By shared link: the share of time in which the job is transferring, and the next one.
    std::vector<double> presence;
    std::vector<double> next_presence;
  };

  std::vector<Member> MembersOf(std::span<const ContendingJobId> jobs) {
    const auto count = [&](int sign) {
      for (const ContendingJobId j : jobs) {
        for (const LinkSeconds& load : loads_[j.index()]) users_[load.link] += sign;
      }
    };
    count(1);
    std::vector<Member> members;
    members.reserve(jobs.size());
    for (const ContendingJobId j : jobs) {
      Member& member = members.emplace_back();
      member.job = j;
      for (const LinkSeconds& load : loads_[j.index()]) {
        if (users_[load.link] == 1) {
          member.longest = std::max(member.longest, load.seconds / Left(load.link));
          continue;
        }
        member.shared.push_back(load);
        member.presence.push_back(load.seconds / alone_[j.index()]);
      }
      member.next_presence.resize(member.shared.size());
    }
    count(-1);
    return members;
  }

  // What higher levels leave of a link.
  double Left(std::int32_t link) const { return std::max(kMinCapacity, 1 - taken_[link]); }

  void CountPresence(const Member& member, double sign) {
    for (std::size_t i = 0; i < member.shared.size(); ++i) {
      active_[member.shared[i].link] += sign * member.presence[i];
    }
  }

  // Moves the job's period half way, on a logarithmic scale, to what the others' presence makes of
  // it, and sets its next presence. With whole steps the periods would oscillate.
  void FindNextPresence(Member& member) {
    double longest = member.longest;
    for (std::size_t i = 0; i < member.shared.size(); ++i) {
      const std::int32_t link = member.shared[i].link;
      const double others = std::max(0.0, active_[link] - member.presence[i]);
      member.next_presence[i] = member.shared[i].seconds / (Left(link) / (1 + others));
      longest = std::max(longest, member.next_presence[i]);
    }
    const std::size_t j = member.job.index();
    period_[j] = std::sqrt(period_[j] * IterationSeconds(j, waits_[j] + longest));
    for (double& seconds : member.next_presence) seconds = std::min(1.0, seconds / period_[j]);
  }

  // As crux::IterationSeconds, which would look at every flow each time.
  double IterationSeconds(std::size_t j, double span) const {
    return std::max(problem_.jobs[j].compute_seconds, before_[j] + span);
  }

  const Problem& problem_;
  std::vector<std::vector<LinkSeconds>> loads_;
  std::vector<double> before_;  // compute until the first flow starts
  std::vector<double> waits_;   // of its span, for flows that start late
  std::vector<double> alone_;
  std::vector<double> period_;
  std::vector<double> taken_;        // share of time a link is busy with higher levels
  std::vector<double> active_;       // sum of presence on it, in the level being updated
  std::vector<std::int32_t> users_;  // of it, in the level being updated
};

}  // namespace

StarvationStep StepStarvation(const StarvationState& state, const StarvationSample& sample,
                              std::span<const std::int32_t> usable,
                              const StarvationOptions& options) {
  StarvationStep step{state, sample.planned_level, StarvationEvent::kNone, std::nullopt};
  StarvationState& next = step.state;
  const double elapsed =
      state.seen_seconds ? std::max(0.0, sample.now_seconds - *state.seen_seconds) : 0;
  next.seen_seconds = std::max(sample.now_seconds, state.seen_seconds.value_or(sample.now_seconds));
  CountWait(sample, elapsed, options, next);

  if (next.lifted > 0 && *next.seen_seconds >= next.lift_ends_seconds) {
    next.lifted = 0;
    next.below_seconds = 0;
    next.starving = false;
    step.event = StarvationEvent::kReleased;
  }
  const std::size_t place = PlaceOf(sample.planned_level, usable);
  if (place == usable.size()) {
    next.lifted = 0;
    return step;
  }
  // A plan that itself raised the job leaves less room above it.
  const auto room = static_cast<std::int32_t>(usable.size() - 1 - place);
  next.lifted = std::min(next.lifted, room);
  if (next.starving && next.below_seconds >= options.patience_seconds && next.lifted < room) {
    ++next.lifted;
    next.below_seconds = 0;
    next.lift_ends_seconds = *next.seen_seconds + options.lift_seconds;
    step.event = StarvationEvent::kLifted;
  }
  step.level = usable[place + static_cast<std::size_t>(next.lifted)];
  if (next.lifted > 0) step.look_again_seconds = next.lift_ends_seconds;
  return step;
}

std::vector<double> PredictedShares(const Problem& problem, const Solution& solution,
                                    std::span<const std::int32_t> levels) {
  const std::size_t count = problem.jobs.size();
  const auto level_of = [&](ContendingJobId j) {
    return levels.empty() ? solution.jobs[j.index()].level : levels[j.index()];
  };
  std::vector<ContendingJobId> order = AllJobs(count);
  std::stable_sort(order.begin(), order.end(),
                   [&](ContendingJobId a, ContendingJobId b) { return level_of(a) > level_of(b); });
  Fluid fluid(problem, solution);
  for (std::size_t begin = 0; begin < count;) {
    std::size_t end = begin;
    while (end < count && level_of(order[end]) == level_of(order[begin])) ++end;
    fluid.UpdateRates({order.data() + begin, end - begin});
    begin = end;
  }
  std::vector<double> shares;
  for (std::size_t j = 0; j < count; ++j) shares.push_back(fluid.Share(j));
  return shares;
}

}  // namespace yardmaster::crux
