#include "pkg/operator/pods/rendezvous_port.h"

#include <cstdint>

namespace yardmaster::op {

int ChooseHostPort(const std::string& uid, const std::set<int>& taken) {
  // FNV-1a: the same port in every process and version.
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;
  for (const char c : uid) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  }
  const int first = static_cast<int>(hash % kHostPorts);
  for (int i = 0; i < kHostPorts; ++i) {
    const int port = kFirstHostPort + (first + i) % kHostPorts;
    if (taken.count(port) == 0) return port;
  }
  return kFirstHostPort + first;
}

}  // namespace yardmaster::op
