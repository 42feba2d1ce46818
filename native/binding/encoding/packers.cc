#include "binding/encoding/packers.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "binding/node/args.h"
#include "core/record/rules.h"

namespace seganet::binding {
namespace {

// Reads the content of a dictionary.
bool ReadContent(Napi::Env env, Napi::Value value, std::string_view* content) {
  Napi::Uint8Array bytes;
  if (!ReadBytes(env, value, "content", &bytes)) return false;
  *content = {reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength()};
  return content->size() <= Compressor::kMaxDictionaryBytes ||
         Fail(env, "content must have at most 32768 bytes");
}

bool ReadNever(Napi::Env env, Napi::Object from, std::vector<std::string>* never) {
  const Napi::Value value = from.Get("neverCompress");
  if (value.IsEmpty()) return false;
  if (value.IsUndefined()) return true;
  if (!value.IsArray()) return Fail(env, "neverCompress must be an array of topic filters");
  const auto list = value.As<Napi::Array>();
  never->resize(list.Length());
  for (uint32_t i = 0; i < list.Length(); ++i) {
    if (!ReadString(env, list.Get(i), "neverCompress", &(*never)[i])) return false;
    if (!ValidTopicFilter((*never)[i])) {
      return Fail(env, "neverCompress contains an invalid topic filter");
    }
  }
  return true;
}

}  // namespace

const CompressionLibrary& ProcessCompression() {
  static const CompressionLibrary library =
      FindCompression([](const char* name) { return dlsym(RTLD_DEFAULT, name); });
  return library;
}

Napi::Value Compressions(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const CompressionLibrary& library = ProcessCompression();
  Napi::Array names = Napi::Array::New(env);
  if (library.has_zstd()) names.Set(names.Length(), "zstd");
  if (library.has_zlib()) names.Set(names.Length(), "deflate");
  return names;
}

bool ReadPacker(Napi::Env env, Napi::Object from, std::shared_ptr<EnvelopePacker>* packer) {
  size_t compression = 0;
  PackerOptions options;
  if (!ReadChoice(env, from, "compress", {"off", "zstd", "deflate"}, &compression) ||
      !ReadNever(env, from, &options.never)) {
    return false;
  }
  packer->reset();
  if (compression == 0) return true;
  options.compression = static_cast<Compression>(compression);
  *packer = std::make_shared<EnvelopePacker>(&ProcessCompression(), std::move(options));
  return (*packer)->is_available() || Fail(env, "this Node.js lacks the compression");
}

void KeepPackers(const std::vector<UplinkStage>& before, std::vector<UplinkStage>* stages) {
  for (UplinkStage& stage : *stages) {
    const auto same = std::find_if(before.begin(), before.end(), [&stage](const UplinkStage& old) {
      return old.id == stage.id && old.packer && stage.packer &&
             old.packer->options() == stage.packer->options();
    });
    if (same != before.end()) stage.packer = same->packer;
  }
}

void SetCompressing(const Napi::CallbackInfo& info, EnvelopePacker* packer) {
  if (packer) packer->SetOn(info[1].ToBoolean().Value());
}

Napi::Value SetDictionary(const Napi::CallbackInfo& info, EnvelopePacker* packer) {
  const Napi::Env env = info.Env();
  Napi::Uint8Array bytes;
  std::string_view content;
  DictionaryHash hash = {};
  if (!ReadBytes(env, info[1], "hash", &bytes) || !ReadContent(env, info[2], &content)) {
    return env.Undefined();
  }
  if (bytes.ByteLength() != hash.size()) {
    Fail(env, "hash must have 8 bytes");
    return env.Undefined();
  }
  std::copy_n(bytes.Data(), hash.size(), hash.begin());
  return Napi::Boolean::New(env, packer && packer->SetDictionary(hash, content));
}

Napi::Value ProposeDictionary(const Napi::CallbackInfo& info, EnvelopePacker* packer) {
  const Napi::Env env = info.Env();
  uint32_t max_bytes = 0;
  if (!ReadInt<uint32_t>(env, info[1], "bytes", 0, Compressor::kMaxDictionaryBytes, &max_bytes)) {
    return env.Undefined();
  }
  const std::string content = packer ? packer->Propose(max_bytes) : std::string();
  return Napi::Buffer<char>::Copy(env, content.data(), content.size());
}

Napi::Value TryDictionary(const Napi::CallbackInfo& info, EnvelopePacker* packer) {
  const Napi::Env env = info.Env();
  std::string_view content;
  if (!ReadContent(env, info[1], &content)) return env.Undefined();
  const Trial trial = packer ? packer->Try(content) : Trial{};
  Napi::Object sizes = Napi::Object::New(env);
  sizes.Set("plain", static_cast<double>(trial.plain));
  sizes.Set("current", static_cast<double>(trial.current));
  sizes.Set("proposed", static_cast<double>(trial.proposed));
  return sizes;
}

Napi::Value CompressionNumbers(const Napi::CallbackInfo& info, const EnvelopePacker* packer) {
  const Napi::Env env = info.Env();
  if (!packer) return env.Null();
  const PackerNumbers& numbers = packer->numbers();
  Napi::Object shown = Napi::Object::New(env);
  const std::pair<const char*, uint64_t> fields[] = {
      {"packed", numbers.packed},      {"keptOut", numbers.kept_out}, {"larger", numbers.larger},
      {"failures", numbers.failures},  {"before", numbers.before},    {"after", numbers.after},
      {"fresh", packer->fresh_lines()}};
  for (const auto& [name, value] : fields) shown.Set(name, static_cast<double>(value));
  return shown;
}

}  // namespace seganet::binding
