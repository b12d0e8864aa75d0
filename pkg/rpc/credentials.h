// Creates gRPC credentials from files. Only sources of this folder include this header.
//
// Thread safety: pure functions.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/rpc/tls_files.h"

namespace yardmaster::rpc {

// Returns credentials that require a client certificate of the authority. gRPC reads the files
// again every `reload_seconds`. Without files: no TLS.
std::shared_ptr<grpc::ServerCredentials> ServerCredentialsOf(const TlsFiles& tls,
                                                             unsigned reload_seconds);
// Whether only programs on this host can reach "host:port".
bool IsLoopback(std::string_view address);
// Converts an address for gRPC: ":9443" becomes "[::]:9443", which listens on IPv4 and IPv6, as far
// as the host has them.
std::string ListeningAddress(std::string_view address);
// Returns credentials from the present content of the files. Without files: no TLS. Errors:
// FailedPrecondition if a file cannot be read.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentialsOf(const TlsFiles& tls);

}  // namespace yardmaster::rpc
