#include "pkg/api/elastic.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/training_job.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

json Job(const json& spec, const json& status = json::object()) {
  json job = {{"apiVersion", kGroupVersion},
              {"kind", kTrainingJobKind},
              {"metadata", {{"name", "a"}, {"namespace", "team"}}},
              {"spec", {{"workers", 8}, {"gpusPerWorker", 8}, {"template", json::object()}}}};
  job["spec"].merge_patch(spec);
  if (!status.empty()) job["status"] = status;
  return job;
}
const json kElastic = {{"elastic", {{"minData", 8}, {"maxData", 64}}}};

TEST(ElasticTest, TheDecodedJobHasTheSizeOfItsStatusAndTheWishIsKept) {
  const auto fresh = DecodeTrainingJob(Job(kElastic));
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  EXPECT_EQ(fresh->job.workers, 8);
  EXPECT_EQ(fresh->job.parallelism.data, 64);
  const auto small = DecodeTrainingJob(Job(kElastic, {{"elastic", {{"data", 24}}}}));
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(small->job.workers, 3);
  EXPECT_EQ(small->job.parallelism.data, 24);
  EXPECT_EQ(small->elastic.wished_data, 64);
  const json written = EncodeTrainingJob(*small);
  EXPECT_EQ(written["spec"]["workers"], 8);
  const auto again = DecodeTrainingJob(written);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->job, small->job);
  EXPECT_EQ(again->elastic, small->elastic);
}

TEST(ElasticTest, TheWishIsKeptWithinTheBounds) {
  json spec = kElastic;
  spec["workers"] = 100;
  EXPECT_EQ(DecodeTrainingJob(Job(spec))->job.workers, 8);
  spec["elastic"]["minData"] = 72;
  spec["elastic"]["maxData"] = 80;
  spec["workers"] = 1;
  EXPECT_EQ(DecodeTrainingJob(Job(spec))->job.workers, 9);
}

TEST(ElasticTest, AProductOfSizesThatIsTooLargeForAnIntegerTakesTheMostWorkers) {
  JobSpec job;
  job.parallelism.tensor = job.parallelism.context = job.parallelism.pipeline = 1'000'000;
  job.gpus_per_worker = 1;
  EXPECT_EQ(WorkersOf(job, 1'000'000), 1'000'000);
}

TEST(ElasticTest, SizesAreThoseThatFillWholeWorkers) {
  json spec = kElastic;
  spec["workers"] = 4;
  spec["elastic"]["minData"] = 1;
  spec["parallelism"] = {{"tensor", 4}};
  const auto job = DecodeTrainingJob(Job(spec));
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(SizesOf(job->job, job->elastic), (std::vector<int>{2, 4, 6, 8}));
  EXPECT_EQ(WorkersOf(job->job, 3), std::nullopt);
}

TEST(ElasticTest, ContradictionsNameFieldAndFix) {
  json spec = kElastic;
  spec["parallelism"] = {{"data", 64}};
  EXPECT_NE(DecodeTrainingJob(Job(spec)).status().message().find("spec.parallelism.data"),
            std::string::npos);
  spec = kElastic;
  spec["elastic"]["minData"] = 65;
  EXPECT_NE(DecodeTrainingJob(Job(spec)).status().message().find("spec.elastic.minData"),
            std::string::npos);
  spec = {{"elastic", {{"minData", 3}, {"maxData", 5}}}};
  EXPECT_NE(DecodeTrainingJob(Job(spec)).status().message().find("fills"), std::string::npos);
}

}  // namespace
}  // namespace yardmaster::api
