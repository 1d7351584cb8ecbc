// libFuzzer harness of the projection core and its C interface: no stand-in, everything is real.
//
// Claims beside "no crash": a config that is accepted survives its text form, two calls give the
// same features, fewer rows are the first of more rows, rows behind the text are zero, lengths keep
// to max_tokens, columns hold what the config says, the C interface equals the C++ one.
#include "c_api.h"
#include "fuzz_case.h"

namespace {

using fuzz::AnalysedText;
using fuzz::Case;
using fuzz::Projection;
using fuzz::ProjectionConfig;

constexpr int64_t kMostRows = 600;

template <typename Value>
std::unique_ptr<Value[]> Rows(const Projection& projection, const AnalysedText& analysed,
                              int64_t rows) {
  std::unique_ptr<Value[]> out(
      new Value[static_cast<size_t>(rows) * projection.config().feature_size]);
  projection.Write(analysed, rows, out.get());
  return out;
}

void CheckText(const Projection& projection, std::string_view text, uint64_t seed) {
  const ProjectionConfig& config = projection.config();
  const auto size = static_cast<size_t>(config.feature_size);
  AnalysedText analysed;
  AnalysedText again;
  FUZZ_CHECK(projection.Analyse(text, seed, &analysed).ok());
  FUZZ_CHECK(projection.Analyse(text, seed, &again).ok());
  FUZZ_CHECK(analysed.utf8 == again.utf8);
  const int64_t length = projection.Length(analysed);
  FUZZ_CHECK(length == projection.Length(again));
  const int tags = config.add_bos + config.add_eos;
  FUZZ_CHECK(length >= tags);
  FUZZ_CHECK(config.max_tokens < 0 || length <= config.max_tokens + tags);
  FUZZ_CHECK(config.pad_to == 0 || length <= config.pad_to);
  // A separator gets a space on each side, and each character may be a token.
  const size_t most = config.token_separators.empty() ? text.size() : 3 * text.size();
  FUZZ_CHECK(static_cast<size_t>(length) <= most + 1 + tags);
  for (const AnalysedText::Token& token : analysed.tokens) {
    FUZZ_CHECK(token.begin <= analysed.utf8.size() &&
               token.size <= analysed.utf8.size() - token.begin);
  }

  const int64_t rows = std::min(kMostRows, length + 2);
  const auto values = Rows<int8_t>(projection, analysed, rows);
  FUZZ_CHECK(fuzz::SameBytes(values.get(), Rows<int8_t>(projection, again, rows).get(),
                             static_cast<size_t>(rows) * size));
  const int64_t fewer = std::min(length, rows) / 2;
  // The tag of the end stands in the last row that there is, so a cut has none.
  FUZZ_CHECK(fuzz::SameBytes(values.get(), Rows<int8_t>(projection, analysed, fewer).get(),
                             static_cast<size_t>(fewer) * size));
  const auto floats = Rows<float>(projection, analysed, rows);
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < size; ++column) {
      const int value = values[static_cast<size_t>(row) * size + column];
      const float wide = floats[static_cast<size_t>(row) * size + column];
      const bool scaled = (config.word_novelty_bits > 0 && column == size - 1) ||
                          (config.doc_size_levels > 0 && column == size - 2);
      if (row >= length) {
        FUZZ_CHECK(value == 0 && wide == 0.0F);
      } else if (config.presence_feature && column == 0) {
        FUZZ_CHECK(value == 1 && wide == 1.0F);
      } else if (scaled) {
        FUZZ_CHECK(value >= -8 && value <= 8 && wide >= -1.0F && wide <= 1.0F);
      } else {
        FUZZ_CHECK(wide == static_cast<float>(value));
        FUZZ_CHECK(config.features == export_mobile::Features::kMixed ||
                   (value >= -1 && value <= 1));
      }
    }
  }
}

void CheckInterface(const Case& one, const Projection& projection) {
  char error[64];
  ExportMobileProjection* made =
      export_mobile_projection_create(one.config.data(), static_cast<int64_t>(one.config.size()),
                                      error, static_cast<int64_t>(sizeof(error)));
  FUZZ_CHECK(made != nullptr);
  const std::string_view text = one.texts[0];
  const auto size = static_cast<int64_t>(text.size());
  const int64_t normalized = export_mobile_normalize(made, text.data(), size, nullptr, 0);
  std::string copied(static_cast<size_t>(normalized) + 1, 'x');
  FUZZ_CHECK(export_mobile_normalize(made, text.data(), size, copied.data(), normalized + 1) ==
             normalized);
  FUZZ_CHECK(copied.back() == '\0');
  const int64_t count = export_mobile_split(made, text.data(), size, nullptr, 0);
  std::vector<int64_t> spans(2 * static_cast<size_t>(count));
  FUZZ_CHECK(export_mobile_split(made, text.data(), size, spans.data(), count) == count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = spans[2 * static_cast<size_t>(i)];
    const int64_t end = spans[2 * static_cast<size_t>(i) + 1];
    FUZZ_CHECK(0 <= begin && begin <= end && end <= size);
  }
  const int64_t offsets[2] = {0, size};
  int64_t rows = -1;
  ExportMobileBatch* batch = export_mobile_batch_create(made, text.data(), offsets, 1, one.seed, 1,
                                                        2, &rows, error, sizeof(error));
  if (batch != nullptr && rows <= kMostRows) {
    AnalysedText analysed;
    FUZZ_CHECK(projection.Analyse(text, export_mobile::RowSeed(one.seed, 0), &analysed).ok());
    const size_t values = static_cast<size_t>(rows) * projection.config().feature_size;
    std::unique_ptr<int8_t[]> out(new int8_t[values]);
    int32_t length = -1;
    FUZZ_CHECK(export_mobile_batch_write_int8(made, batch, 1, out.get(), &length) == 1);
    FUZZ_CHECK(length == projection.Length(analysed));
    FUZZ_CHECK(fuzz::SameBytes(out.get(), Rows<int8_t>(projection, analysed, rows).get(), values));
  }
  export_mobile_batch_free(batch);
  export_mobile_projection_free(made);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  export_mobile::FindConfig(data, size);
  const Case one = fuzz::Read(data, size);
  ProjectionConfig config;
  Projection projection;
  export_mobile::Status status = export_mobile::ParseConfig(one.config, &config);
  if (status.ok()) {
    const std::string shown = export_mobile::ConfigToText(config);
    ProjectionConfig second;
    FUZZ_CHECK(export_mobile::ParseConfig(shown, &second).ok());
    FUZZ_CHECK(export_mobile::ConfigToText(second) == shown);
    const std::string wrapped = "config" + std::string(1, '\0') + shown + std::string("\0\x07", 2);
    FUZZ_CHECK(export_mobile::FindConfig(wrapped.data(), wrapped.size()) == shown);
    status = Projection::Create(config, &projection);
  }
  if (!status.ok()) {
    FUZZ_CHECK(status.message.find('\n') == std::string::npos && status.message.size() < 1000);
    char error[16];
    FUZZ_CHECK(export_mobile_projection_create(one.config.data(),
                                               static_cast<int64_t>(one.config.size()), error,
                                               sizeof(error)) == nullptr);
    FUZZ_CHECK(std::memchr(error, '\0', sizeof(error)) != nullptr);
    return 0;
  }
  for (size_t i = 0; i < one.texts.size(); ++i) {
    CheckText(projection, one.texts[i], export_mobile::RowSeed(one.seed, i));
  }
  CheckInterface(one, projection);
  return 0;
}
