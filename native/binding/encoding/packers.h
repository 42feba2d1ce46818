// Compression of envelopes, as JavaScript sees it: the functions of this process, and the packers
// of a PublishWriter.
#ifndef SEGANET_BINDING_ENCODING_PACKERS_H_
#define SEGANET_BINDING_ENCODING_PACKERS_H_

#include <napi.h>

#include <memory>
#include <vector>

#include "core/encoding/envelope_packer.h"
#include "core/uplink/publish_writer.h"

namespace seganet::binding {

// Returns the compression functions that Node's executable exports.
const CompressionLibrary& ProcessCompression();

// Returns the names of the available compressions as an array.
Napi::Value Compressions(const Napi::CallbackInfo& info);

// Reads `compress` and `neverCompress` of a StageSpec; absent = not compressed. Returns false if a
// TypeError is pending.
bool ReadPacker(Napi::Env env, Napi::Object from, std::shared_ptr<EnvelopePacker>* packer);

// Keeps the packers of `before` at the stages whose compression has not changed, with their
// dictionaries and counters.
void KeepPackers(const std::vector<UplinkStage>& before, std::vector<UplinkStage>* stages);

// Methods of a PublishWriter for the packer of the stage in argument 0, which may be null.
void SetCompressing(const Napi::CallbackInfo& info, EnvelopePacker* packer);
Napi::Value SetDictionary(const Napi::CallbackInfo& info, EnvelopePacker* packer);
Napi::Value ProposeDictionary(const Napi::CallbackInfo& info, EnvelopePacker* packer);
Napi::Value TryDictionary(const Napi::CallbackInfo& info, EnvelopePacker* packer);
Napi::Value CompressionNumbers(const Napi::CallbackInfo& info, const EnvelopePacker* packer);

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_ENCODING_PACKERS_H_
