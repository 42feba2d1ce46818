// A compression library for tests, whose output is the same on each machine.
#ifndef SEGANET_TEST_SUPPORT_FAKE_COMPRESSION_H_
#define SEGANET_TEST_SUPPORT_FAKE_COMPRESSION_H_

#include <cstring>
#include <string>
#include <string_view>

#include "core/encoding/compression_library.h"

namespace seganet::test {

struct FakeContext {
  const std::string* dictionary = nullptr;
};

// Returns what the library makes of `bytes`: Z, the dictionary's first byte or -, and the size.
inline std::string FakeCompressed(std::string_view bytes, std::string_view dictionary = {}) {
  return std::string("Z") + (dictionary.empty() ? '-' : dictionary[0]) +
         std::to_string(bytes.size());
}

// Has zstd only. Fails to compress bytes that contain FAIL, and makes bytes that contain LARGE
// larger.
inline CompressionLibrary FakeLibrary() {
  CompressionLibrary library;
  ZstdFunctions& zstd = library.zstd;
  zstd.create_context = [] { return static_cast<void*>(new FakeContext); };
  zstd.free_context = [](void* context) -> size_t {
    delete static_cast<FakeContext*>(context);
    return 0;
  };
  zstd.set_parameter = [](void*, int, int) -> size_t { return 0; };
  zstd.reference_dictionary = [](void* context, const void* dictionary) -> size_t {
    static_cast<FakeContext*>(context)->dictionary = static_cast<const std::string*>(dictionary);
    return 0;
  };
  zstd.compress = [](void* context, void* out, size_t, const void* in, size_t in_bytes) -> size_t {
    const std::string_view bytes(static_cast<const char*>(in), in_bytes);
    if (bytes.find("FAIL") != std::string_view::npos) return SIZE_MAX;
    const std::string* dictionary = static_cast<FakeContext*>(context)->dictionary;
    std::string made = FakeCompressed(bytes, dictionary ? *dictionary : std::string_view());
    if (bytes.find("LARGE") != std::string_view::npos) made.append(bytes);
    std::memcpy(out, made.data(), made.size());
    return made.size();
  };
  zstd.bound = [](size_t bytes) { return bytes + 64; };
  zstd.is_error = [](size_t code) { return code == SIZE_MAX ? 1U : 0U; };
  zstd.create_dictionary = [](const void* content, size_t bytes, int) {
    return static_cast<void*>(new std::string(static_cast<const char*>(content), bytes));
  };
  zstd.free_dictionary = [](void* dictionary) -> size_t {
    delete static_cast<std::string*>(dictionary);
    return 0;
  };
  return library;
}

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_FAKE_COMPRESSION_H_
