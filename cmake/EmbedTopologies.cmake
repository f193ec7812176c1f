# Turns topologies/*.yaml into one generated C++ table of (name, text).
file(GLOB FABRICAST_TOPOLOGIES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/topologies/*.yaml)
set(FABRICAST_EMBEDDED ${CMAKE_CURRENT_BINARY_DIR}/generated/embedded_topologies.cpp)
add_custom_command(
  OUTPUT ${FABRICAST_EMBEDDED}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${FABRICAST_EMBEDDED} "-DFILES=${FABRICAST_TOPOLOGIES}"
          -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${FABRICAST_TOPOLOGIES} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  VERBATIM)
