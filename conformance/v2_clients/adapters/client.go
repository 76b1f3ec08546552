// A client for the binary tensor data extension in Go, with its standard library alone: the codec
// beside it and net/http, with its adapter for the client bench:
//
//	go build -o client client.go codec.go
//	v2-conformance client -- ./client
//
// The task and the answer are described in docs/clients.md of v2-conformance.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"
)

// Header fields that say how the message is framed: only the client itself can know them.
const framing = " content-length transfer-encoding content-encoding accept-encoding host connection " +
	"inference-header-content-length content-type expect trailer te upgrade keep-alive "

type request struct {
	Model                string
	Version, ID          *string
	Parameters           object
	Headers              map[string]string
	Request_compression  string
	Response_compression *string
	Binary_data_output   *bool
	Inputs               []struct {
		Name, Datatype, Form, Layout, From string
		Shape                              []int64
		Data                               []byte
		Parameters                         object
	}
	Outputs *[]struct {
		Name       string
		Form       *string
		Parameters object
	}
}

// ---- The client

// withReserved returns a caller's parameters with the reserved one, which the caller cannot set.
func withReserved(parameters object, reserved string, value any) object {
	made := object{}
	for name, own := range parameters {
		made[name] = own
	}
	_, there := made[reserved]
	need(!there, "a caller cannot set the parameter "+reserved)
	if value != nil {
		made[reserved] = value
	}
	return made
}

func encoded(r request) ([]field, []byte) {
	given, asked := []sent{}, object{}
	for _, in := range r.Inputs {
		if in.From == "float32" {
			in.Data = toBF16(in.Data)
		}
		own := withReserved(in.Parameters, "binary_data_size", nil)
		given = append(given, sent{in.Name, tensor{in.Datatype, in.Shape, in.Data}, in.Form == "binary", own})
	}
	var byDefault any
	if r.Binary_data_output != nil {
		byDefault = *r.Binary_data_output
	}
	asked["parameters"] = withReserved(r.Parameters, "binary_data_output", byDefault)
	if r.ID != nil {
		asked["id"] = *r.ID
	}
	if r.Outputs != nil {
		outputs := []object{}
		for _, out := range *r.Outputs {
			var isBinary any
			if out.Form != nil {
				isBinary = *out.Form == "binary"
			}
			own := withReserved(out.Parameters, "binary_data", isBinary)
			outputs = append(outputs, object{"name": out.Name, "parameters": own})
		}
		asked["outputs"] = outputs
	}
	return encodeRequest(given, asked, r.Request_compression)
}

// infer panics like the codec; `status` is that of the response, if there is one.
func infer(client *http.Client, base string, r request, status *int) (map[string]tensor, object) {
	fields, body := encoded(r)
	path := "/v2/models/" + url.PathEscape(r.Model)
	if r.Version != nil {
		path += "/versions/" + url.PathEscape(*r.Version)
	}
	made, err := http.NewRequest("POST", base+path+"/infer", bytes.NewReader(body))
	need(err == nil, fmt.Sprint(err))
	for name, value := range r.Headers {
		need(!strings.Contains(framing, " "+strings.ToLower(name)+" "), "a caller cannot set the header field "+name)
		made.Header.Set(name, value)
	}
	made.Header.Set("Accept-Encoding", "identity")
	if r.Response_compression != nil {
		made.Header.Set("Accept-Encoding", *r.Response_compression)
	}
	for _, one := range fields {
		made.Header.Set(one[0], one[1])
	}
	response, err := client.Do(made)
	need(err == nil, fmt.Sprint(err))
	defer response.Body.Close()
	*status = response.StatusCode
	received, err := io.ReadAll(response.Body)
	need(err == nil, fmt.Sprint(err))
	answered := []field{}
	for name, values := range response.Header {
		for _, value := range values {
			answered = append(answered, field{name, value})
		}
	}
	return decodeResponse(response.StatusCode, answered, received)
}

// ---- The adapter

// lineOf makes a request, and returns what its caller gets.
func lineOf(client *http.Client, base string, r request) (line object) {
	line = object{"headers": r.Headers, "client": object{"name": "go-net-http", "version": runtime.Version()}}
	for _, in := range r.Inputs {
		if in.Layout != "row-major" {
			line["unsupported"] = "arrays are row-major and little-endian, not " + in.Layout
			return line
		}
	}
	status := 0
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case rejected:
			line["error"] = string(reason)
			if status != 0 {
				line["status"] = status
			}
		default:
			panic(reason)
		}
	}()
	outputs, document := infer(client, base, r, &status)
	found := []object{}
	for name, one := range outputs {
		found = append(found, object{"name": name, "datatype": one.datatype, "shape": one.shape, "data": append([]byte{}, one.data...)})
	}
	line["outputs"] = found
	for _, name := range []string{"model_name", "model_version", "id"} {
		if text, isText := document[name].(string); isText {
			line[name] = text
		}
	}
	return line
}

// linesOf makes the requests of a task in their order, all with one client; a line for each.
func linesOf(text []byte) (scenario string, found []any) {
	var task struct {
		Scenario, URL string
		Timeout_s     float64
		Requests      []request
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&task); err != nil {
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
		found = append(found, lineOf(client, task.URL, r))
	}
	return task.Scenario, found
}

func main() {
	printed := json.NewEncoder(os.Stdout)
	for in := bufio.NewReader(os.Stdin); ; {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		scenario, found := linesOf(text)
		printed.Encode(object{"scenario": scenario, "lines": found})
	}
}
