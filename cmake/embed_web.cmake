# cmake -DOUTPUT=x.cpp -DROOT=dir -DREPORT=a.js;b.js -DUI=c.js;d.js -P embed_web.cmake
# Writes the texts of the pages as C++, and of each script the SHA-256 that the page's policy names.
# Scripts are joined: VENDOR, SHARED, then REPORT or UI.
cmake_policy(SET CMP0007 NEW)

# Appends a text as string literals: one may hold at most 65,535 characters portably.
function(append_text name content)
  string(APPEND text "constexpr char ${name}Text[] =\n")
  string(LENGTH "${content}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${content}" ${at} 16000 piece)
    string(APPEND text "R\"~~~(${piece})~~~\"\n")
    math(EXPR at "${at} + 16000")
  endwhile()
  string(APPEND text ";\n")
  string(APPEND text
         "constexpr std::string_view ${name}{${name}Text, sizeof ${name}Text - 1};\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()

function(append_file name file)
  file(READ "${file}" content)
  append_text(${name} "${content}")
  set(text "${text}" PARENT_SCOPE)
endfunction()

function(append_script name)
  set(content "")
  foreach(file IN LISTS ARGN)
    file(READ "${file}" one)
    string(APPEND content "${one}\n")
  endforeach()
  string(SHA256 hash "${content}")
  append_text(${name} "${content}")
  string(APPEND text "constexpr std::string_view ${name}Hash = \"${hash}\";\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()

set(text "// Generated from web/ by cmake/embed_web.cmake.\n")
string(APPEND text "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n")
string(APPEND text "#include \"models/io/pages/embedded_web.hpp\"\n\n")
string(APPEND text "namespace fabricast {\nnamespace {\n")
append_script(kVendor ${VENDOR})
append_script(kShared ${SHARED})
append_script(kReport ${REPORT})
append_script(kUi ${UI})
string(APPEND text "constexpr EmbeddedLayout kLayouts[] = {\n")
foreach(file IN LISTS LAYOUTS)
  get_filename_component(name "${file}" NAME_WLE)
  file(READ "${file}" content)
  string(APPEND text "    {\"${name}\", R\"~~~(${content})~~~\"},\n")
endforeach()
string(APPEND text "};\n")
append_file(kReportPage "${ROOT}/report.html")
append_file(kReportStyle "${ROOT}/report.css")
append_file(kUiPage "${ROOT}/ui.html")
append_file(kUiStyle "${ROOT}/ui.css")
string(APPEND text "}  // namespace\n\n")
string(APPEND text "EmbeddedPage embedded_report_page() {\n"
  "  return {kReportPage, {kReportStyle, {}},\n"
  "          {{{kVendor, kVendorHash}, {kShared, kSharedHash}, {kReport, kReportHash}}}};\n}\n"
  "EmbeddedPage embedded_ui_page() {\n"
  "  return {kUiPage, {kReportStyle, kUiStyle},\n"
  "          {{{kVendor, kVendorHash}, {kShared, kSharedHash}, {kUi, kUiHash}}}};\n}\n\n"
  "std::span<const EmbeddedLayout> example_layouts() { return kLayouts; }\n\n"
  "}  // namespace fabricast\n")
file(WRITE "${OUTPUT}" "${text}")
