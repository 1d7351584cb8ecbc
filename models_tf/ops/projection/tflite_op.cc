// TFLite custom op "ExportMobileSequenceProjection" for tf.lite, ai-edge-litert and tflite-runtime:
// unpacks tensors, calls the core, packs tensors.
//
// No package ships TFLite's C headers, so the structs are written out here as far as they are used:
// read from tensorflow/lite/core/c/common.h and core/api/op_resolver.h of TensorFlow 2.14 to 2.21,
// and the same files of LiteRT 2.3. They are private ABI: `tflite_loader.py` lets a runtime version
// in only when it is known or passed a probe in a process of its own. Leaves out: threads (a phone
// runs batch 1), and distortion, which belongs to training.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "batch.h"
#include "projection.h"

namespace export_mobile {
namespace {

static_assert(sizeof(void*) == 8, "the layouts below are those of 64-bit platforms");

// TfLiteStatus, TfLiteType, TfLiteAllocationType: C enums, ints in the ABI.
enum : int { kOk = 0, kError = 1 };
enum : int { kFloat32 = 1, kInt32 = 2, kString = 5, kInt8 = 9 };
enum : int { kDynamic = 4 };
constexpr int kBuiltinCustom = 32;  // BuiltinOperator_CUSTOM

struct IntArray {  // TfLiteIntArray
  int size;
  int data[1];
};

struct Tensor {  // TfLiteTensor
  int type;
  void* data;
  IntArray* dims;
  float scale;
  int32_t zero_point;
  int allocation_type;
  size_t bytes;
  const void* unused[8];  // allocation, name, delegate, handles, quantization, sparsity, signature
};
static_assert(sizeof(Tensor) == 112, "context->tensors is an array of these");

struct Node {  // TfLiteNode, first part
  const IntArray* inputs;
  const IntArray* outputs;
  const IntArray* intermediates;
  const IntArray* temporaries;
  void* user_data;
};

struct Context {  // TfLiteContext, first part
  size_t tensors_size;
  void* get_execution_plan;
  Tensor* tensors;
  void* impl;
  int (*resize_tensor)(Context*, Tensor*, IntArray* new_size);  // takes ownership of new_size
  void (*report_error)(Context*, const char* format, ...);
};

struct Registration {  // TfLiteRegistration
  void* (*init)(Context*, const char* buffer, size_t length);
  void (*free)(Context*, void* user_data);
  int (*prepare)(Context*, Node*);
  int (*invoke)(Context*, Node*);
  const char* (*profiling_string)(const Context*, const Node*);
  int32_t builtin_code;
  const char* custom_name;
  int version;
  // registration_external, async_kernel, inplace_operator, and room for what a later version reads.
  const void* later[16];
};

struct Op {
  Projection projection;
  Status status;  // of the config; Init cannot fail, so Prepare reports it
};

int Fail(Context* context, const std::string& message) {
  context->report_error(context, "SequenceProjection: %s", message.c_str());
  return kError;
}

// Tensor `index` of the node's inputs or outputs; null when there is none.
Tensor* TensorAt(Context* context, const IntArray* indices, int index) {
  if (indices == nullptr || index >= indices->size) return nullptr;
  const int tensor = indices->data[index];
  if (tensor < 0 || static_cast<size_t>(tensor) >= context->tensors_size) return nullptr;
  return &context->tensors[tensor];
}

int Resize(Context* context, Tensor* tensor, std::initializer_list<int64_t> shape) {
  // TFLite frees it with free().
  auto* dims = static_cast<IntArray*>(std::malloc(sizeof(int) * (shape.size() + 1)));
  if (dims == nullptr) return Fail(context, "out of memory.");
  dims->size = static_cast<int>(shape.size());
  int* next = dims->data;
  for (const int64_t size : shape) *next++ = static_cast<int>(size);
  return context->resize_tensor(context, tensor, dims);
}

void SetDynamic(Tensor* tensor) {
  if (tensor->allocation_type == kDynamic) return;
  tensor->allocation_type = kDynamic;
  tensor->data = nullptr;
}

// TFLite's string buffer: int32 count, count + 1 int32 offsets from the buffer's start, bytes.
Status ReadStrings(const Tensor& tensor, std::vector<std::string_view>* texts) {
  const char* buffer = static_cast<const char*>(tensor.data);
  int32_t count = 0;
  if (buffer == nullptr || tensor.bytes < sizeof(count)) return Status{"the text was not set."};
  std::memcpy(&count, buffer, sizeof(count));
  const size_t header = sizeof(int32_t) * (static_cast<size_t>(std::max(count, 0)) + 2);
  if (count < 0 || tensor.bytes < header) return Status{"the text tensor is damaged."};
  std::vector<int32_t> offsets(static_cast<size_t>(count) + 1);
  std::memcpy(offsets.data(), buffer + sizeof(count), offsets.size() * sizeof(int32_t));
  texts->reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    if (offsets[i] < 0 || offsets[i] > offsets[i + 1] ||
        static_cast<size_t>(offsets[i + 1]) > tensor.bytes) {
      return Status{"the text tensor is damaged."};
    }
    texts->emplace_back(buffer + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i]));
  }
  return Status{};
}

