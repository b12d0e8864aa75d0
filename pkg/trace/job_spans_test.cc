#include "pkg/trace/job_spans.h"

#include <map>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kUid[] = "0F8fad5b-d9cb-469f-a165-70867728950e";

void Set(api::Gang& gang, const char* type, bool holds, std::int64_t since_ms) {
  const auto is = holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse;
  api::SetCondition(gang.status.conditions, {type, is, "Test", "", 0, 0}, since_ms);
}

// Of a TrainingJob with two workers, placed at 20 s.
api::Gang PlacedGang() {
  api::Gang gang;
  gang.metadata.name = "trainingjob-a";
  gang.metadata.namespace_name = "team";
  gang.metadata.uid = "g";
  gang.metadata.created_ms = 11'000;
  gang.owner = {"yardmaster.dev/v1alpha1", api::kTrainingJobKind, "a", kUid, true};
  gang.job.workers = 2;
  gang.job.priority = 7;
  gang.status.plan_generation = 1;
  gang.status.committed_ms = 20'000;
  gang.status.objective.segments = 1;
  gang.status.assignments = {{0, "h0", "p", "s", {0}, ""}, {1, "h1", "p", "s", {0}, ""}};
  return gang;
}

api::Pod PodAt(std::int64_t created_ms, std::int64_t scheduled_ms, std::int64_t started_ms) {
  api::Pod pod;
  pod.metadata.created_ms = created_ms;
  pod.scheduled_ms = scheduled_ms;
  pod.started_ms = started_ms;
  return pod;
}

std::vector<std::string> TextsOf(const std::vector<Span>& spans) {
  std::vector<std::string> out;
  for (const Span& s : spans) out.push_back(StrCat(s.name, " ", s.start_ms, "-", s.end_ms));
  return out;
}

TEST(JobSpansTest, ATraceIsFoundByTheUidOfTheJob) {
  EXPECT_EQ(TraceIdOf(kUid), "0f8fad5bd9cb469fa16570867728950e");
  for (const char* other : {"", "uid", "00000000-0000-0000-0000-000000000000",
                            "0f8fad5b-d9cb-469f-a165-70867728950x"}) {
    const std::string id = TraceIdOf(other);
    EXPECT_EQ(id.size(), 32U) << other;
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
    EXPECT_NE(id, std::string(32, '0'));
  }
  EXPECT_NE(TraceIdOf("a"), TraceIdOf("b"));
}

