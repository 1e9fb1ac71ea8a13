# A library for devices that runs given models and nothing else: cmake -DWEIR_INFERENCE_OPS=model/
#
# WEIR_INFERENCE_OPS is a list of folders with SavedModels, or of op names. libweir_inference.so and .a have the C
# interface (weir/client/weir_c.h) over the kernels that these models need, for the element types that they use; no
# training, no gRPC, no oneDNN, and of protobuf the lite runtime alone. cmake/select_ops.py chooses the sources.
# docs/guide/devices.md says how to use it.
#
# WEIR_INFERENCE_CLONES=ON compiles the loops for several generations of x86-64, as the whole weir does: faster on new
# processors, and larger.

option(WEIR_INFERENCE_CLONES "Loops for several generations of x86-64" OFF)
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(selection ${PROJECT_BINARY_DIR}/selection)
file(MAKE_DIRECTORY ${selection})
set(items)
foreach(item IN LISTS WEIR_INFERENCE_OPS)
  get_filename_component(folder ${item} ABSOLUTE BASE_DIR ${CMAKE_BINARY_DIR})
  if(EXISTS ${folder}/saved_model.pb)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/saved_model.pb)
    list(APPEND items ${folder})
  else()
    list(APPEND items ${item})
  endif()
endforeach()
execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/select_ops.py ${PROJECT_SOURCE_DIR} ${selection}
                        ${items}
                RESULT_VARIABLE failed OUTPUT_VARIABLE summary ERROR_VARIABLE summary)
if(failed)
  message(FATAL_ERROR "WEIR_INFERENCE_OPS: ${summary}")
endif()
message(STATUS "Models: ${summary}")
include(${selection}/selection.cmake)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/select_ops.py
             ${PROJECT_SOURCE_DIR}/weir/ops/kernel_groups.txt)

# Nothing of weir throws, so that tables for unwinding are of no use.
add_compile_options(-ffunction-sections -fdata-sections
                    "$<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions;-fno-unwind-tables;-fno-asynchronous-unwind-tables>")
add_compile_definitions(WEIR_BUILT_TYPES=${selected_types})
if(NOT WEIR_INFERENCE_CLONES)
  add_compile_definitions(WEIR_ONE_PROCESSOR)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG")

# The wire formats for protobuf's lite runtime. Any and the wrappers are not of it; their bytes are the same.
set(wire ${PROJECT_BINARY_DIR}/proto_gen)
set(wire_sources)
file(MAKE_DIRECTORY ${wire}/source/weir/proto)
set(protos)
list(APPEND selected_protos checkpoint config error_codes graph saved_model step_stats tensor types)
list(REMOVE_DUPLICATES selected_protos)
foreach(name IN LISTS selected_protos)
  file(READ ${PROJECT_SOURCE_DIR}/weir/proto/${name}.proto text)
  string(REGEX REPLACE "import \"google/protobuf/[a-z]+.proto\";" "" text "${text}")
  string(REGEX REPLACE "google\\.protobuf\\.(Any|BoolValue)" "bytes" text "${text}")
  file(CONFIGURE OUTPUT ${wire}/source/weir/proto/${name}.proto CONTENT "${text}" @ONLY)
  list(APPEND protos ${wire}/source/weir/proto/${name}.proto)
  list(APPEND wire_sources ${wire}/weir/proto/${name}.pb.cc)
endforeach()
find_program(WEIR_PROTOC protoc REQUIRED)
add_custom_command(OUTPUT ${wire_sources}
                   COMMAND ${WEIR_PROTOC} -I${wire}/source --cpp_out=lite:${wire} ${protos} DEPENDS ${protos} VERBATIM)

# What weir depends on, for the shared library (as the packages have it) and as archives. Debian's archives can only go
# into programs: they are not position-independent.
set(absl_targets absl::status absl::statusor absl::strings absl::flat_hash_map absl::flat_hash_set absl::synchronization
                 absl::time absl::inlined_vector absl::hash)
find_library(WEIR_PROTOBUF_LITE NAMES protobuf-lite REQUIRED)
find_library(WEIR_PROTOBUF_LITE_ARCHIVE NAMES libprotobuf-lite.a REQUIRED)
find_library(WEIR_SNAPPY NAMES snappy REQUIRED)
find_library(WEIR_SNAPPY_ARCHIVE NAMES libsnappy.a REQUIRED)
get_target_property(absl_type absl::strings TYPE)
set(absl_archives ${absl_targets})
if(absl_type STREQUAL "SHARED_LIBRARY")
  find_library(WEIR_ABSL_ARCHIVE NAMES libabsl_base.a REQUIRED)
  get_filename_component(folder ${WEIR_ABSL_ARCHIVE} DIRECTORY)
  file(GLOB archives ${folder}/libabsl_*.a)
  set(absl_archives -Wl,--start-group ${archives} -Wl,--end-group)
endif()

add_library(weir_inference_options INTERFACE)
target_link_libraries(weir_inference_options INTERFACE weir_options)
target_include_directories(weir_inference_options SYSTEM INTERFACE ${wire})