void* Init(Context*, const char* buffer, size_t length) {
  auto* op = new (std::nothrow) Op;
  if (op == nullptr) return nullptr;
  try {
    ProjectionConfig config;
    const std::string_view text = FindConfig(buffer, buffer == nullptr ? 0 : length);
    op->status = text.empty() ? Status{"the custom options must hold a projection config."}
                              : ParseConfig(text, &config);
    if (op->status.ok() && config.distortion > 0) {
      op->status = Status{"`distortion` must be 0 outside of training. Received: " +
                          std::to_string(config.distortion) + "."};
    }
    if (op->status.ok()) op->status = Projection::Create(config, &op->projection);
  } catch (const std::exception& error) {
    delete op;
    return nullptr;
  }
  return op;
}

void Free(Context*, void* user_data) { delete static_cast<Op*>(user_data); }

int PrepareNode(Context* context, Node* node) {
  const auto* op = static_cast<const Op*>(node->user_data);
  if (op == nullptr) return Fail(context, "out of memory.");
  if (!op->status.ok()) return Fail(context, op->status.message);
  const Tensor* text = TensorAt(context, node->inputs, 0);
  Tensor* features = TensorAt(context, node->outputs, 0);
  Tensor* lengths = TensorAt(context, node->outputs, 1);
  if (text == nullptr || features == nullptr) {
    return Fail(context, "the op must have an input (text) and an output (features).");
  }
  if (text->type != kString || text->dims == nullptr || text->dims->size != 1) {
    return Fail(context, "the input must be a vector of strings.");
  }
  if (features->type != kInt8 && features->type != kFloat32) {
    return Fail(context, "the features must be int8 or float32. Received: TFLite type " +
                             std::to_string(features->type) + ".");
  }
  if (lengths != nullptr && lengths->type != kInt32) {
    return Fail(context, "the lengths must be int32. Received: TFLite type " +
                             std::to_string(lengths->type) + ".");
  }
  const ProjectionConfig& config = op->projection.config();
  const int64_t count = text->dims->data[0];
  if (config.pad_to > 0) {
    const Status fits = CheckOutputSize(count, config.pad_to, config.feature_size,
                                        features->type == kInt8 ? sizeof(int8_t) : sizeof(float));
    if (!fits.ok()) return Fail(context, fits.message);
    const int status = Resize(context, features, {count, config.pad_to, config.feature_size});
    if (status != kOk) return status;
  } else {
    SetDynamic(features);
  }
  return lengths == nullptr ? int{kOk} : Resize(context, lengths, {count});
}

int InvokeNode(Context* context, Node* node) {
  const auto* op = static_cast<const Op*>(node->user_data);
  const Projection& projection = op->projection;
  const Tensor* text = TensorAt(context, node->inputs, 0);
  Tensor* features = TensorAt(context, node->outputs, 0);
  Tensor* lengths = TensorAt(context, node->outputs, 1);
  std::vector<std::string_view> texts;
  Status status = ReadStrings(*text, &texts);
  if (!status.ok()) return Fail(context, status.message);
  if (static_cast<int64_t>(texts.size()) != text->dims->data[0]) {
    return Fail(context, "the input's shape says " + std::to_string(text->dims->data[0]) +
                             " texts. Received: " + std::to_string(texts.size()) + ".");
  }
  const bool is_int8 = features->type == kInt8;
  Batch batch;
  status = batch.Analyse(projection, texts, /*seed=*/0, /*threads=*/1);
  if (status.ok()) {
    status = batch.CheckSize(projection, is_int8 ? sizeof(int8_t) : sizeof(float));
  }
  if (!status.ok()) return Fail(context, status.message);
  if (projection.config().pad_to == 0) {
    const int resized =
        Resize(context, features, {batch.size(), batch.steps(), projection.config().feature_size});
    if (resized != kOk) return resized;
  }
  if (features->data == nullptr && batch.size() * batch.steps() > 0) {
    return Fail(context, "the features were not allocated.");
  }
  auto* counts = lengths == nullptr ? nullptr : static_cast<int32_t*>(lengths->data);
  status = is_int8 ? batch.Write(projection, 1, static_cast<int8_t*>(features->data), counts)
                   : batch.Write(projection, 1, static_cast<float*>(features->data), counts);
  return status.ok() ? int{kOk} : Fail(context, status.message);
}

