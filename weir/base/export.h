// What libweir.so, and a program that loads libraries, shows to others.
//
// GCC builds everything with -fvisibility=hidden. Public headers (cmake/public_headers.txt) open their namespace with
//
//   namespace WEIR_PUBLIC weir {
//
// and what they declare is exported; scripts/check_public_headers checks and repairs the marks, and the test
// exported_symbols compares the library with the headers. A library that weir loads exports its entry points in the
// same way. Clang, which asks the namespace around the definition instead of the one around the declaration, exports
// everything.
#ifndef WEIR_BASE_EXPORT_H_
#define WEIR_BASE_EXPORT_H_

#define WEIR_PUBLIC [[gnu::visibility("default")]]

#endif  // WEIR_BASE_EXPORT_H_
