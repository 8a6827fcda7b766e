// sluice/backend/gcp/startup_script.cpp - values on top, quoted; below them always the same text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/startup_script.h"

#include "sluice/backend/gcp/calls.h"
#include "sluice/backend/gcp/remote_paths.h"

#include <fmt/format.h>

namespace sluice::backend::gcp {
namespace {

constexpr const char* kHead = R"sh(#!/usr/bin/env bash
# The life of one machine of `sluice run --backend gcp`: written by sluice, run as root when it boots.
# shellcheck disable=SC2088,SC2317  # ~ is root's home, see below; functions run by trap and by name
set -uo pipefail
)sh";

// The VM is deleted by itself at the end, by its timer, by the cloud (--max-run-duration), and by
// whoever waits for it: each alone is enough.
constexpr const char* kBody = R"sh(
export HOME=${HOME:-/root} PATH="$PATH:/snap/bin" SLUICE_CACHE_DIR="$work/cache"
program_folder=${program_folder/#\~/$HOME}
sluice=$program_folder/bin/sluice
mkdir -p "$work"
[ ! -e "$work/begun" ] || exit 0  # a boot after the first: the timer or the first script ends it
: >"$work/begun"

# 1. The dead-man timer, before anything can fail: a script of its own, which needs nothing of ours.
cat >"$work/delete_self.sh" <<END
#!/usr/bin/env bash
export PATH="\$PATH:/snap/bin"
zone=\$(curl -sf --max-time 10 -H 'Metadata-Flavor: Google' http://metadata.google.internal/computeMetadata/v1/instance/zone)
for try in 1 2 3 4 5; do
  gcloud compute instances delete '$name' --project '$project' --zone "\${zone##*/}" --delete-disks all --quiet && exit 0
  sleep \$((try * ${pause_s:-10}))
done
shutdown -h now  # no permission to delete: at least it computes no more, until the cloud deletes it
END
chmod +x "$work/delete_self.sh"
systemd-run --quiet --unit=sluice-dead-man --on-active="${deadline_s}s" "$work/delete_self.sh" ||
  { (sleep "$deadline_s"; exec "$work/delete_self.sh") </dev/null >/dev/null 2>&1 & }

# 2. All that follows is logged, and the log is sent every 15 s.
exec >>"$work/$log_file" 2>&1
try() {  # TIMES COMMAND...    until it works
  local times=$1 n
  shift
  for ((n = 1; n <= times; ++n)); do
    "$@" && return 0
    sleep $((n * ${pause_s:-10}))
  done
  return 1
}
send() { gcloud storage cp --quiet "$work/$1" "$prefix/$1"; }
send_run() { [ ! -d "$work/run" ] || gcloud storage rsync --quiet --recursive "$work/run" "$run_uri"; }
(while sleep 15; do send "$log_file"; done) >/dev/null 2>&1 &
log_loop=$!
result_loop=

# 3. However it ends: results, exit code, then the marker that says that all of them are there, then the machine itself.
finish() {
  local code=$? marker=$failed_marker status=failed sent=yes
  trap - EXIT
  [ -z "$result_loop" ] || kill "$result_loop" 2>/dev/null
  kill "$log_loop" 2>/dev/null
  if [ "$code" -eq 0 ]; then marker=$done_marker status='done'; fi
  echo "ended with exit code $code"
  echo "$code" >"$work/$exit_code_file"
  printf '{"exit_code": %d, "status": "%s", "end_timestamp_unix": %d, "instance": "%s"}\n' "$code" "$status" "$(date +%s)" "$name" >"$work/$run_meta_file"
  echo "$code" >"$work/$marker"
  if ! { try 5 send_run && try 5 send "$exit_code_file" && try 5 send "$run_meta_file" && try 5 send "$log_file" &&
    try 5 send "$marker" && try 5 gcloud storage ls "$prefix/$marker"; }; then sent=no; fi
  if [ "$keep" = yes ]; then exit "$code"; fi
  if [ "$keep_on_failure" = yes ] && [ "$code" -ne 0 ]; then exit "$code"; fi
  if [ "$sent" = no ]; then  # somebody may still fetch them: the timer ends the machine
    echo "results did not arrive at $prefix: kept until the deadline"
    exit "$code"
  fi
  [ "$code" -ne 0 ] || save_environments
  exec "$work/delete_self.sh"
}
save_environments() { :; }
trap finish EXIT
step() {  # COMMAND...    or the end
  echo "$(date -u +%FT%TZ) $*"
  "$@" || { echo "failed: $*"; exit 70; }  # no code of sluice
}

# 4. The job and the program.
mkdir -p "$work/job" "$work/bundles" "$program_folder" "$work/run"
step try 5 gcloud storage rsync --quiet --recursive "$job_uri" "$work/job"
step try 5 gcloud storage rsync --quiet --recursive "$bundle_prefix" "$work/bundles"
for archive in "${bundles[@]}"; do
  step tar -xf "$work/bundles/$archive" --strip-components=1 -C "$program_folder"
done
step "$sluice" --version
if [ "$resume" = yes ]; then cp -a "$work/job/$earlier_folder/." "$work/run/"; fi
(while sleep 30; do send_run; done) >/dev/null 2>&1 &
result_loop=$!

# 5. A GPU may need a minute after the boot; DALI decodes clips with a library that some images lack.
if [ "$gpu" = yes ]; then
  step try 8 nvidia-smi
  if ! ldconfig -p | grep -q libnvcuvid; then
    driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)
    try 2 apt-get install -y "libnvidia-decode-${driver%%.*}" || echo "no libnvcuvid: clips are not decoded on the GPU"
  fi
fi

# 6. Environments of other libraries, from the cache where it has them.
environments=
if [ ${#groups[@]} -gt 0 ]; then
  python3 -c 'import venv, ensurepip' || step try 3 sh -c 'apt-get update && apt-get install -y python3-venv'
  if [ -n "$cache_uri" ]; then
    key=$({
      cat /etc/os-release
      uname -m
      python3 --version
      printf '%s\n' "${groups[@]}"
      cat "$program_folder"/share/sluice/adapters/python/requirements/*
    } | sha256sum | cut -c1-16)
    environments=$cache_uri/environments-$key.tar
    mkdir -p "$SLUICE_CACHE_DIR"
    if [ "$restore_cache" = yes ] && gcloud storage cp --quiet "$environments" "$work/environments.tar"; then
      if tar -xf "$work/environments.tar" -C "$SLUICE_CACHE_DIR"; then environments=; fi
      rm -f "$work/environments.tar"
    fi
  fi
  step try 2 "$sluice" peers install "${groups[@]}"
  save_environments() {
    [ -n "$environments" ] || return 0
    tar -cf "$work/environments.tar" -C "$SLUICE_CACHE_DIR" peers && gcloud storage cp --quiet "$work/environments.tar" "$environments"
  }
fi

# 7. The data: one tarball, unpacked once.
if [ -n "$data_uri" ]; then
  data_folder=$work/data
  step try 3 gcloud storage cp --quiet "$data_uri" "$work/data.archive"
  step "$sluice" data stage --from "$work/data.archive" --to "$data_folder" --kind "$media" --limit "$data_limit" --quiet
  rm -f "$work/data.archive"
fi

# 8. The run. Rows that are finished already are kept where program and machine are those that measured them.
measure() {
  timeout --kill-after=60 "$timeout_s" "$sluice" run --local --config "$work/job/$config_file" --data-dir "$data_folder" --out "$work/run" \
    --quiet "${run_flags[@]}" "$@"
}
echo "$(date -u +%FT%TZ) sluice run"
if [ "$resume" = yes ]; then
  measure --resume
  code=$?
  [ "$code" -eq 2 ] || exit "$code"
  echo "earlier rows cannot be continued here: measured anew"
  rm -rf "$work/run"
fi
measure
exit $?
)sh";

std::string yes_no(bool value) {
  return value ? "yes" : "no";
}

std::string array(const std::vector<std::string>& values) {
  std::string text = "(";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i == 0 ? "" : " ") + shell_quoted(values[i]);
  return text + ")";
}

}  // namespace

std::string bundle_name(int number) {
  return fmt::format("{}.tar", number);
}

std::string startup_script(const StartupOptions& options) {
  std::vector<std::string> bundles;
  for (int i = 0; i < options.bundles; ++i)
    bundles.push_back(bundle_name(i));
  std::string script = kHead;
  const auto put = [&](const char* name, const std::string& value) {
    script += fmt::format("{}={}\n", name, value);
  };
  put("project", shell_quoted(options.project));
  put("name", shell_quoted(options.name));
  put("prefix", shell_quoted(options.prefix));
  put("job_uri", shell_quoted(under(options.prefix, kJobFolder)));
  put("run_uri", shell_quoted(under(options.prefix, kRunFolder)));
  put("done_marker", kDone);
  put("failed_marker", kFailed);
  put("exit_code_file", kExitCode);
  put("run_meta_file", kRunMeta);
  put("log_file", kVmLog);
  put("config_file", kConfigFile);
  put("earlier_folder", kEarlier);
  put("bundle_prefix", shell_quoted(options.bundle_prefix));
  put("bundles", array(bundles));
  put("work", shell_quoted(options.work));
  put("program_folder", shell_quoted(options.program_folder));
  put("data_uri", shell_quoted(options.data_uri));
  put("data_folder", shell_quoted(options.data_folder));
  put("media", shell_quoted(options.media));
  put("data_limit", std::to_string(options.data_limit));
  put("groups", array(options.groups));
  put("cache_uri", shell_quoted(options.cache_uri));
  put("restore_cache", yes_no(options.restore_cache));
  put("timeout_s", std::to_string(options.timeout_s));
  put("deadline_s", std::to_string(options.deadline_s));
  put("gpu", yes_no(options.gpu));
  put("keep", yes_no(options.keep));
  put("keep_on_failure", yes_no(options.keep_on_failure));
  put("resume", yes_no(options.resume));
  put("run_flags", array(options.run_flags));
  return script + kBody;
}

}  // namespace sluice::backend::gcp
