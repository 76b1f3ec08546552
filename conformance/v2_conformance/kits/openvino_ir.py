"""The models as OpenVINO IR, with the configuration of OpenVINO Model Server."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from string import Template
from xml.etree import ElementTree

from v2_conformance.kits import json_file
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
_FILES = Path(__file__).parent / "openvino" / "files"
_BOUNDS = (0, 3, 1)  # start, end and step of the slice
_SHAPE = (3, 1)


def files() -> Iterator[tuple[str, bytes]]:
    """Yield config.json and, for each model, model.xml, model.bin and names of outputs."""
    models = [
        model for model in contract().values() if _UNSUPPORTED_DATATYPE not in model.datatypes
    ]
    for model in models:
        folder = f"{model.model}/1"
        yield f"{folder}/model.xml", network_xml(model)
        yield f"{folder}/model.bin", constants(model)
        if model.does == "identity":
            names = {
                source.name: result.name
                for source, result in zip(model.inputs, model.outputs, strict=True)
            }
            yield f"{folder}/mapping_config.json", json_file({"outputs": names})
    # A relative path is relative to this file.
    served = [{"config": {"name": each.model, "base_path": each.model}} for each in models]
    yield "config.json", json_file({"model_config_list": served})


def network_xml(model: ModelContract) -> bytes:
    """The IR (version 11) of one model: what model.xml says.

    The results of an identity model are its parameters. No operation stands between them: on the
    CPU plugin, that would turn INT64 into INT32 and FP64 into FP32. So the tensor of an output has
    the name of the input.
    """
    if model.does == "first_three":
        element, precision = _TYPES[model.inputs[0].datatype]
        text = (_FILES / "first_three.xml").read_text(encoding="utf-8")
        names = {"name": model.model, "element": element, "precision": precision}
        return Template(text).substitute(names).encode()
    root = ElementTree.Element("net", name=model.model, version="11")
    layers, edges = (ElementTree.SubElement(root, name) for name in ("layers", "edges"))
    for number, (source, result) in enumerate(zip(model.inputs, model.outputs, strict=True)):
        start, end = str(2 * number), str(2 * number + 1)
        parameter = _layer(layers, start, source.name, "Parameter")
        shape = ",".join("?" if size < 0 else str(size) for size in source.dims)
        ElementTree.SubElement(
            parameter, "data", shape=shape, element_type=_TYPES[source.datatype][0]
        )
        _port(parameter, "output", source, names=source.name)
        _port(_layer(layers, end, f"{result.name}/result", "Result"), "input", source)
        ends = {"from-layer": start, "from-port": "0", "to-layer": end, "to-port": "0"}
        ElementTree.SubElement(edges, "edge", ends)
    ElementTree.indent(root)
    return b'<?xml version="1.0"?>\n' + ElementTree.tostring(root) + b"\n"


def _layer(layers: ElementTree.Element, number: str, name: str, kind: str) -> ElementTree.Element:
    attributes = {"id": number, "name": name, "type": kind, "version": "opset1"}
    return ElementTree.SubElement(layers, "layer", attributes)


def _port(layer: ElementTree.Element, side: str, tensor: TensorSpec, **names: str) -> None:
    attributes = {"id": "0", "precision": _TYPES[tensor.datatype][1], **names}
    port = ElementTree.SubElement(ElementTree.SubElement(layer, side), "port", attributes)
    for size in tensor.dims:
        ElementTree.SubElement(port, "dim").text = str(size)


def constants(model: ModelContract) -> bytes:
    """Return what model.bin has: the int64 constants of first_three.xml, one after the other."""
    if model.does == "identity":
        return b"\0"  # a model must have the file, and an empty one cannot be mapped into memory
    return struct.pack("<5q", *_BOUNDS, *_SHAPE)
