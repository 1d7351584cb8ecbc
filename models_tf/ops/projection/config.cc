// The text form of a ProjectionConfig, and what a config must fulfil.
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <locale>
#include <sstream>

#include "projection.h"

namespace export_mobile {
namespace {

constexpr std::string_view kMagic = "projection1:";
constexpr int32_t kMaxFeatureSize = 4096;
constexpr int32_t kMaxRows = 1 << 20;
// A config stands in a model file, and the features of a padded text are allocated before any text
// is read. The variable is that of the limit `feature_bytes` in models_tf/limits.py.
constexpr int64_t kMaxTextFeatures = int64_t{64} << 20;
constexpr const char* kMaxTextFeaturesVariable = "EXPORT_MOBILE_LIMIT_FEATURE_BYTES";
constexpr int32_t kMinBytes = 16;
constexpr int32_t kMaxBytes = 1 << 20;

int64_t MaxTextFeatures() {
  const char* text = std::getenv(kMaxTextFeaturesVariable);
  int64_t found = 0;
  if (text == nullptr) return kMaxTextFeatures;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, found);
  return error == std::errc() && stop == end && found > 0 ? found : kMaxTextFeatures;
}

constexpr std::string_view kFeaturesNames[] = {"words", "mixed"};
constexpr std::string_view kHashNames[] = {"murmur",     "xfixhash8",    "xfixhash16",
                                           "xfixhash32", "unicodehash8", "unicodehash16"};
constexpr std::string_view kBytesNames[] = {"unsigned", "signed"};
constexpr std::string_view kSplitNames[] = {"spaces", "spaces_compatible", "characters"};

// Calls visit(key, member) for every setting, so that reading and writing know the same keys.
template <typename Config, typename Visitor>
void VisitSettings(Config& c, Visitor&& visit) {
  visit("feature_size", c.feature_size);
  visit("features", c.features);
  visit("hash", c.hash);
  visit("bytes", c.bytes);
  visit("split", c.split);
  visit("max_tokens", c.max_tokens);
  visit("pad_to", c.pad_to);
  visit("max_bytes", c.max_bytes);
  visit("vocabulary", c.vocabulary);
  visit("alphabetic_only", c.alphabetic_only);
  visit("normalize_repetition", c.normalize_repetition);
  visit("normalize_spaces", c.normalize_spaces);
  visit("token_separators", c.token_separators);
  visit("add_bos", c.add_bos);
  visit("add_eos", c.add_eos);
  visit("word_novelty_bits", c.word_novelty_bits);
  visit("doc_size_levels", c.doc_size_levels);
  visit("first_cap_feature", c.first_cap_feature);
  visit("all_caps_feature", c.all_caps_feature);
  visit("presence_feature", c.presence_feature);
  visit("distortion", c.distortion);
}

template <size_t N, typename Enum>
bool ReadName(const std::string& value, const std::string_view (&names)[N], Enum* out) {
  for (size_t i = 0; i < N; ++i) {
    if (value == names[i]) {
      *out = static_cast<Enum>(i);
      return true;
    }
  }
  return false;
}

bool Read(const std::string& value, Features* out) { return ReadName(value, kFeaturesNames, out); }
bool Read(const std::string& value, Hash* out) { return ReadName(value, kHashNames, out); }
bool Read(const std::string& value, Bytes* out) { return ReadName(value, kBytesNames, out); }
bool Read(const std::string& value, Split* out) { return ReadName(value, kSplitNames, out); }

bool Read(const std::string& value, int32_t* out) {
  const char* end = value.data() + value.size();
  const auto result = std::from_chars(value.data(), end, *out);
  return result.ec == std::errc() && result.ptr == end && !value.empty();
}

bool Read(const std::string& value, bool* out) {
  *out = value == "1";
  return value == "0" || value == "1";
}

bool Read(const std::string& value, double* out) {
  // Not strtod: the user's locale may want a comma.
  std::istringstream stream(value);
  stream.imbue(std::locale::classic());
  return !value.empty() && (stream >> *out) &&
         stream.peek() == std::istringstream::traits_type::eof();
}

bool Read(const std::string& value, std::string* out) {
  *out = value;
  return true;
}

bool IsPlain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c == '.' || c == '-';
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool Unescape(std::string_view text, std::string* out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsPlain(text[i])) {
      out->push_back(text[i]);
      continue;
    }
    if (text[i] != '%' || text.size() - i < 3) return false;
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return false;
    out->push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return true;
}

std::string Escape(std::string_view value) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : value) {
    if (IsPlain(c)) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return out;
}

std::string Show(Features value) { return std::string(kFeaturesNames[static_cast<int>(value)]); }
std::string Show(Hash value) { return std::string(kHashNames[static_cast<int>(value)]); }
std::string Show(Bytes value) { return std::string(kBytesNames[static_cast<int>(value)]); }
std::string Show(Split value) { return std::string(kSplitNames[static_cast<int>(value)]); }
std::string Show(int32_t value) { return std::to_string(value); }
std::string Show(bool value) { return value ? "1" : "0"; }
std::string Show(const std::string& value) { return Escape(value); }

