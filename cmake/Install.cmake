# cmake --install: the program, the library with the headers of include/fabricast, its CMake package
# and pkg-config file, pages, examples and schemas. Components are what packages are made of.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS fabricast RUNTIME COMPONENT program)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY scenarios examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
# The scenarios name ../schemas.
install(DIRECTORY schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/fabricast COMPONENT program)
file(RELATIVE_PATH to_schemas /${CMAKE_INSTALL_DOCDIR} /${CMAKE_INSTALL_DATADIR}/fabricast/schemas)
file(CREATE_LINK ${to_schemas} ${PROJECT_BINARY_DIR}/generated/schemas SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/generated/schemas DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT program)

# Of the targets in the export set fabricast. Before 1.0 a minor version may break what was.
function(fabricast_install_package)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/fabricast)
  install(EXPORT fabricast NAMESPACE fabricast:: FILE fabricastConfig.cmake DESTINATION ${folder}
    COMPONENT development)
  set(compatible SameMajorVersion)
  if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatible SameMinorVersion)
  endif()
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/fabricastConfigVersion.cmake
    COMPATIBILITY ${compatible})
  install(FILES ${PROJECT_BINARY_DIR}/fabricastConfigVersion.cmake DESTINATION ${folder}
    COMPONENT development)
  file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/fabricast.pc.in ${PROJECT_BINARY_DIR}/fabricast.pc
    @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/fabricast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT development)
endfunction()
