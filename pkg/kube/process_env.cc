#include "pkg/kube/process_env.h"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace yardmaster::kube {
namespace {

constexpr const char* kFileVariable = "SSL_CERT_FILE";
constexpr const char* kDirVariable = "SSL_CERT_DIR";
// The values before the change, for children. The environment is the one place that needs no
// global of ours.
constexpr const char* kSavedFile = "YARDMASTER_SAVED_SSL_CERT_FILE";
constexpr const char* kSavedDir = "YARDMASTER_SAVED_SSL_CERT_DIR";
constexpr const char* kEmptyFile = "/dev/null";
constexpr const char* kNoDir = "/nonexistent";

std::string Value(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

void Replace(const char* variable, const char* saved, const char* value) {
  setenv(saved, Value(variable).c_str(), 1);
  setenv(variable, value, 1);
}

}  // namespace

void UseEmptyCertificateBundle() {
  if (Value(kDirVariable) == kNoDir && Value(kFileVariable) == kEmptyFile) return;
  Replace(kFileVariable, kSavedFile, kEmptyFile);
  Replace(kDirVariable, kSavedDir, kNoDir);
}

std::vector<std::string> ChildEnvironment() {
  std::vector<std::string> env;
  std::string file;
  std::string dir;
  bool prepared = false;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const std::string value(text.substr(std::min(name.size() + 1, text.size())));
    if (name == kSavedFile) {
      prepared = true;
      file = value;
    } else if (name == kSavedDir) {
      prepared = true;
      dir = value;
    } else if (name != kFileVariable && name != kDirVariable) {
      env.emplace_back(text);
    }
  }
  if (!prepared) {
    file = Value(kFileVariable);
    dir = Value(kDirVariable);
  }
  if (!file.empty()) env.push_back(std::string(kFileVariable) + "=" + file);
  if (!dir.empty()) env.push_back(std::string(kDirVariable) + "=" + dir);
  return env;
}

std::string SystemCertificatesPath() {
  std::string chosen = Value(kSavedFile);
  if (chosen.empty() && Value(kFileVariable) != kEmptyFile) chosen = Value(kFileVariable);
  if (!chosen.empty()) return chosen;
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (access(path, R_OK) == 0) return path;
  }
  return "";
}

}  // namespace yardmaster::kube
