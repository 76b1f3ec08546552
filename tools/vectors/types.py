"""Vectors as data. schemas/vectors.schema.json and vectors-index.schema.json are made of this.

A vector has no default that a reader has to know: what is left out is null, false, empty or, if it
is a form, any; nothing is said about it then.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from v2_conformance.suite.requirements import Blocks, Level

Result = Literal["valid", "invalid", "either"]
Should = Literal["accept", "reject"]
Form = Literal["binary", "json", "any"]
KindName = Literal[
    "decode_request", "encode_response", "decode_response", "encode_request", "datatypes"
]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Frozen, without members that the schema does not know."""


class Piece(_Strict, frozen=True):
    """Some bytes, so many times one after the other."""

    data: Annotated[str, Meta(description="The bytes in base64.")]
    times: Annotated[int, Meta(description="How often they come.", ge=1)]


Bytes = Annotated[
    str | tuple[Piece, ...],
    Meta(description="Bytes in base64; long ones as pieces, which are joined."),
]
Field = Annotated[
    tuple[str, str],
    Meta(description="Name and value of a header field; blanks around the value mean nothing."),
]


class Spec(_Strict, frozen=True):
    """An input or output of a model."""

    name: str
    datatype: str
    shape: Annotated[tuple[int, ...], Meta(description="Dimensions; -1 is any size.")]


class Model(_Strict, frozen=True, kw_only=True):
    """A server's knowledge of a model."""

    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    batching: Annotated[
        bool,
        Meta(description="If true, the first dimension is the batch, which is 1 in a raw request."),
    ] = False


class VectorTensor(_Strict, frozen=True, kw_only=True):
    """A tensor of a message."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    data: Annotated[
        Bytes | None,
        Meta(
            description="Its elements: row-major, little-endian, BYTES elements each behind a "
            "4-byte length, BF16 as two bytes; null if `one_of` has them, or if they do not matter."
        ),
    ] = None
    one_of: Annotated[
        tuple[tuple[str | None, ...], ...],
        Meta(
            description="If there are several readings: for each, the elements in base64, null for "
            "any element. One of them is right."
        ),
    ] = ()
    truth: Annotated[
        bool, Meta(description="If true, BOOL bytes are compared as zero or not zero.")
    ] = False
    form: Annotated[
        Form, Meta(description="The form in which it must be written; `any` if that is free.")
    ] = "any"
    layout: Annotated[
        Literal["row-major", "column-major", "big-endian"],
        Meta(description="How the caller's array lies in memory; the message has `data`."),
    ] = "row-major"
    float32: Annotated[
        Bytes | None,
        Meta(description="BF16 only: the caller's FP32 elements, which round to `data`."),
    ] = None
    parameters: Annotated[
        dict[str, Any], Meta(description="The caller's own parameters, which must be written.")
    ] = {}


class AskedOutput(_Strict, frozen=True, kw_only=True):
    """An output that a request asks for."""

    name: str
    form: Annotated[
        Form, Meta(description="The form that is asked for; `any` if that is open.")
    ] = "any"


class ListedOutput(_Strict, frozen=True, kw_only=True):
    """An entry of `outputs` in a request's JSON."""

    name: str
    parameters: dict[str, Any] = {}


class Asked(_Strict, frozen=True, kw_only=True):
    """The answer that a request asks for, as its JSON says it."""

    raw: Annotated[bool, Meta(description="If true, the request is raw: it has no JSON.")] = False
    id: str | None = None
    parameters: dict[str, Any] = {}
    outputs: Annotated[
        tuple[ListedOutput, ...] | None, Meta(description="null: the request lists none.")
    ] = None
    accept_encoding: Annotated[
        str | None, Meta(description="The field Accept-Encoding, null if it was not sent.")
    ] = None


