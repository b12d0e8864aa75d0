// A decision with a memory is, to the bit, the decision without, for any history.
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/crux/decide.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

// Every number of a solution, so that a difference in the last bit is one.
std::vector<double> Numbers(const Solution& solution) {
  std::vector<double> all;
  for (const JobDecision& job : solution.jobs) {
    all.insert(all.end(), {job.communication_seconds, job.intensity, job.correction, job.priority,
                           static_cast<double>(job.level), job.offset_seconds});
    all.insert(all.end(), job.paths.begin(), job.paths.end());
  }
  for (const ContentionEdge& edge : solution.edges) {
    all.insert(all.end(), {static_cast<double>(edge.from.value), static_cast<double>(edge.to.value),
                           edge.weight});
  }
  all.push_back(solution.loss);
  all.push_back(solution.optimal_loss.value_or(-1));
  return all;
}

// A cluster that something happens to again and again, decided with one memory throughout.
class History {
 public:
  History(const testing::RandomShape& shape, std::uint64_t seed, std::int64_t event_budget)
      : shape_(shape),
        random_(seed),
        problem_(testing::RandomProblem(shape, seed)),
        event_budget_(event_budget) {}

  // Whether the decisions with and without agree.
  bool Decide() {
    Options options;
    options.search.event_budget = event_budget_;
    PresentState present;
    present.departures = std::exchange(departures_, false);
    if (holds_.jobs.size() == problem_.jobs.size() && random_.Below(10) != 0) {
      present.previous = holds_;
      present.changed = changed_;
    }
    changed_.clear();
    DecisionReport with_report;
    DecisionReport report;
    const auto with = crux::Decide(problem_, options, present, &with_report, &memory_);
    const auto without = crux::Decide(problem_, options, present, &report);
    EXPECT_TRUE(with.ok() && without.ok());
    if (!with.ok() || !without.ok()) return false;
    holds_ = *without;
    return Numbers(*with) == Numbers(*without) && with_report.events == report.events;
  }

  // Anything that may happen between two decisions of a cluster, and some that may not.
  void Happen() {
    switch (random_.Below(9)) {
      case 0:
      case 1:
        return Arrive();
      case 2:
        return Leave();
      case 3:
        return ChangeTraffic(true);
      case 4:
        return ChangeTraffic(false);
      case 5:
        return ChangePaths();
      case 6:
        return ForcePath();
      case 7:
        return ChangeLinks();
      default:
        return Reorder();
    }
  }

 private:
  std::size_t AnyJob() { return random_.Below(problem_.jobs.size()); }
  void NoteChanged(std::size_t j) {
    const ContendingJobId job(static_cast<std::int32_t>(j));
    const auto at = std::lower_bound(changed_.begin(), changed_.end(), job);
    if (at == changed_.end() || *at != job) changed_.insert(at, job);
  }

