// sluice/report/ci/github.cpp - the workflow for GitHub: gate, comment and baseline as three jobs,
// each with the least rights.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/ci/files.h"

namespace sluice::report {
namespace {

// Values of events reach the shell through `env` alone, never inside a line of it.
constexpr const char* kHead =
    R"(# @MARKER@ --provider github; run it again to change it. What it does: docs/perf.md
name: Perf Regression Gate

on:
  pull_request:
    branches: [@BRANCH@]
    types: [opened, synchronize, reopened]
  workflow_dispatch:
    inputs:
      update_baseline:
        description: Store this run as the baseline of its machine profile
        type: boolean
        default: false
      reason:
        description: Why the baseline changes
        type: string
        default: ""

concurrency:
  group: perf-gate-${{ github.head_ref || github.run_id }}
  cancel-in-progress: true

permissions:
  contents: read

jobs:
  perf-gate:
    if: ${{ !contains(github.event.pull_request.labels.*.name, 'skip-perf-gate') }}
    runs-on: @RUNNER@
    timeout-minutes: @MINUTES@
    steps:
      - name: Check out, with the base revision
        uses: actions/checkout@v4
        with:
          fetch-depth: 0
          persist-credentials: false

      - name: Build
        run: |
          @BUILD@

      - name: Machine
        run: |
          @SLUICE@ env --out perf/env

)";

constexpr const char* kMeasure =
    R"(      - name: Bench and eval, compared with the stored baseline
        id: stored
        env:
          UPDATE: ${{ inputs.update_baseline }}
          BASE_REF: ${{ github.base_ref }}
        run: |
          parts=()
          if [ "$UPDATE" = true ]; then parts+=(--env --bench --eval); fi
          # A pull request may not bring the numbers it is judged by.
          if [ -n "$BASE_REF" ]; then parts+=(--baseline-ref "origin/$BASE_REF"); fi
          measure() { @SLUICE@ gate @FLAGS@ "${parts[@]}" --baseline-dir @BASELINES@ --out perf/stored; }
          code=0
          measure || code=$?
          if [ "$code" = 5 ]; then  # the machine did not let it tell: once more
            mv perf/stored perf/stored-first
            code=0
            measure || code=$?
          fi
          echo "code=$code" >> "$GITHUB_OUTPUT"

      - name: Paired compare with the base revision
        id: pairs
        if: ${{ github.event_name == 'pull_request' }}
        env:
          BASE_REF: ${{ github.base_ref }}
          BUILD: @BUILD_TEXT@
        run: |
          measure() { @SLUICE@ gate --against "origin/$BASE_REF" --build "$BUILD" --allow-dirty --out perf/pairs; }
          code=0
          measure || code=$?
          if [ "$code" = 5 ]; then
            mv perf/pairs perf/pairs-first
            code=0
            measure || code=$?
          fi
          echo "code=$code" >> "$GITHUB_OUTPUT"

      - name: Summary, annotations and exports
        if: ${{ !cancelled() }}
        env:
          SITE: ${{ vars.PERF_SITE }}
        run: |
          link=()
          if [ -n "$SITE" ]; then link=(--site "$SITE"); fi
          verdicts=()
          for run in perf/stored perf/pairs; do
            if [ ! -f "$run/verdict.json" ]; then continue; fi
            verdicts+=("$run")
            @SLUICE@ report "$run" --format github-summary "${link[@]}" >> "$GITHUB_STEP_SUMMARY"
            @SLUICE@ report "$run" --format annotations
            @SLUICE@ report "$run" --format junit --out "$run"
            @SLUICE@ report "$run" --format openmetrics --out "$run"
          done
          if [ "${#verdicts[@]}" -gt 0 ]; then
            @SLUICE@ report "${verdicts[@]}" --format pr-comment "${link[@]}" --out perf
            @SLUICE@ report "${verdicts[@]}" --format badge --out perf
          fi
          if [ -d perf/stored/results ]; then
            for format in google-benchmark bencher github-action-benchmark; do
              @SLUICE@ report perf/stored --format "$format" --out perf/stored
            done
          fi