class Rules(_Strict, frozen=True, kw_only=True):
    """The properties of a message that a codec must write. The order of members and white space are
    free.

    Besides, every message must be readable: with blobs, the header length is there and is the
    number of bytes of the JSON; the JSON is strict and fits schemas/request.schema.json or
    schemas/response.schema.json; the blobs follow it in the order of its entries, each as long as
    its binary_data_size, with nothing behind the last; a tensor in JSON has as many elements as its
    shape has.
    """

    tensors: Annotated[
        tuple[VectorTensor, ...],
        Meta(
            description="Each is there with this datatype and shape, in this form, and reads as "
            "these bytes, also if it is there twice; numbers in JSON are first rounded to the "
            "datatype."
        ),
    ] = ()
    only: Annotated[bool, Meta(description="If true, there are no more tensors.")] = False
    one_form: Annotated[bool, Meta(description="If true, all tensors have the same form.")] = False
    data_or_size: Annotated[
        bool, Meta(description="If true, no tensor has `data` beside a size; null and [] are none.")
    ] = False
    unique_members: Annotated[
        bool, Meta(description="If true, no object of the JSON has a member twice.")
    ] = False
    content_type: Annotated[
        Literal["binary", "json"] | None,
        Meta(
            description="`json`: application/json or a type that ends in +json; `binary`: any type "
            "but these and text/*, multipart/*, message/*."
        ),
    ] = None
    id: Annotated[str | None, Meta(description="The JSON's `id`.")] = None
    model_name: Annotated[
        str | None, Meta(description="The JSON's `model_name`, if it has one.")
    ] = None
    model_name_sent: Annotated[bool, Meta(description="If true, the JSON has a `model_name`.")] = (
        False
    )
    outputs: Annotated[
        tuple[AskedOutput, ...] | None,
        Meta(
            description="Requests: exactly these outputs are listed. An output's form is asked for "
            "by its `binary_data`, else by the request's `binary_data_output`, else it is JSON."
        ),
    ] = None
    outputs_form: Annotated[
        Form, Meta(description="Requests that list no output: the form asked for by all.")
    ] = "any"
    parameters: Annotated[
        dict[str, Any],
        Meta(description="Requests: the caller's parameters, which must be written."),
    ] = {}
    not_finite: Annotated[
        bool,
        Meta(
            description="If true, no finite number stands in JSON for an element of `tensors` that "
            "is not finite; their other elements are not compared."
        ),
    ] = False
    read_only: Annotated[
        bool, Meta(description="If true, only the JSON must be readable; tensors are not compared.")
    ] = False


class _Vector(_Strict, frozen=True, kw_only=True, tag_field="kind"):
    """The members of every vector."""

    id: Annotated[str, Meta(description="The id of the case or scenario that it is made from.")]
    requirement: str
    level: Level
    blocks: Annotated[
        Blocks | None,
        Meta(description="What a failure keeps a server or client from being called."),
    ] = None
    result: Annotated[
        Result,
        Meta(
            description="`valid`: it must work, exactly. `invalid`: it must be an error. `either`: "
            "an error is as right; what works must still be exact."
        ),
    ]
    should: Annotated[
        Should | None,
        Meta(description="Of `either`: what is recommended. Another behavior is worth a warning."),
    ] = None
    free: Annotated[
        bool,
        Meta(description="If true, exactness is only recommended: a difference is a warning."),
    ] = False
    flags: Annotated[
        tuple[str, ...],
        Meta(description="The features that it needs: vectors-index.schema.json names them."),
    ] = ()
    comment: Annotated[str, Meta(description="Why it matters, for whoever fails it.")]
    also: Annotated[
        tuple[str, ...],
        Meta(description="Other cases that have the same message, delivered in other ways."),
    ] = ()


class DecodeRequest(_Vector, frozen=True, kw_only=True, tag="decode_request"):
    """A request, and the tensors that a server must read from it."""

    model: Annotated[str, Meta(description="The name of the model, a key of `models`.")]
    fields: tuple[Field, ...]
    body: Bytes
    tensors: Annotated[
        tuple[VectorTensor, ...] | None,
        Meta(description="All inputs, in any order; null if none are compared."),
    ] = None
    outputs: Annotated[
        tuple[AskedOutput, ...],
        Meta(
            description="Outputs that are asked for, with the form that follows from "
            "`binary_data`, else from `binary_data_output`, else JSON. If the request lists none, "
            "the model's; in a raw request, all in binary form."
        ),
    ] = ()
    request_id: Annotated[
        str | None, Meta(description="The request's id; null if none is compared.")
    ] = None


