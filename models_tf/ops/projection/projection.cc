// Projection: text -> analysed tokens -> rows.
#include "projection.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <utility>

#include "hashing.h"
#include "text.h"

namespace export_mobile {
namespace {

constexpr uint8_t kDropped = 0xFF;
constexpr std::string_view kNull = "<null>";
constexpr std::string_view kBos = "<BOS>";
constexpr std::string_view kEos = "<EOS>";
constexpr double kInt8Scale = 8.0;  // novelty and document size, in [-1, 1], as int8

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

uint64_t Scramble(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// splitmix64: stateless between texts, the same everywhere.
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) : state_(seed) {}
  uint64_t Next() { return Scramble(state_ += kGolden); }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  size_t Below(size_t limit) { return static_cast<size_t>(Next() % limit); }

 private:
  uint64_t state_;
};

// One typo: a character deleted, moved or doubled elsewhere, each with probability 1/3 where the
// token is long enough for it.
void Distort(RandomStream* random, std::vector<uint32_t>* characters) {
  const size_t size = characters->size();
  const auto begin = characters->begin();
  const double kind = random->Uniform();
  if (kind < 1.0 / 3.0) {
    if (size > 1) characters->erase(begin + random->Below(size));
  } else if (kind < 2.0 / 3.0) {
    if (size <= 2) return;
    const size_t from = random->Below(size);
    size_t to = random->Below(size - 1);
    if (to >= from) ++to;
    const uint32_t moved = (*characters)[from];
    characters->erase(begin + from);
    characters->insert(characters->begin() + to, moved);
  } else if (size > 0) {
    const uint32_t doubled = (*characters)[random->Below(size)];
    characters->insert(begin + random->Below(size + 1), doubled);
  }
}

// How often a hash code came before in one text; open addressing, allocated once for a text.
class Counter {
 public:
  explicit Counter(size_t entries) {
    size_t slots = 16;
    while (slots < 2 * entries) slots *= 2;
    slots_.resize(slots);
  }
  uint32_t CountAndAdd(uint64_t key) {
    const size_t mask = slots_.size() - 1;
    size_t at = static_cast<size_t>(Scramble(key)) & mask;
    while (slots_[at].count > 0 && slots_[at].key != key) at = (at + 1) & mask;
    slots_[at].key = key;
    return slots_[at].count++;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t count = 0;
  };
  std::vector<Slot> slots_;
};

std::string_view Word(const AnalysedText& analysed, const AnalysedText::Token& token) {
  return token.size > 0 ? std::string_view(analysed.utf8).substr(token.begin, token.size) : kNull;
}

// A value in [-1, 1] as the output type holds it.
void Store(double value, int8_t* out) {
  *out = static_cast<int8_t>(std::round(value * kInt8Scale));
}
void Store(double value, float* out) { *out = static_cast<float>(value); }

double DocumentSize(size_t tokens, int levels) {
  if (tokens == 0) return -1.0;
  return std::min(std::log2(static_cast<double>(tokens)) / levels, 1.0) * 2.0 - 1.0;
}

double Novelty(uint32_t count, int bits) {
  return std::min(count / static_cast<double>(1 << bits), 1.0) * 2.0 - 1.0;
}

}  // namespace

uint64_t RowSeed(uint64_t seed, uint64_t row) { return Scramble(seed + (row + 1) * kGolden); }

Status Projection::Create(const ProjectionConfig& config, Projection* projection) {
  Status status = CheckConfig(config);
  if (!status.ok()) return status;
  std::vector<uint32_t> vocabulary;
  for (size_t at = 0; at < config.vocabulary.size();) {
    uint32_t c;
    const size_t read =
        DecodeUtf8(config.vocabulary.data() + at, config.vocabulary.size() - at, &c);
    if (read == 0)
      return {"`vocabulary` must be UTF-8. Received: an invalid byte at " + std::to_string(at) +
              "."};
    at += read;
    if (c != 0xFFFD && LowerCase(c) == c) vocabulary.push_back(c);
  }
  std::sort(vocabulary.begin(), vocabulary.end());
  projection->config_ = config;
  projection->vocabulary_ = std::move(vocabulary);
  for (uint32_t c = 0; c < 128; ++c) {
    const uint32_t lower = LowerCase(c);
    projection->ascii_[c] = projection->Keeps(lower) ? static_cast<uint8_t>(lower) : kDropped;
  }
  return {};
}

