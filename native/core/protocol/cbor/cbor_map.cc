#include "core/protocol/cbor/cbor_map.h"

#include <cstdint>

#include "core/base/utf8.h"

namespace seganet {
namespace {

enum Major : uint8_t {
  kUnsigned = 0,
  kNegative = 1,
  kBytes = 2,
  kText = 3,
  kArray = 4,
  kMap = 5,
  kTag = 6,
  kSimple = 7,
};

constexpr uint8_t kOpen = 31;  // additional information of an item without a length
constexpr uint8_t kBreak = 0xFF;

// The initial byte of an item, and its argument.
struct Head {
  uint8_t major = 0;
  uint8_t info = 0;
  uint64_t count = 0;  // 0 if info is kOpen
};

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const size_t n = Utf8Length(text.substr(at));
    if (n == 0) return false;
    at += n;
  }
  return true;
}

// Each function returns false for what is not well-formed or not within the bounds.
class Walk {
 public:
  Walk(std::string_view rest, const CborBounds& bounds)
      : rest_(rest), depth_(bounds.depth), items_(bounds.items) {}

  // Passes an item inside of `depth` maps and arrays.
  bool Item(size_t depth) {
    Head head;
    if (!TakesItem() || !ReadHead(&head)) return false;
    const bool is_open = head.info == kOpen;
    switch (head.major) {
      case kBytes:
      case kText:
        return is_open ? Pieces(head.major) : String(head.major, head.count);
      case kArray:
      case kMap:
        return depth < depth_ && Elements(head, depth + 1);
      case kTag:
        return false;
      default:
        return !is_open;  // a break in a wrong place
    }
  }
  bool at_end() const { return rest_.empty(); }

 private:
  bool TakesItem() {
    if (items_ == 0) return false;
    --items_;
    return true;
  }

  bool Elements(const Head& head, size_t depth) {
    const bool is_open = head.info == kOpen;
    for (uint64_t i = 0; is_open || i < head.count; ++i) {
      if (rest_.empty()) return false;
      if (is_open && AtBreak()) return true;
      // A key is an item of its own.
      if (head.major == kMap && (Peek() >> 5 != kText || !Item(0))) return false;
      if (!Item(depth)) return false;
    }
    return true;
  }

  bool ReadHead(Head* head) {
    if (rest_.empty()) return false;
    const uint8_t first = Peek();
    rest_.remove_prefix(1);
    head->major = first >> 5;
    head->info = first & 31;
    if (head->info < 24) {
      head->count = head->info;
      return true;
    }
    if (head->info == kOpen) return head->major >= kBytes && head->major != kTag;
    if (head->info > 27) return false;
    const size_t n = size_t{1} << (head->info - 24);
    if (rest_.size() < n) return false;
    for (size_t i = 0; i < n; ++i) {
      head->count = head->count << 8 | static_cast<uint8_t>(rest_[i]);
    }
    rest_.remove_prefix(n);
    // RFC 8949 3.3: simple values below 32 have one byte.
    return head->major != kSimple || head->info != 24 || head->count >= 32;
  }

  bool String(uint8_t major, uint64_t length) {
    if (length > rest_.size()) return false;
    const std::string_view text = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return major != kText || IsUtf8(text);
  }

  // Passes the pieces of a string without a length.
  bool Pieces(uint8_t major) {
    for (;;) {
      if (rest_.empty()) return false;
      if (AtBreak()) return true;
      Head head;
      if (!TakesItem() || !ReadHead(&head)) return false;
      if (head.major != major || head.info == kOpen || !String(major, head.count)) return false;
    }
  }

  uint8_t Peek() const { return static_cast<uint8_t>(rest_.front()); }

  // Passes a break. False if the next byte is none.
  // REQUIRES: there is a next byte.
  bool AtBreak() {
    if (Peek() != kBreak) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
  const size_t depth_;
  size_t items_;
};

}  // namespace

bool IsCborMap(std::string_view bytes, const CborBounds& bounds) {
  if (bytes.empty() || bytes.size() > bounds.bytes) return false;
  if (static_cast<uint8_t>(bytes.front()) >> 5 != kMap) return false;
  Walk walk(bytes, bounds);
  return walk.Item(0) && walk.at_end();
}

}  // namespace seganet
