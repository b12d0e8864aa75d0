// Reads a text of another program: from a file, from http://, or from the output of a command. The
// length is limited in each case, and http and commands have a deadline, so that a hanging program
// does not block the caller.
//
//   - http is HTTP/1.0 without TLS and without redirects, for an exporter on the same node.
//   - A file may be replaced at any time (written aside, then renamed); only regular files are
//     read.
//   - A command runs without a shell and with only PATH in its environment; its words are separated
//     by blanks.
//
// Thread safety: functions without state; they block. The system's resolver resolves names in URLs,
// and its own time limits add to the deadline; addresses are not resolved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace yardmaster::agent {

struct TextLimits {
  std::int64_t timeout_ms = 5'000;
  std::size_t max_bytes = std::size_t{1} << 20;
};

// Errors: NotFound, InvalidArgument (not a regular file, or too long), Unavailable.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, const TextLimits& limits);

// The body of a 200. Errors: InvalidArgument (not such a URL, too long, or no HTTP),
// DeadlineExceeded, Unavailable (no connection, or another status).
absl::StatusOr<std::string> GetText(const std::string& url, const TextLimits& limits);

// Standard output of a command that ends with 0. Errors: as kube::RunProcess; Unavailable for
// another exit code.
absl::StatusOr<std::string> RunForText(const std::string& command, const TextLimits& limits);

// "http://..." is fetched; everything else is a file.
absl::StatusOr<std::string> ReadUrlOrFile(const std::string& source, const TextLimits& limits);

}  // namespace yardmaster::agent
