#include "pkg/api/capacity_pool.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/api/field_schema.h"
#include "pkg/api/names.h"
#include "pkg/api/pod_requests.h"
#include "pkg/api/resource_list.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr int kMaxWorkersPerHost = 1024;
constexpr char kQuantityPattern[] =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";

json AllocatableSchema() {
  return {{"type", "object"},
          {"minProperties", 1},
          {"maxProperties", 64},
          {"additionalProperties",
           {{"x-kubernetes-int-or-string", true},
            {"anyOf", {{{"type", "integer"}}, {{"type", "string"}}}},
            {"pattern", kQuantityPattern}}}};
}

void ReadAllocatable(FieldReader& spec, workload::ResourceList& out) {
  FieldReader in = spec.Object("allocatable");
  in.CheckEntries(64);
  out = ReadResources(in);
  if (out.empty()) {
    in.errors().Add(in.path(), "is empty", "say what one host offers to pods, for example cpu");
  }
}

void CheckOffers(FieldReader& spec, const std::vector<CapacityOffer>& offers) {
  for (const CapacityOffer& offer : offers) {
    if (offer.price_per_hour.currency != offers.front().price_per_hour.currency) {
      spec.errors().Add(spec.PathOf("offers"), "are in several currencies",
                        "use one currency in a pool");
    }
  }
  if (offers.empty()) {
    spec.errors().Add(spec.PathOf("offers"), "is empty", "give at least one type with its price");
  }
}

// A ProvisioningRequest asks for hosts by their labels, so each contract needs some of its own.
void CheckOfferLabels(FieldReader& spec, const CapacityPool& pool) {
  if (pool.scaling.kind() != ScalingKind::kProvisioningRequest) return;
  std::set<std::map<std::string, std::string>> seen;
  for (std::size_t i = 0; i < pool.offers.size(); ++i) {
    if (seen.insert(pool.offers[i].node_labels).second) continue;
    spec.errors().Add(StrCat(spec.PathOf("offers"), "[", i, "].nodeLabels"),
                      "are those of another offer, so the hosts cannot be told apart",
                      "give the labels that only Nodes under this contract carry");
  }
}

void CheckBudget(FieldReader& spec, const CapacityPool& pool) {
  if (pool.offers.empty()) return;
  for (const auto& most :
       {pool.budget.max_cost_per_hour, pool.budget.max_cost_per_hour_per_namespace}) {
    if (!most || most->currency == pool.offers.front().price_per_hour.currency) continue;
    spec.errors().Add(spec.PathOf("budget"), "is in another currency than the offers",
                      "write it in the currency of the prices");
  }
}

void DescribeSpec(FieldVisitor& spec, CapacityPool& pool) {
  spec.Text("instanceType", pool.instance_type, kLabelValue,
            Required("Instance type of its hosts; equal names mean equal hosts."));
  spec.Custom(
      "allocatable", AllocatableSchema,
      Required("What one host offers to pods, as a Node's allocatable."),
      [&](FieldReader& in) { ReadAllocatable(in, pool.allocatable); },
      [&] { return EncodeResources(pool.allocatable); });
  spec.Text("zone", pool.zone, kLabelValue, "Availability zone of its hosts.");
  spec.Text("fabricPod", pool.fabric_pod, NotEmpty(kLabelValue),
            "Fabric pod that its hosts stand in; left out: unknown.");
  spec.Text("segment", pool.segment, NotEmpty(kLabelValue),
            "Segment that its hosts stand in; left out: unknown.");
  spec.TextMap("nodeLabels", pool.node_labels, kMaxPoolLabels, kLabelValue,
               "Labels that its Nodes carry.");
  spec.Objects("offers", pool.offers, {.max_entries = 3, .min_entries = 1, .map_key = "type"},
               Required("Its hosts under each contract.").Always(),
               "The hosts under one contract.");
  spec.Rule(
      "size(self.offers) == 0 || self.offers.all(o, o.pricePerHour.split(' ')[1] == "
      "self.offers[0].pricePerHour.split(' ')[1])",
      "offers are in several currencies; use one currency in a pool", ".offers");
  spec.Check([&](FieldReader& in) { CheckOffers(in, pool.offers); });
  spec.Object(
      "scaling", pool.scaling,
      "How hosts come into being: by a ProvisioningRequest (provisioningClassName) or by a "
      "NodeClaim each (nodeClassRef). With neither they are there already, and the operator "
      "rents none.");
  spec.Rule(
      "!has(self.scaling) || !has(self.scaling.provisioningClassName) || self.offers.all(a, "
      "self.offers.all(b, a.type == b.type || (has(a.nodeLabels) ? a.nodeLabels : {}) != "
      "(has(b.nodeLabels) ? b.nodeLabels : {})))",
      "offers have the same nodeLabels, so the hosts cannot be told apart; give the labels that "
      "only Nodes under each contract carry",
      ".offers");
  spec.Check([&](FieldReader& in) { CheckOfferLabels(in, pool); });
  spec.Rule("!has(self.segment) || has(self.fabricPod)", "segment needs fabricPod; name both",
            ".segment");
  spec.Object("namespaceSelector", pool.namespace_selector,
              "Namespaces whose jobs may rent hosts of the pool, by their labels; left out: all.");
  spec.Object("budget", pool.budget,
              "What the hosts of the pool that are rented at a time may cost together. It bounds "
              "what is rented from then on, and takes no host from a job that runs.");
  spec.Rule(
      "!has(self.budget) || (!has(self.budget.maxCostPerHour) || "
      "self.budget.maxCostPerHour.endsWith(self.offers[0].pricePerHour.split(' ')[1])) && "
      "(!has(self.budget.maxCostPerHourPerNamespace) || "
      "self.budget.maxCostPerHourPerNamespace.endsWith(self.offers[0].pricePerHour.split(' ')[1]))",
      "the budget is in another currency than the offers; write it in the currency of the prices",
      ".budget");
  spec.Check([&](FieldReader& in) { CheckBudget(in, pool); });
}

}  // namespace

