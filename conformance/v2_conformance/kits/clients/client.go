// A client for the binary tensor data extension in Go, with its standard library alone, and its
// adapter for the client bench:
//
//	go build -o client client.go
//	v2-conformance client --one-process -- ./client
//
// The task and the printed lines are described in docs/clients.md of v2-conformance.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

var sizes = map[string]int{
	"BOOL": 1, "UINT8": 1, "UINT16": 2, "UINT32": 4, "UINT64": 8, "INT8": 1, "INT16": 2, "INT32": 4,
	"INT64": 8, "FP16": 2, "BF16": 2, "FP32": 4, "FP64": 8,
}

// Header fields that say how the message is framed: only the client itself can know them.
const framing = " content-length transfer-encoding content-encoding accept-encoding host connection " +
	"inference-header-content-length content-type expect trailer te upgrade keep-alive "

type object = map[string]json.RawMessage

// A tensor. Data is row-major and little-endian; BYTES elements are each behind their length.
type tensor struct {
	Name     string `json:"name"`
	Datatype string `json:"datatype"`
	Shape    []int  `json:"shape"`
	Data     []byte `json:"data"`
}

type input struct {
	tensor
	Form, Layout, From string
	Parameters         object
}

type output struct {
	Name       string
	Form       *string
	Parameters object
}

type request struct {
	Model                string
	Version, ID          *string
	Parameters           object
	Headers              map[string]string
	Request_compression  *string
	Response_compression *string
	Binary_data_output   *bool
	Inputs               []input
	Outputs              *[]output
}

type failure struct {
	status int // of the response, 0 without one
	words  string
}

func (f failure) Error() string { return f.words }

// ---- Tensors

func count(shape []int) (int, error) {
	elements := 1
	for _, size := range shape {
		if size < 0 || size > 0 && elements > math.MaxInt32/size {
			return 0, fmt.Errorf("shape %v", shape)
		}
		elements *= size
	}
	return elements, nil
}

// The elements of a blob. An error unless they fill it and the shape.
func split(t tensor) ([][]byte, error) {
	wanted, err := count(t.Shape)
	if err != nil {
		return nil, err
	}
	size, known := sizes[t.Datatype]
	if !known && t.Datatype != "BYTES" {
		return nil, fmt.Errorf("datatype %q", t.Datatype)
	}
	found := [][]byte{}
	for rest := t.Data; len(rest) > 0; rest = rest[size:] {
		if t.Datatype == "BYTES" {
			if len(rest) < 4 || uint64(binary.LittleEndian.Uint32(rest)) > uint64(len(rest)-4) {
				return nil, errors.New("an element is longer than what is left of the blob")
			}
			size, rest = int(binary.LittleEndian.Uint32(rest)), rest[4:]
		} else if len(rest) < size {
			return nil, errors.New("the blob ends within an element")
		}
		found = append(found, rest[:size])
	}
	if len(found) != wanted {
		return nil, fmt.Errorf("%d elements in shape %v", len(found), t.Shape)
	}
	return found, nil
}

func float(datatype string, element []byte) float64 {
	switch datatype {
	case "FP64":
		return math.Float64frombits(binary.LittleEndian.Uint64(element))
	case "FP32":
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(element)))
	case "BF16":
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(element)) << 16))
	}
	bits := binary.LittleEndian.Uint16(element)
	exponent, size := int(bits>>10&31), float64(bits&1023)
	switch {
	case exponent == 31 && size == 0:
		size = math.Inf(1)
	case exponent == 31:
		size = math.NaN()
	case exponent == 0:
		size = math.Ldexp(size, -24)
	default:
		size = math.Ldexp(1024+size, exponent-25)
	}
	return math.Copysign(size, -float64(bits>>15)+0.5)
}

// The nearest BF16 of a float32, in the middle the even one.
func bf16(bits uint32) []byte {
	if bits&0x7fffffff > 0x7f800000 {
		return binary.LittleEndian.AppendUint16(nil, uint16(bits>>16|0x40))
	}
	return binary.LittleEndian.AppendUint16(nil, uint16((uint64(bits)+0x7fff+uint64(bits>>16&1))>>16))
}

