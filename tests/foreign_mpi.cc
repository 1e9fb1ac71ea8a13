// A library that is an MPI, but not Open MPI: for the error that names it.
#include <cstring>

extern "C" __attribute__((visibility("default"))) int MPI_Get_library_version(char* text, int* length) {
  constexpr char kText[] = "MPICH Version: 9.9\nMPICH Device: none";
  std::memcpy(text, kText, sizeof(kText));
  *length = sizeof(kText) - 1;
  return 0;
}
