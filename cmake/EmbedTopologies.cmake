# Turns topologies/*.yaml and workloads/*.yaml into generated C++ tables of (name, text), and the
# catalogue of environment variables into a text.
file(GLOB FABRICAST_TOPOLOGIES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/topologies/*.yaml)
file(GLOB FABRICAST_WORKLOADS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/workloads/*.yaml)
set(FABRICAST_VARIABLES ${CMAKE_CURRENT_SOURCE_DIR}/models/nccl/variables.yaml)
set(FABRICAST_EMBEDDED ${CMAKE_CURRENT_BINARY_DIR}/generated/embedded_topologies.cpp)
add_custom_command(
  OUTPUT ${FABRICAST_EMBEDDED}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${FABRICAST_EMBEDDED} "-DFILES=${FABRICAST_TOPOLOGIES}"
          "-DWORKLOADS=${FABRICAST_WORKLOADS}"
          -DVARIABLES=${FABRICAST_VARIABLES} -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${FABRICAST_TOPOLOGIES} ${FABRICAST_WORKLOADS} ${FABRICAST_VARIABLES}
          ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
  VERBATIM)
