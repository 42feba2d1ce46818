#include "core/devices/desk/request_desk.h"

#include <algorithm>
#include <utility>

#include "core/protocol/coap/codes.h"

namespace seganet {
namespace {

bool IsCounted(const DeskEvent& event) { return event.kind != DeskEventKind::kLatest; }

}  // namespace

size_t DeskEvent::bytes() const {
  size_t sum = sizeof(DeskEvent) + device.size() + reason.size() + address.size() + note.size() +
               payload.size();
  for (const auto& segment : path) sum += sizeof(std::string) + segment.size();
  for (const auto& one : query) sum += sizeof(std::string) + one.size();
  for (const auto& option : options) sum += sizeof option + option.value.size();
  return sum;
}

uint64_t RequestDesk::Open(uint32_t stage, uint32_t worker) {
  const std::lock_guard<std::mutex> lock(mutex_);
  connections_[++last_connection_] = {stage, worker, {}, false};
  return last_connection_;
}

std::optional<uint32_t> RequestDesk::WorkerOf(uint64_t connection) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return std::nullopt;
  return found->second.worker;
}

std::optional<uint32_t> RequestDesk::Move(uint64_t connection, std::string_view device,
                                          uint32_t to) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return std::nullopt;
  Connection& row = found->second;
  if (!row.device.empty() && row.device != device) return std::nullopt;
  row.device = device;
  return std::exchange(row.worker, to);
}

void RequestDesk::Forget(uint64_t connection) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = connections_.find(connection);
  if (found != connections_.end()) found->second.device.clear();
}

// REQUIRES: mutex_ is held. The caller rings the bell.
uint64_t RequestDesk::Add(uint32_t stage, DeskEvent event) {
  Queue& queue = queues_[stage];
  if (IsCounted(event)) bytes_ += event.bytes();
  queue.events.push_back(std::move(event));
  return queue.first + queue.events.size() - 1;
}

// REQUIRES: mutex_ is held, `waits` is in a queue.
void RequestDesk::Replace(DeskEvent* waits, DeskEvent event) {
  bytes_ -= waits->bytes();
  *waits = std::move(event);
  bytes_ += waits->bytes();
}

bool RequestDesk::Ask(DeskEvent request) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = connections_.find(request.connection);
    if (found == connections_.end() || open_ >= kMostAsked || waiting_ >= kMostAsked ||
        bytes_ + request.bytes() > kMostBytes) {
      ++totals_.refused;
      return false;
    }
    ++totals_.passed;
    found->second.is_known = true;
    ++open_;
    ++waiting_;
    request.kind = DeskEventKind::kAsked;
    Add(found->second.stage, std::move(request));
    CheckCrowd();
  }
  bell_->Ring();
  return true;
}

void RequestDesk::Answered(size_t n) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const size_t answered = std::min(open_, n);
  open_ -= answered;
  totals_.answered += answered;
}

void RequestDesk::Close(uint64_t connection, std::string device, std::string reason) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = connections_.find(connection);
    if (found == connections_.end()) return;
    const Connection row = std::move(found->second);
    connections_.erase(found);
    if (!row.is_known) return;
    DeskEvent event;
    event.kind = DeskEventKind::kGone;
    event.connection = connection;
    event.device = std::move(device);
    event.reason = std::move(reason);
    Add(row.stage, std::move(event));
  }
  bell_->Ring();
}

void RequestDesk::Gone(uint64_t connection, std::string device, std::string reason) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = connections_.find(connection);
    if (found == connections_.end()) return;
    DeskEvent event;
    event.kind = DeskEventKind::kGone;
    event.connection = connection;
    event.device = std::move(device);
    event.reason = std::move(reason);
    Add(found->second.stage, std::move(event));
  }
  bell_->Ring();
}

uint64_t RequestDesk::OpenAsk(uint32_t stage, const std::string& device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (asks_.size() >= kMostAsks) {
    ++totals_.full;
    return 0;
  }
  ++totals_.asked;
  asks_[++last_ask_] = {stage, device, 0};
  return last_ask_;
}

void RequestDesk::Give(uint64_t handle, const coap::AskAnswer& answer, bool last) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = asks_.find(handle);
    if (found == asks_.end()) return;
    DeskEvent event;
    event.kind = DeskEventKind::kAnswer;
    event.handle = handle;
    event.code = answer.code;
    event.last = last;
    event.failed = answer.failed;
    if (bytes_ + answer.payload.size() > kMostBytes) {
      event.code = coap::kUnavailable;
      event.failed = true;
    } else {
      event.options = answer.options;
      event.payload = answer.payload;
    }
    AskRow& row = found->second;
    Queue& queue = queues_[row.stage];
    // RFC 7641 1.3: the observer needs the latest state, not each state.
    if (row.number >= queue.first) {
      Replace(&queue.events[row.number - queue.first], std::move(event));
    } else {
      row.number = Add(row.stage, std::move(event));
    }
    if (last) asks_.erase(found);
  }
  bell_->Ring();
}

