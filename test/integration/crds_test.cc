// The CRDs on a real API server: what ships is accepted, what must not change does not, and what
// the server stores the codecs read.
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "pkg/api/capacity_pool.h"
#include "pkg/api/fabric.h"
#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"
#include "pkg/base/status.h"
#include "test/integration/crd_objects.h"
#include "test/integration/crds_fixture.h"

namespace yardmaster::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST_F(CrdsTest, PresetsAndSamplesAreAccepted) {
  for (const char* folder : {"presets", "samples"}) {
    auto applied = plane_->Kubectl(
        {"apply", "--server-side", "--validate=strict", "-f", std::string(kCrds) + folder});
    EXPECT_TRUE(applied.ok()) << applied.status();
  }
}

TEST_F(CrdsTest, WhatTheServerStoresTheCodecsReadStrictly) {
  ASSERT_TRUE(Apply(JobObject()).ok());
  json written = FabricObject();
  written["spec"]["tiers"][0]["railsPerSwitch"] = 2;
  written["spec"]["tiers"][0]["downPorts"] = 272;
  written["spec"]["switchNames"] = {{"p0/s0/tor-r0-p0", "leaf-a1"}};
  written["spec"]["absentSwitches"] = {"p0/agg-p0-3"};
  ASSERT_TRUE(Apply(written).ok());
  ASSERT_TRUE(Apply(GangObject()).ok());
  const auto job = api::DecodeTrainingJob(Get("trainingjob/job"));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->job.parallelism.world(), 128);
  const auto fabric = api::DecodeFabric(Get("fabric/small"));
  ASSERT_TRUE(fabric.ok()) << fabric.status();
  EXPECT_EQ(fabric::Problems(fabric->spec), std::vector<std::string>());
  EXPECT_EQ(fabric->spec.tiers[0].rails_per_switch, 2);
  EXPECT_EQ(fabric->spec.switch_names.size(), 1u);
  EXPECT_EQ(fabric->spec.absent_switches.size(), 1u);
  const auto gang = api::DecodeGang(Get("gang/gang"));
  ASSERT_TRUE(gang.ok()) << gang.status();
  ASSERT_TRUE(Apply(PoolObject()).ok());
  const auto pool = api::DecodeCapacityPool(Get("capacitypool/pool"));
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_EQ(pool->offers.size(), 2u);
}

TEST_F(CrdsTest, AGangStatusWithASmallerFencingTokenIsRefused) {
  json gang = GangObject();
  gang["metadata"]["name"] = "fenced";
  ASSERT_TRUE(Apply(gang).ok());
  const auto write = [](json status) {
    return PatchStatus("gang/fenced", {{"status", std::move(status)}});
  };
  ASSERT_TRUE(write({{"observedGeneration", 1}}).ok()) << "before any leader";
  ASSERT_TRUE(write({{"fencingToken", 7}}).ok());
  ASSERT_TRUE(write({{"fencingToken", 7}, {"settledWrites", 1}}).ok());
  ASSERT_TRUE(write({{"planGeneration", 1}}).ok()) << "a status that keeps the token";
  for (const json& token : {json(6), json()}) {
    const absl::Status refused = write({{"fencingToken", token}});
    EXPECT_FALSE(refused.ok()) << token;
    EXPECT_NE(MessageOf(refused).find("fencingToken must not go back"), std::string::npos)
        << refused;
  }
  // A whole status, as an extender writes it that does not know of the field.
  json old = Get("gang/fenced");
  old["status"].erase("fencingToken");
  EXPECT_FALSE(
      plane_->Kubectl({"replace", "--subresource=status", "-f", "-"}, old.dump()).status().ok());
  ASSERT_TRUE(write({{"fencingToken", 8}}).ok());
}

TEST_F(CrdsTest, AJobWithPodsCannotChangeItsShape) {
  ASSERT_TRUE(Apply(JobObject()).ok());
  json larger = JobObject();
  larger["spec"]["workers"] = 32;
  larger["spec"]["parallelism"]["data"] = 16;
  EXPECT_TRUE(Apply(larger, /*dry_run=*/true).ok());
  ASSERT_TRUE(PatchStatus("trainingjob/job", {{"status", {{"workers", 16}}}}).ok());
  EXPECT_THAT(std::string(Apply(larger, true).message()),
              HasSubstr("cannot change while the job has pods; suspend it first"));
  json urgent = JobObject();
  urgent["spec"]["priority"] = 9;
  EXPECT_TRUE(Apply(urgent, true).ok());
  ASSERT_TRUE(PatchStatus("trainingjob/job", {{"status", {{"workers", 0}}}}).ok());
  EXPECT_TRUE(Apply(larger, true).ok()) << "suspended, without pods";
}

