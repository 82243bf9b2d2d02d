# recrash_instrument(target [MODE references|full|second-chance|references+second-chance|adaptive] [VERSION text]
#                    [LIST file…] [DEPTH 0|1|2] [REPORT folder] [PLUGIN] [EMBED_COLLECTOR])
#
# Compiles the target's C and C++ sources with recrash's pass, so that its functions keep their arguments, and links the
# agent into it when it is an executable. MODE full also keeps the fields that functions use; the
# second-chance modes make entries patchable, for the functions that a profile names; adaptive has all of them watched
# from the start. VERSION is the build's own name,
# found again in reports and tests. LIST names files that say which functions (docs/guides/which-functions.md), DEPTH how far
# mode full follows pointers. PLUGIN links the agent into a MODULE or SHARED library as well: a plug-in of a program that is not built
# with recrash. REPORT is a folder for what became of each function.
# With EMBED_COLLECTOR the program holds the collector, and needs no second file where it is shipped.

# What the pass needs; an error says what was found and what to do.
function(_recrash_check_compiler language)
  set(id "${CMAKE_${language}_COMPILER_ID}")
  set(version "${CMAKE_${language}_COMPILER_VERSION}")
  string(REGEX MATCH "^[0-9]+" major "${version}")
  if(id STREQUAL "Clang" AND major STREQUAL RECRASH_LLVM_VERSION)
    return()
  endif()
  message(FATAL_ERROR
    "recrash_instrument needs Clang ${RECRASH_LLVM_VERSION} (the pass is built for it), found ${id} ${version} for "
    "${language}. Configure with -DCMAKE_C_COMPILER=clang-${RECRASH_LLVM_VERSION} "
    "-DCMAKE_CXX_COMPILER=clang++-${RECRASH_LLVM_VERSION}, or install a recrash built for your LLVM. A program of any "
    "compiler can be watched without instrumentation: recrash run -- PROGRAM.")
endfunction()

# Under INTERPROCEDURAL_OPTIMIZATION the link step makes the records, after the last inlining: lld, which can load the
# pass (docs/guides/build-systems.md). A library's objects are compiled to machine code by whoever links it.
function(_recrash_defer_to_link target type plugin)
  set(lto "$<BOOL:$<TARGET_PROPERTY:${target},INTERPROCEDURAL_OPTIMIZATION>>")
  target_compile_options(${target} PRIVATE "$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,${lto}>:SHELL:-mllvm -recrash-lto=link>")
  if(type STREQUAL "STATIC_LIBRARY" OR type STREQUAL "OBJECT_LIBRARY")
    set(scope INTERFACE)
  else()
    set(scope PRIVATE)
  endif()
  target_link_options(${target} ${scope}
    "$<${lto}:-fuse-ld=lld>" "$<${lto}:SHELL:-Xlinker \"--load-pass-plugin=${plugin}\">")
endfunction()

