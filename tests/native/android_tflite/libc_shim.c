// What Android's C library has and glibc has not, as far as libtensorflowlite_jni.so asks for it.
// Installed as libc.so, libm.so, libdl.so and liblog.so, so that Android's library loads in a Linux
// process. For tests only.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Android's stdin, stdout and stderr. glibc's functions know nothing of them: those that write are
// replaced.
char __sF[3][256];

static FILE* stream_of(FILE* stream) {
  const char* place = (const char*)stream;
  return place >= __sF[0] && place < __sF[0] + sizeof(__sF) ? stderr : stream;
}

#define GLIBC(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int vfprintf(FILE* stream, const char* format, va_list arguments) {
  return GLIBC(vfprintf)(stream_of(stream), format, arguments);
}

int fprintf(FILE* stream, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = vfprintf(stream, format, arguments);
  va_end(arguments);
  return written;
}

int fputc(int character, FILE* stream) { return GLIBC(fputc)(character, stream_of(stream)); }

size_t fwrite(const void* data, size_t size, size_t count, FILE* stream) {
  return GLIBC(fwrite)(data, size, count, stream_of(stream));
}

int fflush(FILE* stream) { return GLIBC(fflush)(stream_of(stream)); }

int* __errno(void) { return __errno_location(); }

size_t __strlen_chk(const char* text, size_t limit) {
  (void)limit;
  return strlen(text);
}

int __system_property_get(const char* name, char* value) {
  (void)name;
  value[0] = '\0';
  return 0;
}

void android_set_abort_message(const char* message) { fprintf(stderr, "%s\n", message); }

int __android_log_vprint(int priority, const char* tag, const char* format, va_list arguments) {
  (void)priority;
  fprintf(stderr, "%s: ", tag);
  const int written = vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  return written;
}
