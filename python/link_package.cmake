# Links every entry of the package's folder into the build tree's, beside the extension.
file(GLOB entries ${FROM}/*)
foreach(entry IN LISTS entries)
  get_filename_component(name ${entry} NAME)
  if(NOT name STREQUAL "__pycache__" AND NOT EXISTS ${TO}/${name})
    file(CREATE_LINK ${entry} ${TO}/${name} SYMBOLIC)
  endif()
endforeach()
