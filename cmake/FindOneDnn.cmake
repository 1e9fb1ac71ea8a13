# oneDNN 3.x: headers to compile against, and where the library lies. It is loaded at run time, never linked
# (weir/device/cpu/onednn/library_internal.h).
#   OneDnn_FOUND, OneDnn_INCLUDE_DIR, OneDnn_LIBRARY
set(WEIR_ONEDNN_ROOT /usr/local/lib/weir-deps/onednn CACHE PATH "Where scripts/setup puts oneDNN")
find_path(OneDnn_INCLUDE_DIR oneapi/dnnl/dnnl.h HINTS ${WEIR_ONEDNN_ROOT}/include)
find_library(OneDnn_LIBRARY NAMES libdnnl.so.3 dnnl HINTS ${WEIR_ONEDNN_ROOT}/lib)
if(OneDnn_INCLUDE_DIR)
  file(STRINGS ${OneDnn_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h OneDnn_VERSION REGEX "define DNNL_VERSION_MAJOR")
  string(REGEX REPLACE ".* ([0-9]+)$" "\\1" OneDnn_VERSION "${OneDnn_VERSION}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDnn REQUIRED_VARS OneDnn_LIBRARY OneDnn_INCLUDE_DIR VERSION_VAR OneDnn_VERSION)
mark_as_advanced(OneDnn_INCLUDE_DIR OneDnn_LIBRARY)
