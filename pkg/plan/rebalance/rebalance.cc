#include "pkg/plan/rebalance/rebalance.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

// Nothing is better than that.
constexpr Objective kBestPlace{.fabric_pods = 1, .segments = 1, .domains = 1};
constexpr char kCutText[] = "the search ended before it was its turn";

// "2 segments instead of 3, 1 domain instead of 2".
std::vector<std::string> FewerPlaces(const Objective& before, const Objective& after) {
  std::vector<std::string> parts;
  const auto fewer = [&](std::int64_t now, std::int64_t was, const char* what) {
    if (now < was) parts.push_back(StrCat(Count(now, what), " instead of ", was));
  };
  fewer(after.segments, before.segments, "segment");
  fewer(after.domains, before.domains, "domain");
  return parts;
}

// How many places of one kind gangs cannot do without, by GPUs and on empty hosts that are not kept
// as backup.
class FewestPlaces {
 public:
  template <typename Ids>
  FewestPlaces(const Cluster& cluster, const Ids& places) {
    for (const auto place : places) {
      std::int64_t gpus = 0;
      for (const HostId host : cluster.places->hosts_of(place)) {
        const placement::HostState& state = cluster.hosts[host.index()];
        if (!state.backup) gpus += state.gpus;
      }
      gpus_.push_back(gpus);
    }
    std::sort(gpus_.begin(), gpus_.end(), std::greater<>());
  }
  std::int64_t of(std::int64_t gpus) const {
    std::int64_t count = 0;
    for (; gpus > 0 && count < std::ssize(gpus_); ++count) {
      gpus -= gpus_[static_cast<std::size_t>(count)];
    }
    return std::max<std::int64_t>(1, count);
  }

 private:
  std::vector<std::int64_t> gpus_;  // of each place, descending
};

