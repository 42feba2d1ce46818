#include "core/protocol/coap/uploads.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/protocol/coap/codes.h"

namespace seganet::coap {
namespace {

// RFC 7959 2.2: each block except the last has the size that its option states.
bool GoodSize(const Block& block, size_t size, bool bert) {
  if (block.exponent == Block::kBert) {
    if (!bert) return false;
    return !block.more || (size > 0 && size % block.size() == 0);
  }
  return block.more ? size == block.size() : size <= block.size();
}

}  // namespace

Uploads::Step Uploads::Add(const std::string& key, std::string_view device, const Block& block,
                           std::string_view payload, bool bert, int64_t now_us,
                           std::string* whole) {
  if (!GoodSize(block, payload.size(), bert)) return Step::kBadBlock;
  auto found = by_key_.find(key);
  const size_t offset = block.offset();
  if (offset + payload.size() > max_body_bytes_) {
    if (found != by_key_.end()) Erase(found->second);
    return Step::kTooLarge;
  }
  if (block.number == 0) {
    // RFC 7959 2.5: the first block starts a new body and discards the previous one.
    if (found != by_key_.end()) Erase(found->second);
    if (!block.more) {
      *whole = payload;
      return Step::kWhole;
    }
    MakeRoomFor(device);
    bodies_.push_back({key, std::string(device), {}, now_us});
    found = by_key_.emplace(key, std::prev(bodies_.end())).first;
    bytes_ += bodies_.back().memory();
  }
  if (found == by_key_.end()) return Step::kIncomplete;
  const Bodies::iterator body = found->second;
  body->touched_us = now_us;
  bodies_.splice(bodies_.end(), bodies_, body);
  if (offset + payload.size() == body->bytes.size() && !payload.empty() && block.more &&
      body->bytes.compare(offset, payload.size(), payload) == 0) {
    return Step::kContinue;  // the device missed our response and repeated the block
  }
  if (offset != body->bytes.size()) return Step::kIncomplete;
  Append(body, payload);
  if (block.more) return Step::kContinue;
  bytes_ -= body->memory();
  *whole = std::move(body->bytes);
  bytes_ += body->memory();
  Erase(body);
  return Step::kWhole;
}

void Uploads::Append(Bodies::iterator body, std::string_view payload) {
  bytes_ -= body->memory();
  if (body->bytes.capacity() - body->bytes.size() < payload.size()) {
    const size_t needed = body->bytes.size() + payload.size();
    body->bytes.reserve(std::min(max_body_bytes_, std::max(body->bytes.size() * 2, needed)));
  }
  body->bytes.append(payload);
  bytes_ += body->memory();
  while (bytes_ > limits_.max_upload_bytes && bodies_.begin() != body) Erase(bodies_.begin());
}

void Uploads::MakeRoomFor(std::string_view device) {
  size_t of_device = 0;
  Bodies::iterator oldest = bodies_.end();
  for (auto body = bodies_.begin(); body != bodies_.end(); ++body) {
    if (body->device != device) continue;
    if (of_device++ == 0) oldest = body;
  }
  if (of_device > 0 && of_device >= limits_.max_uploads_per_device) Erase(oldest);
  while (!bodies_.empty() && bodies_.size() >= limits_.max_uploads) Erase(bodies_.begin());
}

void Uploads::Erase(Bodies::iterator body) {
  bytes_ -= body->memory();
  by_key_.erase(body->key);
  bodies_.erase(body);
}

void Uploads::OnTime(int64_t now_us) {
  while (deadline_us() <= now_us) Erase(bodies_.begin());
}

int64_t Uploads::deadline_us() const {
  if (bodies_.empty()) return std::numeric_limits<int64_t>::max();
  return bodies_.front().touched_us + kExchangeLifetimeUs;
}

}  // namespace seganet::coap
