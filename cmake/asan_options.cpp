// Options of AddressSanitizer for tests.

// LeakSanitizer of clang 14 guesses the thread-local memory of modules that dlopen() has loaded. The guess is
// invalid if that memory begins 16 bytes after a page, and it then ends with "Tracer caught signal 11". No
// such memory of ours owns an allocation.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() {
  return "intercept_tls_get_addr=0";
}
