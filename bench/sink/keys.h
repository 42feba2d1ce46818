#ifndef SEGANET_BENCH_SINK_KEYS_H_
#define SEGANET_BENCH_SINK_KEYS_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_set>

namespace bench {

// De-duplication key at the start of an envelope's first line:
// {"k":"gateway/epoch/class/sequence",… Removes it from `line`, so that what follows starts with
// the quote of the next field's name. Returns the key, or an empty view when there is none; `*bad`
// when it is cut off.
inline std::string_view TakeKey(std::string_view* line, bool* bad) {
  constexpr std::string_view kField = "{\"k\":\"";
  if (!line->starts_with(kField)) return {};
  std::string_view key = line->substr(kField.size());
  size_t end = key.find('"');
  if (end == std::string_view::npos || !key.substr(end).starts_with("\",")) {
    *bad = true;
    return {};
  }
  line->remove_prefix(kField.size() + end + 2);
  return key.substr(0, end);
}

// gateway/epoch/class/sequence, the last one perhaps with the part's number (12.3), and the class
// that of the records.
inline bool IsKey(std::string_view key, int record_class) {
  size_t sequence = key.rfind('/');
  if (sequence == std::string_view::npos || sequence < 2 || sequence + 1 == key.size()) {
    return false;
  }
  if (key.find_first_not_of("0123456789.", sequence + 1) != std::string_view::npos) return false;
  if (key[sequence - 2] != '/' || key[sequence - 1] != static_cast<char>('0' + record_class)) {
    return false;
  }
  std::string_view front = key.substr(0, sequence - 2);
  size_t epoch = front.rfind('/');
  return epoch != std::string_view::npos && epoch > 0 && epoch + 1 < front.size();
}

// The keys that came. Hashes only: among a million keys two are alike with a chance of 3e-8.
class KeySet {
 public:
  // True when it is new.
  bool Add(std::string_view key) {
    return hashes_.insert(std::hash<std::string_view>()(key)).second;
  }
  size_t size() const { return hashes_.size(); }

 private:
  std::unordered_set<uint64_t> hashes_;
};

}  // namespace bench

#endif  // SEGANET_BENCH_SINK_KEYS_H_
