"""What is measured: programs that nobody here wrote, as Debian has their sources, and the worst cases, which are ours.

`large` is the work whose time is taken, `small` that whose instructions are counted (valgrind is some thirty times slower) and
that slow tools are given; {source}, {build}, {inputs} stand for folders, {out} is a folder that is empty at the start. `units`
are the source files whose compilation is timed, with what they need besides FLAGS.
"""

import dataclasses
import pathlib

import programs
from programs import CMAKE, Program

DRIVERS = pathlib.Path(__file__).resolve().parent / "drivers"


@dataclasses.dataclass(frozen=True)
class Subject:
    recipe: Program
    large: tuple
    small: tuple
    units: tuple = ()
    includes: str = ""
    inputs: tuple = ()
    worst: bool = False
    says_the_same: bool = True  # what it prints is the same in each run, so that a build that does other work is seen
    tiny: tuple = ()  # for gdb's `record`


def jobs(recipe, **changes):
    """The same recipe with as many jobs as the environment says."""
    return dataclasses.replace(recipe, make=recipe.make.replace("-j2", "-j$JOBS"), **changes)


def ours(name, large, small, tiny=(), worst=True):
    make = f'"$CXX" $FLAGS -std=c++20 "$DRIVERS/{name}.cc" -o {name} -pthread'
    return Subject(Program("", "", "", make, name), large, small, worst=worst, tiny=tiny)


SUBJECTS = {
    "pugixml": Subject(
        Program("pugixml", "1.13-0.2", "", '"$CXX" $FLAGS -I"$SRC/src" "$SRC/src/pugixml.cpp" "$DRIVERS/xml_work.cc" -o xml_work',
                "xml_work"),
        ("{inputs}/large.xml", "{out}/saved.xml", "10"), ("{inputs}/small.xml", "{out}/saved.xml", "4"),
        ("{source}/src/pugixml.cpp",), "-I{source}/src", ("large.xml", "small.xml")),
    "yaml-cpp": Subject(
        Program("yaml-cpp", "0.7.0+dfsg-8",
                CMAKE + "-DYAML_CPP_BUILD_TOOLS=OFF -DYAML_CPP_BUILD_CONTRIB=OFF -DYAML_CPP_BUILD_TESTS=OFF -DBUILD_SHARED_LIBS=OFF",
                'ninja -j$JOBS yaml-cpp\n"$CXX" $FLAGS -I"$SRC/include" "$DRIVERS/yaml_work.cc" libyaml-cpp.a -o yaml_work',
                "yaml_work"),
        ("{inputs}/large.yaml", "{out}/saved.yaml"), ("{inputs}/small.yaml", "{out}/saved.yaml"),
        tuple("{source}/src/" + file for file in ("singledocparser.cpp", "emitter.cpp", "scanscalar.cpp")), "-I{source}/include",
        ("large.yaml", "small.yaml")),
    "leveldb": Subject(
        Program("leveldb", "1.23-4", CMAKE + "-DLEVELDB_BUILD_TESTS=OFF", "ninja -j$JOBS db_bench", "db_bench", ("libsnappy-dev",)),
        # The write buffer holds all, so that no compaction runs beside the benchmarks and does more of its work or less.
        *(("--db={out}/db", f"--num={num}", "--threads=1", f"--write_buffer_size={1 << 28}",
           "--benchmarks=fillrandom,readrandom,readmissing,compact,readrandom,readseq,readreverse,seekrandom")
          for num in (250000, 30000)),
        tuple("{source}/" + file for file in ("db/db_impl.cc", "db/version_set.cc", "table/table.cc")),
        "-I{source} -I{source}/include -I{build}/include -DLEVELDB_PLATFORM_POSIX=1 -std=c++11 -fno-exceptions -fno-rtti", says_the_same=False),
    "jsonnet": Subject(
        Program("jsonnet", "0.18.0+ds-3", CMAKE + "-DBUILD_TESTS=OFF -DBUILD_JSONNETFMT=OFF -DBUILD_SHARED_BINARIES=OFF",
                "ninja -j$JOBS jsonnet", "jsonnet"),
        ("{source}/benchmarks/bench.02.jsonnet",), ("{source}/benchmarks/bench.03.jsonnet",),
        tuple("{source}/core/" + file for file in ("desugarer.cpp", "lexer.cpp", "vm.cpp")),
        "-I{source}/include -I{source}/third_party/md5 -I{source}/third_party/json -I{source}/third_party/rapidyaml/rapidyaml/src -I{source}/third_party/rapidyaml/rapidyaml/ext/c4core/src -std=c++11 -O3"),
    "assimp": Subject(
        jobs(programs.PROGRAMS["assimp"], configure=programs.PROGRAMS["assimp"].configure + (
            " -DASSIMP_BUILD_ALL_IMPORTERS_BY_DEFAULT=OFF -DASSIMP_BUILD_ALL_EXPORTERS_BY_DEFAULT=OFF -DASSIMP_BUILD_OBJ_IMPORTER=ON"
            " -DASSIMP_BUILD_PLY_IMPORTER=ON -DASSIMP_BUILD_STL_IMPORTER=ON -DASSIMP_NO_EXPORT=ON -DBUILD_SHARED_LIBS=OFF")),
        ("info", "{inputs}/large.obj"), ("info", "{inputs}/small.obj"),
        tuple("{source}/code/" + file for file in ("AssetLib/Obj/ObjFileParser.cpp", "PostProcessing/JoinVerticesProcess.cpp",
                                                     "Common/Importer.cpp")),
        "-I{source}/include -I{build}/include -I{source}/code -I{source} -I{source}/contrib -I{source}/contrib/rapidjson/include "
        "-DASSIMP_BUILD_NO_EXPORT", ("large.obj", "small.obj"), says_the_same=False),
    "cppcheck": Subject(
        jobs(programs.PROGRAMS["cppcheck"]),
        ("-q", "--enable=all", *("{source}/lib/" + file for file in ("settings.cpp", "suppressions.cpp"))),
        ("-q", "--enable=all", "{source}/lib/timer.cpp"),
        tuple("{source}/lib/" + file for file in ("tokenlist.cpp", "checkstl.cpp", "preprocessor.cpp")),
        "-I{source}/lib -I{source}/externals/simplecpp -I{source}/externals/tinyxml2 -I{source}/externals/picojson -I{source}/externals "
        "-DHAVE_RULES -std=c++11"),
    "verilator": Subject(
        jobs(programs.PROGRAMS["verilator"]),
        ("--cc", "-Wno-fatal", "-Wno-lint", "--Mdir", "{out}", "{inputs}/large.v", "--top-module", "top"),
        ("--cc", "-Wno-fatal", "-Wno-lint", "--Mdir", "{out}", "{inputs}/small.v", "--top-module", "top"),
        tuple("{build}/src/" + file for file in ("V3Gate.cpp", "V3Table.cpp", "V3Life.cpp")),
        "-I{build}/src/obj_opt -I{build}/src -I{build}/include -I{build}/include/gtkwave -DVL_DEBUG -D_GNU_SOURCE -std=gnu++14",
        ("large.v", "small.v")),
    "fibonacci": ours("fibonacci", ("45",), ("31",), tiny=("19", "quiet")),
    "short_method": ours("short_method", ("1000000000",), ("50000000",)),
    "throwing": ours("throwing", ("1000000",), ("50000",)),
}

# Nothing but what is linked in, and a program that only has threads: no row of the tables, but what they are reckoned with.
EMPTY = ours("empty", (), (), worst=False)
THREADS = ours("threads", ("101",), ("1",), worst=False)