# The rooms. Those of loops are compiled for speed (cmake/WeirBuild.cmake).
set(rooms)
function(weir_inference_room name)
  cmake_parse_arguments(ROOM "LOOPS" "" "SOURCES" ${ARGN})
  add_library(weir_small_${name} OBJECT ${ROOM_SOURCES})
  target_link_libraries(weir_small_${name} PRIVATE weir_inference_options)
  add_dependencies(weir_small_${name} weir_small_wire)
  if(ROOM_LOOPS)
    target_compile_options(weir_small_${name} PRIVATE -O2 ${WEIR_LOOP_OPTIONS})
  elseif(NOT name IN_LIST WEIR_ALONE)
    weir_unite(weir_small_${name})
  endif()
  set(rooms ${rooms} $<TARGET_OBJECTS:weir_small_${name}> PARENT_SCOPE)
endfunction()
function(weir_room_sources result folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/weir/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz|grad|shapes)\\.cc$")
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

add_library(weir_small_wire OBJECT ${wire_sources})
target_include_directories(weir_small_wire SYSTEM PUBLIC ${wire})
list(APPEND rooms $<TARGET_OBJECTS:weir_small_wire>)
foreach(room IN ITEMS base tensor framework resources graph passes runtime)
  weir_room_sources(sources ${room})
  list(FILTER sources EXCLUDE REGEX "/import_bytes\\.cc$")  # reads text, too
  weir_inference_room(${room} SOURCES ${sources})
endforeach()
weir_inference_room(io SOURCES ${selected_io})
weir_room_sources(rewrites device/cpu/rewrites)
weir_inference_room(cpu_rewrites SOURCES ${rewrites})
weir_room_sources(device_cpu device/cpu)
weir_inference_room(device_cpu LOOPS SOURCES ${device_cpu} ${PROJECT_SOURCE_DIR}/weir/device/cpu/onednn/absent/absent.cc)

set(embedded ${selection}/op_tables.cc)
string(REPLACE ";" "|" joined "${selected_tables}")
add_custom_command(OUTPUT ${embedded}
                   COMMAND ${CMAKE_COMMAND} -DOUTPUT=${embedded} "-DTABLES=${joined}"
                           -P ${PROJECT_SOURCE_DIR}/cmake/EmbedOpTables.cmake
                   DEPENDS ${selected_tables} ${PROJECT_SOURCE_DIR}/cmake/EmbedOpTables.cmake VERBATIM)
set(calm_kernels ${selected_sources})
list(FILTER calm_kernels EXCLUDE REGEX "/ops/(math|nn)/[a-z0-9_]*\\.cc$")
set(loop_kernels ${selected_sources})
list(REMOVE_ITEM loop_kernels ${calm_kernels})
set(shape_sources ${loop_kernels})
list(FILTER shape_sources INCLUDE REGEX "_shapes\\.cc$")
list(FILTER loop_kernels EXCLUDE REGEX "_shapes\\.cc$")
set(ops ${PROJECT_SOURCE_DIR}/weir/ops)
weir_inference_room(ops SOURCES ${calm_kernels} ${shape_sources} ${embedded} ${selection}/register.cc ${ops}/register.cc
                    ${ops}/shape_tools.cc ${ops}/einsum_equation.cc)
weir_inference_room(kernels LOOPS SOURCES ${loop_kernels})

set(client ${PROJECT_SOURCE_DIR}/weir/client)
weir_inference_room(client SOURCES ${client}/weir_c.cc ${client}/saved_model.cc)
add_library(weir_inference SHARED ${rooms})
target_link_libraries(weir_inference PRIVATE ${absl_targets} ${WEIR_PROTOBUF_LITE} ${WEIR_SNAPPY} Threads::Threads
                      ${CMAKE_DL_LIBS})
target_link_options(weir_inference PRIVATE -Wl,--gc-sections -Wl,--as-needed -Wl,-z,defs
                    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/weir_inference.map)
add_library(weir_inference_static STATIC ${rooms})
set_target_properties(weir_inference_static PROPERTIES OUTPUT_NAME weir_inference)
target_link_libraries(weir_inference_static INTERFACE ${absl_archives} ${WEIR_PROTOBUF_LITE_ARCHIVE}
                      ${WEIR_SNAPPY_ARCHIVE} Threads::Threads ${CMAKE_DL_LIBS})

# A program of the archive, to try it and to see how large it is.
add_executable(inference_c ${PROJECT_SOURCE_DIR}/examples/inference_c/main.c)
target_include_directories(inference_c PRIVATE ${client})
target_link_libraries(inference_c PRIVATE weir_inference_static)
target_link_options(inference_c PRIVATE -Wl,--gc-sections -Wl,--as-needed)
set_target_properties(inference_c PROPERTIES LINKER_LANGUAGE CXX)

include(GNUInstallDirs)
install(TARGETS weir_inference weir_inference_static LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${client}/weir_c.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
