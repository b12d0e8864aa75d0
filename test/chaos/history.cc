#include "test/chaos/history.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "test/chaos/chaos_cluster.h"
#include "test/chaos/chaos_process.h"

namespace yardmaster::chaos {

namespace {

constexpr std::uint64_t kStepSalt = 0x9E3779B97F4A7C15ULL;
constexpr int kPeacefulRounds = 80;

class History {
 public:
  explicit History(const HistoryOptions& options) : options_(options) {
    for (int i = 0; i < 2; ++i) {
      StartExtender(i);
      StartOperator(i);
    }
  }

  HistoryResult Run();

 private:
  void StartExtender(int i) {
    extenders_[i] =
        std::make_unique<ExtenderProcess>(cluster_.server(), network_, clock_, ++lives_);
  }
  void StartOperator(int i) {
    operators_[i] =
        std::make_unique<OperatorProcess>(cluster_.server(), network_, clock_, ++lives_);
  }
  // One thing that happens. `nested`: while the call of an extender is stalled, which is left
  // alone.
  void Step(Random& random, int stalled_extender);
  void ActOnProcesses(Random& random, int stalled_extender);
  void ActOnCluster(Random& random);
  void Work(Process& process, Random& random, int extender);
  void Schedule(Process& process, Random& random, int extender);
  // kube-scheduler asks either extender, for each pod again.
  void RunScheduler(Random& random) {
    cluster_.RunScheduler([&](const nlohmann::json& pod, const std::string& node) {
      return extenders_[random.Below(2)]->Filter(pod, node);
    });
  }
  bool Check(int step);
  void EndInPeace();
  void Tell(std::string line) { result_.told.push_back(std::move(line)); }

