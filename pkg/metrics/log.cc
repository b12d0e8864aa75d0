#include "pkg/metrics/log.h"

#include <algorithm>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/metrics/log_encoding.h"

namespace yardmaster::metrics {
namespace {

std::string_view NameOf(LogLevel level) {
  static constexpr std::string_view kNames[] = {"info", "warn", "error"};
  return kNames[static_cast<std::size_t>(level)];
}

// "2026-01-02T03:04:05.678Z".
std::string Timestamp(std::int64_t wall_ms) {
  std::string text = FormatTime(wall_ms);
  std::string milliseconds = StrCat((wall_ms % 1000 + 1000) % 1000);
  milliseconds.insert(0, 3 - milliseconds.size(), '0');
  text.insert(text.size() - 1, "." + milliseconds);
  return text;
}

std::string JsonLine(std::string_view ts, LogLevel level, std::string_view message) {
  std::string line = StrCat("{\"ts\":\"", ts, "\",\"level\":\"", NameOf(level), "\",\"msg\":");
  AppendJsonString(line, message);
  return line;
}

std::string TextLine(std::string_view ts, LogLevel level, std::string_view message) {
  std::string name(NameOf(level));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  std::string line = StrCat(ts, " ", name, " ");
  for (const char c : message) line.push_back(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
  return line;
}

}  // namespace

absl::StatusOr<LogFormat> ParseLogFormat(std::string_view text) {
  if (text == "json") return LogFormat::kJson;
  if (text == "text") return LogFormat::kText;
  return FieldError("log format", StrCat("'", text, "' is unknown"), "use json or text");
}

// One line at a time, written and flushed before the call returns.
class Logger::Output {
 public:
  explicit Output(std::ostream* out)
      : logger_("yardmaster", out == nullptr ? StandardError() : Stream(*out)) {
    logger_.set_level(spdlog::level::trace);
    logger_.set_pattern("%v");
    logger_.flush_on(spdlog::level::trace);
  }

  void Write(std::string_view line) {
    logger_.log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
  }

 private:
  static spdlog::sink_ptr StandardError() {
    return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }
  static spdlog::sink_ptr Stream(std::ostream& out) {
    return std::make_shared<spdlog::sinks::ostream_sink_mt>(out);
  }

  spdlog::logger logger_;
};

Logger::Logger(const Options& options, const Clock& clock)
    : level_(options.level),
      format_(options.format),
      clock_(&clock),
      output_(std::make_shared<Output>(options.out)) {}

Logger Logger::With(LogFields fields) const {
  Logger bound = *this;
  for (const LogField& field : fields) {
    format_ == LogFormat::kJson ? AppendJsonField(bound.bound_, field)
                                : AppendTextField(bound.bound_, field);
  }
  return bound;
}

void Logger::Write(LogLevel level, std::string_view message, LogFields fields) const {
  const std::string ts = Timestamp(clock_->WallMs());
  const bool json = format_ == LogFormat::kJson;
  std::string line = json ? JsonLine(ts, level, message) : TextLine(ts, level, message);
  line += bound_;
  for (const LogField& field : fields) {
    json ? AppendJsonField(line, field) : AppendTextField(line, field);
  }
  if (json) line.push_back('}');
  output_->Write(line);
}

}  // namespace yardmaster::metrics
