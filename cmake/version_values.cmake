# Writes the header that version.cc prints from, of the environment: YARDMASTER_VERSION (VERSION when unset or empty) and
# YARDMASTER_COMMIT (none when unset). Every build runs this, so that no build folder has the values of an earlier one. A header
# that stays as it was is not written.
#
#   cmake -DVERSION=X.Y.Z -DOUTPUT=HEADER -P cmake/version_values.cmake
cmake_minimum_required(VERSION 3.25)
if("$ENV{YARDMASTER_VERSION}" STREQUAL "")
  set(ENV{YARDMASTER_VERSION} "${VERSION}")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
     "#define YARDMASTER_VERSION \"$ENV{YARDMASTER_VERSION}\"\n#define YARDMASTER_COMMIT \"$ENV{YARDMASTER_COMMIT}\"\n")
