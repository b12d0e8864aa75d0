#include "pkg/agent/ports/lldp.h"

#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/json/json_view.h"

namespace yardmaster::agent {

namespace {

std::string Cut(std::string_view text) { return std::string(CutAtCharacter(text, kMaxLldpText)); }

// The elements of an array; of json's short form the one thing that is there instead.
void ForEach(JsonView list, absl::FunctionRef<void(JsonView)> call) {
  if (list.is_array()) {
    list.ForEachElement(call);
  } else if (list.present()) {
    call(list);
  }
}

JsonView First(JsonView list) {
  JsonView first;
  ForEach(list, [&](JsonView element) {
    if (!first.present()) first = element;
  });
  return first;
}

// "x", {"value": "x"} or [{"value": "x"}].
std::string Value(JsonView view) {
  JsonView value = First(view);
  if (value.is_object()) value = First(value["value"]);
  return Cut(value.String().value_or(""));
}

void ReadChassis(JsonView list, LldpNeighbour& neighbour) {
  JsonView chassis = First(list);
  neighbour.chassis = Value(chassis["name"]);
  // json: {"leaf1": {...}}, unless the chassis has no name; then its fields stand here.
  if (neighbour.chassis.empty() && Value(chassis["id"]).empty() && chassis.size() == 1) {
    chassis.ForEachMember([&](std::string_view name, JsonView named) {
      neighbour.chassis = Cut(name);
      chassis = named;
    });
  }
  neighbour.chassis_id = Value(chassis["id"]);
  if (neighbour.chassis.empty()) neighbour.chassis = neighbour.chassis_id;
}

class Collector {
 public:
  void Add(std::string_view interface, JsonView entry) {
    LldpNeighbour neighbour;
    neighbour.interface = Cut(interface);
    ReadChassis(entry["chassis"], neighbour);
    const JsonView port = First(entry["port"]);
    neighbour.port = Value(port["id"]);
    if (neighbour.interface.empty() || neighbour.chassis.empty() || neighbour.port.empty()) return;
    if (found_.size() == kMaxLldpNeighbours) {
      full_ = true;
    } else {
      found_.push_back(std::move(neighbour));
    }
  }
  bool full() const { return full_; }
  std::vector<LldpNeighbour> found() && { return std::move(found_); }

 private:
  std::vector<LldpNeighbour> found_;
  bool full_ = false;
};

}  // namespace

absl::StatusOr<std::vector<LldpNeighbour>> ParseLldpNeighbours(std::string_view json) {
  JsonParser parser;
  const auto root = parser.Parse(json);
  constexpr char kFix[] = "give what `lldpcli -f json0 show neighbors` prints";
  if (!root.ok()) return FieldError("LLDP", MessageOf(root.status()), kFix);
  const JsonView lldp = (*root)["lldp"];
  if (!lldp.is_object() && !lldp.is_array()) return FieldError("lldp", "is missing", kFix);
  Collector collector;
  ForEach(lldp, [&](JsonView group) {
    ForEach(group["interface"], [&](JsonView entry) {
      // An interface may be called "name": its value is then an object.
      if (entry["name"].is_string()) {
        collector.Add(entry["name"].Text(), entry);
        return;
      }
      entry.ForEachMember([&](std::string_view name, JsonView named) {
        // Of one interface with several neighbours, json of some versions makes a list.
        ForEach(named, [&](JsonView neighbour) { collector.Add(name, neighbour); });
      });
    });
  });
  if (collector.full()) {
    return FieldError("lldp", StrCat("has more than ", kMaxLldpNeighbours, " neighbours"), kFix);
  }
  return std::move(collector).found();
}

}  // namespace yardmaster::agent
