// A pod's path plan in fixed memory, and the rule by which a connection finds its port in it.
//
// The text is the annotation yardmaster.dev/path-plan (pkg/api/pod_path_plan.h) or the agent's plan
// file; both have the same rails. Fields that are not known are ignored.
//
// The rule "least-used": the ports of all entries with the peer's address on one rail are numbered
// in turn, the first port of each entry, then the second of each, and so on. A new RoCEv2
// connection takes the number with the fewest live connections, the lowest of them
// (queue_pair_table.h). So n connections take n different ports as long as there are n (at most
// kMaxOrdinals); further ones share, evenly. A TCP connection takes the lowest number whose port is
// free (socket_shim.cc).
//
// No allocation, no dependency on the C++ library. Thread safety: a PlanFile that is not being read
// into may be read by any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace yardmaster::shim {

inline constexpr std::size_t kMaxPlanBytes = 256 * 1024;
inline constexpr int kMaxRails = 64;
inline constexpr int kMaxPeers = 2048;
inline constexpr int kMaxPorts = 12288;
// Connection numbers of one peer; ports beyond are not used.
inline constexpr int kMaxOrdinals = 64;

// IPv4 as ::ffff:a.b.c.d, as RoCEv2's GIDs have it.
struct Address {
  std::uint8_t bytes[16] = {};
  bool operator==(const Address& other) const;
};

// "10.0.0.9" or an IPv6 address.
bool ParseAddress(const char* text, Address* out);

enum class PlanFileState : std::uint8_t {
  kAbsent,  // no file, or an empty one
  // Not JSON, another version, an unknown rule, a value of another kind or range, or more than
  // fits.
  kUnreadable,
  kReady,
};

struct Rail {
  bool has_address = false;
  Address address;       // of the pod's own NIC
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

// Its initial value is all zero, so that a static one takes no space in the file.
struct PlanFile {
  PlanFileState state = PlanFileState::kAbsent;
  int traffic_class = 0;       // -1: none; holds when kReady
  std::int64_t expires_s = 0;  // 0: never
  int rails = 0;
  int peers = 0;
  int ports = 0;
  Rail rail[kMaxRails];
  Peer peer[kMaxPeers];
  std::uint16_t port[kMaxPorts];
  std::uint16_t alternate[kMaxPorts];  // 0: none
};

// Reads `text` into `plan`, which is overwritten. The state says how it went; a plan that is not
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

// No entries when the peer is unknown, when entries of several rails match (it is ambiguous which
// one is meant), or when more than Match::kMaxEntries match.
Match FindPeer(const PlanFile& plan, const Endpoint& endpoint);

struct PathPorts {
  std::uint16_t port = 0;
  std::uint16_t alternate = 0;
  int plane = 0;
};

// The ports of the connection with number `ordinal`. REQUIRES: 0 <= ordinal < match.connections.
PathPorts PathAt(const PlanFile& plan, const Match& match, int ordinal);

// The flow label that makes a RoCEv2 NIC send from `port`; 0: none does. NICs compute the port as
// 0xC000 | ((label & 0x3FFF) ^ (label >> 14)), and take a label of 0 as "none given".
std::uint32_t FlowLabelOf(std::uint16_t port);

}  // namespace yardmaster::shim
