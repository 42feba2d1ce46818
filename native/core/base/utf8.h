// UTF-8 validation.
#ifndef SEGANET_CORE_BASE_UTF8_H_
#define SEGANET_CORE_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace seganet {

// Returns the length of the valid UTF-8 sequence at the start of `text`, 1..4, or 0 if there is
// none (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
size_t Utf8Length(std::string_view text);

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_UTF8_H_
