// Device ids that begin with a part: "acme:pump-1" is the device "pump-1" of the part "acme".
//
// A source whose ids have parts (SourceSettings::parted) gets the part from what a connection
// proved, or from its own settings, never from what a device sends. On the side of the device the
// whole id counts. In topics and CoAP paths a device uses its name without the part.
#ifndef SEGANET_CORE_RECORD_PART_H_
#define SEGANET_CORE_RECORD_PART_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace seganet {

// Separates the part from the rest of a device id.
inline constexpr char kPartEnd = ':';
inline constexpr size_t kMaxPartBytes = 64;

// Returns what precedes the first ':' of a device id; empty = it has no part.
inline std::string_view PartOf(std::string_view id) {
  const size_t end = id.find(kPartEnd);
  return end == std::string_view::npos ? std::string_view() : id.substr(0, end);
}

// Returns a device id without its part; the whole id if it has none.
inline std::string_view NameInPart(std::string_view id) {
  const size_t end = id.find(kPartEnd);
  return end == std::string_view::npos ? id : id.substr(end + 1);
}

// Returns the id of device `name` of a part.
inline std::string IdInPart(std::string_view part, std::string_view name) {
  std::string id(part);
  id += kPartEnd;
  id += name;
  return id;
}

// True for 1..kMaxPartBytes bytes without ':'.
inline bool ValidPart(std::string_view part) {
  return !part.empty() && part.size() <= kMaxPartBytes &&
         part.find(kPartEnd) == std::string_view::npos;
}

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_PART_H_
