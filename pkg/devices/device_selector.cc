#include "pkg/devices/device_selector.h"

#include <cctype>
#include <compare>
#include <optional>
#include <utility>
#include <vector>

#include "pkg/api/quantity.h"
#include "pkg/base/strings.h"

namespace yardmaster::devices {

struct DeviceSelector::Term {
  enum class Type {
    kUnknown,
    kLiteral,    // `value`
    kName,       // an identifier alone: `text`
    kMember,     // args[0].text, or args[0][text]
    kCall,       // text(args...), for a method with its receiver first
    kList,       // args
    kNot,        // args[0]
    kAnd,        // args
    kOr,         // args
    kComparison  // args[0] text args[1]
  };
  Type type = Type::kUnknown;
  std::string text;
  TraitValue value;
  std::vector<Term> args;
};

namespace {

using Term = DeviceSelector::Term;
using Type = Term::Type;

constexpr std::size_t kMaxText = 10 * 1024;
constexpr int kMaxLevels = 32;

struct Token {
  enum class Type { kEnd, kName, kText, kNumber, kSign, kBroken };
  Type type = Type::kEnd;
  std::string text;
};

class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(text) { Next(); }

  const Token& now() const { return now_; }
  bool Is(std::string_view sign) const {
    return now_.type == Token::Type::kSign && now_.text == sign;
  }
  bool Take(std::string_view sign) {
    if (!Is(sign)) return false;
    Next();
    return true;
  }
  void Next() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) {
      rest_.remove_prefix(1);
    }
    now_ = {};
    if (rest_.empty()) return;
    const char first = rest_.front();
    if (IsNameCharacter(first) && !IsDigit(first))
      return TakeWhile(Token::Type::kName, IsNameCharacter);
    if (IsDigit(first)) return TakeWhile(Token::Type::kNumber, IsNameCharacter);
    if (first == '\'' || first == '"') return TakeText(first);
    for (std::string_view sign : {"&&", "||", "==", "!=", "<=", ">="}) {
      if (rest_.starts_with(sign)) return TakeSign(sign.size());
    }
    TakeSign(1);
  }

 private:
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static bool IsNameCharacter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }
  void TakeSign(std::size_t size) {
    now_ = {Token::Type::kSign, std::string(rest_.substr(0, size))};
    rest_.remove_prefix(size);
  }
  void TakeWhile(Token::Type type, bool (*belongs)(char)) {
    std::size_t size = 0;
    while (size < rest_.size() && belongs(rest_[size])) ++size;
    now_ = {type, std::string(rest_.substr(0, size))};
    rest_.remove_prefix(size);
  }
  // Escapes are not read: a text with one is of no known meaning.
  void TakeText(char quote) {
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos ||
        rest_.substr(1, end - 1).find('\\') != std::string_view::npos) {
      now_ = {Token::Type::kBroken, ""};
      rest_ = {};
      return;
    }
    now_ = {Token::Type::kText, std::string(rest_.substr(1, end - 1))};
    rest_.remove_prefix(end + 1);
  }

  std::string_view rest_;
  Token now_;
};

bool IsComparison(std::string_view sign) {
  return sign == "==" || sign == "!=" || sign == "<" || sign == "<=" || sign == ">" || sign == ">=";
}

