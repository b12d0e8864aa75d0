#include "pkg/api/status_text.h"

namespace yardmaster::api {

std::string CutStatusText(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

}  // namespace yardmaster::api
