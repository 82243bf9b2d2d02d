"""The programs that `./dev evaluate` crashes: what Debian calls them and how their own build systems build them.

`configure` runs once under `sh -e` in an empty folder with SRC (the source), CC, CXX and FLAGS (optimisation, -g and,
instrumented, the mode) set, then `make`; `make` alone again when the agent that is linked in has changed. `program` is the
executable that comes out, relative to that folder.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Program:
    package: str
    version: str
    configure: str
    make: str
    program: str
    needs: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)  # {source} and {build} stand for the two folders
    work: str = ""  # arguments, relative to the source: inputs that keep it busy for some seconds before the one that it fails on
    slow: bool = False  # takes half an hour to build: built and run last


CMAKE = ('cmake -S "$SRC" -B . -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" '
         '-DCMAKE_C_FLAGS="$FLAGS" -DCMAKE_CXX_FLAGS="$FLAGS" ')
COPY = 'cp -a "$SRC/." .; '  # for those that build only in their own source
TOOLS = 'CC="$CC" CXX="$CXX" CFLAGS="$FLAGS" CXXFLAGS="$FLAGS" '

# `-E` of the build compiler is looked for with variables that only older autoconfs set.
ICARUS = (COPY + "sh autoconf.sh; sed -i s,^ac_build_,ac_, configure; "
          './configure CC="$CC" CXX="$CXX" CFLAGS="$FLAGS" CXXFLAGS="$FLAGS -std=gnu++14" --prefix="$PWD/installed"')
ICARUS_NEEDS = ("autoconf", "bison", "flex", "gperf", "libbz2-dev", "zlib1g-dev")
# The configuration in the source is used as it is, whatever the times of the files that Debian's patches touch.
GROFF = (COPY + "touch aclocal.m4; sleep 1; touch configure Makefile.in src/include/config.hin; "
         './configure CC="$CC" CXX="$CXX" CFLAGS="$FLAGS" CXXFLAGS="$FLAGS" --without-x')
GROFF_HEADERS = "make -j2 lib/uniwidth.h lib/unitypes.h; "
WABT = CMAKE + "-DBUILD_TESTS=OFF"

PROGRAMS = {
    "cppcheck": Program(
        "cppcheck", "2.10-2", CMAKE + "-DHAVE_RULES=ON -DUSE_MATCHCOMPILER=Off", "ninja -j2 cppcheck",
        "bin/cppcheck", ("libpcre3-dev",), work="lib/errorlogger.cpp"),
    "tetgen": Program("tetgen", "1.5.0-5", CMAKE, "ninja -j2", "tetgen"),
    "jsonnet": Program(
        "jsonnet", "0.18.0+ds-3", CMAKE + "-DUSE_SYSTEM_GTEST=ON -DBUILD_TESTS=OFF -DBUILD_SHARED_BINARIES=ON",
        "ninja -j2", "jsonnet", ("libgtest-dev",)),
    "muscle": Program(
        "muscle", "1:5.1.0-1", COPY, 'make -j2 -C src CXX="$CXX" GPP="$CXX" CXXFLAGS="$FLAGS -fopenmp" \
                      LDFLAGS="$FLAGS -fopenmp"', "src/Linux/muscle", ("libomp-19-dev",)),
    "bedtools": Program(
        "bedtools", "2.30.0+dfsg-3", COPY, "make -j2 " + TOOLS, "bin/bedtools",
        ("zlib1g-dev", "libbz2-dev", "liblzma-dev", "python3")),
    "id3lib": Program(
        "id3lib3.8.3", "3.8.3-18",
        COPY + "libtoolize -fc; aclocal; autoconf; automake --add-missing --copy; ./configure " + TOOLS, "make -j2",
        "examples/.libs/id3info", ("autoconf", "automake", "libtool", "zlib1g-dev"),
        {"LD_LIBRARY_PATH": "{build}/src/.libs"}),
    "swig": Program(
        "swig", "4.1.0-0.2", COPY + "./autogen.sh; ./configure --without-alllang " + TOOLS, "make -j2 source", "swig",
        ("autoconf", "automake", "bison", "libpcre2-dev"), {"SWIG_LIB": "{build}/Lib"}),
    "verilator": Program(
        "verilator", "5.006-3", COPY + "autoconf; ./configure " + TOOLS, "make -j2 -C src ../bin/verilator_bin",
        "bin/verilator_bin", ("autoconf", "bison", "flex", "libfl-dev", "help2man", "python3"),
        {"VERILATOR_ROOT": "{build}"}),
    "assimp": Program(
        "assimp", "5.2.5~ds0-1",
        CMAKE + "-DASSIMP_BUILD_ASSIMP_TOOLS=ON -DASSIMP_BUILD_SAMPLES=OFF -DASSIMP_BUILD_TESTS=OFF "
        "-DASSIMP_BUILD_ZLIB=OFF -DASSIMP_WARNINGS_AS_ERRORS=OFF", "ninja -j2", "bin/assimp",
        ("libdraco-dev", "libminizip-dev", "libstb-dev", "libutfcpp-dev", "libboost-dev", "zlib1g-dev", "pkg-config")),
    "nextpnr-ice40": Program(
        "nextpnr", "0.4-1",
        # One device, the one that it takes when none is named: making the tables of all takes half an hour.
        CMAKE + "-DARCH=ice40 -DICE40_DEVICES=1k -DBUILD_GUI=OFF -DBUILD_PYTHON=OFF -DICEBOX_DATADIR=/usr/share/fpga-icestorm/chipdb "
        "-DICEBOX_ROOT=/usr/share/fpga-icestorm/chipdb", "ninja -j2 nextpnr-ice40", "nextpnr-ice40",
        ("libboost-filesystem-dev", "libboost-thread-dev", "libboost-program-options-dev", "libboost-iostreams-dev",
         "libboost-system-dev", "libeigen3-dev", "fpga-icestorm-chipdb", "python3")),
    "minizinc": Program(
        "minizinc", "2.6.4+dfsg1-1", CMAKE + "-DUSE_GECODE=ON", "ninja -j2 minizinc", "minizinc",
        ("flex", "bison", "flatzinc", "libgecode-dev"), {"MZN_STDLIB_DIR": "{source}/share/minizinc"}),
    "ivl": Program("iverilog", "11.0-1.1", ICARUS, "make dep; make -j2 ivl", "ivl", ICARUS_NEEDS),
    "vvp": Program("iverilog", "11.0-1.1", ICARUS,
                   "make version_tag.h _pli_types.h; make -C vvp dep; make -C vvp -j2 vvp; "
                   "make -C vpi dep; make -C vpi -j2; make -C vpi install", "vvp/vvp", ICARUS_NEEDS),
    "wasm-decompile": Program("wabt", "1.0.32-1", WABT, "ninja -j2 wasm-decompile", "wasm-decompile"),
    "wat2wasm": Program("wabt", "1.0.32-1", WABT, "ninja -j2 wat2wasm", "wat2wasm"),
    "zpaq": Program("zpaq", "7.15+repack-1", COPY,
                    'make zpaq CXX="$CXX" CPPFLAGS=-Dunix CXXFLAGS="$FLAGS"', "zpaq"),
    "probalign": Program("probalign", "1.4-10", COPY,
                         """make probalign CXX="$CXX" CXXFLAGS="$FLAGS -DVERSION='\\"1.4\\"'" """, "probalign"),
    "amap": Program("amap-align", "2.2+git20080214.600fc29+dfsg-2", COPY,
                    """make -C align amap CXX="$CXX" CXXFLAGS="$FLAGS -DNDEBUG -DNumInsertStates=1 -DVERSION='\\"2.2\\"'" """,
                    "align/amap"),
    "capnp": Program("capnproto", "0.9.2-2", CMAKE + "-DBUILD_TESTING=OFF", "ninja -j2 capnp_tool", "src/capnp/capnp"),
    "tbl": Program("groff", "1.22.4-10", GROFF, GROFF_HEADERS + "make -j2 tbl", "tbl", ("texinfo", "bison")),
    "pic": Program("groff", "1.22.4-10", GROFF, GROFF_HEADERS + "make -j2 pic", "pic", ("texinfo", "bison")),
    # It takes no other build type than CMake's own, and has template members that do not exist, which clang 19 would refuse.
    "z3": Program("z3", "4.8.12-3.1", 'FLAGS="$FLAGS -fdelayed-template-parsing"; ' + CMAKE.replace("=None", "=Release")
                  + "-DCMAKE_C_FLAGS_RELEASE= -DCMAKE_CXX_FLAGS_RELEASE=",
                  "ninja -j2 shell", "z3", ("libsimde-dev", "python3"), slow=True),
}