// Recursive descent. Whatever is not understood makes the whole expression unknown.
class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(text) {}

  Term Parse() {
    Term out = Or(0);
    return failed_ || tokens_.now().type != Token::Type::kEnd ? Term{} : out;
  }

 private:
  Term Fail() {
    failed_ = true;
    return {};
  }

  Term Or(int level) {
    if (level > kMaxLevels) return Fail();
    Term first = And(level);
    if (!tokens_.Is("||")) return first;
    Term out{Type::kOr, {}, {}, {}};
    out.args.push_back(std::move(first));
    while (!failed_ && tokens_.Take("||")) out.args.push_back(And(level));
    return out;
  }

  Term And(int level) {
    Term first = Relation(level);
    if (!tokens_.Is("&&")) return first;
    Term out{Type::kAnd, {}, {}, {}};
    out.args.push_back(std::move(first));
    while (!failed_ && tokens_.Take("&&")) out.args.push_back(Relation(level));
    return out;
  }

  Term Relation(int level) {
    Term left = Unary(level);
    const Token sign = tokens_.now();
    const bool is_in = sign.type == Token::Type::kName && sign.text == "in";
    if (failed_ || !(is_in || (sign.type == Token::Type::kSign && IsComparison(sign.text)))) {
      return left;
    }
    tokens_.Next();
    Term out{Type::kComparison, sign.text, {}, {}};
    out.args.push_back(std::move(left));
    out.args.push_back(Unary(level));
    return out;
  }

  Term Unary(int level) {
    if (level > kMaxLevels) return Fail();
    if (tokens_.Take("!")) {
      Term out{Type::kNot, {}, {}, {}};
      out.args.push_back(Unary(level + 1));
      return out;
    }
    Term out = Primary(level);
    for (int members = 0; !failed_; ++members) {
      if (members > kMaxLevels) return Fail();
      if (tokens_.Take(".")) {
        out = Member(std::move(out), level);
      } else if (tokens_.Take("[")) {
        out = Index(std::move(out));
      } else {
        return out;
      }
    }
    return out;
  }

  Term Member(Term of, int level) {
    if (tokens_.now().type != Token::Type::kName) return Fail();
    const std::string name = tokens_.now().text;
    tokens_.Next();
    Term out{Type::kMember, name, {}, {}};
    out.args.push_back(std::move(of));
    if (!tokens_.Take("(")) return out;
    out.type = Type::kCall;
    Arguments(")", level, out);
    return out;
  }

  Term Index(Term of) {
    if (tokens_.now().type != Token::Type::kText) return Fail();
    Term out{Type::kMember, tokens_.now().text, {}, {}};
    tokens_.Next();
    out.args.push_back(std::move(of));
    if (!tokens_.Take("]")) return Fail();
    return out;
  }

  void Arguments(std::string_view end, int level, Term& out) {
    while (!failed_ && !tokens_.Take(end)) {
      out.args.push_back(Or(level + 1));
      if (!tokens_.Is(end) && !tokens_.Take(",")) Fail();
    }
  }

  Term Primary(int level) {
    const Token token = tokens_.now();
    tokens_.Next();
    Term out;
    switch (token.type) {
      case Token::Type::kText:
        return {Type::kLiteral, {}, {token.text}, {}};
      case Token::Type::kNumber: {
        const auto number = ParseNumber<long long>(token.text);
        return number ? Term{Type::kLiteral, {}, {std::int64_t{*number}}, {}} : Fail();
      }
      case Token::Type::kName:
        if (token.text == "true" || token.text == "false") {
          return {Type::kLiteral, {}, {token.text == "true"}, {}};
        }
        out = {Type::kName, token.text, {}, {}};
        if (!tokens_.Take("(")) return out;
        out.type = Type::kCall;
        Arguments(")", level, out);
        return out;
      case Token::Type::kSign:
        if (token.text == "(") {
          out = Or(level + 1);
          return tokens_.Take(")") ? out : Fail();
        }
        if (token.text != "[") return Fail();
        out.type = Type::kList;
        Arguments("]", level, out);
        return out;
      case Token::Type::kEnd:
      case Token::Type::kBroken:
        return Fail();
    }
    return Fail();
  }

  Tokens tokens_;
  bool failed_ = false;
};

// Of a part of an expression. Unknown goes before an error, because what is not known may decide.
enum class Truth { kNo, kYes, kError, kUnknown };

Truth TruthOf(bool holds) { return holds ? Truth::kYes : Truth::kNo; }

// A value, or why there is none.
struct Value {
  std::optional<TraitValue> known = std::nullopt;
  bool error = false;  // a device without it; else nothing that is known here

  Truth Missing() const { return error ? Truth::kError : Truth::kUnknown; }
};

class Evaluation {
 public:
  explicit Evaluation(const DeviceTraits& device) : device_(device) {}

  Truth Of(const Term& term) const {
    switch (term.type) {
      case Type::kNot:
        return Negated(Of(term.args[0]));
      case Type::kAnd:
        return Combined(term, Truth::kNo, Truth::kYes);
      case Type::kOr:
        return Combined(term, Truth::kYes, Truth::kNo);
      case Type::kComparison:
        return Compared(term);
      case Type::kCall:
        if (term.args.size() == 2 && (term.text == "isGreaterThan" || term.text == "isLessThan")) {
          return Ordered(term);
        }
        return Truth::kUnknown;
      default: {
        const Value value = ValueOf(term);
        if (!value.known) return value.Missing();
        const bool* holds = std::get_if<bool>(&value.known->value);
        return holds == nullptr ? Truth::kUnknown : TruthOf(*holds);
      }
    }
  }

 private:
  static Truth Negated(Truth of) {
    if (of == Truth::kYes) return Truth::kNo;
    return of == Truth::kNo ? Truth::kYes : of;
  }

  // `decides` of one part decides; else what is not known, then what is an error.
  Truth Combined(const Term& term, Truth decides, Truth otherwise) const {
    Truth out = otherwise;
    for (const Term& part : term.args) {
      const Truth truth = Of(part);
      if (truth == decides) return decides;
      if (truth == Truth::kUnknown || (truth == Truth::kError && out == otherwise)) out = truth;
    }
    return out;
  }

  Truth Compared(const Term& term) const {
    const Value left = ValueOf(term.args[0]);
    if (term.text == "in") return IsIn(left, term.args[1]);
    const Value right = ValueOf(term.args[1]);
    if (!left.known) return left.Missing();
    if (!right.known) return right.Missing();
    return Related(*left.known, term.text, *right.known);
  }

