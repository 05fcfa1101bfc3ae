# find_package(hostacl) gives the targets hostacl::ascendcl, hostacl::acl_op_compiler, hostacl::acl_op_executor,
# hostacl::acl_cblas, hostacl::acl_mdl and hostacl::acl_rt, and the variables hostacl_ROOT_DIR, hostacl_INCLUDE_DIRS,
# hostacl_LIBRARY_DIRS and hostacl_LIBRARIES. Say where: -DCMAKE_PREFIX_PATH=$(hostacl toolkit)

get_filename_component(hostacl_ROOT_DIR "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(hostacl_INCLUDE_DIRS "${hostacl_ROOT_DIR}/include")
set(hostacl_LIBRARY_DIRS "${hostacl_ROOT_DIR}/lib64")
set(hostacl_LIBRARIES hostacl::ascendcl hostacl::acl_op_compiler)

foreach(_hostacl_library ascendcl acl_op_compiler acl_op_executor acl_cblas acl_mdl acl_rt)
  if(NOT EXISTS "${hostacl_LIBRARY_DIRS}/lib${_hostacl_library}.so")
    set(hostacl_FOUND FALSE)
    set(hostacl_NOT_FOUND_MESSAGE
      "lib${_hostacl_library}.so is not in ${hostacl_LIBRARY_DIRS}: this is a checkout that was not built; install hostacl with pip")
    return()
  endif()
  if(NOT TARGET hostacl::${_hostacl_library})
    add_library(hostacl::${_hostacl_library} SHARED IMPORTED)
    set_target_properties(hostacl::${_hostacl_library} PROPERTIES
      IMPORTED_LOCATION "${hostacl_LIBRARY_DIRS}/lib${_hostacl_library}.so"
      IMPORTED_SONAME "lib${_hostacl_library}.so"
      INTERFACE_INCLUDE_DIRECTORIES "${hostacl_INCLUDE_DIRS}")
  endif()
endforeach()
unset(_hostacl_library)
