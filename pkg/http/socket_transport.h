// A ConnectionTransport over a connected socket, with or without TLS. Thread safety: see
// connection_transport.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pkg/base/unique_fd.h"
#include "pkg/http/connection_transport.h"
#include "pkg/http/event_loop.h"
#include "pkg/http/tls_context.h"

namespace yardmaster::http {

// Runs a task elsewhere, later or never.
using RunTask = std::function<void(std::function<void()>)>;

// `fd` is a connected stream socket of IPv4 or IPv6. `session` null = plain; else the steps of its
// handshake are run by `run_handshake`. Null when the kernel cannot watch one more descriptor.
std::shared_ptr<ConnectionTransport> MakeSocketTransport(std::shared_ptr<EventLoop> loop,
                                                         UniqueFd fd, bool ipv6, std::string remote,
                                                         std::unique_ptr<TlsSession> session,
                                                         RunTask run_handshake);

}  // namespace yardmaster::http
