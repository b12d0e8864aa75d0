#include "test/chaos/job_history.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "test/chaos/job_cluster.h"
#include "test/chaos/job_process.h"

namespace yardmaster::chaos {

namespace {

using nlohmann::json;

constexpr std::uint64_t kKillSalt = 0x9E3779B97F4A7C15ULL;
// From one step to the next. Grace periods, back-offs and checkpoints are over in two minutes; what
// lasts ten minutes, half an hour or an hour (the end of a row of restarts, quarantines, avoided
// hosts) ends later in a step, when no pod is made. So the seconds that kills cost decide nothing.
constexpr std::int64_t kStepMs = 430'000;
constexpr std::int64_t kWorkMs = 400'000;
constexpr int kMaxRounds = 5'000;

class JobHistory {
 public:
  explicit JobHistory(const JobHistoryOptions& options)
      : options_(options), fates_(options.seed ^ kKillSalt) {
    Restart();
  }

  JobHistoryResult Run() {
    for (int step = 0; step < options_.steps && result_.failure.empty(); ++step) {
      Random random(options_.seed * 1'000'003 + static_cast<std::uint64_t>(step));
      result_.told.push_back(cluster_.Act(random));
      kills_left_ = options_.kills_per_step;
      RunUntilStable((step + 1) * kStepMs);
      if (const std::string unfinished = cluster_.Unfinished(); !unfinished.empty()) {
        result_.failure = StrCat("after step ", step, ": ", unfinished);
      }
      result_.pictures.push_back(cluster_.Picture().dump());
    }
    result_.jobs = cluster_.jobs_made();
    return std::move(result_);
  }

 private:
  void Restart() {
    process_ = std::make_unique<JobProcess>(cluster_.server(), network_, clock_,
                                            op::PlaceOptions{.first = options_.place_first});
    process_->client().SetFates([this](const kube::Call& call) { return FateOf(call); });
  }

  // A process is killed at one of its first writes, or loses the answer of one.
  Fate FateOf(const kube::Call& call) {
    if (call.verb == kube::Verb::kGet || call.verb == kube::Verb::kList) return Fate::kDone;
    if (kills_left_ == 0 || writes_left_-- > 0) return Fate::kDone;
    writes_left_ = static_cast<int>(fates_.Below(2));
    static constexpr Fate kFates[] = {Fate::kKilledBefore, Fate::kKilledAfter, Fate::kAnswerLost};
    const Fate fate = kFates[fates_.Below(std::size(kFates))];
    if (fate == Fate::kAnswerLost) {
      ++result_.lost_answers;
    } else {
      ++result_.kills;
      --kills_left_;
    }
    return fate;
  }

  // The others go on while no operator runs.
  void Bury() {
    clock_.Advance(static_cast<std::int64_t>(fates_.Below(1'000)));
    for (std::uint64_t ticks = fates_.Below(3); ticks > 0; --ticks) cluster_.Tick();
    Restart();
  }

  // All work until nothing changes, at most kWorkMs; then time passes until `end_ms`.
  void RunUntilStable(std::int64_t end_ms) {
    const std::int64_t last_ms = end_ms - kStepMs + kWorkMs;
    for (int round = 0; round < kMaxRounds; ++round) {
      const std::int64_t before = cluster_.server().version();
      process_->Work();
      const bool killed = process_->client().killed();
      if (killed) Bury();
      const bool ticked = cluster_.Tick();
      cluster_.server().ClearCalls();
      if (killed || ticked || cluster_.server().version() != before) continue;
      const auto next_ms = process_->next_due_ms();
      if (!next_ms || *next_ms > last_ms) {
        clock_.Advance(std::max<std::int64_t>(0, end_ms - clock_.SteadyMs()));
        return;
      }
      clock_.Advance(std::max<std::int64_t>(1, *next_ms - clock_.SteadyMs()));
    }
    result_.failure = StrCat("does not come to rest after: ", result_.told.back());
  }

  const JobHistoryOptions options_;
  FakeClock clock_;
  JobCluster cluster_{clock_};
  Network network_;
  Random fates_;
  int kills_left_ = 0;
  int writes_left_ = 0;
  std::unique_ptr<JobProcess> process_;
  JobHistoryResult result_;
};

}  // namespace

JobHistoryResult RunJobHistory(const JobHistoryOptions& options) {
  return JobHistory(options).Run();
}

std::string FirstDifference(const JobHistoryResult& undisturbed, const JobHistoryResult& killed) {
  for (const JobHistoryResult* result : {&undisturbed, &killed}) {
    if (!result->failure.empty()) return result->failure;
  }
  for (std::size_t step = 0; step < undisturbed.pictures.size(); ++step) {
    if (undisturbed.pictures[step] == killed.pictures[step]) continue;
    const json was = json::parse(undisturbed.pictures[step]);
    return StrCat("after step ", step, ", ", undisturbed.told[step],
                  ", what kills changed (values with kills):\n",
                  json::diff(was, json::parse(killed.pictures[step])).dump(1), "\nsteps:\n",
                  Join(std::vector<std::string>(
                           undisturbed.told.begin(),
                           undisturbed.told.begin() + static_cast<std::ptrdiff_t>(step) + 1),
                       "\n"));
  }
  return "";
}

}  // namespace yardmaster::chaos
