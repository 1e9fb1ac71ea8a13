# 64-bit Android phones, with the NDK's own toolchain file and weir's defaults for it:
#   ANDROID_NDK=/path/to/ndk cmake -B build/android --toolchain cmake/toolchains/android.cmake \
#     -DCMAKE_PREFIX_PATH=/path/to/libraries -DWEIR_INFERENCE_OPS=model/
# CMAKE_PREFIX_PATH is where Abseil, Protobuf and Snappy were installed after they had been built with the same file
# (docs/guide/devices.md).
if(NOT DEFINED ENV{ANDROID_NDK})
  message(FATAL_ERROR "The environment variable ANDROID_NDK must name the NDK's folder")
endif()
set(ANDROID_ABI arm64-v8a CACHE STRING "")
set(ANDROID_PLATFORM android-24 CACHE STRING "")
set(ANDROID_STL c++_static CACHE STRING "")
include($ENV{ANDROID_NDK}/build/cmake/android.toolchain.cmake)
# Libraries that were installed for Android are looked for in CMAKE_PREFIX_PATH, too.
list(APPEND CMAKE_FIND_ROOT_PATH ${CMAKE_PREFIX_PATH})
