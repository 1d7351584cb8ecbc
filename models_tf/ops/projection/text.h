// UTF-8, case and splitting of texts. Internal to the projection core.
#ifndef EXPORT_MOBILE_TEXT_H_
#define EXPORT_MOBILE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "projection.h"

namespace export_mobile {

constexpr uint32_t kInvalid = 0xFFFFFFFF;

// Strict UTF-8: no overlong forms, no surrogates, at most U+10FFFF. Returns the bytes read, 0 where
// the sequence is invalid (then *code_point is kInvalid). Needs at least one byte.
size_t DecodeUtf8(const char* text, size_t size, uint32_t* code_point);

// Writes 1 to 4 bytes and returns how many.
size_t EncodeUtf8(uint32_t code_point, char* out);

// Simple 1:1 lower-casing and the Alphabetic property, from unicode_tables.h.
uint32_t LowerCase(uint32_t code_point);
bool IsAlphabetic(uint32_t code_point);

// What a zero-padded buffer of `max_bytes` bytes holds of `text`, if the config asks for it: the
// text ends before a character that is not whole there, and without NULs.
std::string_view LimitBytes(const ProjectionConfig& config, std::string_view text);

// Repetition, spaces and separators, each if the config asks for it, in this order.
bool NeedsNormalizing(const ProjectionConfig& config);
std::string Normalize(const ProjectionConfig& config, std::string_view text);

// Tokens as views of `text`; honours split, max_tokens and pad_to. `tokens` is emptied first.
void SplitText(const ProjectionConfig& config, std::string_view text,
               std::vector<std::string_view>* tokens);

}  // namespace export_mobile

#endif  // EXPORT_MOBILE_TEXT_H_
