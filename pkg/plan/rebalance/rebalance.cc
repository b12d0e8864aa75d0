#include "pkg/plan/rebalance/rebalance.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/placement/worker_need.h"
#include "pkg/plan/queue.h"
#include "pkg/plan/rebalance/consolidation.h"
#include "pkg/plan/rebalance/fleet.h"

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using placement::Cluster;
using placement::GangPlan;
using placement::Objective;
using placement::Outcome;

std::string NameOf(const JobState& state) {
  return state.owner.empty() ? state.job.key.text() : state.owner;
}

std::string GpusText(double gpus) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", gpus);
  return text;
}

// A move of one gang to a better place.
struct Candidate {
  JobId job;
  std::vector<HostId> to;
  FleetObjective after;
};

class Rebalancer {
 public:
  Rebalancer(const Snapshot& snapshot, const std::vector<MoveTerms>& terms,
             const RebalanceOptions& options)
      : options_(options), fleet_(snapshot, terms, options) {}

  absl::StatusOr<Rebalancing> Run() {
    out_.before = fleet_.Value();
    // Half of the plans for waiting gangs, the rest for better places.
    fleet_.AllowPlans(options_.max_plans / 2);
    const std::vector<JobId> waiting = fleet_.waiting();
    for (const JobId job : waiting) {
      YM_ASSIGN_OR_RETURN(const bool admitted, AdmitByMoves(job));
      if (!admitted && WaitedLongEnough(fleet_.now(), job)) break;
    }
    out_.is_cut = fleet_.is_cut();
    fleet_.AllowPlans(options_.max_plans - options_.max_plans / 2);
    while (moves_left() > 0) {
      const std::optional<Candidate> best = BestCandidate();
      if (!best) break;
      YM_RETURN_IF_ERROR(Record(best->job, best->to));
      out_.moves.back().why = WhyBetter(out_.moves.back());
    }
    out_.after = fleet_.Value();
    out_.is_cut |= fleet_.is_cut();
    return std::move(out_);
  }

 private:
  int moves_left() const { return options_.max_moves - static_cast<int>(out_.moves.size()); }

  // Makes the move and adds it to the answer, without the reason.
  absl::Status Record(JobId job, const std::vector<HostId>& to) {
    Move move;
    move.job = job;
    move.from = fleet_.hosts(job);
    move.to = to;
    move.price_gpu_seconds = fleet_.PriceOf(job);
    const Objective before = fleet_.PlacesOf(job);
    const double contention = fleet_.Value().contention_gpus;
    YM_RETURN_IF_ERROR(fleet_.MoveTo(job, to));
    const Objective after = fleet_.PlacesOf(job);
    move.gain.segments = before.segments - after.segments;
    move.gain.domains = before.domains - after.domains;
    move.gain.contention_gpus = contention - fleet_.Value().contention_gpus;
    move.gain.gpu_seconds = move.gain.contention_gpus * fleet_.HorizonOf(job);
    out_.moves.push_back(std::move(move));
    return absl::OkStatus();
  }

  // GPU seconds that a waiting gang gains by starting now.
  double GainOfStart(JobId waiting) const {
    double seconds = options_.horizon_seconds;
    if (const auto run = fleet_.state(waiting).job.run_seconds) seconds = std::min(seconds, *run);
    const Snapshot& now = fleet_.now();
    const auto later = Reserve(now, now.cluster, waiting, options_.placement);
    if (later && later->start_ms) {
      seconds = std::min(seconds, static_cast<double>(*later->start_ms - now.now_ms) / 1000);
    }
    return std::max(0.0, seconds) * static_cast<double>(fleet_.state(waiting).job.gpus());
  }

  absl::StatusOr<bool> AdmitByMoves(JobId waiting) {
    if (moves_left() <= 0 || fleet_.is_cut()) return false;
    const std::optional<Consolidation> found = Consolidate(fleet_, waiting, moves_left());
    if (!found) return false;
    const double gained = GainOfStart(waiting);
    double price = 0;
    for (const PlannedMove& move : found->moves) price += fleet_.PriceOf(move.job);
    if (gained < options_.min_gain * price) return false;
    for (std::size_t i = 0; i < found->moves.size(); ++i) {
      YM_RETURN_IF_ERROR(Record(found->moves[i].job, found->moves[i].to));
      const std::size_t more = found->moves.size() - i - 1;
      out_.moves.back().why = StrCat(
          "makes place for ", NameOf(fleet_.state(waiting)), ", which then fits",
          more == 0 ? std::string()
                    : StrCat(" after ", Count(static_cast<std::int64_t>(more), "more move")));
    }
    out_.moves.back().gain.admits.push_back(waiting);
    out_.moves.back().gain.gpu_seconds += gained;
    YM_RETURN_IF_ERROR(fleet_.Admit(waiting, found->place));
    return true;
  }