class EncodeResponse(_Vector, frozen=True, kw_only=True, tag="encode_response"):
    """Tensors and what was asked for, and what the response must be like."""

    model: Annotated[str, Meta(description="The name of the model, a key of `models`.")]
    tensors: Annotated[
        tuple[VectorTensor, ...], Meta(description="The model's outputs, whatever is asked for.")
    ]
    asked: Asked
    accept: Rules


class DecodeResponse(_Vector, frozen=True, kw_only=True, tag="decode_response"):
    """A response, and the tensors that a client's user must get."""

    status: int
    fields: tuple[Field, ...]
    body: Bytes
    tensors: Annotated[
        tuple[VectorTensor, ...] | None,
        Meta(description="All outputs, in any order; null if none are compared."),
    ] = None
    members: Annotated[
        dict[str, str | None],
        Meta(description="`id`, `model_name` and `model_version` that the user gets, if named."),
    ] = {}
    says: Annotated[
        str | None, Meta(description="Words of the server that the error should contain.")
    ] = None


class EncodeRequest(_Vector, frozen=True, kw_only=True, tag="encode_request"):
    """The tensors that a caller wants to send, and the properties that the request must have."""

    tensors: Annotated[
        tuple[VectorTensor, ...],
        Meta(description="The caller's arrays; `form` is how the caller wants them sent."),
    ]
    asked: Asked
    compression: Annotated[
        Literal["gzip", "deflate"] | None,
        Meta(description="The content coding that the caller wants the request in."),
    ] = None
    accept: Rules


class Datatypes(_Vector, frozen=True, kw_only=True, tag="datatypes"):
    """Elements of one datatype as bytes, as exact values, and as JSON."""

    datatype: str
    shape: tuple[int, ...]
    data: Bytes
    values: Annotated[
        tuple[str, ...],
        Meta(
            description="Each element as text: an integer, true or false, the text of a BYTES "
            "element in base64, or a float in hexadecimal (0x1.8p+1, inf, -inf, nan)."
        ),
    ]
    json: Annotated[
        str | None,
        Meta(
            description="A text that `data` of the JSON can have; it reads as these bytes. null if "
            "JSON has no form for an element: writing it must be an error, or no finite number."
        ),
    ] = None
    float32: Annotated[
        Bytes | None, Meta(description="BF16 only: FP32 elements that round to these.")
    ] = None


Vector = DecodeRequest | EncodeResponse | DecodeResponse | EncodeRequest | Datatypes


class Cited(_Strict, frozen=True):
    """A requirement, in words."""

    title: str
    statement: str
    link: Annotated[str, Meta(description="The sentence on which it rests, as a URL.")]


class VectorFile(_Strict, frozen=True, kw_only=True):
    """Vectors of one kind and one family of requirements."""

    schema: Annotated[str, Meta(description="The schema that it fits.")]
    catalogue_version: str
    family: Annotated[str, Meta(description="The letter that its requirements begin with.")]
    about: Annotated[str, Meta(description="What the family is about.")]
    requirements: dict[str, Cited]
    models: Annotated[dict[str, Model], Meta(description="The models of its vectors by name.")] = {}
    vectors: tuple[Vector, ...]


class Counts(_Strict, frozen=True, kw_only=True):
    """Numbers of vectors by their result."""

    vectors: int
    valid: int
    invalid: int
    either: int


class IndexFile(_Strict, frozen=True, kw_only=True):
    """A file with vectors."""

    path: str
    kind: KindName
    family: str
    counts: Counts


class LeftOut(_Strict, frozen=True, kw_only=True):
    """Cases that are no vectors."""

    why: str
    cases: int


class Index(_Strict, frozen=True, kw_only=True, omit_defaults=False):
    """The files of a folder of vectors, with counts."""

    schema: Annotated[str, Meta(description="The schema that it fits.")]
    catalogue_version: Annotated[
        str, Meta(description="Requirements and cases: MAJOR.MINOR.PATCH, see docs/governance.md.")
    ]
    catalogue: Annotated[str, Meta(description="The digest of what the catalogue asks.")]
    seed: Annotated[
        int | None, Meta(description="The seed of the values; null: those of the cases.")
    ]
    counts: dict[KindName, Counts]
    files: tuple[IndexFile, ...]
    flags: Annotated[dict[str, str], Meta(description="What each flag means.")]
    left_out: tuple[LeftOut, ...]
