#include "pkg/agent/plans/pod_volume.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

std::string ReadAtMost(int fd, std::size_t limit) {
  std::string text;
  char buffer[16384];
  while (text.size() < limit) {
    const ssize_t n = ::read(fd, buffer, std::min(sizeof buffer, limit - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

}  // namespace

bool IsFileName(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name.front() != '.' &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

absl::StatusOr<UniqueFd> OpenPodVolume(const std::string& kubelet_pods_folder,
                                       const std::string& pod_uid, const std::string& volume) {
  if (!IsFileName(pod_uid)) {
    return absl::InvalidArgumentError(StrCat("pod uid \"", pod_uid, "\" is not a folder name"));
  }
  // Kubelet's own folders down to the volume; what lies in it is the tenant's.
  const std::string path =
      StrCat(kubelet_pods_folder, "/", pod_uid, "/volumes/kubernetes.io~empty-dir/", volume);
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (folder.get() >= 0) return folder;
  const std::string reason = std::generic_category().message(errno);
  if (errno == ENOENT) return absl::NotFoundError(StrCat(path, ": ", reason));
  return absl::FailedPreconditionError(StrCat("cannot open ", path, ": ", reason));
}

std::optional<PodFile> ReadPodFile(const UniqueFd& volume, const std::string& name,
                                   std::size_t limit_bytes) {
  const UniqueFd file(
      ::openat(volume.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return std::nullopt;
  }
  return PodFile{ReadAtMost(file.get(), limit_bytes),
                 std::int64_t{1'000} * info.st_mtim.tv_sec + info.st_mtim.tv_nsec / 1'000'000};
}

}  // namespace yardmaster::agent
