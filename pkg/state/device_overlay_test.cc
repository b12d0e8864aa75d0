#include "pkg/state/device_overlay.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/api/compute_domain.h"
#include "pkg/api/names.h"
#include "pkg/state/testing/device_manifests.h"

namespace yardmaster::state {
namespace {

using ::testing::HasSubstr;
using workload::AmountOf;

constexpr char kGpuClass[] = "deviceclass.resource.kubernetes.io/gpu.nvidia.com";

std::vector<int> Numbers(int from, int to) {
  std::vector<int> out;
  for (int i = from; i < to; ++i) out.push_back(i);
  return out;
}

// Nodes n1 and n2 with eight GPUs by claims, n3 with eight of its kubelet.
class DeviceOverlayTest : public testing::Test {
 protected:
  DeviceOverlayTest() {
    Put(cluster_.devices.classes,
        ClassOf("gpu.nvidia.com", "device.driver == 'gpu.nvidia.com'", "nvidia.com/gpu"));
    for (const char* name : {"n1", "n2", "n3"}) AddNode(name, 0);
    Put(cluster_.devices.slices, SliceOfGpus("n1", 8));
    Put(cluster_.devices.slices, SliceOfGpus("n2", 8));
    AddNode("n3", 8);
    Put(cluster_.devices.templates, TemplateOf("eight", RequestOf("gpu.nvidia.com", 8)));
  }

  void AddNode(const std::string& name, std::int64_t gpus) {
    api::Node node;
    node.metadata.name = name;
    workload::SetAmount(node.allocatable, "nvidia.com/gpu", gpus);
    Put(cluster_.nodes, node);
  }
  api::Pod PodWith(const std::string& name, api::ClaimOfPod claim, const std::string& node = "") {
    api::Pod pod;
    pod.metadata.namespace_name = "team";
    pod.metadata.name = name;
    pod.node_name = node;
    pod.claims = {std::move(claim)};
    return pod;
  }
  std::int64_t Gpus(const std::string& node) {
    return WithDevices(cluster_).nodes.Find({"", node})->gpus();
  }
  std::int64_t Claimed(const std::string& node) {
    return AmountOf(WithDevices(cluster_).nodes.Find({"", node})->claimed, "nvidia.com/gpu");
  }
  std::shared_ptr<const api::Pod> Pod(const std::string& name) {
    return WithDevices(cluster_).pods.Find({"team", name});
  }