  // Whether `candidate` is an improvement that is worth its price. Fills in what it gains.
  bool IsWorthIt(Candidate& candidate) {
    const FleetObjective before = fleet_.Value();
    candidate.after.waiting = before.waiting;
    candidate.after.contention_gpus = before.contention_gpus;
    const bool is_better_place = candidate.after.places < before.places;
    // Where GPU time is all that is gained, it pays for what the move costs.
    const double at_least = is_better_place ? options_.min_gain : std::max(1.0, options_.min_gain);
    // More than all that is lost is not gained.
    if (before.contention_gpus * fleet_.HorizonOf(candidate.job) <
        at_least * fleet_.PriceOf(candidate.job)) {
      return false;
    }
    if (predictions_left_ <= 0 || options_.stop.stop_requested()) {
      out_.is_cut = true;
      return is_better_place && at_least <= 0;
    }
    --predictions_left_;
    candidate.after.contention_gpus = fleet_.ContentionAt(candidate.job, candidate.to);
    if (!IsBetter(candidate.after, before)) return false;
    if (is_better_place && at_least <= 0) return true;
    const double gained = before.contention_gpus - candidate.after.contention_gpus;
    return gained * fleet_.HorizonOf(candidate.job) >= at_least * fleet_.PriceOf(candidate.job);
  }

  // By what comes of it, then by price.
  bool IsBetterMove(const Candidate& a, const Candidate& b) const {
    if (IsBetter(a.after, b.after)) return true;
    if (IsBetter(b.after, a.after)) return false;
    return std::tuple(fleet_.PriceOf(a.job), a.job) < std::tuple(fleet_.PriceOf(b.job), b.job);
  }

  void Consider(Candidate candidate, std::optional<Candidate>& best) {
    if (!IsWorthIt(candidate)) return;
    if (!best || IsBetterMove(candidate, *best)) best = std::move(candidate);
  }

  GangPlan SearchElsewhere(JobId job, std::vector<double> uplink_load) {
    Cluster without = fleet_.now().cluster;
    placement::ReleaseHosts(without, fleet_.state(job).job, fleet_.hosts(job));
    if (!uplink_load.empty()) without.uplink_load = std::move(uplink_load);
    return fleet_.Search(without, job);
  }

  // Contention is predicted for the best places alone, because a prediction costs more than a plan.
  std::optional<Candidate> BestPlace() {
    std::vector<Candidate> better;
    for (const JobId job : fleet_.MovableGangs()) {
      const Objective present = fleet_.PlacesOf(job);
      // Nothing is better than that.
      if (present <= Objective{.fabric_pods = 1, .segments = 1, .domains = 1}) continue;
      GangPlan plan = SearchElsewhere(job, {});
      if (plan.outcome != Outcome::kPlaced || plan.objective >= present) continue;
      Candidate candidate{job, std::move(plan.host_of_rank), {}};
      candidate.after.places = Changed(fleet_.Value().places, present, plan.objective);
      better.push_back(std::move(candidate));
    }
    std::stable_sort(better.begin(), better.end(), [](const Candidate& a, const Candidate& b) {
      return a.after.places < b.after.places;
    });
    std::optional<Candidate> best;
    for (Candidate& candidate : better) {
      if (best && best->after.places < candidate.after.places) break;
      Consider(std::move(candidate), best);
    }
    return best;
  }

  // Places that are as good, and at which less is lost to contention.
  std::optional<Candidate> BestRelief() {
    std::optional<Candidate> best;
    const FleetObjective now = fleet_.Value();
    for (const JobId job : fleet_.MovableGangs()) {
      if (fleet_.is_cut() || predictions_left_ <= 0 || options_.stop.stop_requested()) break;
      const Objective present = fleet_.PlacesOf(job);
      // More than all that is lost is not gained.
      const bool may_earn = now.contention_gpus * fleet_.HorizonOf(job) >= fleet_.PriceOf(job);
      if (present.segments < 2 || now.contention_gpus <= 0 || !may_earn) continue;
      GangPlan plan = SearchElsewhere(job, fleet_.BusyUplinksWithout(job));
      if (plan.outcome != Outcome::kPlaced || plan.objective != present) continue;
      Candidate candidate{job, std::move(plan.host_of_rank), {}};
      candidate.after.places = now.places;
      Consider(std::move(candidate), best);
    }
    return best;
  }

  std::optional<Candidate> BestCandidate() {
    std::optional<Candidate> best = BestPlace();
    return best ? best : BestRelief();
  }

  std::string WhyBetter(const Move& move) const {
    const Objective at = fleet_.PlacesOf(move.job);
    std::vector<std::string> parts;
    const auto fewer = [&](std::int64_t now, std::int64_t gained, const char* what) {
      if (gained > 0) parts.push_back(StrCat(Count(now, what), " instead of ", now + gained));
    };
    fewer(at.segments, move.gain.segments, "segment");
    fewer(at.domains, move.gain.domains, "domain");
    if (move.gain.contention_gpus > 0.05) {
      parts.push_back(StrCat(GpusText(move.gain.contention_gpus), " GPUs less lost to contention"));
    }
    if (parts.empty()) return "its groups are split less";
    return Join(parts, ", ");
  }

  const RebalanceOptions& options_;
  Fleet fleet_;
  int predictions_left_ = options_.max_predictions;
  Rebalancing out_;
};

}  // namespace

absl::StatusOr<Rebalancing> ProposeMoves(const Snapshot& snapshot,
                                         const std::vector<MoveTerms>& terms,
                                         const RebalanceOptions& options) {
  if (terms.size() != snapshot.jobs.size()) {
    return absl::InvalidArgumentError(StrCat("terms of ", terms.size(), " jobs, and there are ",
                                             snapshot.jobs.size(), "; give one for each"));
  }
  return Rebalancer(snapshot, terms, options).Run();
}

}  // namespace yardmaster::plan
