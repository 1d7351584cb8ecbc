#include "hashing.h"

#include <algorithm>
#include <cstring>

#include "text.h"

#if defined(__SSE2__) && defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace export_mobile {
namespace {

constexpr uint64_t kM = 0xc6a4a7935bd1e995ULL;
constexpr uint64_t kM2 = 0x9e3779b97f4a7835ULL;
constexpr int kFeaturesPerCode = 32;

inline uint64_t Mix(uint64_t v) { return v ^ (v >> 47); }

constexpr uint64_t kSignBits = 0x8080808080808080ULL;

// Up to 8 bytes as a little-endian number, in the shape compilers make one load of.
template <size_t N>
inline uint64_t Load(const unsigned char* data) {
  uint64_t value = 0;
  for (size_t i = 0; i < N; ++i) value |= static_cast<uint64_t>(data[i]) << (8 * i);
  return value;
}

// 1 to 7 bytes without a loop: the length of words is what a processor predicts worst. Loads
// overlap, and the bits they share are equal.
inline uint64_t LoadTail(const unsigned char* data, size_t size) {
  if (size >= 4) return Load<4>(data) | Load<4>(data + size - 4) << (8 * (size - 4));
  const size_t middle = size / 2;
  return data[0] | static_cast<uint64_t>(data[middle]) << (8 * middle) |
         static_cast<uint64_t>(data[size - 1]) << (8 * (size - 1));
}

// What the reference reads where `char` is signed: a byte above 127 sets all bits above it.
inline uint64_t SignExtend(uint64_t value) {
  const uint64_t signs = value & kSignBits;
  return signs == 0 ? value : value | ~((signs & (~signs + 1)) - 1) << 1;
}

// Codes of 64 features, and the way to the next 64.
struct Pair {
  uint64_t low;
  uint64_t high;

  void Advance() {
    const uint64_t a = Mix(low) * kM;
    const uint64_t b = high ^ a;
    high = Mix(a);
    low = Mix(b * kM2) * kM2;
  }
};

inline Pair HashMurmur(std::string_view token, Bytes bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(token.data());
  size_t left = token.size();
  uint64_t h1 = left * kM;
  uint64_t h2 = 0;
  for (; left >= 8; left -= 8, data += 8) {
    const uint64_t block = Load<8>(data);
    h1 ^= Mix((bytes == Bytes::kSigned ? SignExtend(block) : block) * kM) * kM;
    h1 *= kM;
    h2 ^= h1;
  }
  if (left > 0) {
    const uint64_t tail = LoadTail(data, left);
    h1 ^= bytes == Bytes::kSigned ? SignExtend(tail) : tail;
    h1 *= kM;
    h2 ^= h1;
  }
  h1 = Mix(h1) * kM;
  h2 ^= h1;
  return {Mix(h1), Mix(h2 * kM2) * kM2};
}

inline Pair HashTrigram(const uint32_t (&c)[3]) {
  const uint64_t key = c[0] | static_cast<uint64_t>(c[1]) << 21 | static_cast<uint64_t>(c[2]) << 42;
  const uint64_t a = Mix(key * kM) * kM;
  return {Mix(a), Mix((a ^ kM2) * kM2) * kM2};
}

// Prefix and suffix hashes: `bits` new bits a step from each end.
void HashXfix(std::string_view token, int bits, int pairs, uint64_t* codes) {
  const auto* data = reinterpret_cast<const unsigned char*>(token.data());
  const size_t size = token.size();
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t low = size * kM;
  uint64_t high = size * kM2;
  uint64_t prefix = kM;
  uint64_t suffix = kM2;
  size_t t = 0;
  int slot = 1;  // the first pair starts one slot late
  for (int i = 0; i < pairs; ++i) {
    for (; slot < 64 / bits; ++slot) {
      prefix = ((prefix << 8) | data[t]) * kM;
      suffix = ((suffix << 8) | data[size - 1 - t]) * kM2;
      low = (low << bits) | (prefix & mask);
      high = (high << bits) | (suffix & mask);
      if (++t == size) t = 0;
    }
    slot = 0;
    codes[2 * i] = low;
    codes[2 * i + 1] = high;
  }
}

// `bits` bits a character; of a token that is too long the centre counts.
void HashUnicode(std::string_view token, int bits, int features, int count, uint64_t* codes) {
  size_t characters = 0;
  for (const char c : token) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  const size_t room = static_cast<size_t>(2 * features / bits);
  size_t skip = characters > room ? (characters - room) / 2 : 0;
  size_t take = std::min(characters, room);
  const uint64_t mask = ~uint64_t{0} << (64 - bits);
  size_t at = 0;
  uint32_t code_point = 0;
  for (; skip > 0 && at < token.size(); --skip) {
    at += std::max<size_t>(1, DecodeUtf8(token.data() + at, token.size() - at, &code_point));
  }
  uint64_t code = 0;
  for (int i = 0; i < count; ++i) {
    for (int slot = 0; slot < 64 / bits; ++slot) {
      code >>= bits;
      if (take == 0 || at >= token.size()) continue;
      at += std::max<size_t>(1, DecodeUtf8(token.data() + at, token.size() - at, &code_point));
      code |= (code_point * kM) & mask;
      --take;
    }
    codes[i] = code;
  }
}

#if defined(__SSE2__) && defined(__x86_64__)

// 32 features of one code, as two vectors of bytes.
struct Ternary {
  __m128i halves[2];
};

inline Ternary Decode(uint64_t code) {
  // Every byte of the code four times, then one pair of bits in each: equal to 01 or to 10.
  const __m128i pairs = _mm_set1_epi32(static_cast<int>(0xC0300C03));
  const __m128i plus = _mm_set1_epi32(0x40100401);
  const __m128i minus = _mm_set1_epi32(static_cast<int>(0x80200802));
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<int64_t>(code));
  const __m128i twice = _mm_unpacklo_epi8(bytes, bytes);
  const __m128i low = _mm_and_si128(_mm_unpacklo_epi16(twice, twice), pairs);
  const __m128i high = _mm_and_si128(_mm_unpackhi_epi16(twice, twice), pairs);
  // A comparison gives -1 where it holds.
  return {{_mm_sub_epi8(_mm_cmpeq_epi8(low, minus), _mm_cmpeq_epi8(low, plus)),
           _mm_sub_epi8(_mm_cmpeq_epi8(high, minus), _mm_cmpeq_epi8(high, plus))}};
}

