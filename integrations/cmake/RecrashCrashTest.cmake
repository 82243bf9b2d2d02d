# recrash_add_crash_test(NAME name PROGRAM target-or-path REPORT file SOURCES file… [TWIN target-or-path]
#                        [SEARCH_PATHS folder…] [TRUST_REPORT] [ALLOW_UNDECIDED])
#
# TWIN: the same sources built without inlining (recrash_twin). A test whose function PROGRAM has inlined everywhere runs
# in it, and so it has one verdict in each build. By default the target PROGRAM-twin, if there is one.
#
# SEARCH_PATHS: where libraries lie that the program loads while it runs, if not beside it. TRUST_REPORT: code that the
# report names or holds is run, wherever it lies (docs/security.md).
#
# Paths may be relative to the folder of the CMakeLists.txt. Where another build is to be tested, or the files lie
# elsewhere on this machine: cmake -Dname_PROGRAM=path, -Dname_TWIN=path, -Dname_SEARCH_PATHS=folders.
#
# Builds the tests that `recrash reproduce` kept, and registers each TEST as a CTest case `name.Suite.Test` that runs
# against PROGRAM. The executable `name` is what people run: it starts the program and loads the tests into it.
#
# A test that says nothing about the bug here (a file is missing, the function is not in this build) is skipped. CTest
# does not count that as a failure, so the case `name.decided` fails if each test is skipped. ALLOW_UNDECIDED leaves that
# case out.
#
# Cases are found by reading the sources, so that a program that cannot run (not built yet, for another machine) fails
# its tests and not the build.
include(GoogleTest)

# Text as a C string literal, for file(GENERATE). CMake passes no definition on that has a # in it.
function(_recrash_c_string text result)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n" text "${text}")
  string(REPLACE "$<" "$<1:$><" text "${text}")
  set(${result} "\"${text}\"" PARENT_SCOPE)
endfunction()

# A path with a backslash in it is only put together: CMake would take that for a slash.
function(_recrash_absolute path result)
  if(NOT IS_ABSOLUTE "${path}" AND path MATCHES "\\\\")
    set(path "${CMAKE_CURRENT_SOURCE_DIR}/${path}")
  elseif(NOT IS_ABSOLUTE "${path}")
    get_filename_component(path "${path}" ABSOLUTE)
  endif()
  _recrash_c_string("${path}" path)
  set(${result} "${path}" PARENT_SCOPE)
endfunction()

