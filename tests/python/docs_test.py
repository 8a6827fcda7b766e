# tests/python/docs_test.py - the examples of docs/python.md and docs/python/ say what they do; no argument and no method is left out.
# SPDX-License-Identifier: Apache-2.0
import doctest
import inspect
import os
import re
import shutil
import sys
import unittest

from support import ROOT, PhotoTest, sluice
import sluice as package

MANUAL = ROOT / "docs" / "python.md"
PAGES = {"loader.md": [package.Loader, package.Array], "recipe.md": [package.Recipe], "function.md": [package.Function], "mixture.md": [package.Mixture],
         "augment.md": [package.augment.Compose, package.augment.Transform], "decode.md": [package.decode],
         "measure.md": [getattr(package.measure, name) for name in package.measure.__all__]}
SAID_IN_WORDS = {"self", "parameters", "name", "transform"}


def words_of(one):
    """Arguments and public methods."""
    callables = [one]
    if one is package.Array:  # of C++, and made by loaders alone
        yield from filter(lambda name: not name.startswith("_"), vars(one))
        callables = []
    elif inspect.isclass(one):
        found = {name: value for name, value in vars(one).items() if not name.startswith("_")}
        yield from found
        callables = [one.__init__, *filter(inspect.isfunction, found.values())]
    yield one.__name__
    for call in callables:
        yield from inspect.signature(call).parameters


class DocsTest(PhotoTest):
    def setUp(self):
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        sluice("data", "make", "--kind", "episodes", "--preset", "small4", "--episodes", 4, "--out", self.folder / "episodes", "--quiet")
        shutil.copy(sorted(self.photos.glob("*/*.jpg"))[0], self.folder / "photo.jpg")

    def run_examples(self, page):
        """How many lines were tried; all of them must print what stands there."""
        text = page.read_text(encoding="utf-8").replace("photos/photo.jpg", "photo.jpg")
        examples = re.findall(r"```python\n(>>> .*?)```", text, flags=re.DOTALL)
        test = doctest.DocTestParser().get_doctest("\n".join(examples), {}, page.name, str(page), 0)
        said = []
        failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
        self.assertEqual(failed, 0, "".join(said))
        return tried

    def test_examples_of_the_manual_print_what_stands_there(self):
        self.assertGreaterEqual(self.run_examples(MANUAL), 15)

    def test_every_class_has_a_page_whose_examples_hold(self):
        self.assertEqual(set(PAGES), {page.name for page in (ROOT / "docs" / "python").glob("*.md")})
        for name in PAGES:
            with self.subTest(page=name):
                self.assertGreaterEqual(self.run_examples(ROOT / "docs" / "python" / name), 3)

    def test_pages_leave_out_no_argument_and_no_method(self):
        for name, things in PAGES.items():
            page = (ROOT / "docs" / "python" / name).read_text(encoding="utf-8")
            text = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
            known = set(re.findall(r"[a-z_A-Z]\w*", " ".join(re.findall(r"`[^`]+`|^#.*$", text, flags=re.MULTILINE))))
            for one in things:
                self.assertEqual([word for word in words_of(one) if word not in known | SAID_IN_WORDS], [], f"{name}: {one.__name__}")

    def test_every_public_name_has_a_page(self):
        documented = {one.__name__ for things in PAGES.values() for one in things}
        self.assertEqual(set(package.__all__) - documented, {"augment", "measure"})  # modules, which have pages of their own


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