      - name: Keep all of it
        if: ${{ !cancelled() }}
        uses: actions/upload-artifact@v4
        with:
          name: perf-gate
          path: perf
          retention-days: @DAYS@

      - name: Verdict
        if: ${{ !cancelled() }}
        env:
          EVENT: ${{ github.event_name }}
          STORED: ${{ steps.stored.outputs.code }}
          PAIRS: ${{ steps.pairs.outputs.code }}
        run: |
          worst=0
          for code in $STORED $PAIRS; do
            if [ "$code" = 4 ] && [ "$EVENT" = pull_request ]; then
              echo "::warning title=performance gate::no baseline of this machine and work yet: docs/perf.md"
            elif [ "$code" = 5 ] && [ "$EVENT" = pull_request ]; then
              echo "::warning title=performance gate::not decided, twice: the machine was too restless; nothing is said against the change"
            elif [ "$code" != 0 ] && [ "$worst" != 1 ]; then
              worst=$code
            fi
          done
          exit "$worst"

)";

constexpr const char* kComment = R"(  comment:
    needs: perf-gate
    if: >-
      ${{ !cancelled() && needs.perf-gate.result != 'skipped' && github.event_name == 'pull_request'
      && github.event.pull_request.head.repo.full_name == github.repository }}
    runs-on: ubuntu-latest
    permissions:
      pull-requests: write
    steps:
      - name: Fetch what the gate left
        uses: actions/download-artifact@v4
        with:
          name: perf-gate
          path: perf

      - name: Write one comment, or edit it
        uses: actions/github-script@v7
        with:
          script: |
            const fs = require('fs');
            if (!fs.existsSync('perf/pr_comment.md')) return;
            const body = fs.readFileSync('perf/pr_comment.md', 'utf8');
            const marker = body.split('\n')[0];
            const where = { owner: context.repo.owner, repo: context.repo.repo };
            const comments = await github.paginate(github.rest.issues.listComments,
              { ...where, issue_number: context.issue.number, per_page: 100 });
            const ours = comments.find((one) => one.user.type === 'Bot' && one.body.startsWith(marker));
            if (ours) {
              await github.rest.issues.updateComment({ ...where, comment_id: ours.id, body });
            } else {
              await github.rest.issues.createComment({ ...where, issue_number: context.issue.number, body });
            }

)";

constexpr const char* kBaseline = R"(  update-baseline:
    needs: perf-gate
    if: ${{ github.event_name == 'workflow_dispatch' && inputs.update_baseline }}
    runs-on: @RUNNER@
    timeout-minutes: @MINUTES@
    permissions:
      contents: write
    steps:
      - name: Check out the branch of the baselines
        uses: actions/checkout@v4
        with:
          ref: @BRANCH@

      - name: Build
        run: |
          @BUILD@

      - name: Fetch what the gate measured
        uses: actions/download-artifact@v4
        with:
          name: perf-gate
          path: perf

      - name: Promote, on a branch of its own
        env:
          REASON: ${{ inputs.reason }}
          RUN_ID: ${{ github.run_id }}
        run: |
          @SLUICE@ baseline promote perf/stored --baseline-dir @BASELINES@ --maintainer \
            --reason "${REASON:-run $RUN_ID}"
          git config user.name "github-actions[bot]"
          git config user.email "41898282+github-actions[bot]@users.noreply.github.com"
          git switch -c "perf-baseline-$RUN_ID"
          git add -f @BASELINES@
          git commit -m "Performance baseline of run $RUN_ID"
          git push origin "perf-baseline-$RUN_ID"
          echo "Merge the branch perf-baseline-$RUN_ID into @BRANCH@." >> "$GITHUB_STEP_SUMMARY"
)";

}  // namespace

std::string github_workflow(const CiOptions& options) {
  return filled(options, std::string(kHead) + kMeasure + kComment + kBaseline);
}

}  // namespace sluice::report
