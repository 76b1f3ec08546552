"use strict";
// What a case shows once it is opened: what it expected and got, its bytes, and how to send them again.
// Everything from a report becomes a text node; its hidden characters are spelled out already.
const Exchanges = (() => {
  // An element with these children, elements or texts; those that are empty are left out.
  function made(tag, style, ...children) {
    const element = document.createElement(tag);
    if (style) element.className = style;
    for (const child of children.flat()) if (child) element.append(child);
    return element;
  }

  // What stands between backticks on one line, as code.
  function coded(tag, style, text) {
    return made(tag, style, text.split(/`([^`\n]+)`/).map((piece, n) => n % 2 ? made("code", "", piece) : piece));
  }

  // The rows of a hexdump, from the offset of the first byte and the digits of all.
  function rows(text) {
    const [offset, digits] = text.split(" "), base = parseInt(offset, 16);
    return digits.match(/.{1,32}/g).map((row, n) => {
      const bytes = row.match(/../g), codes = bytes.map(byte => parseInt(byte, 16));
      const signs = codes.map(code => code > 31 && code < 127 ? String.fromCharCode(code) : ".").join("");
      return `${(base + 16 * n).toString(16).padStart(6, "0")}  ${bytes.join(" ").padEnd(47)}  ${signs}\n`;
    }).join("");
  }

  // A section of a message: what is in these objects is explained in shown.py.
  function part(one) {
    const lines = made("pre", (one.is_text ? "text k-" : "hex k-") + one.look, one.runs.map(([look, text]) =>
      look === "hex" ? rows(text) : look ? made(look === "wrong" ? "mark" : "span", look, text) : text));
    lines.tabIndex = 0;
    return [
      made("h6", "k-" + one.look, one.title), one.runs.length && lines,
    ];
  }

  // A message as a bar of its parts, drawn to scale. The headings below say the same in words.
  function bar(message) {
    const pieces = message.parts.filter(one => one.size).map(one => {
      const piece = made("span", "k-" + one.look);
      piece.style.flexGrow = one.size;
      piece.title = one.title;
      return piece;
    });
    const box = made("div", "layout", pieces);
    box.setAttribute("aria-hidden", "true");
    return box;
  }

  function list(texts, tag) {
    return texts.length && made("ul", "notes", texts.map(text => made("li", "", made(tag, "", text))));
  }

  function exchange(one, number, of, requestFirst) {
    const title = `Exchange ${number} of ${of}`, messages = one.messages.map(message => made("div", "message-bytes",
      made("h5", "", message.title), list(message.notes, "span"), message.size && bar(message), message.parts.flatMap(part)));
    const box = made("details", "exchange", made("summary", "", made("h4", "", one.title ? `${title}: ${one.title}` : title)),
      made("p", "small dim", one.facts), requestFirst ? messages : messages.reverse());
    box.open = number === 1 || !one.complete;
    return box;
  }

  function replay(command, name) {
    const button = made("button", "copy", "Copy"), text = made("pre", "text", command);
    text.id = "replay-" + name;
    text.tabIndex = 0;
    button.type = "button";
    button.setAttribute("aria-controls", text.id);
    return made("div", "replay", made("h4", "", "Replay"), button, text);
  }

  // All that is shown of a case: `again` is the command that sends it again, `name` its anchor, and
  // `elsewhere` are links to the cases whose exchanges it is about.
  function all(shown, again, name, elsewhere, requestFirst) {
    const [first, ...sides] = shown.difference;
    return [
      first && made("div", "difference", made("p", "", `First differing byte: ${first}`), sides.map(side => made("p", "", made("code", "", side)))),
      shown.client.length && made("h4", "", "What the client said"), list(shown.client, "code"),
      shown.survival && made("p", "small", shown.survival),
      elsewhere.length && made("p", "", "Exchanges: ", elsewhere.flatMap((link, n) => [n && ", ", link])),
      shown.exchanges.map((one, n) => exchange(one, n + 1, shown.exchanges.length, requestFirst)),
      again && replay(again, name),
    ].flat().filter(Boolean);
  }

  // What cases.py packed: for each case what is listed of it, and what is shown of it.
  async function unpacked() {
    const bytes = Uint8Array.from(atob(document.getElementById("packed").textContent), sign => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const [rows, ...shown] = bytes.length ? (await new Response(stream).text()).split("\n") : ["[]"];
    return JSON.parse(rows).map((row, n) => ({ ...row, shown: shown[n] }));
  }

  return { made, coded, all, unpacked };
})();
