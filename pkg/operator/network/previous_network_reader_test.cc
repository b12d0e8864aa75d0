#include "pkg/operator/network/previous_network_reader.h"

#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/api/pod_path_plan.h"
#include "pkg/api/slot.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::op {
namespace {

using fabric::HostId;

// Both ports of a NIC are in one plane, on two ToRs.
class PreviousNetworkReaderTest : public ::testing::Test {
 protected:
  PreviousNetworkReaderTest() : snapshot_(plan::MakeSnapshot(fabric::SinglePlaneHpn(1, 2, 4))) {
    plan::AddJob(snapshot_, "a", 2);
    plan::Place(snapshot_, plan::JobId(0), {HostId(0), HostId(4)});
    auto gang = std::make_shared<api::Gang>();
    gang->status.network = api::NetworkStatus{};
    gang->metadata.namespace_name = snapshot_.jobs[0].job.key.namespace_name;
    gang->metadata.name = snapshot_.jobs[0].job.key.name;
    gangs_.Put(std::move(gang));
  }

  // What rank 0 keeps of a plan with these ports to rank 1, by NIC port.
  std::map<int, std::uint16_t> Kept(const std::vector<std::uint16_t>& ports) {
    api::PodPathPlan plan;
    plan.expires_ms = 1'000;
    api::PeerPaths peer;
    peer.rank = 1;
    peer.host = snapshot_.places->name(HostId(4));
    peer.address = snapshot_.network->nic_address(HostId(4), 0).ToString();
    peer.source_ports = ports;
    plan.rails.push_back({0, {peer}});
    auto pod = std::make_shared<api::Pod>();
    pod->node_name = snapshot_.places->name(HostId(0));
    pod->metadata.annotations[api::kPathPlanAnnotation] = api::EncodePathPlan(plan).value();
    const PodsByGang pods = {{snapshot_.jobs[0].job.key.text(), {{0, pod}}}};
    std::map<int, std::uint16_t> kept;
    const netplan::PreviousNetwork previous = PreviousFromObjects(snapshot_, gangs_, pods);
    for (const auto& [key, flow] : previous.at(snapshot_.jobs[0].job.key).flows) {
      kept[key.port] = flow.source_port;
    }
    return kept;
  }

  plan::Snapshot snapshot_;
  state::ObjectTable<api::Gang> gangs_;
};

TEST_F(PreviousNetworkReaderTest, PortsBelongToTheNicPortsOfThePlaneInOrder) {
  EXPECT_EQ(Kept({50001, 50002}), (std::map<int, std::uint16_t>{{0, 50001}, {1, 50002}}));
}

TEST_F(PreviousNetworkReaderTest, ANicPortThatIsDownHasNone) {
  snapshot_.cable_down.assign(static_cast<std::size_t>(snapshot_.network->num_cables()), 0);
  snapshot_.cable_down[snapshot_.network->host_cable({HostId(0), 0, 0}).index()] = 1;
  EXPECT_EQ(Kept({50002}), (std::map<int, std::uint16_t>{{1, 50002}}));
  // A plan from before it was lost.
  EXPECT_EQ(Kept({50001, 50002}), (std::map<int, std::uint16_t>{{0, 50001}, {1, 50002}}));
}

}  // namespace
}  // namespace yardmaster::op
