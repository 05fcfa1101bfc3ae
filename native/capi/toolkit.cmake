# The toolkit root, hostacl/toolkit in the package: public libraries that jump to the core, headers for the further folders
# of a CANN tree, and what builds look for. In a checkout: cmake --install BUILD --component toolkit --prefix src

include(CMakePackageConfigHelpers)

set(toolkit_libraries ascendcl acl_op_compiler acl_op_executor acl_cblas acl_mdl acl_rt fmk_onnx_parser)
set(toolkit_empty_libraries hccl ge_runner graph acl_tdt_channel) # clients only name them

# Wheels hold no symlinks: each folder has copies, all of the same small files.
set(toolkit_library_folders lib64 acllib/lib64 runtime/lib64 compiler/lib64
    acllib/lib64/stub runtime/lib64/stub ${CMAKE_SYSTEM_PROCESSOR}-linux/lib64)
set(toolkit_header_folders acllib runtime compiler ${CMAKE_SYSTEM_PROCESSOR}-linux)
set(toolkit_root ${CMAKE_CURRENT_SOURCE_DIR}/src/hostacl/toolkit)

foreach(name IN LISTS toolkit_libraries toolkit_empty_libraries)
  set(target forward_${name})
  add_library(${target} SHARED native/capi/forward/${name}.S)
  set_property(SOURCE native/capi/forward/${name}.S PROPERTY OBJECT_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/native/capi/forward.inc)
  if(name IN_LIST toolkit_libraries)
    target_link_libraries(${target} PRIVATE hostacl_core)
  endif()
  # A DT_RPATH, not a RUNPATH: LD_LIBRARY_PATH must not find another core. One path for each depth of folder.
  target_link_options(${target} PRIVATE -nostdlib -Wl,-z,now -Wl,-z,defs -Wl,-z,noexecstack -Wl,--disable-new-dtags)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name} LINKER_LANGUAGE C LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/toolkit/lib64
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../..:$ORIGIN/../../..:$ORIGIN/../../../..")
  foreach(folder IN LISTS toolkit_library_folders)
    install(TARGETS ${target} LIBRARY DESTINATION hostacl/toolkit/${folder} COMPONENT toolkit)
  endforeach()
endforeach()

# acllib/include/acl/acl.h and its like include the true header.
file(GLOB_RECURSE toolkit_headers RELATIVE ${toolkit_root}/include CONFIGURE_DEPENDS ${toolkit_root}/include/*.h)
foreach(folder IN LISTS toolkit_header_folders)
  foreach(header IN LISTS toolkit_headers)
    set(copy ${CMAKE_CURRENT_BINARY_DIR}/toolkit/${folder}/include/${header})
    get_filename_component(copy_folder ${copy} DIRECTORY)
    file(RELATIVE_PATH target ${copy_folder} ${CMAKE_CURRENT_BINARY_DIR}/toolkit/include/${header})
    file(CONFIGURE OUTPUT ${copy} CONTENT "/* The true header is there. */\n#include \"${target}\"\n")
  endforeach()
  install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/toolkit/${folder}/include DESTINATION hostacl/toolkit/${folder}
          COMPONENT toolkit)
endforeach()

if(HOSTACL_VERSION)
  set(toolkit_version ${HOSTACL_VERSION})
else()
  set(toolkit_version 0)
endif()
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/toolkit/cmake/hostaclConfigVersion.cmake
  VERSION ${toolkit_version} COMPATIBILITY AnyNewerVersion)
configure_file(native/capi/hostacl.pc.in ${CMAKE_CURRENT_BINARY_DIR}/toolkit/lib64/pkgconfig/hostacl.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/toolkit/cmake/hostaclConfigVersion.cmake
        DESTINATION hostacl/toolkit/cmake COMPONENT toolkit)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/toolkit/lib64/pkgconfig/hostacl.pc
        DESTINATION hostacl/toolkit/lib64/pkgconfig COMPONENT toolkit)
