#include "pkg/agent/ports/local_nic_port.h"

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"
#include "pkg/base/status.h"

namespace yardmaster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ParseNicPorts, ReadsBothKindsInOrderOfPlace) {
  const auto ports = ParseNicPorts(
      "ports:\n"
      "- {rail: 1, port: 0, rdmaDevice: mlx5_1, rdmaPort: 2}\n"
      "- {rail: 0, port: 1, interface: eth3}\n"
      "- {rail: 0, port: 0, interface: eth2}\n",
      "ports.yaml");
  ASSERT_TRUE(ports.ok()) << ports.status();
  EXPECT_THAT(*ports,
              ElementsAre(LocalNicPort{0, 0, "eth2", "", 0}, LocalNicPort{0, 1, "eth3", "", 0},
                          LocalNicPort{1, 0, "", "mlx5_1", 2}));
  EXPECT_EQ((*ports)[0].device(), "eth2");
  EXPECT_EQ((*ports)[2].device(), "mlx5_1/2");
}

TEST(ParseNicPorts, EveryWrongInputSaysWhatToDo) {
  const auto why = [](const char* yaml) {
    const auto ports = ParseNicPorts(yaml, "ports.yaml");
    EXPECT_EQ(ports.status().code(), absl::StatusCode::kInvalidArgument) << yaml;
    EXPECT_THAT(MessageOf(ports.status()), HasSubstr("ports.yaml"));
    return MessageOf(ports.status());
  };
  EXPECT_THAT(why("ports: []"), HasSubstr("is empty"));
  EXPECT_THAT(why("{}"), HasSubstr("is empty"));
  EXPECT_THAT(why("ports: [{rail: 0, port: 0}]"), HasSubstr("either interface or rdmaDevice"));
  EXPECT_THAT(why("ports: [{interface: a, rdmaDevice: b}]"), HasSubstr("either"));
  EXPECT_THAT(why("ports: [{interface: ../../etc}]"), HasSubstr("without a slash"));
  EXPECT_THAT(why("ports: [{interface: ..}]"), HasSubstr("either"));
  EXPECT_THAT(why("ports: [{rail: -1, interface: a}]"), HasSubstr("rail"));
  EXPECT_THAT(why("ports: [{interfase: a}]"), HasSubstr("interfase"));
  EXPECT_THAT(why("ports: [{interface: a}, {interface: b}]"), HasSubstr("stands twice"));
  why("ports: {");
}

TEST(DiscoverNicPorts, DevicesInNumericOrderAreTheRails) {
  const TempFolder sysfs;
  for (const char* device : {"mlx5_10", "mlx5_2"}) {
    sysfs.Put(std::string("class/infiniband/") + device + "/ports/1/state", "4: ACTIVE\n");
  }
  sysfs.Put("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  sysfs.Put("class/infiniband/mlx5_0/ports/2/state", "1: DOWN\n");
  EXPECT_THAT(
      DiscoverNicPorts(sysfs.path()),
      ElementsAre(LocalNicPort{0, 0, "", "mlx5_0", 1}, LocalNicPort{0, 1, "", "mlx5_0", 2},
                  LocalNicPort{1, 0, "", "mlx5_2", 1}, LocalNicPort{2, 0, "", "mlx5_10", 1}));
  EXPECT_THAT(DiscoverNicPorts(sysfs.path() + "/none"), IsEmpty());
}

TEST(HasLink, ReadsWhatTheKernelSays) {
  const TempFolder sysfs;
  const auto net = [&](const std::string& state) {
    sysfs.Put("class/net/eth2/operstate", state);
    return HasLink(sysfs.path(), {0, 0, "eth2", "", 0});
  };
  EXPECT_TRUE(net("up\n"));
  EXPECT_TRUE(net("unknown\n"));
  EXPECT_FALSE(net("down\n"));
  EXPECT_FALSE(net("lowerlayerdown\n"));
  EXPECT_FALSE(net(""));
  const auto rdma = [&](const std::string& state) {
    sysfs.Put("class/infiniband/mlx5_0/ports/1/state", state);
    return HasLink(sysfs.path(), {0, 0, "", "mlx5_0", 1});
  };
  EXPECT_TRUE(rdma("4: ACTIVE\n"));
  EXPECT_FALSE(rdma("1: DOWN\n"));
  EXPECT_FALSE(rdma("2: INIT\n"));
  EXPECT_FALSE(HasLink(sysfs.path(), {0, 0, "gone", "", 0}));
  EXPECT_FALSE(HasLink(sysfs.path(), {0, 0, "", "mlx5_7", 1}));
}

}  // namespace
}  // namespace yardmaster::agent
