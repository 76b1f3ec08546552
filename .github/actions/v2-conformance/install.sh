#!/usr/bin/env bash
# Installs V2_PACKAGE, or the suite beside this action, into an environment of its own, and puts its
# command first on PATH in the steps that follow; their `python` and `pip` stay those of the job.
set -euo pipefail

here="$(cd -- "$(dirname -- "$0")" && pwd)"
environment="${RUNNER_TEMP:?}/v2-conformance"
python3 -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check "${V2_PACKAGE:-$here/../../..}"
mkdir -p "$environment/command"
ln -sf ../bin/v2-conformance "$environment/command/v2-conformance"
echo "$environment/command" >>"${GITHUB_PATH:?}"