  ClusterState cluster_;
};

TEST_F(DeviceOverlayTest, ANodeHasItsDevicesByEveryNameOfTheirClass) {
  const auto node = WithDevices(cluster_).nodes.Find({"", "n1"});
  EXPECT_EQ(AmountOf(node->allocatable, "nvidia.com/gpu"), 8);
  EXPECT_EQ(AmountOf(node->allocatable, kGpuClass), 8);
  EXPECT_TRUE(node->claimed.empty());
}

// kube-scheduler counts an extended resource by the kubelet wherever that reports some.
TEST_F(DeviceOverlayTest, WhatAKubeletReportsIsLeftAsItIs) {
  Put(cluster_.devices.slices, SliceOfGpus("n3", 4));
  const auto node = WithDevices(cluster_).nodes.Find({"", "n3"});
  EXPECT_EQ(AmountOf(node->allocatable, "nvidia.com/gpu"), 8);
  EXPECT_EQ(AmountOf(node->allocatable, kGpuClass), 4);
}

TEST_F(DeviceOverlayTest, AClusterWithoutTheApiIsLeftAsItIs) {
  cluster_.devices = {};
  Put(cluster_.pods, PodWith("p", {"g", "", "eight"}));
  const ClusterState counted = WithDevices(cluster_);
  EXPECT_EQ(counted.nodes.front(), cluster_.nodes.front());
  EXPECT_EQ(counted.pods.front(), cluster_.pods.front());
}

TEST_F(DeviceOverlayTest, APodAsksForWhatItsTemplatesAskForBeforeTheClaimIsMade) {
  Put(cluster_.pods, PodWith("p", {"g", "", "eight"}));
  EXPECT_EQ(Pod("p")->gpus(), 8);
  EXPECT_EQ(AmountOf(Pod("p")->requests, kGpuClass), 8);
  EXPECT_EQ(Pod("p")->claims_problem, "");
}

TEST_F(DeviceOverlayTest, AnAllocatedClaimIsCountedInItsPodAndNowhereElse) {
  Put(cluster_.devices.claims, ClaimOf("p-g", RequestOf("gpu.nvidia.com", 8), "n1", Numbers(0, 8)));
  Put(cluster_.pods, PodWith("p", {"g", "p-g", "eight"}, "n1"));
  EXPECT_EQ(Pod("p")->gpus(), 8);
  EXPECT_EQ(Gpus("n1"), 8);
  EXPECT_EQ(Claimed("n1"), 0);
}

TEST_F(DeviceOverlayTest, DevicesThatNoPodAsksForAreClaimed) {
  Put(cluster_.devices.claims,
      ClaimOf("left", RequestOf("gpu.nvidia.com", 3), "n1", Numbers(0, 3)));
  EXPECT_EQ(Gpus("n1"), 8);
  EXPECT_EQ(Claimed("n1"), 3);
  EXPECT_EQ(Claimed("n2"), 0);
}

TEST_F(DeviceOverlayTest, APodThatHasEndedHoldsNoDevices) {
  Put(cluster_.devices.claims, ClaimOf("p-g", RequestOf("gpu.nvidia.com", 2), "n1", Numbers(0, 2)));
  api::Pod pod = PodWith("p", {"g", "p-g", "eight"}, "n1");
  pod.phase = "Succeeded";
  Put(cluster_.pods, pod);
  EXPECT_EQ(Claimed("n1"), 2) << "until its claim is gone, too";
}

// kube-scheduler makes a claim of its own for such a pod.
TEST_F(DeviceOverlayTest, TheClaimOfAnExtendedResourceIsNotCountedTwice) {
  Put(cluster_.devices.claims,
      ClaimOf("made", RequestOf("gpu.nvidia.com", 8), "n1", Numbers(0, 8)));
  api::Pod pod = PodWith("p", {}, "n1");
  pod.claims.clear();
  pod.extended_claim = "made";
  pod.requests = {{"nvidia.com/gpu", 8}};
  Put(cluster_.pods, pod);
  EXPECT_EQ(Pod("p")->gpus(), 8);
  EXPECT_EQ(Claimed("n1"), 0);
  const auto node = WithDevices(cluster_).nodes.Find({"", "n1"});
  EXPECT_EQ(AmountOf(node->claimed, kGpuClass), 8) << "no pod asks for them by this name";
}

TEST_F(DeviceOverlayTest, APodThatAsksForAClassAsAResourceAsksForItsExtendedOneToo) {
  api::Pod pod = PodWith("p", {});
  pod.claims.clear();
  pod.requests = {{kGpuClass, 4}};
  Put(cluster_.pods, pod);
  EXPECT_EQ(Pod("p")->gpus(), 4);
}

TEST_F(DeviceOverlayTest, AClaimThatPodsShareIsCountedOnce) {
  Put(cluster_.devices.claims,
      ClaimOf("shared", RequestOf("gpu.nvidia.com", 4), "n1", Numbers(0, 4)));
  Put(cluster_.pods, PodWith("a", {"g", "shared", ""}));
  Put(cluster_.pods, PodWith("b", {"g", "shared", ""}, "n1"));
  Put(cluster_.pods, PodWith("c", {"g", "shared", ""}, "n1"));
  EXPECT_EQ(Pod("a")->gpus(), 0);
  EXPECT_EQ(Pod("b")->gpus(), 4);
  EXPECT_EQ(Pod("c")->gpus(), 0);
  EXPECT_EQ(Claimed("n1"), 0);
}

TEST_F(DeviceOverlayTest, AllDevicesAreThoseOfTheLargestHost) {
  devices::DeviceRequest all = RequestOf("gpu.nvidia.com", 1);
  all.all = true;
  Put(cluster_.devices.templates, TemplateOf("all", all));
  Put(cluster_.pods, PodWith("p", {"g", "", "all"}));
  EXPECT_EQ(Pod("p")->gpus(), 8);
}

TEST_F(DeviceOverlayTest, OfAlternativesTheFirstThatAHostHasCounts) {
  Put(cluster_.devices.classes, ClassOf("rare", "device.driver == 'other'"));
  devices::ResourceClaimTemplate either = TemplateOf("either", RequestOf("rare", 1));
  either.spec.requests[0].push_back(RequestOf("gpu.nvidia.com", 9));
  either.spec.requests[0].push_back(RequestOf("gpu.nvidia.com", 2));
  Put(cluster_.devices.templates, either);
  Put(cluster_.pods, PodWith("p", {"g", "", "either"}));
  EXPECT_EQ(Pod("p")->gpus(), 2);
}

TEST_F(DeviceOverlayTest, AdminAccessCountsNothing) {
  devices::DeviceRequest admin = RequestOf("gpu.nvidia.com", 8);
  admin.admin = true;
  Put(cluster_.devices.templates, TemplateOf("admin", admin));
  Put(cluster_.pods, PodWith("p", {"g", "", "admin"}));
  EXPECT_EQ(Pod("p")->gpus(), 0);
  EXPECT_EQ(Pod("p")->claims_problem, "");
}

TEST_F(DeviceOverlayTest, SelectorsOfARequestAreAResourceOfTheirOwn) {
  devices::DeviceRequest large = RequestOf("gpu.nvidia.com", 4);
  large.selectors.push_back(devices::DeviceSelector::Parse(
      "device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('79Gi'))"));
  Put(cluster_.devices.templates, TemplateOf("large", large));
  Put(cluster_.pods, PodWith("p", {"g", "", "large"}));
  const std::string name = SelectionName(large);
  EXPECT_EQ(AmountOf(Pod("p")->requests, name), 4);
  EXPECT_EQ(Pod("p")->gpus(), 4);
  EXPECT_EQ(AmountOf(WithDevices(cluster_).nodes.Find({"", "n1"})->allocatable, name), 4);
}

TEST_F(DeviceOverlayTest, WhatCannotBeCountedIsNamed) {
  Put(cluster_.pods, PodWith("p", {"g", "", "absent"}));
  EXPECT_EQ(Pod("p")->claims_problem, "ResourceClaimTemplate team/absent does not exist");
  Put(cluster_.pods, PodWith("p", {"g", "absent", ""}));
  EXPECT_EQ(Pod("p")->claims_problem, "ResourceClaim team/absent does not exist");
  Put(cluster_.pods, PodWith("p", {"g", "", ""}));
  EXPECT_THAT(Pod("p")->claims_problem, HasSubstr("names no ResourceClaim"));
  Put(cluster_.devices.templates, TemplateOf("odd", RequestOf("nobody", 1)));
  Put(cluster_.pods, PodWith("p", {"g", "", "odd"}));
  EXPECT_EQ(Pod("p")->claims_problem, "DeviceClass nobody does not exist");
}

TEST_F(DeviceOverlayTest, AClassWhoseSelectorsAreUnknownIsNamedAndCountsWhatMayMatch) {
  Put(cluster_.devices.classes, ClassOf("odd", "device.driver.matches('gpu.*')"));
  const ClusterState counted = WithDevices(cluster_);
  EXPECT_EQ(AmountOf(counted.nodes.Find({"", "n1"})->allocatable,
                     "deviceclass.resource.kubernetes.io/odd"),
            8);
  ASSERT_EQ(counted.problems.size(), 1u);
  EXPECT_THAT(counted.problems[0], HasSubstr("DeviceClass odd: spec.selectors"));
}

TEST_F(DeviceOverlayTest, DevicesOfNoOneNodeAreLeftToTheScheduler) {
  Put(cluster_.devices.classes, ClassOf("fabric", "device.driver == 'net.example.com'"));
  devices::ResourceSlice slice = SliceOfGpus("", 1);
  slice.metadata.name = "fabric";
  slice.on_many_nodes = true;
  slice.devices[0].traits.driver = "net.example.com";
  Put(cluster_.devices.slices, slice);
  Put(cluster_.devices.templates, TemplateOf("port", RequestOf("fabric", 1)));
  Put(cluster_.pods, PodWith("p", {"g", "", "port"}));
  EXPECT_TRUE(Pod("p")->requests.empty());
  EXPECT_EQ(Pod("p")->claims_problem, "");
  EXPECT_THAT(
      WithDevices(cluster_).problems,
      testing::ElementsAre(HasSubstr("DeviceClass fabric: has devices that are of no one")));
}

TEST_F(DeviceOverlayTest, OfClassesWithOneExtendedResourceTheYoungestHasIt) {
  devices::DeviceClass younger = ClassOf("younger", "device.driver == 'other'", "nvidia.com/gpu");
  younger.metadata.created_ms = 1;
  Put(cluster_.devices.classes, younger);
  EXPECT_EQ(Gpus("n1"), 0);
  EXPECT_EQ(AmountOf(WithDevices(cluster_).nodes.Find({"", "n1"})->allocatable, kGpuClass), 8);
}

// A channel is not a GPU, and hosts have no amount of channels.
TEST_F(DeviceOverlayTest, AChannelOfAComputeDomainIsOnePerHostAndNoDeviceOfTheHost) {
  Put(cluster_.devices.classes, ClassOf(api::kChannelClass, "device.driver == 'gpu.nvidia.com'"));
  Put(cluster_.devices.templates, TemplateOf("channel", RequestOf(api::kChannelClass, 1)));
  Put(cluster_.pods, PodWith("a", {"any", "", "channel"}));
  const auto pod = Pod("a");
  EXPECT_EQ(pod->claims_problem, "");
  EXPECT_EQ(pod->requests, (workload::ResourceList{{api::kChannelOfHost, 1}}));
  EXPECT_EQ(pod->gpus(), 0);
  const auto node = WithDevices(cluster_).nodes.Find({"", "n1"});
  EXPECT_EQ(AmountOf(node->allocatable, StrCat(api::kDeviceClassPrefix, api::kChannelClass)), 0);
}

TEST_F(DeviceOverlayTest, AClaimOfOurNameIsAChannelUntilItsTemplateSaysWhatItIs) {
  for (const char* made_from : {"absent", "eight"}) {
    api::Pod pod = PodWith(made_from, {api::kComputeDomainClaim, "", made_from});
    workload::SetAmount(pod.requests, api::kChannelOfHost, 1);  // as it is decoded
    Put(cluster_.pods, pod);
  }
  EXPECT_EQ(Pod("absent")->claims_problem, "");
  EXPECT_EQ(AmountOf(Pod("absent")->requests, api::kChannelOfHost), 1);
  EXPECT_EQ(Pod("eight")->gpus(), 8);
  EXPECT_EQ(AmountOf(Pod("eight")->requests, api::kChannelOfHost), 0);
}

// --- Any history.

class DeviceHistory {
 public:
  explicit DeviceHistory(unsigned seed) : random_(seed) {}

