// Stands before Protobuf's own header in builds for ThreadSanitizer. There Protobuf's maps would have another layout
// than in Debian's library, which was not built for it; so this one header does not see the sanitizer.
#ifdef __SANITIZE_THREAD__
#pragma GCC system_header
#undef __SANITIZE_THREAD__
#include_next <google/protobuf/map_field.h>
#define __SANITIZE_THREAD__ 1
#else
#include_next <google/protobuf/map_field.h>
#endif