// No exception may cross into the runtime.
template <int (*Call)(Context*, Node*)>
int Guarded(Context* context, Node* node) {
  try {
    return Call(context, node);
  } catch (const std::exception& error) {
    context->report_error(context, "SequenceProjection: %s", error.what());
    return kError;
  }
}

// The second name is what TFLiteConverter writes for the TensorFlow op.
constexpr const char* kNames[] = {"ExportMobileSequenceProjection",
                                  "ExportMobile>SequenceProjection"};

const Registration* FindRegistration(const char* name, int version) {
  static const Registration registrations[] = {
      {Init,
       Free,
       Guarded<PrepareNode>,
       Guarded<InvokeNode>,
       nullptr,
       kBuiltinCustom,
       kNames[0],
       1,
       {}},
      {Init,
       Free,
       Guarded<PrepareNode>,
       Guarded<InvokeNode>,
       nullptr,
       kBuiltinCustom,
       kNames[1],
       1,
       {}},
  };
  if (name == nullptr || version != 1) return nullptr;
  for (const Registration& registration : registrations) {
    if (std::strcmp(name, registration.custom_name) == 0) return &registration;
  }
  return nullptr;
}

// How the op gets into a resolver whose AddCustom() is hidden (LiteRT): the resolver gets a copy of
// its class's table of virtual functions in which FindOp(const char*, int) is ours. Itanium C++
// ABI: the object starts with a pointer to slot 0, two words stand before it (offset to top, type),
// slots follow the order of declaration, and that function is the second of tflite::OpResolver.
constexpr size_t kWordsBefore = 2;
constexpr size_t kSlots =
    8;  // FindOp x2, three kinds of delegates, destructor x2, user-defined ops
constexpr size_t kFindOpSlot = 1;
using FindOp = const Registration* (*)(const void* resolver, const char* name, int version);

struct Table {
  const void* const* original;  // slot 0 of the class's own table
  const void* words[kWordsBefore + kSlots];
};

const Registration* FindOpOrOurs(const void* resolver, const char* name, int version) {
  if (const Registration* ours = FindRegistration(name, version)) return ours;
  const auto* words = *static_cast<const void* const* const*>(resolver) - kWordsBefore;
  const auto* table =
      reinterpret_cast<const Table*>(reinterpret_cast<const char*>(words) - offsetof(Table, words));
  return reinterpret_cast<FindOp>(const_cast<void*>(table->original[kFindOpSlot]))(resolver, name,
                                                                                   version);
}

// One table for each class of resolver, kept for good: a resolver may outlive any owner of ours.
const void* const* TableFor(const void* const* original) {
  static std::mutex mutex;
  static auto* tables = new std::vector<std::unique_ptr<Table>>;
  const std::lock_guard<std::mutex> lock(mutex);
  for (const auto& table : *tables) {
    const void* const* slots = table->words + kWordsBefore;
    if (table->original == original || slots == original) return slots;  // the latter: done before
  }
  auto table = std::make_unique<Table>();
  table->original = original;
  std::memcpy(table->words, original - kWordsBefore, sizeof(table->words));
  table->words[kWordsBefore + kFindOpSlot] = reinterpret_cast<const void*>(&FindOpOrOurs);
  tables->push_back(std::move(table));
  return tables->back()->words + kWordsBefore;
}

}  // namespace
}  // namespace export_mobile

extern "C" {

// Puts the op into a tflite::MutableOpResolver; for the Python packages. 0: done.
__attribute__((visibility("default"))) int ExportMobileAddToResolver(void* resolver) {
  try {
    auto* object = static_cast<const void* const**>(resolver);
    *object = export_mobile::TableFor(*object);
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}

// The op as a `const TfLiteRegistration*`, for C++ apps:
// resolver.AddCustom("ExportMobileSequenceProjection", ExportMobileSequenceProjection()).
__attribute__((visibility("default"))) const void* ExportMobileSequenceProjection() {
  return export_mobile::FindRegistration(export_mobile::kNames[0], 1);
}

}  // extern "C"
