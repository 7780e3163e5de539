/* A code object for the host: what executable_test loads and calls. */
extern int external_variable;
extern int external_function(int);
__attribute__((weak)) extern int absent_variable;

int counter = 5;
int zeros[100];
int* pointer_to_counter = &counter;
const int constant __attribute__((aligned(32))) = 42;
__attribute__((weak)) int yielding = 1;

/* arguments[0] += everything that had to be relocated to be right. */
__attribute__((visibility("hidden"))) void work(int* arguments) {
  ++*pointer_to_counter;
  arguments[0] += external_variable + external_function(counter) + constant + zeros[3] + yielding;
  if (&absent_variable != 0) arguments[0] = -1;
}

/* The kernel descriptor: 64 bytes of group memory, 16 private, 24 of arguments. */
__asm__(
    ".pushsection .rodata\n"
    ".balign 64\n"
    ".globl work.kd\n"
    ".protected work.kd\n"
    ".type work.kd, %object\n"
    ".size work.kd, 64\n"
    "work.kd: .long 64, 16, 24, 0\n"
    "  .quad work - work.kd\n"
    "  .skip 40\n"
    ".popsection\n");
