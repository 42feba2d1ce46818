#ifndef SEGANET_BENCH_COMMON_RECORD_H_
#define SEGANET_BENCH_COMMON_RECORD_H_

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace bench {

// What a device sends. Normal readings and alarms are two streams with their own sequence, because
// the gateway promises order per device and class, not across classes.
enum Kind : uint8_t { kNormal = 0, kAlarm = 1 };

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

// {"device":"dev-00007","seq":12,"k":0,"us":1690000000000000,"pad":"xxx"}, `bytes` long when that
// is enough for the fields, else as short as possible.
inline void WritePayload(std::string& out, const Record& r, size_t bytes) {
  char head[128];
  int n =
      std::snprintf(head, sizeof head, "{\"device\":\"dev-%05u\",\"seq\":%u,\"k\":%u,\"us\":%lld",
                    r.device, r.seq, r.kind, static_cast<long long>(r.intended_us));
  out.assign(head, static_cast<size_t>(n));
  constexpr size_t kFrame = 10;  // ,"pad":"" and the closing brace
  if (bytes > out.size() + kFrame) {
    size_t pad = bytes - out.size() - kFrame;
    out.append(",\"pad\":\"").append(pad, 'x').append("\"");
  }
  out.push_back('}');
}

inline bool FindNumber(std::string_view text, std::string_view key, int64_t* value) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return false;
  const char* first = text.data() + at + key.size();
  return std::from_chars(first, text.data() + text.size(), *value).ec == std::errc();
}

inline bool ParsePayload(std::string_view payload, Record* r) {
  int64_t device = 0, seq = 0, kind = 0;
  constexpr std::string_view kDevice = "\"device\":\"dev-";
  size_t at = payload.find(kDevice);
  if (at == std::string_view::npos) return false;
  const char* first = payload.data() + at + kDevice.size();
  if (std::from_chars(first, payload.data() + payload.size(), device).ec != std::errc())
    return false;
  std::string_view rest = payload.substr(at + kDevice.size());
  if (!FindNumber(rest, "\"seq\":", &seq) || !FindNumber(rest, "\"k\":", &kind) ||
      !FindNumber(rest, "\"us\":", &r->intended_us)) {
    return false;
  }
  if (device < 0 || device >= 100000 || seq < 0 || seq >= 10000000 || kind < 0 || kind > 1) {
    return false;
  }
  r->device = static_cast<uint32_t>(device);
  r->seq = static_cast<uint32_t>(seq);
  r->kind = static_cast<uint8_t>(kind);
  return true;
}

inline Kind KindOfTopic(std::string_view topic) {
  return topic.ends_with("/alarm") ? kAlarm : kNormal;
}

}  // namespace bench

#endif  // SEGANET_BENCH_COMMON_RECORD_H_
