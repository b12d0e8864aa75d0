// What this program is: its version, and the commit that it was built from. Every build gives both
// to version.cc, out of its environment (cmake/version_values.cmake). Only `hack/release` and
// `hack/image` name a commit: a build of a working tree cannot know whether its files are those of
// a commit.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace yardmaster {

// For example 0.1.0; of a program built from a commit without a tag, 0.1.0-dev.g808981c04d12.
std::string_view Version();

// What --version prints: 0.1.0 (commit 808981c04d12, linux/amd64), or without a commit 0.1.0
// (development build, linux/amd64).
std::string VersionText();

// Of these values. Of the commit the first 12 digits are printed.
std::string VersionTextOf(std::string_view version, std::string_view commit,
                          std::string_view platform);

}  // namespace yardmaster
