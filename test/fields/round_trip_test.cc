// What the codec of a custom resource reads, it writes so that it reads back the same, and so that
// the API server takes it. Objects are drawn from the schemas, so a new field is in the test
// without a line here.
#include <functional>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/capacity_pool.h"
#include "pkg/api/fabric.h"
#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"
#include "pkg/base/random.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/workload/job.h"
#include "test/fields/schema.h"

namespace yardmaster {
namespace {

using nlohmann::json;

// What is written of an object that could be read.
using Rewrite = std::function<std::optional<json>(const json& object)>;

template <typename Decode, typename Encode>
Rewrite By(Decode decode, Encode encode) {
  return [decode, encode](const json& object) -> std::optional<json> {
    const auto value = decode(JsonView(object));
    if (!value.ok()) return std::nullopt;
    return encode(*value);
  };
}

json DrawObject(const json& schema, const char* kind, Random& random) {
  json object = {{"apiVersion", api::kGroupVersion}, {"kind", kind}, {"metadata", {{"name", "a"}}}};
  for (const char* part : {"spec", "status"}) {
    object[part] = fields::Draw(schema["properties"][part], random);
  }
  return object;
}

// Removes fields of a drawn TrainingJob that contradict others. Most drawn jobs have some, and a
// codec refuses those.
void RemoveContradictions(json& job) {
  json& spec = job["spec"];
  if (spec.value("successPolicy", "") != "Role") spec.erase("successRole");
  if (spec.contains("priority")) spec.erase("priorityClassName");
  if (spec.contains("checkpoint")) {
    json& checkpoint = spec["checkpoint"];
    if (checkpoint.value("request", "") != "Command") checkpoint.erase("command");
    if (!checkpoint.contains("directory")) checkpoint.erase("claim");
  }
  if (!spec.contains("recovery") || !spec["recovery"].contains("rules")) return;
  for (json& rule : spec["recovery"]["rules"]) {
    if (rule.contains("exitCodes") || rule.contains("exitCodesNotIn")) rule.erase("podCondition");
    if (rule.contains("exitCodes")) rule.erase("exitCodesNotIn");
  }
}

// Returns how many of the drawn objects could be read. `change` is called with each before it is
// read.
int CheckDrawnObjects(
    const std::string& plural, const char* kind, const Rewrite& rewrite,
    const std::function<void(json&)>& change = [](json&) {}) {
  const json schema = fields::SchemaOf(plural);
  Random random(SeedOf(7, plural));
  int read = 0;
  for (int round = 0; round < Rounds(4000); ++round) {
    json object = DrawObject(schema, kind, random);
    change(object);
    const std::optional<json> written = rewrite(object);
    if (!written) continue;
    ++read;
    const std::optional<json> again = rewrite(*written);
    EXPECT_EQ(again.value_or(json()), *written) << object;
    for (const char* part : {"spec", "status"}) {
      if (!written->contains(part)) continue;
      for (const std::string& complaint :
           fields::Complaints(schema["properties"][part], (*written)[part], part)) {
        ADD_FAILURE() << plural << " " << complaint << "\n" << object;
      }
    }
    if (testing::Test::HasFailure()) break;
  }
  return read;
}

TEST(RoundTripTest, OfAFabric) {
  const int read = CheckDrawnObjects(
      "fabrics", api::kFabricKind,
      By([](JsonView object) { return api::DecodeFabric(object); }, api::EncodeFabric));
  EXPECT_GT(read, Rounds(4000) / 100);
}

TEST(RoundTripTest, OfACapacityPool) {
  const int read = CheckDrawnObjects(
      "capacitypools", api::kCapacityPoolKind,
      By([](JsonView object) { return api::DecodeCapacityPool(object); }, api::EncodeCapacityPool));
  EXPECT_GT(read, Rounds(4000) / 100);
}

TEST(RoundTripTest, OfATrainingJob) {
  const int read = CheckDrawnObjects(
      "trainingjobs", api::kTrainingJobKind,
      By([](JsonView object) { return api::DecodeTrainingJob(object); }, api::EncodeTrainingJob),
      RemoveContradictions);
  EXPECT_GT(read, Rounds(4000) / 100);
}

TEST(RoundTripTest, OfAGang) {
  const int read = CheckDrawnObjects(
      "gangs", api::kGangKind,
      By([](JsonView object) { return api::DecodeGang(object); }, api::EncodeGang));
  EXPECT_GT(read, Rounds(4000) / 100);
}

// Sizes at their bounds, in every combination: sanitizers say where they overflow.
TEST(RoundTripTest, ADrawnJobCanBeChecked) {
  const json jobs = fields::SchemaOf("trainingjobs");
  const json gangs = fields::SchemaOf("gangs");
  Random random(SeedOf(7, "checked"));
  int valid = 0;
  const auto check = [&](const workload::Job& job) {
    if (workload::Problems(job, 8).empty()) ++valid;
  };
  for (int round = 0; round < Rounds(4000); ++round) {
    const json object = DrawObject(jobs, api::kTrainingJobKind, random);
    if (const auto job = api::DecodeTrainingJob(object, api::UnknownFields::kIgnore); job.ok()) {
      check(api::ToJob(job->job, {"", "a"}, "", 0, 8));
      check(api::ToJob(api::WithWorkers(job->job, 7), {"", "a"}, "", 0, 8));
      if (job->elastic.enabled) api::WorkerBoundsOf(job->job, job->elastic);
    }
    const json ledger = DrawObject(gangs, api::kGangKind, random);
    const auto gang = api::DecodeGang(ledger, api::Decoding::kLenient);
    ASSERT_TRUE(gang.ok()) << gang.status();
    workload::Job job = api::ToJob(gang->job, {"", "a"}, "", 0, 8);
    for (const api::GangRole& role : gang->roles) {
      job.roles.push_back({role.first_rank, role.requests, role.gpus});
    }
    check(job);
    check(api::ToJob(api::WithWorkers(gang->job, 7), {"", "a"}, "", 0, 8));
  }
  EXPECT_GT(valid, Rounds(4000) / 100);
}

}  // namespace
}  // namespace yardmaster
