// Loads a page anew when something happened to what it shows.
"use strict";

// One menu is open at a time; Escape closes it and gives the focus back.
document.addEventListener("toggle", (event) => {
  if (!event.target.matches(".menu") || !event.target.open) return;
  document.querySelectorAll(".menu[open]").forEach((menu) => {
    if (menu !== event.target) menu.open = false;
  });
}, true);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  document.querySelectorAll(".menu[open]").forEach((menu) => {
    menu.open = false;
    menu.querySelector("summary").focus();
  });
});

const reload = () =>
  htmx.ajax("GET", location.href, { target: "#live", select: "#live", swap: "outerHTML" });

const live = document.querySelector("[data-live]");
if (live) {
  let last = Number(live.dataset.sequence);
  let later = [];
  const source = new EventSource(live.dataset.live);
  source.onmessage = (event) => {
    const sequence = Number(event.lastEventId);
    if (sequence <= last) return;
    last = sequence;
    reload();
    // Webhooks are sent after the event that they are about.
    later.forEach(clearTimeout);
    later = [2000, 8000].map((pause) => setTimeout(reload, pause));
  };
  window.addEventListener("pagehide", () => source.close());
}

// A message that is due changes within seconds; one that is due in hours is not watched.
const WATCHES_MAX = 20;
if (document.querySelector("[data-due]")) {
  let watches = 0;
  const watch = setInterval(async () => {
    watches += 1;
    await reload();
    if (watches >= WATCHES_MAX || !document.querySelector("[data-due]")) clearInterval(watch);
  }, 1500);
}