  static Truth Related(const TraitValue& left, std::string_view sign, const TraitValue& right) {
    if (left.value.index() == 0 || left.value.index() != right.value.index()) {
      return Truth::kUnknown;
    }
    const std::strong_ordering order = left.value <=> right.value;
    if (sign == "==") return TruthOf(order == 0);
    if (sign == "!=") return TruthOf(order != 0);
    if (sign == "<") return TruthOf(order < 0);
    if (sign == "<=") return TruthOf(order <= 0);
    return TruthOf(sign == ">" ? order > 0 : order >= 0);
  }

  Truth IsIn(const Value& value, const Term& list) const {
    if (list.type != Type::kList) return Truth::kUnknown;
    if (!value.known) return value.Missing();
    Truth out = Truth::kNo;
    for (const Term& entry : list.args) {
      const Value other = ValueOf(entry);
      const Truth same = other.known ? Related(*value.known, "==", *other.known) : other.Missing();
      if (same == Truth::kYes) return same;
      if (same != Truth::kNo) out = same;
    }
    return out;
  }

  // Both sides of a comparison of capacities; nullopt: `missing` says what it is instead.
  std::optional<std::strong_ordering> Order(const Term& call, Value& missing) const {
    for (const Term& side : call.args) {
      if (!IsAmount(side)) return std::nullopt;
    }
    const Value left = ValueOf(call.args[0]);
    const Value right = ValueOf(call.args[1]);
    if (!left.known || !right.known) {
      missing = left.known ? right : left;
      return std::nullopt;
    }
    if (left.known->value.index() != right.known->value.index()) return std::nullopt;
    return left.known->value <=> right.known->value;
  }

  Truth Ordered(const Term& call) const {
    Value missing;
    const auto order = Order(call, missing);
    if (!order) return missing.Missing();
    return TruthOf(call.text == "isLessThan" ? *order < 0 : *order > 0);
  }

  // A capacity of the device, or quantity("...").
  static bool IsAmount(const Term& term) {
    if (term.type == Type::kCall) return term.text == "quantity";
    return term.type == Type::kMember && IsTraits(term.args[0], "capacity");
  }

  // device.<traits>["domain"]
  static bool IsTraits(const Term& term, std::string_view traits) {
    if (term.type != Type::kMember) return false;
    const Term& of = term.args[0];
    return of.type == Type::kMember && of.text == traits && of.args[0].type == Type::kName &&
           of.args[0].text == "device";
  }

  Value ValueOf(const Term& term) const {
    switch (term.type) {
      case Type::kLiteral:
        return {term.value};
      case Type::kMember:
        return MemberOf(term);
      case Type::kCall:
        return ResultOf(term);
      default:
        return {};
    }
  }

  Value MemberOf(const Term& term) const {
    const Term& of = term.args[0];
    if (of.type == Type::kName && of.text == "device" && term.text == "driver") {
      return {TraitValue{device_.driver}};
    }
    if (IsTraits(of, "attributes")) {
      const auto at = device_.attributes.find(StrCat(of.text, "/", term.text));
      if (at == device_.attributes.end()) return {std::nullopt, true};
      if (at->second.value.index() == 0) return {};
      return {at->second};
    }
    if (!IsTraits(of, "capacity")) return {};
    const auto at = device_.capacity.find(StrCat(of.text, "/", term.text));
    if (at == device_.capacity.end()) return {std::nullopt, true};
    return {TraitValue{at->second}};
  }

  Value ResultOf(const Term& call) const {
    if (call.text == "quantity" && call.args.size() == 1) {
      const auto* text = std::get_if<std::string>(&call.args[0].value.value);
      if (text == nullptr) return {};
      const auto amount = api::ParseQuantity(*text);
      return amount.ok() ? Value{TraitValue{*amount}} : Value{};
    }
    if (call.text != "compareTo" || call.args.size() != 2) return {};
    Value missing;
    const auto order = Order(call, missing);
    if (!order) return missing;
    if (*order == 0) return {TraitValue{std::int64_t{0}}};
    return {TraitValue{std::int64_t{*order < 0 ? -1 : 1}}};
  }

  const DeviceTraits& device_;
};

}  // namespace

DeviceSelector DeviceSelector::Parse(std::string text) {
  DeviceSelector out;
  out.root_ = std::make_shared<const Term>(text.size() <= kMaxText ? Parser(text).Parse() : Term{});
  out.text_ = std::move(text);
  return out;
}

DeviceMatch DeviceSelector::Evaluate(const DeviceTraits& device) const {
  switch (Evaluation(device).Of(*root_)) {
    case Truth::kYes:
      return DeviceMatch::kYes;
    case Truth::kUnknown:
      return DeviceMatch::kUnknown;
    case Truth::kNo:
    case Truth::kError:
      break;
  }
  return DeviceMatch::kNo;
}

}  // namespace yardmaster::devices
