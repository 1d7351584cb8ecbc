/* The projection core for C, and for languages that call C (ctypes, Swift, Go, JNI).
 *
 * A function that can fail returns null or 0 and writes one line to `error`, cut to its capacity
 * with a final NUL. A projection never changes after its creation: threads may share it. */
#ifndef EXPORT_MOBILE_C_API_H_
#define EXPORT_MOBILE_C_API_H_

#include <stdint.h>

#if defined(_WIN32)
#define EXPORT_MOBILE_API __declspec(dllexport)
#else
#define EXPORT_MOBILE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
namespace export_mobile {
class Projection;
class Batch;
}  // namespace export_mobile
typedef export_mobile::Projection ExportMobileProjection;
typedef export_mobile::Batch ExportMobileBatch;
extern "C" {
#else
typedef struct ExportMobileProjection ExportMobileProjection;
typedef struct ExportMobileBatch ExportMobileBatch;
#endif

/* Every key of a config with its default, in the text form. Like the other functions that write
 * text: copies what fits with a final NUL, returns the size of the whole without it. */
EXPORT_MOBILE_API int64_t export_mobile_default_config(char* out, int64_t capacity);

/* `config` is the text form ("projection1:..."), `config_text` of projection.json. */
EXPORT_MOBILE_API ExportMobileProjection* export_mobile_projection_create(const char* config,
                                                                          int64_t config_size,
                                                                          char* error,
                                                                          int64_t error_capacity);
EXPORT_MOBILE_API void export_mobile_projection_free(ExportMobileProjection* projection);

/* Text i is data[offsets[i], offsets[i + 1]), in UTF-8; `offsets` holds count + 1 numbers. `seed`
 * only matters for distortion, `value_size` is that of the output to come (1 or 4), `rows` becomes
 * the rows of each text in it. */
EXPORT_MOBILE_API ExportMobileBatch* export_mobile_batch_create(
    const ExportMobileProjection* projection, const char* data, const int64_t* offsets,
    int64_t count, uint64_t seed, int64_t value_size, int threads, int64_t* rows, char* error,
    int64_t error_capacity);

/* `out` holds count * rows * feature_size values, `lengths` count (or is null). 0: no memory. */
EXPORT_MOBILE_API int export_mobile_batch_write_int8(const ExportMobileProjection* projection,
                                                     const ExportMobileBatch* batch, int threads,
                                                     int8_t* out, int32_t* lengths);
EXPORT_MOBILE_API int export_mobile_batch_write_float(const ExportMobileProjection* projection,
                                                      const ExportMobileBatch* batch, int threads,
                                                      float* out, int32_t* lengths);
EXPORT_MOBILE_API void export_mobile_batch_free(ExportMobileBatch* batch);

/* The stages by themselves, so that each can be compared with another implementation. */

EXPORT_MOBILE_API int64_t export_mobile_normalize(const ExportMobileProjection* projection,
                                                  const char* text, int64_t size, char* out,
                                                  int64_t capacity);

/* Writes begin and end of up to `capacity` tokens; returns how many there are. */
EXPORT_MOBILE_API int64_t export_mobile_split(const ExportMobileProjection* projection,
                                              const char* text, int64_t size, int64_t* spans,
                                              int64_t capacity);

/* `codes` has room for 128; returns how many were written. The token is valid UTF-8, not empty. */
EXPORT_MOBILE_API int64_t export_mobile_hash(const ExportMobileProjection* projection,
                                             const char* token, int64_t size, uint64_t* codes);

#ifdef __cplusplus
}
#endif

#endif /* EXPORT_MOBILE_C_API_H_ */