func fp16(number float64) []byte {
	size, sign := math.Abs(number), uint16(0)
	if math.Signbit(number) {
		sign = 0x8000
	}
	bits := uint16(0x7c00)
	if size < 0x1p-14 {
		bits = uint16(math.RoundToEven(size * 0x1p24))
	} else if size < 65520 {
		_, exponent := math.Frexp(size) // size = fraction * 2**exponent, fraction from 0.5 to 1
		bits = uint16((exponent+13)<<10) + uint16(math.RoundToEven(math.Ldexp(size, 11-exponent)))
	}
	return binary.LittleEndian.AppendUint16(nil, sign|bits)
}

// An element as JSON. An error for what JSON cannot say.
func toJSON(datatype string, element []byte) (json.RawMessage, error) {
	word := make([]byte, 8)
	copy(word, element)
	bits := binary.LittleEndian.Uint64(word)
	switch {
	case datatype == "BYTES":
		if !utf8.Valid(element) {
			return nil, errors.New("bytes that are not UTF-8 have no JSON form")
		}
		return json.Marshal(string(element))
	case datatype == "BOOL":
		return json.Marshal(element[0] != 0)
	case datatype[0] == 'U':
		return json.Marshal(bits)
	case datatype[0] == 'I':
		unused := 64 - 8*len(element)
		return json.Marshal(int64(bits<<unused) >> unused)
	}
	number := float(datatype, element)
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return nil, fmt.Errorf("%v has no JSON form", number)
	}
	if number == 0 && math.Signbit(number) {
		return json.RawMessage("-0.0"), nil
	}
	return json.RawMessage(strconv.FormatFloat(number, 'g', -1, 64)), nil
}

// An element from JSON. An error for another kind or range.
func fromJSON(datatype string, value any) ([]byte, error) {
	wrong := fmt.Errorf("data that is no %s", datatype)
	switch value := value.(type) {
	case string:
		if datatype == "BYTES" {
			return append(binary.LittleEndian.AppendUint32(nil, uint32(len(value))), value...), nil
		}
	case bool:
		if datatype == "BOOL" && value {
			return []byte{1}, nil
		} else if datatype == "BOOL" {
			return []byte{0}, nil
		}
	case json.Number:
		return fromNumber(datatype, string(value))
	}
	return nil, wrong
}

func fromNumber(datatype, text string) ([]byte, error) {
	wrong := fmt.Errorf("%.40s is no %s", text, datatype)
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || datatype == "BOOL" || datatype == "BYTES" {
		return nil, wrong
	}
	bits := 8 * sizes[datatype]
	if whole := math.Trunc(number) == number && math.Abs(number) < 1<<53; whole && strings.ContainsAny(text, ".eE") {
		text = strconv.FormatInt(int64(number), 10)
	}
	var element []byte
	switch {
	case datatype[0] == 'U':
		value, err := strconv.ParseUint(strings.TrimPrefix(text, "-0"), 10, bits)
		if text != "-0" && err != nil {
			return nil, wrong
		}
		return binary.LittleEndian.AppendUint64(nil, value)[:bits/8], nil
	case datatype[0] == 'I':
		value, err := strconv.ParseInt(text, 10, bits)
		if err != nil {
			return nil, wrong
		}
		return binary.LittleEndian.AppendUint64(nil, uint64(value))[:bits/8], nil
	case datatype == "FP64":
		element = binary.LittleEndian.AppendUint64(nil, math.Float64bits(number))
	case datatype == "FP32":
		element = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(number)))
	case datatype == "BF16":
		element = bf16(math.Float32bits(float32(number)))
	default:
		element = fp16(number)
	}
	if math.IsInf(float(datatype, element), 0) {
		return nil, wrong
	}
	return element, nil
}

// ---- Requests and responses

