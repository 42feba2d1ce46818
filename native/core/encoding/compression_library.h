// The compression functions of zstd and zlib that this process has. The addon links neither
// library: Node's executable contains both and exports their functions.
#ifndef SEGANET_CORE_ENCODING_COMPRESSION_LIBRARY_H_
#define SEGANET_CORE_ENCODING_COMPRESSION_LIBRARY_H_

#include <cstddef>
#include <cstdint>
#include <functional>

namespace seganet {

// The z_stream of zlib.h, whose layout is the same in all versions of zlib 1.
struct DeflateStream {
  const uint8_t* next_in;
  unsigned available_in;
  unsigned long total_in;
  uint8_t* next_out;
  unsigned available_out;
  unsigned long total_out;
  const char* message;
  void* state;
  void* (*allocate)(void*, unsigned, unsigned);
  void (*release)(void*, void*);
  void* opaque;
  int data_type;
  unsigned long checksum;
  unsigned long reserved;
};

// The stable API of zstd 1.4 and newer. All members are null, or none.
struct ZstdFunctions {
  void* (*create_context)();
  size_t (*free_context)(void*);
  size_t (*set_parameter)(void*, int parameter, int value);
  size_t (*reference_dictionary)(void*, const void* dictionary);
  size_t (*compress)(void*, void* out, size_t out_bytes, const void* in, size_t in_bytes);
  size_t (*bound)(size_t bytes);
  unsigned (*is_error)(size_t code);
  void* (*create_dictionary)(const void* content, size_t bytes, int level);
  size_t (*free_dictionary)(void*);
};

// All members are null, or none.
struct ZlibFunctions {
  int (*init)(DeflateStream*, int level, int method, int window_bits, int memory, int strategy,
              const char* version, int stream_bytes);
  int (*deflate)(DeflateStream*, int flush);
  int (*reset)(DeflateStream*);
  int (*set_dictionary)(DeflateStream*, const uint8_t* content, unsigned bytes);
  unsigned long (*bound)(DeflateStream*, unsigned long bytes);
  int (*end)(DeflateStream*);
};

struct CompressionLibrary {
  ZstdFunctions zstd = {};
  ZlibFunctions zlib = {};

  bool has_zstd() const { return zstd.compress != nullptr; }
  bool has_zlib() const { return zlib.deflate != nullptr; }
};

// Returns the functions that `find` knows by their C names; it returns null for an unknown name.
CompressionLibrary FindCompression(const std::function<void*(const char*)>& find);

}  // namespace seganet

#endif  // SEGANET_CORE_ENCODING_COMPRESSION_LIBRARY_H_
