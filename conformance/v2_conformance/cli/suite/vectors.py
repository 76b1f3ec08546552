"""The command `vectors`: writes the cases as messages to test codecs of any language with."""

from __future__ import annotations

from v2_conformance.cli.command import command
from v2_conformance.errors import UsageError
from v2_conformance.options.others import VectorsOptions


@command(
    "vectors",
    VectorsOptions,
    examples={
        "v2-conformance vectors vectors": "Write all vectors into the folder vectors.",
        "v2-conformance vectors S --family S --seed 7": (
            "Write those about declared sizes, with values that nobody has seen."
        ),
    },
)
def vectors(options: VectorsOptions) -> int:
    """Write the cases as test vectors for codecs in any language."""
    from v2_conformance.vectors.folder import INDEX, files_of, make_vectors, write_folder

    made = make_vectors(family=options.family, seed=options.seed)
    files = files_of(made, options.seed)
    try:
        write_folder(options.directory, files)
    except OSError as error:
        raise UsageError(f"{options.directory}: {error.strerror}") from error
    count = sum(map(len, made.vectors.values()))
    print(f"wrote {count} vectors in {len(files)} files; next: {options.directory / INDEX}")
    return 0
