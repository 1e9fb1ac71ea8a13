# 64-bit ARM with Debian's cross compiler (g++-aarch64-linux-gnu), and Debian's arm64 packages of the libraries:
#   cmake -B build/aarch64 --toolchain cmake/toolchains/aarch64-linux-gnu.cmake -DWEIR_INFERENCE_OPS=model/
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# Programs that were built run under qemu-user.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
