# tests/house/check_layers_test.py - the layer checker accepts sound trees and names each kind of violation.
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_layers  # noqa: E402


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.room("core", "", {"text.h": "#pragma once\n#include <string>\n"})
        self.room("stats", "core", {"mean.h": '#include "sluice/core/text.h"\n'})

    def room(self, name, rooms, files):
        folder = self.root / "src" / "sluice" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "CMakeLists.txt").write_text(
            f"sluice_room({name}  # ROOMS nonsense\n  SOURCES a.cpp\n  HEADERS a.h\n  ROOMS {rooms}\n  LIBS Threads::Threads)\n")
        for file, text in files.items():
            (folder / file).write_text(text)

    def assert_problem(self, *fragments):
        problems = check_layers.check(self.root)
        self.assertEqual(len(problems), 1, problems)
        for fragment in fragments:
            self.assertIn(fragment, problems[0])

    def test_a_sound_tree_has_no_problem(self):
        self.room("cli", "core stats", {"main.cpp": '#include "sluice/stats/mean.h"\n#include <CLI/CLI.hpp>\n'})
        self.room("config", "core", {"reader.cpp": "#include <yaml-cpp/yaml.h>\n"})
        self.assertEqual(check_layers.check(self.root), [])

    def test_an_upward_include_is_named_with_its_line(self):
        self.room("core", "", {"bad.cpp": '// a comment\n\n#include "sluice/stats/mean.h"\n'})
        self.assert_problem("src/sluice/core/bad.cpp:3", "'stats' is not below it")

    def test_rooms_of_one_level_do_not_see_each_other(self):
        self.room("image", "core", {"bad.cpp": '#  include <sluice/stats/mean.h>\n'})
        self.assert_problem("src/sluice/image/bad.cpp:1", "'stats' is not below it")

    def test_an_undeclared_include_is_refused(self):
        self.room("measure", "core", {"bad.cpp": '#include "sluice/stats/mean.h"\n'})
        self.assert_problem("src/sluice/measure/bad.cpp:1", "does not name 'stats'")

    def test_a_declaration_that_points_up_is_refused(self):
        self.room("core", "measure", {})
        self.assert_problem("ROOMS of 'core' names 'measure'")

    def test_a_cycle_is_shown_as_a_path(self):
        self.room("core", "stats", {})
        problems = check_layers.check(self.root)
        self.assertIn("ROOMS lists form a cycle: core -> stats -> core", problems)

    def test_library_headers_have_one_owner(self):
        self.room("stats", "core", {"bad.cpp": "#include <yaml-cpp/yaml.h>\n"})
        self.assert_problem("src/sluice/stats/bad.cpp:1", "only room 'config'")
        self.room("stats", "core", {"bad.cpp": "#include <CLI/CLI.hpp>\n"})
        self.assert_problem("only room 'cli'")

    def test_nothing_sees_cli(self):
        self.room("report", "core", {"bad.cpp": '#include "sluice/cli/command.h"\n'})
        self.assert_problem("'cli' is not below it")

    def test_gate_sees_results_but_not_scenario(self):
        self.room("gate", "results stats", {"good.cpp": '#include "sluice/results/file.h"\n'})
        self.assertEqual(check_layers.check(self.root), [])
        self.room("gate", "results stats", {"bad.cpp": '#include "sluice/scenario/quick.h"\n'})
        self.assert_problem("'scenario' is not below it")

    def test_a_room_without_a_place_or_declaration_is_refused(self):
        self.room("cellar", "core", {})
        self.assert_problem("'cellar' has no place")
        (self.root / "src/sluice/cellar/CMakeLists.txt").unlink()
        (self.root / "src/sluice/cellar").rmdir()
        (self.root / "src/sluice/stats/mean.cpp").write_text("")
        (self.root / "src/sluice/stats/CMakeLists.txt").unlink()
        self.assert_problem("src/sluice/stats/CMakeLists.txt: missing")

    def test_includes_in_block_comments_do_not_count_and_keep_line_numbers(self):
        self.room("core", "", {"a.cpp": '/*\n#include "sluice/cli/command.h"\n*/\n#include "sluice/stats/mean.h"\n'})
        self.assert_problem("src/sluice/core/a.cpp:4")

    def test_the_exit_code_says_it(self):
        script = ROOT / "tools" / "check_layers.py"
        good = subprocess.run([sys.executable, script, self.root], capture_output=True, text=True)
        self.assertEqual((good.returncode, good.stdout), (0, "layers: 2 rooms, every include points down\n"))
        self.room("core", "", {"bad.cpp": '#include "sluice/stats/mean.h"\n'})
        bad = subprocess.run([sys.executable, script, self.root], capture_output=True, text=True)
        self.assertEqual((bad.returncode, bad.stdout), (1, ""))
        self.assertIn("core/bad.cpp:1", bad.stderr)

    def test_the_repository_is_sound(self):
        self.assertEqual(check_layers.check(ROOT), [])


if __name__ == "__main__":
    unittest.main()
