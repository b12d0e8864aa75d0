#include "pkg/shim/plan.h"

#include <arpa/inet.h>
#include <cstring>

#include "pkg/shim/json_cursor.h"

namespace yardmaster::shim {

namespace {

constexpr char kRule[] = "least-used";

// Days since 1970-01-01 of a date in the Gregorian calendar.
std::int64_t DaysOf(std::int64_t year, int month, int day) {
  const int days_before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  const std::int64_t y = year - 1 - (month > 2 ? -1 : 0);  // leap days up to this date
  const std::int64_t leaps = y / 4 - y / 100 + y / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
  return (year - 1970) * 365 + leaps + days_before[month - 1] + day - 1;
}

int Digits(const char* text, int count) {
  int value = 0;
  for (int i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

// "2026-01-02T03:04:05Z" to seconds since 1970; -1 when it is none.
std::int64_t SecondsOf(const char* text) {
  const char separators[] = "    -  -  T  :  :  Z";
  if (std::strlen(text) != 20) return -1;
  for (int i = 0; i < 20; ++i) {
    if (separators[i] != ' ' && separators[i] != text[i]) return -1;
  }
  const int year = Digits(text, 4), month = Digits(text + 5, 2), day = Digits(text + 8, 2);
  const int hour = Digits(text + 11, 2), minute = Digits(text + 14, 2);
  const int second = Digits(text + 17, 2);
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31) return -1;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return -1;
  return DaysOf(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
}

// Reads the members of a plan into it. Every function returns false when the plan is not usable.
class PlanReader {
 public:
  PlanReader(const char* text, std::size_t size, PlanFile* plan) : in_(text, size), plan_(*plan) {}

  bool Read() {
    char key[24];
    std::int64_t version = -1;
    if (!in_.EnterObject()) return false;
    while (in_.NextKey(key, sizeof key)) {
      bool usable = true;
      if (std::strcmp(key, "version") == 0) {
        usable = in_.Integer(&version) && version == 1;
      } else if (std::strcmp(key, "ordinals") == 0) {
        char rule[24];
        usable = in_.String(rule, sizeof rule) && std::strcmp(rule, kRule) == 0;
      } else if (std::strcmp(key, "trafficClass") == 0) {
        usable = Small(255, &plan_.traffic_class);
      } else if (std::strcmp(key, "expires") == 0) {
        char time[24];
        usable = in_.String(time, sizeof time) && (plan_.expires_s = SecondsOf(time)) >= 0;
      } else if (std::strcmp(key, "rails") == 0) {
        usable = ReadRails();
      } else {
        in_.Skip();
      }
      if (!usable) return false;
    }
    return in_.ok() && in_.AtEnd() && version == 1;
  }

 private:
  bool Small(int max, int* out) {
    std::int64_t value = 0;
    if (!in_.Integer(&value) || value < 0 || value > max) return false;
    *out = static_cast<int>(value);
    return true;
  }

  bool ReadAddress(Address* out) {
    char text[48];
    return in_.String(text, sizeof text) && ParseAddress(text, out);
  }

  bool ReadRails() {
    if (!in_.EnterArray()) return false;
    while (in_.NextElement()) {
      if (plan_.rails == kMaxRails || !ReadRail(plan_.rail[plan_.rails])) return false;
      ++plan_.rails;
    }
    return in_.ok();
  }

  bool ReadRail(Rail& rail) {
    char key[24];
    rail = Rail();
    if (!in_.EnterObject()) return false;
    while (in_.NextKey(key, sizeof key)) {
      bool usable = true;
      if (std::strcmp(key, "address") == 0) {
        usable = rail.has_address = ReadAddress(&rail.address);
      } else if (std::strcmp(key, "device") == 0) {
        usable = in_.String(rail.device, sizeof rail.device);
      } else if (std::strcmp(key, "peers") == 0) {
        usable = ReadPeers();
      } else {
        in_.Skip();
      }
      if (!usable) return false;
    }
    return in_.ok();
  }

  bool ReadPeers() {
    if (!in_.EnterArray()) return false;
    while (in_.NextElement()) {
      if (!ReadPeer()) return false;
    }
    return in_.ok();
  }

  bool ReadPeer() {
    char key[24];
    Peer roce;
    roce.rail = static_cast<std::uint16_t>(plan_.rails);
    const int first_tcp = plan_.peers;
    bool has_address = false;
    int plane = 0;
    if (!in_.EnterObject()) return false;
    while (in_.NextKey(key, sizeof key)) {
      bool usable = true;
      if (std::strcmp(key, "address") == 0) {
        usable = has_address = ReadAddress(&roce.address);
      } else if (std::strcmp(key, "plane") == 0) {
        usable = Small(63, &plane);
      } else if (std::strcmp(key, "sourcePorts") == 0) {
        usable = roce.ports == 0 && ReadPorts(roce);
      } else if (std::strcmp(key, "alternatePorts") == 0) {
        usable = alternates_ == 0 && ReadAlternates();
      } else if (std::strcmp(key, "tcp") == 0) {
        usable = ReadTcp();
      } else {
        in_.Skip();
      }
      if (!usable) return false;
    }
    roce.plane = static_cast<std::int16_t>(plane);
    const int alternates = alternates_;
    alternates_ = 0;
    if (!in_.ok() || !has_address || (alternates != 0 && alternates != roce.ports)) return false;
    for (int i = 0; i < alternates; ++i) {
      plan_.alternate[roce.first_port + i] = scratch_[i];
    }
    for (int i = first_tcp; i < plan_.peers; ++i) {
      plan_.peer[i].address = roce.address;
      plan_.peer[i].rail = roce.rail;
      plan_.peer[i].plane = roce.plane;
    }
    return roce.ports == 0 || Add(roce);
  }

  bool Add(const Peer& peer) {
    if (plan_.peers == kMaxPeers) return false;
    plan_.peer[plan_.peers++] = peer;
    return true;
  }

  bool ReadPorts(Peer& peer) {
    peer.first_port = static_cast<std::uint16_t>(plan_.ports);
    if (!in_.EnterArray()) return false;
    while (in_.NextElement()) {
      int port = 0;
      if (plan_.ports == kMaxPorts || !Small(65535, &port) || port == 0) return false;
      plan_.alternate[plan_.ports] = 0;
      plan_.port[plan_.ports++] = static_cast<std::uint16_t>(port);
      ++peer.ports;
    }
    return in_.ok();
  }

  bool ReadAlternates() {
    if (!in_.EnterArray()) return false;
    while (in_.NextElement()) {
      int port = 0;
      if (alternates_ == kMaxScratch || !Small(65535, &port)) return false;
      scratch_[alternates_++] = static_cast<std::uint16_t>(port);
    }
    return in_.ok();
  }

  bool ReadTcp() {
    if (!in_.EnterArray()) return false;
    while (in_.NextElement()) {
      char key[24];
      Peer peer;
      peer.tcp = true;
      if (!in_.EnterObject()) return false;
      while (in_.NextKey(key, sizeof key)) {
        bool usable = true;
        if (std::strcmp(key, "listenPort") == 0) {
          int port = 0;
          usable = Small(65535, &port);
          peer.listen_port = static_cast<std::uint16_t>(port);
        } else if (std::strcmp(key, "sourcePorts") == 0) {
          usable = peer.ports == 0 && ReadPorts(peer);
        } else {
          in_.Skip();
        }
        if (!usable) return false;
      }
      if (!in_.ok() || (peer.ports > 0 && !Add(peer))) return false;
    }
    return in_.ok();
  }

  static constexpr int kMaxScratch = 1024;
  JsonCursor in_;
  PlanFile& plan_;
  std::uint16_t scratch_[kMaxScratch] = {};
  int alternates_ = 0;
};

bool DeviceMatches(const char* wanted, const char* device, int port) {
  if (wanted[0] == '\0') return true;
  const std::size_t size = std::strlen(device);
  if (std::strncmp(wanted, device, size) != 0) return false;
  if (wanted[size] == '\0') return true;
  if (wanted[size] != '/') return false;
  int named = 0;
  for (const char* at = wanted + size + 1; *at != '\0'; ++at) {
    if (*at < '0' || *at > '9' || named > 255) return false;
    named = named * 10 + (*at - '0');
  }
  return named == port;
}

}  // namespace

bool Address::operator==(const Address& other) const {
  return std::memcmp(bytes, other.bytes, sizeof bytes) == 0;
}

bool ParseAddress(const char* text, Address* out) {
  if (inet_pton(AF_INET6, text, out->bytes) == 1) return true;
  *out = Address();
  out->bytes[10] = out->bytes[11] = 0xff;
  return inet_pton(AF_INET, text, out->bytes + 12) == 1;
}

void ReadPlan(const char* text, std::size_t size, PlanFile* plan) {
  plan->state = PlanFileState::kAbsent;
  plan->traffic_class = -1;
  plan->expires_s = 0;
  plan->rails = plan->peers = plan->ports = 0;
  bool blank = true;
  for (std::size_t i = 0; i < size && blank; ++i) blank = text[i] == '\n' || text[i] == ' ';
  if (blank) return;
  if (size <= kMaxPlanBytes && PlanReader(text, size, plan).Read()) {
    plan->state = PlanFileState::kReady;
    return;
  }
  plan->state = PlanFileState::kUnreadable;
  plan->traffic_class = -1;
  plan->rails = plan->peers = plan->ports = 0;
}

Match FindPeer(const PlanFile& plan, const Endpoint& endpoint) {
  Match match;
  int ports = 0;
  for (int i = 0; i < plan.peers; ++i) {
    const Peer& peer = plan.peer[i];
    if (!(peer.address == endpoint.remote)) continue;
    const Rail& rail = plan.rail[peer.rail];
    if (peer.tcp != endpoint.tcp) continue;
    if (peer.tcp) {
      if (peer.listen_port != endpoint.listen_port && peer.listen_port != 0) continue;
    } else {
      if (rail.has_address && !(rail.address == endpoint.local)) continue;
      if (!DeviceMatches(rail.device, endpoint.device, endpoint.device_port)) continue;
    }
    const bool other_rail = match.entries > 0 && plan.peer[match.entry[0]].rail != peer.rail;
    if (other_rail || match.entries == Match::kMaxEntries) return {};
    match.entry[match.entries++] = static_cast<std::uint16_t>(i);
    ports += peer.ports;
  }
  match.connections = ports < kMaxOrdinals ? ports : kMaxOrdinals;
  return match;
}

PathPorts PathAt(const PlanFile& plan, const Match& match, int ordinal) {
  for (int round = 0; ordinal >= 0; ++round) {
    bool any = false;
    for (int i = 0; i < match.entries; ++i) {
      const Peer& peer = plan.peer[match.entry[i]];
      if (round >= peer.ports) continue;
      any = true;
      if (ordinal-- > 0) continue;
      const int at = peer.first_port + round;
      return {plan.port[at], plan.alternate[at], peer.plane};
    }
    if (!any) break;
  }
  return {};
}

std::uint32_t FlowLabelOf(std::uint16_t port) { return port > 0xC000 ? port & 0x3FFFU : 0; }

}  // namespace yardmaster::shim
