#include "pkg/devices/host_devices.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::devices {
namespace {

const DeviceKind kAny;

ResourceSlice SliceOf(int devices, std::int64_t generation = 1) {
  ResourceSlice slice;
  slice.driver = "gpu.example.com";
  slice.pool = slice.node_name = "n1";
  slice.generation = generation;
  for (int i = 0; i < devices; ++i) {
    slice.devices.push_back({StrCat("gpu-", i), {slice.driver, {}, {}}, {}, "", false});
  }
  return slice;
}

HostDevices HostOf(std::vector<ResourceSlice> slices) {
  std::vector<HostDevices::SlicePtr> shared;
  for (ResourceSlice& slice : slices) {
    shared.push_back(std::make_shared<const ResourceSlice>(std::move(slice)));
  }
  return {shared, "n1"};
}

HostDevices::Held Holds(std::set<std::string> devices) {
  return {{{"gpu.example.com", "n1"}, std::move(devices)}};
}

TEST(HostDevicesTest, HeldDevicesAreNotFree) {
  const DeviceAmounts amounts = HostOf({SliceOf(8)}).Count(kAny, Holds({"gpu-0", "gpu-5"}));
  EXPECT_EQ(amounts.all, 8);
  EXPECT_EQ(amounts.free, 6);
  EXPECT_TRUE(amounts.exact);
}

TEST(HostDevicesTest, TheNewestGenerationCounts) {
  EXPECT_EQ(HostOf({SliceOf(8, 1), SliceOf(4, 2)}).Count(kAny, {}).all, 4);
}

TEST(HostDevicesTest, APoolCountsOnceAllOfItsSlicesAreThere) {
  ResourceSlice half = SliceOf(4);
  half.slices = 2;
  EXPECT_EQ(HostOf({half}).Count(kAny, {}).all, 0);
  EXPECT_EQ(HostOf({half, half}).Count(kAny, {}).all, 8);
}

TEST(HostDevicesTest, ATaintedDeviceCountsWhileItIsHeld) {
  ResourceSlice slice = SliceOf(8);
  slice.devices[7].tainted = true;
  EXPECT_EQ(HostOf({slice}).Count(kAny, {}).all, 7);
  const DeviceAmounts held = HostOf({slice}).Count(kAny, Holds({"gpu-7"}));
  EXPECT_EQ(held.all, 8);
  EXPECT_EQ(held.free, 7);
}

TEST(HostDevicesTest, DevicesOfOtherNodesDoNotCount) {
  ResourceSlice slice = SliceOf(2);
  slice.node_name.clear();
  slice.devices[0].node_name = "n1";
  slice.devices[1].node_name = "n2";
  EXPECT_EQ(HostOf({slice}).Count(kAny, {}).all, 1);
}

TEST(HostDevicesTest, DevicesThatMayMatchCountAndAreNamedInexact) {
  const DeviceKind kind{{DeviceSelector::Parse("device.driver.startsWith('gpu')")}};
  const DeviceAmounts amounts = HostOf({SliceOf(8)}).Count(kind, {});
  EXPECT_EQ(amounts.all, 8);
  EXPECT_FALSE(amounts.exact);
}

// One GPU that is used whole or as four quarters.
ResourceSlice Partitionable() {
  ResourceSlice slice = SliceOf(0);
  slice.counters = {{"g0", {{"memory", 80}}}};
  const auto add = [&slice](const std::string& name, const char* type, std::int64_t memory) {
    slice.devices.push_back({name,
                             {slice.driver, {{"gpu.example.com/type", {std::string(type)}}}, {}},
                             {{"g0", {{"memory", memory}}}},
                             "",
                             false});
  };
  add("whole", "gpu", 80);
  for (int i = 0; i < 4; ++i) add(StrCat("quarter-", i), "mig", 20);
  return slice;
}

DeviceKind OfType(const char* type) {
  return {
      {DeviceSelector::Parse(StrCat("device.attributes['gpu.example.com'].type == '", type, "'"))}};
}

TEST(HostDevicesTest, AGpuIsFreeWhenNoneOfItsPartitionsIsHeld) {
  const HostDevices host = HostOf({Partitionable()});
  EXPECT_EQ(host.Count(OfType("gpu"), {}).free, 1);
  EXPECT_EQ(host.Count(OfType("mig"), {}).free, 4);
  const DeviceAmounts gpus = host.Count(OfType("gpu"), Holds({"quarter-2"}));
  EXPECT_EQ(gpus.all, 1);
  EXPECT_EQ(gpus.free, 0);
  EXPECT_EQ(host.Count(OfType("mig"), Holds({"quarter-2"})).free, 3);
}

TEST(HostDevicesTest, NoPartitionIsFreeWhileTheGpuIsHeld) {
  EXPECT_EQ(HostOf({Partitionable()}).Count(OfType("mig"), Holds({"whole"})).free, 0);
}

TEST(HostDevicesTest, DevicesThatShutEachOtherOutCountAsManyAsFit) {
  EXPECT_EQ(HostOf({Partitionable()}).Count(kAny, {}).all, 1);
}

}  // namespace
}  // namespace yardmaster::devices
