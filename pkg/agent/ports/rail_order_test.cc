#include "pkg/agent/ports/rail_order.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/agent/ports/local_nic_port.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

namespace fs = std::filesystem;

// A sysfs tree as the kernel lays it out: devices in a tree of bridges, links from bus and class.
class RailOrderTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = StrCat(testing::TempDir(), getpid(), "-rail-order");
    fs::remove_all(root_);
    fs::create_directories(StrCat(root_, "/bus/pci/devices"));
    fs::create_directories(StrCat(root_, "/class/infiniband"));
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string AddDevice(const std::string& bus_path, const char* vendor, const char* kind) {
    const fs::path folder = StrCat(root_, "/devices/", bus_path);
    fs::create_directories(folder);
    std::ofstream(folder / "vendor") << vendor << "\n";
    std::ofstream(folder / "class") << kind << "\n";
    fs::create_directory_symlink(folder,
                                 StrCat(root_, "/bus/pci/devices/", folder.filename().string()));
    return folder.string();
  }
  void AddGpu(const std::string& bus_path) { AddDevice(bus_path, "0x10de", "0x030200"); }
  void AddNic(const std::string& bus_path, const std::string& name) {
    const std::string folder = AddDevice(bus_path, "0x15b3", "0x020700");
    const std::string port = StrCat(folder, "/infiniband/", name, "/ports/1");
    fs::create_directories(port);
    std::ofstream(port + "/state") << "4: ACTIVE\n";
    fs::create_directory_symlink(folder, StrCat(folder, "/infiniband/", name, "/device"));
    fs::create_directory_symlink(StrCat(folder, "/infiniband/", name),
                                 StrCat(root_, "/class/infiniband/", name));
  }

  std::string root_;
};

using Names = std::vector<std::string>;

// One GPU and one NIC under each PCIe switch, names in another order than GPUs, and two storage
// NICs elsewhere: as on hosts with eight GPUs and eight compute NICs.
TEST_F(RailOrderTest, EachGpuHasTheNicUnderItsSwitch) {
  const int nic_of_gpu[] = {3, 2, 1, 0, 7, 6, 5, 4};
  Names expected;
  for (int g = 0; g < 8; ++g) {
    const std::string bus = StrCat("pci0000:", g, "0/0000:", g, "0:01.0/0000:", g, "1:00.0");
    AddGpu(StrCat(bus, "/0000:", g, "2:00.0/0000:", g, "3:00.0"));
    AddNic(StrCat(bus, "/0000:", g, "2:01.0/0000:", g, "4:00.0"), StrCat("mlx5_", nic_of_gpu[g]));
    expected.push_back(StrCat("mlx5_", nic_of_gpu[g]));
  }
  AddNic("pci0000:a0/0000:a0:01.0/0000:a1:00.0", "mlx5_10");
  AddNic("pci0000:a0/0000:a0:01.0/0000:a1:00.1", "mlx5_11");
  EXPECT_EQ(RailDevices(root_), expected);
  const auto ports = DiscoverNicPorts(root_);
  ASSERT_EQ(ports.size(), 8u);
  EXPECT_EQ(ports[0].rdma_device, "mlx5_3");
  EXPECT_EQ(ports[7].rail, 7);
}

// Two GPUs and one NIC with two functions under each switch.
TEST_F(RailOrderTest, GpusOfOneSwitchShareItsNics) {
  for (int s = 0; s < 4; ++s) {
    const std::string bus = StrCat("pci0000:", s, "0/0000:", s, "0:01.0/0000:", s, "1:00.0");
    AddGpu(StrCat(bus, "/0000:", s, "2:00.0/0000:", s, "3:00.0"));
    AddGpu(StrCat(bus, "/0000:", s, "2:01.0/0000:", s, "4:00.0"));
    AddNic(StrCat(bus, "/0000:", s, "2:02.0/0000:", s, "5:00.0"), StrCat("mlx5_", 6 - 2 * s));
    AddNic(StrCat(bus, "/0000:", s, "2:02.0/0000:", s, "5:00.1"), StrCat("mlx5_", 7 - 2 * s));
  }
  EXPECT_EQ(RailDevices(root_), (Names{"mlx5_6", "mlx5_7", "mlx5_4", "mlx5_5", "mlx5_2", "mlx5_3",
                                       "mlx5_0", "mlx5_1"}));
}

// Every device on its own root port, as virtual machines show them: the bus tells nothing.
TEST_F(RailOrderTest, WithoutNearnessNamesDecide) {
  for (int i = 0; i < 12; ++i) {
    AddNic(StrCat("pci0000:00/0000:00:", 10 + i, ".0"), StrCat("mlx5_", i));
  }
  EXPECT_EQ(RailDevices(root_)[2], "mlx5_2") << "no GPUs";
  EXPECT_EQ(RailDevices(root_).size(), 12u);
  for (int i = 0; i < 8; ++i) AddGpu(StrCat("pci0000:00/0000:00:", 30 + i, ".0"));
  EXPECT_EQ(RailDevices(root_), (Names{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx5_4", "mlx5_5",
                                       "mlx5_6", "mlx5_7"}));
}

TEST_F(RailOrderTest, FewerNicsThanGpusAreAllRailsByName) {
  for (int i = 0; i < 8; ++i) AddGpu(StrCat("pci0000:00/0000:00:", 30 + i, ".0"));
  AddNic("pci0000:00/0000:00:11.0", "mlx5_bond_1");
  AddNic("pci0000:00/0000:00:12.0", "mlx5_bond_0");
  EXPECT_EQ(RailDevices(root_), (Names{"mlx5_bond_0", "mlx5_bond_1"}));
  EXPECT_TRUE(RailDevices(root_ + "/nowhere").empty());
}

}  // namespace
}  // namespace yardmaster::agent
