// A file that another program replaces now and then (a token, a certificate), read again when it
// changes. A change is a new modification time, size or inode, and in any case a minute
// since the last look inside; projected volumes change by swapping a symbolic link, which this
// sees. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pkg/base/clock.h"

namespace yardmaster::kube {

class FileCache {
 public:
  // `clock` must outlive the cache.
  FileCache(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}

  // The present content. When the file cannot be read, the last good content; an error only if
  // there never was one. Errors: NotFound, PermissionDenied, InvalidArgument (larger than 1 MiB),
  // Unavailable (any other failure), with the path.
  absl::StatusOr<std::string> Read();
  // Makes the next Read read the file even if its modification time is unchanged.
  void Forget() { looked_ms_ = kNever; }
  const std::string& path() const { return path_; }

 private:
  static constexpr std::int64_t kNever = INT64_MIN / 2;
  struct Stamp {
    std::int64_t mtime_ns = 0;
    std::int64_t size = 0;
    std::uint64_t inode = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  absl::Status Load(const Stamp& stamp);

  const std::string path_;
  const Clock& clock_;
  std::int64_t looked_ms_ = kNever;
  Stamp stamp_;
  bool loaded_ = false;
  std::string content_;
};

}  // namespace yardmaster::kube
