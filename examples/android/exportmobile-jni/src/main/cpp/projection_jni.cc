// The projection core for Java and Kotlin; `exportmobile.jni.Projection` is the other side.
//
// Texts come as UTF-8 bytes: JNI's own strings are "modified" UTF-8, which writes U+0000 and all
// characters above U+FFFF differently. Rows go straight into a direct ByteBuffer.
#include <jni.h>

#include <exception>
#include <memory>
#include <string>

#include "projection.h"

namespace {

using export_mobile::AnalysedText;
using export_mobile::Projection;
using export_mobile::ProjectionConfig;
using export_mobile::Status;

void Throw(JNIEnv* env, const char* type, const std::string& message) {
  if (env->ExceptionCheck()) return;
  if (jclass found = env->FindClass(type)) env->ThrowNew(found, message.c_str());
}

void ThrowIllegalArgument(JNIEnv* env, const std::string& message) {
  Throw(env, "java/lang/IllegalArgumentException", message);
}

std::string ToString(JNIEnv* env, jbyteArray bytes) {
  const jsize size = env->GetArrayLength(bytes);
  std::string text(static_cast<size_t>(size), '\0');
  env->GetByteArrayRegion(bytes, 0, size, reinterpret_cast<jbyte*>(text.data()));
  return text;
}

int64_t Values(const ProjectionConfig& config) {
  return int64_t{config.pad_to} * config.feature_size;
}

}  // namespace

extern "C" JNIEXPORT jlong JNICALL Java_exportmobile_jni_Projection_create(JNIEnv* env, jobject,
                                                                           jbyteArray text) try {
  ProjectionConfig config;
  Status status = export_mobile::ParseConfig(ToString(env, text), &config);
  if (status.ok() && config.pad_to == 0) {
    status = {"`pad_to` must be the number of rows that the model takes. Received: 0."};
  }
  auto projection = std::make_unique<Projection>();
  if (status.ok()) status = Projection::Create(config, projection.get());
  if (status.ok()) return reinterpret_cast<jlong>(projection.release());
  ThrowIllegalArgument(env, status.message);
  return 0;
} catch (const std::exception& error) {
  Throw(env, "java/lang/OutOfMemoryError", error.what());
  return 0;
}

// Fills `out` with pad_to * feature_size features; returns how many rows hold a token.
extern "C" JNIEXPORT jint JNICALL Java_exportmobile_jni_Projection_write(JNIEnv* env, jobject,
                                                                         jlong handle,
                                                                         jbyteArray text,
                                                                         jobject out) try {
  const auto* projection = reinterpret_cast<const Projection*>(handle);
  const int64_t values = Values(projection->config());
  void* address = env->GetDirectBufferAddress(out);
  if (address == nullptr || env->GetDirectBufferCapacity(out) != values) {
    ThrowIllegalArgument(env, "`out` must be a direct ByteBuffer of " + std::to_string(values) +
                                  " bytes. Received: another one.");
    return 0;
  }
  AnalysedText analysed;
  const Status status = projection->Analyse(ToString(env, text), /*seed=*/0, &analysed);
  if (!status.ok()) {
    Throw(env, "java/lang/OutOfMemoryError", status.message);
    return 0;
  }
  projection->Write(analysed, projection->config().pad_to, static_cast<int8_t*>(address));
  return static_cast<jint>(projection->Length(analysed));
} catch (const std::exception& error) {
  Throw(env, "java/lang/OutOfMemoryError", error.what());
  return 0;
}

extern "C" JNIEXPORT void JNICALL Java_exportmobile_jni_Projection_free(JNIEnv*, jobject,
                                                                        jlong handle) {
  delete reinterpret_cast<Projection*>(handle);
}
