#!/usr/bin/env bash
# Tests the server that the V2_* variables describe, and tells GitHub what came of it. The exit code
# is that of the run; with a baseline, it is whether something got worse.
set -uo pipefail

directory="${V2_REPORT_DIR:-v2-conformance-report}"
report="$directory/report.json"
words=(--report-dir "$directory" --wait-ready "${V2_WAIT_READY:-60}")
words+=(--junit-xml "$directory/junit.xml")
[ -z "${V2_TARGET:-}" ] || words+=(--target "$V2_TARGET")
[ -z "${V2_START:-}" ] || words+=(--start "$V2_START")
for profile in ${V2_PROFILES:-}; do
  words+=(--profile "$profile")
done
if [ -n "${V2_EXPECTATIONS:-}" ]; then
  if [ -f "$V2_EXPECTATIONS" ]; then
    words+=(--expect "$V2_EXPECTATIONS")
  else
    echo "no expectations yet: v2-conformance expect --write $report $V2_EXPECTATIONS makes them"
  fi
fi
while IFS= read -r word; do
  [ -z "$word" ] || words+=("$word")
done <<<"${V2_ARGS:-}"
[ -z "${V2_URL:-}" ] || words+=(-- "$V2_URL")

# What an earlier run left there is not what this one finds, should it end without a report.
rm -f "$directory"/{report.jsonl,report.json,report.html,badge.json,badge.svg,junit.xml,diff.md,server.log}
v2-conformance run "${words[@]}"
code=$?
verdict=""
if [ -f "$report" ]; then
  # On one line, whatever a server calls its models: each line here is an output.
  verdict="$(python3 -c 'import json, sys
words = json.load(open(sys.argv[1]))["message"].split()
print("".join(c if c.isprintable() else "?" for c in " ".join(words)))' \
    "$directory/badge.json")"
fi
if [ -n "${V2_BASELINE:-}" ] && [ "$code" -le 1 ]; then
  if [ -f "$V2_BASELINE" ]; then
    v2-conformance diff "$V2_BASELINE" "$report" --markdown >"$directory/diff.md"
    code=$?
    cat "$directory/diff.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
  else
    echo "no baseline yet: keep $report as $V2_BASELINE, and later runs are compared with it"
    code=0
  fi
fi
{
  echo "verdict=$verdict"
  echo "exit-code=$code"
  echo "report=$report"
  echo "badge=$directory/badge.svg"
} >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$code"
