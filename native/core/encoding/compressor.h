// Compresses one payload at a time with zstd or deflate.
#ifndef SEGANET_CORE_ENCODING_COMPRESSOR_H_
#define SEGANET_CORE_ENCODING_COMPRESSOR_H_

#include <memory>
#include <string>
#include <string_view>

#include "core/encoding/compression_library.h"

namespace seganet {

// The numbers are those of the payload prefix (docs/reference/messages.md).
enum class Compression : uint8_t {
  kNone = 0,
  kZstd = 1,     // one zstd frame [RFC 8878]
  kDeflate = 2,  // one zlib stream [RFC 1950]
};

// Keeps its context between payloads, because a new one costs more than a small payload. Each
// payload is decompressed without the others.
//
// Thread safety: one thread.
class Compressor {
 public:
  // Levels of both libraries: 1 is fast, 9 is small.
  static constexpr int kLevel = 6;
  // A dictionary for deflate cannot be larger: it is the window [RFC 1950, 2.2].
  static constexpr size_t kMaxDictionaryBytes = 32'768;

  // Returns null if the library lacks the functions, or there is no memory. REQUIRES: `compression`
  // is not kNone.
  static std::unique_ptr<Compressor> Make(const CompressionLibrary& library,
                                          Compression compression, int level = kLevel);

  virtual ~Compressor() = default;
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // Uses `content` as raw dictionary for the following payloads; empty = none. Returns false if the
  // library refuses it; then there is none. REQUIRES: content.size() <= kMaxDictionaryBytes.
  virtual bool SetDictionary(std::string_view content) = 0;

  // Replaces *out by the compressed bytes. Returns false if the library fails; *out is then
  // undefined.
  virtual bool Compress(std::string_view bytes, std::string* out) = 0;

 protected:
  Compressor() = default;
};

}  // namespace seganet

#endif  // SEGANET_CORE_ENCODING_COMPRESSOR_H_
