// Options of AddressSanitizer for tests.

// LeakSanitizer of clang 14 guesses where modules loaded with dlopen() have their thread-local memory. If
// that memory begins 16 bytes after a page, the guess is invalid, and the program ends with "Tracer caught
// signal 11". Without the guess LeakSanitizer ignores this memory; Rigel's holds no pointer to an allocation.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() {
  return "intercept_tls_get_addr=0";
}
