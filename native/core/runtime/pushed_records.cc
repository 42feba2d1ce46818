#include "core/runtime/pushed_records.h"

#include <utility>

#include "core/record/frame.h"
#include "core/runtime/slot_mover.h"

namespace seganet {
namespace {

constexpr size_t kPushesPerTurn = 1024;

}  // namespace

PushedRecords::PushedRecords(const PushedRecordsContext& context)
    : context_(context), ring_(context.ring_bytes), tickets_(context.complete) {
  context_.receipts->Enroll(&tickets_);
}

bool PushedRecords::Push(uint32_t stage, const Record& record, bool assign_seq) {
  char* to = ring_.Reserve(FrameBytes(record));
  if (to == nullptr) return false;
  Record marked = record;
  if (assign_seq) marked.flags |= kFlagAssignSeq;
  WriteRecordFrame(marked, stage, to);
  ring_.Commit();
  context_.thread->Wake();
  if (record.record_class == kCritical) context_.nap->End();
  return true;
}

// While the message ring has no room, pushed records stay in their ring, and push() then returns
// FULL.
void PushedRecords::Serve() {
  if (!context_.pauses->MessagesHigh()) DrainRing(kPushesPerTurn);
}

void PushedRecords::DrainRing(size_t most) {
  *context_.now = Now::Read();
  for (size_t i = 0; i < most; ++i) {
    const std::string_view frame = ring_.Front();
    if (frame.data() == nullptr) {
      tickets_.Flush();
      return;
    }
    // The row of the record's device may still be in a parcel to this worker.
    if (context_.mover->is_arriving()) break;
    Run(frame);
    ring_.Pop();
  }
  tickets_.Flush();
  context_.thread->Wake();
}

void PushedRecords::Drain() { DrainRing(ring_.used() / sizeof(FrameHeader) + 1); }

void PushedRecords::Run(std::string_view frame) {
  Record record = ReadRecordFrame(frame.data());
  context_.counters->Add(Counter::kRecordsPushed);
  // A record that has a number was counted before; it returns from a message wire.
  const bool is_new = (record.flags & kFlagAssignSeq) != 0;
  if (is_new) context_.counters->Add(Counter::kRecordsReceived);
  const uint32_t stage = FrameStage(frame.data());
  Device* const device = record.device.empty() ? nullptr : Identify(stage, &record);
  if (device == nullptr && !record.device.empty()) {
    context_.counters->Add(Drop::kTooManyDevices, record.record_class);
    if (AsksForSafety(stage, record)) tickets_.Fail(record.ticket);
    if (record.deferral != 0) tickets_.Fail(record.deferral);
    return;
  }
  record.arrived_us = context_.now->mono_us;
  if (record.ts_ms == 0) record.ts_ms = context_.now->wall_ms;
  Device* const entering = is_new ? device : nullptr;
  uint32_t ticket = AsksForSafety(stage, record) ? std::exchange(record.ticket, 0) : 0;
  const bool defers = record.deferral != 0;
  if (defers) ticket = record.deferral;
  if (ticket == 0) {
    Pass(stage, &record, entering);
    return;
  }
  const bool waits = !context_.acknowledge_at_once;
  const uint64_t handle = tickets_.Open(ticket);
  if (waits) record.receipt = tickets_.ReceiptFor(handle);
  if (defers) record.deferred = tickets_.ReceiptFor(handle);
  const Passage passage = Pass(stage, &record, entering);
  if (passage.taken) {
    tickets_.Expect(handle, (waits ? passage.copies : 0) + passage.deferred);
  } else {
    tickets_.Withhold(handle, passage.untaken);
  }
}

// Runs the record. `device` is null if the record has entered before, or has no device.
Passage PushedRecords::Pass(uint32_t stage, Record* record, Device* device) {
  const Passage passage = context_.pipeline->Run(stage, *record);
  if (device == nullptr) return passage;
  if (passage.record_class != 0) record->record_class = passage.record_class;
  context_.values->Keep(device, *record);
  if (passage.taken) {
    context_.fanout->OnRecord(context_.pipeline->plan().SettingsOf(stage), *record,
                              context_.now->mono_us);
  }
  return passage;
}

// True if the record's ticket is completed when the record is safe. A ticket for an uplink stage
// stays with the record and is completed when the cloud has it.
bool PushedRecords::AsksForSafety(uint32_t id, const Record& record) const {
  if (record.ticket == 0) return false;
  const Stage* stage = context_.pipeline->plan().Find(id);
  return stage == nullptr || stage->spec.kind != StageKind::kUplink;
}

// Counts the device as present and numbers the record. Returns null if there is no room for the
// device.
Device* PushedRecords::Identify(uint32_t stage, Record* record) {
  Device* device = context_.devices->Get(record->device, context_.now->mono_us);
  if (device == nullptr) return nullptr;
  context_.devices->Count(device, context_.now->mono_us);
  if (record->flags & kFlagAssignSeq) {
    record->seq = device->TakeSeq();
    context_.exchange->CountRecord(device->slot);
    device->CountRecord(stage, record->record_class, record->payload.size(), context_.now->mono_us);
  }
  record->flags &= static_cast<uint8_t>(~kFlagAssignSeq);
  return device;
}

}  // namespace seganet