void CapacityScaling::ReportContradictions(FieldReader& in) const {
  if (node_class && !provisioning_class.empty()) {
    in.errors().Add(in.PathOf("nodeClassRef"), "stands beside provisioningClassName",
                    "keep the one by which the pool's hosts are made");
  }
  if (!parameters.empty() && provisioning_class.empty()) {
    in.errors().Add(in.PathOf("parameters"), "has no provisioningClassName that takes them",
                    "name the class, or leave them out");
  }
}

void CapacityPool::Describe(FieldVisitor& fields) {
  fields.Group("spec", RequiredByServer("The hosts, their prices and how they come into being."),
               [this](FieldVisitor& spec) { DescribeSpec(spec, *this); });
  fields.Custom(
      "status",
      []() -> json {
        return {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
      },
      "Reserved.", [](FieldReader& in) { in.Raw("status"); }, [] { return json(); });
}

json CapacityPoolSchema() {
  return SchemaOfResource(
      "CapacityPool describes hosts of one kind that can be rented, what they cost and how to get "
      "them. People or an adapter keep the prices up to date.",
      [](FieldVisitor& fields) { CapacityPool().Describe(fields); });
}

absl::StatusOr<CapacityPool> DecodeCapacityPool(JsonView object, UnknownFields unknown) {
  FieldErrors errors;
  FieldReader in(object, "", unknown, &errors);
  ReadTypeMeta(in, kGroupVersion, kCapacityPoolKind);
  ObjectMeta metadata = ReadMetadata(in, Namespaced::kNo);
  CapacityPool pool = DecodeObject<CapacityPool>(std::move(in));
  pool.metadata = std::move(metadata);
  if (!errors.empty()) return errors.status();
  return pool;
}

json EncodeCapacityPool(const CapacityPool& pool) {
  json out = EncodeObject(pool);
  out["apiVersion"] = kGroupVersion;
  out["kind"] = kCapacityPoolKind;
  out["metadata"] = EncodeMetadata(pool.metadata);
  return out;
}

std::map<std::string, std::string> NodeLabelsOf(const CapacityPool& pool,
                                                const CapacityOffer& offer) {
  std::map<std::string, std::string> labels = pool.node_labels;
  labels.insert(offer.node_labels.begin(), offer.node_labels.end());
  labels.emplace(kInstanceTypeLabel, pool.instance_type);
  if (!pool.zone.empty()) labels.emplace(kZoneLabel, pool.zone);
  if (!pool.fabric_pod.empty()) labels.emplace(kFabricPodLabel, pool.fabric_pod);
  if (!pool.segment.empty()) labels.emplace(kSegmentLabel, pool.segment);
  if (pool.scaling.kind() == ScalingKind::kNodeClaims) {
    constexpr std::string_view kValues[] = {"on-demand", "reserved", "spot"};
    labels.emplace(kKarpenterCapacityTypeLabel, kValues[static_cast<int>(offer.type)]);
  }
  return labels;
}

int WorkersPerHost(const CapacityPool& pool, const workload::ResourceList& requests) {
  std::int64_t workers = kMaxWorkersPerHost;
  for (const workload::ResourceAmount& request : requests) {
    if (request.amount <= 0) continue;
    const std::int64_t room = RoomForExclusive(request.name);
    const std::int64_t offered =
        room > 0 ? room : workload::AmountOf(pool.allocatable, request.name);
    // People leave out how many pods a host takes.
    if (offered == 0 && request.name == kPodsResource) continue;
    workers = std::min(workers, offered / request.amount);
  }
  return static_cast<int>(workers);
}

}  // namespace yardmaster::api
