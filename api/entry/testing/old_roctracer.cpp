// Stands for libroctracer64.so.1, which tools of ROCm 5.0 to 5.2 need.
extern "C" __attribute__((visibility("default"))) int roctracer_version_major() {
  return 1;
}
