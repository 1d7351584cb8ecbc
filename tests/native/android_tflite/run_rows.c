// Runs a .tflite file in TensorFlow Lite's C interface: run_rows LIBRARY MODEL < rows > answers
//
// Stdin holds rows one after the other: the number of inputs in a line, then for each input a line
// `name rank size... bytes` and its bytes. Stdout gets the same for the outputs of each row, with
// the number of the type before the rank. The declarations are those of
// tensorflow/lite/c/c_api.h, 2.12 and later; opaque pointers are void*.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_RANK 8

static void* library;

static void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void* find(const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) fail(dlerror());
  return found;
}

#define CALL(result, name, ...) ((result (*)(__VA_ARGS__))find(#name))

static void read_inputs(void* runner, int count) {
  char name[128];
  for (int i = 0; i < count; ++i) {
    int rank = 0;
    int32_t sizes[MAX_RANK];
    if (scanf("%127s %d", name, &rank) != 2 || rank > MAX_RANK) fail("expected an input");
    for (int axis = 0; axis < rank; ++axis) {
      if (scanf("%d", &sizes[axis]) != 1) fail("expected a shape");
    }
    size_t bytes = 0;
    if (scanf("%zu", &bytes) != 1 || getchar() != '\n') fail("expected a number of bytes");
    char* data = malloc(bytes ? bytes : 1);
    if (fread(data, 1, bytes, stdin) != bytes) fail("expected more bytes");
    CALL(int, TfLiteSignatureRunnerResizeInputTensor, void*, const char*, const int*, int32_t)(
        runner, name, sizes, rank);
    if (CALL(int, TfLiteSignatureRunnerAllocateTensors, void*)(runner)) fail("allocation failed");
    void* tensor =
        CALL(void*, TfLiteSignatureRunnerGetInputTensor, void*, const char*)(runner, name);
    if (tensor == NULL) fail("no such input");
    if (CALL(int, TfLiteTensorCopyFromBuffer, void*, const void*, size_t)(tensor, data, bytes))
      fail("wrong input");
    free(data);
  }
}

static void write_outputs(void* runner) {
  const size_t count = CALL(size_t, TfLiteSignatureRunnerGetOutputCount, const void*)(runner);
  printf("%zu\n", count);
  for (size_t i = 0; i < count; ++i) {
    const char* name =
        CALL(const char*, TfLiteSignatureRunnerGetOutputName, const void*, int32_t)(runner, (int)i);
    const void* tensor = CALL(const void*, TfLiteSignatureRunnerGetOutputTensor, const void*,
                              const char*)(runner, name);
    const int rank = CALL(int32_t, TfLiteTensorNumDims, const void*)(tensor);
    printf("%s %d %d", name, CALL(int, TfLiteTensorType, const void*)(tensor), rank);
    for (int axis = 0; axis < rank; ++axis) {
      printf(" %d", CALL(int32_t, TfLiteTensorDim, const void*, int32_t)(tensor, axis));
    }
    const size_t bytes = CALL(size_t, TfLiteTensorByteSize, const void*)(tensor);
    printf(" %zu\n", bytes);
    fwrite(CALL(void*, TfLiteTensorData, const void*)(tensor), 1, bytes, stdout);
  }
}

int main(int count, char** arguments) {
  if (count != 3) fail("run_rows LIBRARY MODEL");
  library = dlopen(arguments[1], RTLD_NOW);
  if (library == NULL) fail(dlerror());
  fprintf(stderr, "TensorFlow Lite %s\n", CALL(const char*, TfLiteVersion, void)());
  void* model = CALL(void*, TfLiteModelCreateFromFile, const char*)(arguments[2]);
  if (model == NULL) fail("not a model");
  void* interpreter = CALL(void*, TfLiteInterpreterCreate, const void*, const void*)(model, NULL);
  if (interpreter == NULL) fail("the interpreter refused the model");
  const char* key =
      CALL(const char*, TfLiteInterpreterGetSignatureKey, const void*, int32_t)(interpreter, 0);
  void* runner =
      CALL(void*, TfLiteInterpreterGetSignatureRunner, const void*, const char*)(interpreter, key);
  if (runner == NULL) fail("no signature");
  for (int inputs; scanf("%d", &inputs) == 1;) {
    read_inputs(runner, inputs);
    if (CALL(int, TfLiteSignatureRunnerInvoke, void*)(runner)) fail("the call failed");
    write_outputs(runner);
  }
  return 0;
}
