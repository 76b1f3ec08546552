// Added to pytest-html's page. It runs before pytest-html's own script, which makes the rows from a
// template, so that what the template gets here every row has, however often they are drawn again.
"use strict";
{
  const scrolls = (box, label) => {
    box.tabIndex = 0; // so that the keyboard gets there
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", label);
  };
  document.documentElement.lang = "en";
  const row = document.getElementById("template_results-table__tbody")?.content;
  for (const [name, label] of [[".logwrapper", "Log"], [".extraHTML", "Extra"]]) {
    const box = row?.querySelector(name);
    if (box) scrolls(box, label);
  }
  document.addEventListener("DOMContentLoaded", () => {
    for (const box of document.querySelectorAll(".filters input")) {
      const words = box.nextElementSibling;
      const label = document.createElement("label");
      box.before(label);
      label.append(box, words);
    }
    // pytest-html opens a list where it means to close one.
    for (const list of document.querySelectorAll("#environment ul > ul:empty")) list.remove();
    for (const box of document.querySelectorAll(".additional-summary")) {
      if (box.scrollWidth > box.clientWidth) scrolls(box, "Summary");
    }
    const main = document.createElement("main");
    main.append(...document.body.childNodes);
    document.body.append(main);
  });
}
