#include "pkg/operator/jobs/jobs_by_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/api/names.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

api::Pod PodOn(const std::string& job, const std::string& host) {
  api::Pod pod;
  pod.metadata.namespace_name = "team";
  if (!job.empty()) pod.metadata.labels[api::kJobLabel] = job;
  pod.node_name = host;
  return pod;
}

TEST(JobsByHostTest, AJobIsNamedOnceWhateverNumberOfItsPodsIsThere) {
  JobsByHost jobs;
  const api::Pod b = PodOn("b", "n1"), a = PodOn("a", "n1");
  jobs.Update("team/b-0", &b);
  jobs.Update("team/b-1", &b);
  jobs.Update("team/a-0", &a);
  EXPECT_THAT(jobs.On("n1"), ElementsAre("team/a", "team/b"));
  EXPECT_THAT(jobs.On("n2"), IsEmpty());
}

TEST(JobsByHostTest, APodThatMovesOrGoesTakesItsJobAlong) {
  JobsByHost jobs;
  const api::Pod first = PodOn("a", "n1"), second = PodOn("a", "n2");
  jobs.Update("team/a-0", &first);
  jobs.Update("team/a-0", &second);
  EXPECT_THAT(jobs.On("n1"), IsEmpty());
  EXPECT_THAT(jobs.On("n2"), ElementsAre("team/a"));
  jobs.Update("team/a-0", nullptr);
  EXPECT_THAT(jobs.On("n2"), IsEmpty());
  jobs.Update("team/a-0", nullptr);  // once more changes nothing
}

TEST(JobsByHostTest, PodsWithoutAJobOrWithoutAHostCountForNone) {
  JobsByHost jobs;
  const api::Pod other = PodOn("", "n1"), pending = PodOn("a", "");
  jobs.Update("team/x", &other);
  jobs.Update("team/a-0", &pending);
  EXPECT_THAT(jobs.On("n1"), IsEmpty());
  EXPECT_THAT(jobs.On(""), IsEmpty());
}

// Against a look at every pod.
TEST(JobsByHostTest, RandomHistoriesGiveWhatALookAtEveryPodGives) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    JobsByHost jobs;
    std::map<std::string, api::Pod> pods;
    for (int step = 0; step < 300; ++step) {
      const std::string key = StrCat("team/p", random.Below(12));
      if (random.Below(4) == 0) {
        pods.erase(key);
        jobs.Update(key, nullptr);
        continue;
      }
      const std::string host = random.Below(5) == 0 ? "" : StrCat("n", random.Below(3));
      pods[key] = PodOn(StrCat("j", random.Below(4)), host);
      jobs.Update(key, &pods[key]);
    }
    for (const char* host : {"n0", "n1", "n2"}) {
      std::set<std::string> expected;
      for (const auto& [key, pod] : pods) {
        if (pod.node_name == host)
          expected.insert("team/" + pod.metadata.labels.at(api::kJobLabel));
      }
      EXPECT_THAT(jobs.On(host), testing::ElementsAreArray(expected)) << seed;
    }
  }
}

}  // namespace
}  // namespace yardmaster::op
