# How every target of weir is compiled, and the functions that declare rooms and tests.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# What libraries and programs export is marked in the public headers (weir/base/export.h).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -fno-omit-frame-pointer")

find_program(WEIR_CCACHE ccache)
if(WEIR_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WEIR_CCACHE})
endif()
find_program(WEIR_MOLD mold)
find_program(WEIR_LLD ld.lld)
if(CMAKE_CROSSCOMPILING)
  # The toolchain has a linker of its own.
elseif(WEIR_MOLD AND NOT WEIR_FUZZ)
  add_link_options(-fuse-ld=mold)
elseif(WEIR_LLD)
  add_link_options(-fuse-ld=lld)
endif()
if(WEIR_SANITIZE)
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
endif()
if(WEIR_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Nobody replaces a function of weir's from outside: within a file calls may be inlined, though the code is
# position-independent.
add_compile_options(-fno-semantic-interposition)

add_library(weir_options INTERFACE)
target_compile_options(weir_options INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare
                                              -Wno-missing-field-initializers)
# GCC takes abseil's inlined vectors for arrays that are left uninitialised, or read beyond their end.
target_compile_options(weir_options INTERFACE
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
target_include_directories(weir_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)

# Rooms of loops over numbers: vectorise them also where the number of elements is not known, and let neither errno nor
# floating-point traps, which nobody looks at, stand in the way. A product and a sum stay two roundings on every machine.
set(WEIR_LOOP_ROOMS collective device_cpu ops_math ops_nn ops_train)
set(WEIR_LOOP_OPTIONS -fno-math-errno -fno-trapping-math -ffp-contract=off
                      $<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>)

# Files of a room are compiled several at a time: what they include is read once for all of them. So names must differ
# across a room, also those of anonymous namespaces. Rooms of large loops, where reading takes little of the time,
# files on the path of every op, where the compiler then inlines less (it limits how much a unit may grow), and rooms whose
# files repeat the same few names are left alone. -DWEIR_UNITY=OFF compiles every file by itself, which is
# faster when one file changes often.
option(WEIR_UNITY "Compile several files of a room at once" ON)
set(WEIR_UNITY_BATCH 6)
set(WEIR_UNITED_TESTS client framework io passes tensor wire)  # rooms with many tests, whose names differ
set(WEIR_ALONE base cuda_kernels device_cpu device_cuda gradients ops ops_image ops_linalg ops_math ops_nn testing wire)
# Files on the path of every op in rooms that are otherwise united.
set(WEIR_HOT_tensor allocator copy_elements tensor)
set(WEIR_HOT_framework call_kernel device kernel resource scratch)
set(WEIR_HOT_resources variable)
set(WEIR_HOT_runtime execution_plan executor executor_async frames kernel_cache local_rendezvous step)
function(weir_unite target)
  if(WEIR_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${WEIR_UNITY_BATCH})
  endif()
endfunction()

# Rooms that are not in a hurry at run time: built at -O1, which takes less time.
set(WEIR_CALM_ROOMS gradients autodiff client ops)

# weir_room(NAME [FOLDER path] [DEPENDS rooms and libraries...] [TEST_DEPENDS more for its tests...]): the static library
# weir_NAME of all sources of a folder (weir/NAME unless told), and its test program weir_NAME_test of all *_test.cc.
define_property(GLOBAL PROPERTY WEIR_ROOMS BRIEF_DOCS "rooms" FULL_DOCS "all room libraries")
function(weir_room name)
  cmake_parse_arguments(ROOM "" "FOLDER" "DEPENDS;SOURCES;TEST_DEPENDS" ${ARGN})
  if(NOT ROOM_FOLDER)
    set(ROOM_FOLDER ${name})
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/weir/${ROOM_FOLDER})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${folder}/*_test.cc)
  file(GLOB fuzzers CONFIGURE_DEPENDS ${folder}/*_fuzz.cc)
  list(REMOVE_ITEM sources ${tests} ${fuzzers} "")
  list(FILTER sources EXCLUDE REGEX "_shapes\\.cc$")  # of ops families: they go with the tables, into weir_ops
  list(FILTER sources EXCLUDE REGEX "_grad\\.cc$")    # and these into weir_gradients
  if(sources OR ROOM_SOURCES)
    add_library(weir_${name} STATIC ${sources} ${ROOM_SOURCES})
    target_link_libraries(weir_${name} PUBLIC weir_options ${ROOM_DEPENDS})
  else()  # a room of headers only
    add_library(weir_${name} INTERFACE)
    target_link_libraries(weir_${name} INTERFACE weir_options ${ROOM_DEPENDS})
  endif()
  if((sources OR ROOM_SOURCES) AND NOT name IN_LIST WEIR_ALONE)
    weir_unite(weir_${name})
    list(TRANSFORM WEIR_HOT_${name} REPLACE "(.+)" "${folder}/\\1.cc" OUTPUT_VARIABLE hot)
    set_source_files_properties(${hot} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(name IN_LIST WEIR_CALM_ROOMS)
    target_compile_options(weir_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  # The lowest rooms are what the precompiled header is made of (cmake/WeirPch.cmake).
  if(TARGET weir_pch_rooms AND (sources OR ROOM_SOURCES) AND NOT name MATCHES "^(base|tensor|framework|resources|io|wire)$")
    if(name IN_LIST WEIR_LOOP_ROOMS)
      target_precompile_headers(weir_${name} REUSE_FROM weir_pch_loops)
    elseif(name IN_LIST WEIR_CALM_ROOMS)
      target_precompile_headers(weir_${name} REUSE_FROM weir_pch_calm)
    else()
      target_precompile_headers(weir_${name} REUSE_FROM weir_pch_rooms)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY WEIR_ROOMS weir_${name})
  if(WEIR_FUZZ)
    foreach(fuzzer ${fuzzers})
      get_filename_component(fuzz_name ${fuzzer} NAME_WE)
      add_executable(${fuzz_name} ${fuzzer})
      target_link_libraries(${fuzz_name} PRIVATE weir_${name})
      target_link_options(${fuzz_name} PRIVATE -fsanitize=fuzzer)
    endforeach()
  endif()
  if(WEIR_TESTS AND tests)
    weir_test(weir_${name}_test SOURCES ${tests} DEPENDS weir_${name} ${ROOM_TEST_DEPENDS})
    if(name IN_LIST WEIR_UNITED_TESTS)
      weir_unite(weir_${name}_test)
    endif()
  endif()
endfunction()

# weir_test(NAME SOURCES files... DEPENDS libraries...): a GoogleTest program, every test with a time-out.
function(weir_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  if(WEIR_SANITIZE)  # what takes seconds takes minutes there
    math(EXPR TEST_TIMEOUT "${TEST_TIMEOUT} * 8")
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_DEPENDS} weir_test_main)
  if(TARGET weir_tsan_abseil)
    target_link_libraries(${name} PRIVATE weir_tsan_abseil)
  endif()
  target_compile_definitions(${name} PRIVATE WEIR_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # Tests are compiled far more often than they run.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O0>)
  if(TARGET weir_pch_tests)
    target_precompile_headers(${name} REUSE_FROM weir_pch_tests)
  endif()
  gtest_discover_tests(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} DISCOVERY_MODE PRE_TEST)
endfunction()

if(WEIR_TESTS)
  enable_testing()
  include(GoogleTest)
  find_package(GTest REQUIRED)
  add_library(weir_test_main STATIC ${PROJECT_SOURCE_DIR}/tests/main/main.cc ${PROJECT_SOURCE_DIR}/tests/main/run_tests.cc)
  target_link_libraries(weir_test_main PUBLIC weir_options GTest::gtest GTest::gmock)
endif()
# ThreadSanitizer does not see through Debian's Abseil; tests are told by this.
if(WEIR_TESTS AND WEIR_SANITIZE MATCHES "thread")
  find_package(absl REQUIRED)
  add_library(weir_tsan_abseil OBJECT ${PROJECT_SOURCE_DIR}/tests/sanitizers/tsan_abseil.cc)
  target_link_libraries(weir_tsan_abseil PUBLIC absl::status absl::synchronization ${CMAKE_DL_LIBS})
  set(suppressions ${PROJECT_SOURCE_DIR}/tests/sanitizers/tsan.supp)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${suppressions})
  file(STRINGS ${suppressions} lines REGEX "^[^#]")
  list(JOIN lines "\\n" text)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/sanitizers/tsan_abseil.cc PROPERTIES COMPILE_DEFINITIONS
                              "WEIR_TSAN_SUPPRESSIONS=\"${text}\"")
  # Libraries must find these functions before their own.
  set_target_properties(weir_tsan_abseil PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
  # For programs that load weir later, such as Python.
  add_library(weir_tsan_preload SHARED $<TARGET_OBJECTS:weir_tsan_abseil>)
  target_link_libraries(weir_tsan_preload PRIVATE absl::status absl::synchronization ${CMAKE_DL_LIBS}
                                                  -Wl,--no-as-needed grpc gpr)
endif()
