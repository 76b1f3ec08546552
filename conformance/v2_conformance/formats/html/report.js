"use strict";
(function () {
  function all(selector, root) { return Array.from((root || document).querySelectorAll(selector)); }
  function byId(name) { return document.getElementById(name); }
  var find = byId("find"), found = byId("found");
  var choices = ["outcome", "level", "family"].map(byId);
  var items = null, keeping = null;

  function filter() {
    items = items || all("[data-outcome]").map(function (element) {
      return { element: element, key: element.querySelector(".key") || element, text: null };
    });
    var words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    var active = choices.filter(function (choice) { return choice.value; });
    var rows = 0, cases = 0;
    items.forEach(function (item) {
      if (words.length && item.text === null) item.text = item.key.textContent.toLowerCase();
      var shown = active.every(function (choice) { return item.element.dataset[choice.id] === choice.value; }) &&
        words.every(function (word) { return item.text.includes(word); });
      item.element.hidden = !shown;
      if (shown) { if (item.element.tagName === "TR") rows += 1; else cases += 1; }
    });
    var filtering = words.length + active.length > 0;
    all(".group").reverse().forEach(function (group) {
      var some = group.querySelector("[data-outcome]:not([hidden])") !== null;
      group.hidden = filtering && !some;
      if (group.tagName !== "DETAILS") return;
      if (filtering && some && !group.open) { group.open = true; group.dataset.opened = "1"; }
      if (!filtering && group.dataset.opened) { group.open = false; delete group.dataset.opened; }
    });
    byId("nothing").hidden = rows + cases > 0;
    byId("clear").hidden = !filtering;
    found.value = filtering ? rows + (rows === 1 ? " requirement, " : " requirements, ") +
      cases + (cases === 1 ? " case" : " cases") : "";
  }

  function clear() {
    find.value = "";
    choices.forEach(function (choice) { choice.value = ""; });
    filter();
  }

  function show() {
    var name = location.hash.slice(1), target = byId(name);
    try { target = target || byId(decodeURIComponent(name)); } catch (error) { /* no such anchor */ }
    if (!name || !target) return;
    if (target.closest("[hidden]")) clear();
    for (var up = target; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    var bytes = target.querySelector("details.bytes");
    if (bytes) bytes.open = true;
    target.setAttribute("tabindex", "-1");
    target.focus({ preventScroll: true });
    keep(target);
  }

  // What is out of sight has only an estimated height, and moves the target when it is laid out:
  // hold the target in its place until it rests, or the reader moves on.
  function keep(target) {
    var still = 0, frames = 0, last = null;
    keeping = target;
    (function scroll() {
      if (keeping !== target) return;
      target.scrollIntoView();
      var top = target.getBoundingClientRect().top;
      still = top === last ? still + 1 : 0;
      last = top;
      frames += 1;
      if (still < 10 && frames < 300) requestAnimationFrame(scroll);
    })();
  }

  function copy(button) {
    var source = byId(button.getAttribute("aria-controls")), text = source.textContent;
    function say(words) { button.textContent = words; }
    function select() {
      getSelection().selectAllChildren(source);
      say(document.execCommand("copy") ? "Copied" : "Selected");
    }
    if (!navigator.clipboard) select();
    else navigator.clipboard.writeText(text).then(function () { say("Copied"); }, select);
  }

  byId("filter").hidden = false;
  find.addEventListener("input", filter);
  choices.forEach(function (choice) { choice.addEventListener("change", filter); });
  byId("clear").addEventListener("click", function () { clear(); find.focus(); });
  document.addEventListener("click", function (event) {
    if (event.target.matches("button.copy")) copy(event.target);
  });
  ["wheel", "keydown", "pointerdown", "touchstart"].forEach(function (kind) {
    addEventListener(kind, function () { keeping = null; }, { passive: true });
  });
  addEventListener("hashchange", show);
  addEventListener("load", show);
  show();
})();
