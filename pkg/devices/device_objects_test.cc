#include "pkg/devices/device_objects.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::devices {
namespace {

using nlohmann::json;

const json kTraits = json::parse(R"({
    "attributes": {"type": {"string": "gpu"}, "resource.kubernetes.io/pcieRoot": {"string": "r0"},
                   "index": {"int": 3}, "sharing": {"bool": false}, "v": {"version": "1.2.3"}},
    "capacity": {"memory": {"value": "80Gi"}},
    "consumesCounters": [{"counterSet": "g0", "counters": {"memory": {"value": "80Gi"}}}]})");

json SliceOf(json device) {
  return {{"metadata", {{"name", "s"}}},
          {"spec",
           {{"driver", "gpu.example.com"},
            {"nodeName", "n1"},
            {"pool", {{"name", "n1"}, {"generation", 2}, {"resourceSliceCount", 3}}},
            {"sharedCounters", {{{"name", "g0"}, {"counters", {{"memory", {{"value", "80Gi"}}}}}}}},
            {"devices", json::array({std::move(device)})}}}};
}

// Before v1beta2 a device is one level deeper.
TEST(DeviceObjectsTest, ASliceReadsAlikeInAllVersions) {
  json flat = kTraits;
  flat["name"] = "d0";
  const auto v1 = DecodeResourceSlice(SliceOf(flat));
  const auto v1beta1 = DecodeResourceSlice(SliceOf({{"name", "d0"}, {"basic", kTraits}}));
  ASSERT_TRUE(v1.ok()) << v1.status();
  ASSERT_TRUE(v1beta1.ok()) << v1beta1.status();
  EXPECT_EQ(*v1, *v1beta1);
  EXPECT_EQ(v1->generation, 2);
  EXPECT_EQ(v1->slices, 3);
  EXPECT_EQ(v1->node_name, "n1");
  EXPECT_FALSE(v1->on_many_nodes);
  const SliceDevice& device = v1->devices.at(0);
  EXPECT_EQ(device.traits.attributes.at("gpu.example.com/type").value,
            decltype(TraitValue::value)("gpu"));
  EXPECT_EQ(device.traits.attributes.count("resource.kubernetes.io/pcieRoot"), 1u);
  EXPECT_EQ(device.traits.capacity.at("gpu.example.com/memory"), std::int64_t{80} << 30);
  EXPECT_EQ(device.takes, v1->counters);
}

TEST(DeviceObjectsTest, OnlyTaintsThatKeepPodsAwayCount) {
  const auto tainted = [](const char* effect) {
    return DecodeResourceSlice(
               SliceOf({{"name", "d"}, {"taints", {{{"key", "k"}, {"effect", effect}}}}}))
        ->devices[0]
        .tainted;
  };
  EXPECT_TRUE(tainted("NoSchedule"));
  EXPECT_TRUE(tainted("NoExecute"));
  EXPECT_FALSE(tainted("None"));
}

TEST(DeviceObjectsTest, ASliceOfManyNodesSaysSo) {
  json slice = SliceOf({{"name", "d"}});
  slice["spec"].erase("nodeName");
  slice["spec"]["allNodes"] = true;
  EXPECT_TRUE(DecodeResourceSlice(slice)->on_many_nodes);
}

TEST(DeviceObjectsTest, AClaimReadsAlikeInAllVersions) {
  const json request = {{"deviceClassName", "gpu"}, {"count", 4}};
  json old_request = request;
  old_request["name"] = "g";
  const auto claim = [](json first) {
    return DecodeResourceClaim(
        json{{"metadata", {{"name", "c"}, {"namespace", "t"}}},
             {"spec", {{"devices", {{"requests", json::array({std::move(first)})}}}}}});
  };
  const auto v1 = claim({{"name", "g"}, {"exactly", request}});
  ASSERT_TRUE(v1.ok()) << v1.status();
  EXPECT_EQ(*v1, *claim(old_request));
  ASSERT_EQ(v1->spec.requests.size(), 1u);
  EXPECT_EQ(v1->spec.requests[0].at(0).count, 4);
  EXPECT_FALSE(v1->allocated);
}

TEST(DeviceObjectsTest, AlternativesStandInTheirOrderUnderTheNamesThatAllocationsHave) {
  const auto claim = DecodeResourceClaimTemplate(json::parse(R"({
      "metadata": {"name": "t", "namespace": "n"},
      "spec": {"spec": {"devices": {"requests": [{"name": "g", "firstAvailable": [
          {"name": "big", "deviceClassName": "h", "count": 1},
          {"name": "small", "deviceClassName": "a", "allocationMode": "All"}]}]}}}})"));
  ASSERT_TRUE(claim.ok()) << claim.status();
  const auto& alternatives = claim->spec.requests.at(0);
  EXPECT_EQ(alternatives.at(0).name, "g/big");
  EXPECT_EQ(alternatives.at(1).name, "g/small");
  EXPECT_TRUE(alternatives.at(1).all);
}

TEST(DeviceObjectsTest, DevicesOfAdminAccessAreNotHeld) {
  const auto claim = DecodeResourceClaim(json::parse(R"({
      "metadata": {"name": "c", "namespace": "n"},
      "status": {"allocation": {"devices": {"results": [
          {"request": "g", "driver": "d", "pool": "p", "device": "0"},
          {"request": "m", "driver": "d", "pool": "p", "device": "1", "adminAccess": true}]}}}})"));
  ASSERT_TRUE(claim.ok()) << claim.status();
  EXPECT_TRUE(claim->allocated);
  ASSERT_EQ(claim->held.size(), 1u);
  EXPECT_EQ(claim->held[0], (HeldDevice{"g", "d", "p", "0"}));
}

TEST(DeviceObjectsTest, AClassNamesItsExtendedResource) {
  const auto device_class = DecodeDeviceClass(json::parse(R"({
      "metadata": {"name": "gpu.nvidia.com"},
      "spec": {"extendedResourceName": "nvidia.com/gpu",
               "selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}})"));
  ASSERT_TRUE(device_class.ok()) << device_class.status();
  EXPECT_EQ(device_class->extended_resource, "nvidia.com/gpu");
  EXPECT_EQ(device_class->selectors.at(0).text(), "device.driver == 'gpu.nvidia.com'");
}

TEST(DeviceObjectsTest, ASliceWithoutADriverIsAnError) {
  json slice = SliceOf({{"name", "d"}});
  slice["spec"].erase("driver");
  EXPECT_FALSE(DecodeResourceSlice(slice).ok());
}

}  // namespace
}  // namespace yardmaster::devices
