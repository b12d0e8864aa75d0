#include "pkg/config/json_text.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::config {
namespace {

using nlohmann::json;

// Builds the value in place. The names are the ones nlohmann asks for.
class ValueBuilder {
 public:
  explicit ValueBuilder(int max_depth) : max_depth_(static_cast<std::size_t>(max_depth)) {}

  bool null() { return Put(nullptr) != nullptr; }
  bool boolean(bool value) { return Put(value) != nullptr; }
  bool number_integer(json::number_integer_t value) { return Put(value) != nullptr; }
  bool number_unsigned(json::number_unsigned_t value) { return Put(value) != nullptr; }
  bool number_float(json::number_float_t value, const std::string& /*text*/) {
    return Put(value) != nullptr;
  }
  bool string(std::string& value) { return Put(std::move(value)) != nullptr; }
  bool binary(json::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*size*/) { return Begin(json::object()); }
  bool start_array(std::size_t /*size*/) { return Begin(json::array()); }
  bool end_object() { return End(); }
  bool end_array() { return End(); }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const json::exception& /*error*/) {
    return false;
  }

  bool key(std::string& key) {
    Frame& frame = open_.back();
    const auto [at, fresh] = frame.value->get_ref<json::object_t&>().try_emplace(key);
    frame.key = &at->first;
    frame.slot = &at->second;
    if (fresh) return true;
    refusal_ = FieldError(Path(open_.size()), "is there twice", "keep one of them");
    return false;
  }

  json TakeRoot() { return std::move(root_); }
  const absl::Status& refusal() const { return refusal_; }

 private:
  struct Frame {
    json* value = nullptr;
    const std::string* key = nullptr;  // of an object: the key read last, and its place
    json* slot = nullptr;
  };

  json* Put(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Frame& frame = open_.back();
    if (frame.value->is_array()) {
      auto& list = frame.value->get_ref<json::array_t&>();
      list.push_back(std::move(value));
      return &list.back();
    }
    *frame.slot = std::move(value);
    return frame.slot;
  }

  bool Begin(json empty) {
    if (open_.size() >= max_depth_) {
      constexpr std::size_t kShownDepth = 5;
      refusal_ = FieldError(StrCat(Path(kShownDepth), "..."),
                            StrCat("is nested deeper than ", max_depth_, " levels"),
                            "nothing that is read here is; look for brackets too many");
      return false;
    }
    open_.push_back({Put(std::move(empty)), nullptr, nullptr});
    return true;
  }

  bool End() {
    open_.pop_back();
    return true;
  }

  // Of the value that is being read, at most `depth` levels of it: "jobs[1].id".
  std::string Path(std::size_t depth) const {
    std::string path;
    for (std::size_t i = 0; i < open_.size() && i < depth; ++i) {
      const Frame& frame = open_[i];
      if (frame.value->is_array()) {
        // The innermost element is counted before it is there.
        const bool there = i + 1 < open_.size();
        path += StrCat("[", frame.value->size() - (there ? 1 : 0), "]");
      } else if (frame.key != nullptr) {
        path += StrCat(path.empty() ? "" : ".", *frame.key);
      }
    }
    return path;
  }

  const std::size_t max_depth_;
  json root_;
  std::vector<Frame> open_;
  absl::Status refusal_;
};

}  // namespace

absl::StatusOr<std::optional<json>> ParseJsonText(std::string_view text, std::string_view name,
                                                  int max_depth) {
  ValueBuilder builder(max_depth);
  if (json::sax_parse(text.begin(), text.end(), &builder)) return builder.TakeRoot();
  if (!builder.refusal().ok()) return Annotate(builder.refusal(), name);
  return std::nullopt;
}

}  // namespace yardmaster::config
