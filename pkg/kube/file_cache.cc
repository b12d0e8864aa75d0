#include "pkg/kube/file_cache.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/stat.h>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::kube {
namespace {

constexpr std::int64_t kLookAgainMs = 60'000;
constexpr std::int64_t kMaxBytes = 1 << 20;

absl::Status FileError(const std::string& path, int error) {
  const std::string text = StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
  return absl::UnavailableError(text);
}

}  // namespace

absl::StatusOr<std::string> FileCache::Read() {
  struct stat info = {};
  if (stat(path_.c_str(), &info) != 0) {
    if (loaded_) return content_;
    return FileError(path_, errno);
  }
  const Stamp stamp{info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec, info.st_size,
                    info.st_ino};
  const std::int64_t now = clock_.SteadyMs();
  if (loaded_ && stamp == stamp_ && now - looked_ms_ < kLookAgainMs) return content_;
  const absl::Status loaded = Load(stamp);
  if (!loaded.ok() && !loaded_) return loaded;
  if (loaded.ok()) looked_ms_ = now;
  return content_;
}

absl::Status FileCache::Load(const Stamp& stamp) {
  if (stamp.size > kMaxBytes) {
    return absl::InvalidArgumentError(StrCat(path_, ": larger than ", kMaxBytes, " bytes"));
  }
  std::ifstream file(path_, std::ios::binary);
  if (!file) return FileError(path_, errno);
  std::string content;
  std::getline(file, content, '\0');  // of a folder the iterator of the stream's buffer would throw
  if (file.bad()) return FileError(path_, EIO);
  content_ = std::move(content);
  stamp_ = stamp;
  loaded_ = true;
  return absl::OkStatus();
}

}  // namespace yardmaster::kube
