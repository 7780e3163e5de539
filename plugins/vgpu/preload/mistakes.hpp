// The arguments of the erroneous kernels, shared by program and kernels.
#pragma once

struct MistakeArguments {
  int* data;   // a buffer of the program
  long index;  // where the error is
};
