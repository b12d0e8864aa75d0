#include "pkg/operator/jobs/work_loss.h"

#include <cmath>
#include <memory>
#include <utility>

#include "gtest/gtest.h"

namespace yardmaster::op {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000;

// Expected time of one unit of work in segments of `interval`, failures exponential with mean M,
// restart free: the model that Daly's interval minimises.
double ExpectedTime(double interval, double cost, double mean) {
  return mean * (std::exp((interval + cost) / mean) - 1) / interval;
}

TEST(WorkLossTest, TheIntervalIsWithinAThousandthOfTheBestThere) {
  for (const double cost : {5.0, 60.0, 600.0}) {
    for (const double mean : {3'600.0, 86'400.0, 1e6}) {
      double best = 1e300;
      for (double interval = 1; interval < 10 * mean; interval *= 1.001) {
        best = std::min(best, ExpectedTime(interval, cost, mean));
      }
      EXPECT_LE(ExpectedTime(OptimalInterval(cost, mean), cost, mean), best * 1.001)
          << cost << " " << mean;
    }
  }
  EXPECT_EQ(OptimalInterval(100, 40), 40);
}

TEST(WorkLossTest, MoreHostsAndMoreIncidentsShortenTheTimeBetweenIncidents) {
  const double few = MeanSecondsBetweenIncidents(10, 0, 0);
  EXPECT_NEAR(few, kHostHoursPerFailure * 360, 1);
  EXPECT_LT(MeanSecondsBetweenIncidents(100, 0, 0), few);
  EXPECT_LT(MeanSecondsBetweenIncidents(10, 3, 3'600), few);
  EXPECT_NEAR(MeanSecondsBetweenIncidents(1'000, 999, 1e9), 1e6, 2e4) << "what was seen prevails";
}

api::TrainingJob Running(std::int64_t for_ms) {
  api::TrainingJob job;
  job.job.workers = 2;
  job.job.gpus_per_worker = 8;
  job.status.conditions = {
      {"Running", api::ConditionStatus::kTrue, "WorkersRunning", "", 1, kNow - for_ms}};
  return job;
}

// Each of its two workers is a data group, and restarts by itself.
api::TrainingJob RunningInDataGroups() {
  api::TrainingJob job = Running(600'000);
  job.checkpoint.interval_seconds = 3'600;
  job.recovery.unit = api::RestartUnit::kDataGroup;
  job.job.parallelism_given = true;
  job.job.parallelism.tensor = 8;
  job.job.parallelism.data = 2;
  return job;
}

api::TrainingJobStatus WithIncident(const api::TrainingJob& job) {
  api::TrainingJobStatus status = job.status;
  api::Incident incident;
  incident.attempt = 1;
  incident.cause = api::IncidentCause::kWorkerFailed;
  incident.start_ms = kNow;
  status.recovery.attempt = 1;
  status.recovery.incidents.push_back(incident);
  return status;
}

TEST(WorkLossTest, AnIncidentCostsTheWorkSinceTheLastCheckpointAndTheTimeUntilAllRunAgain) {
  api::TrainingJob job = Running(3'600'000);
  job.status.checkpoint.last_ms = kNow - 600'000;
  api::TrainingJobStatus status = WithIncident(job);
  AddLostWork(job, kNow, status);
  EXPECT_EQ(status.lost_gpu_seconds["WorkerFailed"], 16 * 600);
  job.status = status;
  AddLostWork(job, kNow, status);
  EXPECT_EQ(status.lost_gpu_seconds["WorkerFailed"], 16 * 600) << "counted once";
  status.recovery.incidents[0].end_ms = kNow + 30'000;
  AddLostWork(job, kNow + 30'000, status);
  EXPECT_EQ(status.lost_gpu_seconds["WorkerFailed"], 16 * 630);
}

TEST(WorkLossTest, WithoutAReportHalfOfTheIntervalIsTakenAsLost) {
  api::TrainingJob job = Running(3'600'000);
  job.checkpoint.interval_seconds = 1'800;
  api::TrainingJobStatus status = WithIncident(job);
  AddLostWork(job, kNow, status);
  EXPECT_EQ(status.lost_gpu_seconds["WorkerFailed"], 16 * 900);
  job = Running(100'000);
  job.checkpoint.interval_seconds = 1'800;
  status = WithIncident(job);
  AddLostWork(job, kNow, status);
  EXPECT_EQ(status.lost_gpu_seconds["WorkerFailed"], 16 * 50) << "it ran for less";
}

TEST(WorkLossTest, ASuspensionAfterACheckpointCostsNothingBeforeIt) {
  api::TrainingJob job = Running(3'600'000);
  job.status.checkpoint.last_ms = kNow;
  api::TrainingJobStatus status = job.status;
  status.recovery.suspended = true;
  AddLostWork(job, kNow, status);
  EXPECT_TRUE(status.lost_gpu_seconds.empty());
  job.status.checkpoint.last_ms = status.checkpoint.last_ms = kNow - 60'000;
  AddLostWork(job, kNow, status);
  EXPECT_EQ(status.lost_gpu_seconds["CapacityLeft"], 16 * 60) << "it was not suspended";
  job.run.suspended = true;
  AddLostWork(job, kNow, status);
  EXPECT_EQ(status.lost_gpu_seconds["Suspended"], 16 * 60);
}

// The interval after a checkpoint of 60 s at kNow. `incidents` lie one minute apart, the last one a
// minute ago.
int IntervalOf(std::int64_t running_ms, int incidents) {
  const api::TrainingJob job = Running(running_ms);
  api::TrainingJobStatus status = job.status;
  status.start_ms = kNow - running_ms;
  for (int i = incidents; i > 0; --i) {
    api::Incident incident;
    incident.start_ms = kNow - i * 60'000;
    status.recovery.incidents.push_back(incident);
  }
  SetCheckpoint(job, {.time_ms = kNow, .seconds = 60}, kNow, status);
  return status.checkpoint.interval_seconds;
}

int IntervalFor(int incidents, double seconds) {
  return static_cast<int>(
      std::round(OptimalInterval(60, MeanSecondsBetweenIncidents(2, incidents, seconds))));
}

constexpr std::int64_t kYearMs = 365LL * 86'400'000;

TEST(WorkLossTest, WithFewIncidentsAllOfTheRunningTimeCounts) {
  EXPECT_EQ(IntervalOf(kYearMs, 3), IntervalFor(3, kYearMs / 1000.0));
}

TEST(WorkLossTest, IncidentsThatAreNotKeptAnyMoreDoNotLengthenTheInterval) {
  EXPECT_EQ(IntervalOf(kYearMs, 10), IntervalFor(9, 600)) << "others may have been dropped";
  EXPECT_EQ(IntervalOf(600'000, 10), IntervalFor(10, 600)) << "the first began as the job ran";
}

TEST(WorkLossTest, IncidentsBeforeAResumptionCountNoMoreThanTheTimeBeforeIt) {
  EXPECT_EQ(IntervalOf(90'000, 3), IntervalFor(1, 90));
}

TEST(WorkLossTest, ADataGroupThatRestartsByItselfCostsItsGpusAndNoWorkOfTheOthers) {
  api::TrainingJob job = RunningInDataGroups();
  api::TrainingJobStatus status = WithIncident(job);
  api::Incident& incident = status.recovery.incidents.back();
  incident.action = api::OnHostLoss::kReplace;
  incident.ranks = {1};
  AddLostWork(job, kNow, status);
  EXPECT_EQ(status.lost_gpu_seconds.count("WorkerFailed"), 0u);
  job.status = status;
  incident.end_ms = kNow + 30'000;
  AddLostWork(job, kNow + 30'000, status);
  EXPECT_EQ(status.lost_gpu_seconds["WorkerFailed"], 8 * 30) << "one of two workers";
}

TEST(WorkLossTest, TheRestartOfADataGroupThatBecomesOneOfTheJobRepeatsItsWork) {
  api::TrainingJob job = RunningInDataGroups();
  api::TrainingJobStatus whole = WithIncident(job);
  AddLostWork(job, kNow, whole);
  ASSERT_GT(whole.lost_gpu_seconds["WorkerFailed"], 0);
  api::TrainingJobStatus status = WithIncident(job);
  api::Incident& incident = status.recovery.incidents.back();
  incident.action = api::OnHostLoss::kReplace;
  incident.ranks = {1};
  AddLostWork(job, kNow, status);
  for (int i = 0; i < 2; ++i) {
    job.status = status;
    incident.action = api::OnHostLoss::kRestart;
    AddLostWork(job, kNow + 10'000, status);
    EXPECT_EQ(status.lost_gpu_seconds, whole.lost_gpu_seconds) << "once";
  }
}

TEST(WorkLossTest, JobsThatHaveRunAndAreNotOverHaveStartedGpus) {
  state::ObjectTable<api::TrainingJob> jobs;
  const auto add = [&](const char* name, auto change) {
    api::TrainingJob job;
    job.metadata.name = name;
    job.job.workers = 3;
    job.job.gpus_per_worker = 4;
    job.status.start_ms = kNow;
    change(job);
    jobs.Put(std::make_shared<const api::TrainingJob>(std::move(job)));
  };
  EXPECT_EQ(StartedGpus(jobs), 0);
  add("runs", [](api::TrainingJob&) {});
  add("also-runs", [](api::TrainingJob& job) { job.job.workers = 1; });
  add("waits", [](api::TrainingJob& job) { job.status.start_ms = 0; });
  add("suspended", [](api::TrainingJob& job) { job.status.recovery.suspended = true; });
  add("over", [](api::TrainingJob& job) {
    api::SetCondition(job.status.conditions,
                      {"Failed", api::ConditionStatus::kTrue, "Test", "", 0, 0}, kNow);
  });
  EXPECT_EQ(StartedGpus(jobs), 12 + 4);
}

}  // namespace
}  // namespace yardmaster::op
