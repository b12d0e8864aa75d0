# Programs that need no library of the machine they run on (presets static and arm64-static): each imported library becomes the archive
# beside it, or the one that hack/static-libraries compiles where Debian has none. Only kubectl-yardmaster is linked so: gRPC and the
# agent's libraries are not among them.
if(CMAKE_CROSSCOMPILING)
  set(static_architecture arm64)
else()
  set(static_architecture amd64)
endif()
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/hack/static-libraries ${static_architecture} OUTPUT_VARIABLE static_libraries
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

get_property(imported_targets DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(target ${imported_targets})
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL SHARED_LIBRARY AND NOT type STREQUAL UNKNOWN_LIBRARY)
    continue()
  endif()
  foreach(property IMPORTED_LOCATION IMPORTED_LOCATION_NONE IMPORTED_LOCATION_RELEASE IMPORTED_LOCATION_RELWITHDEBINFO)
    get_target_property(location ${target} ${property})
    if(location MATCHES "^(.*)/(lib[^/]*)\\.so[^/]*$")
      foreach(archive ${static_libraries}/${CMAKE_MATCH_2}.a ${CMAKE_MATCH_1}/${CMAKE_MATCH_2}.a)
        if(EXISTS ${archive})
          set_target_properties(${target} PROPERTIES ${property} ${archive})
          break()
        endif()
      endforeach()
    endif()
  endforeach()
endforeach()

# Archives refer to each other in circles. Names are looked up in files and by DNS alone, so the code that would load other libraries
# is never reached (cmd/kubectl-yardmaster/main.cc).
set(CMAKE_SKIP_RPATH ON)
set(CMAKE_CXX_LINK_EXECUTABLE
    "<CMAKE_CXX_COMPILER> <FLAGS> <CMAKE_CXX_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> -Wl,--start-group <LINK_LIBRARIES> -Wl,--end-group")
add_link_options(-static -Wl,--gc-sections -Wl,--build-id=none)
