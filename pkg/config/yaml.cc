#include "pkg/config/yaml.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "pkg/base/strings.h"
#include "pkg/config/yaml_scalar.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/mark.h"
#include "yaml-cpp/parser.h"

namespace yardmaster::config {
namespace {

using nlohmann::json;

constexpr std::string_view kStringTag = "tag:yaml.org,2002:str";
constexpr std::string_view kCoreTagPrefix = "tag:yaml.org,2002:";

struct Position {
  int line = 0;  // from 1; 0: not known
  int column = 0;
};

// How this file leaves yaml-cpp's and nlohmann's callbacks; never leaves this file.
struct Refusal : std::exception {
  Refusal(Position at, std::string problem) : at(at), problem(std::move(problem)) {}
  const char* what() const noexcept override { return problem.c_str(); }
  Position at;
  std::string problem;
};

absl::Status ErrorAt(std::string_view name, Position at, std::string_view problem) {
  if (at.line <= 0) return absl::InvalidArgumentError(StrCat(name, ": ", problem));
  return absl::InvalidArgumentError(StrCat(name, ":", at.line, ":", at.column, ": ", problem));
}

// Puts values together from begin, key, scalar and end events, and keeps the limits.
class Builder {
 public:
  Builder(const YamlLimits& limits, std::size_t& values) : limits_(limits), values_(values) {}

  // A finished value with what it costs to copy it.
  struct Measured {
    json value;
    std::size_t values = 1;
    int depth = 0;
  };

  void Begin(Position at, bool object) {
    if (static_cast<int>(frames_.size()) >= limits_.max_depth) {
      throw Refusal(at, StrCat("nested deeper than ", limits_.max_depth, " levels"));
    }
    Spend(at, 1);
    Frame frame;
    frame.measured.value = object ? json::object() : json::array();
    frames_.push_back(std::move(frame));
  }
  bool WantsKey() const {
    return !frames_.empty() && frames_.back().measured.value.is_object() && !frames_.back().key;
  }
  void Key(Position at, std::string key, bool merge = false) {
    Frame& frame = frames_.back();
    if (!merge && frame.measured.value.contains(key)) {
      throw Refusal(at, StrCat("the key \"", key, "\" is there twice; keep one of them"));
    }
    frame.key = std::move(key);
    frame.merging = merge;
  }
  void Scalar(Position at, json value) {
    Spend(at, 1);
    Put(at, Measured{std::move(value), 1, 0});
  }
  void Copy(Position at, const Measured& original) {
    if (static_cast<int>(frames_.size()) + original.depth > limits_.max_depth) {
      throw Refusal(at, StrCat("nested deeper than ", limits_.max_depth, " levels"));
    }
    Spend(at, original.values);
    Put(at, original);
  }
  // Ends the innermost container and returns it for an anchor's sake.
  const Measured& End(Position at) {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    // Merged mappings only fill what the mapping itself does not set, in any order.
    for (const json& merged : frame.merges) {
      for (const auto& [key, value] : merged.items()) {
        if (!frame.measured.value.contains(key)) frame.measured.value[key] = value;
      }
    }
    last_ = std::move(frame.measured);
    Put(at, last_);
    return last_;
  }
  std::optional<json> TakeRoot() { return std::exchange(root_, std::nullopt); }

 private:
  struct Frame {
    Measured measured;
    std::optional<std::string> key;
    bool merging = false;
    std::vector<json> merges;
  };

  void Spend(Position at, std::size_t values) {
    if (values > limits_.max_values - std::min(values_, limits_.max_values)) {
      throw Refusal(at, StrCat("more than ", limits_.max_values, " values"));
    }
    values_ += values;
  }
  void Put(Position at, Measured measured) {
    if (frames_.empty()) {
      root_ = std::move(measured.value);
      return;
    }
    Frame& frame = frames_.back();
    frame.measured.values += measured.values;
    frame.measured.depth = std::max(frame.measured.depth, measured.depth + 1);
    if (frame.measured.value.is_array()) {
      frame.measured.value.push_back(std::move(measured.value));
    } else if (frame.merging) {
      AddMerge(at, frame, std::move(measured.value));
      frame.key.reset();
      frame.merging = false;
    } else {
      frame.measured.value[*frame.key] = std::move(measured.value);
      frame.key.reset();
    }
  }
  static void AddMerge(Position at, Frame& frame, json value) {
    if (value.is_object()) value = json::array({std::move(value)});
    const bool mappings =
        value.is_array() &&
        std::all_of(value.begin(), value.end(), [](const json& one) { return one.is_object(); });
    if (!mappings) {
      throw Refusal(at,
                    "the merge key << takes a mapping or a list of mappings; name one, or remove "
                    "the key");
    }
    for (json& one : value) frame.merges.push_back(std::move(one));
  }

