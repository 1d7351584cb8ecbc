// libFuzzer harness of the TFLite wrapper: init, prepare, invoke and free of the registration that
// it hands out.
//
// Stand-in: TFLite's interpreter, as the structs that the wrapper sees (context, node, tensors), a
// resizing that has little memory, and tensors of texts that may be damaged. Claims: features and
// lengths equal the core's, a damaged tensor or a config that the core refuses is an error and one
// reported line.
#include <cstdarg>

#include "fuzz_case.h"

extern "C" const void* ExportMobileSequenceProjection();

namespace {

// The same layouts as in tflite_op.cc, written out a second time: a harness that shared them could
// not see a change of one.
enum : int { kFloat32 = 1, kInt32 = 2, kString = 5, kInt8 = 9 };
enum : int { kArena = 2, kDynamic = 4 };

struct IntArray {
  int size;
  int data[4];
};
struct Tensor {
  int type;
  void* data;
  IntArray* dims;
  float scale;
  int32_t zero_point;
  int allocation_type;
  size_t bytes;
  const void* unused[8];
};
struct Node {
  const IntArray* inputs;
  const IntArray* outputs;
  const IntArray* intermediates;
  const IntArray* temporaries;
  void* user_data;
};
struct Context {
  size_t tensors_size;
  void* get_execution_plan;
  Tensor* tensors;
  void* impl;
  int (*resize_tensor)(Context*, Tensor*, IntArray*);
  void (*report_error)(Context*, const char*, ...);
};
struct Registration {
  void* (*init)(Context*, const char*, size_t);
  void (*free)(Context*, void*);
  int (*prepare)(Context*, Node*);
  int (*invoke)(Context*, Node*);
};

int reported = 0;

void Report(Context*, const char* format, ...) {
  char line[2000];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  FUZZ_CHECK(std::strchr(line, '\n') == nullptr && std::strlen(line) > 20);
  ++reported;
}

int Resize(Context*, Tensor* tensor, IntArray* dims) {
  size_t bytes = tensor->type == kInt8 ? 1 : 4;
  for (int i = 0; i < dims->size; ++i) {
    FUZZ_CHECK(dims->data[i] >= 0);
    bytes *= static_cast<size_t>(dims->data[i]);
  }
  std::free(tensor->dims);
  tensor->dims = dims;
  std::free(tensor->data);
  tensor->data = nullptr;
  tensor->bytes = bytes;
  if (bytes > fuzz::kRuntimeBytes) return 1;
  tensor->data = std::malloc(bytes);
  return 0;
}

IntArray* Shape(int size) {
  auto* dims = static_cast<IntArray*>(std::calloc(1, sizeof(IntArray)));
  dims->size = 1;
  dims->data[0] = size;
  return dims;
}

// TFLite's buffer of strings: count, offsets, bytes. With `damage` one number or the size is off.
std::string Buffer(const std::vector<std::string_view>& texts, uint8_t damage) {
  std::vector<int32_t> numbers{static_cast<int32_t>(texts.size())};
  auto at = static_cast<int32_t>(sizeof(int32_t) * (texts.size() + 2));
  for (const std::string_view text : texts) {
    numbers.push_back(at);
    at += static_cast<int32_t>(text.size());
  }
  numbers.push_back(at);
  if (damage != 0) {
    const int32_t odd[] = {-1, INT32_MIN, INT32_MAX, 1 << 20, at + 1, 0};
    numbers[damage % numbers.size()] = odd[damage % 6];
  }
  std::string buffer(reinterpret_cast<const char*>(numbers.data()),
                     numbers.size() * sizeof(int32_t));
  for (const std::string_view text : texts) buffer += text;
  if (damage % 7 == 6) buffer.resize(buffer.size() / 2);
  return buffer;
}

const Registration* Op() {
  return static_cast<const Registration*>(ExportMobileSequenceProjection());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Case one = fuzz::Read(data, size);
  const std::string options = one.config;
  std::unique_ptr<char[]> exact_options(new char[options.size()]);
  if (!options.empty()) std::memcpy(exact_options.get(), options.data(), options.size());
  // The config may stand anywhere in the custom options, and ends at a NUL.
  one.config = std::string(export_mobile::FindConfig(options.data(), options.size()));
  const bool wide = one.flags & 4;
  const uint8_t damage = one.flags & 8 ? static_cast<uint8_t>(one.seed) : 0;
  const fuzz::Truth truth = fuzz::Core(one, 0, wide ? 4 : 1);
  const bool fine = truth.status.ok() && truth.config.distortion == 0.0;

  Tensor tensors[3] = {};
  const int count = static_cast<int>(one.texts.size());
  const std::string buffer = Buffer(one.texts, damage);
  std::unique_ptr<char[]> exact(new char[buffer.size()]);
  if (!buffer.empty()) std::memcpy(exact.get(), buffer.data(), buffer.size());
  tensors[0].type = kString;
  tensors[0].dims = Shape(count);
  tensors[1].type = wide ? kFloat32 : kInt8;
  tensors[1].allocation_type = kArena;
  tensors[2].type = kInt32;
  tensors[2].allocation_type = kArena;
  const IntArray inputs{1, {0}};
  const IntArray outputs{one.flags & 16 ? 1 : 2, {1, 2}};
  Context context{3, nullptr, tensors, nullptr, &Resize, &Report};
  Node node{&inputs, &outputs, nullptr, nullptr, nullptr};

  reported = 0;
  node.user_data = Op()->init(&context, exact_options.get(), options.size());
  FUZZ_CHECK(node.user_data != nullptr);
  int status = Op()->prepare(&context, &node);
  if (!fine) FUZZ_CHECK(status != 0 && reported == 1);
  if (fine && !truth.too_large) FUZZ_CHECK(status == 0 && reported == 0);
  for (int run = 0; status == 0 && run < 2; ++run) {
    tensors[0].data = exact.get();
    tensors[0].bytes = buffer.size();
    reported = 0;
    status = Op()->invoke(&context, &node);
    if (damage != 0 || !fine) continue;  // any answer but a crash
    FUZZ_CHECK((status == 0) == !truth.too_large);
    if (truth.too_large) continue;
    FUZZ_CHECK(tensors[1].dims->size == 3 && tensors[1].dims->data[0] == count &&
               tensors[1].dims->data[1] == truth.steps &&
               tensors[1].dims->data[2] == truth.config.feature_size);
    const void* wanted = wide ? static_cast<const void*>(truth.float_values.data())
                              : static_cast<const void*>(truth.int8_values.data());
    FUZZ_CHECK(fuzz::SameBytes(tensors[1].data, wanted, tensors[1].bytes));
    FUZZ_CHECK(outputs.size == 1 || fuzz::SameBytes(tensors[2].data, truth.lengths.data(),
                                                    truth.lengths.size() * sizeof(int32_t)));
  }
  Op()->free(&context, node.user_data);
  for (Tensor& tensor : tensors) {
    std::free(tensor.dims);
    if (&tensor != &tensors[0]) std::free(tensor.data);
  }
  return 0;
}
