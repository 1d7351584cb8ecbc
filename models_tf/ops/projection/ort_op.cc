// ONNX Runtime custom op `SequenceProjection` of the domain "export.mobile": unpacks tensors, calls
// the core, packs tensors.
//
// No package ships ONNX Runtime's headers. Its public interface OrtApi is a table of functions that
// is only ever appended to, so the few that are used are named here by their slot; all belong to
// version 1 of the table. Read from include/onnxruntime/core/session/onnxruntime_c_api.h (OrtApi:
// versions 4 and 13; OrtCustomOp: version 16 and later). Leaves out: threads, and distortion.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "batch.h"
#include "projection.h"

namespace export_mobile {
namespace {

struct OrtStatus;
struct OrtSessionOptions;
struct OrtCustomOpDomain;
struct OrtValue;
struct OrtShapeInfo;  // OrtTensorTypeAndShapeInfo
struct OrtKernelInfo;
struct OrtKernelContext;

using OrtApi = void (*const*)();

struct OrtApiBase {
  OrtApi (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

// The first version (ONNX Runtime 1.16) whose custom ops return a status instead of throwing.
constexpr uint32_t kApiVersion = 16;

enum : int { kFail = 1, kInvalidArgument = 2 };         // OrtErrorCode
enum : int { kInt8 = 3, kInt32 = 6, kStringType = 8 };  // ONNXTensorElementDataType
enum : int { kRequired = 0, kOptional = 1 };            // OrtCustomOpInputOutputCharacteristic
constexpr int kMemTypeDefault = 0;                      // OrtMemType

// A function of the table: its slot and its type.
template <int kSlot, typename Function>
struct Entry {
  template <typename... Arguments>
  static auto Call(OrtApi api, Arguments... arguments) {
    return reinterpret_cast<Function>(api[kSlot])(arguments...);
  }
};
using CreateStatus = Entry<0, OrtStatus* (*)(int, const char*)>;
using GetErrorCode = Entry<1, int (*)(const OrtStatus*)>;
using GetErrorMessage = Entry<2, const char* (*)(const OrtStatus*)>;
using CreateCustomOpDomain = Entry<26, OrtStatus* (*)(const char*, OrtCustomOpDomain**)>;
using CustomOpDomainAdd = Entry<27, OrtStatus* (*)(OrtCustomOpDomain*, const void*)>;
using AddCustomOpDomain = Entry<28, OrtStatus* (*)(OrtSessionOptions*, OrtCustomOpDomain*)>;
using GetTensorMutableData = Entry<51, OrtStatus* (*)(OrtValue*, void**)>;
using GetStringTensorDataLength = Entry<53, OrtStatus* (*)(const OrtValue*, size_t*)>;
using GetStringTensorContent =
    Entry<54, OrtStatus* (*)(const OrtValue*, void*, size_t, size_t*, size_t)>;
using GetDimensionsCount = Entry<61, OrtStatus* (*)(const OrtShapeInfo*, size_t*)>;
using GetDimensions = Entry<62, OrtStatus* (*)(const OrtShapeInfo*, int64_t*, size_t)>;
using GetTensorTypeAndShape = Entry<65, OrtStatus* (*)(const OrtValue*, OrtShapeInfo**)>;
using GetAttributeString =
    Entry<87, OrtStatus* (*)(const OrtKernelInfo*, const char*, char*, size_t*)>;
using GetOutputCount = Entry<89, OrtStatus* (*)(const OrtKernelContext*, size_t*)>;
using GetInput = Entry<90, OrtStatus* (*)(const OrtKernelContext*, size_t, const OrtValue**)>;
using GetOutput =
    Entry<91, OrtStatus* (*)(OrtKernelContext*, size_t, const int64_t*, size_t, OrtValue**)>;
using ReleaseStatus = Entry<93, void (*)(OrtStatus*)>;
using ReleaseShapeInfo = Entry<99, void (*)(OrtShapeInfo*)>;

struct OrtCustomOp {
  uint32_t version;
  void* (*CreateKernel)(const OrtCustomOp*, OrtApi, const OrtKernelInfo*);
  const char* (*GetName)(const OrtCustomOp*);
  const char* (*GetExecutionProviderType)(const OrtCustomOp*);
  int (*GetInputType)(const OrtCustomOp*, size_t);
  size_t (*GetInputTypeCount)(const OrtCustomOp*);
  int (*GetOutputType)(const OrtCustomOp*, size_t);
  size_t (*GetOutputTypeCount)(const OrtCustomOp*);
  void (*KernelCompute)(void*, OrtKernelContext*);
  void (*KernelDestroy)(void*);
  int (*GetInputCharacteristic)(const OrtCustomOp*, size_t);
  int (*GetOutputCharacteristic)(const OrtCustomOp*, size_t);
  int (*GetInputMemoryType)(const OrtCustomOp*, size_t);
  int (*GetVariadicInputMinArity)(const OrtCustomOp*);
  int (*GetVariadicInputHomogeneity)(const OrtCustomOp*);
  int (*GetVariadicOutputMinArity)(const OrtCustomOp*);
  int (*GetVariadicOutputHomogeneity)(const OrtCustomOp*);
  OrtStatus* (*CreateKernelV2)(const OrtCustomOp*, OrtApi, const OrtKernelInfo*, void**);
  OrtStatus* (*KernelComputeV2)(void*, OrtKernelContext*);
  const void* later[16];  // version 16 promises nothing of these
};

struct Kernel {
  OrtApi api;
  Projection projection;
};

OrtStatus* Fail(OrtApi api, int code, const std::string& message) {
  return CreateStatus::Call(api, code, message.c_str());
}

OrtStatus* MakeKernel(OrtApi api, const OrtKernelInfo* info, std::unique_ptr<Kernel>* kernel) {
  size_t size = 0;  // with the final NUL
  if (OrtStatus* failed = GetAttributeString::Call(api, info, "config", nullptr, &size)) {
    return failed;
  }
  std::string text(size, '\0');
  if (OrtStatus* failed = GetAttributeString::Call(api, info, "config", text.data(), &size)) {
    return failed;
  }
  text.resize(size == 0 ? 0 : size - 1);
  ProjectionConfig config;
  Status status = ParseConfig(text, &config);
  if (status.ok() && config.distortion > 0) {
    status = Status{"`distortion` must be 0 outside of training. Received: " +
                    std::to_string(config.distortion) + "."};
  }
  *kernel = std::make_unique<Kernel>();
  (*kernel)->api = api;
  if (status.ok()) status = Projection::Create(config, &(*kernel)->projection);
  return status.ok() ? nullptr : Fail(api, kInvalidArgument, status.message);
}

OrtStatus* CreateKernel(const OrtCustomOp*, OrtApi api, const OrtKernelInfo* info, void** out) {
  *out = nullptr;
  try {
    std::unique_ptr<Kernel> kernel;
    OrtStatus* failed = MakeKernel(api, info, &kernel);
    if (failed == nullptr) *out = kernel.release();
    return failed;
  } catch (const std::exception& error) {
    return Fail(api, kFail, error.what());
  }
}

// The texts of a string vector; `bytes` holds them.
OrtStatus* ReadTexts(OrtApi api, const OrtValue* value, std::string* bytes,
                     std::vector<std::string_view>* texts) {
  OrtShapeInfo* shape = nullptr;
  if (OrtStatus* failed = GetTensorTypeAndShape::Call(api, value, &shape)) return failed;
  size_t rank = 0;
  int64_t count = 0;
  OrtStatus* failed = GetDimensionsCount::Call(api, static_cast<const OrtShapeInfo*>(shape), &rank);
  if (failed == nullptr && rank == 1) {
    failed = GetDimensions::Call(api, static_cast<const OrtShapeInfo*>(shape), &count, size_t{1});
  }
  ReleaseShapeInfo::Call(api, shape);
  if (failed != nullptr) return failed;
  if (rank != 1) {
    return Fail(api, kInvalidArgument,
                "`text` must be a vector. Received rank: " + std::to_string(rank) + ".");
  }
  if (count == 0) return nullptr;
  size_t size = 0;
  if ((failed = GetStringTensorDataLength::Call(api, value, &size)) != nullptr) return failed;
  bytes->resize(size + 1);  // never empty: the interface wants a pointer
  std::vector<size_t> offsets(static_cast<size_t>(count) + 1, size);
  failed = GetStringTensorContent::Call(api, value, static_cast<void*>(bytes->data()), size,
                                        offsets.data(), static_cast<size_t>(count));
  if (failed != nullptr) return failed;
  for (int64_t i = 0; i < count; ++i) {
    texts->emplace_back(bytes->data() + offsets[i], offsets[i + 1] - offsets[i]);
  }
  return nullptr;
}

OrtStatus* Run(const Kernel& kernel, OrtKernelContext* context) {
  OrtApi api = kernel.api;
  const Projection& projection = kernel.projection;
  const auto* inputs = static_cast<const OrtKernelContext*>(context);
  const OrtValue* text = nullptr;
  if (OrtStatus* failed = GetInput::Call(api, inputs, size_t{0}, &text)) return failed;
  std::string bytes;
  std::vector<std::string_view> texts;
  if (OrtStatus* failed = ReadTexts(api, text, &bytes, &texts)) return failed;
  Batch batch;
  Status status = batch.Analyse(projection, texts, /*seed=*/0, /*threads=*/1);
  if (status.ok()) status = batch.CheckSize(projection, sizeof(int8_t));
  if (!status.ok()) return Fail(api, kInvalidArgument, status.message);

  const int64_t shape[3] = {batch.size(), batch.steps(), projection.config().feature_size};
  OrtValue* output = nullptr;
  void* features = nullptr;
  if (OrtStatus* failed = GetOutput::Call(api, context, size_t{0}, shape, size_t{3}, &output)) {
    return failed;
  }
  if (OrtStatus* failed = GetTensorMutableData::Call(api, output, &features)) return failed;
  size_t outputs = 0;
  void* lengths = nullptr;
  if (OrtStatus* failed = GetOutputCount::Call(api, inputs, &outputs)) return failed;
  if (outputs > 1) {
    output = nullptr;
    if (OrtStatus* failed = GetOutput::Call(api, context, size_t{1}, shape, size_t{1}, &output)) {
      return failed;
    }
    if (output != nullptr) {  // null: the graph does not use it
      if (OrtStatus* failed = GetTensorMutableData::Call(api, output, &lengths)) return failed;
    }
  }
  status =
      batch.Write(projection, 1, static_cast<int8_t*>(features), static_cast<int32_t*>(lengths));
  return status.ok() ? nullptr : Fail(api, kFail, status.message);
}

OrtStatus* Compute(void* kernel, OrtKernelContext* context) {
  const auto* ours = static_cast<const Kernel*>(kernel);
  try {
    return Run(*ours, context);
  } catch (const std::exception& error) {
    return Fail(ours->api, kFail, error.what());
  }
}

const OrtCustomOp* Op() {
  static const OrtCustomOp op = [] {
    OrtCustomOp made = {};
    made.version = kApiVersion;
    made.GetName = [](const OrtCustomOp*) { return "SequenceProjection"; };
    made.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    made.GetInputType = [](const OrtCustomOp*, size_t) -> int { return kStringType; };
    made.GetInputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
    made.GetOutputType = [](const OrtCustomOp*, size_t i) -> int {
      return i == 0 ? kInt8 : kInt32;
    };
    made.GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 2; };
    made.KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
    made.GetInputCharacteristic = [](const OrtCustomOp*, size_t) -> int { return kRequired; };
    made.GetOutputCharacteristic = [](const OrtCustomOp*, size_t i) -> int {
      return i == 0 ? kRequired : kOptional;
    };
    made.GetInputMemoryType = [](const OrtCustomOp*, size_t) -> int { return kMemTypeDefault; };
    made.GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
    made.GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
    made.GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 1; };
    made.GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 1; };
    made.CreateKernelV2 = &CreateKernel;
    made.KernelComputeV2 = &Compute;
    return made;
  }();
  return &op;
}

// A wrong table shows here, before a model runs: a status must give back what it was made of.
bool TableAnswers(OrtApi api) {
  OrtStatus* status = CreateStatus::Call(api, int{kInvalidArgument}, "probe");
  if (status == nullptr) return false;
  const auto* made = static_cast<const OrtStatus*>(status);
  const bool answers = GetErrorCode::Call(api, made) == kInvalidArgument &&
                       std::string_view(GetErrorMessage::Call(api, made)) == "probe";
  ReleaseStatus::Call(api, status);
  return answers;
}

OrtStatus* Register(OrtSessionOptions* options, const OrtApiBase* base) {
  OrtApi api = base->GetApi(kApiVersion);
  if (api == nullptr) {
    return Fail(base->GetApi(1), kFail,
                "The projection op needs ONNX Runtime 1.16 or newer. Received: " +
                    std::string(base->GetVersionString()) + ".");
  }
  if (!TableAnswers(api)) {
    return Fail(api, kFail, "ONNX Runtime's table of functions is not the one that is documented.");
  }
  // One domain for all sessions, kept for good: a session may be closed at any time.
  static std::mutex mutex;
  static OrtCustomOpDomain* domain = nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  if (domain == nullptr) {
    OrtCustomOpDomain* made = nullptr;
    if (OrtStatus* failed = CreateCustomOpDomain::Call(api, "export.mobile", &made)) return failed;
    if (OrtStatus* failed = CustomOpDomainAdd::Call(api, made, Op())) return failed;
    domain = made;
  }
  return AddCustomOpDomain::Call(api, options, domain);
}

}  // namespace
}  // namespace export_mobile

// The name that ONNX Runtime looks for. The types are opaque there, so their namespace is of no
// account.
extern "C" __attribute__((visibility("default"))) void* RegisterCustomOps(void* options,
                                                                          const void* base) {
  try {
    return export_mobile::Register(static_cast<export_mobile::OrtSessionOptions*>(options),
                                   static_cast<const export_mobile::OrtApiBase*>(base));
  } catch (const std::exception&) {
    export_mobile::OrtApi api = static_cast<const export_mobile::OrtApiBase*>(base)->GetApi(1);
    return export_mobile::CreateStatus::Call(api, int{export_mobile::kFail}, "Out of memory.");
  }
}
