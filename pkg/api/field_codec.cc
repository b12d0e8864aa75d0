#include "pkg/api/field_codec.h"

#include "nlohmann/json.hpp"

#include "pkg/api/status_word.h"
#include "pkg/base/clock.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

class FieldDecoder final : public FieldVisitor {
 public:
  explicit FieldDecoder(FieldReader& in) : in_(in) {}

  void Ints(const char* key, std::vector<int>& values, int min, int max, const ListRule& rule,
            const About& /*about*/, const char* /*entry*/) override {
    values = in_.Ints(key, min, max, rule);
  }
  void Texts(const char* key, std::vector<std::string>& values, const ListRule& rule,
             const TextRule& text, const About& /*about*/, const char* /*entry*/) override {
    values = in_.Strings(key, rule, text);
  }
  void TextMap(const char* key, std::map<std::string, std::string>& values, int max_entries,
               const TextRule& text, const About& /*about*/) override {
    values = in_.StringMap(key, max_entries, text);
  }
  void Parsed(const char* /*key*/, const TextRule& /*rule*/, const About& /*about*/,
              absl::FunctionRef<void(FieldReader&)> read,
              absl::FunctionRef<std::string()> /*write*/) override {
    read(in_);
  }
  void Custom(const char* /*key*/, absl::FunctionRef<json()> /*schema*/, const About& /*about*/,
              absl::FunctionRef<void(FieldReader&)> read,
              absl::FunctionRef<json()> /*write*/) override {
    read(in_);
  }
  void Rule(const char* /*cel*/, const char* /*message*/, const char* /*path*/,
            const char* /*unless*/) override {}

 protected:
  FieldReader* reader() override { return &in_; }
  bool IsVisited(const char* key, bool /*given*/) override { return in_.has(key); }
  void VisitWhole(const char* key, std::int64_t& value, const WholeRule& rule,
                  const About& /*about*/) override {
    value = in_.Int64(key, value, rule.min, rule.max);
  }
  void VisitNumber(const char* key, double& value, double min, double max,
                   const About& /*about*/) override {
    value = in_.Number(key, value, min, max);
  }
  void VisitBool(const char* key, bool& value, const About& /*about*/) override {
    value = in_.Bool(key, value);
  }
  void VisitText(const char* key, std::string& value, const TextRule& rule,
                 const About& about) override {
    value = about.read_required ? in_.RequiredString(key, rule) : in_.String(key, rule, value);
  }
  void VisitTime(const char* key, std::int64_t& value_ms, const About& /*about*/) override {
    value_ms = in_.TimeMs(key);
  }
  std::size_t VisitChoice(const char* key, std::size_t index, Names names,
                          const std::size_t* unknown, const About& about) override {
    if (about.fix != nullptr && !in_.has(key)) {
      in_.errors().Add(in_.PathOf(key), "is missing", about.fix);
    }
    if (unknown == nullptr) return in_.Choice(key, names, index);
    if (in_.strict()) return in_.Choice(key, names, *unknown);
    const std::string word = in_.String(key);
    const auto found = std::find(names.begin(), names.end(), word);
    return found == names.end() ? *unknown : static_cast<std::size_t>(found - names.begin());
  }
  bool VisitObject(const char* key, bool /*given*/, bool optional, const About& /*about*/,
                   absl::FunctionRef<void(FieldVisitor&)> describe) override {
    FieldReader in = in_.Object(key);
    if (optional && !in.present()) return false;
    DecodeFields(in, describe);
    in.Close();
    return in.present();
  }
  void VisitObjects(const char* key, std::size_t /*size*/, const ListRule& rule,
                    const About& /*about*/, const char* /*entry*/,
                    absl::FunctionRef<void(std::size_t)> resize,
                    absl::FunctionRef<void(std::size_t, FieldVisitor&)> describe) override {
    std::vector<FieldReader> entries = in_.Objects(key, rule);
    resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      DecodeFields(entries[i], [&](FieldVisitor& fields) { describe(i, fields); });
      entries[i].Close();
    }
  }

 private:
  FieldReader& in_;
};

class FieldEncoder final : public FieldVisitor {
 public:
  explicit FieldEncoder(json& out) : out_(out) {}

