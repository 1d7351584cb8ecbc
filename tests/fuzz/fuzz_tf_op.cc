// libFuzzer harness of the TensorFlow wrapper: its kernel is made, run and deleted through the
// functions it registers.
//
// Stand-in: TensorFlow's C API, of which only what the wrapper calls is here, with string tensors
// in all four forms of TF_TString, and a TensorFlow that has little memory. Claims: a config that
// the core refuses makes no kernel, features and lengths equal the core's, a failure is one status.
#include <cstdarg>

#include "fuzz_case.h"

extern "C" {

struct TF_Status {
  int code = 0;
  std::string message;
};
struct TF_Tensor {
  int type = 0;
  std::vector<int64_t> shape;
  std::shared_ptr<char[]> data;
  size_t bytes = 0;
};
struct TF_OpDefinitionBuilder {
  int unused = 0;
};
struct TF_ShapeInferenceContext {
  std::vector<int64_t> inputs[2];
  std::vector<int64_t> outputs[2];
};
struct TF_ShapeHandle {
  std::vector<int64_t> dims;
};
struct TF_KernelBuilder {
  int unused = 0;
};
struct TF_OpKernelConstruction {
  std::string config;
  int type = 0;
  TF_Status failure;
  int failures = 0;
};
struct TF_OpKernelContext {
  TF_Tensor inputs[2];
  TF_Tensor outputs[2];
  TF_Status failure;
  int failures = 0;
};

TF_Status* TF_NewStatus() { return new TF_Status; }
void TF_DeleteStatus(TF_Status* status) { delete status; }
void TF_SetStatus(TF_Status* status, int code, const char* message) {
  status->code = code;
  status->message = message;
}
int TF_GetCode(const TF_Status* status) { return status->code; }

int TF_NumDims(const TF_Tensor* tensor) { return static_cast<int>(tensor->shape.size()); }
int64_t TF_Dim(const TF_Tensor* tensor, int index) { return tensor->shape.at(index); }
void* TF_TensorData(const TF_Tensor* tensor) { return tensor->data.get(); }
void TF_DeleteTensor(TF_Tensor* tensor) { delete tensor; }

void (*infer_shapes)(TF_ShapeInferenceContext*, TF_Status*) = nullptr;
void* (*create_kernel)(TF_OpKernelConstruction*) = nullptr;
void (*compute_kernel)(void*, TF_OpKernelContext*) = nullptr;
void (*delete_kernel)(void*) = nullptr;

TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char*) {
  static TF_OpDefinitionBuilder builder;
  return &builder;
}
void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder*, const char*) {}
void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder*, const char*) {}
void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder*, const char*) {}
void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder*,
                                                     void (*infer)(TF_ShapeInferenceContext*,
                                                                   TF_Status*)) {
  infer_shapes = infer;
}
void TF_RegisterOpDefinition(TF_OpDefinitionBuilder*, TF_Status*) {}
TF_KernelBuilder* TF_NewKernelBuilder(const char*, const char*,
                                      void* (*create)(TF_OpKernelConstruction*),
                                      void (*compute)(void*, TF_OpKernelContext*),
                                      void (*destroy)(void*)) {
  static TF_KernelBuilder builder;
  create_kernel = create;
  compute_kernel = compute;
  delete_kernel = destroy;
  return &builder;
}
void TF_RegisterKernelBuilder(const char*, TF_KernelBuilder*, TF_Status*) {}

TF_ShapeHandle* TF_NewShapeHandle() { return new TF_ShapeHandle; }
void TF_DeleteShapeHandle(TF_ShapeHandle* shape) { delete shape; }
TF_ShapeHandle* TF_ShapeInferenceContextVectorFromSize(TF_ShapeInferenceContext*, size_t size) {
  return new TF_ShapeHandle{{static_cast<int64_t>(size)}};
}
void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext* context, int index,
                                      TF_ShapeHandle* shape, TF_Status*) {
  shape->dims = context->inputs[index];
}
void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext* context, int index,
                                       TF_ShapeHandle* shape, TF_Status*) {
  context->outputs[index] = shape->dims;
}
void TF_ShapeInferenceContextWithRank(TF_ShapeInferenceContext*, TF_ShapeHandle* shape,
                                      int64_t rank, TF_ShapeHandle* result, TF_Status* status) {
  if (static_cast<int64_t>(shape->dims.size()) != rank) return TF_SetStatus(status, 3, "rank");
  result->dims = shape->dims;
}
void TF_ShapeInferenceContextConcatenateShapes(TF_ShapeInferenceContext*, TF_ShapeHandle* first,
                                               TF_ShapeHandle* second, TF_ShapeHandle* result,
                                               TF_Status*) {
  std::vector<int64_t> dims = first->dims;
  dims.insert(dims.end(), second->dims.begin(), second->dims.end());
  result->dims = dims;
}

