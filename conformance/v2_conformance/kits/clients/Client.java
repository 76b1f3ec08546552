// A client for the binary tensor data extension in Java, on java.net.http and without packages, and
// its adapter for the client bench.
//
//     v2-conformance client --one-process -- java Client.java      # Java 17 or newer

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;

public final class Client {
    /** What the caller gets in place of a result; `status` is null if the server gave none. */
    static final class V2Error extends RuntimeException {
        final Integer status;

        V2Error(String text, Integer status) {
            super(text);
            this.status = status;
        }
    }

    static void need(boolean condition, String problem) {
        if (!condition) throw new V2Error(problem, null);
    }

    // ---- The client

    /** A tensor: its elements row-major and little-endian, those of BYTES each behind its length. */
    record Tensor(String datatype, List<Long> shape, byte[] data) {}

    record Input(String name, Tensor tensor, boolean binary, Json.Obj parameters) {}

    /** `binary` is null if the caller does not say it. */
    record Output(String name, Boolean binary, Json.Obj parameters) {}

    record Result(Json.Obj document, Map<String, Tensor> outputs) {}

    /** Header fields that only the client itself can know. java.net.http refuses others. */
    private static final Set<String> FRAMING = Set.of("accept-encoding", "content-encoding",
        "content-length", "content-type", "connection", "expect", "host",
        "inference-header-content-length", "te", "trailer", "transfer-encoding", "upgrade");

    private final String url;
    private final long timeoutMs;
    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
        .proxy(HttpClient.Builder.NO_PROXY).build();

    Client(String url, double timeoutS) {
        this.url = url;
        this.timeoutMs = (long) (timeoutS * 1000);
    }

