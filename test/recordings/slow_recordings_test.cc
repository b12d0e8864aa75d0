// Recordings of jobs, made from seeds: what agents write of them (ProfileCollector), what a round
// makes of it (SlowWorkers), and whether a job would leave a host for it (HostHealth). Of healthy
// jobs, however noisy, none may leave a host; of a host that is throttled its job leaves that one.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/agent/profiles/profile_collector.h"
#include "pkg/api/names.h"
#include "pkg/api/profile_report.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/operator/hosts/host_health.h"
#include "pkg/operator/telemetry/slow_workers.h"

namespace yardmaster::op {
namespace {

const NamespacedName kGang{"team", "a"};
constexpr double kLengthSeconds = 1'100;
// Of agents and of rounds.
constexpr double kStepSeconds = 2;

enum class Kind { kSteady, kNoisy, kBursty, kWarmUp, kCheckpoints, kPipeline, kFewSamples, kSlow };

// What a job does, as drawn from a seed.
struct Recording {
  Recording(Kind kind, std::uint64_t seed) : kind(kind), random(seed) {
    if (kind == Kind::kPipeline) pipeline = 1 << random.Below(3);
    if (kind == Kind::kSlow) pipeline = 1 << random.Below(2);
    workers = static_cast<int>(pipeline * (4 + random.Below(3)));
    compute_seconds = kind == Kind::kFewSamples ? Between(15, 60) : Between(0.5, 4);
    communication_seconds = Between(0.05, 0.5) * compute_seconds;
    noise = kind == Kind::kNoisy ? Between(0.1, 0.35) : Between(0.005, 0.06);
    const double at_once = std::max(1.0, std::floor(Between(0, 10) / compute_seconds));
    iterations_a_report = static_cast<int>(at_once);
    checkpoint_every = static_cast<int>(20 + random.Below(60));
    checkpoint_seconds = Between(5, 60);
    warm_up_seconds = Between(20, 480);
    slow_rank = static_cast<int>(random.Below(static_cast<std::uint64_t>(workers)));
    slow_from_seconds = Between(60 + 25 * (compute_seconds + communication_seconds), 400);
    throttle = Between(0.5, 0.75);
    for (int stage = 0; stage < pipeline; ++stage) stage_factor.push_back(Between(0.4, 1.5));
    for (double t = Between(0, 200); t < kLengthSeconds; t += Between(60, 200)) {
      const double end = t + Between(10, 90);
      bursts.push_back({t, end, Between(1.3, 3)});
      t = end;
    }
    for (int rank = 0; rank < workers; ++rank) {
      host_factor.push_back(1 + Between(-0.04, 0.04));
    }
  }

  double Between(double low, double high) { return low + (high - low) * random.Unit(); }
  // Mean 1, and long to the right, as times of iterations are.
  double Noise() {
    const double normal = std::sqrt(-2 * std::log(1 - random.Unit())) *
                          std::cos(2 * 3.14159265358979 * random.Unit());
    return std::exp(noise * normal - noise * noise / 2);
  }
  double ComputeSeconds(int rank, int stage, int iteration, double now_seconds) {
    const auto at = static_cast<std::size_t>(rank);
    double seconds =
        compute_seconds * stage_factor[static_cast<std::size_t>(stage)] * host_factor[at] * Noise();
    switch (kind) {
      case Kind::kBursty:
        for (const Burst& burst : bursts) {
          if (rank == slow_rank && now_seconds >= burst.begin && now_seconds < burst.end) {
            seconds *= burst.factor;
          }
        }
        break;
      case Kind::kWarmUp:
        if (now_seconds < warm_up_seconds) seconds *= 1 + Between(0, rank % 2 == 0 ? 8 : 2);
        break;
      case Kind::kCheckpoints:
        // The first rank writes it alone.
        if (rank == 0 && iteration % checkpoint_every == 0) seconds += checkpoint_seconds;
        break;
      case Kind::kSlow:
        if (rank == slow_rank && now_seconds >= slow_from_seconds) seconds /= throttle;
        break;
      default:
        break;
    }
    return seconds;
  }

  struct Burst {
    double begin, end, factor;
  };

