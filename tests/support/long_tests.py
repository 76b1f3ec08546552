"""What takes long. `tox -e hostile` runs all of it (`--long`); an ordinary run does not."""

from __future__ import annotations

SAMPLED = {
    "tests/redaction/test_forms.py": 5,
    "tests/cli/test_full_disk.py": 2,
    "tests/cli/test_hostile_files.py": 4,
    "tests/cli/test_secrets.py": 3,
    "tests/engine/test_memory.py": 2,
    "tests/engine/test_soaking.py": 2,
    "tests/formats/test_replay_hostile.py": 4,
    "tests/real/test_published_reports.py": 3,
    "tests/reference/test_variants.py": 6,
    "tests/verifying/test_honest_reports.py": 3,
}
"""Modules with long tables, of which an ordinary run tries one row of so many."""

LEFT_OUT = (
    "tests/docs/test_tour.py",
    "tests/clients/test_other_languages.py",
    "tests/cli/test_bindings_in_use.py::test_the_embedded_server_conforms_at_each_endpoint",
    "tests/cli/test_shards.py::test_three_shards_merge_to_the_report_of_one_run",
)
"""Whole runs, one after the other, that an ordinary run leaves out: shorter tests beside them try
each part."""

FIRST = (
    *LEFT_OUT,
    "tests/pytest_plugin/test_plugin.py::TestReports::test_a_good_server_is_certified",
    "tests/reference/test_faults.py::test_a_server_without_faults_passes_every_case_every_time",
    "tests/test_api.py::test_the_examples_of_the_manual_work",
)
"""What begins first, so that no worker is left alone with it at the end."""
