#include "pkg/api/status_text.h"

namespace yardmaster::api {

std::string CutStatusText(std::string text) {
  if (text.size() <= kMaxStatusTextBytes) return text;
  std::size_t end = kMaxStatusTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

}  // namespace yardmaster::api
