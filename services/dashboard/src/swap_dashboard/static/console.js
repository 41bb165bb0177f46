// The console works without scripts; these make it easier to use.
"use strict";

// Escape closes a menu and gives the focus back.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  document.querySelectorAll(".menu[open]").forEach((menu) => {
    menu.open = false;
    menu.querySelector("summary").focus();
  });
});

// A confirmed order is sent once by the server; the button says that it is under way.
document.addEventListener("submit", (event) => {
  const button = event.target.querySelector("[data-once]");
  if (!button) return;
  button.disabled = true;
  button.textContent = "Sending …";
});

// The present part of a long row of links is in sight.
document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
