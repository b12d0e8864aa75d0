// What the stories of LeaderWorkerSet, the MPI operator and KubeRay share. Each suite has a cluster
// with its controller.
//
// TESTONLY. Thread safety: one thread.
#pragma once

#include <set>
#include <string>

#include "test/kinds/job_objects.h"
#include "test/kinds/kinds_story_fixture.h"

namespace yardmaster::testing {

class MoreKindsTest : public KindsStoryTest {
 protected:
  // The gang of that name promises the job the hosts that it runs on, and no others.
  static void ExpectOnItsHosts(const std::string& job, const std::string& gang) {
    std::set<std::string> runs, held;
    EXPECT_TRUE(WaitFor(kLongPatience,
                        [&] {
                          runs = RunsOn(job);
                          held = HostsHeldBy(gang);
                          return !runs.empty() && runs == held;
                        }))
        << "runs on " << Join(Sorted(runs), " ") << ", promised are " << Join(Sorted(held), " ");
  }
  // A host of the job is lost: it runs whole without that host, and the host comes back.
  static void LoseAHost(const std::string& job, std::size_t size, const std::string& gang) {
    ASSERT_FALSE(RunsOn(job).empty());
    const std::string lost = *RunsOn(job).begin();
    SetReady(lost, false);
    EXPECT_TRUE(WaitFor(kLongPatience, [&] {
      const std::set<std::string> hosts = RunsOn(job);
      return hosts.size() == size && !hosts.contains(lost) && LivePods(job).size() == size;
    })) << cluster_->Get({"gang", "-n", "team", gang}).dump(1);
    ExpectPromisesKept();
    ExpectFinished();
    SetReady(lost, true);
    EXPECT_TRUE(WaitFor(kLongPatience, [&] { return IsReady(lost); }));
  }
  static bool IsIn(const std::set<std::string>& few, const std::set<std::string>& many) {
    return std::includes(many.begin(), many.end(), few.begin(), few.end());
  }
  // A template of pods without GPUs: launchers, heads.
  static json BareTemplate() {
    return {{"spec",
             {{"restartPolicy", "Never"},
              {"containers", json::array({{{"name", "t"}, {"image", "i"}}})}}}};
  }

 private:
  static std::vector<std::string> Sorted(const std::set<std::string>& names) {
    return {names.begin(), names.end()};
  }
};

}  // namespace yardmaster::testing
