#include "pkg/api/capacity_pool.h"

#include <algorithm>
#include <set>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/money_field.h"
#include "pkg/api/names.h"
#include "pkg/api/pod_requests.h"
#include "pkg/api/resource_list.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr int kMaxWorkersPerHost = 1024;
constexpr int kMaxLabels = 64;
// 100 an hour is one interruption of a host every 36 seconds; a higher rate is a mistake.
constexpr double kMaxInterruptionsPerHour = 100;

CapacityOffer ReadOffer(FieldReader& in) {
  CapacityOffer offer;
  if (!in.has("type")) {
    in.errors().Add(in.PathOf("type"), "is missing", "write OnDemand, Reserved or Spot");
  }
  offer.type = in.Enum("type", kCapacityTypeNames, offer.type);
  if (auto price = ReadMoney(in, "pricePerHour")) {
    offer.price_per_hour = *std::move(price);
  } else if (!in.has("pricePerHour")) {
    in.errors().Add(in.PathOf("pricePerHour"), "is missing",
                    "write an amount and a currency, for example \"12.50 USD\"");
  }
  offer.max_hosts = in.Int("maxHosts", 0, 0, kMaxRentedHosts);
  offer.interruptions_per_hour = in.Number("interruptionsPerHour", 0, 0, kMaxInterruptionsPerHour);
  offer.notice_seconds = in.Int("noticeSeconds", 0, 0, kMaxSeconds);
  offer.node_labels = in.StringMap("nodeLabels", kMaxLabels, kLabelValue);
  in.Close();
  return offer;
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

CapacityScaling ReadScaling(FieldReader in) {
  CapacityScaling scaling;
  scaling.provisioning_class = in.String("provisioningClassName", kObjectName);
  scaling.parameters = in.StringMap("parameters", 32, TextRule{255});
  FieldReader node_class = in.Object("nodeClassRef");
  if (node_class.present()) {
    scaling.node_class = {node_class.RequiredString("group", kObjectName),
                          node_class.RequiredString("kind", kLabelValue),
                          node_class.RequiredString("name", kObjectName)};
    node_class.Close();
  }
  scaling.timeout_seconds = in.Int("timeoutSeconds", scaling.timeout_seconds, 1, kMaxSeconds);
  if (scaling.node_class && !scaling.provisioning_class.empty()) {
    in.errors().Add(in.PathOf("nodeClassRef"), "stands beside provisioningClassName",
                    "keep the one by which the pool's hosts are made");
  }
  if (!scaling.parameters.empty() && scaling.provisioning_class.empty()) {
    in.errors().Add(in.PathOf("parameters"), "has no provisioningClassName that takes them",
                    "name the class, or leave them out");
  }
  in.Close();
  return scaling;
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

}  // namespace

absl::StatusOr<CapacityPool> DecodeCapacityPool(JsonView object, UnknownFields unknown) {
  FieldErrors errors;
  FieldReader in(object, "", unknown, &errors);
  CapacityPool pool;
  ReadTypeMeta(in, kGroupVersion, kCapacityPoolKind);
  pool.metadata = ReadMetadata(in, Namespaced::kNo);
  FieldReader spec = in.Object("spec");
  pool.instance_type = spec.RequiredString("instanceType", kLabelValue);
  FieldReader allocatable = spec.Object("allocatable");
  allocatable.CheckEntries(64);
  pool.allocatable = ReadResources(allocatable);
  if (pool.allocatable.empty()) {
    errors.Add("spec.allocatable", "is empty", "say what one host offers to pods, for example cpu");
  }
  pool.zone = spec.String("zone", kLabelValue);
  pool.fabric_pod = spec.String("fabricPod", NotEmpty(kLabelValue));
  pool.segment = spec.String("segment", NotEmpty(kLabelValue));
  pool.node_labels = spec.StringMap("nodeLabels", kMaxLabels, kLabelValue);
  for (FieldReader& offer : spec.Objects("offers", {.max_entries = 3, .map_key = "type"}))
    pool.offers.push_back(ReadOffer(offer));
  CheckOffers(spec, pool.offers);
  pool.scaling = ReadScaling(spec.Object("scaling"));
  CheckOfferLabels(spec, pool);
  spec.Close();
  in.Raw("status");  // nothing is read from it
  in.Close();
  if (!errors.empty()) return errors.status();
  return pool;
}

json EncodeCapacityPool(const CapacityPool& pool) {
  json spec = {{"instanceType", pool.instance_type},
               {"allocatable", EncodeResources(pool.allocatable)},
               {"offers", json::array()}};
  const std::pair<const char*, const std::string*> texts[] = {
      {"zone", &pool.zone}, {"fabricPod", &pool.fabric_pod}, {"segment", &pool.segment}};
  for (const auto& [key, text] : texts) {
    if (!text->empty()) spec[key] = *text;
  }
  if (!pool.node_labels.empty()) spec["nodeLabels"] = pool.node_labels;
  for (const CapacityOffer& offer : pool.offers) {
    spec["offers"].push_back({{"type", kCapacityTypeNames[static_cast<int>(offer.type)]},
                              {"pricePerHour", capacity::FormatMoney(offer.price_per_hour)},
                              {"maxHosts", offer.max_hosts},
                              {"interruptionsPerHour", offer.interruptions_per_hour},
                              {"noticeSeconds", offer.notice_seconds}});
    if (!offer.node_labels.empty()) spec["offers"].back()["nodeLabels"] = offer.node_labels;
  }
  if (pool.scaling != CapacityScaling{}) {
    json& scaling = spec["scaling"];
    scaling = {{"timeoutSeconds", pool.scaling.timeout_seconds}};
    if (!pool.scaling.provisioning_class.empty()) {
      scaling["provisioningClassName"] = pool.scaling.provisioning_class;
    }
    if (!pool.scaling.parameters.empty()) scaling["parameters"] = pool.scaling.parameters;
    if (const auto& node_class = pool.scaling.node_class) {
      scaling["nodeClassRef"] = {
          {"group", node_class->group}, {"kind", node_class->kind}, {"name", node_class->name}};
    }
  }
  return {{"apiVersion", kGroupVersion},
          {"kind", kCapacityPoolKind},
          {"metadata", EncodeMetadata(pool.metadata)},
          {"spec", std::move(spec)}};
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
    const std::int64_t offered = workload::AmountOf(pool.allocatable, request.name);
    // People leave out how many pods a host takes.
    if (offered == 0 && request.name == kPodsResource) continue;
    workers = std::min(workers, offered / request.amount);
  }
  return static_cast<int>(workers);
}

}  // namespace yardmaster::api
