// nlohmann/json.hpp for the precompiled headers, without the body of the literal operator ""_json,
// which nothing here uses.
//
// That operator is an inline function and not a template, so every source that includes the header
// makes the compiler instantiate the whole JSON parser for it: 0.4 s of CPU a source, a tenth of
// what all of them cost. Here it is declared only; its body belongs to a template that nothing
// instantiates.
#define _json(...)    \
  _json(__VA_ARGS__); \
  template <int = 0>  \
  nlohmann::json BodyOfUnusedLiteral(__VA_ARGS__)
#include <nlohmann/json.hpp>
#undef _json
