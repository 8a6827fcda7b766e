# python/sluice/pytest_plugin.py - pairs as tests: pytest --sluice-compare.
# SPDX-License-Identifier: Apache-2.0
"""The fixture `sluice_ab(a, b, **flags)` is sluice.measure.ab() whose FAIL fails the test. A verdict takes seconds to minutes, so
without --sluice-compare such a test is skipped."""
import pytest


def pytest_addoption(parser):
    parser.getgroup("sluice").addoption("--sluice-compare", action="store_true",
                                        help="measure the pairs of tests that use the fixture sluice_ab, and judge them")


def pytest_report_teststatus(report):
    """What was decided stands behind the name of the test."""
    verdict = dict(report.user_properties).get("sluice_verdict")
    if verdict and report.when == "call" and report.passed:
        return "passed", ".", f"PASSED ({verdict})"
    return None


@pytest.fixture
def sluice_ab(request, record_property):
    if not request.config.getoption("--sluice-compare"):
        pytest.skip("pairs are measured with --sluice-compare")
    from . import measure

    def judge(a, b, **flags):
        verdict = measure.ab(a, b, **flags)
        record_property("sluice_verdict", verdict.summary)
        if not verdict:
            reasons = [row["reason"] for row in verdict.rows if row.get("status") == "FAIL" and row.get("reason")]
            pytest.fail("\n".join([verdict.summary, *reasons]), pytrace=False)
        return verdict

    return judge
