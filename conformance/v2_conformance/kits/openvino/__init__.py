"""The models as OpenVINO IR, with the configuration of OpenVINO Model Server."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from v2_conformance.kits.kit import Kit, run_command
from v2_conformance.suite.models import ModelContract, TensorSpec, contract

# OpenVINO has bfloat16, but the model server has no V2 datatype for it.
_UNSUPPORTED_DATATYPE = "BF16"
# What OpenVINO calls a datatype: a tensor's element type, and the precision of a port.
_TYPES = {
    "BOOL": ("boolean", "BOOL"),
    **{f"UINT{bits}": (f"u{bits}", f"U{bits}") for bits in (8, 16, 32, 64)},
    **{f"INT{bits}": (f"i{bits}", f"I{bits}") for bits in (8, 16, 32, 64)},
    **{f"FP{bits}": (f"f{bits}", f"FP{bits}") for bits in (16, 32, 64)},
    "BYTES": ("string", "STRING"),
}
_MODEL = "model.xml"
_CONSTANTS = "model.bin"


def write(directory: Path) -> list[Path]:
    """Write config.json and, for each model, NAME/1/model.xml, model.bin and mapping_config.json.

    The mapping gives the outputs of identity models their names, see `_Network.identity`.
    """
    written: list[Path] = []
    models = [
        model for model in contract().values() if _UNSUPPORTED_DATATYPE not in model.datatypes
    ]
    for model in models:
        folder = directory / model.model / "1"
        folder.mkdir(parents=True)
        files = {_MODEL: network_xml(model), _CONSTANTS: constants(model)}
        if model.does == "identity":
            names = {
                source.name: result.name
                for source, result in zip(model.inputs, model.outputs, strict=True)
            }
            files["mapping_config.json"] = _json_bytes({"outputs": names})
        for name, content in files.items():
            (folder / name).write_bytes(content)
            written.append(folder / name)
    config = directory / "config.json"
    # A relative path is relative to this file.
    served = [{"config": {"name": each.model, "base_path": each.model}} for each in models]
    config.write_bytes(_json_bytes({"model_config_list": served}))
    return [config, *written]


def _json_bytes(document: object) -> bytes:
    return (json.dumps(document, indent=1) + "\n").encode()


def network_xml(model: ModelContract) -> bytes:
    """The IR (version 11) of one model: what model.xml says."""
    network = _Network(model)
    if model.does == "first_three":
        network.first_three()
    else:
        network.identity()
    ElementTree.indent(network.root)
    return b'<?xml version="1.0"?>\n' + ElementTree.tostring(network.root) + b"\n"


_START, _STOP, _STEP, _SHAPE = ([0], [3], [1], [3, 1])


def constants(model: ModelContract) -> bytes:
    """Return what model.bin has: the int64 constants of the network, one after the other."""
    if model.does == "identity":
        return b"\0"  # a model must have the file, and an empty one cannot be mapped into memory
    values = [*_START, *_STOP, *_STEP, *_SHAPE]
    return struct.pack(f"<{len(values)}q", *values)


@dataclass(frozen=True)
class _Port:
    """Where a tensor comes from: the numbers of a layer and of its output."""

    layer: str
    port: str
    tensor: TensorSpec


class _Network:
    """A network in the making: each layer has a number, and so has each of its ports."""

    def __init__(self, model: ModelContract) -> None:
        self.model = model
        self.root = ElementTree.Element("net", name=model.model, version="11")
        self._layers = ElementTree.SubElement(self.root, "layers")
        self._edges = ElementTree.SubElement(self.root, "edges")
        self._constant_bytes = 0

    def identity(self) -> None:
        """Results that are the parameters.

        No operation stands between them: on the CPU plugin, that would turn INT64 into INT32 and
        FP64 into FP32. So the tensor of an output has the name of the input.
        """
        for source, result in zip(self.model.inputs, self.model.outputs, strict=True):
            self._result(result, self._parameter(source))

    def first_three(self) -> None:
        """A slice of the first three elements as [3, 1], and their negation.

        With fewer elements, the Reshape is an error of the runtime.
        """
        source, (first, negated) = self.model.inputs[0], self.model.outputs
        flat = TensorSpec("three", source.datatype, (-1,))
        bounds = [self._constant(values) for values in (_START, _STOP, _STEP)]
        three = self._operation("Slice", "opset8", flat, [self._parameter(source), *bounds])
        inputs = [three, self._constant(_SHAPE)]
        shaped = self._operation("Reshape", "opset1", first, inputs, special_zero="false")
        self._result(first, shaped)
        self._result(negated, self._operation("Negative", "opset1", negated, [shaped]))

    def _parameter(self, tensor: TensorSpec) -> _Port:
        shape = ",".join("?" if size < 0 else str(size) for size in tensor.dims)
        data = {"shape": shape, "element_type": _TYPES[tensor.datatype][0]}
        return self._layer("Parameter", "opset1", tensor, [], data)

    def _constant(self, values: Sequence[int]) -> _Port:
        size = 8 * len(values)
        data = {
            "element_type": "i64",
            "shape": str(len(values)),
            "offset": str(self._constant_bytes),
            "size": str(size),
        }
        tensor = TensorSpec(f"constant_{self._constant_bytes}", "INT64", (len(values),))
        self._constant_bytes += size
        return self._layer("Const", "opset1", tensor, [], data)

    def _operation(
        self, kind: str, opset: str, result: TensorSpec, inputs: Sequence[_Port], **data: str
    ) -> _Port:
        return self._layer(kind, opset, result, inputs, data)

    def _result(self, tensor: TensorSpec, source: _Port) -> None:
        self._layer("Result", "opset1", tensor, [source], {}, suffix="/result")

    def _layer(
        self,
        kind: str,
        opset: str,
        tensor: TensorSpec,
        inputs: Sequence[_Port],
        data: dict[str, str],
        suffix: str = "",
    ) -> _Port:
        number = str(len(self._layers))
        attributes = {
            "id": number,
            "name": tensor.name + suffix,
            "type": kind,
            "version": opset,
        }
        layer = ElementTree.SubElement(self._layers, "layer", attributes)
        if data:
            ElementTree.SubElement(layer, "data", data)
        if inputs:
            ports = ElementTree.SubElement(layer, "input")
        for port, source in enumerate(inputs):
            _port(ports, port, source.tensor)
            edge = {"from-layer": source.layer, "from-port": source.port}
            ElementTree.SubElement(
                self._edges, "edge", {**edge, "to-layer": number, "to-port": str(port)}
            )
        if kind != "Result":
            _port(ElementTree.SubElement(layer, "output"), len(inputs), tensor, named=True)
        return _Port(number, str(len(inputs)), tensor)


def _port(
    parent: ElementTree.Element, number: int, tensor: TensorSpec, *, named: bool = False
) -> None:
    attributes = {"id": str(number), "precision": _TYPES[tensor.datatype][1]}
    if named:
        attributes["names"] = tensor.name
    port = ElementTree.SubElement(parent, "port", attributes)
    for size in tensor.dims:
        ElementTree.SubElement(port, "dim").text = str(size)


KIT = Kit(Path(__file__).parent / "files", write, run_command(8000))