  void Step() {
    switch (Below(6)) {
      case 0:
        return Change(cluster_.devices.slices, "", StrCat(Node(), "-gpus"),
                      [&] { return Slice(); });
      case 1:
        if (Below(4) != 0) return;
        return Change(cluster_.devices.classes, "", StrCat("c", Below(3)), [&] { return Class(); });
      case 2:
        return Change(cluster_.devices.templates, "team", StrCat("t", Below(3)),
                      [&] { return TemplateOf("", Request()); });
      case 3:
        return Change(cluster_.devices.claims, "team", StrCat("k", Below(5)),
                      [&] { return Claim(); });
      case 4:
        return Change(cluster_.nodes, "", Node(), [&] { return ANode(); });
      default:
        return Change(cluster_.pods, "team", StrCat("p", Below(6)), [&] { return Pod(); });
    }
  }
  const ClusterState& cluster() const { return cluster_; }

 private:
  int Below(unsigned n) { return static_cast<int>(random_() % n); }
  std::string Node() { return StrCat("n", Below(3)); }

  template <typename T, typename Make>
  void Change(ObjectTable<T>& table, const std::string& ns, const std::string& name, Make make) {
    if (Below(5) == 0) {
      table.Erase(NamespacedNameView{ns, name});
      return;
    }
    T object = make();
    object.metadata.namespace_name = ns;
    object.metadata.name = name;
    object.metadata.resource_version = StrCat(++version_);
    Put(table, std::move(object));
  }
  devices::ResourceSlice Slice() {
    devices::ResourceSlice slice = SliceOfGpus(Node(), 1 + Below(8), Below(2));
    slice.on_many_nodes = Below(8) == 0;
    for (devices::SliceDevice& device : slice.devices) device.tainted = Below(8) == 0;
    return slice;
  }
  devices::DeviceClass Class() {
    const char* const expressions[] = {"", "device.driver == 'gpu.nvidia.com'",
                                       "device.driver.matches('g')"};
    devices::DeviceClass out =
        ClassOf("", expressions[Below(3)], Below(2) == 0 ? "nvidia.com/gpu" : "");
    out.metadata.created_ms = Below(2);
    return out;
  }
  devices::DeviceRequest Request() {
    devices::DeviceRequest request = RequestOf(StrCat("c", Below(3)), 1 + Below(4));
    request.all = Below(4) == 0;
    if (Below(3) == 0) {
      request.selectors.push_back(devices::DeviceSelector::Parse(
          StrCat("device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('",
                 20 + 40 * Below(2), "Gi'))")));
    }
    return request;
  }
  devices::ResourceClaim Claim() {
    const int from = Below(6);
    devices::ResourceClaim claim =
        ClaimOf("", Request(), Node(),
                Below(3) == 0 ? std::vector<int>{} : Numbers(from, from + 1 + Below(3)));
    if (Below(3) == 0) claim.spec.requests[0].insert(claim.spec.requests[0].begin(), Request());
    return claim;
  }
  api::Node ANode() {
    api::Node node;
    workload::SetAmount(node.allocatable, "nvidia.com/gpu", Below(3) == 0 ? 8 : 0);
    node.unschedulable = Below(2) == 0;
    return node;
  }
  api::Pod Pod() {
    api::Pod pod;
    if (Below(2) == 0) pod.node_name = Node();
    if (Below(4) == 0) pod.phase = "Failed";
    if (Below(3) == 0) pod.requests = {{"nvidia.com/gpu", 1 + Below(8)}};
    if (Below(4) == 0) {
      workload::SetAmount(pod.requests, StrCat("deviceclass.resource.kubernetes.io/c", Below(3)),
                          1);
    }
    if (Below(4) == 0) pod.extended_claim = StrCat("k", Below(5));
    for (int i = Below(3); i > 0; --i) {
      pod.claims.push_back({StrCat("g", i), Below(2) == 0 ? "" : StrCat("k", Below(5)),
                            Below(2) == 0 ? "" : StrCat("t", Below(3))});
    }
    return pod;
  }

