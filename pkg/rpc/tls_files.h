// The files of one side of a mutual TLS connection. Thread safety: a value.
#pragma once

#include <string>

namespace yardmaster::rpc {

// Paths of PEM files. The servers read them again every ten seconds, ReportStream at every try, so
// replace them atomically.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string authority;  // of the other side's certificate
  bool empty() const { return certificate.empty() && key.empty() && authority.empty(); }
  bool complete() const { return !certificate.empty() && !key.empty() && !authority.empty(); }
};

}  // namespace yardmaster::rpc
