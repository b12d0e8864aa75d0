#include "simulation/simulator/host_links.h"

#include <gtest/gtest.h>
#include <set>

namespace yardmaster::sim {
namespace {

using Path = std::vector<std::int32_t>;

constexpr std::int32_t kFirst = 100;

Path ToNic(const HostLinks& links, std::int32_t host, std::int32_t gpu) {
  Path path;
  links.ToNic(host, gpu, links.NicOf(gpu), path);
  return path;
}

Path Between(const HostLinks& links, std::int32_t host, std::int32_t from, std::int32_t to) {
  Path path;
  links.Between(host, from, to, path);
  return path;
}

std::set<std::int32_t> Shared(const Path& a, const Path& b) {
  std::set<std::int32_t> shared;
  for (const std::int32_t link : a) {
    for (const std::int32_t other : b) {
      if (link == other) shared.insert(link);
    }
  }
  return shared;
}

TEST(HostLinks, GpusBelowOneSwitchShareTheirNicAndNothingElse) {
  const HostLinks links({}, 3, kFirst);
  EXPECT_EQ(links.NicOf(4), 2);
  EXPECT_EQ(links.NicOf(5), 2);
  EXPECT_EQ(ToNic(links, 1, 4).size(), 2u);
  EXPECT_EQ(Shared(ToNic(links, 1, 4), ToNic(links, 1, 5)).size(), 1u);
  EXPECT_TRUE(Shared(ToNic(links, 1, 4), ToNic(links, 1, 6)).empty());
  EXPECT_TRUE(Shared(ToNic(links, 1, 4), ToNic(links, 2, 4)).empty());
}

TEST(HostLinks, ANicOfAnotherSwitchIsReachedThroughTheCpu) {
  const HostLinks links({}, 1, kFirst);
  Path there;
  links.ToNic(0, 0, 3, there);
  EXPECT_EQ(there.size(), 4u);
  Path back;
  links.FromNic(0, 3, 0, back);
  EXPECT_EQ(back.size(), 4u);
  EXPECT_TRUE(Shared(there, back).empty()) << "each direction is a link of its own";
}

TEST(HostLinks, WithoutNvlinkGpusOfTwoSwitchesMeetOthersAtTheCpu) {
  HostSpec spec;
  spec.nvlink_gbps = 0;
  const HostLinks links(spec, 1, kFirst);
  EXPECT_EQ(Between(links, 0, 0, 1).size(), 2u);
  EXPECT_EQ(Between(links, 0, 0, 2).size(), 4u);
  EXPECT_EQ(Shared(Between(links, 0, 0, 2), Between(links, 0, 1, 3)).size(), 2u);
  EXPECT_TRUE(Shared(Between(links, 0, 0, 1), Between(links, 0, 2, 3)).empty());
  const HostLinks nvlink({}, 1, kFirst);
  EXPECT_TRUE(Shared(Between(nvlink, 0, 0, 2), Between(nvlink, 0, 1, 3)).empty());
}

TEST(HostLinks, EveryPathStaysAmongTheLinksThatAreAppended) {
  for (const double nvlink : {0.0, 2400.0}) {
    HostSpec spec;
    spec.nvlink_gbps = nvlink;
    constexpr std::int32_t kHosts = 3;
    const HostLinks links(spec, kHosts, kFirst);
    std::vector<crux::Link> all(kFirst);
    links.AppendTo(all);
    std::set<std::int32_t> used;
    for (std::int32_t host = 0; host < kHosts; ++host) {
      for (std::int32_t gpu = 0; gpu < spec.gpus; ++gpu) {
        Path path = ToNic(links, host, gpu);
        links.FromNic(host, links.NicOf(gpu), gpu, path);
        const Path across = Between(links, host, gpu, (gpu + 3) % spec.gpus);
        path.insert(path.end(), across.begin(), across.end());
        used.insert(path.begin(), path.end());
      }
    }
    EXPECT_GE(*used.begin(), kFirst);
    EXPECT_LT(*used.rbegin(), static_cast<std::int32_t>(all.size()));
    for (const std::int32_t link : used) EXPECT_GT(all[link].gbps, 100) << link;
  }
}

TEST(HostLinks, AFabricSaysWhatItsHostsAreLike) {
  fabric::FabricSpec hpn;  // a NIC of 2 x 200 Gbit/s for each of eight GPUs
  EXPECT_EQ(HostSpecOf(hpn).gpus_per_switch, 2);
  EXPECT_EQ(HostSpecOf(hpn).pcie_gbps, 504);
  const HostLinks links(HostSpecOf(hpn), 1, kFirst);
  EXPECT_TRUE(Shared(ToNic(links, 0, 0), ToNic(links, 0, 1)).empty());
  fabric::FabricSpec testbed;
  testbed.rails = 4;
  testbed.nic_ports = 1;
  EXPECT_EQ(HostSpecOf(testbed).gpus_per_switch, 2);
  EXPECT_EQ(HostSpecOf(testbed).pcie_gbps, 252);
}

}  // namespace
}  // namespace yardmaster::sim
