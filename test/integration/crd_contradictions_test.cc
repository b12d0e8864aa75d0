// The CRDs on a real API server: what contradicts itself is refused with its field and a fix.
#include <functional>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "test/integration/crd_objects.h"
#include "test/integration/crds_fixture.h"

namespace yardmaster::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Wrong {
  const char* what;
  json object;
  std::function<void(json&)> spoil;
  const char* message;
};

TEST_F(CrdsTest, ContradictionsAreRefusedWithTheirFieldAndAFix) {
  const json job = JobObject();
  const json fabric = FabricObject();
  const json pool = PoolObject();
  const Wrong cases[] = {
      {"two currencies", pool, [](json& o) { o["spec"]["offers"][0]["pricePerHour"] = "9.80 EUR"; },
       "use one currency in a pool"},
      {"no price", pool, [](json& o) { o["spec"]["offers"][0].erase("pricePerHour"); },
       "spec.offers[0].pricePerHour: Required value"},
      {"price without a currency", pool,
       [](json& o) { o["spec"]["offers"][0]["pricePerHour"] = "9.80"; },
       "spec.offers[0].pricePerHour"},
      {"a type twice", pool, [](json& o) { o["spec"]["offers"][0]["type"] = "OnDemand"; },
       "duplicate entries for key"},
      {"a segment of nothing", pool, [](json& o) { o["spec"].erase("fabricPod"); },
       "segment needs fabricPod"},
      {"no resources", pool, [](json& o) { o["spec"]["allocatable"] = json::object(); },
       "spec.allocatable"},
      {"offers alike", pool,
       [](json& o) {
         o["spec"]["scaling"] = {{"provisioningClassName", "c"}};
       },
       "cannot be told apart"},
      {"two ways to scale", pool,
       [](json& o) {
         o["spec"]["scaling"] = {{"provisioningClassName", "c"},
                                 {"nodeClassRef", {{"group", "g"}, {"kind", "K"}, {"name", "n"}}}};
       },
       "stands beside provisioningClassName"},
      {"parameters of no class", pool,
       [](json& o) {
         o["spec"]["scaling"] = {{"parameters", {{"a", "b"}}}};
       },
       "has no provisioningClassName"},
      {"caps in two currencies", job,
       [](json& o) {
         o["spec"]["capacity"] = {{"maxCostPerHour", "1 USD"}, {"maxTotalCost", "1 EUR"}};
       },
       "use one currency for both"},
      {"a cap without a currency", job,
       [](json& o) {
         o["spec"]["capacity"] = {{"maxCostPerHour", "80"}};
       },
       "spec.capacity.maxCostPerHour"},
      {"a domain of one worker", job,
       [](json& o) {
         o["spec"].erase("parallelism");
         o["spec"]["workers"] = 1;
         o["spec"]["computeDomain"] = true;
       },
       "computeDomain connects hosts"},
      {"two priorities", job,
       [](json& o) {
         o["spec"]["priority"] = 3;
         o["spec"]["priorityClassName"] = "high";
       },
       "two ways to say one thing"},
      {"data of an elastic job", job,
       [](json& o) {
         o["spec"]["elastic"] = {{"minData", 1}, {"maxData", 8}};
       },
       "follows from workers; leave it out"},
      {"elastic bounds", job,
       [](json& o) {
         o["spec"]["parallelism"] = {{"tensor", 8}};
         o["spec"]["elastic"] = {{"minData", 8}, {"maxData", 4}};
       },
       "minData must be at most maxData"},
      {"product", job, [](json& o) { o["spec"]["parallelism"]["data"] = 7; },
       "tensor*context*data*pipeline must equal workers*gpusPerWorker; "},
      {"huge product", job,
       [](json& o) {
         o["spec"]["parallelism"] = {{"tensor", 1000000}, {"data", 1000000}, {"pipeline", 1000000}};
       },
       "tensor*context*data*pipeline must equal"},
      {"expert", job, [](json& o) { o["spec"]["parallelism"]["expert"] = 3; },
       "expert must divide data"},
      {"rule that matches by nothing", job,
       [](json& o) {
         o["spec"]["recovery"]["rules"] = json::array({{{"action", "Fail"}}});
       },
       "give exactly one of exitCodes, exitCodesNotIn and podCondition"},
      {"rule for success", job,
       [](json& o) {
         o["spec"]["recovery"]["rules"] = json::array({{{"action", "Fail"}, {"exitCodes", {0}}}});
       },
       "should be greater than or equal to 1"},
      {"a claim without a directory", job,
       [](json& o) { o["spec"]["checkpoint"]["claim"] = "data"; }, "give directory"},
      {"a relative directory", job, [](json& o) { o["spec"]["checkpoint"]["directory"] = "data"; },
       "spec.checkpoint.directory"},
      {"a request of another kind", job,
       [](json& o) { o["spec"]["checkpoint"]["request"] = "Mail"; }, "supported values"},
      {"a request by no command", job,
       [](json& o) { o["spec"]["checkpoint"]["request"] = "Command"; }, "give both or neither"},
      {"a command without its request", job,
       [](json& o) { o["spec"]["checkpoint"]["command"] = {"save"}; }, "give both or neither"},
      {"a command of nothing", job,
       [](json& o) {
         o["spec"]["checkpoint"] = {{"request", "Command"}, {"command", json::array()}};
       },
       "spec.checkpoint.command"},
      {"a mark of another kind", job, [](json& o) { o["spec"]["checkpoint"]["mark"] = "Mail"; },
       "supported values"},
      {"a deadline of nothing", job, [](json& o) { o["spec"]["activeDeadlineSeconds"] = 0; },
       "spec.activeDeadlineSeconds"},
      {"success of some", job, [](json& o) { o["spec"]["successPolicy"] = "Some"; },
       "supported values"},
      {"success of no role", job, [](json& o) { o["spec"]["successPolicy"] = "Role"; },
       "successRole names one of roles"},
      {"success of another role", job,
       [](json& o) {
         o["spec"]["successPolicy"] = "Role";
         o["spec"]["successRole"] = "driver";
         o["spec"]["roles"] = RolesNamed({"launcher"});
       },
       "successRole names one of roles"},
      {"two roles of a name", job,
       [](json& o) {
         o["spec"]["roles"] = RolesNamed({"launcher", "launcher"});
       },
       "duplicate entries for key"},
      {"a role in capitals", job, [](json& o) { o["spec"]["roles"] = RolesNamed({"Launcher"}); },
       "spec.roles[0].name"},
      {"a role of a long name", job,
       [](json& o) { o["spec"]["roles"] = RolesNamed({std::string(56, 'x')}); },
       "use a shorter name of the role or of the job"},
      {"a role without pods", job,
       [](json& o) {
         o["spec"]["roles"] = RolesNamed({"launcher"});
         o["spec"]["roles"][0]["replicas"] = 0;
       },
       "spec.roles[0].replicas"},
      {"pods kept running", job, [](json& o) { o["spec"]["cleanPodPolicy"] = "None"; },
       "supported values"},
      {"level", job, [](json& o) { o["spec"]["placement"]["data"]["within"] = "Rack"; },
       "supported values"},
      {"name", job, [](json& o) { o["metadata"]["name"] = "a.b"; }, "metadata.name must be"},
      {"model without a size", job,
       [](json& o) {
         o["spec"]["model"] = {{"layers", 12}};
       },
       "give parameters, or layers and hiddenSize"},
      {"negative model", job,
       [](json& o) {
         o["spec"]["model"] = {{"parameters", -1}};
       },
       "should be greater than or equal to 1"},
      {"precision", job,
       [](json& o) {
         o["spec"]["model"] = {{"parameters", 1e9}, {"precision", "INT4"}};
       },
       "supported values"},
      {"feed-forward", job,
       [](json& o) {
         o["spec"]["model"] = {{"parameters", 1e9}, {"feedForwardSize", 8}};
       },
       "feedForwardSize is given without hiddenSize"},
      {"key-value heads", job,
       [](json& o) {
         o["spec"]["model"] = {{"parameters", 1e9}, {"attentionHeads", 8}, {"keyValueHeads", 3}};
       },
       "keyValueHeads must divide attentionHeads"},
      {"experts per token", job,
       [](json& o) {
         o["spec"]["model"] = {{"parameters", 1e9}, {"expertsPerToken", 2}};
       },
       "a token cannot meet more experts than there are"},
      {"expert layers", job,
       [](json& o) {
         o["spec"]["model"] = {
             {"layers", 4}, {"hiddenSize", 8}, {"experts", 2}, {"expertLayerPeriod", 5}};
       },
       "with that period no layer has experts"},
      {"heads", job,
       [](json& o) {
         o["spec"]["model"] = {{"parameters", 1e9}, {"attentionHeads", 12}};
       },
       "parallelism.tensor must divide model.attentionHeads"},
      {"dense experts", job,
       [](json& o) {
         o["spec"]["parallelism"]["expert"] = 4;
         o["spec"]["model"] = {{"parameters", 1e9}};
       },
       "parallelism.expert must divide model.experts"},
      {"few layers", job,
       [](json& o) {
         o["spec"]["model"] = {{"layers", 1}, {"hiddenSize", 8}};
       },
       "every chunk of a pipeline stage needs a layer"},
      {"ToR ports", fabric, [](json& o) { o["spec"]["tiers"][0]["downPorts"] = 100; },
       "tiers[0].downPorts must be at least size.hostsPerSegment"},
      {"Agg ports", fabric, [](json& o) { o["spec"]["size"]["segmentsPerFabricPod"] = 16; },
       "downPorts must hold all cables"},
      {"planes", fabric, [](json& o) { o["spec"]["planes"] = 3; }, "planes must divide"},
      {"rails", fabric, [](json& o) { o["spec"]["host"]["rails"] = 5; }, "host.rails must divide"},
      {"backup", fabric, [](json& o) { o["spec"]["backup"]["hostsPerSegment"] = 136; },
       "backup.hostsPerSegment must be less"},
      {"speed", fabric, [](json& o) { o["spec"]["tiers"][1]["downGbps"] = 100; },
       "upGbps must equal downGbps"},
      {"spread", fabric, [](json& o) { o["spec"]["tiers"][0]["upPorts"] = 61; },
       "upPorts must spread evenly"},
      {"top", fabric, [](json& o) { o["spec"]["tiers"][1]["upPorts"] = 8; },
       "upPorts of the highest tier must be 0"},
      {"levels", fabric,
       [](json& o) {
         o["spec"]["networkLevels"] = {{"count", 2}, {"reserved", {0, 1}}};
       },
       "networkLevels.reserved must name levels"},
      {"a first tier elsewhere", fabric,
       [](json& o) { o["spec"]["tiers"][0]["scope"] = "FabricPod"; },
       "tiers[0].scope must be Segment"},
      {"switches of the first tier", fabric, [](json& o) { o["spec"]["tiers"][0]["switches"] = 3; },
       "tiers[0].switches must be"},
      {"speed of hosts", fabric, [](json& o) { o["spec"]["tiers"][0]["downGbps"] = 100; },
       "tiers[0].downGbps must equal host.nicGbps"},
      {"a tier without uplinks", fabric, [](json& o) { o["spec"]["tiers"][0]["upPorts"] = 0; },
       "needs upPorts and upGbps above 0"},
      {"tiers downwards", fabric,
       [](json& o) {
         json& tiers = o["spec"]["tiers"];
         tiers[1].update({{"scope", "Fabric"}, {"upPorts", 60}, {"upGbps", 400}});
         tiers.push_back({{"role", "core"},
                          {"scope", "FabricPod"},
                          {"switches", 60},
                          {"downPorts", 120},
                          {"downGbps", 400}});
       },
       "tiers must go from the hosts upwards"},
      {"rails above their mix", fabric,
       [](json& o) {
         o["spec"]["tiers"][0]["perRail"] = false;
         o["spec"]["tiers"][1]["perRail"] = true;
       },
       "cannot stand above one that mixes them"},
      {"rails that do not divide", fabric,
       [](json& o) { o["spec"]["tiers"][0]["railsPerSwitch"] = 3; },
       "railsPerSwitch must divide host.rails"},
      {"rails of a switch for all", fabric,
       [](json& o) { o["spec"]["tiers"][1]["railsPerSwitch"] = 2; }, "needs perRail"},
      {"ports for two rails", fabric, [](json& o) { o["spec"]["tiers"][0]["railsPerSwitch"] = 2; },
       "tiers[0].downPorts must be at least size.hostsPerSegment"},
      {"rails that part above", fabric,
       [](json& o) {
         o["spec"]["tiers"][0]["railsPerSwitch"] = 4;
         o["spec"]["tiers"][0]["downPorts"] = 544;
         o["spec"]["tiers"][1]["perRail"] = true;
       },
       "railsPerSwitch must be a multiple of that of the tier below"},
      {"a switch's port as a name", fabric,
       [](json& o) {
         o["spec"]["switchNames"] = {{"p0/s0/tor-r0-p0", "leaf:1"}};
       },
       "spec.switchNames"},
      {"an absent switch twice", fabric,
       [](json& o) {
         o["spec"]["absentSwitches"] = {"p0/agg-p0-3", "p0/agg-p0-3"};
       },
       "spec.absentSwitches: duplicate entries"},
      {"stripes", fabric, [](json& o) { o["spec"]["tiers"][1]["stripes"] = 7; },
       "stripes must divide"},
      {"hash", fabric,
       [](json& o) {
         o["spec"]["ecmpHash"]["spine"] = {{"model", "xor16"}};
       },
       "every key of ecmpHash must be the role of a tier"},
  };
  for (const Wrong& wrong : cases) {
    json object = wrong.object;
    wrong.spoil(object);
    const absl::Status status = Apply(object, /*dry_run=*/true);
    EXPECT_FALSE(status.ok()) << wrong.what;
    EXPECT_THAT(std::string(status.message()), HasSubstr(wrong.message)) << wrong.what;
  }
}

}  // namespace
}  // namespace yardmaster::testing