std::optional<std::string> RequestDesk::Drop(uint64_t handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = asks_.find(handle);
  if (found == asks_.end()) return std::nullopt;
  std::string device = std::move(found->second.device);
  asks_.erase(found);
  return device;
}

void RequestDesk::Recorded(uint32_t stage, uint64_t handle, DeskRecorded result) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    DeskEvent event;
    event.kind = DeskEventKind::kRecorded;
    event.handle = handle;
    event.recorded = result;
    Add(stage, std::move(event));
  }
  bell_->Ring();
}

uint64_t RequestDesk::Posted(uint32_t stage, uint64_t topic, std::string_view payload) {
  DeskEvent event;
  event.kind = DeskEventKind::kPosted;
  event.handle = topic;
  event.payload = payload;
  uint64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    number = event.number = NextPost();
    // RFC 7641 1.3, as for answers. Posts to other topics lose nothing by it.
    const auto latest = waiting_posts_ < kMostPosts ? posts_.end() : posts_.find(topic);
    if (latest != posts_.end()) {
      Queue& queue = queues_[stage];
      Replace(&queue.events[latest->second - queue.first], std::move(event));
    } else {
      ++waiting_posts_;
      posts_[topic] = Add(stage, std::move(event));
    }
    CheckCrowd();
  }
  bell_->Ring();
  return number;
}

void RequestDesk::AskLatest(uint32_t stage, uint64_t handle, size_t workers) {
  Latest latest;
  latest.missing = workers;
  latest.event.kind = DeskEventKind::kLatest;
  latest.event.handle = handle;
  const std::lock_guard<std::mutex> lock(mutex_);
  latest_[{stage, handle}] = std::move(latest);
}

void RequestDesk::GiveLatest(uint32_t stage, uint64_t handle, uint64_t number,
                             std::string_view payload) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = latest_.find({stage, handle});
    if (found == latest_.end()) return;
    Latest& latest = found->second;
    if (number > latest.event.number) {
      latest.event.number = number;
      latest.event.payload = payload;
    }
    if (--latest.missing > 0) return;
    Add(stage, std::move(latest.event));
    latest_.erase(found);
  }
  bell_->Ring();
}

// REQUIRES: mutex_ is held, as for CheckCrowd(). The event with this number leaves its queue.
void RequestDesk::Remove(const DeskEvent& event, uint64_t number) {
  if (IsCounted(event)) bytes_ -= event.bytes();
  if (event.kind == DeskEventKind::kAsked) --waiting_;
  if (event.kind != DeskEventKind::kPosted) return;
  --waiting_posts_;
  const auto latest = posts_.find(event.handle);
  if (latest != posts_.end() && latest->second == number) posts_.erase(latest);
}

void RequestDesk::CheckCrowd() {
  crowded_.store(bytes_ >= kMostBytes / 2, std::memory_order_relaxed);
}

std::vector<DeskEvent> RequestDesk::Take(uint32_t stage, size_t most) {
  bell_->Answer();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = queues_.find(stage);
  if (found == queues_.end()) return {};
  Queue& queue = found->second;
  std::vector<DeskEvent> taken;
  while (!queue.events.empty() && taken.size() < most) {
    taken.push_back(std::move(queue.events.front()));
    queue.events.pop_front();
    Remove(taken.back(), queue.first++);
  }
  CheckCrowd();
  return taken;
}

void RequestDesk::Clear(uint32_t stage) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = queues_.find(stage);
  if (found == queues_.end()) return;
  Queue& queue = found->second;
  std::deque<DeskEvent> events;
  uint64_t removed = queue.first;
  queue.first += queue.events.size();
  events.swap(queue.events);
  for (DeskEvent& event : events) {
    Remove(event, removed++);
    if (event.kind == DeskEventKind::kAsked || event.kind == DeskEventKind::kPosted) continue;
    // JavaScript waits for the outcome, whether there are connections or not.
    const auto ask = event.kind == DeskEventKind::kAnswer ? asks_.find(event.handle) : asks_.end();
    const uint64_t number = Add(stage, std::move(event));
    if (ask != asks_.end()) ask->second.number = number;
  }
  CheckCrowd();
  // Requests to devices stay until JavaScript drops them.
}

DeskFigures RequestDesk::figures() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  DeskFigures figures = totals_;
  figures.open_asks = asks_.size();
  for (const auto& [stage, queue] : queues_) figures.events += queue.events.size();
  figures.bytes = bytes_;
  return figures;
}

}  // namespace seganet
