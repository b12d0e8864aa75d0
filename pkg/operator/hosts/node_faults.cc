#include "pkg/operator/hosts/node_faults.h"

#include <algorithm>
#include <map>
#include <set>

#include "nlohmann/json.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/api/names.h"
#include "pkg/api/nic_annotations.h"
#include "pkg/base/strings.h"
#include "pkg/config/yaml.h"

namespace yardmaster::op {

namespace {

using Signal = FaultRule::Signal;

constexpr int kMaxRails = 64;  // as a Fabric may have
constexpr std::string_view kActionNames[] = {"Ignore", "Degrade", "Drain", "Replace"};

bool Matches(const FaultRule& rule, std::string_view key) {
  const std::string_view pattern = rule.key;
  if (pattern.empty() || pattern.back() != '*') return key == pattern;
  return key.substr(0, pattern.size() - 1) == pattern.substr(0, pattern.size() - 1);
}

// Rails none of whose ports is up, ascending.
std::vector<int> RailsDown(const api::Node& node, int nic_ports) {
  const auto text = api::Find(node.metadata.annotations, api::kDownPortsAnnotation);
  if (!text || text->empty() || nic_ports <= 0) return {};
  std::map<int, std::set<int>> down;  // ports by rail
  for (const auto& [rail, port] : api::DecodeDownPorts(*text, kMaxRails, nic_ports).ports) {
    down[rail].insert(port);
  }
  std::vector<int> rails;
  for (const auto& [rail, ports] : down) {
    if (static_cast<int>(ports.size()) >= nic_ports) rails.push_back(rail);
  }
  return rails;
}

// The first rule that matches, if it does not say to ignore the signal.
void Add(const std::vector<FaultRule>& rules, Signal signal, std::string_view key,
         std::string_view status, std::string name, std::vector<NodeFault>& faults) {
  for (const FaultRule& rule : rules) {
    if (rule.signal != signal || !Matches(rule, key)) continue;
    if (signal == Signal::kCondition && rule.status != status) continue;
    if (rule.action != FaultAction::kIgnore) {
      faults.push_back({std::move(name), rule.action, rule.after_ms});
    }
    return;
  }
}

FaultRule ReadRule(api::FieldReader& in) {
  FaultRule rule;
  const std::string condition = in.String("condition");
  const std::string taint = in.String("taint");
  const bool rail_down = in.Bool("railDown", false);
  if (int{!condition.empty()} + int{!taint.empty()} + int{rail_down} != 1) {
    in.errors().Add(in.path(), "matches by none or by several of condition, taint and railDown",
                    "give exactly one of them");
  }
  rule.signal = rail_down        ? Signal::kRailDown
                : !taint.empty() ? Signal::kTaint
                                 : Signal::kCondition;
  rule.key = !taint.empty() ? taint : condition;
  rule.status = in.String("status", "True");
  if (rule.status != "True" && rule.status != "False" && rule.status != "Unknown") {
    in.errors().Add(in.PathOf("status"),
                    StrCat("\"", rule.status, "\" is not a condition's status"),
                    "use True, False or Unknown, in quotes");
  }
  rule.action = in.Enum("action", kActionNames, rule.action);
  rule.after_ms = 1000 * in.Int64("afterSeconds", 0, 0, 86'400);
  in.Close();
  return rule;
}

}  // namespace

std::vector<FaultRule> DefaultFaultRules() {
  const auto condition = [](const char* type, FaultAction action, std::int64_t after_ms = 60'000,
                            const char* status = "True") {
    return FaultRule{Signal::kCondition, type, status, action, after_ms};
  };
  const auto taint = [](const char* key) {
    return FaultRule{Signal::kTaint, key, "True", FaultAction::kDrain, 0};
  };
  return {
      // node-problem-detector.
      condition("KernelDeadlock", FaultAction::kReplace),
      condition("ReadonlyFilesystem", FaultAction::kReplace),
      condition("FrequentKubeletRestart", FaultAction::kDegrade),
      condition("FrequentContainerdRestart", FaultAction::kDegrade),
      condition("FrequentUnregisterNetDevice", FaultAction::kDegrade),
      // AKS.
      condition("FilesystemCorruptionProblem", FaultAction::kDrain),
      condition("VMEventScheduled", FaultAction::kDegrade, 0),
      taint("remediator.kubernetes.azure.com/unschedulable"),
      // EKS node monitoring agent.
      condition("AcceleratedHardwareReady", FaultAction::kDrain, 60'000, "False"),
      condition("KernelReady", FaultAction::kDegrade, 60'000, "False"),
      condition("NetworkingReady", FaultAction::kDegrade, 60'000, "False"),
      condition("StorageReady", FaultAction::kDegrade, 60'000, "False"),
      // NVSentinel: True only for faults after which it has the Node repaired. Its taints are named
      // by
      // its rule sets; these are the names that its guide gives them.
      condition("GpuMemWatch", FaultAction::kDrain),
      condition("GpuPcieWatch", FaultAction::kDrain),
      condition("GpuNvlinkWatch", FaultAction::kDrain),
      condition("GpuSmWatch", FaultAction::kDrain),
      condition("GpuMcuWatch", FaultAction::kDrain),
      condition("GpuPmuWatch", FaultAction::kDrain),
      condition("GpuDriverWatch", FaultAction::kDrain),
      condition("GpuInforomWatch", FaultAction::kDrain),
      condition("SysLogsXIDError", FaultAction::kDrain),
      condition("SysLogsSXIDError", FaultAction::kDrain),
      condition("SysLogsGPUFallenOff", FaultAction::kReplace),
      condition("NVSwitchFatalError", FaultAction::kDrain),
      condition("NVSwitchDown", FaultAction::kDrain),
      condition("GpuThermalWatch", FaultAction::kDegrade),
      condition("GpuPowerWatch", FaultAction::kDegrade),
      // NICs have two ports, and links come back: as when we see a rail go down.
      condition("InfiniBandStateCheck", FaultAction::kDrain, 120'000),
      condition("EthernetStateCheck", FaultAction::kDrain, 120'000),
      condition("InfiniBandDegradationCheck", FaultAction::kDegrade),
      condition("EthernetDegradationCheck", FaultAction::kDegrade),
      condition("CSPMaintenance", FaultAction::kDrain, 0),
      taint("nvidia.com/gpu-xid-error"),
      taint("nvidia.com/gpu-nvlink-error"),
      taint("nvidia.com/gpu-error"),
      taint("nvidia.com/syslog-xid-error"),
      // Lifecycle conditions of Kubernetes (KEP-5683).
      condition("MaintenancePlanned", FaultAction::kDegrade, 0),
      condition("DrainInProgress", FaultAction::kDrain, 0),
      condition("Drained", FaultAction::kDrain, 0),
      condition("MaintenanceInProgress", FaultAction::kDrain, 0),
      condition("GracefulNodeShutdownInProgress", FaultAction::kDrain, 0),
      // Nodes that are about to go.
      taint("aws-node-termination-handler/spot-itn"),
      taint("aws-node-termination-handler/scheduled-maintenance"),
      taint("aws-node-termination-handler/asg-lifecycle-termination"),
      taint("cloud.google.com/impending-node-termination"),
      taint("karpenter.sh/disrupted"),
      taint("ToBeDeletedByClusterAutoscaler"),
      taint("node.cloudprovider.kubernetes.io/shutdown"),
      // A job goes on with the other rails' paths for two minutes; links come back in that time.
      {Signal::kRailDown, "", "True", FaultAction::kDrain, 120'000},
  };
}

absl::StatusOr<std::vector<FaultRule>> ParseFaultRules(std::string_view yaml,
                                                       std::string_view source) {
  YM_ASSIGN_OR_RETURN(const nlohmann::json object,
                      config::ParseYaml(std::string(yaml), std::string(source)));
  api::FieldErrors errors;
  api::FieldReader in(&object, "", api::UnknownFields::kReject, &errors);
  std::vector<FaultRule> rules;
  for (api::FieldReader& rule : in.Objects("rules")) rules.push_back(ReadRule(rule));
  in.Close();
  if (errors.empty()) return rules;
  return absl::InvalidArgumentError(StrCat(source, ": ", MessageOf(errors.status())));
}

std::vector<NodeFault> FaultsOf(const api::Node& node, int nic_ports,
                                const std::vector<FaultRule>& rules) {
  std::vector<NodeFault> faults;
  for (const auto& [type, status] : node.conditions) {
    Add(rules, Signal::kCondition, type, status, StrCat("condition ", type, " ", status), faults);
  }
  for (const api::Taint& taint : node.taints) {
    Add(rules, Signal::kTaint, taint.key, "", StrCat("taint ", taint.key), faults);
  }
  for (const int rail : RailsDown(node, nic_ports)) {
    Add(rules, Signal::kRailDown, "", "", StrCat("rail ", rail, " down"), faults);
  }
  std::sort(faults.begin(), faults.end(),
            [](const NodeFault& a, const NodeFault& b) { return a.name < b.name; });
  return faults;
}

}  // namespace yardmaster::op
