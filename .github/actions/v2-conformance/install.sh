#!/usr/bin/env bash
# Installs V2_PACKAGE, or the suite beside this action, into an environment of its own, which comes
# first on PATH in the steps that follow.
set -euo pipefail

here="$(cd -- "$(dirname -- "$0")" && pwd)"
environment="${RUNNER_TEMP:?}/v2-conformance"
python3 -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check "${V2_PACKAGE:-$here/../../..}"
echo "$environment/bin" >>"${GITHUB_PATH:?}"