// Takes a character that is lower-cased already.
bool Projection::Keeps(uint32_t c) const {
  if (config_.alphabetic_only) return c == ' ' || IsAlphabetic(c);
  return config_.vocabulary.empty() ||
         std::binary_search(vocabulary_.begin(), vocabulary_.end(), c);
}

void Projection::AppendToken(std::string_view token, uint64_t seed, AnalysedText* analysed) const {
  std::string& utf8 = analysed->utf8;
  AnalysedText::Token result;
  result.begin = utf8.size();
  size_t kept = 0;
  size_t lowered = 0;
  bool first_lowered = false;
  for (size_t at = 0; at < token.size();) {
    const auto byte = static_cast<unsigned char>(token[at]);
    bool changed;
    if (byte < 0x80) {
      ++at;
      const uint8_t lower = ascii_[byte];
      if (lower == kDropped) continue;
      utf8.push_back(static_cast<char>(lower));
      changed = lower != byte;
    } else {
      uint32_t c;
      const size_t read = DecodeUtf8(token.data() + at, token.size() - at, &c);
      if (read == 0) break;
      at += read;
      const uint32_t lower = LowerCase(c);
      if (!Keeps(lower)) continue;
      char bytes[4];
      utf8.append(bytes, EncodeUtf8(lower, bytes));
      changed = lower != c;
    }
    if (kept++ == 0) first_lowered = changed;
    lowered += changed;
  }
  result.first_cap = first_lowered && lowered == 1;
  result.all_caps = kept > 0 && lowered == kept;

  if (config_.distortion > 0.0) {
    RandomStream random(seed);
    if (random.Uniform() < config_.distortion) {
      std::vector<uint32_t> characters;
      for (size_t at = result.begin; at < utf8.size();) {
        uint32_t c;
        at += std::max<size_t>(1, DecodeUtf8(utf8.data() + at, utf8.size() - at, &c));
        characters.push_back(c);
      }
      Distort(&random, &characters);
      utf8.resize(result.begin);
      for (const uint32_t c : characters) {
        char bytes[4];
        utf8.append(bytes, EncodeUtf8(c, bytes));
      }
    }
  }
  result.size = utf8.size() - result.begin;
  analysed->tokens.push_back(result);
}

int Projection::HashedFeatures() const {
  return config_.features == Features::kMixed ? config_.feature_size / 2 : config_.feature_size;
}

void Projection::CountEarlier(AnalysedText* analysed) const {
  Counter counter(analysed->tokens.size() + 2);
  // 64 features are enough for the first code, but unicodehash chooses its characters by the size.
  const bool short_hash = config_.hash != Hash::kUnicode8 && config_.hash != Hash::kUnicode16;
  const int features = short_hash ? std::min(64, HashedFeatures()) : HashedFeatures();
  const auto count = [&](std::string_view word) {
    uint64_t codes[kMaxCodes];
    HashToken(config_.hash, config_.bytes, word, features, codes);
    return counter.CountAndAdd(codes[0]);
  };
  if (config_.add_bos) analysed->bos.seen = count(kBos);
  for (AnalysedText::Token& token : analysed->tokens) token.seen = count(Word(*analysed, token));
  if (config_.add_eos) analysed->eos.seen = count(kEos);
}