inline void ExpandCode(uint64_t code, int8_t* out) {
  const Ternary ternary = Decode(code);
  auto* vectors = reinterpret_cast<__m128i*>(out);
  _mm_storeu_si128(vectors, ternary.halves[0]);
  _mm_storeu_si128(vectors + 1, ternary.halves[1]);
}

inline void AddCode(uint64_t code, int8_t* sums) {
  const Ternary ternary = Decode(code);
  auto* vectors = reinterpret_cast<__m128i*>(sums);
  for (int i = 0; i < 2; ++i) {
    _mm_storeu_si128(vectors + i, _mm_add_epi8(_mm_loadu_si128(vectors + i), ternary.halves[i]));
  }
}

#else

// Four features for each value of a byte.
struct FeatureTable {
  int8_t features[256][4];
};

constexpr FeatureTable MakeTable() {
  FeatureTable table = {};
  for (int byte = 0; byte < 256; ++byte) {
    for (int i = 0; i < 4; ++i) {
      const int code = (byte >> (2 * i)) & 3;
      table.features[byte][i] = static_cast<int8_t>(code == 1 ? 1 : code == 2 ? -1 : 0);
    }
  }
  return table;
}

constexpr FeatureTable kTernary = MakeTable();

inline void ExpandCode(uint64_t code, int8_t* out) {
  for (int i = 0; i < 8; ++i)
    std::memcpy(out + 4 * i, kTernary.features[(code >> (8 * i)) & 0xFF], 4);
}

inline void AddCode(uint64_t code, int8_t* sums) {
  int8_t features[kFeaturesPerCode];
  ExpandCode(code, features);
  for (int i = 0; i < kFeaturesPerCode; ++i) sums[i] = static_cast<int8_t>(sums[i] + features[i]);
}

#endif

// A sum of so many ternary features fits in 8 bits.
constexpr int kInt8Sums = 127;

}  // namespace