// The caller's parameters and the reserved one, which they cannot replace.
func own(parameters object, reserved string, value any) (map[string]any, error) {
	made := map[string]any{}
	for name, theirs := range parameters {
		made[name] = theirs
	}
	if _, there := made[reserved]; there {
		return nil, fmt.Errorf("a caller cannot set the parameter %s", reserved)
	}
	if value != nil {
		made[reserved] = value
	}
	return made, nil
}

func encode(r request) (header, blobs []byte, err error) {
	var binaryOutput any
	if r.Binary_data_output != nil {
		binaryOutput = *r.Binary_data_output
	}
	parameters, err := own(r.Parameters, "binary_data_output", binaryOutput)
	inputs, message := []any{}, map[string]any{"parameters": parameters}
	for _, in := range r.Inputs {
		made := map[string]any{"name": in.Name, "datatype": in.Datatype, "shape": in.Shape}
		data, size := in.Data, any(nil)
		if in.From == "float32" {
			data = nil
			for at := 0; at+4 <= len(in.Data); at += 4 {
				data = append(data, bf16(binary.LittleEndian.Uint32(in.Data[at:]))...)
			}
		}
		elements, wrong := split(tensor{in.Name, in.Datatype, in.Shape, data})
		if wrong != nil {
			return nil, nil, wrong
		}
		if in.Form == "binary" {
			blobs, size = append(blobs, data...), len(data)
		} else {
			values := []json.RawMessage{}
			for _, element := range elements {
				value, wrong := toJSON(in.Datatype, element)
				if wrong != nil {
					return nil, nil, wrong
				}
				values = append(values, value)
			}
			made["data"] = values
		}
		theirs, wrong := own(in.Parameters, "binary_data_size", size)
		if wrong != nil {
			return nil, nil, wrong
		}
		made["parameters"] = theirs
		inputs = append(inputs, made)
	}
	message["inputs"] = inputs
	if r.ID != nil {
		message["id"] = *r.ID
	}
	if r.Outputs != nil {
		outputs := []any{}
		for _, out := range *r.Outputs {
			var form any
			if out.Form != nil {
				form = *out.Form == "binary"
			}
			theirs, wrong := own(out.Parameters, "binary_data", form)
			if wrong != nil {
				return nil, nil, wrong
			}
			outputs = append(outputs, map[string]any{"name": out.Name, "parameters": theirs})
		}
		message["outputs"] = outputs
	}
	if err == nil {
		header, err = json.Marshal(message)
	}
	return header, blobs, err
}

