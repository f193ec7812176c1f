# cmake -DPROGRAM=fabricast -DFOLDER=dir -P man_pages.cmake
# Writes the manual page of the program and of each command: dir/fabricast.1, dir/fabricast-bench.1.

execute_process(COMMAND ${PROGRAM} __man --list OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n$" "" commands "${commands}")
string(REPLACE "\n" ";" commands "fabricast${commands}")
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
foreach(command IN LISTS commands)
  string(REPLACE " " ";" words "${command}")
  string(REPLACE " " "-" page "fabricast-${command}")
  if(command STREQUAL fabricast)
    set(words)
    set(page fabricast)
  endif()
  execute_process(COMMAND ${PROGRAM} __man ${words} OUTPUT_FILE ${FOLDER}/${page}.1
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
