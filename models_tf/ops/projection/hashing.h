// Token -> hash codes -> ternary features. Internal to the projection core.
#ifndef EXPORT_MOBILE_HASHING_H_
#define EXPORT_MOBILE_HASHING_H_

#include <cstdint>
#include <string_view>

#include "projection.h"

namespace export_mobile {

// Codes that 4096 features need: 32 features each, written in pairs.
constexpr int kMaxCodes = 128;

// Fills codes[0 .. return value) for a non-empty token of valid UTF-8.
int HashToken(Hash hash, Bytes bytes, std::string_view token, int features, uint64_t* codes);

// Tokens that are hashed together where possible.
constexpr int kTokensAtOnce = 4;

// The hash features of up to kTokensAtOnce tokens, row k at out + k * stride: 2 bits a feature from
// the least significant end of each code, 0 -> 0, 1 -> +1, 2 -> -1, 3 -> 0.
void WriteFeatures(Hash hash, Bytes bytes, const std::string_view* tokens, int count, int features,
                   int stride, int8_t* out);

// Sums of hashed character trigrams over the token between U+0002 and U+0003, clamped to +-127.
void SumTrigrams(std::string_view token, int features, int8_t* out);

}  // namespace export_mobile

#endif  // EXPORT_MOBILE_HASHING_H_