function(recrash_instrument target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "PLUGIN;EMBED_COLLECTOR" "MODE;VERSION;DEPTH;REPORT" "LIST")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "recrash_instrument(${target}): not understood: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "recrash_instrument: ${target} is not a target")
  endif()
  if(ARG_MODE AND NOT ARG_MODE MATCHES "^(references|full|second-chance|references\\+second-chance|adaptive)$")
    message(FATAL_ERROR "recrash_instrument(${target}): MODE is references, full, second-chance, "
      "references+second-chance or adaptive, not ${ARG_MODE}")
  endif()
  if(DEFINED ARG_DEPTH AND NOT ARG_DEPTH MATCHES "^[012]$")
    message(FATAL_ERROR "recrash_instrument(${target}): DEPTH is 0, 1 or 2, not ${ARG_DEPTH}")
  endif()

  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(drivers)
  foreach(language C CXX)
    if(language IN_LIST languages)
      _recrash_check_compiler(${language})
      list(APPEND drivers "${CMAKE_${language}_COMPILER}")
    endif()
  endforeach()

  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY" OR type STREQUAL "UTILITY")
    message(FATAL_ERROR "recrash_instrument(${target}): it has no sources of its own to compile")
  endif()

  if(ARG_PLUGIN AND NOT type MATCHES "^(MODULE|SHARED)_LIBRARY$")
    message(FATAL_ERROR "recrash_instrument(${target}): PLUGIN is for MODULE and SHARED libraries, not for ${type}")
  endif()

  # Our compilers do all this themselves; the pass must not run twice.
  set(wrapped FALSE)
  foreach(driver IN LISTS drivers)
    get_filename_component(name "${driver}" NAME)
    if(name MATCHES "^recrash-clang")
      set(wrapped TRUE)
    endif()
  endforeach()

  set(plugin "${RECRASH_LIBRARY_DIR}/recrash-pass.so")
  set(compiled "$<COMPILE_LANGUAGE:C,CXX>")
  if(NOT wrapped)
    # -fplugin makes the options known while the command line is read; -fpass-plugin runs the pass.
    target_compile_options(${target} PRIVATE
      "$<${compiled}:-fplugin=${plugin}>" "$<${compiled}:-fpass-plugin=${plugin}>")
    # A new pass means new objects: it is named in their dependency files as a header would be.
    target_compile_options(${target} PRIVATE "$<${compiled}:SHELL:-Xclang \"-fdepfile-entry=${plugin}\">")
  endif()
  if(NOT wrapped)
    _recrash_defer_to_link(${target} ${type} "${plugin}")
  endif()
  if(ARG_MODE)
    target_compile_options(${target} PRIVATE "$<${compiled}:SHELL:-mllvm -recrash-mode=${ARG_MODE}>")
  endif()
  if(ARG_VERSION)
    if(ARG_VERSION MATCHES "[\"\\; ]")
      message(FATAL_ERROR "recrash_instrument(${target}): VERSION must have no blank, quote or semicolon: ${ARG_VERSION}")
    endif()
    target_compile_options(${target} PRIVATE "$<${compiled}:SHELL:-mllvm -recrash-version=${ARG_VERSION}>")
  endif()
  if(DEFINED ARG_DEPTH)
    target_compile_options(${target} PRIVATE "$<${compiled}:SHELL:-mllvm -recrash-depth=${ARG_DEPTH}>")
  endif()
  foreach(list IN LISTS ARG_LIST)
    get_filename_component(list "${list}" ABSOLUTE)
    if(NOT EXISTS "${list}")
      message(FATAL_ERROR "recrash_instrument(${target}): there is no LIST ${list}")
    endif()
    # So is a list.
    target_compile_options(${target} PRIVATE
      "$<${compiled}:SHELL:-Xclang \"-fdepfile-entry=${list}\" -mllvm \"-recrash-list=${list}\">")
  endforeach()
  if(ARG_REPORT)
    get_filename_component(report "${ARG_REPORT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    target_compile_options(${target} PRIVATE "$<${compiled}:SHELL:-mllvm \"-recrash-report=${report}/\">")
  endif()
  target_link_libraries(${target} PRIVATE recrash::recrash)

  if(ARG_PLUGIN AND wrapped)
    target_link_options(${target} PRIVATE -recrash-plugin)
  elseif(ARG_PLUGIN)
    # Its own alone; and it stays loaded, since handlers that are installed cannot be taken back.
    target_link_options(${target} PRIVATE "LINKER:-u,__recrash_client_anchor" "LINKER:--exclude-libs,librecrash_client.a"
      "LINKER:-z,nodelete")
    target_link_libraries(${target} PRIVATE "${RECRASH_LIBRARY_DIR}/librecrash_client.a" pthread dl)
  endif()
  if(ARG_EMBED_COLLECTOR AND NOT type STREQUAL "EXECUTABLE")
    message(FATAL_ERROR "recrash_instrument(${target}): EMBED_COLLECTOR is for programs")
  endif()
  if(ARG_EMBED_COLLECTOR)
    target_link_libraries(${target} PRIVATE "${RECRASH_LIBRARY_DIR}/recrash_embedded_collector.o")
  endif()

  if(type STREQUAL "EXECUTABLE" AND NOT wrapped)
    # In a program with a static C or C++ runtime nothing can be interposed: the linker's --wrap leads to the hooks.
    get_target_property(link_options ${target} LINK_OPTIONS)
    string(REPLACE ";" " " link_options " ${link_options} ${CMAKE_EXE_LINKER_FLAGS} ${CMAKE_CXX_FLAGS} ")
    if(link_options MATCHES " -static(-pie|-libstdc\\+\\+)? ")
      set(client "${RECRASH_LIBRARY_DIR}/librecrash_client_static.a")
      target_link_options(${target} PRIVATE "@${RECRASH_LIBRARY_DIR}/static_link_options.rsp")
    else()
      set(client "${RECRASH_LIBRARY_DIR}/librecrash_client.a")
      target_link_options(${target} PRIVATE "LINKER:-u,__recrash_client_anchor")
      # For libraries that the program opens: what recrash.h calls.
      foreach(name report profiles keep_memory mark unmark alive note file before_report)
        target_link_options(${target} PRIVATE "LINKER:--export-dynamic-symbol=__recrash_${name}")
      endforeach()
    endif()
    target_link_libraries(${target} PRIVATE "${client}" pthread dl)
  endif()
endfunction()
