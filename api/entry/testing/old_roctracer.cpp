// Replaces libroctracer64.so.1, on which tools of ROCm 5.0 to 5.2 depend.
extern "C" __attribute__((visibility("default"))) int roctracer_version_major() {
  return 1;
}