TEST(JobSpansTest, APlaceIsQueuedPlannedAndCommitted) {
  const api::Gang gang = PlacedGang();
  const std::vector<Span> spans = PlacementSpans(gang, 10'000, PassTimes{20'300, 20'420});
  EXPECT_THAT(TextsOf(spans),
              ElementsAre("queued 10000-20300", "planned 20300-20420", "committed 20300-20300"));
  for (const Span& span : spans) {
    EXPECT_EQ(span.trace_id, TraceIdOf(kUid));
    EXPECT_EQ(span.parent_id, SpanIdOf(kUid, "start", 20));
    EXPECT_EQ(span.attributes[2],
              (std::pair<std::string, AttributeValue>("yardmaster.job.name", std::string("a"))));
  }
}

TEST(JobSpansTest, WhatIsNotKnownHasNoSpan) {
  EXPECT_THAT(TextsOf(PlacementSpans(PlacedGang(), 0, {})), ElementsAre("committed 20000-20000"));
}

TEST(JobSpansTest, AStartHasTheTimesOfItsObjects) {
  api::Gang gang = PlacedGang();
  const api::Pod first = PodAt(21'000, 23'000, 26'000);
  const api::Pod second = PodAt(22'000, 24'000, 25'000);
  EXPECT_THAT(StartSpans({gang, nullptr, {}, 10'000}), IsEmpty());
  Set(gang, api::kNetworkPlannedCondition, true, 21'000);
  EXPECT_THAT(TextsOf(StartSpans({gang, nullptr, {&first}, 10'000})),
              ElementsAre("network planned 20000-21000"));
  const api::Pod bound = PodAt(22'000, 24'000, 0);
  EXPECT_THAT(
      TextsOf(StartSpans({gang, nullptr, {&first, &bound}, 10'000})),
      ElementsAre("network planned 20000-21000", "pods created 21000-22000", "bound 22000-24000"));
  const std::vector<Span> spans = StartSpans({gang, nullptr, {&first, &second}, 10'000});
  EXPECT_THAT(TextsOf(spans),
              ElementsAre("network planned 20000-21000", "pods created 21000-22000",
                          "bound 22000-24000", "running 24000-26000", "start 10000-26000"));
  EXPECT_EQ(spans.back().id, spans.front().parent_id);
  EXPECT_EQ(spans.back().parent_id, 0U);
}

// Of pods that were made again the times are later ones.
TEST(JobSpansTest, AStartOfATrainingJobEndsWhenItsOperatorSaidSo) {
  const api::Gang gang = PlacedGang();
  api::TrainingJob job;
  job.status.start_ms = 27'000;
  const api::Pod pod = PodAt(91'000, 92'000, 93'000);
  EXPECT_EQ(TextsOf(StartSpans({gang, &job, {&pod, &pod}, 0})).back(), "start 20000-27000");
  EXPECT_EQ(TextsOf(StartSpans({gang, &job, {}, 0})).back(), "start 20000-27000");
  job.status.start_ms = 1'000;  // of an earlier place
  EXPECT_THAT(StartSpans({gang, &job, {}, 0}), IsEmpty());
}

TEST(JobSpansTest, ANetworkPlanOfAnEarlierPlaceIsNotOfThisOne) {
  api::Gang gang = PlacedGang();
  Set(gang, api::kNetworkPlannedCondition, true, 19'000);
  EXPECT_THAT(StartSpans({gang, nullptr, {}, 10'000}), IsEmpty());
}

TEST(JobSpansTest, PodsBehindTheGateMayBeOlderThanThePlace) {
  const api::Gang gang = PlacedGang();
  const api::Pod pod = PodAt(5'000, 22'000, 23'000);
  EXPECT_THAT(TextsOf(StartSpans({gang, nullptr, {&pod, &pod}, 5'000})),
              ElementsAre("pods created 5000-5000", "bound 20000-22000", "running 22000-23000",
                          "start 5000-23000"));
}

TEST(JobSpansTest, TheSameStepHasTheSameIdAndOthersDiffer) {
  const api::Gang gang = PlacedGang();
  api::Gang again = PlacedGang();
  again.status.committed_ms = 80'000;
  const api::Pod pod = PodAt(81'000, 82'000, 83'000);
  std::set<std::uint64_t> ids;
  for (const api::Gang& of : {gang, again}) {
    for (const Span& span : PlacementSpans(of, 1'000, PassTimes{20'000, 20'100})) {
      ids.insert(span.id);
    }
    for (const Span& span : StartSpans({of, nullptr, {&pod, &pod}, 1'000})) ids.insert(span.id);
  }
  EXPECT_EQ(ids.size(), 14U);
  EXPECT_EQ(PlacementSpans(gang, 1'000, {})[0].id,
            PlacementSpans(gang, 2'000, PassTimes{20'500, 20'600})[0].id);
}

TEST(JobSpansTest, AGangQueuesSinceItsJobWasMadeOrItLostItsPlace) {
  api::Gang gang = PlacedGang();
  gang.status = {};
  EXPECT_EQ(QueuedSince(gang, nullptr), 11'000);
  api::TrainingJob job;
  job.metadata.created_ms = 10'000;
  Set(gang, api::kPlannedCondition, false, 15'000);  // it was told why it waits
  EXPECT_EQ(QueuedSince(gang, &job), 10'000);
  gang.status.plan_generation = 1;
  EXPECT_EQ(QueuedSince(gang, &job), 15'000);
  Set(gang, api::kRequeuedCondition, true, 19'000);
  EXPECT_EQ(QueuedSince(gang, &job), 19'000);
}

TEST(JobSpansTest, ARecoveryFailsWhereItsJobDoes) {
  api::TrainingJob job;
  job.metadata.uid = kUid;
  api::Incident incident;
  incident.attempt = 3;
  incident.start_ms = 50'000;
  incident.end_ms = 65'000;
  incident.host = "h7";
  const auto name_of = [](api::IncidentCause) { return "HostLost"; };
  const Span span = RecoverySpan(job, incident, name_of);
  EXPECT_EQ(span.trace_id, TraceIdOf(kUid));
  EXPECT_EQ(TextsOf({span})[0], "recovery 50000-65000");
  EXPECT_FALSE(span.failed);
  incident.action = api::OnHostLoss::kFail;
  EXPECT_TRUE(RecoverySpan(job, incident, name_of).failed);
  EXPECT_EQ(RecoverySpan(job, incident, name_of).id, span.id);
}

}  // namespace
}  // namespace yardmaster::trace
