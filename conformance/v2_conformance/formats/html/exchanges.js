"use strict";
// What a case shows once it is opened: what it expected and got, its bytes, and how to send them again.
// Everything from a report becomes a text node, with hidden characters spelled out.
var Exchanges = (function () {
  // What does not print, or reorders what does, is spelled out.
  function visible(text) {
    return text.replace(/(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/gu, function (character) {
      var code = character.codePointAt(0).toString(16);
      return code.length < 3 ? "\\x" + code.padStart(2, "0") : "\\u" + code.padStart(4, "0");
    });
  }

  function made(tag, text, style) {
    var element = document.createElement(tag);
    if (text) element.textContent = visible(String(text));
    if (style) element.className = style;
    return element;
  }

  // What stands between backticks on one line, as code.
  function coded(tag, text, style) {
    var element = made(tag, "", style);
    text.split(/`([^`\n]+)`/).forEach(function (piece, n) {
      if (piece) element.append(n % 2 ? made("code", piece) : visible(piece));
    });
    return element;
  }

  // The rows of a hexdump, from the offset of the first byte and the digits of all.
  function rows(text) {
    var parts = text.split(" "), base = parseInt(parts[0], 16);
    return parts[1].match(/.{1,32}/g).map(function (digits, n) {
      var bytes = digits.match(/../g), signs = bytes.map(function (byte) {
        var code = parseInt(byte, 16);
        return code > 31 && code < 127 ? String.fromCharCode(code) : ".";
      });
      return (base + 16 * n).toString(16).padStart(6, "0") + "  " + bytes.join(" ").padEnd(47) + "  " + signs.join("") + "\n";
    }).join("");
  }

  // A section of a message: what is in these objects is said in shown.py.
  function part(box, one) {
    box.append(made("h6", one.title, "k-" + one.look));
    if (one.runs.length) {
      var lines = made("pre", "", (one.is_text ? "text k-" : "hex k-") + one.look);
      lines.tabIndex = 0;
      one.runs.forEach(function (run) {
        if (run[0] === "hex") lines.append(rows(run[1]));
        else lines.append(run[0] ? made(run[0] === "wrong" ? "mark" : "span", run[1], run[0]) : visible(run[1]));
      });
      box.append(lines);
    }
    if (one.sha256) {
      var digest = made("p", "SHA-256 of the whole: ", "hash");
      digest.append(made("code", one.sha256));
      box.append(digest);
    }
  }

  // A message as a bar, drawn to scale: its parts, where its header length cuts, where its JSON ends if
  // that is elsewhere, and the first byte that differs. The headings below say the same in words.
  function bar(message) {
    var box = made("div", "", "layout"), named = 0;
    message.parts.forEach(function (one) {
      if (!one.size) return;
      var piece = made("span", "", "k-" + one.look);
      piece.style.flexGrow = one.size;
      piece.title = one.title;
      box.append(piece);
    });
    message.ticks.forEach(function (mark) {
      var share = Math.min(1, mark[0] / message.size), tick = made("span", "", "tick " + mark[2]);
      tick.style.insetInlineStart = share * 100 + "%";
      if (mark[1]) tick.append(made("span", mark[1], (share > 0.5 ? "late" : "") + " row" + named++));
      box.append(tick);
    });
    box.classList.add("named" + named);
    box.setAttribute("aria-hidden", "true");
    return box;
  }

  function list(texts, tag) {
    var box = made("ul", "", "notes");
    texts.forEach(function (text) {
      box.append(made("li"));
      box.lastChild.append(made(tag, text));
    });
    return box;
  }

  function exchange(one, number, of, requestFirst) {
    var box = made("details", "", "exchange"), summary = made("summary");
    var title = "Exchange " + number + " of " + of;
    summary.append(made("h4", one.title ? title + ": " + one.title : title));
    box.append(summary, made("p", one.facts, "small dim"));
    box.open = number === 1 || !one.complete;
    (requestFirst ? one.messages : one.messages.slice().reverse()).forEach(function (message) {
      var piece = made("div", "", "message-bytes");
      piece.append(made("h5", message.title));
      if (message.notes.length) piece.append(list(message.notes, "span"));
      if (message.size) piece.append(bar(message));
      message.parts.forEach(function (one) { part(piece, one); });
      box.append(piece);
    });
    return box;
  }

  function difference(found) {
    var box = made("div", "", "difference"), table = made("table"), head = made("tr"), top = made("thead"), rows = made("tbody");
    table.setAttribute("aria-label", "The element as expected and as received");
    head.append(made("td"));
    ["Value", "Bytes in wire order"].forEach(function (name) {
      head.append(made("th", name));
      head.lastChild.scope = "col";
    });
    found.sides.forEach(function (side) {
      var row = made("tr"), name = made("th", side[0]);
      name.scope = "row";
      row.append(name);
      side.slice(1).forEach(function (value) {
        row.append(made("td"));
        row.lastChild.append(made("code", value || "(none)"));
      });
      rows.append(row);
    });
    top.append(head);
    table.append(top, rows);
    var scroll = made("div", "", "scroll");
    scroll.append(table);
    box.append(made("p", "First differing byte: " + found.where), scroll);
    return box;
  }

  function replay(command, name) {
    var box = made("div", "", "replay"), button = made("button", "Copy", "copy"), text = made("pre", command, "text");
    text.id = "replay-" + name;
    text.tabIndex = 0;
    button.type = "button";
    button.setAttribute("aria-controls", text.id);
    box.append(made("h4", "Replay"), button, text);
    return box;
  }

  // All that is shown of a case: `name` is its anchor, `link` makes a link to a case.
  function show(box, shown, name, link, requestFirst) {
    if (shown.difference) box.append(difference(shown.difference));
    if (shown.said.length) box.append(made("h4", "What the client said"), list(shown.said, "code"));
    if (shown.survival) box.append(made("p", shown.survival, "small"));
    if (shown.elsewhere.length) {
      var elsewhere = made("p", "Exchanges: ");
      shown.elsewhere.forEach(function (id, n) { elsewhere.append(n ? ", " : "", link(id)); });
      box.append(elsewhere);
    }
    shown.exchanges.forEach(function (one, n) {
      box.append(exchange(one, n + 1, shown.exchanges.length, requestFirst));
    });
    if (shown.replay) box.append(replay(shown.replay, name));
  }

  // The lines of packed.py, once somebody has opened a case.
  var unpacking = null;
  function unpack() {
    var text = document.getElementById("packed").textContent;
    var bytes = Uint8Array.from(atob(text), function (character) { return character.charCodeAt(0); });
    var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text().then(function (lines) { return lines.split("\n"); });
  }

  // What is shown of the case in this place of the page's list; null if that is not here.
  function shownAt(place) {
    unpacking = unpacking || new Promise(function (done) { done(unpack()); });
    return unpacking.then(function (lines) { return lines[place] ? JSON.parse(lines[place]) : null; });
  }

  return { made: made, coded: coded, show: show, shownAt: shownAt };
})();
