// PlanFile has a pod's path plan in fixed memory; FindPeer and PathAt find the port of a connection
// in it.
//
// The text is the annotation yardmaster.dev/path-plan (pkg/api/pod_path_plan.h) or the agent's plan
// file, which have the same rails. Unknown fields are ignored.
//
// The rule "least-used":
//
//   - The ports of all entries with the peer's address on one rail are numbered in turn: the first
//     port of each entry, then the second of each, and so on.
//   - A new RoCEv2 connection uses the number with the fewest live connections, the lowest of
//     equals (queue_pair_table.h). So n connections use n different ports if there are n (at most
//     kMaxOrdinals). Further connections share them evenly.
//   - A TCP connection uses the lowest number whose port is free (socket_shim.cc).
//
// The code does not allocate and does not depend on the C++ library. Thread safety: any number of
// threads may use a PlanFile that is not being read into.
#pragma once

#include <cstddef>
#include <cstdint>

namespace yardmaster::shim {

inline constexpr std::size_t kMaxPlanBytes = 256 * 1024;
inline constexpr int kMaxRails = 64;
inline constexpr int kMaxPeers = 2048;
inline constexpr int kMaxPorts = 12288;
// Maximum connection numbers of one peer; further ports are not used.
inline constexpr int kMaxOrdinals = 64;

// IPv4 is stored as ::ffff:a.b.c.d, as in RoCEv2's GIDs.
struct Address {
  std::uint8_t bytes[16] = {};
  bool operator==(const Address& other) const;
};

// Parses "10.0.0.9" or an IPv6 address.
bool ParseAddress(const char* text, Address* out);

enum class PlanFileState : std::uint8_t {
  kAbsent,  // no file, or an empty one
  // Not JSON, another version, an unknown rule, a value of a wrong kind or range, or too large.
  kUnreadable,
  kReady,
};

struct Rail {
  bool has_address = false;
  Address address;       // address of the pod's own NIC
  char device[40] = {};  // "mlx5_0" or "mlx5_0/1"; empty: any
};

struct Peer {
  Address address;
  std::uint16_t rail = 0;
  std::int16_t plane = 0;
  std::uint16_t first_port = 0;  // index into ports and alternates
  std::uint16_t ports = 0;
  bool tcp = false;  // for TCP connections to listen_port (0: to any); else for RoCEv2
  std::uint16_t listen_port = 0;
};

// Initially all zero, so that a static one takes no space in the binary.
struct PlanFile {
  PlanFileState state = PlanFileState::kAbsent;
  int traffic_class = 0;       // -1: none; valid if kReady
  std::int64_t expires_s = 0;  // 0: never
  int rails = 0;
  int peers = 0;
  int ports = 0;
  Rail rail[kMaxRails];
  Peer peer[kMaxPeers];
  std::uint16_t port[kMaxPorts];
  std::uint16_t alternate[kMaxPorts];  // 0: none
};

// Reads `text` into `plan`, which is overwritten. plan->state is the result; a plan that is not
// kReady has no peers.
void ReadPlan(const char* text, std::size_t size, PlanFile* plan);

struct Endpoint {
  Address local;
  Address remote;
  const char* device = "";  // of the local NIC
  int device_port = 0;
  bool tcp = false;
  std::uint16_t listen_port = 0;  // the remote one, for TCP
};

// The entries of a plan that an endpoint matches.
struct Match {
  static constexpr int kMaxEntries = 16;
  int entries = 0;
  std::uint16_t entry[kMaxEntries] = {};  // indices of peers
  int connections = 0;                    // ports in all entries, at most kMaxOrdinals
};

// Returns no entries if the peer is unknown, if entries of several rails match (which is
// ambiguous), or if more than Match::kMaxEntries match.
Match FindPeer(const PlanFile& plan, const Endpoint& endpoint);

struct PathPorts {
  std::uint16_t port = 0;
  std::uint16_t alternate = 0;
  int plane = 0;
};

// Returns the ports of the connection with number `ordinal`. REQUIRES: 0 <= ordinal <
// match.connections.
PathPorts PathAt(const PlanFile& plan, const Match& match, int ordinal);

// Returns the flow label with which a RoCEv2 NIC sends from `port`; 0: there is none. NICs compute
// the port as 0xC000 | ((label & 0x3FFF) ^ (label >> 14)), and treat a label of 0 as not set.
std::uint32_t FlowLabelOf(std::uint16_t port);

}  // namespace yardmaster::shim
