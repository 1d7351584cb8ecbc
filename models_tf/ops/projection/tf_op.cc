// TensorFlow op `ExportMobile>SequenceProjection`: unpacks tensors, calls the core, packs tensors.
//
// Built on TensorFlow's C API with hand-written declarations, so no TensorFlow is needed to compile
// it and one library serves several versions; the symbols are found when TensorFlow loads it.
// Declarations read from tensorflow/c/{ops,kernels,tf_tensor,tf_status}.h of TensorFlow 2.21.0 (the
// same in 2.20.0). Leaves out: GPU kernels (strings live in host memory anyway).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "batch.h"
#include "projection.h"

extern "C" {

struct TF_Status;
struct TF_Tensor;
struct TF_OpDefinitionBuilder;
struct TF_ShapeInferenceContext;
struct TF_ShapeHandle;
struct TF_KernelBuilder;
struct TF_OpKernelConstruction;
struct TF_OpKernelContext;

// Values of the enums TF_DataType and TF_Code; C enums without a type are ints in the ABI.
enum : int { TF_FLOAT = 1, TF_INT32 = 3, TF_INT8 = 6, TF_STRING = 7, TF_INT64 = 9 };
enum : int { TF_OK = 0, TF_INVALID_ARGUMENT = 3, TF_INTERNAL = 13 };

TF_Status* TF_NewStatus();
void TF_DeleteStatus(TF_Status*);
void TF_SetStatus(TF_Status*, int code, const char* message);
int TF_GetCode(const TF_Status*);

int TF_NumDims(const TF_Tensor*);
int64_t TF_Dim(const TF_Tensor*, int index);
void* TF_TensorData(const TF_Tensor*);
void TF_DeleteTensor(TF_Tensor*);

TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* name);
void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder*, const char* spec);
void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder*, const char* spec);
void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder*, const char* spec);
void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder*,
                                                     void (*)(TF_ShapeInferenceContext*,
                                                              TF_Status*));
void TF_RegisterOpDefinition(TF_OpDefinitionBuilder*, TF_Status*);

TF_ShapeHandle* TF_NewShapeHandle();
void TF_DeleteShapeHandle(TF_ShapeHandle*);
TF_ShapeHandle* TF_ShapeInferenceContextVectorFromSize(TF_ShapeInferenceContext*, size_t);
void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext*, int, TF_ShapeHandle*, TF_Status*);
void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext*, int, TF_ShapeHandle*, TF_Status*);
void TF_ShapeInferenceContextWithRank(TF_ShapeInferenceContext*, TF_ShapeHandle*, int64_t rank,
                                      TF_ShapeHandle* result, TF_Status*);
void TF_ShapeInferenceContextConcatenateShapes(TF_ShapeInferenceContext*, TF_ShapeHandle*,
                                               TF_ShapeHandle*, TF_ShapeHandle* result, TF_Status*);

TF_KernelBuilder* TF_NewKernelBuilder(const char* op, const char* device,
                                      void* (*create)(TF_OpKernelConstruction*),
                                      void (*compute)(void*, TF_OpKernelContext*),
                                      void (*destroy)(void*));
void TF_RegisterKernelBuilder(const char* name, TF_KernelBuilder*, TF_Status*);
void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction*, const char* name,
                                         int32_t* list_size, int32_t* total_size, TF_Status*);
void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction*, const char* name, char* value,
                                           size_t max_length, TF_Status*);
void TF_OpKernelConstruction_GetAttrType(TF_OpKernelConstruction*, const char* name, int* value,
                                         TF_Status*);
void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction*, TF_Status*);
void TF_OpKernelContext_Failure(TF_OpKernelContext*, TF_Status*);
void TF_GetInput(TF_OpKernelContext*, int index, TF_Tensor**, TF_Status*);
TF_Tensor* TF_AllocateOutput(TF_OpKernelContext*, int index, int dtype, const int64_t* dims,
                             int num_dims, size_t size_bytes, TF_Status*);

}  // extern "C"

