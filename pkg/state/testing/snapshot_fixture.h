// A cluster of two segments out of typed objects, and the snapshot of it. For tests only.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::state {

inline api::Node NodeAt(const std::string& name, const std::string& pod,
                        const std::string& segment) {
  api::Node node;
  node.metadata.name = name;
  node.metadata.labels = {{api::kFabricPodLabel, pod}, {api::kSegmentLabel, segment}};
  workload::SetAmount(node.allocatable, api::kGpuResource, 8);
  node.ready = true;
  return node;
}

// Two segments of four hosts: a0 .. a3 and b0 .. b3.
class SnapshotBuilderTest : public testing::Test {
 protected:
  SnapshotBuilderTest() {
    api::Fabric fabric;
    fabric.metadata.name = "f";
    fabric.spec = fabric::SmallHpn(1, 2, 4);
    fabric.spec.name = "f";
    fabrics_ = {fabric};
    for (const char* segment : {"a", "b"}) {
      for (int i = 0; i < 4; ++i) nodes_.push_back(NodeAt(StrCat(segment, i), "p", segment));
    }
  }

  api::Node& node(const std::string& name) {
    return *std::find_if(nodes_.begin(), nodes_.end(),
                         [&](const api::Node& n) { return n.metadata.name == name; });
  }

  api::TrainingJob Job(const std::string& name, const char* spec) {
    const nlohmann::json object = {{"metadata", {{"name", name}, {"uid", "u-" + name}}},
                                   {"spec", nlohmann::json::parse(spec)}};
    auto job = api::DecodeTrainingJob(object);
    EXPECT_TRUE(job.ok()) << job.status();
    return *job;
  }

  api::Gang GangOf(const api::TrainingJob& job, std::vector<std::string> hosts) {
    api::Gang gang;
    gang.metadata.name = api::GangName("TrainingJob", job.metadata.name);
    gang.metadata.namespace_name = job.metadata.namespace_name;
    gang.owner = {"yardmaster.dev/v1alpha1", "TrainingJob", job.metadata.name, job.metadata.uid,
                  false};
    gang.job = job.job;
    gang.constraints = job.constraints;
    gang.rank_bases = {{"", 0}};
    for (std::size_t r = 0; r < hosts.size(); ++r) {
      gang.status.assignments.push_back(
          {static_cast<int>(r), hosts[r], "p", hosts[r].substr(0, 1), {0}});
    }
    gang.status.plan_generation = hosts.empty() ? 0 : 1;
    return gang;
  }

  api::Pod PodOn(const std::string& name, const std::string& node_name, int gpus) {
    api::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_name = "default";
    pod.node_name = node_name;
    workload::SetAmount(pod.requests, api::kGpuResource, gpus);
    return pod;
  }

  plan::Snapshot Build() {
    ClusterState cluster;
    auto share = [](const auto& from, auto& to) {
      for (const auto& object : from) {
        to.Put(std::make_shared<std::decay_t<decltype(object)>>(object));
      }
    };
    share(fabrics_, cluster.fabrics);
    share(nodes_, cluster.nodes);
    share(pods_, cluster.pods);
    share(jobs_, cluster.jobs);
    share(gangs_, cluster.gangs);
    return BuildSnapshot(cluster);
  }

  static const placement::HostState& State(const plan::Snapshot& s, const std::string& host) {
    return s.cluster.hosts[s.places->FindHost(host).index()];
  }

  std::vector<api::Fabric> fabrics_;
  std::vector<api::Node> nodes_;
  std::vector<api::Pod> pods_;
  std::vector<api::TrainingJob> jobs_;
  std::vector<api::Gang> gangs_;
};

}  // namespace yardmaster::state
