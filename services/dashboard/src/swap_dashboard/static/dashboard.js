// Reloads a page when its data changes.
"use strict";

// One menu is open at a time; Escape closes it and returns the focus.
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

// Scroll the current link of a long row into view: on a phone the menu is wider than the screen.
// Elsewhere it is a column, and the page begins at its top.
if (matchMedia("(max-width: 48rem)").matches)
  document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// A password that is chosen may be read before it is sent. Without this script it stays hidden.
document.querySelectorAll("[data-reveal]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", () => {
    const field = button.form.elements[button.dataset.reveal];
    const isShown = field.type === "password";
    field.type = isShown ? "text" : "password";
    button.textContent = isShown ? "Hide" : "Show";
    button.setAttribute("aria-label", `${button.textContent} the password`);
  });
});

// What a page reads again by itself is no use of the session.
const BACKGROUND = { "X-Background": "1" };
const reload = () =>
  htmx.ajax("GET", location.href, { target: "#live", select: "#live", swap: "outerHTML", headers: BACKGROUND });

// Follows a stream while the page is visible. A stream ends within half a minute, also when the
// session ended: the browser connects again, and after a refusal this does, at growing intervals.
const STREAM_WAIT = 5000;
const STREAM_WAIT_MAX = 60000;
function followStream(address, onEvent) {
  let source = null;
  let wait = STREAM_WAIT;
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource(address);
    source.onopen = () => { wait = STREAM_WAIT; };
    source.onmessage = onEvent;
    source.onerror = () => {
      if (source?.readyState !== EventSource.CLOSED) return;
      source = null;
      setTimeout(open, wait);
      wait = Math.min(wait * 2, STREAM_WAIT_MAX);
    };
  };
  const close = () => {
    source?.close();
    source = null;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
}

// Ages go on by the time that passed since they were rendered: the clocks of browser and server may
// differ. A text node is changed in place, so that a selection stays.
const AGE_UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
const firstSeen = new WeakMap();
function showAge(element) {
  const now = Date.now();
  if (!firstSeen.has(element)) firstSeen.set(element, now);
  const age = Number(element.dataset.age) + Math.floor((now - firstSeen.get(element)) / 1000);
  const seconds = Math.abs(age);
  const [size, unit] = AGE_UNITS.find(([size]) => seconds >= size) ?? AGE_UNITS.at(-1);
  const length = `${Math.floor(seconds / size)} ${unit}`;
  const text = age < 0 ? `in ${length}` : `${length} ago`;
  if (element.textContent !== text) element.firstChild.data = text;
}
const showAges = () => document.querySelectorAll("time[data-age]").forEach(showAge);
showAges();
setInterval(showAges, 1000);
document.addEventListener("visibilitychange", showAges);

// Replaces the cells that have another text.
function updateCells(row, fresh) {
  [...row.cells].forEach((cell, number) => {
    const next = fresh.cells[number];
    const isSelected = getSelection().type === "Range" && getSelection().containsNode(cell, true);
    // The age of a row is no change: it leaves a selection alone.
    if (cell.textContent === next.textContent || (isSelected && cell.querySelector("time"))) return;
    cell.replaceChildren(...next.childNodes);
  });
}

const live = document.querySelector("[data-live]");
if (live) {
  let last = Number(live.dataset.sequence);
  let later = [];
  followStream(live.dataset.live, (event) => {
    const sequence = Number(event.lastEventId);
    if (sequence <= last) return;
    last = sequence;
    reload();
    // Webhooks are sent after their event.
    later.forEach(clearTimeout);
    later = [2000, 8000].map((pause) => setTimeout(reload, pause));
  });
}

// Confirmations grow without an event: their part polls while the page is visible, for twenty
// minutes after it was last shown. Rows stay in place, so that selection and focus do.
const POLL_PAUSE = 3000;
const POLLS_MAX = 400;
let polls = 0;
document.addEventListener("visibilitychange", () => { if (!document.hidden) polls = 0; });
async function pollPart() {
  const part = document.querySelector("[data-poll]");
  if (!part || document.hidden || polls >= POLLS_MAX) return;
  polls += 1;
  const answer = await fetch(part.dataset.poll);
  // After the session ended the answer is the sign-in page.
  if (answer.redirected) polls = POLLS_MAX;
  if (!answer.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body.firstElementChild;
  const rows = [...part.querySelectorAll("tbody tr")];
  const next = [...fresh.querySelectorAll("tbody tr")];
  if (rows.length !== next.length) part.replaceChildren(...fresh.childNodes);
  else rows.forEach((row, number) => updateCells(row, next[number]));
  if (!fresh.matches("[data-poll]")) part.removeAttribute("data-poll");
}
if (document.querySelector("[data-live]")) {
  const pollOn = () => setTimeout(() => pollPart().catch(() => {}).finally(pollOn), POLL_PAUSE);
  pollOn();
}

// A download shows the number of received rows. Without this script the link still downloads.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-export]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (link.dataset.running) return;
  link.dataset.running = "1";
  const state = document.querySelector("[data-export-state]");
  const total = Number(link.dataset.export);
  const parts = [];
  let lines = -1;
  try {
    const answer = await fetch(link.href);
    if (!answer.ok) throw new Error(String(answer.status));
    const reader = answer.body.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(part.value);
      for (const byte of part.value) if (byte === 10) lines += 1;
      const whole = total && total < 10000 ? ` of ${total.toLocaleString("en")}` : "";
      state.textContent = `${Math.max(lines, 0).toLocaleString("en")}${whole} rows`;
    }
    const file = document.createElement("a");
    file.href = URL.createObjectURL(new Blob(parts, { type: "text/csv" }));
    file.download = "swaps.csv";
    file.click();
    setTimeout(() => URL.revokeObjectURL(file.href), 1000);
    state.textContent += ", done";
  } catch {
    state.textContent = "The download failed. Try again.";
  }
  delete link.dataset.running;
});

// A message that is due now changes within seconds; one that is due in hours is not polled.
const WATCHES_MAX = 20;
if (document.querySelector("[data-due]")) {
  let watches = 0;
  const watch = setInterval(async () => {
    watches += 1;
    await reload();
    if (watches >= WATCHES_MAX || !document.querySelector("[data-due]")) clearInterval(watch);
  }, 1500);
}
