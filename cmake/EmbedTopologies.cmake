# Turns topologies/*.yaml, workloads/*.yaml and models/io/tuners/*.yaml into generated C++ tables of
# (name, text), so also the topics of help and the shells' scripts, and the catalogue of environment
# variables into a text.
file(GLOB FABRICAST_TOPOLOGIES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/topologies/*.yaml)
file(GLOB FABRICAST_WORKLOADS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/workloads/*.yaml)
file(GLOB FABRICAST_TUNERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/models/io/tuners/*.yaml)
file(GLOB FABRICAST_TEXTS CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/docs/help/*.txt ${PROJECT_SOURCE_DIR}/completions/fabricast.*)
set(FABRICAST_VARIABLES ${PROJECT_SOURCE_DIR}/models/nccl/environment/variables.yaml)
set(FABRICAST_EMBEDDED ${PROJECT_BINARY_DIR}/generated/embedded_topologies.cpp)
add_custom_command(
  OUTPUT ${FABRICAST_EMBEDDED}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${FABRICAST_EMBEDDED} "-DFILES=${FABRICAST_TOPOLOGIES}"
          "-DWORKLOADS=${FABRICAST_WORKLOADS}" "-DTUNERS=${FABRICAST_TUNERS}"
          "-DTEXTS=${FABRICAST_TEXTS}" -DVARIABLES=${FABRICAST_VARIABLES}
          -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${FABRICAST_TOPOLOGIES} ${FABRICAST_WORKLOADS} ${FABRICAST_TUNERS} ${FABRICAST_TEXTS}
          ${FABRICAST_VARIABLES} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  VERBATIM)
