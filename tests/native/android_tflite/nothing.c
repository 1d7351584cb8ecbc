// The libraries whose functions glibc has elsewhere: libm.so, libdl.so and liblog.so are empty.
typedef int nothing;
