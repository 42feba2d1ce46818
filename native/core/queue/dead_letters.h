// The queue of dead letters: records that the cloud will never accept, until they are written to
// the log's table of dead letters.
#ifndef SEGANET_CORE_QUEUE_DEAD_LETTERS_H_
#define SEGANET_CORE_QUEUE_DEAD_LETTERS_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "core/queue/batch.h"

namespace seganet {

struct DeadLetter {
  BatchPtr batch;      // only the refused records, with all receipts of their original batch
  uint32_t code = 0;   // of the refusal (lanes_context.h)
  std::string reason;  // of the refusal
};

// Thread safety: any member from any thread.
class DeadLetters {
 public:
  void Push(DeadLetter letter) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(letter));
  }
  // Puts back a dead letter that was not written.
  void Return(DeadLetter letter) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_front(std::move(letter));
  }
  // Removes the oldest dead letter. Returns false if the queue is empty.
  bool Pop(DeadLetter* letter) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.empty()) return false;
    *letter = std::move(waiting_.front());
    waiting_.pop_front();
    return true;
  }
  bool empty() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waiting_.empty();
  }

 private:
  std::mutex mutex_;
  std::deque<DeadLetter> waiting_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_DEAD_LETTERS_H_
