#include "pkg/api/job_role.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/api/training_job.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Container(const json& resources = json::object()) {
  return {{"name", "c"}, {"image", "i"}, {"resources", resources}};
}
json Role(const std::string& name, const json& resources = json::object()) {
  return {{"name", name},
          {"template", {{"spec", {{"containers", json::array({Container(resources)})}}}}}};
}
json Job(const json& spec) {
  json job = {{"apiVersion", kGroupVersion},
              {"kind", kTrainingJobKind},
              {"metadata", {{"name", "a"}, {"namespace", "team"}}},
              {"spec", {{"workers", 4}, {"gpusPerWorker", 8}, {"template", json::object()}}}};
  job["spec"].merge_patch(spec);
  return job;
}
std::string ErrorOf(const json& spec) {
  return std::string(DecodeTrainingJob(Job(spec)).status().message());
}

TEST(JobRoleTest, EveryFieldReadsBackAsItWasWritten) {
  json launcher = Role("launcher", {{"requests", {{"cpu", "1"}}}});
  launcher["replicas"] = 2;
  launcher["onFailure"] = "Restart";
  json object = Job({{"roles", json::array({launcher, Role("data")})},
                     {"successPolicy", "Role"},
                     {"successRole", "launcher"}});
  object["status"]["roles"] = json::array({{{"name", "launcher"}, {"ready", 1}, {"succeeded", 1}},
                                           {{"name", "data"}, {"ready", 1}, {"succeeded", 0}}});
  const auto job = DecodeTrainingJob(object);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->members(), 7);
  EXPECT_EQ(job->run.success, SuccessPolicy::kRole);
  ASSERT_EQ(job->roles.size(), 2u);
  EXPECT_EQ(job->roles[0].on_failure, OnRoleFailure::kRestart);
  EXPECT_EQ(job->roles[1].on_failure, OnRoleFailure::kReplace);
  EXPECT_EQ(job->roles[0].pod_template.ToJson(), launcher["template"]);
  const json written = EncodeTrainingJob(*job);
  const auto again = DecodeTrainingJob(written);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(EncodeTrainingJob(*again), written);
  EXPECT_EQ(again->status, job->status);
  EXPECT_EQ(again->run, job->run);
}

TEST(JobRoleTest, MembersFollowTheRanksInTheOrderOfTheRoles) {
  const auto job = DecodeTrainingJob(
      Job({{"roles", json::array({{{"name", "b"}, {"replicas", 2}, {"template", json::object()}},
                                  {{"name", "a"}, {"template", json::object()}}})}}));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(RoleMemberOf(job->roles, 4, 4).role, 0);
  EXPECT_EQ(RoleMemberOf(job->roles, 4, 5).index, 1);
  EXPECT_EQ(RoleMemberOf(job->roles, 4, 6).role, 1);
  EXPECT_EQ(RoleMemberOf(job->roles, 4, 6).index, 0);
}

TEST(JobRoleTest, ContradictionsNameFieldAndFix) {
  const json gpus = {{"limits", {{kGpuResource, 1}}}};
  EXPECT_THAT(ErrorOf({{"roles", json::array({Role("launcher", gpus)})}}),
              HasSubstr("spec.roles[0].template.spec.containers"));
  EXPECT_THAT(ErrorOf({{"roles", json::array({Role("Launcher")})}}),
              HasSubstr("spec.roles[0].name"));
  EXPECT_THAT(ErrorOf({{"roles", json::array({Role("1")})}}), HasSubstr("starting with a letter"));
  EXPECT_THAT(ErrorOf({{"roles", json::array({Role(std::string(61, 'x'))})}}),
              HasSubstr("63 are allowed"));
  EXPECT_THAT(ErrorOf({{"roles", json::array({Role("x"), Role("x")})}}),
              HasSubstr("spec.roles[1].name: expected a value that no earlier entry has"));
  EXPECT_THAT(ErrorOf({{"successPolicy", "Role"}}), HasSubstr("spec.successRole: is missing"));
  EXPECT_THAT(ErrorOf({{"successRole", "x"}}), HasSubstr("successPolicy is not Role"));
  EXPECT_THAT(ErrorOf({{"successPolicy", "Role"}, {"successRole", "x"}}),
              HasSubstr("is not among spec.roles"));
  json many = json::array();
  for (int i = 0; i < 9; ++i) many.push_back(Role(std::string(1, static_cast<char>('a' + i))));
  EXPECT_THAT(ErrorOf({{"roles", many}}),
              HasSubstr("spec.roles: expected at most 8 entries, got 9"));
}

TEST(JobRoleTest, APodOfARoleIsInNoGang) {
  Pod pod;
  pod.metadata.labels = {{kJobLabel, "a"}, {kRoleLabel, "launcher"}};
  workload::SetAmount(pod.requests, kGpuResource,
                      1);  // regardless of what its template says by then
  EXPECT_FALSE(WantsGang(pod));
  const auto membership = ResolveMembership(pod);
  ASSERT_TRUE(membership.ok()) << membership.status();
  EXPECT_FALSE(membership->has_value());
}

}  // namespace
}  // namespace yardmaster::api
