#include "test/chaos/move_history.h"

#include <array>
#include <iterator>
#include <memory>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/operator/jobs/move_terms.h"
#include "test/chaos/chaos_process.h"
#include "test/chaos/job_process.h"
#include "test/chaos/move_cluster.h"

namespace yardmaster::chaos {

namespace {

using nlohmann::json;

constexpr int kPeacefulRounds = 120;

class MoveHistory {
 public:
  explicit MoveHistory(const MoveHistoryOptions& options)
      : options_(options), random_(options.seed) {
    for (int i = 0; i < 2; ++i) StartExtender(i);
    StartOperator();
  }

  MoveHistoryResult Run() {
    if (!Rest()) return std::move(result_);
    for (int move = 0; move < options_.moves; ++move) {
      const std::string id = StrCat("m", move);
      const std::string job = cluster_.AskForMove(random_, id);
      Tell(StrCat("move ", id, " of job ", job));
      for (int step = 0; step < options_.steps; ++step) {
        Step();
        if (!Check()) return std::move(result_);
      }
      if (!Rest()) return std::move(result_);
      Count(cluster_.Job(job), id);
      clock_.Advance(op::kMoveAgainMs);
    }
    return std::move(result_);
  }

 private:
  void Tell(std::string line) { result_.told.push_back(std::move(line)); }

  void StartExtender(int i) {
    extenders_[i] =
        std::make_unique<ExtenderProcess>(cluster_.server(), network_, clock_, ++lives_);
  }
  void StartOperator() {
    op::PlaceOptions place{.first = true};
    place.least_run_ms = 0;
    operator_ = std::make_unique<JobProcess>(cluster_.server(), network_, clock_, place);
    operator_->client().SetFates([this](const kube::Call& call) { return OperatorFate(call); });
  }

  Fate Note(Fate fate) {
    result_.kills += fate == Fate::kKilledBefore || fate == Fate::kKilledAfter;
    result_.lost_answers += fate == Fate::kAnswerLost || fate == Fate::kRetryConflicts;
    return fate;
  }
  static bool Reads(const kube::Call& call) {
    return call.verb == kube::Verb::kGet || call.verb == kube::Verb::kList;
  }
  Fate OperatorFate(const kube::Call& call) {
    if (peaceful_ || Reads(call) || random_.Below(6) != 0) return Fate::kDone;
    static constexpr Fate kFates[] = {Fate::kKilledBefore, Fate::kKilledAfter, Fate::kAnswerLost};
    return Note(kFates[random_.Below(std::size(kFates))]);
  }
  Fate ExtenderFate(const kube::Call& call) {
    if (peaceful_ || Reads(call) || random_.Below(5) != 0) return Fate::kDone;
    static constexpr Fate kFates[] = {Fate::kNotSent, Fate::kAnswerLost,   Fate::kRetryConflicts,
                                      Fate::kDelayed, Fate::kKilledBefore, Fate::kKilledAfter};
    return Note(kFates[random_.Below(std::size(kFates))]);
  }

  void WorkExtender(int i, bool all) {
    ExtenderProcess& extender = *extenders_[i];
    extender.TickLease();
    extender.Learn(random_, all);
    extender.client().SetFates([this](const kube::Call& call) { return ExtenderFate(call); });
    extender.Work();
    if (extender.client().killed()) StartExtender(i);
  }
  void WorkOperator() {
    operator_->Work();
    if (operator_->client().killed()) StartOperator();
  }
  bool RunPods(bool all) {
    return cluster_.RunPods(random_, all, [this](const json& pod, const std::string& node) {
      return extenders_[random_.Below(2)]->Filter(pod, node);
    });
  }

  void Step() {
    clock_.Advance(static_cast<std::int64_t>(random_.Below(1'000)));
    const auto i = static_cast<int>(random_.Below(2));
    switch (random_.Below(16)) {
      case 0:
        if (random_.Below(3) == 0) Tell(StrCat("  ", cluster_.Disturb(random_)));
        return;
      case 1:
        network_.DeliverOne(random_);
        return;
      case 2:
        extenders_[i]->client().set_cut(!extenders_[i]->client().cut());
        return;
      case 3:
        return clock_.Advance(static_cast<std::int64_t>(random_.Below(20'000)));
      case 4:
        if (random_.Below(4) == 0) StartExtender(i);
        return;
      case 5:
        if (random_.Below(4) == 0) StartOperator();
        return;
      case 6:
      case 7:
      case 8:
        RunPods(/*all=*/false);
        return;
      case 9:
      case 10:
      case 11:
        return WorkOperator();
      default:
        return WorkExtender(i, /*all=*/false);
    }
  }

  bool Check() {
    cluster_.server().ClearCalls();
    result_.failure = cluster_.BrokenPromise();
    return result_.failure.empty();
  }

  // What was on its way arrives, and all work until every job runs and none moves.
  bool Rest() {
    peaceful_ = true;
    while (network_.size() > 0) {
      network_.DeliverOne(random_);
      if (!Check()) return false;
    }
    cluster_.ReturnHosts();
    for (int round = 0; round < kPeacefulRounds; ++round) {
      clock_.Advance(10'000);  // back-offs and promises end
      for (int i = 0; i < 2; ++i) {
        extenders_[i]->client().set_cut(false);
        WorkExtender(i, /*all=*/true);
        if (!Check()) return false;
      }
      WorkOperator();
      if (!Check()) return false;
      RunPods(/*all=*/true);
      if (!Check()) return false;
      if (round >= 3 && cluster_.Unfinished().empty()) {
        peaceful_ = false;
        return true;
      }
    }
    result_.failure = StrCat("left in peace: ", cluster_.Unfinished());
    return false;
  }

  void Count(const json& job, const std::string& id) {
    const json move = job.value("/status/move"_json_pointer, json::object());
    if (move.value("id", "") != id) {
      result_.failure = StrCat("move ", id, " was not answered");
      return;
    }
    const std::string state = move["state"];
    ++(state == "Done" ? result_.done : state == "Refused" ? result_.refused : result_.abandoned);
    Tell(StrCat("  ", state, ": ", move.value("message", "")));
  }

  const MoveHistoryOptions options_;
  Random random_;
  FakeClock clock_;
  MoveCluster cluster_{clock_};
  Network network_;
  std::array<std::unique_ptr<ExtenderProcess>, 2> extenders_;
  std::unique_ptr<JobProcess> operator_;
  bool peaceful_ = true;
  int lives_ = 0;
  MoveHistoryResult result_;
};

}  // namespace

MoveHistoryResult RunMoveHistory(const MoveHistoryOptions& options) {
  return MoveHistory(options).Run();
}

}  // namespace yardmaster::chaos
