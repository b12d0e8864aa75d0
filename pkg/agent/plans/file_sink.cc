#include "pkg/agent/plans/file_sink.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kHalfWritten = ".tmp";

absl::Status Failed(std::string_view what, const std::string& path, int error) {
  return absl::FailedPreconditionError(
      StrCat("cannot ", what, " ", path, ": ", std::generic_category().message(error)));
}

// One path segment, as Kubernetes names are: no slash, not "." or "..", nothing hidden.
bool SafeName(std::string_view name) {
  if (name.empty() || name.size() > 253 || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

absl::Status CheckId(const PlanFileId& id) {
  if (SafeName(id.node) && SafeName(id.pod_uid)) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("pod uid \"", id.pod_uid, "\" on node \"", id.node,
                                           "\" cannot be the name of a file"));
}

absl::Status WriteAll(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Failed("write", path, n < 0 ? errno : ENOSPC);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return absl::OkStatus();
}

// A new file of that name in the folder; what stood there, a link for example, is removed and not
// followed.
absl::Status WriteSynced(int folder, const std::string& name, std::string_view text,
                         const std::string& path) {
  ::unlinkat(folder, name.c_str(), 0);
  const UniqueFd file(
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (file.get() < 0) return Failed("create", path, errno);
  // A narrow umask must not keep readers out.
  if (::fchmod(file.get(), 0644) != 0) return Failed("set the mode of", path, errno);
  YM_RETURN_IF_ERROR(WriteAll(file.get(), text, path));
  if (::fsync(file.get()) != 0) return Failed("sync", path, errno);
  return absl::OkStatus();
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Failed("make the folder", path, error.value());
  return absl::OkStatus();
}

}  // namespace

absl::Status FileSink::Prepare() const { return MakeFolder(dir_); }

std::string FileSink::FolderOf(const std::string& node) const {
  return folders_ == FolderPerNode::kYes ? StrCat(dir_, "/", node) : dir_;
}

std::string FileSink::PathOf(const PlanFileId& id) const {
  return StrCat(FolderOf(id.node), "/", id.pod_uid, kSuffix);
}

// Without a descriptor: errno says why. A link in the place of a node's folder is not followed.
UniqueFd FileSink::OpenFolder(const std::string& node) const {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  UniqueFd folder(::open(dir_.c_str(), kFlags));
  if (folder.get() < 0 || folders_ == FolderPerNode::kNo) return folder;
  return UniqueFd(::openat(folder.get(), node.c_str(), kFlags | O_NOFOLLOW));
}

absl::Status FileSink::Write(const PlanFileId& id, const std::string& text) {
  YM_RETURN_IF_ERROR(CheckId(id));
  YM_RETURN_IF_ERROR(MakeFolder(FolderOf(id.node)));
  const UniqueFd folder = OpenFolder(id.node);
  if (folder.get() < 0) return Failed("open", FolderOf(id.node), errno);
  const std::string path = PathOf(id);
  const std::string name = StrCat(id.pod_uid, kSuffix);
  const std::string half = StrCat(".", id.pod_uid, kHalfWritten);
  absl::Status written = WriteSynced(folder.get(), half, text, path);
  if (written.ok() && ::renameat(folder.get(), half.c_str(), folder.get(), name.c_str()) != 0) {
    written = Failed("rename to", path, errno);
  }
  if (written.ok() && ::fsync(folder.get()) != 0) written = Failed("sync", path, errno);
  if (!written.ok()) ::unlinkat(folder.get(), half.c_str(), 0);
  return written;
}

absl::Status FileSink::Remove(const PlanFileId& id) {
  YM_RETURN_IF_ERROR(CheckId(id));
  const UniqueFd folder = OpenFolder(id.node);
  const std::string name = StrCat(id.pod_uid, kSuffix);
  if ((folder.get() < 0 || ::unlinkat(folder.get(), name.c_str(), 0) != 0) && errno != ENOENT) {
    return Failed("remove", PathOf(id), errno);
  }
  return absl::OkStatus();
}

absl::Status FileSink::ListFolder(const std::string& node, std::vector<PlanFileId>& out) const {
  const std::string folder = FolderOf(node);
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    if (name.front() == '.' && it->path().extension() == kHalfWritten) {
      fs::remove(it->path(), ignored);
    } else if (SafeName(name) && it->path().extension() == kSuffix) {
      out.push_back({node, it->path().stem().string()});
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return Failed("list", folder, error.value());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PlanFileId>> FileSink::List() {
  std::vector<PlanFileId> files;
  if (folders_ == FolderPerNode::kNo) {
    YM_RETURN_IF_ERROR(ListFolder(node_, files));
  } else {
    std::error_code error;
    for (fs::directory_iterator it(dir_, error), end; !error && it != end; it.increment(error)) {
      const std::string node = it->path().filename().string();
      std::error_code ignored;
      if (!it->is_symlink(ignored) && it->is_directory(ignored) && SafeName(node)) {
        YM_RETURN_IF_ERROR(ListFolder(node, files));
      }
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      return Failed("list", dir_, error.value());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace yardmaster::agent
