// TlsFiles names the files of one side of a mutual TLS connection.
//
// Thread safety: a value.
#pragma once

#include <string>

namespace yardmaster::rpc {

// Paths of PEM files. Servers read them again every ten seconds, ReportStream at every attempt. So
// they must be replaced atomically.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string authority;  // CA of the other side's certificate
  bool empty() const { return certificate.empty() && key.empty() && authority.empty(); }
  bool complete() const { return !certificate.empty() && !key.empty() && !authority.empty(); }
};

}  // namespace yardmaster::rpc