int HashToken(Hash hash, Bytes bytes, std::string_view token, int features, uint64_t* codes) {
  const int pairs = (features + 63) / 64;
  const int singles = (2 * features + 63) / 64;
  switch (hash) {
    case Hash::kMurmur: {
      Pair pair = HashMurmur(token, bytes);
      for (int i = 0; i < 2 * pairs; i += 2, pair.Advance()) {
        codes[i] = pair.low;
        codes[i + 1] = pair.high;
      }
      return 2 * pairs;
    }
    case Hash::kXfix8:
      HashXfix(token, 8, pairs, codes);
      return 2 * pairs;
    case Hash::kXfix16:
      HashXfix(token, 16, pairs, codes);
      return 2 * pairs;
    case Hash::kXfix32:
      HashXfix(token, 32, pairs, codes);
      return 2 * pairs;
    case Hash::kUnicode8:
      HashUnicode(token, 8, features, singles, codes);
      return singles;
    case Hash::kUnicode16:
      HashUnicode(token, 16, features, singles, codes);
      return singles;
  }
  return 0;
}

void WriteFeatures(Hash hash, Bytes bytes, const std::string_view* tokens, int count, int features,
                   int stride, int8_t* out) {
  if (hash == Hash::kMurmur && count == kTokensAtOnce && features % 64 == 0) {
    // The steps of one token wait for each other, those of several tokens do not.
    Pair pairs[kTokensAtOnce];
    for (int k = 0; k < kTokensAtOnce; ++k) pairs[k] = HashMurmur(tokens[k], bytes);
    for (int i = 0; i < features; i += 64) {
      for (int k = 0; k < kTokensAtOnce; ++k) {
        ExpandCode(pairs[k].low, out + k * stride + i);
        ExpandCode(pairs[k].high, out + k * stride + i + kFeaturesPerCode);
        pairs[k].Advance();
      }
    }
    return;
  }
  for (int k = 0; k < count; ++k, out += stride) {
    uint64_t codes[kMaxCodes];
    HashToken(hash, bytes, tokens[k], features, codes);
    const int whole = features / kFeaturesPerCode;
    for (int i = 0; i < whole; ++i) ExpandCode(codes[i], out + i * kFeaturesPerCode);
    if (features % kFeaturesPerCode != 0) {
      int8_t last[kFeaturesPerCode];
      ExpandCode(codes[whole], last);
      std::memcpy(out + whole * kFeaturesPerCode, last,
                  static_cast<size_t>(features % kFeaturesPerCode));
    }
  }
}

void SumTrigrams(std::string_view token, int features, int8_t* out) {
  const int pairs = (features + 63) / 64;
  const int padded = 64 * pairs;
  alignas(16) int8_t sums[kMaxCodes * kFeaturesPerCode];
  int32_t totals[kMaxCodes * kFeaturesPerCode];  // only for tokens too long for `sums`
  bool long_token = false;
  int summed = 0;
  std::fill(sums, sums + padded, int8_t{0});

  uint32_t window[3] = {0, 2, 0};  // U+0002 stands before the token
  size_t at = DecodeUtf8(token.data(), token.size(), &window[2]);
  for (bool more = true; more;) {
    window[0] = window[1];
    window[1] = window[2];
    window[2] = 3;  // U+0003 stands after it
    more = at < token.size();
    if (more)
      at += std::max<size_t>(1, DecodeUtf8(token.data() + at, token.size() - at, &window[2]));
    Pair pair = HashTrigram(window);
    for (int i = 0; i < padded; i += 64, pair.Advance()) {
      AddCode(pair.low, sums + i);
      AddCode(pair.high, sums + i + kFeaturesPerCode);
    }
    if (++summed == kInt8Sums && more) {
      if (!long_token) std::fill(totals, totals + padded, 0);
      for (int i = 0; i < padded; ++i) totals[i] += sums[i];
      std::fill(sums, sums + padded, int8_t{0});
      long_token = true;
      summed = 0;
    }
  }

  if (!long_token) {
    std::memcpy(out, sums, static_cast<size_t>(features));
    return;
  }
  for (int i = 0; i < features; ++i) {
    out[i] = static_cast<int8_t>(std::min(127, std::max(-127, totals[i] + sums[i])));
  }
}

}  // namespace export_mobile
