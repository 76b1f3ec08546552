// A codec of the binary tensor data extension with the standard library: an example to copy.

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;

final class Codec {
    /** `data` is row-major and little-endian. */
    record Tensor(String datatype, List<Long> shape, byte[] data) {}

    record Spec(String name, String datatype, List<Long> shape) {}

    record Model(List<Spec> inputs, List<Spec> outputs, boolean batching) {}

    record Field(String name, String value) {}

    record Message(List<Field> fields, byte[] body) {}

    /** A request as a server reads it; `outputs` are those asked for: is each to be binary? */
    record Request(Map<String, Tensor> inputs, Map<String, Boolean> outputs, String id) {}

    record Response(Map<String, Tensor> outputs, Json.Obj document) {}

    record Sent(String name, Tensor tensor, boolean binary, Json.Obj parameters) {}

    static final class Rejected extends RuntimeException {
        Rejected(String problem) {
            super(problem);
        }
    }

    static void need(boolean condition, String problem) {
        if (!condition) throw new Rejected(problem);
    }

    static final String HEADER_LENGTH = "Inference-Header-Content-Length";

    private static final Map<String, Integer> SIZES = Map.ofEntries(
        Map.entry("BOOL", 1), Map.entry("BYTES", 0),
        Map.entry("UINT8", 1), Map.entry("UINT16", 2), Map.entry("UINT32", 4), Map.entry("UINT64", 8),
        Map.entry("INT8", 1), Map.entry("INT16", 2), Map.entry("INT32", 4), Map.entry("INT64", 8),
        Map.entry("FP16", 2), Map.entry("BF16", 2), Map.entry("FP32", 4), Map.entry("FP64", 8));

    /** A binary floating-point format. */
    private record Format(int bias, int mantissa) {
        /** The bits of a number, rounded once, to nearest even. */
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
            return negative ? bits | (infinity + (1L << mantissa)) : bits; // the bit above the exponent
        }

