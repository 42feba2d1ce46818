#include "core/devices/subscribers/subscriber.h"

#include <algorithm>

namespace seganet {
namespace {

constexpr size_t kBlockBytes = 16'384;

}  // namespace

Subscriber::Subscriber(Options options, const SubscriberLimits& limits, MemoryShare* shared)
    : options_(std::move(options)), limits_(limits), shared_(shared) {}

Subscriber::~Subscriber() { shared_->Add(-Beyond(held_)); }

int64_t Subscriber::Beyond(int64_t bytes) const {
  return std::max<int64_t>(bytes - limits_.kept_bytes, 0);
}

// REQUIRES: mutex_ is held, as for Release.
bool Subscriber::Reserve(int64_t bytes) {
  if (held_ + bytes > limits_.most_bytes) return false;
  const int64_t more = Beyond(held_ + bytes) - Beyond(held_);
  if (more > 0 && !shared_->Add(more)) {
    shared_->Add(-more);
    return false;
  }
  held_ += bytes;
  return true;
}

void Subscriber::Release(int64_t bytes) {
  shared_->Add(Beyond(held_ - bytes) - Beyond(held_));
  held_ -= bytes;
}

Subscriber::Mailed Subscriber::Put(const std::shared_ptr<const SubscriberChunk>& chunk,
                                   std::span<const SubscriberRange> ranges) {
  Mailed mailed;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const SubscriberRange& range : ranges) {
      if (Reserve(static_cast<int64_t>(range.end - range.begin))) {
        mail_.push_back({chunk, range.begin, range.end});
      } else {
        mailed.dropped += range.records;
      }
    }
    mailed.wake = TakeWake();
  }
  if (mailed.dropped > 0) Drop(mailed.dropped);
  return mailed;
}

// Returns the worker to wake, once until it is served. REQUIRES: mutex_ is held.
uint32_t Subscriber::TakeWake() {
  if (woken_ || mail_.empty() || worker_ == kNoWorker) return kNoWorker;
  woken_ = true;
  return worker_;
}

bool Subscriber::PutKept(const std::shared_ptr<const SubscriberChunk>& chunk, uint32_t* wake) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto bytes = static_cast<int64_t>(chunk->bytes.size());
  if (held_ + bytes > limits_.kept_bytes) return false;
  held_ += bytes;
  mail_.push_back({chunk, 0, chunk->bytes.size()});
  *wake = TakeWake();
  return true;
}

int64_t Subscriber::kept_room() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return limits_.kept_bytes - held_;
}

int64_t Subscriber::waiting_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return held_;
}

void Subscriber::Collect() {
  std::vector<Piece> mail;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    mail.swap(mail_);
    woken_ = false;
  }
  for (const Piece& piece : mail) {
    const std::string_view packets =
        std::string_view(piece.chunk->bytes).substr(piece.begin, piece.end - piece.begin);
    if (blocks_.empty() || blocks_.back().size() + packets.size() > kBlockBytes) {
      if (!blocks_.empty()) blocks_.back().shrink_to_fit();
      blocks_.emplace_back();
    }
    blocks_.back().append(packets);
  }
}

bool Subscriber::Take(size_t most, std::string* to) {
  Collect();
  size_t taken = 0;
  while (!blocks_.empty() && taken < most) {
    taken += blocks_.front().size();
    if (to->empty()) {
      to->swap(blocks_.front());
    } else {
      to->append(blocks_.front());
    }
    blocks_.pop_front();
  }
  if (taken == 0) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  Release(static_cast<int64_t>(taken));
  return true;
}

void Subscriber::Enter(uint32_t worker, Agent* agent) {
  const std::lock_guard<std::mutex> lock(mutex_);
  worker_ = worker;
  agent_ = agent;
}

void Subscriber::Leave() {
  const std::lock_guard<std::mutex> lock(mutex_);
  worker_ = kNoWorker;
  agent_ = nullptr;
  // What was posted to the worker that it leaves finds no agent there.
  woken_ = false;
}

Agent* Subscriber::AgentAt(uint32_t worker) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return worker_ == worker ? agent_ : nullptr;
}

}  // namespace seganet
