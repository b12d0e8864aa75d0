#include "pkg/agent/plans/pod_claims.h"

#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/rpc/testing/fake_kubelet.h"

namespace yardmaster::agent {
namespace {

std::optional<PodInput> Find(const std::string& uid) {
  if (uid != "u1" && uid != "u2") return std::nullopt;
  PodInput pod;
  pod.ns = uid == "u1" ? "team" : "other";
  pod.name = "train-0";
  pod.host_network = uid == "u2";
  return pod;
}

TEST(PodClaimsTest, APodHasTheDevicesThatKubeletGaveToItsNamespaceAndName) {
  const std::string socket = StrCat(testing::TempDir(), getpid(), "-claims-1.sock");
  rpc::FakeKubelet kubelet(socket);
  auto* pod = kubelet.answer.add_pod_resources();
  pod->set_namespace_("team");
  pod->set_name("train-0");
  pod->add_containers()->add_devices()->add_device_ids("0000:3b:00.2");
  FakeClock clock;
  PodClaims claims(clock, socket);
  for (int step = 0; step < 5; ++step) {
    const auto found = claims.Claims({"u1", "u2", "gone"}, &Find);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].kubelet_devices, std::vector<std::string>{"0000:3b:00.2"});
    EXPECT_TRUE(found[1].kubelet_devices.empty()) << "a pod of the same name elsewhere";
    EXPECT_TRUE(found[1].host_network);
  }
  EXPECT_EQ(kubelet.asked, 1);
  clock.Advance(PodClaims::kQueryIntervalMs);
  claims.Claims({"u1"}, &Find);
  EXPECT_EQ(kubelet.asked, 2);
  EXPECT_TRUE(claims.problem().ok());
}

TEST(PodClaimsTest, WithoutKubeletTheRestStillCounts) {
  const std::string socket = StrCat(testing::TempDir(), getpid(), "-claims-2.sock");
  std::filesystem::remove(socket);
  FakeClock clock;
  PodClaims claims(clock, socket);
  EXPECT_TRUE(claims.Claims({"u2"}, &Find).at(0).host_network);
  EXPECT_FALSE(claims.problem().ok());
  PodClaims silent(clock, "");
  EXPECT_TRUE(silent.Claims({"u2"}, &Find).at(0).host_network);
  EXPECT_TRUE(silent.problem().ok());
}

}  // namespace
}  // namespace yardmaster::agent