        double value(long bits) {
            if (bias == 1023) return Double.longBitsToDouble(bits);
            int mask = 2 * bias + 1, exponent = (int) (bits >> mantissa) & mask;
            double sign = bits >> mantissa > mask ? -1 : 1, fraction = bits & ((1L << mantissa) - 1);
            if (exponent == mask) return fraction != 0 ? Double.NaN : sign * Double.POSITIVE_INFINITY;
            if (exponent > 0) fraction += 1L << mantissa;
            return sign * Math.scalb(fraction, Math.max(exponent, 1) - bias - mantissa);
        }
    }

    private static final Map<String, Format> FORMATS = Map.of("FP16", new Format(15, 10),
        "BF16", new Format(127, 7), "FP32", new Format(127, 23), "FP64", new Format(1023, 52));

    // --- elements

    static long count(List<Long> shape) {
        BigInteger product = BigInteger.ONE;
        for (long size : shape) product = product.multiply(BigInteger.valueOf(size));
        return product.bitLength() < 64 ? product.longValue() : Long.MAX_VALUE;
    }

    private static void put(ByteArrayOutputStream blob, long bits, int size) {
        for (int n = 0; n < size; n++) blob.write((int) (bits >> 8 * n));
    }

    private static long get(byte[] blob, int at, int size) {
        long bits = 0;
        for (int n = size - 1; n >= 0; n--) bits = bits << 8 | blob[at + n] & 0xff;
        return bits;
    }

    private static void putBytes(ByteArrayOutputStream blob, byte[] element) {
        put(blob, element.length, 4);
        blob.writeBytes(element);
    }

    private static List<byte[]> decodeBytes(byte[] blob, long count) {
        List<byte[]> elements = new ArrayList<>();
        for (int at = 0; at < blob.length; ) {
            need(blob.length - at >= 4, "a length is cut off");
            long length = get(blob, at, 4);
            at += 4;
            need(length <= blob.length - at, "an element ends past its blob");
            elements.add(Arrays.copyOfRange(blob, at, at + (int) length));
            at += (int) length;
        }
        need(elements.size() == count, "wrong number of elements");
        return elements;
    }

    static void checkBlob(Tensor tensor) {
        byte[] blob = tensor.data;
        long n = count(tensor.shape);
        int size = SIZES.get(tensor.datatype);
        if (tensor.datatype.equals("BYTES")) {
            decodeBytes(blob, n);
            return;
        }
        need(blob.length % size == 0 && blob.length / size == n, "size contradicts shape");
        if (tensor.datatype.equals("BOOL")) {
            for (byte one : blob) need(one == 0 || one == 1, "a BOOL byte is neither 0 nor 1");
        }
    }

    /** The elements: byte[] for BYTES, Boolean, Double, and Json.Num for integers. */
    static List<Object> elements(Tensor tensor) {
        if (tensor.datatype.equals("BYTES")) {
            return new ArrayList<>(decodeBytes(tensor.data, count(tensor.shape)));
        }
        List<Object> found = new ArrayList<>();
        int size = SIZES.get(tensor.datatype), unused = 64 - 8 * size;
        for (int at = 0; at < tensor.data.length; at += size) {
            long bits = get(tensor.data, at, size);
            found.add(switch (tensor.datatype.charAt(0)) {
                case 'U' -> new Json.Num(Long.toUnsignedString(bits));
                case 'I' -> new Json.Num(Long.toString(bits << unused >> unused));
                default -> tensor.datatype.equals("BOOL")
                    ? (Object) (bits != 0)
                    : (Object) FORMATS.get(tensor.datatype).value(bits);
            });
        }
        return found;
    }

    /** BF16 elements as bytes, each the nearest to one of FP32. */
    static byte[] toBf16(byte[] float32) {
        ByteArrayOutputStream blob = new ByteArrayOutputStream();
        for (Object one : elements(new Tensor("FP32", List.of(), float32))) {
            put(blob, FORMATS.get("BF16").round((Double) one), 2);
        }
        return blob.toByteArray();
    }

    /** Member `data` of a tensor. */
    static Json.Arr toJson(Tensor tensor) {
        Json.Arr found = new Json.Arr();
        for (Object one : elements(tensor)) {
            if (one instanceof byte[] bytes) {
                found.add(strict(() -> Json.fromUtf8(bytes)));
            } else if (one instanceof Double number) {
                need(Double.isFinite(number), "a number is not finite");
                found.add(new Json.Num(number.toString()));
            } else {
                found.add(one);
            }
        }
        return found;
    }

    /** Return what it gives; what is broken is rejected. */
    private static <T> T strict(Supplier<T> what) {
        try {
            return what.get();
        } catch (Json.Broken error) {
            throw new Rejected(error.getMessage());
        }
    }

    /** The elements of `data`, which is flat or nested as the shape. */
    static Json.Arr flat(Object data, List<Long> shape) {
        need(data instanceof Json.Arr, "`data` is not an array");
        Json.Arr items = (Json.Arr) data;
        if (items.stream().anyMatch(item -> item instanceof Json.Arr)) {
            for (int axis = 1; axis < shape.size(); axis++) {
                Json.Arr inner = new Json.Arr();
                for (Object item : items) {
                    need(item instanceof Json.Arr row && row.size() == shape.get(axis), "wrong nesting");
                    inner.addAll((Json.Arr) item);
                }
                items = inner;
            }
        }
        need(items.size() == count(shape), "wrong number of elements");
        return items;
    }

    /** A JSON number that is an integer of at most 64 bits; 3.0 and 1e2 are. */
    private static BigInteger whole(Object value) {
        need(value instanceof Json.Num number && number.text().length() < 400, "expected an integer");
        try {
            BigDecimal exact = new BigDecimal(((Json.Num) value).text()).stripTrailingZeros();
            need(exact.scale() <= 0, "expected an integer");
            need((long) exact.precision() - exact.scale() <= 20, "out of range");
            return exact.toBigIntegerExact();
        } catch (ArithmeticException | NumberFormatException error) {
            throw new Rejected("out of range"); // its exponent has over 32 bits
        }
    }

    /** The blob that `data` stands for. */
    static byte[] fromJson(String datatype, List<Long> shape, Object data) {
        ByteArrayOutputStream blob = new ByteArrayOutputStream();
        int size = SIZES.get(datatype);
        Format format = FORMATS.get(datatype);
        for (Object value : flat(data, shape)) {
            if (datatype.equals("BYTES")) {
                need(value instanceof String, "expected strings");
                putBytes(blob, strict(() -> Json.toUtf8((String) value)));
            } else if (datatype.equals("BOOL")) {
                need(value instanceof Boolean, "expected true or false");
                blob.write((Boolean) value ? 1 : 0);
            } else if (format != null) {
                need(value instanceof Json.Num, "expected numbers");
                long bits = format.round(Double.parseDouble(((Json.Num) value).text()));
                need(Double.isFinite(format.value(bits)), "out of range");
                put(blob, bits, size);
            } else {
                BigInteger integer = whole(value);
                boolean unsigned = datatype.startsWith("U"); // bitLength leaves out the sign
                need(integer.bitLength() <= 8 * size - (unsigned ? 0 : 1), "out of range");
                need(!unsigned || integer.signum() >= 0, "out of range");
                put(blob, integer.longValue(), size);
            }
        }
        return blob.toByteArray();
    }

    // --- messages

    static Json.Obj parse(byte[] text) {
        Object document = strict(() -> Json.parse(text));
        need(document instanceof Json.Obj, "not an object");
        return (Json.Obj) document;
    }

    static List<String> valuesOf(List<Field> fields, String name) {
        return fields.stream().filter(one -> one.name.equalsIgnoreCase(name))
            .map(one -> one.value.replaceAll("^[ \t]+|[ \t]+$", "")).toList();
    }

    /** The JSON, null in a raw request, and what follows it. */
    record Parts(byte[] text, ByteBuffer blobs) {}

    static Parts split(List<Field> fields, byte[] body) {
        List<String> values = valuesOf(fields, HEADER_LENGTH);
        if (values.isEmpty()) return new Parts(body, ByteBuffer.allocate(0));
        need(values.stream().distinct().count() == 1, "conflicting header lengths");
        need(values.get(0).matches("[0-9]{1,400}"), "header length is not a number");
        BigInteger length = new BigInteger(values.get(0));
        need(length.compareTo(BigInteger.valueOf(body.length)) <= 0, "header length is past the body");
        ByteBuffer blobs = ByteBuffer.wrap(body).position(length.intValue());
        return new Parts(blobs.position() == 0 ? null : Arrays.copyOf(body, blobs.position()), blobs);
    }

    /** Says what its base class ignores: bytes behind the last member. */
    private static final class Gzip extends GZIPInputStream {
        Gzip(byte[] body) throws IOException {
            super(new ByteArrayInputStream(body), Math.max(body.length, 1)); // all in one buffer
        }

        int left() {
            return inf.getRemaining() - 8; // of the last member: its checksum and length
        }
    }

    /** The body without its content coding. */
    static byte[] decoded(List<Field> fields, byte[] body) {
        try {
            for (String coding : valuesOf(fields, "Content-Encoding")) {
                switch (coding.toLowerCase(Locale.ROOT)) {
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
                    case "identity" -> {}
                    default -> throw new Rejected("unknown content coding");
                }
            }
            return body;
        } catch (IOException error) {
            throw new Rejected("the content coding is broken");
        }
    }

    /** The member, null if it is not there; of another type it is an error. */
    private static <T> T member(Json.Obj entry, String name, Class<T> type) {
        T value = entry.get(name, type);
        need(value != null || !entry.containsKey(name), "`" + name + "` has the wrong type");
        return value;
    }

    private static Json.Obj parameters(Json.Obj entry) {
        Json.Obj found = member(entry, "parameters", Json.Obj.class);
        return found == null ? new Json.Obj() : found;
    }

    static boolean flag(Json.Obj entry, String name, boolean byDefault) {
        Boolean value = member(parameters(entry), name, Boolean.class);
        return value == null ? byDefault : value;
    }

    static List<Long> shapeOf(Json.Obj entry) {
        need(entry.get("shape") instanceof Json.Arr, "`shape` is not an array");
        List<Long> shape = new ArrayList<>();
        for (Object item : (Json.Arr) entry.get("shape")) {
            boolean isSize = item instanceof Json.Num number && number.text().matches("[0-9]{1,18}");
            need(isSize, "a dimension is not a size");
            shape.add(Long.parseLong(((Json.Num) item).text()));
        }
        return shape;
    }

    private static Json.Obj objectOf(Object entry) {
        need(entry instanceof Json.Obj, "an entry is not an object");
        return (Json.Obj) entry;
    }

    /** The tensor of an entry; its blob is taken from the front of `blobs`. */
    static Tensor take(Json.Obj entry, String datatype, List<Long> shape, ByteBuffer blobs) {
        boolean hasData = entry.containsKey("data");
        Json.Obj parameters = parameters(entry);
        boolean hasSize = parameters.containsKey("binary_data_size");
        need(hasData || hasSize, "neither data nor a size");
        need(!hasData || !hasSize, "both data and a size");
        if (hasData) return new Tensor(datatype, shape, fromJson(datatype, shape, entry.get("data")));
        BigInteger size = whole(parameters.get("binary_data_size"));
        boolean fits = size.signum() >= 0 && size.compareTo(BigInteger.valueOf(blobs.remaining())) <= 0;
        need(fits, "a blob ends past the body");
        byte[] blob = new byte[size.intValue()];
        blobs.get(blob);
        Tensor tensor = new Tensor(datatype, shape, blob);
        checkBlob(tensor);
        return tensor;
    }

    private static Spec find(List<Spec> specs, String name) {
        return specs.stream().filter(one -> one.name.equals(name)).findFirst().orElse(null);
    }

    static Request decodeRequest(Model model, List<Field> fields, byte[] body) {
        Parts parts = split(fields, decoded(fields, body));
        if (parts.text == null) {
            return new Request(decodeRaw(model, parts.blobs.array()), allOf(model, true), "");
        }
        Json.Obj document = parse(parts.text);
        Map<String, Tensor> inputs = new LinkedHashMap<>();
        need(document.get("inputs") instanceof Json.Arr, "`inputs` is not an array");
        for (Object item : (Json.Arr) document.get("inputs")) {
            Json.Obj entry = objectOf(item);
            String name = member(entry, "name", String.class);
            List<Long> shape = shapeOf(entry);
            Spec spec = find(model.inputs, name);
            need(spec != null && !inputs.containsKey(name), "not an input, or there twice");
            need(spec.datatype.equals(entry.get("datatype")), "not the model's datatype");
            need(shape.size() == spec.shape.size(), "not the model's shape");
            for (int axis = 0; axis < shape.size(); axis++) {
                long size = spec.shape.get(axis);
                need(size == -1 || size == shape.get(axis), "not the model's shape");
            }
            inputs.put(name, take(entry, spec.datatype, shape, parts.blobs));
        }
        need(inputs.size() == model.inputs.size(), "an input is missing");
        need(!parts.blobs.hasRemaining(), "bytes are left over");
        String id = member(document, "id", String.class);
        return new Request(inputs, wanted(model, document), id == null ? "" : id);
    }

    private static Map<String, Tensor> decodeRaw(Model model, byte[] body) {
        need(model.inputs.size() == 1, "a raw request has one input");
        Spec spec = model.inputs.get(0);
        List<Long> shape = new ArrayList<>(spec.shape);
        if (model.batching) shape.set(0, 1L);
        int variable = shape.indexOf(-1L);
        need(variable == shape.lastIndexOf(-1L), "more than one variable dimension");
        if (spec.datatype.equals("BYTES")) {
            need(variable < 0 && count(shape) == 1, "a raw BYTES input has one element");
            ByteArrayOutputStream blob = new ByteArrayOutputStream();
            putBytes(blob, body);
            body = blob.toByteArray();
        } else if (variable >= 0) {
            shape.set(variable, 1L);
            long each = SIZES.get(spec.datatype) * count(shape);
            need(each > 0 && body.length % each == 0, "not a whole number of elements");
            shape.set(variable, body.length / each);
        }
        Tensor tensor = new Tensor(spec.datatype, shape, body);
        checkBlob(tensor);
        return Map.of(spec.name, tensor);
    }

    private static Map<String, Boolean> allOf(Model model, boolean binary) {
        Map<String, Boolean> found = new LinkedHashMap<>();
        for (Spec spec : model.outputs) found.put(spec.name, binary);
        return found;
    }

    /** The outputs that a request asks for, and whether each is to be binary. */
    private static Map<String, Boolean> wanted(Model model, Json.Obj document) {
        boolean byDefault = flag(document, "binary_data_output", false);
        Json.Arr listed = member(document, "outputs", Json.Arr.class);
        if (listed == null || listed.isEmpty()) return allOf(model, byDefault);
        Map<String, Boolean> found = new LinkedHashMap<>();
        for (Object item : listed) {
            Json.Obj entry = objectOf(item);
            String name = member(entry, "name", String.class);
            need(find(model.outputs, name) != null, "not an output");
            need(found.put(name, flag(entry, "binary_data", byDefault)) == null, "an output is there twice");
        }
        return found;
    }

    /** The entry of a tensor; its blob goes to the end of `blobs`. */
    private static Json.Obj entryOf(Sent sent, ByteArrayOutputStream blobs) {
        Json.Obj entry = new Json.Obj(), own = new Json.Obj();
        entry.put("name", sent.name);
        entry.put("datatype", sent.tensor.datatype);
        Json.Arr shape = new Json.Arr();
        shape.addAll(sent.tensor.shape);
        entry.put("shape", shape);
        own.putAll(sent.parameters);
        own.remove("binary_data_size");
        if (sent.binary) {
            own.put("binary_data_size", sent.tensor.data.length);
            blobs.writeBytes(sent.tensor.data);
        } else {
            entry.put("data", toJson(sent.tensor));
        }
        if (!own.isEmpty()) entry.put("parameters", own);
        return entry;
    }

    private static Message written(Json.Obj document, String key, List<Sent> tensors) {
        ByteArrayOutputStream blobs = new ByteArrayOutputStream(), body = new ByteArrayOutputStream();
        Json.Arr entries = new Json.Arr();
        for (Sent one : tensors) entries.add(entryOf(one, blobs));
        document.put(key, entries);
        body.writeBytes(strict(() -> Json.toUtf8(Json.write(document))));
        List<Field> fields = new ArrayList<>();
        if (tensors.stream().anyMatch(Sent::binary)) {
            fields.add(new Field("Content-Type", "application/octet-stream"));
            fields.add(new Field(HEADER_LENGTH, String.valueOf(body.size())));
            body.writeBytes(blobs.toByteArray());
        } else {
            fields.add(new Field("Content-Type", "application/json"));
        }
        return new Message(fields, body.toByteArray());
    }

    static Message encodeResponse(String name, Model model, Map<String, Tensor> tensors, Json.Obj asked) {
        Json.Obj document = new Json.Obj();
        document.put("model_name", name);
        if (asked.containsKey("id")) document.put("id", asked.get("id"));
        boolean raw = Boolean.TRUE.equals(asked.get("raw"));
        List<Sent> sent = new ArrayList<>();
        (raw ? allOf(model, true) : wanted(model, asked)).forEach((output, binary) ->
            sent.add(new Sent(output, tensors.get(output), binary, new Json.Obj())));
        return written(document, "outputs", sent);
    }

    /** `compression` is gzip, deflate or null. */
    static Message encodeRequest(List<Sent> tensors, Json.Obj asked, String compression) {
        Json.Obj document = new Json.Obj();
        for (String name : List.of("id", "parameters", "outputs")) {
            if (asked.containsKey(name)) document.put(name, asked.get(name));
        }
        Message message = written(document, "inputs", tensors);
        if (compression == null) return message;
        ByteArrayOutputStream coded = new ByteArrayOutputStream();
        try (OutputStream coder = compression.equals("gzip")
                ? new GZIPOutputStream(coded) : new DeflaterOutputStream(coded)) {
            coder.write(message.body);
        } catch (IOException error) {
            throw new IllegalStateException(error); // memory never fails so
        }
        message.fields.add(new Field("Content-Encoding", compression));
        return new Message(message.fields, coded.toByteArray());
    }

    /** The outputs whose names were asked for have to be there. */
    static Response decodeResponse(long status, List<Field> fields, byte[] coded, List<String> asked) {
        byte[] body = decoded(fields, coded);
        String answer = "status " + status + ": " + new String(body, StandardCharsets.UTF_8);
        need(status >= 200 && status < 300, answer);
        Parts parts = split(fields, body);
        need(parts.text != null, "header length 0");
        Json.Obj document = parse(parts.text);
        need(document.get("outputs") instanceof Json.Arr, "no outputs: " + document.get("error"));
        Map<String, Tensor> outputs = new LinkedHashMap<>();
        for (Object item : (Json.Arr) document.get("outputs")) {
            Json.Obj entry = objectOf(item);
            if (entry.get("parameters") == null) entry.remove("parameters");
            if (parameters(entry).get("binary_data_size") != null) entry.remove("data"); // a size counts
            String name = member(entry, "name", String.class);
            String datatype = member(entry, "datatype", String.class);
            need(name != null && datatype != null && SIZES.containsKey(datatype), "unknown datatype");
            need(!outputs.containsKey(name), "an output is there twice");
            outputs.put(name, take(entry, datatype, shapeOf(entry), parts.blobs));
        }
        need(outputs.keySet().containsAll(asked), "an output is missing");
        need(!parts.blobs.hasRemaining(), "bytes are left over");
        return new Response(outputs, document);
    }
}
