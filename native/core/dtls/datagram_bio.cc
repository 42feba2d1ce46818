#include "core/dtls/datagram_bio.h"

#include <algorithm>
#include <cstring>

#include "core/tls/openssl.h"

#ifdef SEGANET_OPENSSL

namespace seganet {
namespace {

DatagramPipe* PipeOf(BIO* bio) { return static_cast<DatagramPipe*>(BIO_get_data(bio)); }

// As recv() on a UDP socket: returns one datagram, and drops what exceeds the buffer.
int Read(BIO* bio, char* to, int size) {
  DatagramPipe* const pipe = PipeOf(bio);
  BIO_clear_retry_flags(bio);
  if (pipe->arrived.empty()) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const size_t count = std::min(pipe->arrived.size(), static_cast<size_t>(std::max(size, 0)));
  std::memcpy(to, pipe->arrived.data(), count);
  pipe->arrived = {};
  return static_cast<int>(count);
}

int Write(BIO* bio, const char* from, int size) {
  if (size <= 0) return size;
  PipeOf(bio)->SendDatagram({from, static_cast<size_t>(size)});
  return size;
}

long Control(BIO*, int command, long number, void*) {
  switch (command) {
    case BIO_CTRL_FLUSH:
      return 1;
    case BIO_CTRL_DGRAM_QUERY_MTU:
      return kDtlsMtuBytes;
    case BIO_CTRL_DGRAM_GET_FALLBACK_MTU:
      return kDtlsFallbackMtuBytes;
    case BIO_CTRL_DGRAM_SET_MTU:
      return number;
    default:
      return 0;
  }
}

}  // namespace

bio_method_st* MakeDatagramBioMethod() {
  BIO_METHOD* const method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "datagrams");
  if (method == nullptr) return nullptr;
  BIO_meth_set_read(method, Read);
  BIO_meth_set_write(method, Write);
  BIO_meth_set_ctrl(method, Control);
  return method;
}

bio_st* MakeDatagramBio(const bio_method_st* method, DatagramPipe* pipe) {
  BIO* const bio = BIO_new(method);
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, pipe);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace seganet

#endif  // SEGANET_OPENSSL
