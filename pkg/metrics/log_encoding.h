// How log values stand in a line. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "pkg/metrics/log_field.h"

namespace yardmaster::metrics {

// Appends `text` as a JSON string, quotes included; broken UTF-8 becomes U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);

// Appends `,"key":value`.
void AppendJsonField(std::string& out, const LogField& field);

// Appends ` key=value`; text with spaces, quotes or control characters stands as a JSON string.
void AppendTextField(std::string& out, const LogField& field);

}  // namespace yardmaster::metrics
