# The library as others see it, and its CMake package.
#
# All rooms but `testing` are one library for the outside, built from the rooms' own objects both as libweir.a and as
# libweir.so. The package offers them as weir::static and weir::shared; weir::weir is the one that BUILD_SHARED_LIBS asks
# for (cmake/weirConfig.cmake.in).
option(WEIR_INSTALL "Build the installable libraries" ${PROJECT_IS_TOP_LEVEL})
if(NOT WEIR_INSTALL OR WEIR_SANITIZE)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(objects)
set(public_libraries)   # what public headers include
set(private_libraries)
get_property(rooms GLOBAL PROPERTY WEIR_ROOMS)
list(REMOVE_ITEM rooms weir_testing)
foreach(room IN LISTS rooms)
  get_target_property(type ${room} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:${room}>)
  endif()
  get_target_property(libraries ${room} INTERFACE_LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    if(library MATCHES "^(absl|Threads)::")
      list(APPEND public_libraries ${library})
    elseif(NOT library MATCHES "^weir_")
      list(APPEND private_libraries ${library})
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES public_libraries)
list(REMOVE_DUPLICATES private_libraries)

foreach(kind static shared)
  string(TOUPPER ${kind} library_type)
  add_library(weir_${kind}_library ${library_type} ${objects})
  set_target_properties(weir_${kind}_library PROPERTIES
    OUTPUT_NAME weir EXPORT_NAME ${kind} VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}  # before 1.0 every minor release may change the interface
    LINKER_LANGUAGE CXX)
  target_compile_features(weir_${kind}_library PUBLIC cxx_std_20)
  target_include_directories(weir_${kind}_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(weir_${kind}_library PUBLIC ${public_libraries} PRIVATE ${private_libraries})
  install(TARGETS weir_${kind}_library EXPORT weir_${kind})
  install(EXPORT weir_${kind} FILE weir_${kind}.cmake NAMESPACE weir::
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
endforeach()

# Public headers, each by name; scripts/check_public_headers holds the list against what they include.
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${PROJECT_SOURCE_DIR}/cmake/public_headers.txt)
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/public_headers.txt public_headers REGEX "^weir/")
foreach(header IN LISTS public_headers)
  set(folder ${PROJECT_SOURCE_DIR})
  if(NOT EXISTS ${folder}/${header})
    set(folder ${PROJECT_BINARY_DIR}/generated)
  endif()
  get_filename_component(destination ${header} DIRECTORY)
  install(FILES ${folder}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${destination})
endforeach()
if(TARGET weir_program)
  install(TARGETS weir_program)
endif()
if(OneDnn_FOUND)  # the file itself, under the name it is loaded by
  file(REAL_PATH ${OneDnn_LIBRARY} onednn_file)
  install(FILES ${onednn_file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/weir RENAME libdnnl.so.3)
endif()
configure_package_config_file(cmake/weirConfig.cmake.in weirConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
write_basic_package_version_file(weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
