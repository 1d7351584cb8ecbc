/* Runs the C interface on a file of cases and writes everything it computed, for comparison with
 * another platform. Plain C, so that the header is known to be C.
 *
 * File: numbers are 64-bit, of the machine. Groups of: feature size, seed, config (size, bytes),
 * count, count + 1 offsets, bytes of all texts. For each group the output holds the rows, the
 * int8 features, the lengths, and the float features. */
#include <stdio.h>
#include <stdlib.h>

#include "c_api.h"

static void Fail(const char* message) {
  fprintf(stderr, "%s\n", message);
  exit(1);
}

static void* Allocate(int64_t size) {
  void* memory = malloc(size > 0 ? (size_t)size : 1);
  if (memory == NULL) Fail("out of memory");
  return memory;
}

static void* Read(FILE* file, int64_t size) {
  void* memory = Allocate(size);
  if (fread(memory, 1, (size_t)size, file) != (size_t)size) Fail("the file is cut");
  return memory;
}

static int64_t ReadNumber(FILE* file) {
  int64_t* number = Read(file, sizeof(*number));
  const int64_t value = *number;
  free(number);
  return value;
}

static void Put(const void* data, int64_t size, FILE* file) {
  if (fwrite(data, 1, (size_t)size, file) != (size_t)size) Fail("the output cannot be written");
}

int main(int argc, char** argv) {
  FILE* in = argc == 3 ? fopen(argv[1], "rb") : NULL;
  FILE* out = argc == 3 ? fopen(argv[2], "wb") : NULL;
  if (in == NULL || out == NULL) Fail("usage: c_api_driver CASES OUTPUT");
  for (int next = getc(in); next != EOF; next = getc(in)) {
    char error[512] = "";
    int64_t rows = 0;
    ungetc(next, in);
    const int64_t feature_size = ReadNumber(in);
    const uint64_t seed = (uint64_t)ReadNumber(in);
    const int64_t config_size = ReadNumber(in);
    char* config = Read(in, config_size);
    const int64_t count = ReadNumber(in);
    int64_t* offsets = Read(in, (count + 1) * (int64_t)sizeof(*offsets));
    char* texts = Read(in, offsets[count]);

    ExportMobileProjection* projection =
        export_mobile_projection_create(config, config_size, error, sizeof(error));
    if (projection == NULL) Fail(error);
    ExportMobileBatch* batch =
        export_mobile_batch_create(projection, texts, offsets, count, seed, sizeof(float),
                                   /*threads=*/1, &rows, error, sizeof(error));
    if (batch == NULL) Fail(error);
    const int64_t values = count * rows * feature_size;
    int8_t* features = Allocate(values);
    float* exact = Allocate(values * (int64_t)sizeof(*exact));
    int32_t* lengths = Allocate(count * (int64_t)sizeof(*lengths));
    if (!export_mobile_batch_write_int8(projection, batch, 1, features, lengths)) Fail("int8");
    if (!export_mobile_batch_write_float(projection, batch, 1, exact, NULL)) Fail("float");
    Put(&rows, sizeof(rows), out);
    Put(features, values, out);
    Put(lengths, count * (int64_t)sizeof(*lengths), out);
    Put(exact, values * (int64_t)sizeof(*exact), out);

    export_mobile_batch_free(batch);
    export_mobile_projection_free(projection);
    free(config);
    free(offsets);
    free(texts);
    free(features);
    free(exact);
    free(lengths);
  }
  return fclose(out) == 0 ? 0 : 1;
}
