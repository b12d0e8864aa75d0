// Texts that ForEachMemberText and ForEachElementText cut: for all bytes, pieces lie inside the
// text and in its order, and what JsonParser reads as an object or a list is cut into what it has.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "nlohmann/json.hpp"

#include "pkg/json/json_pieces.h"
#include "pkg/json/json_view.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

// Counts pieces, and checks where they are.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : text_(text), at_(text.data()) {}
  void Take(std::string_view piece) {
    if (piece.data() < at_ || piece.data() + piece.size() > text_.data() + text_.size())
      std::abort();
    at_ = piece.data() + piece.size();
  }
  void TakeValue(std::string_view value) {
    Take(value);
    ++count_;
    JsonParser parser;
    all_are_json_ &= parser.Parse(value).ok();
  }
  std::size_t count() const { return count_; }
  bool all_are_json() const { return all_are_json_; }

 private:
  const std::string_view text_;
  const char* at_;
  std::size_t count_ = 0;
  bool all_are_json_ = true;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Pieces members(text), elements(text);
  const bool is_object = ForEachMemberText(text, [&](std::string_view key, std::string_view value) {
    members.Take(key);
    members.TakeValue(value);
  });
  const bool is_list =
      ForEachElementText(text, [&](std::string_view value) { elements.TakeValue(value); });
  JsonParser parser;
  const auto parsed = parser.Parse(text);
  if (!parsed.ok()) return 0;
  if (parsed->is_object() != is_object || parsed->is_array() != is_list) std::abort();
  if (is_object && (members.count() != parsed->size() || !members.all_are_json())) std::abort();
  if (is_list && (elements.count() != parsed->size() || !elements.all_are_json())) std::abort();
  (void)parsed->ToJson().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  (void)parsed->IsDeeperThan(100);
  return 0;
}
