// The console works without scripts; these make it easier to use.
"use strict";

// Escape closes a menu and returns the focus.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  document.querySelectorAll(".menu[open]").forEach((menu) => {
    menu.open = false;
    menu.querySelector("summary").focus();
  });
});

// The server sends a confirmed order once; the button shows that it is in progress.
document.addEventListener("submit", (event) => {
  const button = event.target.querySelector("[data-once]");
  if (!button) return;
  button.disabled = true;
  button.textContent = "Sending …";
});

// Scroll the current link of a long row into view: on a phone the menu is wider than the screen.
// Elsewhere it is a column, and the page begins at its top.
if (matchMedia("(max-width: 48rem)").matches)
  document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
