#include "pkg/devices/device_selector.h"

#include "gtest/gtest.h"

namespace yardmaster::devices {
namespace {

DeviceTraits Gpu() {
  return {"gpu.nvidia.com",
          {{"gpu.nvidia.com/type", {"gpu"}},
           {"gpu.nvidia.com/productName", {"NVIDIA H100"}},
           {"gpu.nvidia.com/index", {std::int64_t{3}}},
           {"gpu.nvidia.com/mig", {false}},
           {"gpu.nvidia.com/driverVersion", {}}},
          {{"gpu.nvidia.com/memory", std::int64_t{80} << 30}}};
}

DeviceMatch Of(const std::string& text) { return DeviceSelector::Parse(text).Evaluate(Gpu()); }

TEST(DeviceSelectorTest, DriversAndAttributesAreCompared) {
  EXPECT_EQ(Of("device.driver == 'gpu.nvidia.com'"), DeviceMatch::kYes);
  EXPECT_EQ(Of("device.driver == \"other\""), DeviceMatch::kNo);
  EXPECT_EQ(Of("device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == "
               "'gpu'"),
            DeviceMatch::kYes);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].type != 'gpu'"), DeviceMatch::kNo);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].index < 4"), DeviceMatch::kYes);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].index >= 4"), DeviceMatch::kNo);
  EXPECT_EQ(Of("!device.attributes['gpu.nvidia.com'].mig"), DeviceMatch::kYes);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].productName in ['NVIDIA A100', 'NVIDIA H100']"),
            DeviceMatch::kYes);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].productName in ['NVIDIA A100']"),
            DeviceMatch::kNo);
}

TEST(DeviceSelectorTest, CapacitiesAreCompared) {
  const std::string memory = "device.capacity['gpu.nvidia.com'].memory";
  EXPECT_EQ(Of(memory + ".compareTo(quantity('40Gi')) >= 0"), DeviceMatch::kYes);
  EXPECT_EQ(Of(memory + ".compareTo(quantity('80Gi')) > 0"), DeviceMatch::kNo);
  EXPECT_EQ(Of(memory + ".isGreaterThan(quantity('79Gi'))"), DeviceMatch::kYes);
  EXPECT_EQ(Of(memory + ".isLessThan(quantity('79Gi'))"), DeviceMatch::kNo);
}

TEST(DeviceSelectorTest, AndBindsCloserThanOr) {
  EXPECT_EQ(Of("true || true && false"), DeviceMatch::kYes);
  EXPECT_EQ(Of("(true || true) && false"), DeviceMatch::kNo);
}

TEST(DeviceSelectorTest, WhatIsNotUnderstoodIsUnknownOnlyWhereItDecides) {
  const std::string unknown = "device.attributes['gpu.nvidia.com'].productName.matches('H.*')";
  EXPECT_EQ(Of(unknown), DeviceMatch::kUnknown);
  EXPECT_EQ(Of("!" + unknown), DeviceMatch::kUnknown);
  EXPECT_EQ(Of("device.driver == 'other' && " + unknown), DeviceMatch::kNo);
  EXPECT_EQ(Of(unknown + " || device.driver == 'gpu.nvidia.com'"), DeviceMatch::kYes);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].driverVersion == '1'"), DeviceMatch::kUnknown);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].index == 'three'"), DeviceMatch::kUnknown);
  for (const char* text :
       {"", "device.driver ==", "1 +", "'open", "a ? b : c", "(true", "[1", "\\"}) {
    EXPECT_EQ(Of(text), DeviceMatch::kUnknown) << text;
  }
}

TEST(DeviceSelectorTest, ADeviceWithoutTheAttributeDoesNotMatch) {
  EXPECT_EQ(Of("device.attributes['other.com'].type == 'gpu'"), DeviceMatch::kNo);
  EXPECT_EQ(Of("!(device.attributes['other.com'].type == 'gpu')"), DeviceMatch::kNo);
  EXPECT_EQ(Of("device.attributes['other.com'].type == 'gpu' || true"), DeviceMatch::kYes);
  EXPECT_EQ(Of("device.capacity['other.com'].memory.isGreaterThan(quantity('1'))"),
            DeviceMatch::kNo);
}

TEST(DeviceSelectorTest, DeepAndLongTextsAreUnknown) {
  EXPECT_EQ(Of(std::string(100, '(') + "true" + std::string(100, ')')), DeviceMatch::kUnknown);
  EXPECT_EQ(Of(std::string(2'000, '!') + "true"), DeviceMatch::kUnknown);
  std::string members = "device";
  for (int i = 0; i < 1'000; ++i) members += ".a";
  EXPECT_EQ(Of(members), DeviceMatch::kUnknown);
  EXPECT_EQ(Of("true" + std::string(11 * 1024, ' ')), DeviceMatch::kUnknown);
}

}  // namespace
}  // namespace yardmaster::devices
