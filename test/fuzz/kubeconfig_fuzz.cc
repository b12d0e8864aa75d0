// Kubeconfig files: whatever the bytes, loading ends in an error or in a configuration that passes
// its own check. No file that an input names holds a secret here, and no plugin is run by loading.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "pkg/config/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace yardmaster;  // NOLINT: a program of one function
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("ym-kubeconfig-" + std::to_string(getpid())))
          .string();
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  config::ClientConfigRequest request;
  request.kubeconfig = path;
  const auto loaded = config::LoadClientConfig(request, {});
  if (loaded.ok() && !kube::ValidateClientConfig(*loaded).ok()) std::abort();
  if (!loaded.ok() && loaded.status().message().empty()) std::abort();
  return 0;
}
