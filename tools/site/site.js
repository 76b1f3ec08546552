// What the theme leaves out for people who use a keyboard or a screen reader.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
for (const pre of document.querySelectorAll("pre")) pre.tabIndex = 0;