  const YamlLimits& limits_;
  std::size_t& values_;
  std::vector<Frame> frames_;
  Measured last_;
  std::optional<json> root_;
};

// yaml-cpp's events into a Builder.
class YamlEvents final : public YAML::EventHandler {
 public:
  YamlEvents(const YamlLimits& limits, std::size_t& values, std::vector<YamlDocument>& documents)
      : builder_(limits, values), documents_(documents) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    // On some texts (one that begins with a comma) yaml-cpp offers the same empty document for
    // ever.
    if (mark.pos <= last_start_) throw Refusal(At(mark), "no YAML value can begin here");
    last_start_ = mark.pos;
    anchors_.clear();
    line_ = mark.line + 1;
  }
  void OnDocumentEnd() override {
    std::optional<json> root = builder_.TakeRoot();
    if (root && !root->is_null()) documents_.push_back({std::move(*root), line_});
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (builder_.WantsKey())
      throw Refusal(At(mark), "a mapping key is empty; write \"\" or a name");
    Remember(anchor, {nullptr, 1, 0});
    builder_.Scalar(At(mark), nullptr);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto it = anchors_.find(anchor);
    if (it == anchors_.end()) throw Refusal(At(mark), "an alias stands inside its own anchor");
    if (!builder_.WantsKey()) return builder_.Copy(At(mark), it->second);
    if (!it->second.value.is_string()) throw Refusal(At(mark), "a mapping key must be a string");
    builder_.Key(At(mark), it->second.value.get<std::string>());
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const bool plain = tag == "?";
    if (builder_.WantsKey()) {
      Remember(anchor, {text, 1, 0});
      return builder_.Key(At(mark), text, plain && text == "<<");
    }
    absl::StatusOr<json> value = Typed(mark, tag, text);
    if (!value.ok()) throw Refusal(At(mark), MessageOf(value.status()));
    Remember(anchor, {*value, 1, 0});
    builder_.Scalar(At(mark), *std::move(value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Start(mark, tag, anchor, false);
  }
  void OnSequenceEnd() override { Finish(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Start(mark, tag, anchor, true);
  }
  void OnMapEnd() override { Finish(); }

 private:
  struct Open {
    Position at;
    YAML::anchor_t anchor;
  };

  static Position At(const YAML::Mark& mark) {
    if (mark.is_null()) return {};
    return {mark.line + 1, mark.column + 1};
  }
  static absl::StatusOr<json> Typed(const YAML::Mark& mark, const std::string& tag,
                                    const std::string& text) {
    if (tag == "!" || tag == kStringTag) return json(text);
    if (tag != "?" && tag.rfind(kCoreTagPrefix, 0) != 0) RefuseTag(mark, tag);
    YM_ASSIGN_OR_RETURN(json value, TypedScalar(text));
    if (tag == "?") return value;
    const std::string kind = tag.substr(kCoreTagPrefix.size());
    const bool fits = (kind == "int" && value.is_number_integer()) ||
                      (kind == "float" && value.is_number()) ||
                      (kind == "bool" && value.is_boolean()) || (kind == "null" && value.is_null());
    if (!fits) return absl::InvalidArgumentError(StrCat("\"", text, "\" is not a valid !!", kind));
    return value;
  }
  [[noreturn]] static void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    throw Refusal(At(mark), StrCat("the tag ", tag, " is not known here; leave it out"));
  }
  void Start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, bool object) {
    if (builder_.WantsKey()) throw Refusal(At(mark), "a mapping key must be a string");
    const bool known = tag == "?" || tag == "!" || tag.empty() ||
                       tag == StrCat(kCoreTagPrefix, object ? "map" : "seq");
    if (!known) RefuseTag(mark, tag);
    open_.push_back({At(mark), anchor});
    builder_.Begin(At(mark), object);
  }
  void Finish() {
    const Open open = open_.back();
    open_.pop_back();
    Remember(open.anchor, builder_.End(open.at));
  }
  void Remember(YAML::anchor_t anchor, const Builder::Measured& measured) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = measured;
  }

