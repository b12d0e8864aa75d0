#include "pkg/rpc/pod_resources_client.h"

#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/rpc/testing/fake_kubelet.h"

namespace yardmaster::rpc {
namespace {

TEST(PodResourcesClientTest, DevicesOfAllContainersOfAPodAreListedTogether) {
  const std::string socket = StrCat(testing::TempDir(), getpid(), "-kubelet-1.sock");
  FakeKubelet kubelet(socket);
  auto* pod = kubelet.answer.add_pod_resources();
  pod->set_name("train-0");
  pod->set_namespace_("team");
  for (const char* id : {"0000:3b:00.2", "0000:5e:00.2"}) {
    auto* devices = pod->add_containers()->add_devices();
    devices->set_resource_name("nvidia.com/rdma");
    devices->add_device_ids(id);
  }
  kubelet.answer.add_pod_resources()->set_name("without-devices");
  const PodResourcesClient client(socket);
  const auto pods = client.List(5'000);
  ASSERT_TRUE(pods.ok()) << pods.status();
  ASSERT_EQ(pods->size(), 1u);
  EXPECT_EQ(
      (*pods)[0],
      (PodDevices{"team",
                  "train-0",
                  {{"nvidia.com/rdma", "0000:3b:00.2"}, {"nvidia.com/rdma", "0000:5e:00.2"}}}));
}

TEST(PodResourcesClientTest, AKubeletThatIsNotThereIsSaid) {
  const std::string socket = StrCat(testing::TempDir(), getpid(), "-kubelet-2.sock");
  std::filesystem::remove(socket);
  const PodResourcesClient client(socket);
  const auto pods = client.List(5'000);
  EXPECT_TRUE(absl::IsUnavailable(pods.status())) << pods.status();
  EXPECT_NE(pods.status().message().find(socket), std::string_view::npos);
}

TEST(PodResourcesClientTest, OtherBytesAreRefused) {
  EXPECT_FALSE(ParsePodResources("\x0a\xff\xff\xff\xff\x7f").ok());
  EXPECT_TRUE(ParsePodResources("")->empty());
}

}  // namespace
}  // namespace yardmaster::rpc
