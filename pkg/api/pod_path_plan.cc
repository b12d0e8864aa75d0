#include "pkg/api/pod_path_plan.h"

#include <set>

#include "nlohmann/json.hpp"

#include "pkg/api/annotation.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::ordered_json;

constexpr char kOrdinalRule[] = "least-used";

RailPaths ReadRail(FieldReader& in) {
  RailPaths rail;
  rail.rail = in.Int("rail", 0, 0, 1023);
  rail.address = in.String("address");
  rail.device = in.String("device");
  for (FieldReader& entry : in.Objects("peers")) {
    PeerPaths peer;
    peer.rank = entry.Int("rank", 0, 0, 1'000'000);
    peer.host = entry.String("host");
    peer.address = entry.String("address");
    peer.plane = entry.Int("plane", 0, 0, 63);
    for (int port : entry.Ints("sourcePorts", 1, 65535)) {
      peer.source_ports.push_back(static_cast<std::uint16_t>(port));
    }
    for (int port : entry.Ints("alternatePorts", 0, 65535)) {
      peer.alternate_ports.push_back(static_cast<std::uint16_t>(port));
    }
    if (!peer.alternate_ports.empty() && peer.alternate_ports.size() != peer.source_ports.size()) {
      entry.errors().Add(entry.PathOf("alternatePorts"), "has not one port for each source port",
                         "give 0 where there is none");
    }
    for (FieldReader& tcp : entry.Objects("tcp")) {
      TcpPaths paths;
      paths.listen_port = tcp.Int("listenPort", 0, 0, 65535);
      for (int port : tcp.Ints("sourcePorts", 1, 65535)) {
        paths.source_ports.push_back(static_cast<std::uint16_t>(port));
      }
      peer.tcp.push_back(std::move(paths));
    }
    rail.peers.push_back(std::move(peer));
  }
  return rail;
}

}  // namespace

ordered_json EncodeRails(const PodPathPlan& plan) {
  ordered_json rails = ordered_json::array();
  for (const RailPaths& rail : plan.rails) {
    ordered_json peers = ordered_json::array();
    for (const PeerPaths& peer : rail.peers) {
      peers.push_back({{"rank", peer.rank},
                       {"host", peer.host},
                       {"address", peer.address},
                       {"plane", peer.plane},
                       {"sourcePorts", peer.source_ports}});
      if (!peer.alternate_ports.empty()) peers.back()["alternatePorts"] = peer.alternate_ports;
      for (const TcpPaths& tcp : peer.tcp) {
        peers.back()["tcp"].push_back(
            {{"listenPort", tcp.listen_port}, {"sourcePorts", tcp.source_ports}});
      }
    }
    ordered_json entry = {{"rail", rail.rail}};
    if (!rail.address.empty()) entry["address"] = rail.address;
    if (!rail.device.empty()) entry["device"] = rail.device;
    entry["peers"] = std::move(peers);
    rails.push_back(std::move(entry));
  }
  return rails;
}

absl::StatusOr<std::string> EncodePathPlan(const PodPathPlan& plan) {
  ordered_json out = {{"version", 1},
                      {"fabricGeneration", plan.fabric_generation},
                      {"expires", FormatTime(plan.expires_ms)}};
  if (!plan.fabric_uid.empty()) out["fabricUid"] = plan.fabric_uid;
  if (plan.traffic_class.has_value()) out["trafficClass"] = *plan.traffic_class;
  out["ordinals"] = kOrdinalRule;
  out["rails"] = EncodeRails(plan);
  std::string text = out.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  if (text.size() > kMaxAnnotationBytes) {
    return absl::ResourceExhaustedError(StrCat("path plan of ", text.size(),
                                               " bytes is longer than ", kMaxAnnotationBytes,
                                               "; plan fewer connections per peer"));
  }
  return text;
}

absl::StatusOr<PodPathPlan> DecodePathPlan(std::string_view text) {
  JsonParser parser;
  YM_ASSIGN_OR_RETURN(const JsonView object, ParseAnnotation(parser, text, 1));
  FieldErrors errors;
  FieldReader in(object, "", UnknownFields::kIgnore, &errors);
  PodPathPlan plan;
  plan.fabric_generation = in.Int64("fabricGeneration", 0, 0, INT64_MAX);
  plan.fabric_uid = in.String("fabricUid");
  plan.expires_ms = in.TimeMs("expires");
  if (in.has("trafficClass")) plan.traffic_class = in.Int("trafficClass", 0, 0, 255);
  if (const std::string rule = in.String("ordinals", kOrdinalRule); rule != kOrdinalRule) {
    errors.Add("ordinals", StrCat("\"", rule, "\" is not a known rule"),
               "run equal versions of all parts");
  }
  for (FieldReader& rail : in.Objects("rails")) plan.rails.push_back(ReadRail(rail));
  if (!errors.empty()) return errors.status();
  return plan;
}

absl::StatusOr<std::vector<int>> DecodeSocketPorts(std::string_view text) {
  std::set<int> ports;
  for (const std::string& part : Split(text, ',')) {
    const auto port = ParseNumber<int>(part);
    if (!port || *port < 1 || *port > 65535) {
      return FieldError(
          kSocketPortsAnnotation, StrCat("\"", part, "\" is not a port"),
          "write ports from 1 to 65535 with commas between and no spaces, \"29500,29501\"");
    }
    ports.insert(*port);
  }
  if (ports.size() > kMaxSocketPorts) {
    return FieldError(kSocketPortsAnnotation, StrCat("has ", ports.size(), " ports"),
                      StrCat("give at most ", kMaxSocketPorts));
  }
  return std::vector<int>(ports.begin(), ports.end());
}

}  // namespace yardmaster::api
