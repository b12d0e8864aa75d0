#include "pkg/api/status_text.h"

#include "pkg/base/strings.h"

namespace yardmaster::api {

std::string CutStatusText(std::string text) {
  text.resize(CutAtCharacter(text, kMaxStatusTextBytes).size());
  return text;
}

}  // namespace yardmaster::api