void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction* context, const char*,
                                         int32_t* list_size, int32_t* total_size, TF_Status*) {
  *list_size = -1;
  *total_size = static_cast<int32_t>(context->config.size());
}
void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction* context, const char*,
                                           char* value, size_t max_length, TF_Status*) {
  std::memcpy(value, context->config.data(), std::min(max_length, context->config.size()));
}
void TF_OpKernelConstruction_GetAttrType(TF_OpKernelConstruction* context, const char*, int* value,
                                         TF_Status*) {
  *value = context->type;
}
void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction* context, TF_Status* status) {
  context->failure = *status;
  ++context->failures;
}
void TF_OpKernelContext_Failure(TF_OpKernelContext* context, TF_Status* status) {
  context->failure = *status;
  ++context->failures;
}
void TF_GetInput(TF_OpKernelContext* context, int index, TF_Tensor** tensor, TF_Status*) {
  *tensor = new TF_Tensor(context->inputs[index]);
}
TF_Tensor* TF_AllocateOutput(TF_OpKernelContext* context, int index, int type, const int64_t* dims,
                             int num_dims, size_t bytes, TF_Status* status) {
  size_t values = type == 6 ? 1 : 4;
  for (int i = 0; i < num_dims; ++i) {
    FUZZ_CHECK(dims[i] >= 0);
    values *= static_cast<size_t>(dims[i]);
  }
  FUZZ_CHECK(values == bytes);
  if (bytes > fuzz::kRuntimeBytes) {
    TF_SetStatus(status, 8, "no memory");  // TF_RESOURCE_EXHAUSTED
    return nullptr;
  }
  TF_Tensor& output = context->outputs[index];
  output.type = type;
  output.shape.assign(dims, dims + num_dims);
  output.data.reset(new char[bytes]);
  output.bytes = bytes;
  return new TF_Tensor(output);
}

}  // extern "C"

namespace {

enum : int { kFloat = 1, kInt8 = 6, kString = 7, kInt64 = 9 };
constexpr size_t kStringSize = 24;

// A tensor of strings; text i has form (form + i) % 4, small ones only where they fit.
TF_Tensor Strings(const std::vector<std::string_view>& texts, int form) {
  size_t bytes = kStringSize * texts.size();
  std::vector<size_t> places;
  for (const std::string_view text : texts) {
    places.push_back(bytes);
    bytes += text.size();
  }
  TF_Tensor tensor{kString, {static_cast<int64_t>(texts.size())}, nullptr, bytes};
  tensor.data.reset(new char[bytes]);
  for (size_t i = 0; i < texts.size(); ++i) {
    const uint64_t size = texts[i].size();
    uint64_t words[3] = {};
    const int kind = (form + static_cast<int>(i)) % 4;
    char* string = tensor.data.get() + i * kStringSize;
    if (size > 0) std::memcpy(tensor.data.get() + places[i], texts[i].data(), size);
    if (kind == 0 && size <= 22) {
      auto* small = reinterpret_cast<char*>(words);
      small[0] = static_cast<char>(size << 2);
      if (size > 0) std::memcpy(small + 1, texts[i].data(), size);
    } else if (kind <= 1) {
      words[0] = size << 2 | 1;
      words[1] = size;
      words[2] = reinterpret_cast<uint64_t>(texts[i].data());
    } else if (kind == 2) {
      words[0] = (places[i] - i * kStringSize) << 32 | size << 2 | 2;
    } else {
      words[0] = size << 2 | 3;
      words[1] = reinterpret_cast<uint64_t>(texts[i].data());
    }
    std::memcpy(string, words, kStringSize);
  }
  return tensor;
}

void CheckShapes(uint8_t flags) {
  TF_ShapeInferenceContext shapes;
  shapes.inputs[0].assign(flags & 1 ? 1 : 2, 5);
  shapes.inputs[1].assign(flags & 2 ? 0 : 1, 5);
  TF_Status status;
  infer_shapes(&shapes, &status);
  FUZZ_CHECK((status.code == 0) == ((flags & 3) == 3));
  FUZZ_CHECK(status.code != 0 || shapes.outputs[0] == (std::vector<int64_t>{5, -1, -1}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::Case one = fuzz::Read(data, size);
  CheckShapes(one.flags);
  const bool wide = one.flags & 4;
  const fuzz::Truth truth = fuzz::Core(one, one.seed, wide ? 4 : 1);
  TF_OpKernelConstruction construction{one.config, wide ? kFloat : kInt8, {}};
  void* kernel = create_kernel(&construction);
  FUZZ_CHECK((kernel != nullptr) == truth.status.ok());
  FUZZ_CHECK(construction.failures == (kernel == nullptr ? 1 : 0));
  if (kernel == nullptr) {
    FUZZ_CHECK(construction.failure.message == truth.status.message);
    return 0;
  }
  for (int run = 0; run < 2; ++run) {  // a kernel serves many calls
    TF_OpKernelContext context;
    context.inputs[0] = Strings(one.texts, one.flags >> 3);
    context.inputs[1] = TF_Tensor{kInt64, {}, std::shared_ptr<char[]>(new char[8]), 8};
    std::memcpy(context.inputs[1].data.get(), &one.seed, 8);
    const bool square = one.flags & 32;
    if (square) context.inputs[0].shape.push_back(1);
    compute_kernel(kernel, &context);
    if (square || truth.too_large) {
      FUZZ_CHECK(context.failures == 1 && !context.failure.message.empty());
      continue;
    }
    FUZZ_CHECK(context.failures == 0);
    const std::vector<int64_t> shape{static_cast<int64_t>(one.texts.size()), truth.steps,
                                     truth.config.feature_size};
    FUZZ_CHECK(context.outputs[0].shape == shape);
    const void* wanted = wide ? static_cast<const void*>(truth.float_values.data())
                              : static_cast<const void*>(truth.int8_values.data());
    FUZZ_CHECK(fuzz::SameBytes(context.outputs[0].data.get(), wanted, context.outputs[0].bytes));
    FUZZ_CHECK(fuzz::SameBytes(context.outputs[1].data.get(), truth.lengths.data(),
                               truth.lengths.size() * sizeof(int32_t)));
  }
  delete_kernel(kernel);
  return 0;
}
