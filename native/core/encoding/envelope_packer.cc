#include "core/encoding/envelope_packer.h"

#include <algorithm>
#include <utility>

#include "core/base/require.h"
#include "core/record/encoder.h"
#include "core/record/rules.h"

namespace seganet {
namespace {

// Every so many envelopes, another one is kept for trials.
constexpr uint64_t kSpecimenEvery = 16;
constexpr size_t kMaxSpecimenBytes = 65'536;

// Removes a JSON string at the beginning of *text, after `name`, and sets *value to what is between
// its quotation marks. Returns false if there is none.
bool TakeField(std::string_view name, std::string_view* text, std::string_view* value) {
  if (!text->starts_with(name)) return false;
  text->remove_prefix(name.size());
  for (size_t i = 0; i < text->size(); ++i) {
    if ((*text)[i] == '\\') {
      ++i;
    } else if ((*text)[i] == '"') {
      *value = text->substr(0, i);
      text->remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// Reads the topic of a line that AppendNdjson() made. Returns false for any other line, and for a
// topic with escapes.
bool TopicOf(std::string_view line, std::string_view* topic) {
  std::string_view device;
  return TakeField("{\"d\":\"", &line, &device) && TakeField(",\"t\":\"", &line, topic) &&
         topic->find('\\') == std::string_view::npos;
}

}  // namespace

EnvelopePacker::EnvelopePacker(const CompressionLibrary* library, PackerOptions options)
    : library_(library),
      options_(std::move(options)),
      compressor_(Compressor::Make(*library, options_.compression)) {}

bool EnvelopePacker::SetDictionary(const DictionaryHash& hash, std::string_view content) {
  has_dictionary_ = false;
  if (!compressor_ || !compressor_->SetDictionary(content)) return false;
  hash_ = hash;
  has_dictionary_ = !content.empty();
  return true;
}

bool EnvelopePacker::MayPack(std::string_view lines) {
  if (!is_on_ || !compressor_ || lines.empty()) return false;
  if (!IsKeptOut(lines)) return true;
  ++numbers_.kept_out;
  return false;
}

bool EnvelopePacker::IsKeptOut(std::string_view lines) const {
  if (options_.never.empty()) return false;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = LineEnd(lines, at);
    std::string_view topic;
    // What cannot be checked is kept out, too.
    if (!TopicOf(lines.substr(at, end - at), &topic)) return true;
    const bool is_never =
        std::any_of(options_.never.begin(), options_.never.end(),
                    [topic](const std::string& filter) { return TopicMatches(filter, topic); });
    if (is_never) return true;
    at = end;
  }
  return false;
}

bool EnvelopePacker::Pack(std::string_view bytes, size_t overhead, std::string* out) {
  SEGANET_REQUIRE(compressor_ != nullptr);
  Keep(bytes);
  if (!compressor_->Compress(bytes, out)) {
    ++numbers_.failures;
    return false;
  }
  if (out->size() + overhead >= bytes.size()) {
    ++numbers_.larger;
    return false;
  }
  ++numbers_.packed;
  numbers_.before += bytes.size();
  numbers_.after += out->size();
  return true;
}

// Keeps one line of each envelope: lines of one envelope are more alike than those of several. A
// dictionary with a line of the specimen would look better than it is.
void EnvelopePacker::Keep(std::string_view bytes) {
  if (envelopes_++ % kSpecimenEvery == 0 && bytes.size() <= kMaxSpecimenBytes) {
    specimen_ = bytes;
    return;
  }
  random_ = random_ * 1'664'525 + 1'013'904'223;  // Numerical Recipes, 7.1
  const size_t somewhere = random_ % bytes.size();
  // The line that begins before it.
  const size_t feed = bytes.rfind('\n', somewhere == 0 ? 0 : somewhere - 1);
  const size_t start = somewhere == 0 || feed == std::string_view::npos ? 0 : feed + 1;
  const size_t end = LineEnd(bytes, start);
  if (end - start > kMaxLineBytes) return;
  if (lines_.size() == kLines) {
    std::string reused = std::move(lines_.front());
    lines_.pop_front();
    reused.assign(bytes.substr(start, end - start));
    lines_.push_back(std::move(reused));
  } else {
    lines_.emplace_back(bytes.substr(start, end - start));
  }
  ++fresh_lines_;
}

std::string EnvelopePacker::Propose(size_t max_bytes) {
  size_t bytes = 0;
  auto first = lines_.end();
  while (first != lines_.begin() && bytes + std::prev(first)->size() <= max_bytes) {
    --first;
    bytes += first->size();
  }
  std::string content;
  content.reserve(bytes);
  for (; first != lines_.end(); ++first) content += *first;
  fresh_lines_ = 0;
  return content;
}

Trial EnvelopePacker::Try(std::string_view content) {
  Trial trial;
  std::string out;
  if (!compressor_ || specimen_.empty() || content.empty()) return trial;
  const std::unique_ptr<Compressor> other = Compressor::Make(*library_, options_.compression);
  if (!other || !other->SetDictionary(content)) return trial;
  if (!compressor_->Compress(specimen_, &out)) return trial;
  trial.current = out.size();
  if (!other->Compress(specimen_, &out)) return trial;
  trial.proposed = out.size();
  trial.plain = specimen_.size();
  return trial;
}

}  // namespace seganet
