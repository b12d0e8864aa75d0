#include "simulation/formats/trace_files.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <set>

#include "pkg/base/status.h"

namespace yardmaster::sim {
namespace {

std::string Published(const std::string& file) {
  std::ifstream stream(YARDMASTER_SOURCE_DIR "/test/data/lingjun-2023/" + file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

constexpr char kWorkers[] =
    "job_name,worker_name,replica_type,host_ip,RES\n"
    "a,a-0,Worker,h1,\"cpu=90 gpu=8\"\n"
    "a,a-1,Worker,h2,\"cpu=90 gpu=8\"\n"
    "b,b-0,Worker,h3,\"cpu=90 gpu=4\"\n"
    "c,c-0,Worker,h3,8\n";

TEST(TraceFiles, JobsGetTheGpusOfTheirWorkersAndTimesFromTheFirst) {
  SkippedRows skipped;
  const auto jobs = ParseTraceJobs(
      "job_name,kind,model,priority,gmt_job_submitted,gmt_job_running,gmt_job_finished\n"
      "b,Job,GPT-13b,3,2023/7/15 02:29,2023/7/15 02:30,2023/7/15 03:30\n"
      "a,Job,llama,3,2023/7/15 02:19,2023/7/15 02:20,2023/7/16 02:20\n",
      kWorkers, {}, skipped);
  ASSERT_TRUE(jobs.ok()) << MessageOf(jobs.status());
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_EQ((*jobs)[0].id, "a");
  EXPECT_EQ((*jobs)[0].gpus, 16);
  EXPECT_EQ((*jobs)[0].arrival_seconds, 0);
  EXPECT_EQ((*jobs)[0].run_seconds, 86400);
  EXPECT_EQ((*jobs)[1].gpus, 4);
  EXPECT_EQ((*jobs)[1].arrival_seconds, 600);
  EXPECT_TRUE(skipped.empty());
}

TEST(TraceFiles, BrokenRowsAreSkippedAndCounted) {
  SkippedRows skipped;
  const auto jobs = ParseTraceJobs(
      "job_name,kind,model,priority,gmt_job_submitted,gmt_job_running,gmt_job_stopped\r\n"
      "a,Job,llama,3,2023/7/15 02:19,2023/7/15 02:20,2023/7/15 03:20\r\n"
      "a,Job,llama,3,2023/7/15 02:19,2023/7/15 02:20,2023/7/15 03:20\r\n"
      "b,Job,llama,3,2023/7/15 02:19,2023/7/15 02:10,2023/7/15 03:20\r\n"
      "c,Job,llama,3,2023/7/15 02:19,,2023/7/15 03:20\r\n"
      "c,Job,llama,3,2023/13/15 02:19,2023/7/15 02:20,2023/7/15 03:20\r\n"
      "nobody,Job,llama,3,2023/7/15 02:19,2023/7/15 02:20,2023/7/15 03:20\r\n"
      "short\r\n",
      kWorkers, {}, skipped);
  ASSERT_TRUE(jobs.ok()) << MessageOf(jobs.status());
  EXPECT_EQ(jobs->size(), 1u);
  EXPECT_EQ(skipped["job.csv: running before submitted"], 1u);
  EXPECT_EQ(skipped["job.csv: a time is missing or cannot be read"], 3u);
  EXPECT_EQ(skipped["job.csv: no worker with GPUs"], 1u);
  EXPECT_EQ(skipped["job.csv: no name, or the name of an earlier row"], 1u);
}

TEST(TraceFiles, ResourcesMayBeQuotedListsOrBareNumbers) {
  SkippedRows skipped;
  const auto jobs = ParseTraceJobs(
      "job_name,model,gmt_job_submitted,gmt_job_running,gmt_job_finished\n"
      "a,\"llama, large\",2023/8/1 02:19,2023/8/1 02:20,2023/8/1 03:20\n",
      "job_name,worker_name,replica_type,RES,host_ip\n"
      "a,a-0,Master,\"{\"\"cpu\"\": 90, \"\"nvidia.com/gpu\"\": 4}\",h1\n"
      "a,a-1,Worker,2,h1\n"
      "a,a-2,Worker,\"cpu=90,GPU=8\",h2\n",
      {{"h1", 7}, {"h2", 3}}, skipped);
  ASSERT_TRUE(jobs.ok()) << MessageOf(jobs.status());
  EXPECT_EQ((*jobs)[0].model, "llama, large");
  EXPECT_EQ((*jobs)[0].gpus, 14);
  ASSERT_EQ((*jobs)[0].places.size(), 2u);
  EXPECT_EQ((*jobs)[0].places[0].host, 3);
  EXPECT_EQ((*jobs)[0].places[0].gpus, 8);
  EXPECT_EQ((*jobs)[0].places[1].host, 7);
  EXPECT_EQ((*jobs)[0].places[1].gpus, 6);
}

TEST(TraceFiles, AJobWithAWorkerOnAnUnknownHostHasNoPlaces) {
  SkippedRows skipped;
  const auto jobs = ParseTraceJobs(
      "job_name,model,gmt_job_submitted,gmt_job_running,gmt_job_finished\n"
      "a,llama,2023/8/1 02:19,2023/8/1 02:20,2023/8/1 03:20\n",
      kWorkers, {{"h1", 0}}, skipped);
  ASSERT_TRUE(jobs.ok());
  EXPECT_TRUE((*jobs)[0].places.empty());
}

TEST(TraceFiles, AFileWithoutItsColumnsIsRefused) {
  SkippedRows skipped;
  const auto jobs = ParseTraceJobs("name\nx\n", kWorkers, {}, skipped);
  EXPECT_THAT(MessageOf(jobs.status()), ::testing::HasSubstr("job.csv: has no column job_name"));
}

TEST(TraceFiles, ThePublishedTopologyAndSizesAreReadWhole) {
  SkippedRows skipped;
  const auto hosts = ParseTopology(Published("topo.csv"), skipped);
  ASSERT_TRUE(hosts.ok());
  EXPECT_EQ(hosts->size(), 847u);
  std::set<std::string> aggregations;
  for (const TraceHost& host : *hosts) aggregations.insert(host.aggregation);
  EXPECT_EQ(aggregations.size(), 3u);
  EXPECT_TRUE(skipped.empty());
  const auto sizes = ParseModelSizes(Published("model-gpus.csv"), skipped);
  ASSERT_TRUE(sizes.ok());
  EXPECT_EQ(sizes->size() + skipped["model-gpus.csv: no model or no GPU count"], 1045u);
}

}  // namespace
}  // namespace yardmaster::sim
