#include "pkg/base/version.h"

#include "pkg/base/strings.h"
#include "version_values.h"  // which the build writes

namespace yardmaster {

namespace {

constexpr std::size_t kCommitDigits = 12;

#if defined(__x86_64__)
constexpr std::string_view kPlatform = "linux/amd64";
#elif defined(__aarch64__)
constexpr std::string_view kPlatform = "linux/arm64";
#else
constexpr std::string_view kPlatform = "linux";
#endif

}  // namespace

std::string_view Version() { return YARDMASTER_VERSION; }

std::string VersionText() {
  return VersionTextOf(YARDMASTER_VERSION, YARDMASTER_COMMIT, kPlatform);
}

std::string VersionTextOf(std::string_view version, std::string_view commit,
                          std::string_view platform) {
  const std::string build = commit.empty() ? std::string("development build")
                                           : StrCat("commit ", commit.substr(0, kCommitDigits));
  return StrCat(version, " (", build, ", ", platform, ")");
}

}  // namespace yardmaster
