// libFuzzer harness of the ONNX Runtime wrapper: registered through RegisterCustomOps, its kernel
// made, run and destroyed through the functions of its OrtCustomOp.
//
// Stand-in: ONNX Runtime's table of functions (OrtApi), of which only the slots that the wrapper
// calls are filled, and a runtime that has little memory. Claims: features and lengths equal the
// core's, a config that the core refuses makes no kernel, a failure is one status that is released.
#include "fuzz_case.h"

extern "C" void* RegisterCustomOps(void* options, const void* base);

namespace {

struct OrtStatus {
  int code;
  std::string message;
};
struct Value {  // OrtValue and its OrtTensorTypeAndShapeInfo in one
  std::vector<int64_t> shape;
  std::vector<std::string_view> texts;
  std::unique_ptr<char[]> data;
  size_t bytes = 0;
};
struct Context {
  Value text;
  Value outputs[2];
  size_t output_count = 2;
  bool skips_lengths = false;
};
struct KernelInfo {
  std::string config;
};
// OrtCustomOp as far as it is called, from onnxruntime_c_api.h, written out a second time.
struct CustomOp {
  uint32_t version;
  const void* before[8];
  void (*KernelDestroy)(void*);
  const void* between[7];
  OrtStatus* (*CreateKernelV2)(const CustomOp*, const void* api, const KernelInfo*, void**);
  OrtStatus* (*KernelComputeV2)(void*, Context*);
};
static_assert(sizeof(CustomOp) == 8 * 19, "slots of OrtCustomOp");

const CustomOp* registered = nullptr;
int statuses = 0;

OrtStatus* CreateStatus(int code, const char* message) {
  ++statuses;
  return new OrtStatus{code, message};
}
int GetErrorCode(const OrtStatus* status) { return status->code; }
const char* GetErrorMessage(const OrtStatus* status) { return status->message.c_str(); }
void ReleaseStatus(OrtStatus* status) {
  --statuses;
  delete status;
}
OrtStatus* CreateDomain(const char*, void** domain) {
  static int made;
  *domain = &made;
  return nullptr;
}
OrtStatus* AddOp(void*, const CustomOp* op) {
  registered = op;
  return nullptr;
}
OrtStatus* AddDomain(void*, void*) { return nullptr; }
OrtStatus* MutableData(Value* value, void** data) {
  *data = value->data.get();
  return nullptr;
}
OrtStatus* StringLength(const Value* value, size_t* size) {
  *size = 0;
  for (const std::string_view text : value->texts) *size += text.size();
  return nullptr;
}
OrtStatus* StringContent(const Value* value, void* out, size_t size, size_t* offsets,
                         size_t count) {
  FUZZ_CHECK(count == value->texts.size());
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    offsets[i] = at;
    FUZZ_CHECK(at + value->texts[i].size() <= size);
    if (!value->texts[i].empty()) {
      std::memcpy(static_cast<char*>(out) + at, value->texts[i].data(), value->texts[i].size());
    }
    at += value->texts[i].size();
  }
  return nullptr;
}
OrtStatus* DimensionsCount(const Value* value, size_t* count) {
  *count = value->shape.size();
  return nullptr;
}
OrtStatus* Dimensions(const Value* value, int64_t* dims, size_t count) {
  for (size_t i = 0; i < count; ++i) dims[i] = value->shape.at(i);
  return nullptr;
}
OrtStatus* TypeAndShape(const Value* value, const Value** shape) {
  *shape = value;
  return nullptr;
}
OrtStatus* AttributeString(const KernelInfo* info, const char*, char* out, size_t* size) {
  const size_t needed = info->config.size() + 1;
  if (out != nullptr) std::memcpy(out, info->config.c_str(), std::min(*size, needed));
  *size = needed;
  return nullptr;
}
OrtStatus* OutputCount(const Context* context, size_t* count) {
  *count = context->output_count;
  return nullptr;
}
OrtStatus* Input(const Context* context, size_t, const Value** value) {
  *value = &context->text;
  return nullptr;
}
OrtStatus* Output(Context* context, size_t index, const int64_t* shape, size_t rank,
                  Value** value) {
  if (index == 1 && context->skips_lengths) {
    *value = nullptr;
    return nullptr;
  }
  size_t bytes = index == 0 ? 1 : 4;
  for (size_t i = 0; i < rank; ++i) {
    FUZZ_CHECK(shape[i] >= 0);
    bytes *= static_cast<size_t>(shape[i]);
  }
  if (bytes > fuzz::kRuntimeBytes) return CreateStatus(6, "no memory");
  Value& output = context->outputs[index];
  output.shape.assign(shape, shape + rank);
  output.data.reset(new char[bytes]);
  output.bytes = bytes;
  *value = &output;
  return nullptr;
}
void ReleaseShape(const Value*) {}

