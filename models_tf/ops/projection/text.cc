#include "text.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "unicode_tables.h"

namespace export_mobile {
namespace {

bool IsContinuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// Bytes of the UTF-8 sequence that starts with `byte`; 1 if none does.
size_t SequenceSize(unsigned char byte) {
  if (byte < 0xC2 || byte > 0xF4) return 1;
  return byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// An invalid byte as a unit of its own, above every code point.
constexpr uint32_t kOpaque = 0x110000;

std::vector<uint32_t> ToUnits(std::string_view text) {
  std::vector<uint32_t> units;
  units.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    uint32_t unit;
    const size_t read = DecodeUtf8(text.data() + at, text.size() - at, &unit);
    units.push_back(read > 0 ? unit : kOpaque | static_cast<unsigned char>(text[at]));
    at += std::max<size_t>(1, read);
  }
  return units;
}

std::string FromUnits(const std::vector<uint32_t>& units) {
  std::string text;
  text.reserve(units.size());
  for (const uint32_t unit : units) {
    char bytes[4];
    if (unit < 0x80 || unit >= kOpaque) {
      text.push_back(static_cast<char>(unit & 0xFF));
    } else {
      text.append(bytes, EncodeUtf8(unit, bytes));
    }
  }
  return text;
}

bool MayRepeat(uint32_t unit) {
  return unit != ' ' && !(unit >= '0' && unit <= '9') && unit < kOpaque;
}

// A pattern of `length` units that stands there three times or more is written twice.
void ShortenRepetition(size_t length, std::vector<uint32_t>* units) {
  std::vector<uint32_t>& u = *units;
  const size_t size = u.size();
  size_t out = 0;  // never ahead of `at`, so the work is done in place
  for (size_t at = 0; at < size;) {
    size_t repeats = 0;
    if (size - at >= 3 * length &&
        std::all_of(u.begin() + at, u.begin() + at + length, MayRepeat)) {
      repeats = 1;
      for (size_t next = at + length; size - next >= length; next += length, ++repeats) {
        if (!std::equal(u.begin() + at, u.begin() + at + length, u.begin() + next)) break;
      }
    }
    if (repeats < 3) {
      u[out++] = u[at++];
      continue;
    }
    for (size_t i = 0; i < 2 * length; ++i) u[out++] = u[at + i];
    at += repeats * length;
  }
  u.resize(out);
}

std::string CollapseSpaces(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out.push_back(c);
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string DetachSeparators(std::string_view separators, std::string_view text) {
  bool separates[256] = {};
  for (const char c : separators) separates[static_cast<unsigned char>(c)] = c != ' ';
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!separates[static_cast<unsigned char>(c)]) {
      out.push_back(c);
      continue;
    }
    if (!out.empty() && out.back() != ' ') out.push_back(' ');
    out.push_back(c);
    if (c != '\'' && i + 1 < text.size() && text[i + 1] != ' ') out.push_back(' ');
  }
  return out;
}

void SplitCharacters(std::string_view text, size_t limit, std::vector<std::string_view>* tokens) {
  for (size_t at = 0; at < text.size() && tokens->size() < limit;) {
    uint32_t code_point;
    const size_t read = DecodeUtf8(text.data() + at, text.size() - at, &code_point);
    if (read == 0) return;
    tokens->push_back(text.substr(at, read));
    at += read;
  }
}

// `compatible`: the reference takes the last token it may give from right behind one space, and
// loses it if another space stands there.
void SplitSpaces(std::string_view text, size_t limit, bool compatible,
                 std::vector<std::string_view>* tokens) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end && tokens->size() < limit) {
    const bool exact = compatible && !tokens->empty() && tokens->size() + 1 == limit;
    while (!exact && at < end && *at == ' ') ++at;
    if (at == end) return;
    const auto* space =
        static_cast<const char*>(std::memchr(at, ' ', static_cast<size_t>(end - at)));
    if (space == nullptr) space = end;
    if (space == at) return;
    tokens->emplace_back(at, static_cast<size_t>(space - at));
    at = space < end ? space + 1 : end;
  }
}

}  // namespace

