#include "core/encoding/compression_library.h"

#include <string>

namespace seganet {
namespace {

using Find = std::function<void*(const char*)>;

// Sets *function. Returns false if the name is unknown.
template <typename Function>
bool Resolve(const Find& find, const std::string& name, Function* function) {
  *function = reinterpret_cast<Function>(find(name.c_str()));
  return *function != nullptr;
}

ZstdFunctions FindZstd(const Find& find) {
  ZstdFunctions zstd = {};
  const bool is_complete = Resolve(find, "ZSTD_createCCtx", &zstd.create_context) &&
                           Resolve(find, "ZSTD_freeCCtx", &zstd.free_context) &&
                           Resolve(find, "ZSTD_CCtx_setParameter", &zstd.set_parameter) &&
                           Resolve(find, "ZSTD_CCtx_refCDict", &zstd.reference_dictionary) &&
                           Resolve(find, "ZSTD_compress2", &zstd.compress) &&
                           Resolve(find, "ZSTD_compressBound", &zstd.bound) &&
                           Resolve(find, "ZSTD_isError", &zstd.is_error) &&
                           Resolve(find, "ZSTD_createCDict", &zstd.create_dictionary) &&
                           Resolve(find, "ZSTD_freeCDict", &zstd.free_dictionary);
  return is_complete ? zstd : ZstdFunctions{};
}

ZlibFunctions FindZlib(const Find& find, const std::string& prefix) {
  ZlibFunctions zlib = {};
  const bool is_complete = Resolve(find, prefix + "deflateInit2_", &zlib.init) &&
                           Resolve(find, prefix + "deflate", &zlib.deflate) &&
                           Resolve(find, prefix + "deflateReset", &zlib.reset) &&
                           Resolve(find, prefix + "deflateSetDictionary", &zlib.set_dictionary) &&
                           Resolve(find, prefix + "deflateBound", &zlib.bound) &&
                           Resolve(find, prefix + "deflateEnd", &zlib.end);
  return is_complete ? zlib : ZlibFunctions{};
}

}  // namespace

CompressionLibrary FindCompression(const Find& find) {
  CompressionLibrary library;
  library.zstd = FindZstd(find);
  library.zlib = FindZlib(find, "");
  // Some builds of Node rename the functions of their zlib.
  if (!library.has_zlib()) library.zlib = FindZlib(find, "Cr_z_");
  return library;
}

}  // namespace seganet
