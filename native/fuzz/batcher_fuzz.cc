// Runs a batcher with any series of calls. Checks that records keep their order, that none is lost
// or duplicated, that limits hold, and that an uplink knows about the records held back for it.
// Input: the options, then for each call one byte and its arguments.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "core/queue/batcher.h"
#include "core/record/encoder.h"
#include "core/record/stored_payload.h"

namespace {

using seganet::Demand, seganet::Batch, seganet::BatchFlush, seganet::BatchKind, seganet::BatchMode,
    seganet::BatchPtr;

void Check(bool law) {
  if (!law) std::abort();
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  uint8_t Byte() { return at_ == end_ ? 0 : *at_++; }
  bool empty() const { return at_ == end_; }

 private:
  const uint8_t* at_;
  const uint8_t* const end_;
};

class Model : public seganet::Batcher::Sink {
 public:
  Model(const seganet::BatcherOptions& options, bool is_stamped)
      : options_(options), is_stamped_(is_stamped) {}

  void OnBatch(BatchPtr batch) override {
    Check(batch->record_count > 0);
    if (batch->record_count > 1) {
      Check(batch->record_class > options_.immediate_class);
      Check(batch->kind != BatchKind::kSingle);
      if (batch->kind == BatchKind::kEnvelope) Check(batch->bytes.size() <= options_.max_bytes);
      if (batch->kind == BatchKind::kEnvelope && options_.flush == BatchFlush::kAdaptive) {
        Check(batch->bytes.size() <= seganet::kMaxAdaptiveBytes);
      }
    }
    out_[batch->record_class] += batch->bytes;
    count_ += batch->record_count;
  }

  void Add(const seganet::Record& record) {
    std::string& in = in_[record.record_class];
    if (options_.mode == BatchMode::kEnvelope) {
      seganet::AppendNdjson(record, &in);
    } else if (options_.mode == BatchMode::kRecords) {
      seganet::AppendEntry(record, &in, is_stamped_);
    } else {
      in.append(record.device).append(record.topic);
      seganet::AppendStored(record, is_stamped_, &in);
    }
  }

  // True if the batcher holds records of this class.
  bool holds(uint8_t c) const { return in_[c].size() > out_[c].size(); }
  uint64_t count() const { return count_; }
  bool complete() const { return in_ == out_; }
  // True if the output of each class is a prefix of its input.
  bool in_order() const {
    for (size_t c = 0; c < in_.size(); ++c) {
      if (!in_[c].starts_with(out_[c])) return false;
    }
    return true;
  }

 private:
  const seganet::BatcherOptions options_;
  const bool is_stamped_;
  std::array<std::string, seganet::kClasses + 1> in_, out_;
  uint64_t count_ = 0;
};

// Checks each class that holds records after a turn: either an uplink demands it and its gap is not
// over, or it waits at every uplink. Raise() reports a waiting batcher only for its classes.
void CheckHeld(const Model& model, const seganet::BatcherOptions& options,
               std::array<Demand, 2>* demands) {
  for (uint8_t c = seganet::kCritical; c <= seganet::kClasses; ++c) {
    if (!model.holds(c)) continue;
    Check(options.mode != BatchMode::kOff && c > options.immediate_class);
    if ((*demands)[0].IsRaised(c) || (*demands)[1].IsRaised(c)) {
      Check(options.gap_us > 0);
      continue;
    }
    for (Demand& demand : *demands) {
      Check(demand.Raise(seganet::MaskOf(c)));
      demand.Withdraw(seganet::MaskOf(c));
      // Waits again, like a batcher that finds after its wake-up that the demand is gone.
      demand.Wait(seganet::MaskOf(c));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, std::min<size_t>(size, 2000));
  seganet::BatcherOptions options;
  const uint8_t how = input.Byte();
  options.mode = static_cast<BatchMode>(how % 3);
  options.flush = static_cast<BatchFlush>(how / 3 % 2);
  options.gap_us = how / 6 * 100;
  options.min_devices = input.Byte() % 20;
  options.max_bytes = 1 + input.Byte() * 4;
  options.max_delay_ms = 1 + input.Byte();
  options.immediate_class = input.Byte() % (seganet::kClasses + 1);
  Check(seganet::Validate(options).ok());
  const bool is_stamped = how >= 128;
  Model model(options, is_stamped);
  seganet::Batcher batcher(options, &model);
  batcher.SetStamped(is_stamped);
  std::array<Demand, 2> demands;
  batcher.SetDemands({&demands[0], &demands[1]});
  int64_t now = 0;
  uint64_t added = 0;
  while (!input.empty()) {
    const uint8_t call = input.Byte();
    now += int64_t{call} * 100;
    if (call % 16 == 0) {
      batcher.Flush(seganet::SealReason::kFlush);
      Check(batcher.NextDeadline() == seganet::kNever && model.complete());
    } else if (call % 16 == 1) {
      batcher.OnTime(now);
      Check(batcher.NextDeadline() > now);
      if (options.flush == BatchFlush::kAdaptive) CheckHeld(model, options, &demands);
    } else if (call % 16 == 2) {
      const uint8_t what = input.Byte();
      Demand& demand = demands[what % 2];
      const seganet::ClassMask classes = input.Byte() & seganet::kAllClasses;
      if (what % 3 == 0) demand.Raise(classes);
      if (what % 3 == 1) demand.Withdraw(classes);
      if (what % 3 == 2) demand.SetBatchBytes(classes, seganet::kMinBatchBytes + what * 4u);
    } else {
      seganet::Record record;
      const std::string payload(input.Byte(), static_cast<char>(input.Byte()));
      record.device = "d";
      record.topic = "t";
      record.payload = payload;
      record.record_class = static_cast<uint8_t>(1 + call % seganet::kClasses);
      record.seq = static_cast<uint32_t>(added++);
      record.arrived_us = now;
      model.Add(record);
      batcher.Add(record, input.Byte() % 24);
    }
    Check(model.in_order());
  }
  batcher.Flush(seganet::SealReason::kFlush);
  Check(model.complete() && model.count() == added);
  return 0;
}
