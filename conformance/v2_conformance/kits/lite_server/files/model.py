"""A model of the v2-conformance contract on lite-server.

config.yaml beside this file says which one it is. What it `does` is "identity" (OUTPUTi = INPUTi)
or "first_three" (the first three elements of INPUT0 as [3, 1], and their negation). lite-server
reads headers and blobs and writes blobs; it hands a model the JSON of a request as it is, and takes
the elements of every output as JSON.
"""

import math

import numpy as np
from lite_server import LitAPI
from lite_server.exceptions import BadRequestError
from lite_server.kserve import parse_inputs


class ContractModel(LitAPI):
    def setup(self, device):
        self.does = getattr(self, self.config["does"])

    def predict(self, request, ctx):
        try:
            wanted = [output["name"] for output in request.get("outputs", ())]
            tensors = self.tensors(request["inputs"], parse_inputs(ctx))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BadRequestError(f"malformed request: {error!r}") from error
        for name in wanted:
            if name not in [spec["name"] for spec in self.config["outputs"]]:
                raise BadRequestError(f"there is no output {name}")
        outputs = [
            {"name": spec["name"], "datatype": spec["datatype"], "shape": shape, "data": data}
            for spec, (shape, data) in zip(self.config["outputs"], self.does(tensors))
            if not wanted or spec["name"] in wanted
        ]
        echoed = {"id": request["id"]} if "id" in request else {}
        return {"model_name": self.config["name"], "outputs": outputs, **echoed}

    def identity(self, tensors):
        return tensors

    def first_three(self, tensors):
        _shape, data = tensors[0]
        if len(data) < 3:
            raise BadRequestError("INPUT0 needs at least three elements")
        return [([3, 1], data[:3]), ([3, 1], [-value for value in data[:3]])]

    def tensors(self, inputs, blobs):
        """The shape of each input, and its elements in row-major order."""
        names = [spec["name"] for spec in self.config["inputs"]]
        by_name = {tensor["name"]: tensor for tensor in inputs}
        if sorted(tensor["name"] for tensor in inputs) != sorted(names):
            raise BadRequestError(f"expected one input of each name: {', '.join(names)}")
        for spec in self.config["inputs"]:
            if by_name[spec["name"]]["datatype"] != spec["datatype"]:
                raise BadRequestError(f"the datatype of {spec['name']} is {spec['datatype']}")
        return [(by_name[name]["shape"], elements(by_name[name], blobs)) for name in names]


def elements(tensor, blobs):
    datatype, shape, blob = tensor["datatype"], tensor["shape"], blobs.get(tensor["name"])
    if not all(type(size) is int and size >= 0 for size in shape):
        raise BadRequestError(f"{tensor['name']} has an impossible shape")
    if blob is None:
        array = np.array(tensor["data"], dtype=object)
        values = array.ravel().tolist()
        nested = isinstance(tensor["data"], list) and list(array.shape) in ([len(values)], shape)
        if not nested or not all(is_element(value, datatype) for value in values):
            raise BadRequestError(f"the data of {tensor['name']} is not {datatype} {shape}")
    elif datatype == "BYTES":
        try:
            values = [element.decode() for element in blob]
        except UnicodeDecodeError:
            raise BadRequestError("JSON has no elements that are not UTF-8") from None
    elif datatype == "BF16":
        values = (blob.ravel().astype(np.uint32) << 16).view(np.float32).tolist()
    else:
        values = blob.ravel().tolist()
    if len(values) != math.prod(shape):
        raise BadRequestError(f"{tensor['name']} has {len(values)} elements, not {shape}")
    return values


def is_element(value, datatype):
    """Return True if a value of JSON can be an element of this datatype."""
    if datatype in ("BOOL", "BYTES"):
        return isinstance(value, bool if datatype == "BOOL" else str)
    if "FP" in datatype:
        limits = np.finfo(datatype.replace("FP", "float"))
        return type(value) in (int, float) and limits.min <= value <= limits.max
    if datatype == "BF16":
        return type(value) in (int, float)
    limits = np.iinfo(datatype.lower())
    return type(value) is int and limits.min <= value <= limits.max
