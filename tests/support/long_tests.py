"""What takes long. With `--long` all of it runs, as in `tox -e hostile`; an ordinary run leaves out
most of it."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256


def sample(names: Iterable[str], one_in: int) -> list[str]:
    """Return one of so many names, at least one, chosen by their hashes: where a row stands in its
    table, and which rows are added to it, hardly matters."""
    by_hash = sorted(names, key=lambda name: sha256(name.encode()).digest())
    return by_hash[: -(-len(by_hash) // one_in)]


SAMPLED = {
    "tests/redaction/test_forms.py": 5,
    "tests/certifying/test_right_models.py": 14,
    "tests/cli/test_full_disk.py": 4,
    "tests/cli/test_hostile_files.py": 4,
    "tests/cli/test_secrets.py": 3,
    "tests/runs/test_memory.py": 3,
    "tests/runs/soak/test_soaking.py": 2,
    "tests/formats/html/test_html_access.py": 2,
    "tests/formats/matrix/test_matrix_access.py": 2,
    "tests/formats/test_replay_hostile.py": 4,
    "tests/maintenance/test_relation_faults.py": 2,
    "tests/real/test_published_reports.py": 3,
    "tests/report/causes/test_first_mistakes.py": 15,
    "tests/reference/test_variants.py": 12,
    "tests/test_http2_runs.py": 2,
    "tests/verifying/test_forgeries.py": 2,
    "tests/verifying/test_honest_reports.py": 5,
}
"""Modules with long tables; an ordinary run tries one row of so many of each test."""

LEFT_OUT = (
    "tests/docs/test_tour.py",
    "tests/ci_templates/test_templates.py::test_the_log_of_the_kubernetes_job_has_the_verdict",
    "tests/ci_templates/test_templates.py::test_the_script_of_the_gitlab_job_tests_a_server",
    "tests/clients/test_manual.py::test_adapter_of_the_manual_works_on_the_bench",
    "tests/clients/test_other_languages.py",
    "tests/pytest_plugin/test_html_page.py::test_axe_finds_nothing",
    "tests/pytest_plugin/test_plugin.py::TestReports::test_a_good_server_is_certified",
    "tests/certifying/test_certifying_relations.py::test_special_values_that_were_left_out_are_found",
    "tests/test_derived.py::test_what_is_kept_is_what_the_files_say",
    "tests/cli/run/test_bindings_in_use.py::test_the_embedded_server_conforms_at_each_endpoint",
    "tests/cli/run/test_shards.py::test_three_shards_merge_to_the_report_of_one_run",
)
"""Whole runs that an ordinary run leaves out; these are starts of names."""

FIRST = (
    *LEFT_OUT,
    "tests/reference/test_faults.py::test_a_server_without_faults_passes_every_case_every_time",
    "tests/test_api.py::test_the_examples_of_the_manual_work",
)
"""What begins first, so that no worker is left alone with it at the end."""