size_t DecodeUtf8(const char* text, size_t size, uint32_t* code_point) {
  const auto* b = reinterpret_cast<const unsigned char*>(text);
  *code_point = kInvalid;
  const uint32_t lead = b[0];
  if (lead < 0x80) {
    *code_point = lead;
    return 1;
  }
  if (lead < 0xC2) return 0;
  if (size < 2 || !IsContinuation(b[1])) return 0;
  if (lead < 0xE0) {
    *code_point = (lead & 0x1F) << 6 | (b[1] & 0x3F);
    return 2;
  }
  if (size < 3 || !IsContinuation(b[2])) return 0;
  if (lead < 0xF0) {
    const uint32_t c = (lead & 0x0F) << 12 | (b[1] & 0x3F) << 6 | (b[2] & 0x3F);
    if (c < 0x800 || (c >= 0xD800 && c < 0xE000)) return 0;
    *code_point = c;
    return 3;
  }
  if (lead > 0xF4 || size < 4 || !IsContinuation(b[3])) return 0;
  const uint32_t c = (lead & 0x07) << 18 | (b[1] & 0x3F) << 12 | (b[2] & 0x3F) << 6 | (b[3] & 0x3F);
  if (c < 0x10000 || c > 0x10FFFF) return 0;
  *code_point = c;
  return 4;
}

size_t EncodeUtf8(uint32_t c, char* out) {
  if (c < 0x80) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  if (c < 0x800) {
    out[0] = static_cast<char>(0xC0 | c >> 6);
    out[1] = static_cast<char>(0x80 | (c & 0x3F));
    return 2;
  }
  if (c < 0x10000) {
    out[0] = static_cast<char>(0xE0 | c >> 12);
    out[1] = static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out[2] = static_cast<char>(0x80 | (c & 0x3F));
    return 3;
  }
  out[0] = static_cast<char>(0xF0 | c >> 18);
  out[1] = static_cast<char>(0x80 | (c >> 12 & 0x3F));
  out[2] = static_cast<char>(0x80 | (c >> 6 & 0x3F));
  out[3] = static_cast<char>(0x80 | (c & 0x3F));
  return 4;
}

uint32_t LowerCase(uint32_t c) {
  if (c < 0x80) return c - 'A' < 26 ? c + 32 : c;
  const auto* range =
      std::upper_bound(std::begin(kLowerCase), std::end(kLowerCase), c,
                       [](uint32_t value, const CaseRange& r) { return value < r.first; });
  if (range == std::begin(kLowerCase)) return c;
  --range;
  if (c > range->last || (c - range->first) % range->step != 0) return c;
  return static_cast<uint32_t>(static_cast<int32_t>(c) + range->delta);
}

bool IsAlphabetic(uint32_t c) {
  if (c < 0x80) return (c | 32) - 'a' < 26;
  const auto* range =
      std::upper_bound(std::begin(kAlphabetic), std::end(kAlphabetic), c,
                       [](uint32_t value, const CodeRange& r) { return value < r.first; });
  return range != std::begin(kAlphabetic) && c <= (range - 1)->last;
}

std::string_view LimitBytes(const ProjectionConfig& config, std::string_view text) {
  if (config.max_bytes == 0) return text;
  const auto room = static_cast<size_t>(config.max_bytes);
  text = text.substr(0, room);
  for (size_t at = room - 3; at < text.size(); ++at) {  // a sequence before has room for 4 bytes
    if (at + SequenceSize(static_cast<unsigned char>(text[at])) > room) {
      text = text.substr(0, at);
      break;
    }
  }
  const size_t last = text.find_last_not_of('\0');
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

bool NeedsNormalizing(const ProjectionConfig& config) {
  return config.normalize_repetition || config.normalize_spaces || !config.token_separators.empty();
}

std::string Normalize(const ProjectionConfig& config, std::string_view text) {
  std::string out;
  if (config.normalize_repetition) {
    std::vector<uint32_t> units = ToUnits(text);
    for (size_t length = 1; length <= 3; ++length) ShortenRepetition(length, &units);
    out = FromUnits(units);
  } else {
    out = std::string(text);
  }
  if (config.normalize_spaces) out = CollapseSpaces(out);
  if (!config.token_separators.empty()) out = DetachSeparators(config.token_separators, out);
  return out;
}

void SplitText(const ProjectionConfig& config, std::string_view text,
               std::vector<std::string_view>* tokens) {
  size_t limit = config.max_tokens < 0 ? SIZE_MAX : static_cast<size_t>(config.max_tokens);
  if (config.pad_to > 0) {
    limit = std::min(limit, static_cast<size_t>(config.pad_to - config.add_bos - config.add_eos));
  }
  tokens->clear();
  if (config.split == Split::kCharacters) {
    SplitCharacters(text, limit, tokens);
  } else {
    SplitSpaces(text, limit, config.split == Split::kSpacesCompatible, tokens);
  }
}

}  // namespace export_mobile
