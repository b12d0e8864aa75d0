// gRPC's credentials from files. Only the sources of this folder include it. Thread safety: pure
// functions.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/rpc/tls_files.h"

namespace yardmaster::rpc {

// Asks for a certificate of the authority. Looks at the files every `reload_seconds`. Without
// files: no TLS.
std::shared_ptr<grpc::ServerCredentials> ServerCredentialsOf(const TlsFiles& tls,
                                                             unsigned reload_seconds);
// Whether only programs of this host reach "host:port".
bool IsLoopback(std::string_view address);
// As gRPC has it: ":9443" becomes "[::]:9443", by which it listens on both families, or on the one
// that the host has.
std::string ListeningAddress(std::string_view address);
// What the files hold now. Without files: no TLS. Errors: FailedPrecondition when one cannot be
// read.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentialsOf(const TlsFiles& tls);

}  // namespace yardmaster::rpc
