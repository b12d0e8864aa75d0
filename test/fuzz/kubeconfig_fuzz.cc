// Kubeconfig files: for all bytes, loading ends in an error or in a configuration that passes
// its own check. Loading runs no plugin. The file lives in memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "pkg/config/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace yardmaster;  // NOLINT: a program of one function
  static const int file = memfd_create("kubeconfig", MFD_CLOEXEC);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  config::ClientConfigRequest request;
  request.kubeconfig = "/proc/self/fd/" + std::to_string(file);
  const auto loaded = config::LoadClientConfig(request, {});
  if (loaded.ok() && !kube::ValidateClientConfig(*loaded).ok()) std::abort();
  if (!loaded.ok() && loaded.status().message().empty()) std::abort();
  return 0;
}
