// sluice/report/ci/gitlab.cpp - the same gate for GitLab: jobs to include into .gitlab-ci.yml.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/ci/files.h"

namespace sluice::report {
namespace {

constexpr const char* kJobs =
    R"(# @MARKER@ --provider gitlab; run it again to change it. What it does: docs/perf.md
# Include it: in .gitlab-ci.yml,
#   include:
#     - local: .gitlab/perf_gate.yml

perf-gate:
  stage: test
@TAGS@  timeout: @MINUTES@ minutes
  interruptible: true
  variables:
    GIT_DEPTH: "0"
    PERF_BUILD: @BUILD_TEXT@
  rules:
    - if: $CI_MERGE_REQUEST_LABELS =~ /skip-perf-gate/
      when: never
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
  script:
    - @BUILD_TEXT@
    - @SLUICE@ env --out perf/env
    - |
      git fetch origin "$CI_MERGE_REQUEST_TARGET_BRANCH_NAME"
      base="origin/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME"
      # A merge request may not bring the numbers it is judged by.
      stored() { @SLUICE@ gate @FLAGS@ --baseline-dir @BASELINES@ --baseline-ref "$base" --out perf/stored; }
      pairs() { @SLUICE@ gate --against "$base" --build "$PERF_BUILD" --allow-dirty --out perf/pairs; }
      decided() {
        code=0
        "$1" || code=$?
        if [ "$code" != 5 ]; then return "$code"; fi  # 5: the machine did not let it tell; once more
        mv "perf/$1" "perf/$1-first"
        "$1"
      }
      stored=0
      decided stored || stored=$?
      pairs=0
      decided pairs || pairs=$?
      set --
      for run in perf/stored perf/pairs; do
        if [ ! -f "$run/verdict.json" ]; then continue; fi
        set -- "$@" "$run"
        @SLUICE@ report "$run" --format junit --out "$run"
        @SLUICE@ report "$run" --format openmetrics --out "$run"
        @SLUICE@ report "$run" --format github-summary --out "$run"
      done
      if [ "$#" -gt 0 ]; then
        @SLUICE@ report "$@" --format badge --out perf
        if [ -n "${PERF_SITE:-}" ]; then set -- "$@" --site "$PERF_SITE"; fi
        @SLUICE@ report "$@" --format pr-comment --out perf
      fi
      for code in "$pairs" "$stored"; do
        if [ "$code" = 1 ] || [ "$code" = 2 ] || [ "$code" = 3 ]; then exit "$code"; fi
      done
      if [ "$pairs" != 0 ]; then exit "$pairs"; fi
      exit "$stored"
  allow_failure:
    exit_codes: [4, 5]
  artifacts:
    when: always
    expire_in: @DAYS@ days
    paths: [perf]
    reports:
      junit: perf/*/junit.xml
      metrics: perf/stored/metrics.prom

# One note on the merge request, edited on every push. A job of its own: no code of the merge request runs beside
# the token. PERF_NOTE_TOKEN: a masked variable with a project access token of scope api; without it nothing is posted.
perf-note:
  stage: test
  image: alpine
  needs: [perf-gate]
  variables:
    GIT_STRATEGY: none
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event" && $PERF_NOTE_TOKEN
      when: always
  allow_failure: true
  before_script:
    - if ! command -v curl > /dev/null || ! command -v jq > /dev/null; then apk add --no-cache curl jq; fi
  script:
    - |
      set +x  # the token stands in no log
      if [ ! -f perf/pr_comment.md ]; then exit 0; fi
      call() {  # the token reaches curl by its input: no command line holds it
        printf 'header = "PRIVATE-TOKEN: %s"\n' "$PERF_NOTE_TOKEN" | curl --silent --show-error --fail --config - "$@"
      }
      notes="$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes"
      marker=$(head -n 1 perf/pr_comment.md)
      jq -Rs '{body: .}' perf/pr_comment.md > note.json
      me=$(call "$CI_API_V4_URL/user" | jq .id)
      note=
      page=1
      while [ -n "$page" ] && [ -z "$note" ]; do
        call --dump-header note.head --output notes.json "$notes?per_page=100&page=$page"
        note=$(jq -r --arg marker "$marker" --argjson me "$me" \
          'map(select(.author.id == $me and (.body | startswith($marker))))[0].id // empty' notes.json)
        page=$(tr -d '\r' < note.head | sed -n 's/^[Xx]-[Nn]ext-[Pp]age: *//p')
      done
      set -- --header "Content-Type: application/json" --data @note.json --output /dev/null
      if [ -n "$note" ]; then
        call --request PUT "$@" "$notes/$note"
      else
        call --request POST "$@" "$notes"
      fi

perf-baseline:
  stage: deploy
@TAGS@  timeout: @MINUTES@ minutes
  rules:
    - if: $CI_COMMIT_BRANCH == "@BRANCH@"
      when: manual
      allow_failure: true
  script:
    - @BUILD_TEXT@
    - @SLUICE@ gate @FLAGS@ --env --bench --eval --baseline-dir @BASELINES@ --out perf/stored
    - @SLUICE@ baseline promote perf/stored --baseline-dir @BASELINES@ --maintainer --reason "pipeline $CI_PIPELINE_ID"
  artifacts:
    expire_in: @DAYS@ days
    paths: [perf, @BASELINES@]
)";

}  // namespace

std::string gitlab_jobs(const CiOptions& options) {
  return filled(options, kJobs);
}

}  // namespace sluice::report