template <typename Function>
const void* Slot(Function function) {
  return reinterpret_cast<const void*>(function);
}

const void* const* Api() {
  static const void* table[300] = {};
  table[0] = Slot(&CreateStatus);
  table[1] = Slot(&GetErrorCode);
  table[2] = Slot(&GetErrorMessage);
  table[26] = Slot(&CreateDomain);
  table[27] = Slot(&AddOp);
  table[28] = Slot(&AddDomain);
  table[51] = Slot(&MutableData);
  table[53] = Slot(&StringLength);
  table[54] = Slot(&StringContent);
  table[61] = Slot(&DimensionsCount);
  table[62] = Slot(&Dimensions);
  table[65] = Slot(&TypeAndShape);
  table[87] = Slot(&AttributeString);
  table[89] = Slot(&OutputCount);
  table[90] = Slot(&Input);
  table[91] = Slot(&Output);
  table[93] = Slot(&ReleaseStatus);
  table[99] = Slot(&ReleaseShape);
  return table;
}

struct ApiBase {
  const void* const* (*GetApi)(uint32_t);
  const char* (*GetVersionString)();
};

// The message of a status, which is released; empty without one.
std::string Taken(OrtStatus* status) {
  if (status == nullptr) return "";
  const std::string message = status->message;
  FUZZ_CHECK(!message.empty());
  ReleaseStatus(status);
  return message;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  static const ApiBase base{[](uint32_t) { return Api(); }, [] { return "stand-in"; }};
  FUZZ_CHECK(RegisterCustomOps(nullptr, &base) == nullptr);
  FUZZ_CHECK(registered != nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const fuzz::Case one = fuzz::Read(data, size);
  const fuzz::Truth truth = fuzz::Core(one, 0, 1);
  const KernelInfo info{one.config};
  void* kernel = nullptr;
  const std::string refusal = Taken(registered->CreateKernelV2(registered, Api(), &info, &kernel));
  const bool fine = truth.status.ok() && truth.config.distortion == 0.0;
  FUZZ_CHECK((kernel != nullptr) == fine && refusal.empty() == fine);
  if (!fine) {
    FUZZ_CHECK(refusal == truth.status.message || refusal.find("distortion") != std::string::npos);
    FUZZ_CHECK(statuses == 0);
    return 0;
  }
  for (int run = 0; run < 2; ++run) {  // a kernel serves many calls
    Context context;
    context.text.texts = one.texts;
    context.text.shape = {static_cast<int64_t>(one.texts.size())};
    const bool square = one.flags & 8;
    if (square) context.text.shape.push_back(1);
    context.output_count = one.flags & 16 ? 1 : 2;
    context.skips_lengths = one.flags & 32;
    const std::string failure = Taken(registered->KernelComputeV2(kernel, &context));
    FUZZ_CHECK(failure.empty() == !(square || truth.too_large));
    if (!failure.empty()) continue;
    const std::vector<int64_t> shape{static_cast<int64_t>(one.texts.size()), truth.steps,
                                     truth.config.feature_size};
    FUZZ_CHECK(context.outputs[0].shape == shape);
    FUZZ_CHECK(fuzz::SameBytes(context.outputs[0].data.get(), truth.int8_values.data(),
                               context.outputs[0].bytes));
    FUZZ_CHECK(context.output_count == 1 || context.skips_lengths ||
               fuzz::SameBytes(context.outputs[1].data.get(), truth.lengths.data(),
                               truth.lengths.size() * sizeof(int32_t)));
  }
  registered->KernelDestroy(kernel);
  FUZZ_CHECK(statuses == 0);
  return 0;
}
