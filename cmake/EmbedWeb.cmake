# The pages travel inside the program: web/ -> a generated .cpp. Needs no npm and no network.
set(web ${PROJECT_SOURCE_DIR}/web)
set(FABRICAST_WEB_VENDOR ${web}/vendor/echarts/echarts.min.js)
file(GLOB core CONFIGURE_DEPENDS ${web}/core/*.js)
file(GLOB figures CONFIGURE_DEPENDS ${web}/figures/*.js)
file(GLOB ui CONFIGURE_DEPENDS ${web}/ui/*.js)
file(GLOB layouts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scenarios/steps/*.yaml)
set(FABRICAST_WEB_SHARED ${core} ${figures})
set(FABRICAST_WEB ${PROJECT_BINARY_DIR}/generated/embedded_web.cpp)
add_custom_command(
  OUTPUT ${FABRICAST_WEB}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${FABRICAST_WEB} -DROOT=${web}
          "-DVENDOR=${FABRICAST_WEB_VENDOR}" "-DSHARED=${FABRICAST_WEB_SHARED}"
          "-DREPORT=${web}/report.js" "-DUI=${ui}" "-DLAYOUTS=${layouts}"
          -P ${PROJECT_SOURCE_DIR}/cmake/embed_web.cmake
  DEPENDS ${FABRICAST_WEB_VENDOR} ${FABRICAST_WEB_SHARED} ${ui} ${web}/report.js
          ${layouts} ${web}/report.html ${web}/report.css ${web}/ui.html ${web}/ui.css
          ${PROJECT_SOURCE_DIR}/cmake/embed_web.cmake
  VERBATIM)
