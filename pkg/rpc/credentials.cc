#include "pkg/rpc/credentials.h"

#include <fstream>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sstream>

#include "pkg/base/ip_address.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::rpc {

namespace {

absl::StatusOr<std::string> ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!(text << file.rdbuf())) {
    return absl::FailedPreconditionError(StrCat(path, ": cannot be read"));
  }
  return text.str();
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> ServerCredentialsOf(const TlsFiles& tls,
                                                             unsigned reload_seconds) {
  if (tls.empty()) return grpc::InsecureServerCredentials();
  auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      tls.key, tls.certificate, tls.authority, reload_seconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentialsOf(
    const TlsFiles& tls) {
  if (tls.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  YM_ASSIGN_OR_RETURN(options.pem_root_certs, ReadAll(tls.authority));
  YM_ASSIGN_OR_RETURN(options.pem_cert_chain, ReadAll(tls.certificate));
  YM_ASSIGN_OR_RETURN(options.pem_private_key, ReadAll(tls.key));
  return grpc::SslCredentials(options);
}

std::string ListeningAddress(std::string_view address) {
  return StrCat(!address.empty() && address.front() == ':' ? "[::]" : "", address);
}

bool IsLoopback(std::string_view address) {
  const std::string_view host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  // A name that begins like an address may be anybody's.
  const absl::StatusOr<IpAddress> parsed = IpAddress::Parse(host);
  return parsed.ok() && !parsed->v6 && parsed->bytes[0] == 127;
}

}  // namespace yardmaster::rpc
