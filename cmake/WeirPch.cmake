# Precompiled headers: most files of the upper rooms include the kernels' header, and most tests GoogleTest; reading those
# once takes a third off the time of a build from scratch. A file must still include what it uses: -DWEIR_PCH=OFF builds
# without.
option(WEIR_PCH "Precompile the headers that most files include" ON)
if(NOT WEIR_PCH)
  return()
endif()

# ccache counts the contents of a precompiled header, not its date, if it is told that macros do not matter; and it need not
# run the preprocessor, whose list of headers the compiler writes too.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$")
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros
                                  ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
# RE2 and gRPC ask for it; a precompiled header is of use only to those who are compiled with the same macros.
add_compile_options(-pthread)

# A header is precompiled for the flags that its users are compiled with: those of rooms, of rooms of loops, of calm rooms,
# of tests.
set(headers <algorithm> <functional> <map> <memory> <string> <vector> ${PROJECT_SOURCE_DIR}/weir/framework/kernel_registry.h)
foreach(kind rooms loops calm)
  add_library(weir_pch_${kind} OBJECT ${CMAKE_CURRENT_LIST_DIR}/pch.cc)
  target_link_libraries(weir_pch_${kind} PRIVATE weir_options absl::status absl::statusor absl::synchronization)
  target_precompile_headers(weir_pch_${kind} PRIVATE ${headers})
endforeach()
target_compile_options(weir_pch_loops PRIVATE ${WEIR_LOOP_OPTIONS})
target_compile_options(weir_pch_calm PRIVATE $<$<CONFIG:Release>:-O1>)
target_precompile_headers(weir_pch_calm PRIVATE ${PROJECT_SOURCE_DIR}/weir/autodiff/emit.h)
if(WEIR_TESTS)
  add_executable(weir_pch_tests ${CMAKE_CURRENT_LIST_DIR}/pch.cc)
  target_link_libraries(weir_pch_tests PRIVATE weir_options absl::status absl::statusor absl::synchronization GTest::gtest
                        GTest::gmock)
  target_compile_options(weir_pch_tests PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O0>)
  target_precompile_headers(weir_pch_tests PRIVATE ${headers} <gmock/gmock.h> <gtest/gtest.h>)
endif()
