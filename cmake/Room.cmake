# A folder is a library, a room: all its .cpp files. Headers are included by their path from the
# root of the tree. Each room has an include directory of its own, in the build tree, that holds a
# link to the room: so it sees its own headers and those of rooms it is linked with, and no others.

# fabricast_room([PUBLIC room or library ...] [PRIVATE room or library ...])
# Makes the library of the folder that calls it. Rooms are named by their path: models/nccl/base.
# They come in the order of add_subdirectory(): a room is linked with earlier ones only.
# PUBLIC: its headers include theirs; PRIVATE: only its .cpp files do.
function(fabricast_room)
  cmake_parse_arguments(PARSE_ARGV 0 room "" "" "PUBLIC;PRIVATE")
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE / _ target fabricast_${path})
  fabricast_room_targets(public ${room_PUBLIC})
  fabricast_room_targets(private ${room_PRIVATE})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  fabricast_wall(wall ${path})
  # A .cpp includes its own header first; headers without one are compiled alone where CMake is told
  # to verify header sets.
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.hpp)
  set(alone)
  foreach(header IN LISTS headers)
    cmake_path(REPLACE_EXTENSION header .cpp OUTPUT_VARIABLE source)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      list(APPEND alone ${wall}/${path}/${header})
    endif()
  endforeach()
  set(use PUBLIC)
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PRIVATE ${private} fabricast_warnings)
    fabricast_shareable(${target})
  else()
    add_library(${target} INTERFACE)
    set(use INTERFACE)
  endif()
  target_link_libraries(${target} ${use} ${public})
  target_include_directories(${target} ${use} ${wall})
  target_sources(${target} ${use} FILE_SET HEADERS BASE_DIRS ${wall} FILES ${alone})
  set_property(GLOBAL APPEND PROPERTY FABRICAST_ROOMS ${target})
endfunction()

# May become part of libfabricast.so, and exports only what says so (include/fabricast/export.hpp).
function(fabricast_shareable target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# The include directory of a room, in which nothing is but the room.
function(fabricast_wall out path)
  string(REPLACE / _ name ${path})
  set(wall ${PROJECT_BINARY_DIR}/rooms/${name})
  cmake_path(GET path PARENT_PATH parent)
  file(MAKE_DIRECTORY ${wall}/${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${path} ${wall}/${path} SYMBOLIC)
  set(${out} ${wall} PARENT_SCOPE)
endfunction()

# Names of targets: "models/nccl/base" is fabricast_models_nccl_base, "fmt::fmt" is itself.
function(fabricast_room_targets out)
  set(targets)
  foreach(name IN LISTS ARGN)
    if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${name})
      string(REPLACE / _ name fabricast_${name})
    endif()
    if(NOT TARGET ${name})
      message(FATAL_ERROR "${path}: ${name} does not come before it")
    endif()
    list(APPEND targets ${name})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()