  std::mt19937 random_;
  ClusterState cluster_;
  int version_ = 0;
};

void ExpectSame(const ClusterState& a, const ClusterState& b) {
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (const auto& node : a.nodes) {
    const auto other = b.nodes.Find({"", node->metadata.name});
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(node->allocatable, other->allocatable) << node->metadata.name;
    EXPECT_EQ(node->claimed, other->claimed) << node->metadata.name;
    EXPECT_EQ(*node, *other);
  }
  ASSERT_EQ(a.pods.size(), b.pods.size());
  for (const auto& pod : a.pods) {
    const auto other = b.pods.Find(KeyOf(pod->metadata));
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(pod->metadata, other->metadata);
    EXPECT_EQ(pod->requests, other->requests) << pod->metadata.name;
    EXPECT_EQ(pod->gpu_resource, other->gpu_resource);
    EXPECT_EQ(pod->claims_problem, other->claims_problem);
  }
  EXPECT_EQ(a.problems, b.problems);
}

TEST(DeviceOverlayHistoryTest, AnyHistoryEndsAsIfMadeFromNothing) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    DeviceHistory history(seed);
    DeviceOverlay overlay;
    for (int step = 0; step < 120; ++step) {
      const int changes = step % 3 == 0 ? 4 : 1;
      for (int i = 0; i < changes; ++i) history.Step();
      const ClusterState counted = overlay.Apply(history.cluster());
      ExpectSame(counted, WithDevices(history.cluster()));
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

TEST(DeviceOverlayHistoryTest, AnEarlierStateMayFollow) {
  DeviceHistory history(7);
  for (int i = 0; i < 60; ++i) history.Step();
  const ClusterState early = history.cluster();
  for (int i = 0; i < 60; ++i) history.Step();
  DeviceOverlay overlay;
  overlay.Apply(history.cluster());
  ExpectSame(overlay.Apply(early), WithDevices(early));
}

}  // namespace
}  // namespace yardmaster::state
