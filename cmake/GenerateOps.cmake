# A C++ function for every op: weir/client/ops/<family>_ops.{h,cc} for graphs and the same below weir/client/eager/ops that
# run at once, below ${PROJECT_BINARY_DIR}/generated, made from the op tables. Sets `generated_op_sources`.
add_executable(weir_op_generator ${PROJECT_SOURCE_DIR}/weir/client/generator/op_generator.cc)
target_link_libraries(weir_op_generator PRIVATE weir_framework)
if(TARGET weir_tsan_abseil)
  target_link_libraries(weir_op_generator PRIVATE weir_tsan_abseil)
endif()
file(GLOB op_tables CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/weir/ops/*/*.ops)
set(generated_folder ${PROJECT_BINARY_DIR}/generated/weir/client)
set(generated_op_headers)
set(generated_op_sources)
foreach(kind IN ITEMS ops eager/ops)
  file(MAKE_DIRECTORY ${generated_folder}/${kind})
  list(APPEND generated_op_headers ${generated_folder}/${kind}/all_ops.h)
  foreach(table IN LISTS op_tables)
    get_filename_component(family ${table} NAME_WE)
    list(APPEND generated_op_headers ${generated_folder}/${kind}/${family}_ops.h)
    list(APPEND generated_op_sources ${generated_folder}/${kind}/${family}_ops.cc)
  endforeach()
endforeach()
add_custom_command(OUTPUT ${generated_op_headers} ${generated_op_sources}
                   COMMAND weir_op_generator ${generated_folder} ${op_tables}
                   DEPENDS weir_op_generator ${op_tables} COMMENT "Generating functions for every op" VERBATIM)