    /** `outputs`, `id`, `version`, `binaryDataOutput` and codings are null if not given. */
    Result infer(String model, String version, String id, Json.Obj parameters,
            Boolean binaryDataOutput, List<Input> inputs, List<Output> outputs, Json.Obj headers,
            String coding, String accepted) {
        Json.Obj document = new Json.Obj();
        ByteArrayOutputStream blobs = new ByteArrayOutputStream();
        boolean hasBlobs = false;
        if (id != null) document.put("id", id);
        document.put("parameters", merged(parameters, "binary_data_output", binaryDataOutput));
        Json.Arr entries = new Json.Arr();
        for (Input input : inputs) {
            Json.Obj entry = new Json.Obj();
            byte[] blob = input.tensor.data;
            entry.put("name", input.name);
            entry.put("datatype", input.tensor.datatype);
            entry.put("shape", Json.array(input.tensor.shape));
            entry.put("parameters", merged(input.parameters, "binary_data_size",
                input.binary ? blob.length : null));
            if (input.binary) blobs.writeBytes(blob);
            else entry.put("data", Elements.toJson(input.tensor));
            hasBlobs |= input.binary;
            entries.add(entry);
        }
        document.put("inputs", entries);
        if (outputs != null) {
            Json.Arr asked = new Json.Arr();
            for (Output output : outputs) {
                Json.Obj entry = new Json.Obj();
                entry.put("name", output.name);
                entry.put("parameters", merged(output.parameters, "binary_data", output.binary));
                asked.add(entry);
            }
            document.put("outputs", asked);
        }
        byte[] message = Json.toUtf8(Json.write(document));
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + "/v2/models/"
            + encoded(model) + (version == null ? "" : "/versions/" + encoded(version)) + "/infer"));
        for (Map.Entry<String, Object> field : headers.entrySet()) {
            need(!FRAMING.contains(field.getKey().toLowerCase(Locale.ROOT)),
                "a caller cannot set the header field " + field.getKey());
            request.header(field.getKey(), (String) field.getValue());
        }
        request.header("Content-Type", hasBlobs ? "application/octet-stream" : "application/json");
        if (hasBlobs) { // without blobs there is no header length
            request.header("Inference-Header-Content-Length", String.valueOf(message.length));
        }
        byte[] body = Arrays.copyOf(message, message.length + blobs.size());
        System.arraycopy(blobs.toByteArray(), 0, body, message.length, blobs.size());
        if (coding != null) { // the header length still counts the JSON as it was before
            request.header("Content-Encoding", coding);
            body = Codings.encoded(coding, body);
        }
        request.header("Accept-Encoding", accepted == null ? "identity" : accepted);
        HttpResponse<byte[]> response =
            sent(request.POST(HttpRequest.BodyPublishers.ofByteArray(body)).build());
        int status = response.statusCode();
        if (status != 200) throw new V2Error(words(response), status);
        return read(response.headers(), Codings.decoded(response.headers(), response.body()));
    }

    private static String encoded(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** The caller's parameters and the reserved one, which they cannot replace. */
    private static Json.Obj merged(Json.Obj own, String reserved, Object value) {
        need(!own.containsKey(reserved), "a caller cannot set the parameter " + reserved);
        Json.Obj all = new Json.Obj();
        all.putAll(own);
        if (value != null) all.put(reserved, value);
        return all;
    }

    /** The whole response. The time limit of java.net.http would end with its head. */
    private HttpResponse<byte[]> sent(HttpRequest request) {
        CompletableFuture<HttpResponse<byte[]>> future =
            http.sendAsync(request, HttpResponse.BodyHandlers.ofByteArray());
        try {
            return future.get(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (TimeoutException error) {
            future.cancel(true);
            throw new V2Error("no response within " + timeoutMs + " ms", null);
        } catch (ExecutionException | InterruptedException error) {
            throw new V2Error(String.valueOf(error.getCause()), null);
        }
    }

    /** What a server says of its error: {"error": text}, or any other text. */
    private static String words(HttpResponse<byte[]> response) {
        byte[] body = response.body();
        try {
            body = Codings.decoded(response.headers(), body);
            String said = ((Json.Obj) Json.parse(body)).get("error", String.class);
            if (said != null) return said;
        } catch (RuntimeException error) {
            // It is not V2's JSON.
        }
        return body.length == 0 ? "status " + response.statusCode()
            : new String(body, 0, Math.min(body.length, 900), StandardCharsets.UTF_8);
    }

    /** The outputs of a response, with every length checked. */
    private static Result read(HttpHeaders headers, byte[] body) {
        List<String> lengths = headers.allValues("Inference-Header-Content-Length");
        int at = body.length;
        if (!lengths.isEmpty()) {
            String text = lengths.get(0).replaceAll("^[ \t]+|[ \t]+$", "");
            need(lengths.size() == 1 && text.matches("[0-9]{1,18}"), "the header length is no number");
            need(Long.parseLong(text) <= body.length, "the header length is beyond the body");
            at = Integer.parseInt(text);
        }
        Object parsed = Json.parse(Arrays.copyOf(body, at));
        need(parsed instanceof Json.Obj, "the response is not a JSON object");
        Json.Obj document = (Json.Obj) parsed;
        Json.Arr entries = document.get("outputs", Json.Arr.class);
        need(entries != null && !entries.isEmpty(), "the response has no outputs");
        Map<String, Tensor> outputs = new LinkedHashMap<>();
        for (Object one : entries) {
            need(one instanceof Json.Obj, "an output is not an object");
            Json.Obj entry = (Json.Obj) one;
            String name = entry.get("name", String.class);
            String datatype = entry.get("datatype", String.class);
            Json.Arr sizes = entry.get("shape", Json.Arr.class);
            need(name != null && sizes != null, "an output without name or shape");
            need(datatype != null && Elements.SIZES.containsKey(datatype), "an unknown datatype");
            List<Long> shape = new ArrayList<>();
            for (Object size : sizes) shape.add(size(size));
            Json.Obj parameters = entry.get("parameters", Json.Obj.class);
            Object size = parameters == null ? null : parameters.get("binary_data_size");
            byte[] blob;
            if (size == null) {
                need(entry.containsKey("data"), "an output without data");
                blob = Elements.fromJson(datatype, shape, entry.get("data"));
            } else { // blobs come in this order, not in that of the request
                need(!entry.containsKey("data"), "an output with data and a size");
                need(size(size) <= body.length - at, "a blob ends past the body");
                blob = Arrays.copyOfRange(body, at, at += (int) size(size));
            }
            Tensor tensor = new Tensor(datatype, shape, blob);
            Elements.check(tensor);
            need(outputs.put(name, tensor) == null, "an output is there twice");
        }
        need(at == body.length, "bytes follow the last blob");
        return new Result(document, outputs);
    }

    /** A size or a length in a response, where 4.0 is as good as 4. */
    private static long size(Object value) {
        BigInteger number = Elements.whole(value);
        need(number.signum() >= 0 && number.bitLength() < 63, "not a size");
        return number.longValue();
    }

    // ---- Content codings

    static final class Codings {
        static byte[] encoded(String coding, byte[] body) {
            ByteArrayOutputStream packed = new ByteArrayOutputStream();
            try (OutputStream into = coding.equals("gzip") ? new GZIPOutputStream(packed)
                    : new DeflaterOutputStream(packed)) { // HTTP's deflate is the zlib format
                into.write(body);
            } catch (IOException error) {
                throw new V2Error(error.getMessage(), null);
            }
            return packed.toByteArray();
        }

        /** Says what its base class ignores: bytes behind the last member. */
        private static final class Gzip extends GZIPInputStream {
            Gzip(byte[] body) throws IOException {
                super(new ByteArrayInputStream(body), Math.max(body.length, 1)); // in one buffer
            }

            int left() {
                return inf.getRemaining() - 8; // behind the checksum and length of the last member
            }
        }

        /** The body without its codings, which a gateway may add unasked; the last one first. */
        static byte[] decoded(HttpHeaders headers, byte[] body) {
            List<String> codings = new ArrayList<>(Arrays.asList(
                String.join(",", headers.allValues("Content-Encoding")).split(",")));
            Collections.reverse(codings);
            try {
                for (String coding : codings) {
                    switch (coding.strip().toLowerCase(Locale.ROOT)) {
                        case "gzip", "x-gzip" -> {
                            Gzip source = new Gzip(body);
                            body = source.readAllBytes();
                            need(source.left() == 0, "bytes follow the coded ones");
                        }
                        case "deflate" -> {
                            Inflater inflater = new Inflater();
                            ByteArrayInputStream source = new ByteArrayInputStream(body);
                            body = new InflaterInputStream(source, inflater).readAllBytes();
                            int left = inflater.getRemaining() + source.available();
                            need(left == 0, "bytes follow the coded ones");
                        }
                        case "", "identity" -> {}
                        default -> need(false, "Content-Encoding " + coding);
                    }
                }
                return body;
            } catch (IOException error) {
                throw new V2Error("its coding is damaged: " + error.getMessage(), null);
            }
        }
    }

    // ---- Elements

    static final class Elements {
        static final Map<String, Integer> SIZES = Map.ofEntries(
            Map.entry("BOOL", 1), Map.entry("BYTES", 0), Map.entry("UINT8", 1),
            Map.entry("UINT16", 2), Map.entry("UINT32", 4), Map.entry("UINT64", 8),
            Map.entry("INT8", 1), Map.entry("INT16", 2), Map.entry("INT32", 4),
            Map.entry("INT64", 8), Map.entry("FP16", 2), Map.entry("BF16", 2),
            Map.entry("FP32", 4), Map.entry("FP64", 8));

        /** A binary floating-point format. */
        private record Format(int bias, int mantissa) {
            /** The bits of a number, rounded once, to the nearest even. */
            long round(double value) {
                if (bias == 1023) return Double.doubleToRawLongBits(value);
                long bits, infinity = (2L * bias + 1) << mantissa;
                if (Double.isNaN(value)) {
                    bits = infinity | 1L << (mantissa - 1);
                } else if (Double.isInfinite(value)) {
                    bits = infinity;
                } else {
                    int exponent = Math.max(Math.getExponent(value), 1 - bias);
                    double unit = Math.rint(Math.scalb(Math.abs(value), mantissa - exponent));
                    bits = Math.min(((long) (exponent + bias - 1) << mantissa) + (long) unit, infinity);
                }
                boolean negative = Double.doubleToRawLongBits(value) < 0;
                return negative ? bits | (infinity + (1L << mantissa)) : bits;
            }

            double value(long bits) {
                if (bias == 1023) return Double.longBitsToDouble(bits);
                int mask = 2 * bias + 1, exponent = (int) (bits >> mantissa) & mask;
                double sign = bits >> mantissa > mask ? -1 : 1, part = bits & ((1L << mantissa) - 1);
                if (exponent == mask) return part != 0 ? Double.NaN : sign * Double.POSITIVE_INFINITY;
                if (exponent > 0) part += 1L << mantissa;
                return sign * Math.scalb(part, Math.max(exponent, 1) - bias - mantissa);
            }
        }

        private static final Map<String, Format> FORMATS = Map.of("FP16", new Format(15, 10),
            "BF16", new Format(127, 7), "FP32", new Format(127, 23), "FP64", new Format(1023, 52));

        private static void put(ByteArrayOutputStream blob, long bits, int size) {
            for (int n = 0; n < size; n++) blob.write((int) (bits >> 8 * n));
        }

        private static long get(byte[] blob, int at, int size) {
            long bits = 0;
            for (int n = size - 1; n >= 0; n--) bits = bits << 8 | blob[at + n] & 0xff;
            return bits;
        }

        private static long count(List<Long> shape) {
            BigInteger product = BigInteger.ONE;
            for (long size : shape) product = product.multiply(BigInteger.valueOf(size));
            need(product.bitLength() < 63, "a shape beyond all memory");
            return product.longValue();
        }

        private static List<byte[]> bytes(byte[] blob) {
            List<byte[]> elements = new ArrayList<>();
            for (int at = 0; at < blob.length; ) {
                need(blob.length - at >= 4, "a length of BYTES that is cut off");
                long length = get(blob, at, 4);
                at += 4;
                need(length <= blob.length - at, "an element is longer than what is left of its blob");
                elements.add(Arrays.copyOfRange(blob, at, at += (int) length));
            }
            return elements;
        }

        /** Throws unless the blob has as many elements as the shape says. */
        static void check(Tensor tensor) {
            long wanted = count(tensor.shape);
            int size = SIZES.get(tensor.datatype), length = tensor.data.length;
            boolean right = size == 0 ? bytes(tensor.data).size() == wanted
                : length % size == 0 && length / size == wanted;
            need(right, "the shape has another number of elements");
        }

        /** BF16 elements, each the nearest to one of FP32. */
        static byte[] toBf16(byte[] float32) {
            ByteArrayOutputStream blob = new ByteArrayOutputStream();
            for (int at = 0; at < float32.length; at += 4) {
                put(blob, FORMATS.get("BF16").round(FORMATS.get("FP32").value(get(float32, at, 4))), 2);
            }
            return blob.toByteArray();
        }

        /** The elements as flat JSON. Throws for what JSON cannot say. */
        static Json.Arr toJson(Tensor tensor) {
            Json.Arr found = new Json.Arr();
            int size = SIZES.get(tensor.datatype), unused = 64 - 8 * size;
            if (size == 0) {
                for (byte[] element : bytes(tensor.data)) found.add(Json.fromUtf8(element));
                return found;
            }
            for (int at = 0; at < tensor.data.length; at += size) {
                long bits = get(tensor.data, at, size);
                if (tensor.datatype.equals("BOOL")) {
                    found.add(bits != 0);
                } else if (tensor.datatype.startsWith("U")) {
                    found.add(new Json.Num(Long.toUnsignedString(bits)));
                } else if (tensor.datatype.startsWith("I")) {
                    found.add(new Json.Num(Long.toString(bits << unused >> unused)));
                } else {
                    double number = FORMATS.get(tensor.datatype).value(bits);
                    need(Double.isFinite(number), number + " has no JSON form");
                    found.add(new Json.Num(Double.toString(number)));
                }
            }
            return found;
        }

        /** A JSON number that is an integer of at most 64 bits; 3.0 and 1e2 are. */
        static BigInteger whole(Object value) {
            need(value instanceof Json.Num number && number.text().length() < 400, "no integer");
            try {
                BigDecimal exact = new BigDecimal(((Json.Num) value).text()).stripTrailingZeros();
                need(exact.scale() <= 0, "no integer");
                need((long) exact.precision() - exact.scale() <= 20, "a value is out of range");
                return exact.toBigIntegerExact();
            } catch (ArithmeticException | NumberFormatException error) {
                throw new V2Error("a value is out of range", null); // a very large exponent
            }
        }

        /** The elements of `data`, flat or nested as the shape. */
        private static Json.Arr flat(Object data, List<Long> shape) {
            need(data instanceof Json.Arr, "`data` is not an array");
            Json.Arr items = (Json.Arr) data;
            if (items.stream().anyMatch(item -> item instanceof Json.Arr)) {
                need(items.size() == shape.get(0), "data that is not nested as its shape");
                for (int axis = 1; axis < shape.size(); axis++) {
                    Json.Arr inner = new Json.Arr();
                    for (Object item : items) {
                        need(item instanceof Json.Arr row && row.size() == shape.get(axis),
                            "data that is not nested as its shape");
                        inner.addAll((Json.Arr) item);
                    }
                    items = inner;
                }
            }
            return items;
        }

        static byte[] fromJson(String datatype, List<Long> shape, Object data) {
            ByteArrayOutputStream blob = new ByteArrayOutputStream();
            int size = SIZES.get(datatype);
            Format format = FORMATS.get(datatype);
            for (Object value : flat(data, shape)) {
                if (size == 0) {
                    need(value instanceof String, "BYTES that are not strings");
                    byte[] element = Json.toUtf8((String) value);
                    put(blob, element.length, 4);
                    blob.writeBytes(element);
                } else if (datatype.equals("BOOL")) {
                    need(value instanceof Boolean, "BOOL that is not true or false");
                    blob.write((Boolean) value ? 1 : 0);
                } else if (format != null) {
                    need(value instanceof Json.Num, "a float that is not a number");
                    long bits = format.round(Double.parseDouble(((Json.Num) value).text()));
                    need(Double.isFinite(format.value(bits)), "a value is out of range");
                    put(blob, bits, size);
                } else {
                    BigInteger integer = whole(value);
                    boolean unsigned = datatype.startsWith("U"); // bitLength leaves out the sign
                    need(integer.bitLength() <= 8 * size - (unsigned ? 0 : 1)
                        && (!unsigned || integer.signum() >= 0), "a value is out of range");
                    put(blob, integer.longValue(), size);
                }
            }
            return blob.toByteArray();
        }
    }

    // ---- JSON: a value is an Obj, Arr, String, Num, Boolean or null. Numbers keep their digits.

    static final class Json {
        static final class Obj extends LinkedHashMap<String, Object> {
            /** The member as that type, or null if it is not there or of another type. */
            <T> T get(String name, Class<T> type) {
                Object value = get(name);
                return type.isInstance(value) ? type.cast(value) : null;
            }
        }

        static final class Arr extends ArrayList<Object> {}

        record Num(String text) {}

        private static final Pattern NUMBER =
            Pattern.compile("-?(?:0|[1-9][0-9]*+)(?:\\.[0-9]++)?(?:[eE][-+]?[0-9]++)?");
        private static final int DEEPEST = 500; // so that no document exhausts the stack

        private final String text;
        private int at = 0;
        private int depth = 0;

        private Json(String text) {
            this.text = text;
        }

        static Arr array(List<Long> numbers) {
            Arr found = new Arr();
            found.addAll(numbers);
            return found;
        }

        static Object parse(byte[] bytes) {
            Json reader = new Json(fromUtf8(bytes));
            Object value = reader.value();
            reader.need(reader.peek() == 0 && reader.at == reader.text.length(), "more than a value");
            return value;
        }

        static String fromUtf8(byte[] bytes) {
            try {
                return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
            } catch (CharacterCodingException error) {
                throw new V2Error("bytes that are not UTF-8 are no JSON", null);
            }
        }

        static byte[] toUtf8(String text) {
            try {
                ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
                return Arrays.copyOf(bytes.array(), bytes.limit());
            } catch (CharacterCodingException error) {
                throw new V2Error("half a surrogate pair is no text", null);
            }
        }

        private void need(boolean condition, String problem) {
            if (!condition) throw new V2Error(problem + " at character " + at, null);
        }

        /** The next character that is no white space, or 0. */
        private char peek() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : 0;
        }

        private boolean skip(char wanted) {
            boolean there = peek() == wanted && at < text.length();
            if (there) at++;
            return there;
        }

        private Object value() {
            need(++depth <= DEEPEST, "nested too deep");
            char first = peek();
            Object value =
                first == '{' ? object() : first == '[' ? array() : first == '"' ? string() : word();
            depth--;
            return value;
        }

        private Obj object() {
            Obj found = new Obj();
            at++;
            if (skip('}')) return found;
            do {
                need(peek() == '"', "no name");
                String name = string();
                need(!found.containsKey(name), "a member is there twice");
                need(skip(':'), "no colon");
                found.put(name, value());
            } while (skip(','));
            need(skip('}'), "an object is not closed");
            return found;
        }

        private Arr array() {
            Arr found = new Arr();
            at++;
            if (skip(']')) return found;
            do found.add(value()); while (skip(','));
            need(skip(']'), "an array is not closed");
            return found;
        }

        private Object word() {
            for (Object known : new Object[] {true, false, null}) {
                if (text.startsWith(String.valueOf(known), at)) {
                    at += String.valueOf(known).length();
                    return known;
                }
            }
            Matcher number = NUMBER.matcher(text).region(at, text.length());
            need(number.lookingAt(), "no value");
            at = number.end();
            return new Num(number.group());
        }

        private String string() {
            StringBuilder found = new StringBuilder();
            for (at++; ; at++) {
                need(at < text.length() && text.charAt(at) >= ' ', "a string is not closed");
                char one = text.charAt(at);
                if (one == '"') {
                    at++;
                    return found.toString();
                }
                found.append(one == '\\' ? escaped() : one);
            }
        }

        private char escaped() {
            need(++at < text.length(), "a string is not closed");
            int simple = "\"\\/bfnrt".indexOf(text.charAt(at));
            if (simple >= 0) return "\"\\/\b\f\n\r\t".charAt(simple);
            need(text.startsWith("u", at) && at + 4 < text.length(), "an unknown escape");
            String digits = text.substring(at + 1, at + 5);
            need(digits.matches("[0-9a-fA-F]{4}"), "an unknown escape");
            at += 4;
            return (char) Integer.parseInt(digits, 16);
        }

        static String write(Object value) {
            StringBuilder into = new StringBuilder();
            write(value, into);
            return into.toString();
        }

        private static void write(Object value, StringBuilder into) {
            String separator = "";
            if (value instanceof Obj object) {
                into.append('{');
                for (Map.Entry<String, Object> one : object.entrySet()) {
                    into.append(separator);
                    write(one.getKey(), into);
                    into.append(':');
                    write(one.getValue(), into);
                    separator = ",";
                }
                into.append('}');
            } else if (value instanceof Arr array) {
                into.append('[');
                for (Object one : array) {
                    into.append(separator);
                    write(one, into);
                    separator = ",";
                }
                into.append(']');
            } else if (value instanceof String string) {
                into.append('"');
                for (char one : string.toCharArray()) {
                    if (one < ' ' || one == '"' || one == '\\') {
                        into.append(String.format("\\u%04x", (int) one));
                    } else {
                        into.append(one);
                    }
                }
                into.append('"');
            } else {
                into.append(value instanceof Num number ? number.text() : String.valueOf(value));
            }
        }
    }

    // ---- The adapter

    /** An array of Java lies in rows, and its numbers in the machine's own order. */
    private static Input input(Json.Obj entry) {
        byte[] data = java.util.Base64.getDecoder().decode(entry.get("data", String.class));
        if (entry.get("from") != null) data = Elements.toBf16(data);
        List<Long> shape = new ArrayList<>();
        for (Object one : entry.get("shape", Json.Arr.class)) shape.add(size(one));
        Tensor tensor = new Tensor(entry.get("datatype", String.class), shape, data);
        return new Input(entry.get("name", String.class), tensor, "binary".equals(entry.get("form")),
            entry.get("parameters", Json.Obj.class));
    }

    private static List<Output> outputs(Json.Arr entries) {
        if (entries == null) return null;
        List<Output> outputs = new ArrayList<>();
        for (Object one : entries) {
            Json.Obj entry = (Json.Obj) one;
            Boolean binary = entry.get("form") == null ? null : "binary".equals(entry.get("form"));
            outputs.add(new Output(entry.get("name", String.class), binary,
                entry.get("parameters", Json.Obj.class)));
        }
        return outputs;
    }

    /** What the client makes of one request of the task: the line for the bench. */
    private static Json.Obj line(Client client, Json.Obj request) {
        Json.Obj line = new Json.Obj();
        try {
            List<Input> inputs = new ArrayList<>();
            for (Object one : request.get("inputs", Json.Arr.class)) {
                Json.Obj entry = (Json.Obj) one;
                if (!"row-major".equals(entry.get("layout"))) {
                    line.put("unsupported", "Java has no arrays that are " + entry.get("layout"));
                    return line;
                }
                inputs.add(input(entry));
            }
            Result result = client.infer(request.get("model", String.class),
                request.get("version", String.class), request.get("id", String.class),
                request.get("parameters", Json.Obj.class),
                request.get("binary_data_output", Boolean.class), inputs,
                outputs(request.get("outputs", Json.Arr.class)),
                request.get("headers", Json.Obj.class),
                request.get("request_compression", String.class),
                request.get("response_compression", String.class));
            Json.Arr said = new Json.Arr();
            result.outputs.forEach((name, tensor) -> {
                Json.Obj output = new Json.Obj();
                output.put("name", name);
                output.put("datatype", tensor.datatype);
                output.put("shape", Json.array(tensor.shape));
                output.put("data", java.util.Base64.getEncoder().encodeToString(tensor.data));
                said.add(output);
            });
            line.put("outputs", said);
            for (String name : List.of("model_name", "model_version", "id")) {
                String text = result.document.get(name, String.class);
                if (text != null) line.put(name, text);
            }
        } catch (V2Error error) {
            line.put("error", String.valueOf(error.getMessage()));
            if (error.status != null) line.put("status", error.status);
        } catch (IllegalArgumentException error) { // a header field that java.net.http refuses
            line.put("error", String.valueOf(error.getMessage()));
        }
        line.put("headers", request.get("headers"));
        return line;
    }

    /** The lines of a task: its requests in their order, all with one client. */
    private static Json.Arr lines(Json.Obj task) {
        double timeoutS = Double.parseDouble(((Json.Num) task.get("timeout_s")).text());
        Client client = new Client(task.get("url", String.class), timeoutS / 2);
        Json.Obj name = new Json.Obj();
        name.put("name", "java.net.http");
        name.put("version", System.getProperty("java.version"));
        Json.Arr lines = new Json.Arr();
        for (Object request : task.get("requests", Json.Arr.class)) {
            Json.Obj line = line(client, (Json.Obj) request);
            line.put("client", name);
            lines.add(line);
        }
        return lines;
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        if (!"stdin".equals(System.getenv("V2_BENCH_TASKS"))) {
            byte[] task = Files.readAllBytes(Path.of(System.getenv("V2_BENCH_TASK")));
            for (Object line : lines((Json.Obj) Json.parse(task))) out.println(Json.write(line));
            return;
        }
        BufferedReader tasks =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String text = tasks.readLine(); text != null; text = tasks.readLine()) {
            Json.Obj task = (Json.Obj) Json.parse(text.getBytes(StandardCharsets.UTF_8));
            Json.Obj said = new Json.Obj();
            said.put("scenario", task.get("scenario"));
            said.put("lines", lines(task));
            out.println(Json.write(said));
        }
    }
}
