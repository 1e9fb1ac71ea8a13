// Defines GCC's macros for sanitizers, __SANITIZE_ADDRESS__ and __SANITIZE_THREAD__, for Clang, too.
#ifndef WEIR_BASE_SANITIZERS_H_
#define WEIR_BASE_SANITIZERS_H_

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#endif  // WEIR_BASE_SANITIZERS_H_