  const HistoryOptions options_;
  FakeClock clock_;
  ChaosCluster cluster_{clock_};
  Network network_;
  std::array<std::unique_ptr<ExtenderProcess>, 2> extenders_;
  std::array<std::unique_ptr<OperatorProcess>, 2> operators_;
  int lives_ = 0;
  HistoryResult result_;
};

const char* NameOf(Fate fate) {
  switch (fate) {
    case Fate::kDone:
      return "done";
    case Fate::kNotSent:
      return "not sent";
    case Fate::kAnswerLost:
      return "answer lost";
    case Fate::kRetryConflicts:
      return "answer lost, retry conflicts";
    case Fate::kDelayed:
      return "delayed";
    case Fate::kStalled:
      return "stalled";
    case Fate::kKilledBefore:
      return "killed before";
    case Fate::kKilledAfter:
      return "killed after";
  }
  return "";
}

// Of the process's next work: the n-th write has a fate, and perhaps all that follow within some.
void History::Schedule(Process& process, Random& random, int extender) {
  static constexpr Fate kFates[] = {Fate::kNotSent,      Fate::kAnswerLost, Fate::kRetryConflicts,
                                    Fate::kDelayed,      Fate::kStalled,    Fate::kStalled,
                                    Fate::kKilledBefore, Fate::kKilledAfter};
  const bool peaceful = random.Below(3) == 0;
  const int first = peaceful ? 1 << 30 : static_cast<int>(random.Below(8));
  const int count = random.Below(4) == 0 ? 1 + static_cast<int>(random.Below(5)) : 1;
  const std::uint64_t seed = random.Next();
  process.client().SetFates(
      [this, first, count, seed, write = 0, extender](const kube::Call& call) mutable {
        if (call.verb == kube::Verb::kGet || call.verb == kube::Verb::kList) return Fate::kDone;
        ++result_.writes;
        const int n = write++;
        if (n < first || n >= first + count) return Fate::kDone;
        Fate fate = kFates[Random(seed + static_cast<std::uint64_t>(n)).Below(std::size(kFates))];
        if (fate == Fate::kStalled && extender < 0) fate = Fate::kDelayed;
        Tell(StrCat("    ", kube::WhereOf(call.target), " ", call.target.name, ": ", NameOf(fate)));
        return fate;
      });
  process.client().SetStall([this, seed, extender] {
    Random nested(seed + kStepSalt);
    clock_.Advance(static_cast<std::int64_t>(nested.Below(25'000)));
    for (std::uint64_t i = 1 + nested.Below(8); i > 0; --i) Step(nested, extender);
  });
}

void History::Work(Process& process, Random& random, int extender) {
  process.TickLease();
  process.Learn(random, /*all=*/false);
  Schedule(process, random, extender);
  process.Work();
  process.client().SetFates(nullptr);
}

void History::ActOnProcesses(Random& random, int stalled_extender) {
  int i = static_cast<int>(random.Below(2));
  if (i == stalled_extender) i = 1 - i;
  ExtenderProcess& extender = *extenders_[i];
  const std::uint64_t what = random.Below(20);
  if (what < 9) {
    Tell(StrCat("  extender ", i, " works", extender.leads() ? ", leading" : ""));
    const bool led = extender.leads();
    // A stalled call inside a stalled call: one level is enough.
    Work(extender, random, stalled_extender < 0 ? i : -1);
    if (extenders_[i]->leads() && !led) ++result_.takeovers;
    if (extenders_[i]->client().killed()) StartExtender(i);
  } else if (what < 13) {
    Tell(StrCat("  operator ", i, " works"));
    Work(*operators_[i], random, -1);
    if (operators_[i]->client().killed()) StartOperator(i);
  } else if (what < 15) {
    Tell(StrCat("  extender ", i, " renews"));
    extender.TickLease();
  } else if (what == 15) {
    Tell(StrCat("  extender ", i, " stops in order"));
    extender.ReleaseLease();
    StartExtender(i);
  } else if (what == 16) {
    Tell(StrCat("  extender ", i, " is killed"));
    StartExtender(i);
  } else if (what == 17) {
    extender.client().set_cut(!extender.client().cut());
    Tell(StrCat("  extender ", i, extender.client().cut() ? " is cut off" : " is connected"));
  } else {
    const std::int64_t ms =
        static_cast<std::int64_t>(random.Below(random.Below(3) == 0 ? 25'000 : 2'000));
    Tell(StrCat("  ", ms, " ms pass"));
    clock_.Advance(ms);
  }
}

void History::ActOnCluster(Random& random) {
  const std::uint64_t what = random.Below(20);
  if (what < 4) {
    Tell("  a job comes");
    cluster_.AddJob(random);
  } else if (what == 4) {
    Tell("  a job is suspended, or resumed and perhaps scaled");
    cluster_.SuspendOrResumeJob(random);
  } else if (what == 5) {
    Tell("  a job is scaled");
    cluster_.ScaleJob(random);
  } else if (what < 7) {
    Tell("  a job finishes");
    cluster_.FinishJob(random);
  } else if (what == 7) {
    Tell("  a job is deleted");
    cluster_.DeleteJob(random);
  } else if (what == 8) {
    Tell("  a pod fails");
    cluster_.FailPod(random);
  } else if (what < 11) {
    Tell("  a host is lost or returns");
    cluster_.LoseOrReturnHost(random);
  } else if (what < 14) {
    Tell("  a late write arrives");
    network_.DeliverOne(random);
  } else if (what == 14) {
    Tell("  garbage is collected");
    cluster_.CollectGarbage();
  } else if (what < 18) {
    Tell("  owners make pods");
    cluster_.RunOwners();
  } else {
    Tell("  released pods start");
    RunScheduler(random);
  }
}

void History::Step(Random& random, int stalled_extender) {
  clock_.Advance(static_cast<std::int64_t>(random.Below(400)));
  if (random.Below(2) == 0) {
    ActOnProcesses(random, stalled_extender);
  } else {
    ActOnCluster(random);
  }
}

bool History::Check(int step) {
  cluster_.server().ClearCalls();
  result_.failure = cluster_.BrokenPromise();
  result_.failed_at = step;
  return result_.failure.empty();
}

// What was on its way arrives, every process is connected, and all work until nothing changes.
void History::EndInPeace() {
  Random random(options_.seed ^ kStepSalt);
  while (network_.size() > 0) {
    network_.DeliverOne(random);
    if (!Check(-1)) return;
  }
  cluster_.ReturnHosts();
  cluster_.ResumeJobs();
  for (int round = 0; round < kPeacefulRounds; ++round) {
    clock_.Advance(3'000);
    cluster_.CollectGarbage();
    cluster_.RunOwners();
    RunScheduler(random);
    for (int i = 0; i < 2; ++i) {
      for (Process* process : {static_cast<Process*>(extenders_[i].get()),
                               static_cast<Process*>(operators_[i].get())}) {
        process->client().set_cut(false);
        process->TickLease();
        process->Learn(random, /*all=*/true);
        process->Work();
        if (!Check(-1)) return;
      }
    }
    RunScheduler(random);
    if (round >= 10 && cluster_.Unfinished().empty()) return;
  }
  result_.failure = StrCat("left in peace: ", cluster_.Unfinished());
}

HistoryResult History::Run() {
  for (int step = 0; step < options_.steps; ++step) {
    if (!options_.left_out.empty() && options_.left_out[static_cast<std::size_t>(step)]) continue;
    Random random(options_.seed * 1'000'003 + static_cast<std::uint64_t>(step));
    Tell(StrCat("step ", step));
    Step(random, /*stalled_extender=*/-1);
    if (!Check(step)) return std::move(result_);
  }
  Tell("in peace");
  EndInPeace();
  return std::move(result_);
}

}  // namespace

HistoryResult RunHistory(const HistoryOptions& options) { return History(options).Run(); }

HistoryOptions Shorten(HistoryOptions failing, int tries) {
  const HistoryResult first = RunHistory(failing);
  if (first.failure.empty()) return failing;
  if (first.failed_at >= 0) failing.steps = first.failed_at + 1;
  failing.left_out.resize(static_cast<std::size_t>(failing.steps), false);
  const auto steps = static_cast<std::size_t>(failing.steps);
  for (std::size_t length = std::max<std::size_t>(1, steps / 2); tries > 0; length /= 2) {
    for (std::size_t begin = 0; begin < steps && tries > 0; begin += length) {
      HistoryOptions shorter = failing;
      const std::size_t end = std::min(steps, begin + length);
      std::fill(shorter.left_out.begin() + static_cast<std::ptrdiff_t>(begin),
                shorter.left_out.begin() + static_cast<std::ptrdiff_t>(end), true);
      if (shorter.left_out == failing.left_out) continue;
      --tries;
      if (!RunHistory(shorter).failure.empty()) failing = std::move(shorter);
    }
    if (length == 1) break;
  }
  return failing;
}

}  // namespace yardmaster::chaos
