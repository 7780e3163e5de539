// The mistakes that the reports' test makes a GPU make: what the program and its kernels share.
#pragma once

struct MistakeArguments {
  int* data;   // a buffer of the program
  long index;  // where the mistake lies
};
