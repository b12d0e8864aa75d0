#include "pkg/operator/pods/pod_rental.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/capacity_status.h"
#include "pkg/api/node_constraints.h"
#include "pkg/operator/testing/pod_edits.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

// A job that rents the hosts of pools "a" and "b".
api::TrainingJob RentingJob(api::RentalPhase phase) {
  api::CapacityStatus status;
  status.phase = phase;
  status.generation = 4;
  status.currency = "USD";
  for (const char* pool : {"a", "b"}) {
    api::RentedHosts hosts;
    hosts.pool = pool;
    hosts.scaling = api::ScalingKind::kProvisioningRequest;
    hosts.hosts = 1;
    hosts.node_labels = {{"pool", pool}};
    status.hosts.push_back(hosts);
  }
  api::TrainingJob job;
  job.metadata.name = "job";
  job.metadata.uid = "u";
  job.status.capacity = status;
  return job;
}

void AddRental(const api::TrainingJob& job, json& pod) {
  pod = EditPod(pod, [&](api::PodManifest& edited) { op::AddRental(job, edited); });
}

json PodWith(const json& terms) {
  json pod = {{"spec", {{"containers", json::array({{{"name", "c"}}})}}}};
  if (!terms.is_null()) {
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
        {"nodeSelectorTerms", terms}};
  }
  return pod;
}

bool Selects(const json& pod, const char* pool, const char* zone) {
  api::FieldErrors errors;
  api::FieldReader spec(&pod["spec"], "spec", api::UnknownFields::kIgnore, &errors);
  api::Node node;
  node.metadata.labels = {{"pool", pool}, {"zone", zone}};
  const bool selects = api::Selects(api::ReadPodConstraints(spec), node);
  EXPECT_TRUE(errors.empty()) << errors.status();
  return selects;
}

TEST(CapacityPodsTest, APodOfARentalSelectsTheRentedHostsAmongThoseThatItSelectedBefore) {
  const json in_zone_x =
      json::parse(R"({"matchExpressions":[{"key":"zone","operator":"In","values":["x"]}]})");
  const json by_name =
      json::parse(R"({"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n"]}]})");
  for (const json& terms : {json(), json::array({in_zone_x}), json::array({in_zone_x, by_name}),
                            json::array({json::object()}), json::array({json(), in_zone_x}),
                            json::array({{{"matchExpressions", json::array()}}, in_zone_x})}) {
    const json before = PodWith(terms);
    json after = before;
    AddRental(RentingJob(api::RentalPhase::kProvisioned), after);
    for (const char* pool : {"a", "b", "c"}) {
      for (const char* zone : {"x", "y"}) {
        EXPECT_EQ(Selects(after, pool, zone), Selects(before, pool, zone) && *pool != 'c')
            << terms.dump() << " " << pool << " " << zone;
      }
    }
  }
}

TEST(CapacityPodsTest, APodOutsideARentalStaysAsItIs) {
  for (api::RentalPhase phase : {api::RentalPhase::kNone, api::RentalPhase::kAwaitingPrice}) {
    json pod = PodWith(json::array({json::object()}));
    const json before = pod;
    AddRental(RentingJob(phase), pod);
    EXPECT_EQ(pod, before);
  }
  api::TrainingJob no_hosts = RentingJob(api::RentalPhase::kProvisioned);
  no_hosts.status.capacity.hosts.clear();
  json pod = PodWith(json());
  AddRental(no_hosts, pod);
  EXPECT_EQ(pod, PodWith(json()));
}

TEST(CapacityPodsTest, OnlyAProvisionedRequestIsConsumed) {
  json pod = PodWith(json());
  AddRental(RentingJob(api::RentalPhase::kRequested), pod);
  EXPECT_FALSE(pod.contains("metadata"));
  AddRental(RentingJob(api::RentalPhase::kProvisioned), pod);
  EXPECT_EQ(pod["metadata"]["annotations"][kConsumeAnnotation], RequestName("job", 4, 0));
}

}  // namespace
}  // namespace yardmaster::op
