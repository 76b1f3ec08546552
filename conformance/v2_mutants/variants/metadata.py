"""Variants of what a server says of itself."""

from __future__ import annotations

from v2_conformance.reference.behaviour import Behaviour
from v2_conformance.reference.http_messages import Request, Response
from v2_conformance.suite.models import ModelContract
from v2_mutants.registry import Right, variant


@variant.several(
    "metadata-with-more",
    "base protocol, Server and Model Metadata: further members are not excluded",
)
class _MetadataWithMore(Behaviour):
    """Metadata has further extensions and members, and no model versions, which are optional."""

    def extensions(self) -> list[str]:
        return ["classification", "", *super().extensions(), "statistics", "möglich"]

    def server_metadata(self, request: Request) -> Response:
        document = {"name": "a server", "version": "", "extensions": self.extensions()}
        return self.json_response({"live": True, **document, "parameters": {"x": [None]}})

    def model_metadata(self, model: ModelContract) -> Response:
        inputs = [{"extra": 1, **spec.metadata(), "parameters": {}} for spec in model.inputs]
        outputs = [{**spec.metadata(), "tags": None} for spec in model.outputs]
        return self.json_response(
            {"inputs": inputs, "outputs": outputs, "name": model.model, "platform": "", "more": {}}
        )


@variant(
    "metadata-without-tensors",
    "MLServer: a model without a schema has empty inputs and outputs",
    Behaviour.model_metadata,
)
def _(right: Right[Response], model: ModelContract) -> Response:
    """The metadata of a model lists no inputs and no outputs."""
    return right.server.json_response(
        {"name": model.model, "versions": [], "platform": "", "inputs": [], "outputs": []}
    )
