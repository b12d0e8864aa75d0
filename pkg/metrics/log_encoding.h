// How log values stand in a line. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "pkg/metrics/log_field.h"

namespace yardmaster::metrics {

// Appends `text` as a JSON string, quotes included; broken UTF-8 becomes U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);

// Appends `,"key":value`. A number that is not finite is written as a string.
void AppendJsonField(std::string& out, const LogField& field);

// Appends ` key=value`. A text is written as a JSON string if it is empty or holds a space, a
// quote, '=', a backslash, a control character or a byte outside of ASCII; so is a number that is
// not finite. The key is not escaped.
void AppendTextField(std::string& out, const LogField& field);

}  // namespace yardmaster::metrics