  Builder builder_;
  std::vector<YamlDocument>& documents_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Builder::Measured> anchors_;
  int line_ = 1;
  int last_start_ = -1;
};

// nlohmann's SAX events into a Builder. The names are the ones nlohmann asks for.
class JsonEvents {
 public:
  JsonEvents(const YamlLimits& limits, std::size_t& values) : builder_(limits, values) {}

  bool null() { return Scalar(nullptr); }
  bool boolean(bool value) { return Scalar(value); }
  bool number_integer(json::number_integer_t value) { return Scalar(value); }
  bool number_unsigned(json::number_unsigned_t value) { return Scalar(value); }
  bool number_float(json::number_float_t value, const std::string&) { return Scalar(value); }
  bool string(std::string& value) { return Scalar(std::move(value)); }
  bool binary(json::binary_t&) { return false; }
  bool start_object(std::size_t) { return Begin(true); }
  bool start_array(std::size_t) { return Begin(false); }
  bool key(std::string& key) {
    builder_.Key({}, std::move(key));
    return true;
  }
  bool end_object() { return End(); }
  bool end_array() { return End(); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) { return false; }
  std::optional<json> TakeRoot() { return builder_.TakeRoot(); }

 private:
  bool Scalar(json value) {
    builder_.Scalar({}, std::move(value));
    return true;
  }
  bool Begin(bool object) {
    builder_.Begin({}, object);
    return true;
  }
  bool End() {
    builder_.End({});
    return true;
  }
  Builder builder_;
};

bool LooksLikeJson(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return start != std::string_view::npos && (text[start] == '{' || text[start] == '[');
}

// JSON has escapes that YAML does not (surrogate pairs), so what is JSON is read as such.
std::optional<json> TryJson(std::string_view text, const YamlLimits& limits, std::size_t& values) {
  const std::size_t values_before = values;
  JsonEvents events(limits, values);
  if (json::sax_parse(text.begin(), text.end(), &events)) return events.TakeRoot();
  values = values_before;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::vector<YamlDocument>> ParseYamlDocuments(std::string_view text,
                                                             std::string_view name,
                                                             const YamlLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return ErrorAt(name, {},
                   StrCat(text.size(), " bytes is more than the limit of ", limits.max_bytes));
  }
  if (auto bad = FindUnprintable(text)) {
    return ErrorAt(name, {bad->line, bad->column},
                   "not printable UTF-8 text; write such characters as \"\\u0007\" escapes");
  }
  std::size_t values = 0;
  std::vector<YamlDocument> documents;
  try {
    if (LooksLikeJson(text)) {
      if (std::optional<json> value = TryJson(text, limits, values)) {
        documents.push_back({*std::move(value), 1});
        return documents;
      }
    }
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    YamlEvents events(limits, values, documents);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const Refusal& refusal) {
    return ErrorAt(name, refusal.at, refusal.problem);
  } catch (const YAML::Exception& error) {
    return ErrorAt(name, {error.mark.line + 1, error.mark.column + 1}, error.msg);
  } catch (const std::exception& error) {
    return ErrorAt(name, {}, error.what());
  }
  return documents;
}

absl::StatusOr<json> ParseYaml(std::string_view text, std::string_view name,
                               const YamlLimits& limits) {
  YM_ASSIGN_OR_RETURN(std::vector<YamlDocument> documents, ParseYamlDocuments(text, name, limits));
  if (documents.empty()) return ErrorAt(name, {}, "nothing in it; one YAML document is needed");
  if (documents.size() > 1) {
    return ErrorAt(name, {documents[1].line, 1},
                   "a second document begins here; only one is wanted");
  }
  return std::move(documents.front().value);
}

}  // namespace yardmaster::config
