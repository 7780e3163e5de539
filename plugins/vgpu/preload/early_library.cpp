// A library that driver_program.cpp needs, so that it begins before the preload face does. What it does then is for
// the check that the program is asked for.
#include <fcntl.h>

#include <cstring>

__attribute__((visibility("default"))) int early_kfd = -1;

__attribute__((constructor)) static void begin(int argc, char** argv, char**) {
  if (argc == 2 && std::strcmp(argv[1], "early") == 0) early_kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
}
