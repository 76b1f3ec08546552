"""C = A x B on KServe, as anybody would write it: `python server.py --port 8080`."""

import argparse

import numpy as np
from kserve import InferOutput, InferResponse, Model, ModelServer
from kserve.errors import InvalidInput
from kserve.utils.utils import generate_uuid


class MatrixProduct(Model):
    def __init__(self):
        super().__init__("matrix_product")
        self.load()

    def get_input_types(self):
        return [
            {"name": "A", "datatype": "FP32", "shape": [-1, 4]},
            {"name": "B", "datatype": "FP32", "shape": [4, 2]},
        ]

    def get_output_types(self):
        return [{"name": "C", "datatype": "FP32", "shape": [-1, 2]}]

    def predict(self, payload, headers=None, response_headers=None):
        a, b = (payload.get_input_by_name(name) for name in "AB")
        if a is None or b is None:
            raise InvalidInput("this model needs the inputs A and B")
        product = np.matmul(a.as_numpy(), b.as_numpy()).astype(np.float32)
        return InferResponse(
            response_id=payload.id or generate_uuid(),
            model_name=self.name,
            infer_outputs=[InferOutput("C", list(product.shape), "FP32", data=product)],
            use_binary_outputs=payload.use_binary_outputs,
            requested_outputs=payload.request_outputs,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8080)
    port = parser.parse_args().port
    ModelServer(http_port=port, enable_grpc=False, workers=1).start([MatrixProduct()])
