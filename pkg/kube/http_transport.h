// The Transport over cpprestsdk's http_client, which is kept inside http_transport.cc and behind
// the precautions it needs:
//   - answers are pushed into a buffer of our own, bounded for bodies and lines, with back-pressure
//     to TCP for streams; a chunk of negative size, which would crash the library's buffers, is an
//     error;
//   - redirects are not followed (they would carry the bearer token to another host);
//   - unary calls and watches have clients and timeouts of their own;
//   - authorities and certificates come from Credentials per connection;
//   - nothing waits on the library's threads, and no exception leaves them.
// HTTP/1.1 only: every running Stream holds a connection.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

#include "pkg/kube/client_config.h"
#include "pkg/kube/credentials.h"
#include "pkg/kube/transport.h"

namespace yardmaster::kube {

// To be called once, first thing in main. REQUIRES: no other thread runs yet (it changes the
// environment).
//
// The HTTP library makes every new TLS connection load the system's certificate bundle, which
// costs more than the handshake and makes the public authorities trusted next to the cluster's own.
// This takes that away: connections trust what their ClientConfig says and nothing else (child
// processes get the old environment, see process_env.h). It also keeps the library's thread pool
// small. Calling it again does nothing.
void PrepareProcessForHttp();

// Errors: those of ValidateClientConfig. REQUIRES: PrepareProcessForHttp() has been called in main.
absl::StatusOr<std::unique_ptr<Transport>> MakeHttpTransport(
    const ClientConfig& config, std::shared_ptr<Credentials> credentials);

}  // namespace yardmaster::kube
