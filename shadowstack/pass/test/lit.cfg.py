import os

import lit.formats

config.name = "recrash-pass"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".c", ".cpp", ".ll", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["exec_root"]

llvm = lit_config.params["llvm"]
plugin = lit_config.params["plugin"]
load = f"-fplugin={plugin} -fpass-plugin={plugin}"
config.environment["PATH"] = os.path.join(llvm, "bin") + os.pathsep + os.environ["PATH"]
config.substitutions += [
    ("%plainxx", "clang++ -std=c++20"),
    ("%clangxx", f"clang++ -std=c++20 {load}"),
    ("%clang", f"clang {load}"),
    ("%full", "-mllvm -recrash-mode=full"),
    ("%opt", f"opt -load-pass-plugin={plugin} -passes=recrash"),
    ("%load", load),
    ("%plugin", plugin),
    ("%map", f"python3 {config.test_source_root}/dump_map.py"),
]