TEST_F(CrdsTest, TheParallelismOfAPlacedJobCannotChange) {
  json job = JobObject();
  job["metadata"]["name"] = "placed";
  ASSERT_TRUE(Apply(job).ok());
  json other = job;
  other["spec"]["parallelism"] = {{"tensor", 8}, {"data", 4}, {"pipeline", 4}};
  EXPECT_TRUE(Apply(other, true).ok());
  const json planned = {{"type", "Planned"},
                        {"status", "True"},
                        {"reason", "Placed"},
                        {"message", "m"},
                        {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
  const absl::Status written =
      PatchStatus("trainingjob/placed", {{"status", {{"conditions", json::array({planned})}}}});
  ASSERT_TRUE(written.ok()) << written;
  EXPECT_THAT(std::string(Apply(other, true).message()),
              HasSubstr("spec.parallelism cannot change once the job is placed"));
}

TEST_F(CrdsTest, TheCurrencyOfAJobThatHasRentedHostsCannotChange) {
  json job = JobObject();
  job["metadata"]["name"] = "rented";
  job["spec"]["capacity"] = {{"maxCostPerHour", "80.00 USD"}};
  ASSERT_TRUE(Apply(job).ok());
  json other = job;
  other["spec"]["capacity"] = {{"maxTotalCost", "900 EUR"}};
  EXPECT_TRUE(Apply(other, true).ok()) << "nothing is spent";
  ASSERT_TRUE(
      PatchStatus("trainingjob/rented", {{"status", {{"capacity", {{"spent", "12.50 USD"}}}}}})
          .ok());
  for (const char* field : {"maxCostPerHour", "maxTotalCost"}) {
    other["spec"]["capacity"] = {{field, "900 EUR"}};
    EXPECT_THAT(std::string(Apply(other, true).message()),
                HasSubstr("is in the currency in which the job has rented hosts"));
    other["spec"]["capacity"] = {{field, "900 USD"}};
    EXPECT_TRUE(Apply(other, true).ok());
  }
  other["spec"].erase("capacity");
  EXPECT_TRUE(Apply(other, true).ok());
}

TEST_F(CrdsTest, WhatAQueueingSystemWritesOnAdmissionAndEvictionIsAccepted) {
  json queued = JobObject();
  queued["metadata"]["name"] = "queued";
  queued["spec"]["suspend"] = true;
  queued["spec"]["roles"] = RolesNamed({"launcher"});
  queued["spec"]["template"] = queued["spec"]["roles"][0]["template"];
  ASSERT_TRUE(Apply(queued).ok());
  json admitted = queued;
  admitted["spec"]["suspend"] = false;
  const json added = {{"metadata", {{"labels", {{"kueue.x-k8s.io/podset", "main"}}}}},
                      {"spec", {{"nodeSelector", {{"flavor", "h100"}}}}}};
  admitted["spec"]["template"].merge_patch(added);
  admitted["spec"]["roles"][0]["template"].merge_patch(added);
  ASSERT_TRUE(Apply(admitted).ok());
  ASSERT_TRUE(PatchStatus("trainingjob/queued", {{"status", {{"workers", 16}}}}).ok());
  EXPECT_TRUE(Apply(queued).ok()) << "suspended and restored in one write, while it has pods";
  json grown = queued;
  grown["spec"]["roles"][0]["replicas"] = 2;
  EXPECT_THAT(std::string(Apply(grown, true).message()),
              HasSubstr("spec.roles cannot change while the job has pods"));
  ASSERT_TRUE(PatchStatus("trainingjob/queued", {{"status", {{"workers", 0}}}}).ok());
  EXPECT_TRUE(Apply(grown, true).ok());
}

TEST_F(CrdsTest, TheComputeDomainOfAJobCannotChange) {
  json job = JobObject();
  job["metadata"]["name"] = "without-domain";
  ASSERT_TRUE(Apply(job).ok());
  job["spec"]["computeDomain"] = true;
  EXPECT_THAT(std::string(Apply(job, true).message()),
              HasSubstr("spec.computeDomain cannot change"));
  job["spec"]["computeDomain"] = false;
  EXPECT_TRUE(Apply(job, true).ok());
}

TEST_F(CrdsTest, TheControllerOfAJobCannotChange) {
  json job = JobObject();
  job["metadata"]["name"] = "managed";
  job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue";
  ASSERT_TRUE(Apply(job).ok());
  json other = job;
  other["spec"]["managedBy"] = "yardmaster.dev/operator";
  EXPECT_THAT(std::string(Apply(other, true).message()), HasSubstr("spec.managedBy cannot change"));
  other["spec"].erase("managedBy");
  EXPECT_THAT(std::string(Apply(other, true).message()), HasSubstr("spec.managedBy cannot change"));
  job["spec"]["suspend"] = true;
  EXPECT_TRUE(Apply(job, true).ok());
}

TEST_F(CrdsTest, TheLedgerIsWholeAndNeverGoesBack) {
  ASSERT_TRUE(Apply(GangObject()).ok());
  const json one = {{"rank", 0}, {"host", "n0"}};
  const json two = {{"rank", 1}, {"host", "n1"}};
  auto status = [](std::int64_t generation, json assignments) {
    return json{
        {"status", {{"planGeneration", generation}, {"assignments", std::move(assignments)}}}};
  };
  EXPECT_THAT(std::string(PatchStatus("gang/gang", status(1, json::array({one}))).message()),
              HasSubstr("status.assignments must hold every rank or none"));
  EXPECT_TRUE(PatchStatus("gang/gang", status(2, json::array({one, two}))).ok());
  EXPECT_THAT(std::string(PatchStatus("gang/gang", status(1, json::array({one, two}))).message()),
              HasSubstr("planGeneration must not go back"));
  json other = GangObject();
  other["spec"]["owner"]["name"] = "b";
  EXPECT_THAT(std::string(Apply(other, true).message()), HasSubstr("owner cannot change"));
}

}  // namespace
}  // namespace yardmaster::testing