Status Projection::Analyse(std::string_view text, uint64_t seed, AnalysedText* analysed) const try {
  analysed->utf8.clear();
  analysed->tokens.clear();
  text = LimitBytes(config_, text);
  std::string normalized;
  if (NeedsNormalizing(config_)) {
    normalized = Normalize(config_, text);
    text = normalized;
  }
  std::vector<std::string_view> tokens;
  SplitText(config_, text, &tokens);
  analysed->utf8.reserve(text.size());
  analysed->tokens.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    AppendToken(tokens[i], config_.distortion > 0.0 ? RowSeed(seed, i) : 0, analysed);
  }
  if (config_.word_novelty_bits > 0) CountEarlier(analysed);
  return {};
} catch (const std::exception&) {  // bad_alloc or length_error: the containers throw nothing else
  analysed->utf8.clear();
  analysed->tokens.clear();
  return {"Not enough memory for a text of " + std::to_string(text.size()) + " bytes."};
}

int64_t Projection::Length(const AnalysedText& analysed) const {
  return static_cast<int64_t>(analysed.tokens.size()) + config_.add_bos + config_.add_eos;
}

template <typename T>
void Projection::WriteRows(const AnalysedText& analysed, int64_t rows, T* out) const {
  const ProjectionConfig& c = config_;
  const int size = c.feature_size;
  const int hashed = HashedFeatures();
  const int64_t all = Length(analysed);
  const int64_t length = std::min(rows, all);
  const double doc_size =
      c.doc_size_levels > 0 ? DocumentSize(analysed.tokens.size(), c.doc_size_levels) : 0.0;

  int8_t scratch[sizeof(T) == 1 ? 1 : kTokensAtOnce * 4096];
  for (int64_t row = 0; row < length;) {
    const int count = static_cast<int>(std::min<int64_t>(kTokensAtOnce, length - row));
    const AnalysedText::Token* tokens[kTokensAtOnce];
    std::string_view words[kTokensAtOnce];
    for (int k = 0; k < count; ++k, ++row) {
      if (c.add_bos && row == 0) {
        tokens[k] = &analysed.bos;
        words[k] = kBos;
      } else if (c.add_eos && row + 1 == all) {
        tokens[k] = &analysed.eos;
        words[k] = kEos;
      } else {
        tokens[k] = &analysed.tokens[static_cast<size_t>(row - c.add_bos)];
        words[k] = Word(analysed, *tokens[k]);
      }
    }

    int8_t* features;
    if constexpr (sizeof(T) == 1) {
      features = out;
    } else {
      features = scratch;
    }
    WriteFeatures(c.hash, c.bytes, words, count, hashed, size, features);
    for (int k = 0; hashed < size && k < count; ++k) {
      SumTrigrams(words[k], size - hashed, features + k * size + hashed);
    }
    if constexpr (sizeof(T) != 1) {
      for (int i = 0; i < count * size; ++i) out[i] = features[i];
    }

    for (int k = 0; k < count; ++k, out += size) {
      const AnalysedText::Token& token = *tokens[k];
      if (c.word_novelty_bits > 0) Store(Novelty(token.seen, c.word_novelty_bits), &out[size - 1]);
      if (c.doc_size_levels > 0) Store(doc_size, &out[size - 2]);
      if (c.first_cap_feature) out[size - 3] = static_cast<T>(token.first_cap ? 1 : -1);
      if (c.all_caps_feature) out[size - 4] = static_cast<T>(token.all_caps ? 1 : -1);
      if (c.presence_feature) out[0] = 1;
    }
  }
  if (rows > length) std::memset(out, 0, static_cast<size_t>(rows - length) * size * sizeof(T));
}

void Projection::Write(const AnalysedText& analysed, int64_t rows, int8_t* out) const {
  WriteRows(analysed, rows, out);
}

void Projection::Write(const AnalysedText& analysed, int64_t rows, float* out) const {
  WriteRows(analysed, rows, out);
}

}  // namespace export_mobile
