// The files of one side of a mutual TLS connection. Thread safety: a value.
#pragma once

#include <string>

namespace yardmaster::rpc {

// Paths of PEM files; they are read again when they change, so replace them atomically.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string authority;  // of the other side's certificate
  bool empty() const { return certificate.empty() && key.empty() && authority.empty(); }
  bool complete() const { return !certificate.empty() && !key.empty() && !authority.empty(); }
};

}  // namespace yardmaster::rpc
