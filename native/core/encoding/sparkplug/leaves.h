// The scalar values of a JSON payload, with their places.
#ifndef SEGANET_CORE_ENCODING_SPARKPLUG_LEAVES_H_
#define SEGANET_CORE_ENCODING_SPARKPLUG_LEAVES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/encoding/sparkplug/value_type.h"

namespace seganet::sparkplug {

struct Leaf {
  std::string path;       // JSON pointer (RFC 6901); empty = the whole payload
  std::string_view text;  // its JSON text in the payload
  ValueType type = ValueType::kUnknown;
};

// Thread safety: none; one object for all payloads, because it keeps its memory.
class LeafReader {
 public:
  // An object with more members, also those of inner objects, is one leaf.
  static constexpr size_t kMaxMembers = 128;

  // Returns false if the payload is not JSON. Objects become their members, to any depth; an array
  // and an empty object are leaves. An object is one leaf as a whole if members have the same name,
  // or a name is no UTF-8.
  bool Read(std::string_view json);

  // In the order of the text. The texts point into the payload.
  std::span<const Leaf> leaves() const { return {leaves_.data(), count_}; }

 private:
  class Visitor;

  std::vector<Leaf> leaves_;
  size_t count_ = 0;
  std::string path_;                    // of the current member
  std::vector<size_t> levels_;          // bytes of path_ of each open object
  std::vector<std::string> names_;      // paths of all members
  std::vector<std::string_view> sort_;  // the same
  size_t names_count_ = 0;
  std::string scratch_;
};

}  // namespace seganet::sparkplug

#endif  // SEGANET_CORE_ENCODING_SPARKPLUG_LEAVES_H_
