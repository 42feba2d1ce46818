// An envelope as a SenML pack (RFC 8428), in JSON or CBOR.
//
// Each record becomes a group of SenML records. Its name is "device/topic", and
// "device/topic/member" for the members of a JSON object whose members are all numbers, strings and
// booleans. A number, a string or a boolean becomes one SenML record. Any other payload is the data
// value "vd" of one, with "ct" (RFC 9193) "50" if it is JSON. What SenML has no field for has
// labels of ours, which other receivers ignore, because they do not end with "_" (RFC 8428, 4.4).
#ifndef SEGANET_CORE_ENCODING_SENML_H_
#define SEGANET_CORE_ENCODING_SENML_H_

#include <memory>

#include "core/encoding/envelope_coder.h"

namespace seganet {

std::unique_ptr<EnvelopeCoder> MakeSenmlJsonCoder();
std::unique_ptr<EnvelopeCoder> MakeSenmlCborCoder();

}  // namespace seganet

#endif  // SEGANET_CORE_ENCODING_SENML_H_
