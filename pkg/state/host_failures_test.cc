#include "pkg/state/host_failures.h"

#include <memory>

#include "gtest/gtest.h"

namespace yardmaster::state {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kNow = 1'000 * kDayMs;

api::Incident Lost(const std::string& host, std::int64_t start_ms,
                   api::IncidentCause cause = api::IncidentCause::kHostLost) {
  api::Incident incident;
  incident.cause = cause;
  incident.host = host;
  incident.start_ms = start_ms;
  return incident;
}

// Four workers of 8 GPUs that have run for ten days.
api::TrainingJob Job(const std::string& name, std::vector<api::Incident> incidents) {
  api::TrainingJob job;
  job.metadata.namespace_name = "team";
  job.metadata.name = name;
  job.job.workers = 4;
  job.job.gpus_per_worker = 8;
  job.status.start_ms = kNow - 10 * kDayMs;
  job.status.recovery.incidents = std::move(incidents);
  return job;
}

HostFailures Seen(const std::vector<api::TrainingJob>& jobs) {
  std::vector<std::shared_ptr<const api::TrainingJob>> all;
  for (const api::TrainingJob& job : jobs) {
    all.push_back(std::make_shared<const api::TrainingJob>(job));
  }
  return SeenHostFailures(ObjectTable<api::TrainingJob>::Of(std::move(all)), 8, kNow);
}

TEST(HostFailuresTest, LostAndFaultyHostsCountPerHostAndDay) {
  using api::IncidentCause;
  const HostFailures seen =
      Seen({Job("a", {Lost("n1", kNow - 5 * kDayMs), Lost("n1", kNow - 4 * kDayMs),
                      Lost("n2", kNow - kDayMs, IncidentCause::kHostFault)})});
  EXPECT_EQ(seen.failures, 3);
  EXPECT_DOUBLE_EQ(seen.host_days, 40);
  EXPECT_TRUE(seen.enough());
  EXPECT_DOUBLE_EQ(seen.per_host_day(), 3 / 40.0);
}

TEST(HostFailuresTest, ProgramsAndWholeSegmentsAreNoFailuresOfHosts) {
  using api::IncidentCause;
  EXPECT_EQ(Seen({Job("a", {Lost("n1", kNow - kDayMs, IncidentCause::kWorkerFailed),
                            Lost("n1", kNow - kDayMs, IncidentCause::kSegmentLost),
                            Lost("n1", kNow - kDayMs, IncidentCause::kWorkerRemoved)})})
                .failures,
            0);
}

TEST(HostFailuresTest, OneHostThatTwoJobsLoseTogetherFailedOnce) {
  const auto lost_at = [](std::int64_t ms) { return std::vector{Lost("n1", ms)}; };
  EXPECT_EQ(
      Seen({Job("a", lost_at(kNow - kDayMs)), Job("b", lost_at(kNow - kDayMs + 60'000))}).failures,
      1);
  EXPECT_EQ(Seen({Job("a", lost_at(kNow - kDayMs)), Job("b", lost_at(kNow - 2 * kDayMs))}).failures,
            2);
}

TEST(HostFailuresTest, WhereOlderIncidentsMayHaveBeenDroppedTheTimeBeginsWithTheOldestKept) {
  std::vector<api::Incident> kept;
  for (int day = static_cast<int>(api::kKeptIncidents); day > 0; --day) {
    kept.push_back(Lost("n1", kNow - day * kDayMs / 2));
  }
  const HostFailures seen = Seen({Job("a", kept)});
  EXPECT_EQ(seen.failures, static_cast<int>(api::kKeptIncidents) - 1);
  EXPECT_NEAR(seen.host_days, 4 * 5, 1e-6);
}

TEST(HostFailuresTest, JobsThatNeverRanSayNothingAndEndedOnesUpToTheirEnd) {
  api::TrainingJob waits = Job("a", {});
  waits.status.start_ms = 0;
  api::TrainingJob ended = Job("b", {Lost("n1", kNow - 9 * kDayMs)});
  ended.status.completion_ms = kNow - 8 * kDayMs;
  const HostFailures seen = Seen({waits, ended});
  EXPECT_EQ(seen.failures, 1);
  EXPECT_DOUBLE_EQ(seen.host_days, 8);
  EXPECT_FALSE(seen.enough());
}

}  // namespace
}  // namespace yardmaster::state