namespace export_mobile {
namespace {

constexpr char kOpName[] = "ExportMobile>SequenceProjection";
// Below this much text (about 0.5 ms of work) a thread costs more to start than it saves.
constexpr size_t kMinBytesPerThread = 32 << 10;
constexpr int kMaxThreads = 256;

struct StatusDeleter {
  void operator()(TF_Status* status) const { TF_DeleteStatus(status); }
};
struct TensorDeleter {
  void operator()(TF_Tensor* tensor) const { TF_DeleteTensor(tensor); }
};
struct ShapeDeleter {
  void operator()(TF_ShapeHandle* shape) const { TF_DeleteShapeHandle(shape); }
};
using StatusPtr = std::unique_ptr<TF_Status, StatusDeleter>;
using TensorPtr = std::unique_ptr<TF_Tensor, TensorDeleter>;
using ShapePtr = std::unique_ptr<TF_ShapeHandle, ShapeDeleter>;

// One element of a string tensor: TF_TString of tsl/platform/ctstring_internal.h (TensorFlow 2.4 to
// 2.21), 24 bytes, the kind in the low two bits of the first byte. Read here by hand because the
// accessors are inline in that header or live in a library that need not be loaded.
static_assert(sizeof(size_t) == 8, "the layout of TF_TString is that of 64-bit platforms");
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the layout of TF_TString is that of little-endian platforms"
#endif
constexpr size_t kTStringSize = 24;

std::string_view ReadTString(const char* string) {
  uint64_t words[3];
  std::memcpy(words, string, kTStringSize);
  switch (words[0] & 3) {
    case 0:  // small: the size in one byte, then the text
      return {string + 1, static_cast<size_t>((words[0] & 0xff) >> 2)};
    case 1:  // large: size, capacity, pointer
      return {reinterpret_cast<const char*>(words[2]), static_cast<size_t>(words[0] >> 2)};
    case 2:  // offset: 32-bit size and distance from this string
      return {string + (words[0] >> 32), static_cast<size_t>((words[0] & 0xffffffff) >> 2)};
    default:  // view: size, pointer
      return {reinterpret_cast<const char*>(words[1]), static_cast<size_t>(words[0] >> 2)};
  }
}

int MaxThreads() {
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  if (const char* text = std::getenv("EXPORT_MOBILE_THREADS")) {
    char* end = nullptr;
    const long wanted = std::strtol(text, &end, 10);
    if (end != text && *end == '\0' && wanted > 0)
      threads = wanted > kMaxThreads ? kMaxThreads : wanted;
  }
  return threads < 1 ? 1 : threads;
}

struct Kernel {
  Projection projection;
  int dtype = TF_INT8;
};

std::unique_ptr<Kernel> MakeKernel(TF_OpKernelConstruction* context, TF_Status* status) {
  auto kernel = std::make_unique<Kernel>();
  int32_t list_size = 0;
  int32_t size = 0;
  TF_OpKernelConstruction_GetAttrSize(context, "config", &list_size, &size, status);
  if (TF_GetCode(status) != TF_OK) return nullptr;
  std::string text(size > 0 ? size : 0, '\0');
  TF_OpKernelConstruction_GetAttrString(context, "config", text.data(), text.size(), status);
  if (TF_GetCode(status) != TF_OK) return nullptr;
  TF_OpKernelConstruction_GetAttrType(context, "dtype", &kernel->dtype, status);
  if (TF_GetCode(status) != TF_OK) return nullptr;
  ProjectionConfig config;
  Status parsed = ParseConfig(text, &config);
  if (parsed.ok()) parsed = Projection::Create(config, &kernel->projection);
  if (parsed.ok()) return kernel;
  TF_SetStatus(status, TF_INVALID_ARGUMENT, parsed.message.c_str());
  return nullptr;
}

void* CreateKernel(TF_OpKernelConstruction* context) {
  StatusPtr status(TF_NewStatus());
  std::unique_ptr<Kernel> kernel;
  try {
    kernel = MakeKernel(context, status.get());
  } catch (const std::exception& error) {
    TF_SetStatus(status.get(), TF_INTERNAL, error.what());
  }
  if (kernel == nullptr) TF_OpKernelConstruction_Failure(context, status.get());
  return kernel.release();
}

void DeleteKernel(void* kernel) { delete static_cast<Kernel*>(kernel); }

template <typename Value>
Status WriteOutputs(const Kernel& kernel, const Batch& batch, int threads,
                    TF_OpKernelContext* context, TF_Status* status) {
  const Projection& projection = kernel.projection;
  Status checked = batch.CheckSize(projection, sizeof(Value));
  if (!checked.ok()) return checked;
  const int64_t shape[3] = {batch.size(), batch.steps(), projection.config().feature_size};
  const size_t bytes = static_cast<size_t>(shape[0] * shape[1] * shape[2]) * sizeof(Value);
  TensorPtr features(TF_AllocateOutput(context, 0, kernel.dtype, shape, 3, bytes, status));
  if (TF_GetCode(status) != TF_OK) return Status{};
  TensorPtr lengths(
      TF_AllocateOutput(context, 1, TF_INT32, shape, 1, shape[0] * sizeof(int32_t), status));
  if (TF_GetCode(status) != TF_OK) return Status{};
  return batch.Write(projection, threads, static_cast<Value*>(TF_TensorData(features.get())),
                     static_cast<int32_t*>(TF_TensorData(lengths.get())));
}

// Failures of TensorFlow land in `status`, failures of ours come back.
Status Run(const Kernel& kernel, TF_OpKernelContext* context, TF_Status* status) {
  TF_Tensor* tensor = nullptr;
  TF_GetInput(context, 0, &tensor, status);
  TensorPtr text(tensor);
  if (TF_GetCode(status) != TF_OK) return Status{};
  tensor = nullptr;
  TF_GetInput(context, 1, &tensor, status);
  TensorPtr seed(tensor);
  if (TF_GetCode(status) != TF_OK) return Status{};
  if (TF_NumDims(text.get()) != 1 || TF_NumDims(seed.get()) != 0) {
    return Status{"`text` must be a vector and `seed` a scalar. Received ranks: " +
                  std::to_string(TF_NumDims(text.get())) + " and " +
                  std::to_string(TF_NumDims(seed.get())) + "."};
  }
  const int64_t count = TF_Dim(text.get(), 0);
  const char* strings = static_cast<const char*>(TF_TensorData(text.get()));
  std::vector<std::string_view> texts(count);
  size_t bytes = 0;
  for (int64_t i = 0; i < count; ++i) {
    texts[i] = ReadTString(strings + i * kTStringSize);
    bytes += texts[i].size();
  }
  const size_t useful = 1 + bytes / kMinBytesPerThread;
  const int threads = static_cast<int>(std::min<size_t>(useful, MaxThreads()));
  uint64_t seed_value = 0;
  std::memcpy(&seed_value, TF_TensorData(seed.get()), sizeof(seed_value));
  Batch batch;
  Status analysed = batch.Analyse(kernel.projection, texts, seed_value, threads);
  if (!analysed.ok()) return analysed;
  return kernel.dtype == TF_INT8 ? WriteOutputs<int8_t>(kernel, batch, threads, context, status)
                                 : WriteOutputs<float>(kernel, batch, threads, context, status);
}

void ComputeKernel(void* kernel, TF_OpKernelContext* context) {
  StatusPtr status(TF_NewStatus());
  try {
    const Status done = Run(*static_cast<const Kernel*>(kernel), context, status.get());
    if (!done.ok()) TF_SetStatus(status.get(), TF_INVALID_ARGUMENT, done.message.c_str());
  } catch (const std::exception& error) {
    TF_SetStatus(status.get(), TF_INTERNAL, error.what());
  }
  if (TF_GetCode(status.get()) != TF_OK) TF_OpKernelContext_Failure(context, status.get());
}

// features [B, ?, ?], lengths [B]. The C API cannot read attributes here, so the last two
// dimensions are set by the Python layer.
void InferShapes(TF_ShapeInferenceContext* context, TF_Status* status) {
  ShapePtr text(TF_NewShapeHandle());
  ShapePtr seed(TF_NewShapeHandle());
  ShapePtr features(TF_NewShapeHandle());
  TF_ShapeInferenceContextGetInput(context, 0, text.get(), status);
  if (TF_GetCode(status) != TF_OK) return;
  TF_ShapeInferenceContextWithRank(context, text.get(), 1, text.get(), status);
  if (TF_GetCode(status) != TF_OK) return;
  TF_ShapeInferenceContextGetInput(context, 1, seed.get(), status);
  if (TF_GetCode(status) != TF_OK) return;
  TF_ShapeInferenceContextWithRank(context, seed.get(), 0, seed.get(), status);
  if (TF_GetCode(status) != TF_OK) return;
  // Size -1 is the unknown dimension (InferenceContext::kUnknownDim).
  ShapePtr unknown(TF_ShapeInferenceContextVectorFromSize(context, static_cast<size_t>(-1)));
  ShapePtr last(TF_ShapeInferenceContextVectorFromSize(context, static_cast<size_t>(-1)));
  TF_ShapeInferenceContextConcatenateShapes(context, text.get(), unknown.get(), features.get(),
                                            status);
  if (TF_GetCode(status) != TF_OK) return;
  TF_ShapeInferenceContextConcatenateShapes(context, features.get(), last.get(), features.get(),
                                            status);
  if (TF_GetCode(status) != TF_OK) return;
  TF_ShapeInferenceContextSetOutput(context, 0, features.get(), status);
  if (TF_GetCode(status) != TF_OK) return;
  TF_ShapeInferenceContextSetOutput(context, 1, text.get(), status);
}

void Register() {
  StatusPtr status(TF_NewStatus());
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder(kOpName);
  TF_OpDefinitionBuilderAddInput(op, "text: string");
  TF_OpDefinitionBuilderAddInput(op, "seed: int64");
  TF_OpDefinitionBuilderAddAttr(op, "config: string");
  TF_OpDefinitionBuilderAddAttr(op, "dtype: {int8, float} = DT_INT8");
  TF_OpDefinitionBuilderAddOutput(op, "features: dtype");
  TF_OpDefinitionBuilderAddOutput(op, "lengths: int32");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(op, &InferShapes);
  TF_RegisterOpDefinition(op, status.get());
  if (TF_GetCode(status.get()) != TF_OK) return;  // TensorFlow names the missing op when it is used
  TF_KernelBuilder* kernel =
      TF_NewKernelBuilder(kOpName, "CPU", &CreateKernel, &ComputeKernel, &DeleteKernel);
  TF_RegisterKernelBuilder("ExportMobileSequenceProjection", kernel, status.get());
}

[[maybe_unused]] const bool kRegistered = [] {
  Register();
  return true;
}();

}  // namespace
}  // namespace export_mobile
