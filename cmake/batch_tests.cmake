cmake_minimum_required(VERSION 3.25)
# cmake -DROOT=FOLDER -DOUTPUT=FILE "-DSOURCES=a_test.cc;b_test.cc" -P batch_tests.cmake
#
# Writes OUTPUT: the tests' SOURCES, named relative to ROOT, one after another. The unnamed namespace of each becomes a
# namespace named after its file, so that tests may give their helpers the same names. Compilers report the lines of
# the original files.
set(text "")
foreach(source ${SOURCES})
  file(READ "${ROOT}/${source}" content)
  string(FIND "${content}" "\nnamespace {\n" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${source}: a test keeps what is its own in 'namespace {', on a line of its own")
  endif()
  string(MAKE_C_IDENTIFIER "${source}" name)
  string(REPLACE "\nnamespace {\n" "\nnamespace ${name} {\n" content "${content}")
  string(APPEND text "#line 1 \"${source}\"\n${content}")
endforeach()
file(WRITE "${OUTPUT}" "${text}")
