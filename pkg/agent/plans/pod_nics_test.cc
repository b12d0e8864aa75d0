#include "pkg/agent/plans/pod_nics.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

namespace fs = std::filesystem;

// Four physical functions mlx5_0 to mlx5_3 and a virtual one of each, mlx5_4 to mlx5_7.
class PodNicsTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = StrCat(testing::TempDir(), getpid(), "-pod-nics");
    fs::remove_all(root_);
    fs::create_directories(StrCat(root_, "/bus/pci/devices"));
    fs::create_directories(StrCat(root_, "/class/infiniband"));
    for (int i = 0; i < 4; ++i) {
      const std::string physical = Add(StrCat("0000:", i, "b:00.0"), StrCat("mlx5_", i), true);
      const std::string function = Add(VirtualFunction(i), StrCat("mlx5_", 4 + i), false);
      fs::create_directory_symlink(physical, StrCat(function, "/physfn"));
    }
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::string VirtualFunction(int i) { return StrCat("0000:", i, "b:00.2"); }

  // Virtual functions are not rails: here they stand behind the GPUs' NICs, of which there are
  // four.
  std::string Add(const std::string& address, const std::string& name, bool with_gpu) {
    const std::string bus = StrCat(root_, "/devices/pci0000:", address.substr(5, 1), "0/");
    const std::string folder = StrCat(bus, address);
    fs::create_directories(StrCat(folder, "/infiniband/", name, "/ports/1"));
    fs::create_directory_symlink(folder, StrCat(folder, "/infiniband/", name, "/device"));
    fs::create_directory_symlink(folder, StrCat(root_, "/bus/pci/devices/", address));
    fs::create_directory_symlink(StrCat(folder, "/infiniband/", name),
                                 StrCat(root_, "/class/infiniband/", name));
    if (with_gpu) {
      const std::string gpu = StrCat(bus, "0000:", address.substr(5, 1), "a:00.0");
      fs::create_directories(gpu);
      std::ofstream(gpu + "/vendor") << "0x10de\n";
      std::ofstream(gpu + "/class") << "0x030200\n";
      fs::create_directory_symlink(
          gpu, StrCat(root_, "/bus/pci/devices/", fs::path(gpu).filename().string()));
    }
    return folder;
  }
  static std::string Multus(const std::string& address) {
    return StrCat(R"([{"name":"cluster","interface":"eth0","default":true},
                      {"name":"rdma","interface":"net1","device-info":{"type":"pci","version":"1.1.0",
                       "pci":{"pci-address":")",
                  address, R"("}}}])");
  }

  std::string root_;
};

TEST_F(PodNicsTest, KubeletsDevicesAreFoundByAddressAndTakeTheRailOfTheirPhysicalFunction) {
  const auto pods = NicsOfPods(
      root_, {{"u1", {"GPU-1f2e", VirtualFunction(2)}, "", false}, {"u2", {"mlx5_1"}, "", false}},
      {});
  EXPECT_EQ(pods[0], (PodNics{"u1", NicSource::kKubelet, {{2, 0, "", "mlx5_6", 1}}}));
  EXPECT_EQ(pods[1], (PodNics{"u2", NicSource::kKubelet, {{1, 0, "", "mlx5_1", 1}}}));
}

TEST_F(PodNicsTest, WithoutKubeletsDevicesMultusSays) {
  const auto pods =
      NicsOfPods(root_, {{"u1", {"GPU-1f2e"}, Multus(VirtualFunction(3)), false}}, {});
  EXPECT_EQ(pods[0], (PodNics{"u1", NicSource::kMultus, {{3, 0, "", "mlx5_7", 1}}}));
}

TEST_F(PodNicsTest, AnAnnotationTakesNoDeviceFromAnotherPod) {
  const auto given = NicsOfPods(
      root_,
      {{"u1", {VirtualFunction(0)}, "", false}, {"u2", {}, Multus(VirtualFunction(0)), false}}, {});
  EXPECT_EQ(given[0].ports.size(), 1u);
  EXPECT_EQ(given[1], (PodNics{"u2", NicSource::kNone, {}}));
  const auto claimed = NicsOfPods(root_,
                                  {{"u1", {}, Multus(VirtualFunction(0)), false},
                                   {"u2", {}, Multus(VirtualFunction(0)), false}},
                                  {});
  EXPECT_TRUE(claimed[0].ports.empty());
  EXPECT_TRUE(claimed[1].ports.empty());
}

TEST_F(PodNicsTest, TheOnlyPodOfTheHostsNetworkHasAllPorts) {
  const std::vector<LocalNicPort> all = {{0, 0, "", "mlx5_0", 1}, {1, 0, "", "mlx5_1", 1}};
  EXPECT_EQ(NicsOfPods(root_, {{"u1", {}, "", true}}, all)[0],
            (PodNics{"u1", NicSource::kHost, all}));
  for (const PodNics& pod : NicsOfPods(root_, {{"u1", {}, "", true}, {"u2", {}, "", true}}, all)) {
    EXPECT_TRUE(pod.ports.empty()) << "counters do not tell them apart";
  }
}

TEST_F(PodNicsTest, HostileTextsLeadNowhere) {
  fs::create_directories(StrCat(root_, "/elsewhere/infiniband/mlx5_9/ports/1"));
  for (const std::string& status :
       {Multus("../../../elsewhere"), Multus("/etc"), Multus(""), Multus("."), std::string("{"),
        std::string("[1,{\"device-info\":7},{\"device-info\":{\"pci\":{\"pci-address\":[]}}}]"),
        std::string(100'000, '[')}) {
    const auto pods = NicsOfPods(root_, {{"u1", {"../mlx5_0", "a\nb"}, status, false}}, {});
    EXPECT_EQ(pods[0], (PodNics{"u1", NicSource::kNone, {}})) << status.substr(0, 200);
  }
}

}  // namespace
}  // namespace yardmaster::agent
