// sluice/report/ci/page.cpp - docs/perf.md: what the generated gate does, for those whose pull
// request it stops.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/tolerances.h"
#include "sluice/report/ci/files.h"

#include <fmt/format.h>

#include <string_view>

namespace sluice::report {
namespace {

constexpr const char* kStart = R"(<!-- @MARKER@; run it again to change it. -->
# Performance gate

## Quick Start

```sh
@BUILD@
@SLUICE@ gate @FLAGS@ --baseline-dir @BASELINES@   # against the stored baseline
@SLUICE@ gate --against origin/@BRANCH@            # against the base revision, in pairs
```

Exit codes: 0 pass, 1 regression, 2 bad input, 3 inconclusive (with `--strict`), 4 no baseline of this machine and work,
5 the measurement says nothing (noise, failed rows), 124 timed out.

## Running Locally

Close what else runs; `@SLUICE@ doctor` says whether the machine is fit to measure. A stored baseline counts only on the
machine profile it was made on: elsewhere use `--against`, which measures both revisions here, in turns.
`--out DIR` keeps everything: `verdict.json`, `junit.xml`, `metrics.prom`, `summary.md`, raw samples under `results/`.

## Updating Baselines

By hand only, when a change of speed or quality is meant:

)";

constexpr const char* kUpdateGithub =
    R"(1. Actions → *Perf Regression Gate* → *Run workflow*, with `update_baseline` and a reason.
2. The run measures without comparing, promotes the result, and pushes the branch `perf-baseline-<run>`.
3. Review and merge that branch into `@BRANCH@`.

)";

constexpr const char* kUpdateGitlab =
    R"(1. On a pipeline of `@BRANCH@` start the manual job `perf-baseline`.
2. It measures without comparing and promotes the result; the new files are its artifacts under `@BASELINES@`.
3. Commit them to `@BRANCH@`.

)";

constexpr const char* kMiddle =
    R"(No other run writes `@BASELINES@`, and a red or invalid run is never promoted.

## Machine Profiles

A profile names what makes numbers comparable: processor or GPU, driver, versions. `@SLUICE@ env` prints it.
Each profile has its own files for each thing that is trained, `@BASELINES@/<profile>.<workload>.{metrics,eval}.json`.
On a new profile, model or batch the gate exits with 4; on a pull request that is a warning, not a failure.

## Interpreting Results

| status | means | blocks |
|---|---|---|
| PASS | within the tolerance; for pairs: a drop of τ is ruled out | no |
| IMPROVED | better, and not by chance | no |
| WARN | worse, in a metric that does not block | no |
| INCONCLUSIVE | the noise allows no answer; the line says how many pairs would | no (with `--strict` yes) |
| SKIP | nothing to compare with | no |
| FAIL | worse than the tolerance allows | yes |
| INVALID | the measurement must not be believed | no: CI measures once more, then warns |

| tolerance against the stored baseline | default | strict | lenient |
|---|--:|--:|--:|
@TOLERANCES@
Exactly at a tolerance passes; more fails, but for memory, which warns. Each is a flag of `@SLUICE@ gate`, in dashes; `--tolerances`
chooses a column.

)";

constexpr const char* kGithub = R"(## CI Integration

`.github/workflows/perf_gate.yml` runs on pull requests to `@BRANCH@`: build, bench and eval against the baseline
that the base branch stores, then base and head in pairs. It leaves a step summary, one annotation per line that failed, one comment that is edited
on every push (not on pull requests from forks), and the artifact `perf-gate` for @DAYS@ days.
The comment says what the pairs could see (MDE) and which command measures it again; `PERF_SITE`, a variable of the repository with the address of
your pages of all metrics over time, is linked there. `badge.svg` in the artifact is the verdict as a picture.
The label `skip-perf-gate` skips it. Make the check *perf-gate* required to block merges.
The job that runs code of the pull request may only read; commenting and pushing are jobs of their own.
A self-hosted runner on a public repository runs what strangers send: allow workflows from forks by approval only.

)";

constexpr const char* kGitlab = R"(## CI Integration

Include `.gitlab/perf_gate.yml`. It runs on merge requests: build, bench and eval against the baseline
that the target branch stores, then target branch and head in pairs. GitLab shows `junit.xml` and `metrics.prom` in the merge request; everything else is kept as artifacts
for @DAYS@ days. The label `skip-perf-gate` skips it; exit codes 4 and 5 are warnings.
With a masked variable `PERF_NOTE_TOKEN` (a project access token of scope `api`) the job `perf-note` writes one note on the merge request and edits it on every push.
`PERF_SITE`, a variable with the address of your pages of all metrics over time, is linked there. `perf/badge.svg` is the verdict as a picture.

)";

constexpr const char* kEnd = R"(## Architecture Notes

Two gates, because they see different things. The stored baseline is quick and finds slow drift, but a machine that changed looks like
code that changed. Pairs measure both revisions in turns on the same machine at the same time: what the machine does
hits both. Every number comes from result files with raw samples; `@SLUICE@ report perf/stored --format html` draws them.
Other services read `google_benchmark.json`, `bencher.json` and `github_action_benchmark.json` (tool `customSmallerIsBetter`)
in the artifact.

## FAQ

- **It failed, and I changed nothing that matters.** Look at the pairs line: if it passes, the machine changed. Run the job again;
  a FAIL of pairs was confirmed by fresh pairs already.
- **INCONCLUSIVE?** The machine is too noisy for the tolerance asked for. `@SLUICE@ selftest` says how many pairs it needs.
- **No baseline?** See *Updating Baselines*; until then only pairs judge.
- **My own training program?** `@SLUICE@ watch -- CMD` makes a run folder of it that `gate --compare --current` judges.
)";

std::string tolerance_rows() {
  const gate::Tolerances defaults;
  std::string rows;
  for (const gate::ToleranceField& field : gate::tolerance_fields())
    rows += fmt::format("| `{}`: {} | {:g} | {:g} | {:g} |\n", field.name, field.text,
                        defaults.*field.value, field.strict, field.lenient);
  return rows;
}

}  // namespace

std::string ci_page(const CiOptions& options) {
  const bool github = options.provider == CiProvider::github;
  std::string text = std::string(kStart) + (github ? kUpdateGithub : kUpdateGitlab) + kMiddle +
                     (github ? kGithub : kGitlab) + kEnd;
  constexpr std::string_view kPlace = "@TOLERANCES@";
  text.replace(text.find(kPlace), kPlace.size(), tolerance_rows());
  return filled(options, std::move(text));
}

}  // namespace sluice::report
