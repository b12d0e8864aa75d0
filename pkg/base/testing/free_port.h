// A TCP port of loopback for a server that a test starts. Thread safety: pure functions, but for
// the counter.
//
// The kernel takes the ports of outgoing connections from net.ipv4.ip_local_port_range, so a port
// of that range which is free now may be taken when the server starts, or starts again. This one
// lies in the 768 ports below the range. test/ports does the same for scripts; tests and scripts of
// a user share one counter, so that two that run at the same time get different ports. (The control
// plane's starter has the ports from 10000 to 31999, controlplane/ports.go.)
#pragma once

#include <array>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <string>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pkg/base/strings.h"
#include "pkg/base/unique_fd.h"

namespace yardmaster {

// The first port of net.ipv4.ip_local_port_range; 32768, the kernel's default, where that cannot be
// read.
inline int FirstEphemeralPort() {
  int first = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first;
  return first > 0 ? first : 32'768;
}

// 0 if there is none.
inline int FreePort() {
  constexpr int kPorts = 768;
  const int first = FirstEphemeralPort() - kPorts;
  const UniqueFd counter(::open(StrCat("/tmp/yardmaster-ports.", ::getuid()).c_str(),
                                O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (::flock(counter.get(), LOCK_EX) != 0) return 0;
  std::array<char, 16> text{};
  const auto size = ::pread(counter.get(), text.data(), text.size(), 0);
  int drawn = ParseNumber<int>(std::string_view(text.data(), size > 0 ? size - 1 : 0)).value_or(0);
  for (int tries = 0; tries < kPorts; ++tries) {
    drawn = (drawn + 1) % kPorts;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<in_port_t>(first + drawn));
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      continue;
    }
    const std::string line = StrCat(drawn, "\n");
    if (::ftruncate(counter.get(), 0) != 0 ||
        ::pwrite(counter.get(), line.data(), line.size(), 0) < 0) {
      return 0;
    }
    return first + drawn;
  }
  return 0;
}

}  // namespace yardmaster
