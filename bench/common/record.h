#ifndef SEGANET_BENCH_COMMON_RECORD_H_
#define SEGANET_BENCH_COMMON_RECORD_H_

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace bench {

// Kinds of records. Each kind is a stream with its own sequence, because the gateway guarantees
// order by device and class, not across classes.
enum Kind : uint8_t { kNormal = 0, kAlarm = 1, kHigh = 2, kBulk = 3 };

inline constexpr int kKinds = 4;
// By kind: the class that the gateway's rules assign, the last level of its topic, its name in
// results.
inline constexpr int kClassOfKind[kKinds] = {3, 1, 2, 4};
inline constexpr std::string_view kLevelOfKind[kKinds] = {"t", "alarm", "high", "bulk"};
inline constexpr std::string_view kNameOfKind[kKinds] = {"normal", "alarm", "high", "bulk"};

inline constexpr uint32_t kMaxDevices = 100000;  // five digits
inline constexpr uint32_t kMaxSeq = 1000000000;  // of a stream

struct Record {
  uint32_t device = 0;
  uint32_t seq = 0;
  int64_t intended_us = 0;
  uint8_t kind = kNormal;
};

inline std::string DeviceId(uint32_t device) {
  char text[32];
  std::snprintf(text, sizeof text, "dev-%05u", device);
  return text;
}

// Longest payload without padding.
inline constexpr size_t kMaxFields = 96;

inline char* WriteText(char* out, std::string_view text) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

// Writes dev-00007. REQUIRES: device < kMaxDevices.
inline char* WriteDevice(char* out, uint32_t device) {
  out = WriteText(out, "dev-");
  for (int i = 4; i >= 0; --i, device /= 10) out[i] = static_cast<char>('0' + device % 10);
  return out + 5;
}

// Writes {"device":"dev-00007","seq":12,"k":0,"us":1690000000000000,"pad":"xxx"} with a length of
// `bytes` if that suffices for the fields, else as short as possible. Returns its end. REQUIRES:
// room for max(bytes, kMaxFields).
inline char* WritePayload(char* const out, const Record& r, size_t bytes) {
  char* at = WriteDevice(WriteText(out, "{\"device\":\""), r.device);
  at = WriteText(at, "\",\"seq\":");
  at = std::to_chars(at, at + 10, r.seq).ptr;
  at = WriteText(at, ",\"k\":");
  *at++ = static_cast<char>('0' + r.kind);
  at = WriteText(at, ",\"us\":");
  at = std::to_chars(at, at + 20, r.intended_us).ptr;
  constexpr size_t kFrame = 10;  // ,"pad":"" and the closing brace
  const size_t used = static_cast<size_t>(at - out);
  if (bytes > used + kFrame) {
    const size_t pad = bytes - used - kFrame;
    at = WriteText(at, ",\"pad\":\"");
    std::memset(at, 'x', pad);
    at += pad;
    *at++ = '"';
  }
  *at++ = '}';
  return at;
}

inline bool FindNumber(std::string_view text, std::string_view key, int64_t* value) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return false;
  const char* first = text.data() + at + key.size();
  return std::from_chars(first, text.data() + text.size(), *value).ec == std::errc();
}

// Reads the number after `key` at `*at`, and moves `*at` behind it.
inline bool TakeNumber(const char** at, const char* end, std::string_view key, int64_t* value) {
  if (static_cast<size_t>(end - *at) < key.size() ||
      std::memcmp(*at, key.data(), key.size()) != 0) {
    return false;
  }
  const auto [stop, error] = std::from_chars(*at + key.size(), end, *value);
  *at = stop;
  return error == std::errc();
}

// Parses a payload with its fields in the order of WritePayload(), or in any order, because a peer
// may have serialized the JSON again.
inline bool ParsePayload(std::string_view payload, Record* r) {
  constexpr std::string_view kDevice = "\"device\":\"dev-";
  int64_t device = 0, seq = 0, kind = 0;
  const char* at = payload.data() + 1;
  const char* end = payload.data() + payload.size();
  const bool as_written = !payload.empty() && TakeNumber(&at, end, kDevice, &device) &&
                          TakeNumber(&at, end, "\",\"seq\":", &seq) &&
                          TakeNumber(&at, end, ",\"k\":", &kind) &&
                          TakeNumber(&at, end, ",\"us\":", &r->intended_us);
  if (!as_written &&
      !(FindNumber(payload, kDevice, &device) && FindNumber(payload, "\"seq\":", &seq) &&
        FindNumber(payload, "\"k\":", &kind) && FindNumber(payload, "\"us\":", &r->intended_us))) {
    return false;
  }
  if (device < 0 || device >= kMaxDevices || seq < 0 || seq >= kMaxSeq || kind < 0 ||
      kind >= kKinds) {
    return false;
  }
  r->device = static_cast<uint32_t>(device);
  r->seq = static_cast<uint32_t>(seq);
  r->kind = static_cast<uint8_t>(kind);
  return true;
}

}  // namespace bench

#endif  // SEGANET_BENCH_COMMON_RECORD_H_
