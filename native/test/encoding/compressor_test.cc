// The compressors with the libraries of this machine. A library that it lacks is skipped.
#include "core/encoding/compressor.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace seganet {
namespace {

void* Find(const char* name) {
  static void* const zstd = dlopen("libzstd.so.1", RTLD_NOW);
  static void* const zlib = dlopen("libz.so.1", RTLD_NOW);
  void* const found = zstd ? dlsym(zstd, name) : nullptr;
  return found || !zlib ? found : dlsym(zlib, name);
}

template <typename Function>
Function FindAs(const char* name) {
  return reinterpret_cast<Function>(Find(name));
}

// Decompresses with the same libraries; "?" = an error.
std::string Decompressed(Compression compression, const std::string& bytes,
                         const std::string& dictionary) {
  std::string out(1 << 20, '\0');
  if (compression == Compression::kZstd) {
    void* const context = FindAs<void* (*)()>("ZSTD_createDCtx")();
    const size_t size =
        FindAs<size_t (*)(void*, void*, size_t, const void*, size_t, const void*, size_t)>(
            "ZSTD_decompress_usingDict")(context, out.data(), out.size(), bytes.data(),
                                         bytes.size(), dictionary.data(), dictionary.size());
    FindAs<size_t (*)(void*)>("ZSTD_freeDCtx")(context);
    if (FindAs<unsigned (*)(size_t)>("ZSTD_isError")(size)) return "?";
    out.resize(size);
    return out;
  }
  constexpr int kNeedsDictionary = 2, kStreamEnd = 1, kNoFlush = 0;
  DeflateStream stream = {};
  const auto inflate = FindAs<int (*)(DeflateStream*, int)>("inflate");
  FindAs<int (*)(DeflateStream*, const char*, int)>("inflateInit_")(&stream, "1", sizeof stream);
  stream.next_in = reinterpret_cast<const uint8_t*>(bytes.data());
  stream.available_in = static_cast<unsigned>(bytes.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.available_out = static_cast<unsigned>(out.size());
  int result = inflate(&stream, kNoFlush);
  if (result == kNeedsDictionary) {
    FindAs<int (*)(DeflateStream*, const uint8_t*, unsigned)>("inflateSetDictionary")(
        &stream, reinterpret_cast<const uint8_t*>(dictionary.data()),
        static_cast<unsigned>(dictionary.size()));
    result = inflate(&stream, kNoFlush);
  }
  out.resize(out.size() - stream.available_out);
  FindAs<int (*)(DeflateStream*)>("inflateEnd")(&stream);
  return result == kStreamEnd ? out : "?";
}

std::string Lines(int from, int count) {
  std::string lines;
  for (int i = from; i < from + count; ++i) {
    lines += "{\"d\":\"meter-" + std::to_string(i % 7) +
             "\",\"t\":\"hall\",\"ts\":1763712000123,\"p\":{\"kWh\":" + std::to_string(i * 37) +
             "}}\n";
  }
  return lines;
}

class CompressorTest : public testing::TestWithParam<Compression> {
 protected:
  void SetUp() override {
    library_ = FindCompression(Find);
    const bool has = GetParam() == Compression::kZstd ? library_.has_zstd() : library_.has_zlib();
    if (!has) GTEST_SKIP() << "this machine lacks libzstd.so.1 or libz.so.1";
  }
  CompressionLibrary library_;
};

TEST_P(CompressorTest, EachPayloadIsDecompressedWithoutTheOthers) {
  const auto compressor = Compressor::Make(library_, GetParam());
  ASSERT_NE(compressor, nullptr);
  for (int count = 0; count < 60; count += 7) {
    const std::string lines = Lines(count, count);
    std::string out = "what was here before";
    ASSERT_TRUE(compressor->Compress(lines, &out));
    EXPECT_EQ(Decompressed(GetParam(), out, ""), lines);
    if (count > 10) EXPECT_LT(out.size() * 3, lines.size());
  }
}

TEST_P(CompressorTest, ADictionaryMakesOneRecordSmallerUntilItIsRemoved) {
  const auto compressor = Compressor::Make(library_, GetParam());
  const std::string line = Lines(100, 1), content = Lines(0, 60);
  std::string plain, with, after;
  ASSERT_TRUE(compressor->Compress(line, &plain));
  ASSERT_TRUE(compressor->SetDictionary(content));
  ASSERT_TRUE(compressor->Compress(line, &with));
  EXPECT_LT(with.size() * 2, plain.size());
  EXPECT_EQ(Decompressed(GetParam(), with, content), line);
  ASSERT_TRUE(compressor->SetDictionary(Lines(30, 60)));
  ASSERT_TRUE(compressor->Compress(line, &with));
  EXPECT_EQ(Decompressed(GetParam(), with, Lines(30, 60)), line);
  ASSERT_TRUE(compressor->SetDictionary(""));
  ASSERT_TRUE(compressor->Compress(line, &after));
  EXPECT_EQ(after, plain);
}

TEST_P(CompressorTest, NoBytesAndIncompressibleBytesComeBack) {
  const auto compressor = Compressor::Make(library_, GetParam());
  std::string noise, out;
  uint32_t random = 7;
  for (int i = 0; i < 70'000; ++i) {
    random = random * 1'664'525 + 1'013'904'223;
    noise.push_back(static_cast<char>(random >> 24));
  }
  for (const std::string& bytes : {std::string(), std::string(1, '\0'), noise}) {
    ASSERT_TRUE(compressor->Compress(bytes, &out));
    EXPECT_EQ(Decompressed(GetParam(), out, ""), bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompressorTest,
                         testing::Values(Compression::kZstd, Compression::kDeflate));

TEST(CompressionLibrary, WithoutItsFunctionsThereIsNone) {
  const CompressionLibrary none = FindCompression([](const char*) { return nullptr; });
  EXPECT_EQ(Compressor::Make(none, Compression::kZstd), nullptr);
  EXPECT_EQ(Compressor::Make(none, Compression::kDeflate), nullptr);
  // One missing function is enough.
  const CompressionLibrary some = FindCompression([](const char* name) {
    return std::string(name) == "ZSTD_freeCDict" || std::string(name) == "deflateEnd"
               ? nullptr
               : reinterpret_cast<void*>(1);
  });
  EXPECT_FALSE(some.has_zstd());
}

TEST(CompressionLibrary, TheFunctionsOfARenamedZlibAreFound) {
  const CompressionLibrary renamed = FindCompression([](const char* name) {
    return std::string(name).starts_with("Cr_z_") ? reinterpret_cast<void*>(1) : nullptr;
  });
  EXPECT_TRUE(renamed.has_zlib());
  EXPECT_FALSE(renamed.has_zstd());
}

}  // namespace
}  // namespace seganet
