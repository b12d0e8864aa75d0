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

Match Of(const std::string& text) { return DeviceSelector::Parse(text).Evaluate(Gpu()); }

TEST(DeviceSelectorTest, DriversAndAttributesAreCompared) {
  EXPECT_EQ(Of("device.driver == 'gpu.nvidia.com'"), Match::kYes);
  EXPECT_EQ(Of("device.driver == \"other\""), Match::kNo);
  EXPECT_EQ(Of("device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == "
               "'gpu'"),
            Match::kYes);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].type != 'gpu'"), Match::kNo);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].index < 4"), Match::kYes);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].index >= 4"), Match::kNo);
  EXPECT_EQ(Of("!device.attributes['gpu.nvidia.com'].mig"), Match::kYes);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].productName in ['NVIDIA A100', 'NVIDIA H100']"),
            Match::kYes);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].productName in ['NVIDIA A100']"), Match::kNo);
}

TEST(DeviceSelectorTest, CapacitiesAreCompared) {
  const std::string memory = "device.capacity['gpu.nvidia.com'].memory";
  EXPECT_EQ(Of(memory + ".compareTo(quantity('40Gi')) >= 0"), Match::kYes);
  EXPECT_EQ(Of(memory + ".compareTo(quantity('80Gi')) > 0"), Match::kNo);
  EXPECT_EQ(Of(memory + ".isGreaterThan(quantity('79Gi'))"), Match::kYes);
  EXPECT_EQ(Of(memory + ".isLessThan(quantity('79Gi'))"), Match::kNo);
}

TEST(DeviceSelectorTest, AndBindsCloserThanOr) {
  EXPECT_EQ(Of("true || true && false"), Match::kYes);
  EXPECT_EQ(Of("(true || true) && false"), Match::kNo);
}

TEST(DeviceSelectorTest, WhatIsNotUnderstoodIsUnknownOnlyWhereItDecides) {
  const std::string unknown = "device.attributes['gpu.nvidia.com'].productName.matches('H.*')";
  EXPECT_EQ(Of(unknown), Match::kUnknown);
  EXPECT_EQ(Of("!" + unknown), Match::kUnknown);
  EXPECT_EQ(Of("device.driver == 'other' && " + unknown), Match::kNo);
  EXPECT_EQ(Of(unknown + " || device.driver == 'gpu.nvidia.com'"), Match::kYes);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].driverVersion == '1'"), Match::kUnknown);
  EXPECT_EQ(Of("device.attributes['gpu.nvidia.com'].index == 'three'"), Match::kUnknown);
  for (const char* text :
       {"", "device.driver ==", "1 +", "'open", "a ? b : c", "(true", "[1", "\\"}) {
    EXPECT_EQ(Of(text), Match::kUnknown) << text;
  }
}

TEST(DeviceSelectorTest, ADeviceWithoutTheAttributeDoesNotMatch) {
  EXPECT_EQ(Of("device.attributes['other.com'].type == 'gpu'"), Match::kNo);
  EXPECT_EQ(Of("!(device.attributes['other.com'].type == 'gpu')"), Match::kNo);
  EXPECT_EQ(Of("device.attributes['other.com'].type == 'gpu' || true"), Match::kYes);
  EXPECT_EQ(Of("device.capacity['other.com'].memory.isGreaterThan(quantity('1'))"), Match::kNo);
}

TEST(DeviceSelectorTest, DeepAndLongTextsAreUnknown) {
  EXPECT_EQ(Of(std::string(100, '(') + "true" + std::string(100, ')')), Match::kUnknown);
  EXPECT_EQ(Of(std::string(2'000, '!') + "true"), Match::kUnknown);
  std::string members = "device";
  for (int i = 0; i < 1'000; ++i) members += ".a";
  EXPECT_EQ(Of(members), Match::kUnknown);
  EXPECT_EQ(Of("true" + std::string(11 * 1024, ' ')), Match::kUnknown);
}

}  // namespace
}  // namespace yardmaster::devices
