#include "pkg/api/queue_status.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

TEST(QueueStatusTest, EveryFieldSurvivesARoundTrip) {
  QueueStatus status;
  status.phase = QueuePhase::kAdmitted;
  status.name = "research";
  status.workload = "trainingjob-a-12345";
  status.workload_uid = "w1";
  status.cluster_queue = "gpus";
  status.message = "admitted by ClusterQueue gpus";
  status.pod_sets = {{"main",
                      4,
                      {{"gpu", "h100"}},
                      {{"team", TolerationOperator::kEqual, "a", "NoSchedule"}},
                      {{"l", "1"}},
                      {{"a", "2"}}},
                     {"data", 1}};
  const json written = EncodeObject(status);
  FieldErrors errors;
  EXPECT_EQ(DecodeObject<QueueStatus>({&written, "status.queue", UnknownFields::kReject, &errors}),
            status);
  EXPECT_TRUE(errors.empty()) << errors.status();
  EXPECT_EQ(written["phase"], "Admitted");
  EXPECT_EQ(written["podSets"][0]["nodeSelector"]["gpu"], "h100");
}

TEST(QueueStatusTest, AMergePatchLeavesNothingOfAnEarlierPhase) {
  QueueStatus before;
  before.phase = QueuePhase::kAdmitted;
  before.name = "research";
  before.workload_uid = "w1";
  before.cluster_queue = "gpus";
  before.pod_sets = {{"main", 4, {{"gpu", "h100"}}}};
  QueueStatus after;
  after.phase = QueuePhase::kPending;
  after.name = "research";
  json stored = EncodeObject(before);
  stored.merge_patch(EncodeObject(after));
  FieldErrors errors;
  EXPECT_EQ(DecodeObject<QueueStatus>({&stored, "status.queue", UnknownFields::kReject, &errors}),
            after);
}

TEST(QueueStatusTest, OnlyAnAdmittedJobMayHavePods) {
  QueueStatus status;
  EXPECT_FALSE(status.holds_job());
  status.pod_sets = {{"main", 1}};
  for (const QueuePhase phase : {QueuePhase::kPending, QueuePhase::kEvicted}) {
    status.phase = phase;
    EXPECT_TRUE(status.holds_job());
    EXPECT_EQ(status.admitted(0), nullptr);
  }
  status.phase = QueuePhase::kAdmitted;
  EXPECT_FALSE(status.holds_job());
  EXPECT_EQ(status.admitted(0), &status.pod_sets[0]);
  EXPECT_EQ(status.admitted(1), nullptr);
}

}  // namespace
}  // namespace yardmaster::api
