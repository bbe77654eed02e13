# SPDX-License-Identifier: MIT OR Apache-2.0
# Targets: cuzk::cuzk, the shared library, and cuzk::static, the archive; each
# is there if its file was installed.
get_filename_component(_cuzk_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET cuzk::cuzk AND EXISTS "${_cuzk_prefix}/lib/libcuzk.so")
  add_library(cuzk::cuzk SHARED IMPORTED)
  set_target_properties(cuzk::cuzk PROPERTIES
    IMPORTED_LOCATION "${_cuzk_prefix}/lib/libcuzk.so"
    IMPORTED_SONAME libcuzk.so.1
    INTERFACE_INCLUDE_DIRECTORIES "${_cuzk_prefix}/include")
endif()

if(NOT TARGET cuzk::static AND EXISTS "${_cuzk_prefix}/lib/libcuzk.a")
  find_package(Threads REQUIRED)
  add_library(cuzk::static STATIC IMPORTED)
  set_target_properties(cuzk::static PROPERTIES
    IMPORTED_LOCATION "${_cuzk_prefix}/lib/libcuzk.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_cuzk_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()

if(NOT TARGET cuzk::cuzk AND NOT TARGET cuzk::static)
  set(cuzk_FOUND FALSE)
  set(cuzk_NOT_FOUND_MESSAGE "neither libcuzk.so nor libcuzk.a in ${_cuzk_prefix}/lib")
endif()
unset(_cuzk_prefix)
