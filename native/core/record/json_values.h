// Values at given places of a JSON payload, found in one pass that allocates nothing.
#ifndef SEGANET_CORE_RECORD_JSON_VALUES_H_
#define SEGANET_CORE_RECORD_JSON_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"

namespace seganet {

// Steps of a path, bytes of a member's name, and the largest array index.
inline constexpr size_t kMaxPathSteps = 16;
inline constexpr size_t kMaxMemberBytes = 256;
inline constexpr uint32_t kMaxElement = 65'535;
// Different paths that one JsonPaths has.
inline constexpr size_t kMaxPaths = 256;

// One step from a value to a value in it.
struct PathStep {
  bool is_member = true;
  std::string name;      // member: 0..kMaxMemberBytes bytes of UTF-8
  uint32_t element = 0;  // array element: 0..kMaxElement

  bool operator==(const PathStep&) const = default;
};
using Path = std::vector<PathStep>;  // empty: the whole payload

// The kind of the value at a path. kMissing: there is none, or the payload is not JSON.
enum class JsonKind : uint8_t { kMissing, kNull, kFalse, kTrue, kNumber, kString, kObject, kArray };

class JsonValues;

// Paths, compiled for reading. Thread safety: immutable after Build().
class JsonPaths {
 public:
  JsonPaths();

  // Adds a path, or finds it, and returns its number. kMaxPaths if there is no room for it.
  // REQUIRES: path.size() <= kMaxPathSteps, its steps are within their limits, !built.
  size_t Add(const Path& path);
  // Call it once, after the last Add().
  void Build();

  size_t size() const { return paths_; }

  // Reads the values at all paths. Returns false, with every value kMissing, if the payload is not
  // one JSON value (RFC 8259) in valid UTF-8, or is nested deeper than kMaxJsonDepth. If an object
  // has several members of one name, the last one counts, as in most parsers. Time: O(bytes *
  // log(paths)). REQUIRES: Build() was called. The views in `values` refer to `payload`.
  bool Read(std::string_view payload, JsonValues* values) const;

 private:
  class Reader;
  static constexpr size_t kNone = SIZE_MAX;

  // A place in the payload, as seen from the paths that lead to it or through it.
  struct Place {
    std::vector<std::pair<std::string, size_t>> members;  // sorted after Build()
    std::vector<std::pair<uint32_t, size_t>> elements;    // sorted after Build()
    size_t path = kNone;                                  // number of the path that ends here
    // The paths that end here or below have these positions in JsonValues.
    size_t first = 0;
    size_t last = 0;
  };

  size_t Child(size_t place, const PathStep& step);
  void Number(size_t place, size_t* position);
  const Place* Member(const Place& place, std::string_view raw) const;
  const Place* Element(const Place& place, uint32_t element) const;
  // Sets the values of the paths that end at this place or below to kMissing.
  void Clear(const Place& place, JsonValues* values) const;

  std::vector<Place> places_;      // [0] is the whole payload
  std::vector<size_t> positions_;  // by number of the path
  size_t paths_ = 0;

  friend class JsonValues;
};

// The values that one Read() found. About 6 KiB; only those of existing paths are written:
// make one on the stack.
class JsonValues {
 public:
  JsonValues() {}  // leaves the values unset

  // REQUIRES: paths.Read(…, this) was the latest call, path < paths.size().
  JsonKind KindOf(const JsonPaths& paths, size_t path) const {
    return kinds_[paths.positions_[path]];
  }
  // REQUIRES: the kind is kNumber. IEEE 754 double, nearest to the text; ±infinity beyond its
  // range.
  double NumberOf(const JsonPaths& paths, size_t path) const {
    return numbers_[paths.positions_[path]];
  }
  // Returns the text of the value in the payload; for a string without its quotes, with its
  // escapes. REQUIRES: the kind is not kMissing.
  std::string_view TextOf(const JsonPaths& paths, size_t path) const {
    const size_t at = paths.positions_[path];
    return {starts_[at], sizes_[at]};
  }

 private:
  JsonKind kinds_[kMaxPaths];
  uint32_t sizes_[kMaxPaths];
  const char* starts_[kMaxPaths];
  double numbers_[kMaxPaths];

  friend class JsonPaths;
};

// Returns the number that the text, a JSON number, stands for.
double JsonNumber(std::string_view text);

// Reads a valid JSON string without its quotes, byte by byte, as UTF-8. A surrogate without its
// partner is U+FFFD.
class JsonStringReader {
 public:
  // REQUIRES: IsJson('"' + raw + '"').
  explicit JsonStringReader(std::string_view raw) : rest_(raw) {}
  // Returns the next byte, -1 at the end.
  int Next();

 private:
  int Escape();
  uint32_t Hex4();

  std::string_view rest_;
  uint8_t waiting_[3];
  int waits_ = 0;
};

// Compares the bytes of a JSON string (as in JsonStringReader) with `text`: negative, 0, positive.
int CompareJsonString(std::string_view raw, std::string_view text);

}  // namespace seganet

#endif  // SEGANET_CORE_RECORD_JSON_VALUES_H_
