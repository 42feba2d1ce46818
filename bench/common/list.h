#ifndef SEGANET_BENCH_COMMON_LIST_H_
#define SEGANET_BENCH_COMMON_LIST_H_

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace bench {

// Lists of byte strings in files: a length (4 bytes, little endian) and that many bytes, repeated.

// Returns the list of a file; empty if the name is empty. A truncated last element is left out.
inline std::vector<std::string> ReadList(const std::string& file) {
  std::vector<std::string> list;
  if (file.empty()) return list;
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  for (size_t at = 0; at + 4 <= bytes.size();) {
    uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at, 4);
    if (bytes.size() - at - 4 < size) break;
    list.push_back(bytes.substr(at + 4, size));
    at += 4 + size_t{size};
  }
  return list;
}

// Returns false if the file cannot be written.
inline bool WriteList(const std::string& file, const std::vector<std::string>& list) {
  std::ofstream out(file, std::ios::binary);
  for (const std::string& each : list) {
    const auto size = static_cast<uint32_t>(each.size());
    out.write(reinterpret_cast<const char*>(&size), 4);
    out.write(each.data(), static_cast<std::streamsize>(each.size()));
  }
  return static_cast<bool>(out.flush());
}

}  // namespace bench

#endif  // SEGANET_BENCH_COMMON_LIST_H_
