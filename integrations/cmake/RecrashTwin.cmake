# recrash_twin(target): adds the executable `target-twin`, of the same sources without inlining (-O0 -fno-inline -g).
#
# A function that the compiler inlined everywhere cannot be called in the program. Its test calls it in the twin:
# recrash_add_crash_test(PROGRAM target …) finds it, and so does `recrash reproduce --twin`. It is also the build to
# debug: `recrash debug DIR --frame N --twin target-twin` has every local.
#
# REQUIRES: to be called where the target was made, after all that is set on it.
function(recrash_twin target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "recrash_twin: ${target} is not a target")
  endif()
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "EXECUTABLE")
    message(FATAL_ERROR "recrash_twin(${target}): needed an executable, found ${type}")
  endif()
  set(twin ${target}-twin)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  set(files)
  foreach(source IN LISTS sources)
    if(NOT IS_ABSOLUTE "${source}" AND NOT source MATCHES "^\\$<" AND EXISTS "${folder}/${source}")
      set(source "${folder}/${source}")
    endif()
    list(APPEND files "${source}")
  endforeach()
  add_executable(${twin} ${files})
  foreach(property COMPILE_DEFINITIONS COMPILE_FEATURES COMPILE_OPTIONS INCLUDE_DIRECTORIES LINK_LIBRARIES LINK_OPTIONS
      LINK_DIRECTORIES C_STANDARD CXX_STANDARD C_EXTENSIONS CXX_EXTENSIONS POSITION_INDEPENDENT_CODE)
    get_target_property(value ${target} ${property})
    if(NOT value MATCHES "-NOTFOUND$")
      set_target_properties(${twin} PROPERTIES ${property} "${value}")
    endif()
  endforeach()
  # The last option of a kind counts: these come after those of the target and of CMAKE_BUILD_TYPE.
  target_compile_options(${twin} PRIVATE -O0 -fno-inline -g)
  set_target_properties(${twin} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
endfunction()
