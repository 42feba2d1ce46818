// The header of a batch as JavaScript has it: a Float64Array `meta` (native/index.d.ts, take() of
// UplinkSource).
#ifndef SEGANET_BINDING_BATCH_META_H_
#define SEGANET_BINDING_BATCH_META_H_

#include <napi.h>

#include <cstdint>
#include <string_view>

#include "core/base/clock.h"
#include "core/queue/batch.h"
#include "core/uplink/publish_writer.h"

namespace seganet::binding {

// Returns null if a TypeError is pending: the value is no Float64Array of at least 16.
double* ReadMeta(Napi::Env env, Napi::Value value);

void WriteMeta(const Batch& batch, const Now& now, double* meta);

// Sets `*message` to one packet's share of a batch: of its lines or its single record the bytes
// from `from` to `to` as payload; of a batch of records the entry there. `part` ends the key,
// Message::kWhole = nothing. Returns false if `meta` or the bytes are not those of a batch.
bool MessageFrom(const double* meta, std::string_view bytes, size_t from, size_t to, int64_t part,
                 Message* message);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_BATCH_META_H_
