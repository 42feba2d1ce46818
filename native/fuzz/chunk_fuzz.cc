// Runs ReadChunk on any bytes. Checks that it does not read past the end, that a chunk it accepts
// is written again with the same bytes, and that the entries saved from a damaged chunk are valid.
// The checksums of half of the inputs are corrected first, because random input never passes them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/chunk.h"
#include "core/log/crc32c.h"

namespace {

using seganet::ChunkEntry, seganet::ChunkError, seganet::kChunkEntryBytes, seganet::kChunkHeadBytes;

void Check(bool law) {
  if (!law) std::abort();
}

void PutCrc(uint32_t crc, size_t at, std::string* chunk) {
  for (size_t i = 0; i < 4; ++i) (*chunk)[at + i] = static_cast<char>(crc >> (8 * i));
}

void PutRight(std::string* chunk) {
  if (chunk->size() < kChunkHeadBytes) return;
  const std::string_view view(*chunk);
  PutCrc(seganet::Crc32c(view.substr(0, 28)), 28, chunk);
  for (size_t at = kChunkHeadBytes; at + kChunkEntryBytes <= chunk->size();) {
    size_t size = 0;
    for (size_t i = 0; i < 4; ++i) size |= size_t{uint8_t(view[at + 40 + i])} << (8 * i);
    if (size > chunk->size() - at - kChunkEntryBytes) return;
    const uint32_t crc = seganet::Crc32c(view.substr(at, 52));
    PutCrc(seganet::Crc32c(view.substr(at + kChunkEntryBytes, size), crc), at + 52, chunk);
    at += kChunkEntryBytes + size;
  }
}

std::string Again(const seganet::ChunkHead& head, const std::vector<ChunkEntry>& entries) {
  seganet::ChunkWriter writer(head.record_class, head.epoch);
  for (const ChunkEntry& entry : entries) writer.Add(entry);
  std::string out;
  writer.Finish(&out);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string chunk(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) PutRight(&chunk);
  // A buffer of the exact size, so that the sanitizer detects a read past the end.
  const std::vector<char> bytes(chunk.begin(), chunk.end());
  seganet::ChunkHead head;
  std::vector<ChunkEntry> entries;
  const ChunkError error = ReadChunk({bytes.data(), bytes.size()}, &head, &entries);
  uint64_t records = 0;
  for (const ChunkEntry& entry : entries) {
    records += entry.record_count;
    Check(entry.kind <= 2 && entry.record_count > 0);
    Check(size_t{entry.topic_bytes} + entry.device_bytes <= entry.bytes.size());
    Check(entry.bytes.empty() ||
          (entry.bytes.data() > bytes.data() &&
           entry.bytes.data() + entry.bytes.size() <= bytes.data() + bytes.size()));
  }
  if (error == ChunkError::kNone) {
    Check(Again(head, entries) == chunk);
  } else if (!entries.empty() && records <= UINT32_MAX) {
    head.record_class = std::clamp<uint8_t>(head.record_class, 1, 4);
    seganet::ChunkHead saved;
    std::vector<ChunkEntry> same;
    const std::string mended = Again(head, entries);
    Check(ReadChunk(mended, &saved, &same) == ChunkError::kNone && same.size() == entries.size());
  }
  return 0;
}
