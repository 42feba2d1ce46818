#include "core/encoding/compressor.h"

#include <limits>

#include "core/base/require.h"

namespace seganet {
namespace {

// zstd.h
constexpr int kCompressionLevel = 100;
// zlib.h
constexpr int kOk = 0, kStreamEnd = 1, kFinish = 4;
constexpr int kDeflated = 8, kWindowBits = 15, kMemoryLevel = 8, kDefaultStrategy = 0;
// deflateInit2_ compares the first digit.
constexpr char kZlibVersion[] = "1";

class ZstdCompressor final : public Compressor {
 public:
  ZstdCompressor(const ZstdFunctions& zstd, int level)
      : zstd_(zstd), level_(level), context_(zstd.create_context()) {}

  ~ZstdCompressor() override {
    if (context_) zstd_.free_context(context_);
    if (dictionary_) zstd_.free_dictionary(dictionary_);
  }

  bool IsReady() {
    return context_ && !zstd_.is_error(zstd_.set_parameter(context_, kCompressionLevel, level_));
  }

  bool SetDictionary(std::string_view content) override {
    SEGANET_REQUIRE(content.size() <= kMaxDictionaryBytes);
    void* const made =
        content.empty() ? nullptr : zstd_.create_dictionary(content.data(), content.size(), level_);
    bool is_set = content.empty() || made != nullptr;
    if (zstd_.is_error(zstd_.reference_dictionary(context_, made))) {
      // The context refers to no dictionary now [zstd.h, ZSTD_CCtx_refCDict].
      zstd_.reference_dictionary(context_, nullptr);
      is_set = false;
    }
    if (dictionary_) zstd_.free_dictionary(dictionary_);
    dictionary_ = made;
    return is_set;
  }

  bool Compress(std::string_view bytes, std::string* out) override {
    out->resize(zstd_.bound(bytes.size()));
    const size_t size =
        zstd_.compress(context_, out->data(), out->size(), bytes.data(), bytes.size());
    if (zstd_.is_error(size)) return false;
    out->resize(size);
    return true;
  }

 private:
  const ZstdFunctions zstd_;
  const int level_;
  void* const context_;
  void* dictionary_ = nullptr;
};

class DeflateCompressor final : public Compressor {
 public:
  DeflateCompressor(const ZlibFunctions& zlib, int level) : zlib_(zlib) {
    is_ready_ = zlib_.init(&stream_, level, kDeflated, kWindowBits, kMemoryLevel, kDefaultStrategy,
                           kZlibVersion, sizeof stream_) == kOk;
  }

  ~DeflateCompressor() override {
    if (is_ready_) zlib_.end(&stream_);
  }

  bool IsReady() const { return is_ready_; }

  bool SetDictionary(std::string_view content) override {
    SEGANET_REQUIRE(content.size() <= kMaxDictionaryBytes);
    dictionary_ = content;
    return true;
  }

  bool Compress(std::string_view bytes, std::string* out) override {
    if (bytes.size() > std::numeric_limits<unsigned>::max() / 2) return false;
    if (zlib_.reset(&stream_) != kOk) return false;
    if (!dictionary_.empty() &&
        zlib_.set_dictionary(&stream_, reinterpret_cast<const uint8_t*>(dictionary_.data()),
                             static_cast<unsigned>(dictionary_.size())) != kOk) {
      return false;
    }
    // The bound does not count the checksum of the dictionary [RFC 1950, 2.2].
    out->resize(zlib_.bound(&stream_, static_cast<unsigned long>(bytes.size())) + 4);
    stream_.next_in = reinterpret_cast<const uint8_t*>(bytes.data());
    stream_.available_in = static_cast<unsigned>(bytes.size());
    stream_.next_out = reinterpret_cast<uint8_t*>(out->data());
    stream_.available_out = static_cast<unsigned>(out->size());
    if (zlib_.deflate(&stream_, kFinish) != kStreamEnd) return false;
    out->erase(out->size() - stream_.available_out);
    return true;
  }

 private:
  const ZlibFunctions zlib_;
  DeflateStream stream_ = {};
  bool is_ready_ = false;
  std::string dictionary_;
};

}  // namespace

std::unique_ptr<Compressor> Compressor::Make(const CompressionLibrary& library,
                                             Compression compression, int level) {
  SEGANET_REQUIRE(compression != Compression::kNone);
  if (compression == Compression::kZstd) {
    if (!library.has_zstd()) return nullptr;
    auto zstd = std::make_unique<ZstdCompressor>(library.zstd, level);
    return zstd->IsReady() ? std::move(zstd) : nullptr;
  }
  if (!library.has_zlib()) return nullptr;
  auto deflate = std::make_unique<DeflateCompressor>(library.zlib, level);
  return deflate->IsReady() ? std::move(deflate) : nullptr;
}

}  // namespace seganet
