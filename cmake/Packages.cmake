# cpack: Debian packages of what cmake --install installs. fabricast: the program, its pages,
# manuals and completions; libfabricast0; libfabricast-dev; python3-fabricast. With
# SOURCE_DATE_EPOCH the same sources give the same bytes.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "Fabricast maintainers <maintainers@fabricast.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/library)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/packages/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENTS_ALL program library development)
if(TARGET fabricast_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()

# fabricast_package(component name section "description" [depends])
function(fabricast_package component name section description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${ARGN}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/packages/copyright
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${name} COMPONENT ${component})
  install(FILES ${PROJECT_BINARY_DIR}/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${name} COMPONENT ${component})
endfunction()

configure_file(cmake/packages/changelog.in ${PROJECT_BINARY_DIR}/changelog @ONLY)
execute_process(COMMAND gzip -9nc ${PROJECT_BINARY_DIR}/changelog
  OUTPUT_FILE ${PROJECT_BINARY_DIR}/changelog.gz COMMAND_ERROR_IS_FATAL ANY)

fabricast_package(program fabricast science
  "forecasts what a GPU cluster will do before it is bought or booked
 A discrete-event simulator of GPU-cluster communication: NVSwitch, PCIe,
 InfiniBand and RoCE as links; NCCL's own decisions and schedules; the step
 time of parallelism layouts.")
fabricast_package(library libfabricast${PROJECT_VERSION_MAJOR} libs
  "library of Fabricast, a simulator of GPU clusters
 What the program answers, from C++: reports of every question, and an
 estimator of collectives.")
fabricast_package(development libfabricast-dev libdevel
  "headers of Fabricast, a simulator of GPU clusters
 For programs that use the library; with a CMake package and a file for
 pkg-config."
  "libfabricast${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})")
if(TARGET fabricast_python)
  fabricast_package(python python3-fabricast python
    "Python module of Fabricast, a simulator of GPU clusters
 Every command as a function whose answer is a DataFrame, and an estimator
 of collectives."
    "${FABRICAST_PYTHON_DEPENDS}")
endif()

# What a shell and man look for.
set(share ${CMAKE_INSTALL_DATAROOTDIR})
install(FILES completions/fabricast.bash DESTINATION ${share}/bash-completion/completions
  RENAME fabricast COMPONENT program)
install(FILES completions/fabricast.zsh DESTINATION ${share}/zsh/vendor-completions
  RENAME _fabricast COMPONENT program)
install(FILES completions/fabricast.fish DESTINATION ${share}/fish/vendor_completions.d
  COMPONENT program)
install(CODE "
  file(GLOB pages ${PROJECT_BINARY_DIR}/man/*.1)
  set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\")
  file(MAKE_DIRECTORY \"\${folder}\")
  foreach(page IN LISTS pages)
    cmake_path(GET page FILENAME name)
    execute_process(COMMAND gzip -9nc \"\${page}\" OUTPUT_FILE \"\${folder}/\${name}.gz\"
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()" COMPONENT program)
include(CPack)