std::string Show(double value) {
  std::ostringstream stream;
  stream.imbue(std::locale::classic());
  stream.precision(17);
  stream << value;
  return Escape(stream.str());  // the plus of 1e+66
}

// Part of a message: bounded and printable, whatever bytes came in.
std::string Quote(std::string_view text) {
  return "'" + Escape(text.substr(0, 60)) + (text.size() > 60 ? "...'" : "'");
}

}  // namespace

Status ParseConfig(std::string_view text, ProjectionConfig* config) {
  if (text.substr(0, kMagic.size()) != kMagic) {
    return {"A projection config must start with 'projection1:'. Received: " + Quote(text) + "."};
  }
  text.remove_prefix(kMagic.size());
  *config = ProjectionConfig();
  std::string seen = ";";
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find(';'));
    text.remove_prefix(pair.size() < text.size() ? pair.size() + 1 : pair.size());
    const size_t equals = pair.find('=');
    std::string value;
    if (equals == std::string_view::npos || !Unescape(pair.substr(equals + 1), &value)) {
      return {"A projection setting must be written key=value, other bytes as %XX. Received: " +
              Quote(pair) + "."};
    }
    const std::string key(pair.substr(0, equals));
    bool known = false;
    bool readable = false;
    VisitSettings(*config, [&](const char* name, auto& member) {
      if (key != name) return;
      known = true;
      readable = Read(value, &member);
    });
    if (!known) return {"Unknown projection setting. Received: " + Quote(key) + "."};
    if (!readable)
      return {"`" + key + "` has a value that cannot be read. Received: " + Quote(value) + "."};
    if (seen.find(";" + key + ";") != std::string::npos) {
      return {"A projection setting must stand once. Received: " + Quote(key) + " twice."};
    }
    seen += key + ";";
  }
  return {};
}

std::string ConfigToText(const ProjectionConfig& config) {
  std::string text;
  VisitSettings(config, [&](const char* name, const auto& member) {
    text += (text.empty() ? "" : ";") + std::string(name) + "=" + Show(member);
  });
  return std::string(kMagic) + text;
}

std::string_view FindConfig(const void* data, size_t size) {
  if (data == nullptr) return {};
  const std::string_view bytes(static_cast<const char*>(data), size);
  const size_t begin = bytes.find(kMagic);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = bytes.substr(begin);
  return rest.substr(0, rest.find('\0'));
}

Status CheckConfig(const ProjectionConfig& c) {
  const auto received = [](int64_t value) { return " Received: " + std::to_string(value) + "."; };
  if (c.feature_size % 2 != 0 || c.feature_size < 2 || c.feature_size > kMaxFeatureSize) {
    return {"`feature_size` must be even (2 bits a feature) and 2 to 4096." +
            received(c.feature_size)};
  }
  if (c.features == Features::kMixed && c.feature_size % 4 != 0) {
    return {"`feature_size` must be a multiple of 4 when features are mixed." +
            received(c.feature_size)};
  }
  if ((c.first_cap_feature || c.all_caps_feature) && c.feature_size < 4) {
    return {"`feature_size` must be at least 4 with a caps feature." + received(c.feature_size)};
  }
  if (c.max_tokens != -1 && (c.max_tokens < 1 || c.max_tokens > kMaxRows)) {
    return {"`max_tokens` must be -1 or 1 to 1048576." + received(c.max_tokens)};
  }
  if (c.pad_to != 0 && (c.pad_to <= c.add_bos + c.add_eos || c.pad_to > kMaxRows)) {
    return {"`pad_to` must be 0, or hold one token beside the tags and be at most 1048576." +
            received(c.pad_to)};
  }
  const int64_t features = static_cast<int64_t>(c.pad_to) * c.feature_size;
  if (features > MaxTextFeatures()) {
    return {"`pad_to` times `feature_size` must be at most " + std::to_string(MaxTextFeatures()) +
            " (the limit feature_bytes)." + received(features)};
  }
  if (c.max_bytes != 0 && (c.max_bytes < kMinBytes || c.max_bytes > kMaxBytes)) {
    return {"`max_bytes` must be 0 or 16 to 1048576." + received(c.max_bytes)};
  }
  if (c.word_novelty_bits < 0 || c.word_novelty_bits > 7) {
    return {"`word_novelty_bits` must be 0 to 7." + received(c.word_novelty_bits)};
  }
  if (c.doc_size_levels < 0 || c.doc_size_levels > 16) {
    return {"`doc_size_levels` must be 0 to 16." + received(c.doc_size_levels)};
  }
  if (!(c.distortion >= 0.0 && c.distortion <= 1.0)) {
    return {"`distortion` must be 0 to 1. Received: " + Show(c.distortion) + "."};
  }
  if (!c.vocabulary.empty() && c.alphabetic_only) {
    return {"`vocabulary` and `alphabetic_only` exclude each other. Received: both."};
  }
  for (const char separator : c.token_separators) {
    if (static_cast<unsigned char>(separator) >= 0x80) {
      return {"`token_separators` must be ASCII (a separator is one byte). Received: " +
              Quote(c.token_separators) + "."};
    }
  }
  return {};
}

}  // namespace export_mobile
