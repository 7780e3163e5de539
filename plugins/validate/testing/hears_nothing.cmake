# hears_nothing.cmake <TOOL> <WORK> <PROGRAM> [ARGUMENTS]
# Runs a program under the tool: it must succeed, and the tool must have nothing to say.
string(SHA256 name "${PROGRAM} ${ARGUMENTS}")
set(reports ${WORK}/${name}.txt)
file(WRITE ${WORK}/${name}.json "{\"config_version\": \"1.0\", \"plugins\": [{\"name\": \"validate\",
  \"library\": \"${TOOL}\", \"on_error\": \"fail\", \"config\": {\"file\": \"${reports}\"}}]}")
file(REMOVE ${reports})
set(ENV{HSA_PLUGIN_CONFIG} ${WORK}/${name}.json)
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ends with ${status}:\n${output}")
endif()
if(NOT EXISTS ${reports})
  message(FATAL_ERROR "${PROGRAM} has run without the tool:\n${output}")
endif()
file(READ ${reports} text)
if(NOT text STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} is said to break rules:\n${text}")
endif()
