// Detects within seconds that a connection's peer is gone: a watch sends nothing, so without probes
// a cut network looks like a quiet cluster.
//
// An idle connection is probed after 5 s, and ends after about 10 s without an answer; so does one
// whose sent data is not acknowledged. A process that hangs while its kernel answers is not found.
// Thread safety: none; the caller owns the socket.
#pragma once

#include <optional>
#include <string>

namespace yardmaster::kube {

// Sets the options of a connected or new TCP socket. Errors are ignored: the deadlines of calls
// and watches hold without them.
void ProbePeer(int socket);

// AF_INET or AF_INET6: the family of the first address of `host`, to which a client connects first;
// nullopt if the name has none at present. Blocks for the name service.
std::optional<int> FirstAddressFamily(const std::string& host, int port);

}  // namespace yardmaster::kube
