// The core behind the C interface of c_api.h, where every function is described.
#include "c_api.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>

#include "batch.h"
#include "hashing.h"
#include "projection.h"
#include "text.h"

namespace {

using export_mobile::Batch;
using export_mobile::Projection;
using export_mobile::ProjectionConfig;
using export_mobile::Status;

// Copies what fits with a final NUL; returns the size the whole needs.
int64_t CopyOut(std::string_view text, char* out, int64_t capacity) {
  if (out != nullptr && capacity > 0) {
    const size_t size = std::min(text.size(), static_cast<size_t>(capacity - 1));
    std::memcpy(out, text.data(), size);
    out[size] = '\0';
  }
  return static_cast<int64_t>(text.size());
}

std::string_view View(const char* data, int64_t size) { return {data, static_cast<size_t>(size)}; }

}  // namespace

extern "C" int64_t export_mobile_default_config(char* out, int64_t capacity) {
  return CopyOut(export_mobile::ConfigToText(ProjectionConfig()), out, capacity);
}

extern "C" Projection* export_mobile_projection_create(const char* config, int64_t config_size,
                                                       char* error, int64_t error_capacity) try {
  ProjectionConfig parsed;
  Status status = export_mobile::ParseConfig(View(config, config_size), &parsed);
  auto projection = std::make_unique<Projection>();
  if (status.ok()) status = Projection::Create(parsed, projection.get());
  if (status.ok()) return projection.release();
  CopyOut(status.message, error, error_capacity);
  return nullptr;
} catch (const std::exception&) {
  CopyOut("Not enough memory for a projection.", error, error_capacity);
  return nullptr;
}

extern "C" void export_mobile_projection_free(Projection* projection) { delete projection; }

extern "C" Batch* export_mobile_batch_create(const Projection* projection, const char* data,
                                             const int64_t* offsets, int64_t count, uint64_t seed,
                                             int64_t value_size, int threads, int64_t* rows,
                                             char* error, int64_t error_capacity) try {
  std::vector<std::string_view> texts(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    texts[static_cast<size_t>(i)] = View(data + offsets[i], offsets[i + 1] - offsets[i]);
  }
  auto batch = std::make_unique<Batch>();
  Status status = batch->Analyse(*projection, texts, seed, threads);
  if (status.ok()) status = batch->CheckSize(*projection, static_cast<size_t>(value_size));
  if (!status.ok()) {
    CopyOut(status.message, error, error_capacity);
    return nullptr;
  }
  *rows = batch->steps();
  return batch.release();
} catch (const std::exception&) {
  CopyOut("Not enough memory for the batch.", error, error_capacity);
  return nullptr;
}

extern "C" int export_mobile_batch_write_int8(const Projection* projection, const Batch* batch,
                                              int threads, int8_t* out, int32_t* lengths) {
  return batch->Write(*projection, threads, out, lengths).ok();
}

extern "C" int export_mobile_batch_write_float(const Projection* projection, const Batch* batch,
                                               int threads, float* out, int32_t* lengths) {
  return batch->Write(*projection, threads, out, lengths).ok();
}

extern "C" void export_mobile_batch_free(Batch* batch) { delete batch; }

extern "C" int64_t export_mobile_normalize(const Projection* projection, const char* text,
                                           int64_t size, char* out, int64_t capacity) {
  return CopyOut(export_mobile::Normalize(projection->config(), View(text, size)), out, capacity);
}

extern "C" int64_t export_mobile_split(const Projection* projection, const char* text, int64_t size,
                                       int64_t* spans, int64_t capacity) {
  std::vector<std::string_view> tokens;
  export_mobile::SplitText(projection->config(), View(text, size), &tokens);
  for (int64_t i = 0; i < std::min(capacity, static_cast<int64_t>(tokens.size())); ++i) {
    const std::string_view token = tokens[static_cast<size_t>(i)];
    spans[2 * i] = token.data() - text;
    spans[2 * i + 1] = spans[2 * i] + static_cast<int64_t>(token.size());
  }
  return static_cast<int64_t>(tokens.size());
}

extern "C" int64_t export_mobile_hash(const Projection* projection, const char* token, int64_t size,
                                      uint64_t* codes) {
  const ProjectionConfig& config = projection->config();
  return export_mobile::HashToken(config.hash, config.bytes, View(token, size), config.feature_size,
                                  codes);
}
