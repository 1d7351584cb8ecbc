// Sequence projection: text -> one row of small integers for each token.
//
// The one implementation behind the TensorFlow, TFLite and ONNX Runtime ops and the C interface.
// It includes no runtime, throws nothing across its interface and never aborts: bad input gives a
// defined row or a Status. What it leaves out: reading files, threads, and tensors.
//
// The core is four files compiled together with -O3: config.cc (text form and checks), text.cc
// (UTF-8, limit, normalising, splitting), hashing.cc (hashes and rows), projection.cc (the class
// below).
#ifndef EXPORT_MOBILE_PROJECTION_H_
#define EXPORT_MOBILE_PROJECTION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace export_mobile {

// Empty message: success.
struct Status {
  std::string message;
  bool ok() const { return message.empty(); }
};

enum class Features { kWords, kMixed };
enum class Hash { kMurmur, kXfix8, kXfix16, kXfix32, kUnicode8, kUnicode16 };
enum class Bytes { kUnsigned, kSigned };
enum class Split { kSpaces, kSpacesCompatible, kCharacters };

// The defaults live here; the Python config asserts that it has the same ones.
struct ProjectionConfig {
  int32_t feature_size = 512;  // columns of a row; even, 2..4096
  Features features =
      Features::kWords;  // mixed: second half of the row = sums of character trigrams
  Hash hash = Hash::kMurmur;
  Bytes bytes = Bytes::kUnsigned;  // how murmur widens a byte; signed equals the reference on x86
  Split split = Split::kSpaces;
  int32_t max_tokens = -1;  // -1: no limit; tags are not counted
  int32_t pad_to = 0;       // 0: as many rows as tokens; N: exactly N rows, tags kept
  int32_t max_bytes = 0;    // 0: no limit; N: what a zero-padded buffer of N bytes holds, 16..2^20
  std::string vocabulary;   // UTF-8; empty: every character is kept
  bool alphabetic_only = false;
  bool normalize_repetition = false;
  bool normalize_spaces = false;
  std::string token_separators;  // single bytes
  bool add_bos = false;
  bool add_eos = false;
  int32_t word_novelty_bits = 0;  // 0..7
  int32_t doc_size_levels = 0;    // 0..16
  bool first_cap_feature = false;
  bool all_caps_feature = false;
  bool presence_feature = false;  // column 0 is 1 in every real row, so padding can be told apart
  double distortion = 0.0;        // probability that a token gets a typo; training only
};

// A config as text: "projection1:" then `key=value` pairs split by ';' (only those that differ from
// the default need to stand there), values with bytes outside [A-Za-z0-9_.-] written as %XX.
Status ParseConfig(std::string_view text, ProjectionConfig* config);

// Every key with its value, defaults included.
std::string ConfigToText(const ProjectionConfig& config);

// What Create() accepts; the first thing that is wrong otherwise.
Status CheckConfig(const ProjectionConfig& config);

// The config text inside a block of bytes (raw, or wrapped in a FlexBuffer map): from the magic
// "projection1:" to the first NUL or the end. Empty if there is none.
std::string_view FindConfig(const void* data, size_t size);

// The seed of one row of a batch (and, inside Analyse, of one token of a text).
uint64_t RowSeed(uint64_t seed, uint64_t row);

// A text after its limit of bytes, normalising, splitting, lower-casing and filtering, ready to be
// hashed.
struct AnalysedText {
  struct Token {
    size_t begin = 0;  // into `utf8`
    size_t size = 0;
    bool first_cap = false;
    bool all_caps = false;
    uint32_t seen = 0;  // earlier tokens of the same first hash code, where novelty is on
  };
  std::string utf8;
  std::vector<Token> tokens;
  Token bos;  // the tags: only `seen` counts
  Token eos;
};

class Projection {
 public:
  static Status Create(const ProjectionConfig& config, Projection* projection);

  const ProjectionConfig& config() const { return config_; }

  // `seed` only matters when distortion > 0; the same seed always gives the same tokens. Fails only
  // when memory runs out. Keep `analysed` between texts: its memory is used again.
  Status Analyse(std::string_view text, uint64_t seed, AnalysedText* analysed) const;

  // Rows that hold something: tokens and tags.
  int64_t Length(const AnalysedText& analysed) const;

  // Writes `rows` * feature_size values, zeros after Length(); what does not fit is left out. Never
  // allocates. int8: ternary features and trigram sums as they are, novelty and document size (in
  // [-1, 1]) times 8, rounded. float: the same, novelty and document size exact.
  void Write(const AnalysedText& analysed, int64_t rows, int8_t* out) const;
  void Write(const AnalysedText& analysed, int64_t rows, float* out) const;

 private:
  template <typename T>
  void WriteRows(const AnalysedText& analysed, int64_t rows, T* out) const;
  bool Keeps(uint32_t code_point) const;
  void AppendToken(std::string_view token, uint64_t seed, AnalysedText* analysed) const;
  void CountEarlier(AnalysedText* analysed) const;
  int HashedFeatures() const;

  ProjectionConfig config_;
  std::vector<uint32_t> vocabulary_;  // sorted
  uint8_t ascii_[128] = {};           // lower-cased character, or kDropped
};

}  // namespace export_mobile

#endif  // EXPORT_MOBILE_PROJECTION_H_
