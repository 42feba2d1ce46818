// JSON as CBOR values.
#ifndef SEGANET_CORE_ENCODING_CBOR_JSON_H_
#define SEGANET_CORE_ENCODING_CBOR_JSON_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/json.h"

namespace seganet {

// Translates JSON values. Spaces, escapes and the notation of numbers (1.0, 1e0) are lost; values
// and the order of members are kept.
//
// Thread safety: none; one object for all values, because it keeps its memory.
class CborFromJson {
 public:
  enum class Result {
    kDone,
    kInexact,  // CBOR cannot carry it exactly: see Append()
    kNotJson,
  };

  // Appends the value; unless it returns kDone, *out is unchanged. kInexact: a number that
  // cbor::AppendJsonNumber() refuses, a string with half a surrogate pair, or an object with two
  // members of one name.
  Result Append(std::string_view json, std::string* out);

 private:
  class Visitor;
  // An open array or object.
  struct Level {
    bool is_object;
    size_t head_at;    // of its first byte
    size_t keys_from;  // its first name in keys_
    size_t count;      // of elements or members
  };
  struct Span {
    size_t at, size;  // of an encoded name in the output
  };

  Level levels_[kMaxJsonDepth];
  std::vector<Span> keys_;
  std::vector<std::string_view> sorted_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_ENCODING_CBOR_JSON_H_
