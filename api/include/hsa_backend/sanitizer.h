/* The sanitizer with which the including file is compiled. C and C++, also for the preprocessor.
 *
 * GCC defines macros, and clang has __has_feature, which GCC 12 lacks.
 */
#ifndef HSA_BACKEND_SANITIZER_H_
#define HSA_BACKEND_SANITIZER_H_

#define HSABE_SANITIZER_NONE 0
#define HSABE_SANITIZER_ADDRESS 1
#define HSABE_SANITIZER_THREAD 2
#define HSABE_SANITIZER_MEMORY 3

#if defined(__SANITIZE_ADDRESS__)
#define HSABE_SANITIZER HSABE_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define HSABE_SANITIZER HSABE_SANITIZER_THREAD
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HSABE_SANITIZER HSABE_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define HSABE_SANITIZER HSABE_SANITIZER_THREAD
#elif __has_feature(memory_sanitizer)
#define HSABE_SANITIZER HSABE_SANITIZER_MEMORY
#endif
#endif
#ifndef HSABE_SANITIZER
#define HSABE_SANITIZER HSABE_SANITIZER_NONE
#endif

#endif  // HSA_BACKEND_SANITIZER_H_
