#ifndef SEGANET_BENCH_SINK_SPLIT_H_
#define SEGANET_BENCH_SINK_SPLIT_H_

#include <cstddef>
#include <string_view>

namespace bench {

// True if a payload contains several joined payloads: a JSON array, one object per line, or
// Telegraf's {"metrics":[…]}. False for a single object.
inline bool IsJoined(std::string_view payload) {
  if (payload.starts_with('[') || payload.starts_with("{\"metrics\":")) return true;
  const size_t line = payload.find('\n');
  return line != std::string_view::npos && line + 1 < payload.size();
}

// Returns the end of the object at the start of `text`, npos if it has none.
inline size_t ObjectEnd(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

// Calls `add` with each object. Returns the number of lines that are truncated or not objects.
template <typename Add>
size_t SplitJoined(std::string_view payload, Add add) {
  constexpr std::string_view kMetrics = "{\"metrics\":";
  if (payload.starts_with(kMetrics)) {
    payload.remove_prefix(kMetrics.size());
    while (payload.ends_with('\n')) payload.remove_suffix(1);  // Telegraf ends with a line feed
    if (payload.ends_with('}')) payload.remove_suffix(1);
  }
  size_t bad = 0;
  while (true) {
    const size_t begin = payload.find_first_not_of("[], \t\r\n");
    if (begin == std::string_view::npos) return bad;
    payload.remove_prefix(begin);
    const size_t end = payload[0] == '{' ? ObjectEnd(payload) : std::string_view::npos;
    if (end == std::string_view::npos) {
      ++bad;
      const size_t line = payload.find('\n');
      if (line == std::string_view::npos) return bad;
      payload.remove_prefix(line);
      continue;
    }
    add(payload.substr(0, end));
    payload.remove_prefix(end);
  }
}

}  // namespace bench

#endif  // SEGANET_BENCH_SINK_SPLIT_H_