func parse(text []byte, into any) error {
	if !utf8.Valid(text) || !json.Valid(text) {
		return errors.New("no JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// Maps, because a struct would take a member in any case of letters.
func decode(fields http.Header, body []byte) (object, []tensor, error) {
	length, given := len(body), fields.Values("Inference-Header-Content-Length")
	if len(given) > 0 {
		number, err := strconv.ParseUint(given[0], 10, 31)
		if len(given) > 1 || err != nil || int(number) > len(body) {
			return nil, nil, fmt.Errorf("header length %.40q in a body of %d bytes", given, len(body))
		}
		length = int(number)
	}
	var message object
	var outputs []object
	if err := parse(body[:length], &message); err != nil {
		return nil, nil, err
	}
	if err := parse(message["outputs"], &outputs); err != nil || len(outputs) == 0 {
		return nil, nil, errors.New("no outputs")
	}
	rest, found := body[length:], []tensor{}
	for _, out := range outputs {
		t, size, err := readOutput(out, rest)
		if err != nil {
			return nil, nil, err
		}
		for _, earlier := range found {
			if earlier.Name == t.Name {
				return nil, nil, fmt.Errorf("the output %s twice", t.Name)
			}
		}
		rest, found = rest[size:], append(found, t)
	}
	if len(rest) > 0 {
		return nil, nil, fmt.Errorf("%d bytes after the last blob", len(rest))
	}
	return message, found, nil
}

func whole(value any) (int, error) {
	written, ok := value.(json.Number)
	number, err := written.Float64()
	if !ok || err != nil || number < 0 || number != math.Trunc(number) || number > math.MaxInt32 {
		return 0, fmt.Errorf("%.40v is no size", value)
	}
	return int(number), nil
}

// An output, and how many bytes of `rest` are its blob.
func readOutput(out object, rest []byte) (t tensor, size int, err error) {
	var shape []any
	var parameters object
	if parse(out["name"], &t.Name) != nil || parse(out["datatype"], &t.Datatype) != nil || parse(out["shape"], &shape) != nil || shape == nil {
		return t, 0, errors.New("an output without name, datatype or shape")
	}
	t.Shape = []int{}
	for _, value := range shape {
		axis, err := whole(value)
		if err != nil {
			return t, 0, err
		}
		t.Shape = append(t.Shape, axis)
	}
	if given, there := out["parameters"]; there && parse(given, &parameters) != nil {
		return t, 0, errors.New("parameters that are no object")
	}
	_, has := out["data"]
	if declared, there := parameters["binary_data_size"]; there && string(declared) != "null" {
		var value any
		if parse(declared, &value) != nil || has {
			return t, 0, fmt.Errorf("%s: no blob of this size", t.Name)
		}
		if size, err = whole(value); err != nil || size > len(rest) {
			return t, 0, fmt.Errorf("%s: a blob that is not there", t.Name)
		}
		t.Data = rest[:size]
	} else {
		var data []any
		if !has || parse(out["data"], &data) != nil || data == nil {
			return t, 0, fmt.Errorf("%s has no data", t.Name)
		}
		nested := false
		for _, value := range data {
			_, row := value.([]any)
			nested = nested || row
		}
		if nested && !isNested(data, t.Shape) {
			return t, 0, fmt.Errorf("%s: data that is not in its shape", t.Name)
		}
		if err = flatten(t.Datatype, data, &t.Data); err != nil {
			return t, 0, err
		}
	}
	_, err = split(t)
	return t, size, err
}

// True for data in rows, as the shape says.
func isNested(value any, shape []int) bool {
	rows, ok := value.([]any)
	if len(shape) == 0 || !ok || len(rows) != shape[0] {
		return len(shape) == 0 && !ok
	}
	for _, row := range rows {
		if !isNested(row, shape[1:]) {
			return false
		}
	}
	return true
}

func flatten(datatype string, data []any, into *[]byte) error {
	for _, value := range data {
		if nested, ok := value.([]any); ok {
			if err := flatten(datatype, nested, into); err != nil {
				return err
			}
			continue
		}
		element, err := fromJSON(datatype, value)
		if err != nil {
			return err
		}
		*into = append(*into, element...)
	}
	return nil
}

func compressed(coding string, body []byte) []byte {
	var packed bytes.Buffer
	writer := io.WriteCloser(zlib.NewWriter(&packed))
	if coding == "gzip" {
		writer = gzip.NewWriter(&packed)
	}
	writer.Write(body)
	writer.Close()
	return packed.Bytes()
}

func withoutCodings(fields http.Header, body []byte) ([]byte, error) {
	codings := strings.Split(strings.ToLower(strings.Join(fields.Values("Content-Encoding"), ",")), ",")
	for at := len(codings) - 1; at >= 0; at-- {
		packed := bytes.NewReader(body)
		var reader io.Reader
		var err error
		switch coding := strings.TrimSpace(codings[at]); coding {
		case "", "identity":
			continue
		case "gzip", "x-gzip":
			reader, err = gzip.NewReader(packed)
		case "deflate":
			reader, err = zlib.NewReader(packed)
		default:
			err = fmt.Errorf("Content-Encoding %.40s", coding)
		}
		if err != nil {
			return nil, err
		}
		if body, err = io.ReadAll(reader); err != nil || packed.Len() > 0 {
			return nil, fmt.Errorf("a damaged body in a content coding: %v", err)
		}
	}
	return body, nil
}

func infer(client *http.Client, base string, r request) (object, []tensor, error) {
	header, blobs, err := encode(r)
	if err != nil {
		return nil, nil, err
	}
	body, coding := append(header, blobs...), r.Request_compression
	if coding != nil {
		body = compressed(*coding, body)
	}
	path := "/v2/models/" + url.PathEscape(r.Model)
	if r.Version != nil {
		path += "/versions/" + url.PathEscape(*r.Version)
	}
	sent, err := http.NewRequest("POST", base+path+"/infer", bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for name, value := range r.Headers {
		if strings.Contains(framing, " "+strings.ToLower(name)+" ") {
			return nil, nil, fmt.Errorf("a caller cannot set the header field %s", name)
		}
		sent.Header.Set(name, value)
	}
	sent.Header.Set("Content-Type", "application/json")
	sent.Header.Set("Accept-Encoding", "identity")
	if r.Response_compression != nil {
		sent.Header.Set("Accept-Encoding", *r.Response_compression)
	}
	if coding != nil {
		sent.Header.Set("Content-Encoding", *coding)
	}
	if hasBinary(r) {
		sent.Header.Set("Content-Type", "application/octet-stream")
		sent.Header.Set("Inference-Header-Content-Length", strconv.Itoa(len(header)))
	}
	response, err := client.Do(sent)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err == nil {
		received, err = withoutCodings(response.Header, received)
	}
	if response.StatusCode != 200 {
		return nil, nil, failure{response.StatusCode, errorText(received, response.Status)}
	}
	if err != nil {
		return nil, nil, err
	}
	message, outputs, err := decode(response.Header, received)
	if err != nil {
		return nil, nil, failure{200, "malformed response: " + err.Error()}
	}
	return message, outputs, nil
}

func hasBinary(r request) bool {
	for _, in := range r.Inputs {
		if in.Form == "binary" {
			return true
		}
	}
	return false
}

// What the server says of its error: {"error": ...}, or any other text, or nothing.
func errorText(body []byte, status string) string {
	var said object
	var words string
	if parse(body, &said) == nil && parse(said["error"], &words) == nil {
		return words
	}
	if len(body) > 0 {
		return strings.ToValidUTF8(string(body), "\ufffd")
	}
	return status
}

// ---- The adapter

// Makes the requests of a task in their order, all with one client; a line for each.
func lines(text []byte) (scenario string, found []any) {
	var task struct {
		Scenario, URL string
		Timeout_s     float64
		Requests      []request
	}
	if err := json.Unmarshal(text, &task); err != nil {
		panic(err)
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Timeout:       time.Duration(task.Timeout_s * float64(time.Second) / 2),
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for _, r := range task.Requests {
		line := map[string]any{"headers": r.Headers, "client": map[string]string{"name": "go-net-http", "version": runtime.Version()}}
		found = append(found, line)
		for _, in := range r.Inputs {
			if in.Layout != "row-major" {
				line["unsupported"] = "this client takes little-endian bytes in row-major order: none " + in.Layout
			}
		}
		if line["unsupported"] != nil {
			continue
		}
		message, outputs, err := infer(client, task.URL, r)
		if err != nil {
			line["error"] = err.Error()
			if f := (failure{}); errors.As(err, &f) {
				line["status"] = f.status
			}
			continue
		}
		for at := range outputs {
			if outputs[at].Data == nil {
				outputs[at].Data = []byte{}
			}
		}
		line["outputs"] = outputs
		for _, name := range []string{"model_name", "model_version", "id"} {
			var value *string
			if parse(message[name], &value) == nil && value != nil {
				line[name] = *value
			}
		}
	}
	return task.Scenario, found
}

func main() {
	printed := json.NewEncoder(os.Stdout)
	if os.Getenv("V2_BENCH_TASKS") == "stdin" {
		for in := bufio.NewReader(os.Stdin); ; {
			text, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			scenario, found := lines(text)
			printed.Encode(map[string]any{"scenario": scenario, "lines": found})
		}
	}
	text, err := os.ReadFile(os.Getenv("V2_BENCH_TASK"))
	if err != nil {
		panic(err)
	}
	_, found := lines(text)
	for _, line := range found {
		printed.Encode(line)
	}
}