// A move of one gang to a better place.
struct Candidate {
  JobId job;
  std::vector<HostId> to;
  FleetObjective after;
  Objective place;  // of the gang, there
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
    std::optional<JobId> first;
    for (const JobId job : waiting) {
      if (first) {
        AddStay(job, StayReason::kNoMoveHelps,
                StrCat("it comes after ", NameOf(fleet_.state(*first)), ", which gets no place"));
        continue;
      }
      YM_ASSIGN_OR_RETURN(const bool admitted, AdmitByMoves(job));
      if (!admitted && WaitedLongEnough(fleet_.now(), job)) first = job;
    }
    out_.is_cut = fleet_.is_cut();
    fleet_.AllowPlans(options_.max_plans - options_.max_plans / 2);
    while (moves_left() > 0) {
      declined_.clear();
      const std::optional<Candidate> best = BestCandidate();
      if (!best) break;
      YM_RETURN_IF_ERROR(Record(best->job, best->to));
      out_.moves.back().why = WhyBetter(out_.moves.back());
    }
    out_.after = fleet_.Value();
    out_.is_cut |= fleet_.is_cut();
    ExplainPlaces();
    return std::move(out_);
  }

 private:
  int moves_left() const { return options_.max_moves - static_cast<int>(out_.moves.size()); }

  void AddStay(JobId job, StayReason reason, std::string why) {
    out_.stays.push_back({job, reason, std::move(why)});
  }

  // "gains 0.4 GPU hours and costs 1.2; it has to gain 3.0 times its cost".
  std::string TooLittle(const char* gains, double gained, double price) const {
    return StrCat(gains, " ", Tenths(gained / 3600), " GPU hours and costs ", Tenths(price / 3600),
                  "; it has to gain ", Tenths(options_.min_gain), " times its cost");
  }

  // Of running gangs that are cut more than they have to be, or that have a better place.
  void ExplainPlaces() {
    const Cluster& cluster = fleet_.now().cluster;
    const FewestPlaces pods(cluster, cluster.places->fabric_pods());
    const FewestPlaces segments(cluster, cluster.places->segments());
    const FewestPlaces domains(cluster, cluster.places->domains());
    for (const JobId job : fleet_.now().job_ids()) {
      if (!fleet_.IsPlaced(job) || fleet_.IsMoved(job)) continue;
      const Objective place = fleet_.PlacesOf(job);
      const auto declined = declined_.find(job);
      const workload::Job& of = fleet_.state(job).job;
      const std::int64_t gpus = of.counts_gpus ? of.gpus() : 0;
      if (declined == declined_.end() && place.fabric_pods <= pods.of(gpus) &&
          place.segments <= segments.of(gpus) && place.domains <= domains.of(gpus)) {
        continue;
      }
      const std::string_view fixed = fleet_.WhyFixed(job);
      if (!fixed.empty()) {
        AddStay(job, StayReason::kNotMovable, std::string(fixed));
      } else if (declined != declined_.end()) {
        AddStay(job, StayReason::kGainsTooLittle, declined->second);
      } else if (out_.is_cut || moves_left() <= 0) {
        AddStay(job, StayReason::kSearchCut, kCutText);
      } else {
        AddStay(job, StayReason::kNoBetterPlace, "no better place is free");
      }
    }
  }

  // Makes the move and adds it to the answer, without the reason.
  absl::Status Record(JobId job, const std::vector<HostId>& to) {
    Move move;
    move.job = job;
    move.from = fleet_.hosts(job);
    move.to = to;
    move.price_gpu_seconds = fleet_.PriceOf(job);
    const Objective before = fleet_.PlacesOf(job);
    const double lost = fleet_.Value().lost_gpus;
    YM_RETURN_IF_ERROR(fleet_.MoveTo(job, to));
    const Objective after = fleet_.PlacesOf(job);
    move.gain.segments = before.segments - after.segments;
    move.gain.domains = before.domains - after.domains;
    move.gain.lost_gpus = lost - fleet_.Value().lost_gpus;
    move.gain.gpu_seconds = move.gain.lost_gpus * fleet_.HorizonOf(job);
    out_.moves.push_back(std::move(move));
    return absl::OkStatus();
  }

  // GPU seconds that a waiting gang gains by starting now.
  double GainOfStart(JobId waiting) const {
    double seconds = options_.horizon_seconds;
    if (const auto run = fleet_.state(waiting).job.run_seconds) seconds = std::min(seconds, *run);
    const Snapshot& now = fleet_.now();
    const auto later = Reserve(now, now.cluster, waiting, options_.placement);
    // Of gangs that should have ended by now nobody knows when they will.
    if (later && later->start_ms && *later->start_ms > now.now_ms) {
      seconds = std::min(seconds, static_cast<double>(*later->start_ms - now.now_ms) / 1000);
    }
    return std::max(0.0, seconds) * static_cast<double>(fleet_.state(waiting).job.gpus());
  }

  absl::StatusOr<bool> AdmitByMoves(JobId waiting) {
    std::optional<Consolidation> found;
    if (moves_left() > 0 && !fleet_.is_cut()) found = Consolidate(fleet_, waiting, moves_left());
    if (!found) {
      const bool is_cut = moves_left() <= 0 || fleet_.is_cut();
      AddStay(waiting, is_cut ? StayReason::kSearchCut : StayReason::kNoMoveHelps,
              is_cut ? kCutText : NoMoveHelpsText());
      return false;
    }
    const double gained = GainOfStart(waiting);
    double price = 0;
    for (const PlannedMove& move : found->moves) price += fleet_.PriceOf(move.job);
    if (gained < options_.min_gain * price) {
      AddStay(
          waiting, StayReason::kGainsTooLittle,
          StrCat("its start after ", Count(static_cast<std::int64_t>(found->moves.size()), "move"),
                 " ", TooLittle("gains", gained, price)));
      return false;
    }
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

  std::string NoMoveHelpsText() const {
    std::int64_t placed = 0;
    for (const JobId job : fleet_.now().job_ids()) placed += fleet_.IsPlaced(job) ? 1 : 0;
    return StrCat("no moves make place for it; ", fleet_.MovableGangs().size(), " of ",
                  Count(placed, "placed gang"), " may be moved");
  }

  // A better place is not worth its price.
  void Decline(const Candidate& candidate, const char* gains, double gained) {
    std::vector<std::string> parts = FewerPlaces(fleet_.PlacesOf(candidate.job), candidate.place);
    if (parts.empty()) parts.emplace_back("a place that splits its groups less");
    declined_[candidate.job] =
        StrCat(Join(parts, ", "), " ", TooLittle(gains, gained, fleet_.PriceOf(candidate.job)));
  }

  // Whether `candidate` is an improvement that is worth its price. Fills in what it gains.
  bool IsWorthIt(Candidate& candidate) {
    const FleetObjective before = fleet_.Value();
    candidate.after.waiting = before.waiting;
    candidate.after.lost_gpus = before.lost_gpus;
    const bool is_better_place = candidate.after.places < before.places;
    // Where GPU time is all that is gained, it pays for what the move costs.
    const double at_least = is_better_place ? options_.min_gain : std::max(1.0, options_.min_gain);
    // More than all that is lost is not gained.
    const double at_most = before.lost_gpus * fleet_.HorizonOf(candidate.job);
    if (at_most < at_least * fleet_.PriceOf(candidate.job)) {
      if (is_better_place) Decline(candidate, "gains at most", at_most);
      return false;
    }
    if (predictions_left_ <= 0 || options_.stop.stop_requested()) {
      out_.is_cut = true;
      return is_better_place && at_least <= 0;
    }
    --predictions_left_;
    candidate.after.lost_gpus = fleet_.LostGpusAt(candidate.job, candidate.to);
    if (!IsBetter(candidate.after, before)) return false;
    if (is_better_place && at_least <= 0) return true;
    const double gained =
        (before.lost_gpus - candidate.after.lost_gpus) * fleet_.HorizonOf(candidate.job);
    if (gained >= at_least * fleet_.PriceOf(candidate.job)) return true;
    if (is_better_place) Decline(candidate, "gains", gained);
    return false;
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
      if (present <= kBestPlace) continue;
      GangPlan plan = SearchElsewhere(job, {});
      if (plan.outcome != Outcome::kPlaced || plan.objective >= present) continue;
      Candidate candidate{job, std::move(plan.host_of_rank), {}, plan.objective};
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

  // Places that are as good, and at which less is lost to the network.
  std::optional<Candidate> BestRelief() {
    std::optional<Candidate> best;
    const FleetObjective now = fleet_.Value();
    for (const JobId job : fleet_.MovableGangs()) {
      if (fleet_.is_cut() || predictions_left_ <= 0 || options_.stop.stop_requested()) break;
      const Objective present = fleet_.PlacesOf(job);
      // More than all that is lost is not gained.
      const bool may_earn = now.lost_gpus * fleet_.HorizonOf(job) >= fleet_.PriceOf(job);
      if (present.segments < 2 || now.lost_gpus <= 0 || !may_earn) continue;
      GangPlan plan = SearchElsewhere(job, fleet_.BusyUplinksWithout(job));
      if (plan.outcome != Outcome::kPlaced || plan.objective != present) continue;
      Candidate candidate{job, std::move(plan.host_of_rank), {}, present};
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
    Objective before = at;
    before.segments += move.gain.segments;
    before.domains += move.gain.domains;
    std::vector<std::string> parts = FewerPlaces(before, at);
    if (move.gain.lost_gpus > 0.05) {
      parts.push_back(StrCat(Tenths(move.gain.lost_gpus), " GPUs less lost to the network"));
    }
    if (parts.empty()) return "its groups are split less";
    return Join(parts, ", ");
  }

  const RebalanceOptions& options_;
  Fleet fleet_;
  int predictions_left_ = options_.max_predictions;
  std::map<JobId, std::string> declined_;  // better places of the last round
  Rebalancing out_;
};

}  // namespace

std::string Tenths(double number) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

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