  void Ints(const char* key, std::vector<int>& values, int /*min*/, int /*max*/,
            const ListRule& /*rule*/, const About& about, const char* /*entry*/) override {
    Put(key, values.empty(), about, [&] { return json(values); });
  }
  void Texts(const char* key, std::vector<std::string>& values, const ListRule& /*rule*/,
             const TextRule& /*text*/, const About& about, const char* /*entry*/) override {
    Put(key, values.empty(), about, [&] { return json(values); });
  }
  void TextMap(const char* key, std::map<std::string, std::string>& values, int /*max_entries*/,
               const TextRule& /*text*/, const About& about) override {
    Put(key, values.empty(), about, [&] { return json(values); });
  }
  void Parsed(const char* key, const TextRule& /*rule*/, const About& about,
              absl::FunctionRef<void(FieldReader&)> /*read*/,
              absl::FunctionRef<std::string()> write) override {
    const std::string text = write();
    Put(key, text.empty(), about, [&] { return json(text); });
  }
  void Custom(const char* key, absl::FunctionRef<json()> /*schema*/, const About& about,
              absl::FunctionRef<void(FieldReader&)> /*read*/,
              absl::FunctionRef<json()> write) override {
    json value = write();
    Put(key, value.is_null(), about, [&] { return std::move(value); });
  }
  void Rule(const char* /*cel*/, const char* /*message*/, const char* /*path*/,
            const char* /*unless*/) override {}

 protected:
  bool writes() const override { return true; }
  bool IsVisited(const char* /*key*/, bool given) override { return given; }
  void VisitWhole(const char* key, std::int64_t& value, const WholeRule& /*rule*/,
                  const About& about) override {
    if (about.omitted != value) out_[key] = value;
  }
  void VisitNumber(const char* key, double& value, double /*min*/, double /*max*/,
                   const About& about) override {
    if (!about.omitted || value != static_cast<double>(*about.omitted)) out_[key] = value;
  }
  void VisitBool(const char* key, bool& value, const About& about) override {
    if (about.omitted != std::int64_t{value}) out_[key] = value;
  }
  void VisitText(const char* key, std::string& value, const TextRule& /*rule*/,
                 const About& about) override {
    Put(key, value == about.omitted_text, about, [&] { return json(value); });
  }
  void VisitTime(const char* key, std::int64_t& value_ms, const About& about) override {
    Put(key, value_ms == 0, about, [&] { return json(FormatTime(value_ms)); });
  }
  std::size_t VisitChoice(const char* key, std::size_t index, Names names,
                          const std::size_t* /*unknown*/, const About& about) override {
    if (about.omitted != static_cast<std::int64_t>(index)) out_[key] = names[index];
    return index;
  }
  bool VisitObject(const char* key, bool given, bool optional, const About& about,
                   absl::FunctionRef<void(FieldVisitor&)> describe) override {
    json object = json::object();
    if (given) {
      FieldEncoder inner(object);
      describe(inner);
    }
    Put(key, object.empty() && !(given && optional), about, [&] { return std::move(object); });
    return given;
  }
  void VisitObjects(const char* key, std::size_t size, const ListRule& /*rule*/, const About& about,
                    const char* /*entry*/, absl::FunctionRef<void(std::size_t)> /*resize*/,
                    absl::FunctionRef<void(std::size_t, FieldVisitor&)> describe) override {
    json list = json::array();
    for (std::size_t i = 0; i < size; ++i) {
      list.push_back(json::object());
      FieldEncoder inner(list.back());
      describe(i, inner);
    }
    Put(key, size == 0, about, [&] { return std::move(list); });
  }

 private:
  template <typename Value>
  void Put(const char* key, bool empty, const About& about, Value value) {
    if (!empty || about.written == Written::kAlways) {
      out_[key] = value();
    } else if (about.written == Written::kOrNull) {
      out_[key] = nullptr;
    }
  }

  json& out_;
};

}  // namespace

void DecodeFields(FieldReader& object, absl::FunctionRef<void(FieldVisitor&)> describe) {
  FieldDecoder decoder(object);
  describe(decoder);
}

json EncodeFields(absl::FunctionRef<void(FieldVisitor&)> describe) {
  json out = json::object();
  FieldEncoder encoder(out);
  describe(encoder);
  return out;
}

}  // namespace yardmaster::api