  // Anywhere in the order.
  void Arrive() {
    Problem other = testing::RandomProblem(shape_, random_.Next());
    ContendingJob job = std::move(other.jobs.front());
    job.id = StrCat("late", arrivals_++);
    const std::size_t at = random_.Below(problem_.jobs.size() + 1);
    problem_.jobs.insert(problem_.jobs.begin() + static_cast<std::ptrdiff_t>(at), std::move(job));
    if (holds_.jobs.size() + 1 != problem_.jobs.size()) return;
    JobDecision fresh;
    fresh.level = -1;
    holds_.jobs.insert(holds_.jobs.begin() + static_cast<std::ptrdiff_t>(at), std::move(fresh));
    for (ContendingJobId& j : changed_) j.value += j.index() >= at ? 1 : 0;
    NoteChanged(at);
  }
  void Leave() {
    if (problem_.jobs.size() < 3) return;
    const std::size_t at = AnyJob();
    problem_.jobs.erase(problem_.jobs.begin() + static_cast<std::ptrdiff_t>(at));
    if (at < holds_.jobs.size()) {
      holds_.jobs.erase(holds_.jobs.begin() + static_cast<std::ptrdiff_t>(at));
    }
    std::erase(changed_, ContendingJobId(static_cast<std::int32_t>(at)));
    for (ContendingJobId& j : changed_) j.value -= j.index() > at ? 1 : 0;
    departures_ = true;
  }
  // Also without saying so: traffic measured again differs a little every time.
  void ChangeTraffic(bool said) {
    const std::size_t j = AnyJob();
    ContendingJob& job = problem_.jobs[j];
    const double factor = 0.9 + 0.2 * random_.Unit();
    switch (random_.Below(4)) {
      case 0:
        job.flop_per_iteration *= factor;
        break;
      case 1:
        job.compute_seconds *= factor;
        break;
      case 2:
        job.communication_start = random_.Unit();
        break;
      default:
        for (Flow& flow : job.flows) flow.bytes *= factor;
    }
    if (said) NoteChanged(j);
  }
  // The candidates stand in another order, as after a failure, and the job chooses again.
  void ChangePaths() {
    const std::size_t j = AnyJob();
    for (Flow& flow : problem_.jobs[j].flows) {
      PathList turned;
      for (std::int32_t p = flow.paths.size() - 1; p >= 0; --p) turned.Add(flow.paths[p]);
      flow.paths = std::move(turned);
    }
    NoteChanged(j);
  }
  // Others moved the job's flows.
  void ForcePath() {
    const std::size_t j = AnyJob();
    if (j >= holds_.jobs.size()) return;
    for (std::size_t f = 0; f < holds_.jobs[j].paths.size(); ++f) {
      const auto count = static_cast<std::uint64_t>(problem_.jobs[j].flows[f].paths.size());
      holds_.jobs[j].paths[f] = static_cast<std::int32_t>(random_.Below(count));
    }
  }
  void ChangeLinks() {
    if (random_.Below(2) == 0) {
      problem_.links.push_back({StrCat("more", problem_.links.size()), 8});
    } else {
      problem_.links[random_.Below(problem_.links.size())].gbps *= 0.5 + random_.Unit();
    }
  }
  void Reorder() {
    const std::size_t a = AnyJob();
    const std::size_t b = AnyJob();
    if (std::max(a, b) >= holds_.jobs.size()) return;
    std::swap(problem_.jobs[a], problem_.jobs[b]);
    std::swap(holds_.jobs[a], holds_.jobs[b]);
    NoteChanged(a);
    NoteChanged(b);
  }

  const testing::RandomShape shape_;
  Random random_;
  Problem problem_;
  const std::int64_t event_budget_;
  Solution holds_;
  std::vector<ContendingJobId> changed_;
  bool departures_ = false;
  int arrivals_ = 0;
  DecisionMemory memory_;
};

void ExpectSame(const testing::RandomShape& shape, int histories, int steps,
                std::int64_t event_budget) {
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(Rounds(histories)); ++seed) {
    History history(shape, seed, event_budget);
    ASSERT_TRUE(history.Decide()) << seed;
    for (int step = 0; step < steps; ++step) {
      for (std::uint64_t n = 0; n <= (seed + static_cast<std::uint64_t>(step)) % 3; ++n) {
        history.Happen();
      }
      ASSERT_TRUE(history.Decide()) << "history " << seed << ", step " << step;
    }
  }
}

TEST(DecisionMemory, FewJobsAreDecidedAsWithout) {
  ExpectSame({.jobs = 6, .links = 8, .levels = 3, .flows = 3, .candidates = 3}, 40, 30, 20'000);
}

TEST(DecisionMemory, ManyJobsAreDecidedAsWithout) {
  // More than are searched as components, few enough links that most of them contend.
  ExpectSame({.jobs = 80, .links = 120, .levels = 4, .flows = 3, .candidates = 3}, 8, 30, 20'000);
}

TEST(DecisionMemory, StorageAndSeveralStartsAreCountedAsWithout) {
  ExpectSame({.jobs = 30,
              .links = 40,
              .levels = 4,
              .flows = 4,
              .candidates = 3,
              .several_starts = true,
              .storage = true},
             20, 30, 0);
}

TEST(DecisionMemory, JobsThatHardlyMeetAreDecidedAsWithout) {
  ExpectSame({.jobs = 60, .links = 600, .levels = 8, .flows = 4, .candidates = 2}, 10, 40, 0);
}

TEST(DecisionMemory, NothingIsSimulatedOrCutAgainWhereNothingHappened) {
  const Problem problem = testing::RandomProblem(
      {.jobs = 40, .links = 30, .levels = 3, .flows = 3, .candidates = 3}, 1);
  DecisionMemory memory;
  Options options;
  options.search.event_budget = 0;
  PresentState present;
  present.previous = *Decide(problem, options, present, nullptr, &memory);
  const std::size_t cuts = memory.cuts.pieces.size();
  ASSERT_GT(cuts, 0u);
  const std::vector<double> before = Numbers(*present.previous);
  EXPECT_EQ(Numbers(*Decide(problem, options, present, nullptr, &memory)), before);
  EXPECT_EQ(memory.cuts.pieces.size(), cuts);
}

}  // namespace
}  // namespace yardmaster::crux