function(recrash_add_crash_test)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "TRUST_REPORT;ALLOW_UNDECIDED" "NAME;PROGRAM;TWIN;REPORT" "SOURCES;SEARCH_PATHS")
  foreach(needed NAME PROGRAM REPORT SOURCES)
    if(NOT ARG_${needed})
      message(FATAL_ERROR "recrash_add_crash_test: ${needed} is needed, as in recrash_add_crash_test(NAME crash_test "
                          "PROGRAM my_program REPORT crash_test.rcr SOURCES crash_test.cc)")
    endif()
  endforeach()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "recrash_add_crash_test(${ARG_NAME}): not understood: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  foreach(place PROGRAM TWIN SEARCH_PATHS)
    if(${ARG_NAME}_${place})
      set(ARG_${place} "${${ARG_NAME}_${place}}")
    endif()
  endforeach()
  find_path(RECRASH_GTEST_INCLUDE_DIR gtest/gtest.h HINTS "${RECRASH_PREFIX}/include" /usr/src/googletest/googletest/include
    DOC "Where gtest/gtest.h lies")
  if(NOT RECRASH_GTEST_INCLUDE_DIR)
    message(FATAL_ERROR "recrash_add_crash_test needs GoogleTest's headers, found no gtest/gtest.h. Install libgtest-dev "
                        "or set RECRASH_GTEST_INCLUDE_DIR.")
  endif()

  _recrash_absolute("${ARG_REPORT}" report)
  if(TARGET "${ARG_PROGRAM}")
    set(program "\"$<TARGET_FILE:${ARG_PROGRAM}>\"")
  else()
    _recrash_absolute("${ARG_PROGRAM}" program)
  endif()

  if(NOT ARG_TWIN AND TARGET "${ARG_PROGRAM}-twin")
    set(ARG_TWIN ${ARG_PROGRAM}-twin)
  endif()
  set(twin "\"\"")
  if(ARG_TWIN AND TARGET "${ARG_TWIN}")
    set(twin "\"$<TARGET_FILE:${ARG_TWIN}>\"")
  elseif(ARG_TWIN)
    _recrash_absolute("${ARG_TWIN}" twin)
  endif()

  set(code_options)
  foreach(folder IN LISTS ARG_SEARCH_PATHS)
    _recrash_absolute("${folder}" folder)
    string(APPEND code_options "\"--search-path\", ${folder}, ")
  endforeach()
  if(ARG_TRUST_REPORT)
    string(APPEND code_options "\"--trust-report\", ")
  endif()

  # What the project compiles its programs with is not for the tests: a sanitizer's runtime has to be the program's own,
  # and the GoogleTest that we bring is built with libstdc++.
  set(plain -fno-sanitize=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    list(APPEND plain -stdlib=libstdc++)
  endif()
  # Our own compilers would put the agent and the pass into the tests as well.
  get_filename_component(driver "${CMAKE_CXX_COMPILER}" NAME)
  if(driver MATCHES "^recrash-clang")
    list(APPEND plain -fno-recrash)
  endif()

  # The tests: a library that is loaded into the program. It brings its own GoogleTest, hidden and bound to itself,
  # because the program may have one too. No stack protector: the canary changes while memory is put back.
  set(library ${ARG_NAME}_library)
  add_library(${library} MODULE ${ARG_SOURCES})
  target_compile_features(${library} PRIVATE cxx_std_17)
  # Not by target_include_directories: CMake leaves out a folder that it takes for one of the compiler's own, and
  # recrash-clang++ adds ours to these unless -fno-recrash is given.
  target_compile_options(${library} PRIVATE "-I${RECRASH_PREFIX}/include" "-I${RECRASH_GTEST_INCLUDE_DIR}")
  target_compile_options(${library} PRIVATE -g -fvisibility=hidden -fno-stack-protector ${plain})
  target_link_options(${library} PRIVATE ${plain}
    "LINKER:-Bsymbolic" "LINKER:--exclude-libs,ALL" "LINKER:-z,defs")
  target_link_libraries(${library} PRIVATE "${RECRASH_LIBRARY_DIR}/librecrash_gtest.a" pthread)
  set_target_properties(${library} PROPERTIES PREFIX "lib" OUTPUT_NAME ${ARG_NAME} POSITION_INDEPENDENT_CODE ON)

  # The test executable, which people, CTest and debuggers start.
  add_executable(${ARG_NAME} "${RECRASH_PREFIX}/share/recrash/crash_test_main.cc")
  target_compile_features(${ARG_NAME} PRIVATE cxx_std_17)
  _recrash_c_string("${RECRASH_LIBRARY_DIR}/recrash-launch" launch)
  set(paths "${CMAKE_CURRENT_BINARY_DIR}/recrash/$<CONFIG>/${ARG_NAME}.h")
  file(GENERATE OUTPUT "${paths}" CONTENT
"#define RECRASH_LAUNCH ${launch}
#define RECRASH_TEST_LIBRARY \"$<TARGET_FILE:${library}>\"
#define RECRASH_REPORT ${report}
#define RECRASH_PROGRAM ${program}
#define RECRASH_TWIN ${twin}
#define RECRASH_CODE_OPTIONS ${code_options}
")
  target_compile_options(${ARG_NAME} PRIVATE ${plain} -include "${paths}")
  target_link_options(${ARG_NAME} PRIVATE ${plain})
  add_dependencies(${ARG_NAME} ${library})
  if(TARGET "${ARG_PROGRAM}")
    add_dependencies(${ARG_NAME} ${ARG_PROGRAM})
  endif()
  if(ARG_TWIN AND TARGET "${ARG_TWIN}")
    add_dependencies(${ARG_NAME} ${ARG_TWIN})
  endif()

  # For a debugger's launch file, which knows the build folder and not where recrash is installed.
  configure_file("${RECRASH_LIBRARY_DIR}/recrash-gdb.py" "${CMAKE_CURRENT_BINARY_DIR}/recrash/recrash-gdb.py" COPYONLY)

  gtest_add_tests(TARGET ${ARG_NAME} SOURCES ${ARG_SOURCES} TEST_PREFIX "${ARG_NAME}." TEST_LIST tests
    EXTRA_ARGS --allow-undecided)
  if(tests)
    set_tests_properties(${tests} PROPERTIES SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
    if(NOT ARG_ALLOW_UNDECIDED)
      add_test(NAME ${ARG_NAME}.decided COMMAND ${ARG_NAME} --decided)
      list(APPEND tests ${ARG_NAME}.decided)
    endif()
    # Longer than the replay itself waits on a busy machine.
    set_tests_properties(${tests} PROPERTIES TIMEOUT 900 LABELS crash)
  endif()
endfunction()
