#ifndef SEGANET_BENCH_SINK_KEYS_H_
#define SEGANET_BENCH_SINK_KEYS_H_

#include <charconv>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "seq_set.h"

namespace bench {

// Takes the de-duplication key from the start of an envelope's first line:
// {"k":"gateway/epoch/class/sequence",… Removes it from `line`, which then starts with the quote of
// the next field's name. Returns the key, or an empty view if there is none; sets `*bad` if it is
// truncated.
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

// True if the key is gateway/epoch/class/sequence with the class of the records. The sequence may
// have the number of a piece (12.3).
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

// The keys that have arrived. They are numbered for each gateway, epoch and class, so a set of
// numbers holds nearly all. Other keys are kept as hashes: among a million, the chance of a
// collision is 3e-8.
class KeySet {
 public:
  // Adds a key. Returns true if it is new.
  bool Add(std::string_view key) {
    const bool added = AddNumber(key);
    if (added) ++size_;
    return added;
  }
  size_t size() const { return size_; }

 private:
  struct Sequence {
    std::string prefix;  // with the last slash
    uint64_t first;      // the number that arrived first
    SeqSet numbers;      // counted from it
  };
  static constexpr size_t kMaxSequences = 64;
  static constexpr uint64_t kMaxAhead = 1000000;  // beyond the highest: each costs a bit

  bool AddNumber(std::string_view key) {
    const size_t digits = key.rfind('/') + 1;
    uint64_t number = 0;
    const char* const end = key.data() + key.size();
    const auto [stop, error] = std::from_chars(key.data() + digits, end, number);
    Sequence* of =
        error == std::errc() && stop == end ? Find(key.substr(0, digits), number) : nullptr;
    if (of == nullptr || number < of->first ||
        number - of->first > of->numbers.next() + kMaxAhead) {
      return hashes_.insert(std::hash<std::string_view>()(key)).second;
    }
    return of->numbers.Add(static_cast<uint32_t>(number - of->first));
  }

  Sequence* Find(std::string_view prefix, uint64_t number) {
    for (Sequence& each : sequences_) {
      if (each.prefix == prefix) return &each;
    }
    if (sequences_.size() == kMaxSequences) return nullptr;
    sequences_.push_back({std::string(prefix), number, {}});
    return &sequences_.back();
  }

  std::vector<Sequence> sequences_;
  std::unordered_set<uint64_t> hashes_;
  size_t size_ = 0;
};

}  // namespace bench

#endif  // SEGANET_BENCH_SINK_KEYS_H_