  const Kind kind;
  Random random;
  int workers = 0, pipeline = 1, iterations_a_report = 1, checkpoint_every = 0;
  int slow_rank = 0;
  double compute_seconds = 0, communication_seconds = 0, noise = 0, checkpoint_seconds = 0;
  double slow_from_seconds = 0, throttle = 0, warm_up_seconds = 0;
  std::vector<double> stage_factor, host_factor;
  std::vector<Burst> bursts;
};

struct Outcome {
  std::optional<double> named_seconds;  // when the throttled host was named first
  bool named_other = false;             // before, or instead
  std::optional<std::string> left;      // the host
};

class Player {
 public:
  explicit Player(Recording& recording)
      : recording_(recording),
        groups_(workload::GroupsOf(ShapeOf(recording), recording.workers, 8)) {
    client_.SetHook([this](const kube::Call& call) {
      const auto text = "/metadata/annotations/yardmaster.dev~1profile"_json_pointer;
      auto report = api::DecodeProfileReport(call.body.at(text).get<std::string>());
      EXPECT_TRUE(report.ok()) << report.status();
      reports_[call.target.name] = *std::move(report);
      return absl::OkStatus();
    });
    for (int rank = 0; rank < recording.workers; ++rank) {
      const std::string name = StrCat("a-", rank);
      client_.Seed(kube::Pods(),
                   {{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", name}}}});
      collectors_.push_back(
          std::make_unique<agent::ProfileCollector>(client_, agent::ProfileOptions()));
      // Agents do not look at the same time.
      flush_ms_.push_back(static_cast<std::int64_t>(recording.random.Below(2'000)));
      health_.Observe(HostOf(rank), "s", HostHealth::Report::kReady, 0);
    }
    // So that the bounds on what is removed are not what keeps a host.
    for (int i = 0; i < 40; ++i) {
      health_.Observe(StrCat("other", i), "s", HostHealth::Report::kReady, 0);
    }
    sums_.resize(static_cast<std::size_t>(recording.workers));
  }

  Outcome Play() {
    for (int iteration = 0; now_seconds_ < kLengthSeconds && !outcome_.left; ++iteration) {
      double longest = 0;
      for (int rank = 0; rank < recording_.workers; ++rank) {
        const auto at = static_cast<std::size_t>(rank);
        const double seconds = recording_.ComputeSeconds(rank, groups_.stages_of_worker[at][0],
                                                         iteration, now_seconds_);
        longest = std::max(longest, seconds);
        sums_[at] += seconds;
      }
      Pass(longest + recording_.communication_seconds);
      if ((iteration + 1) % recording_.iterations_a_report == 0) Report();
    }
    return outcome_;
  }

 private:
  static workload::Parallelism ShapeOf(const Recording& recording) {
    workload::Parallelism shape;
    shape.pipeline = recording.pipeline;
    shape.data = recording.workers * 8 / recording.pipeline;
    return shape;
  }
  static std::string HostOf(int rank) { return StrCat("n", rank); }
  std::int64_t NowMs() const { return static_cast<std::int64_t>(now_seconds_ * 1000); }

  // Rounds and agents go on while an iteration runs.
  void Pass(double seconds) {
    const double end = now_seconds_ + seconds;
    while (now_seconds_ < end && !outcome_.left) {
      now_seconds_ = std::min(end, now_seconds_ + kStepSeconds);
      for (int rank = 0; rank < recording_.workers; ++rank) Flush(rank);
      Round();
    }
  }
  void Report() {
    for (int rank = 0; rank < recording_.workers; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      rpc::IterationReport report;
      report.pod_uid = StrCat("a-", rank);
      report.means.samples = recording_.iterations_a_report;
      report.means.compute_seconds = sums_[at] / recording_.iterations_a_report;
      sums_[at] = 0;
      EXPECT_TRUE(collectors_[at]->Take(report, NowMs(), 1'700'000'000'000 + NowMs()).ok());
    }
  }
  void Flush(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (NowMs() < flush_ms_[at]) return;
    flush_ms_[at] = NowMs() + static_cast<std::int64_t>(1'000 * kStepSeconds);
    const auto find = [](const std::string& uid) -> std::optional<agent::PodInput> {
      agent::PodInput pod;
      pod.ns = "team";
      pod.name = pod.uid = uid;
      return pod;
    };
    EXPECT_TRUE(collectors_[at]->Flush(NowMs(), find).empty());
  }
  void Round() {
    std::vector<WorkerPace> paces;
    for (int rank = 0; rank < recording_.workers; ++rank) {
      const auto at = reports_.find(StrCat("a-", rank));
      if (at == reports_.end()) continue;
      const api::ProfileReport& report = at->second;
      paces.push_back(
          {rank, HostOf(rank), at->first, report.samples,
           report.recent_compute_seconds ? report.recent_compute_seconds : report.compute_seconds,
           report.gpu_clock_mhz, report.time_ms});
    }
    const auto slow = slow_.Observe(kGang, CompareWorkers(paces, groups_), NowMs());
    if (slow) Name(slow->host);
    HeldBackByJob held;
    if (slow) held["team/a"] = {slow->host, slow->has, slow->stays, slow->rank};
    health_.ObserveHeldBack(held, NowMs());
    for (int rank = 0; rank < recording_.workers; ++rank) {
      const HostVerdict verdict = health_.AssessHeldBack(
          "team/a", HostOf(rank),
          [this](const HeldBack&) {
            return NowMs() < health_.slow_limits().warm_up_ms ? "it has not run for long" : "";
          },
          NowMs());
      if (verdict.state == HostHealthState::kLost) outcome_.left = HostOf(rank);
    }
  }
  void Name(const std::string& host) {
    if (host != HostOf(recording_.slow_rank) || recording_.kind != Kind::kSlow) {
      outcome_.named_other = true;
    } else if (!outcome_.named_seconds) {
      outcome_.named_seconds = now_seconds_;
    }
  }

  Recording& recording_;
  const workload::WorkerGroups groups_;
  FakeClock clock_;
  kube::FakeClient client_{clock_};
  std::vector<std::unique_ptr<agent::ProfileCollector>> collectors_;
  std::vector<std::int64_t> flush_ms_;
  std::map<std::string, api::ProfileReport> reports_;  // by pod, as written
  std::vector<double> sums_;
  SlowWorkers slow_;
  HostHealth health_;
  double now_seconds_ = 0;
  Outcome outcome_;
};

TEST(SlowRecordingsTest, NoHealthyJobLeavesAHost) {
  for (const Kind kind : {Kind::kSteady, Kind::kNoisy, Kind::kBursty, Kind::kWarmUp,
                          Kind::kCheckpoints, Kind::kPipeline, Kind::kFewSamples}) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      Recording recording(kind, SeedOf(seed, StrCat("healthy", static_cast<int>(kind))));
      const Outcome outcome = Player(recording).Play();
      EXPECT_FALSE(outcome.left) << "kind " << static_cast<int>(kind) << ", seed " << seed
                                 << ", host " << *outcome.left;
    }
  }
}

TEST(SlowRecordingsTest, AThrottledHostIsNamedWithinAMinuteAndLeft) {
  constexpr int kRecordings = 200;
  int in_time = 0, right = 0;
  std::vector<double> delays;
  for (std::uint64_t seed = 0; seed < kRecordings; ++seed) {
    Recording recording(Kind::kSlow, SeedOf(seed, "slow"));
    const Outcome outcome = Player(recording).Play();
    EXPECT_FALSE(outcome.named_other) << "seed " << seed;
    const double after = outcome.named_seconds.value_or(1e9) - recording.slow_from_seconds;
    in_time += after <= 60 ? 1 : 0;
    delays.push_back(after);
    right += outcome.left == StrCat("n", recording.slow_rank) ? 1 : 0;
  }
  EXPECT_GE(in_time, kRecordings * 99 / 100);
  EXPECT_GE(right, kRecordings * 99 / 100);
  std::sort(delays.begin(), delays.end());
  std::printf("named within 60 s: %d of %d, median %.1f s, latest %.1f s; left: %d\n", in_time,
              kRecordings, delays[kRecordings / 2], delays.back(), right);
}

}  // namespace
}  // namespace yardmaster::op
