// Compresses the envelopes of one uplink node on one session.
#ifndef SEGANET_CORE_ENCODING_ENVELOPE_PACKER_H_
#define SEGANET_CORE_ENCODING_ENVELOPE_PACKER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/encoding/compressor.h"
#include "core/encoding/payload_prefix.h"

namespace seganet {

struct PackerOptions {
  Compression compression = Compression::kNone;
  // MQTT topic filters. An envelope with a record of such a topic is not compressed, and its
  // records become part of no dictionary: the size of a compressed payload tells something about
  // the records that it was compressed with (docs/use/security.md).
  std::vector<std::string> never = {};

  bool operator==(const PackerOptions&) const = default;
};

// Counters since construction, of envelopes and bytes.
struct PackerNumbers {
  uint64_t packed = 0;    // compressed
  uint64_t kept_out = 0;  // by a filter of `never`
  uint64_t larger = 0;    // sent as they were, because compression made them no smaller
  uint64_t failures = 0;  // of the library; sent as they were
  uint64_t before = 0;    // bytes of the compressed envelopes
  uint64_t after = 0;     // the same, compressed
};

// Bytes of the envelope that was kept for trials.
struct Trial {
  size_t plain = 0;     // uncompressed; 0 = there is none
  size_t current = 0;   // with the current dictionary, if there is one
  size_t proposed = 0;  // with the proposed one
};

// Keeps lines of recent envelopes, so that a dictionary can be made of them.
//
// Thread safety: one thread.
class EnvelopePacker {
 public:
  // Lines that a dictionary consists of: about 60, because more lines make payloads hardly smaller.
  static constexpr size_t kLines = 64;
  // Longer lines become part of no dictionary.
  static constexpr size_t kMaxLineBytes = 4'096;

  // `library` must outlive the object. REQUIRES: each filter is valid (ValidTopicFilter), and the
  // compression is not kNone.
  EnvelopePacker(const CompressionLibrary* library, PackerOptions options);

  const PackerOptions& options() const { return options_; }

  // False if the library lacks the compression.
  bool is_available() const { return compressor_ != nullptr; }

  // Switches compression; initially on.
  void SetOn(bool is_on) { is_on_ = is_on; }
  bool is_on() const { return is_on_; }

  // Uses a dictionary from now on; empty = none. Returns false if the library refuses it; then
  // there is none. REQUIRES: content.size() <= Compressor::kMaxDictionaryBytes.
  bool SetDictionary(const DictionaryHash& hash, std::string_view content);

  // Returns the hash of the current dictionary, or null.
  const DictionaryHash* dictionary() const { return has_dictionary_ ? &hash_ : nullptr; }

  // True if compression is on and no record of the envelope is kept out. `lines`: NDJSON.
  bool MayPack(std::string_view lines);

  // Replaces *out by the compressed bytes. Returns false if they are not at least `overhead` bytes
  // smaller; send `bytes` as they are then. REQUIRES: MayPack() of their lines.
  bool Pack(std::string_view bytes, size_t overhead, std::string* out);

  const PackerNumbers& numbers() const { return numbers_; }

  // Number of lines kept since the last Propose().
  size_t fresh_lines() const { return fresh_lines_; }
  // Returns the content for a new dictionary: recent lines, the latest last, at most `max_bytes`.
  std::string Propose(size_t max_bytes);
  // Compresses a recent envelope with the current dictionary and with `content`.
  Trial Try(std::string_view content);

 private:
  bool IsKeptOut(std::string_view lines) const;
  void Keep(std::string_view bytes);

  const CompressionLibrary* const library_;
  const PackerOptions options_;
  std::unique_ptr<Compressor> compressor_;
  bool is_on_ = true;
  bool has_dictionary_ = false;
  DictionaryHash hash_ = {};
  PackerNumbers numbers_;
  std::deque<std::string> lines_;  // the oldest first
  size_t fresh_lines_ = 0;
  uint32_t random_ = 1;
  std::string specimen_;  // a recent envelope
  uint64_t envelopes_ = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_ENCODING_ENVELOPE_PACKER_H_
