// Structured logging: one line an event, a message that never varies, and key=value pairs.
//
//   log.Info("gang planned", {{"gang", name}, {"hosts", 128}, {"ms", 3.2}});
//
// In JSON, one line:
//   {"ts":"2026-01-02T03:04:05.678Z","level":"info","msg":"gang planned",
//    "gang":"a","hosts":128,"ms":3.2}
// In text:
//   2026-01-02T03:04:05.678Z INFO gang planned gang=a hosts=128 ms=3.2
//
// A line stays one line for any value and JSON stays valid: in values, control characters are
// escaped and broken UTF-8 is replaced. The text format writes keys unchanged, and in a message
// only replaces control characters by spaces. A level that is off costs one comparison. Writing is
// synchronous: a line is flushed before the call returns. The logger is passed by reference; no
// global one exists.
// Thread safety: all methods from any thread; lines never mix. A copy writes to the same place.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/base/clock.h"
#include "pkg/metrics/log_field.h"

namespace yardmaster::metrics {

enum class LogLevel { kInfo, kWarn, kError };
enum class LogFormat { kJson, kText };

// "json", "text". InvalidArgument for anything else.
absl::StatusOr<LogFormat> ParseLogFormat(std::string_view text);

class Logger {
 public:
  struct Options {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kJson;
    // Where lines go; null: standard error. Must outlive the logger and its copies.
    std::ostream* out = nullptr;
  };

  // `clock` must outlive the logger and its copies.
  Logger(const Options& options, const Clock& clock);

  // A logger that adds `fields` to every line, after those that this logger adds.
  Logger With(LogFields fields) const;

  void Info(std::string_view message, LogFields fields = {}) const {
    if (enabled(LogLevel::kInfo)) Write(LogLevel::kInfo, message, fields);
  }
  void Warn(std::string_view message, LogFields fields = {}) const {
    if (enabled(LogLevel::kWarn)) Write(LogLevel::kWarn, message, fields);
  }
  void Error(std::string_view message, LogFields fields = {}) const {
    if (enabled(LogLevel::kError)) Write(LogLevel::kError, message, fields);
  }

 private:
  class Output;

  bool enabled(LogLevel level) const { return level >= level_; }
  void Write(LogLevel level, std::string_view message, LogFields fields) const;

  LogLevel level_;
  LogFormat format_;
  const Clock* clock_;
  std::shared_ptr<Output> output_;
  std::string bound_;  // the fields of With, as they stand in a line
};

}  // namespace yardmaster::metrics
