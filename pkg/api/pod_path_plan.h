// The annotation yardmaster.dev/path-plan: which UDP source ports take a pod's connections along
// the planned paths. Written by the operator, read by the agent and by the shims in the container.
//
//   {"version":1,"fabricGeneration":7,"expires":"2026-01-02T03:04:05Z","trafficClass":128,
//    "ordinals":"least-used","rails":[
//     {"rail":0,"address":"10.0.0.1","peers":[
//       {"rank":1,"host":"n2","address":"10.0.0.9","plane":0,"sourcePorts":[49321],
//        "alternatePorts":[50012]}]}]}
//
// A peer may also have "tcp":[{"listenPort":29500,"sourcePorts":[50001,50077]}], a rail "device",
// and the plan "fabricUid".
//
// An alternate port avoids every link between switches that its source port takes. A connection
// that failed may use it before a new plan arrives. 0: there is none; left out: none at all.
//
// `ordinals` names the rule by which the n-th connection to a peer finds its port (docs/wire.md).
// "least-used" is the only rule and the default. A reader that does not know the rule ignores the
// plan.
//
// Versions: a field is added without a new version when a reader that ignores it still does the
// right thing. Any other change raises `version`, and readers refuse a version they do not know.
//
// A plan is valid until it expires, or until the generation of its Fabric's network (Fabric
// status.networkGeneration) exceeds the one that the plan names. Then readers ignore it and NCCL
// chooses its ports itself. A pod talks to a few peers per rail (ring and
// pipeline neighbours), so the text has some kilobytes for jobs of any size; 64 KiB is the
// limit.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace yardmaster::api {

// TCP connections to a port that the peer listens on: local ports that take them along the path of
// the RoCEv2 connections, any of them.
struct TcpPaths {
  int listen_port = 0;
  std::vector<std::uint16_t> source_ports;
  bool operator==(const TcpPaths&) const = default;
};

struct PeerPaths {
  int rank = 0;         // the peer's worker rank
  std::string host;     // and its node
  std::string address;  // of its NIC on the same rail
  int plane = 0;
  std::vector<std::uint16_t> source_ports;          // one per connection
  std::vector<std::uint16_t> alternate_ports = {};  // as many, or none at all
  std::vector<TcpPaths> tcp = {};                   // of jobs that ask for them
  bool operator==(const PeerPaths&) const = default;
};

struct RailPaths {
  int rail = 0;
  std::vector<PeerPaths> peers;
  std::string address = {};  // of the pod's own NIC on this rail; empty: not known
  std::string device = {};   // its RDMA device, "mlx5_0" or "mlx5_0/1"; empty: not known
  bool operator==(const RailPaths&) const = default;
};

struct PodPathPlan {
  std::int64_t fabric_generation = 0;
  std::int64_t expires_ms = 0;  // whole seconds
  std::vector<RailPaths> rails;
  std::optional<int> traffic_class = {};  // IP traffic class byte of the pod's level
  std::string fabric_uid = {};            // of the Fabric; empty: not known
  bool operator==(const PodPathPlan&) const = default;
};

// The array "rails": one text for the annotation and for the agent's plan file.
nlohmann::ordered_json EncodeRails(const PodPathPlan& plan);
// Errors: ResourceExhausted when it would exceed 64 KiB.
absl::StatusOr<std::string> EncodePathPlan(const PodPathPlan& plan);
// Errors: InvalidArgument; another version than 1 or an unknown ordinal rule is one.
absl::StatusOr<PodPathPlan> DecodePathPlan(std::string_view text);

// Pod annotation, written by people: ports that the pod's processes listen on for TCP from their
// peers ("29500,29501"). The operator then plans local ports for connections to them, too.
inline constexpr char kSocketPortsAnnotation[] = "yardmaster.dev/socket-ports";
inline constexpr int kMaxSocketPorts = 8;
// Its ports, ascending. Errors: InvalidArgument.
absl::StatusOr<std::vector<int>> DecodeSocketPorts(std::string_view text);

}  // namespace yardmaster::api
