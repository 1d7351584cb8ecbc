// What the four harnesses share: how a config and texts are read from the fuzzer's bytes, what the
// core makes of them, and a check that ends the run.
//
// Bytes: one of flags, one of seed, a config up to the first newline, then one to four texts split
// by 0x1F (the last text takes what is left, so every byte can stand in a text). Texts lie in heap
// blocks of exactly their size, so that AddressSanitizer sees every byte read beside them.
#ifndef EXPORT_MOBILE_FUZZ_CASE_H_
#define EXPORT_MOBILE_FUZZ_CASE_H_

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "projection.h"

#define FUZZ_CHECK(claim)                                                        \
  do {                                                                           \
    if (!(claim)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #claim); \
      std::abort();                                                              \
    }                                                                            \
  } while (false)

namespace fuzz {

using export_mobile::AnalysedText;
using export_mobile::Projection;
using export_mobile::ProjectionConfig;
using export_mobile::Status;

// A stand-in of a runtime has no more memory than this for one tensor, and says so as the runtime
// does. Small, for speed.
constexpr size_t kRuntimeBytes = size_t{4} << 20;

struct Case {
  uint8_t flags = 0;
  uint64_t seed = 0;
  std::string config;
  std::vector<std::unique_ptr<char[]>> blocks;
  std::vector<std::string_view> texts;
};

inline Case Read(const uint8_t* data, size_t size) {
  Case found;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto byte = [&rest] {
    const uint8_t value = rest.empty() ? 0 : static_cast<uint8_t>(rest[0]);
    rest.remove_prefix(rest.empty() ? 0 : 1);
    return value;
  };
  found.flags = byte();
  found.seed = byte();
  const std::string_view config = rest.substr(0, rest.find('\n'));
  found.config = std::string(config);
  rest.remove_prefix(std::min(rest.size(), config.size() + 1));
  for (int left = found.flags & 3; left >= 0; --left) {
    const std::string_view text = left == 0 ? rest : rest.substr(0, rest.find('\x1f'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    found.blocks.emplace_back(new char[text.size()]);
    if (!text.empty()) std::memcpy(found.blocks.back().get(), text.data(), text.size());
    found.texts.emplace_back(found.blocks.back().get(), text.size());
  }
  return found;
}

// What the core itself answers: the truth for the wrappers.
struct Truth {
  Status status;
  ProjectionConfig config;
  int64_t steps = 0;
  std::vector<int32_t> lengths;
  std::vector<int8_t> int8_values;
  std::vector<float> float_values;
  bool too_large = false;  // for a stand-in; nothing is computed then
};

inline Truth Core(const Case& one, uint64_t seed, size_t value_size) {
  Truth truth;
  Projection projection;
  truth.status = export_mobile::ParseConfig(one.config, &truth.config);
  if (truth.status.ok()) truth.status = Projection::Create(truth.config, &projection);
  if (!truth.status.ok()) return truth;
  std::vector<AnalysedText> analysed(one.texts.size());
  for (size_t i = 0; i < one.texts.size(); ++i) {
    FUZZ_CHECK(
        projection.Analyse(one.texts[i], export_mobile::RowSeed(seed, i), &analysed[i]).ok());
    truth.steps = std::max(truth.steps, projection.Length(analysed[i]));
    truth.lengths.push_back(static_cast<int32_t>(projection.Length(analysed[i])));
  }
  if (truth.config.pad_to > 0) truth.steps = truth.config.pad_to;
  const size_t stride = static_cast<size_t>(truth.steps) * truth.config.feature_size;
  truth.too_large = stride * one.texts.size() * value_size > kRuntimeBytes;
  if (truth.too_large) return truth;
  truth.int8_values.resize(stride * one.texts.size());
  truth.float_values.resize(stride * one.texts.size());
  for (size_t i = 0; i < one.texts.size(); ++i) {
    projection.Write(analysed[i], truth.steps, truth.int8_values.data() + i * stride);
    projection.Write(analysed[i], truth.steps, truth.float_values.data() + i * stride);
  }
  return truth;
}

inline bool SameBytes(const void* one, const void* other, size_t size) {
  return size == 0 || std::memcmp(one, other, size) == 0;
}

}  // namespace fuzz

#endif  // EXPORT_MOBILE_FUZZ_CASE_H_
