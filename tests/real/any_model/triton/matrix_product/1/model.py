"""C = A x B, as anybody would write it for Triton's Python backend."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.respond(request) for request in requests]

    def respond(self, request):
        a, b = (pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in "AB")
        product = np.matmul(a, b).astype(np.float32)
        return pb_utils.InferenceResponse([pb_utils.Tensor("C", product)])
