# tests/peers/fake_python.sh - plays python3, venv and pip, and writes down in $root/calls what it was asked.
# SPDX-License-Identifier: Apache-2.0
#
# A test writes `#!/bin/sh` and `root=FOLDER` in front. Files in the folder change what it plays: `version` (of Python),
# `missing` (a module), `broken` (text that pip prints before it fails), `gate` (a FIFO that pip waits for).
# shellcheck shell=sh disable=SC2154
if [ "$1" = -c ]; then
  echo "-c" >>"$root/calls"
  echo "sluice-python $(cat "$root/version") $(uname -m)"
  [ ! -e "$root/missing" ] || echo "sluice-missing $(cat "$root/missing")"
  exit 0
fi
echo "$*" >>"$root/calls"
case "$2 $3" in
  venv*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "pip install")
    [ ! -p "$root/gate" ] || read -r _ <"$root/gate"
    [ ! -e "$root/broken" ] || { cat "$root/broken"; exit 1; }
    env >"$root/pip-environment"
    echo "Collecting numpy==2.1.0"
    echo "Installing collected packages: numpy"
    ;;
  "pip freeze") printf 'numpy==2.1.0\nOpenCV_Python.Headless==4.10\nlocal @ file:///x.whl\n' ;;
  *) exec python3 "$@" ;; # an adapter: the real thing
esac
