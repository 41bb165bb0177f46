// Copies texts, counts the time down, and shows what changes without loading the page anew.
const pay = document.getElementById("pay");
const POLL_MILLISECONDS = 3000;
const ENDS = ["completed", "failed", "expired", "refunded"];

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    return; // the text stands beside it
  }
  const label = button.textContent;
  button.classList.add("copied");
  if (label) button.textContent = button.dataset.copied;
  setTimeout(() => {
    button.classList.remove("copied");
    if (label) button.textContent = label;
  }, 1500);
});

let loadedAt = performance.now();

function countDown() {
  const shown = document.querySelector("[data-left]");
  if (!shown) return;
  const { left, hours, minutes, seconds } = shown.dataset;
  const rest = Math.max(Number(left) - Math.floor((performance.now() - loadedAt) / 1000), 0);
  const text = rest >= 3600
    ? `${Math.floor(rest / 3600)} ${hours} ${Math.floor(rest / 60) % 60} ${minutes}`
    : `${Math.floor(rest / 60)} ${minutes} ${rest % 60} ${seconds}`;
  if (shown.textContent !== text) shown.textContent = text;
}

// What a part looks like but for the time that passes.
function content(part) {
  const copy = part.cloneNode(true);
  copy.querySelectorAll("[data-left]").forEach((one) => one.remove());
  copy.querySelectorAll("#wallet").forEach((one) => one.remove());
  copy.querySelectorAll("details").forEach((one) => one.removeAttribute("open"));
  return copy.innerHTML.replace(/\s+/g, " ");
}

function isInUse(part) {
  const input = part.querySelector("input");
  return part.contains(document.activeElement) && input !== null;
}

function replaceParts(fresh) {
  for (const part of pay.querySelectorAll("[data-part]")) {
    const other = fresh.getElementById(part.id);
    if (!other || content(part) === content(other) || isInUse(part)) continue;
    const open = [...part.querySelectorAll("details")].map((one) => one.open);
    other.querySelectorAll("details").forEach((one, n) => { one.open = Boolean(open[n]); });
    part.replaceWith(document.importNode(other, true));
    loadedAt = performance.now();
  }
  pay.dataset.status = fresh.getElementById("pay").dataset.status;
  document.dispatchEvent(new Event("pay:shown"));
}

let known = null;
let isLooking = false;

// Ask for the data, which is small and often unchanged; then for the page, when it is another.
async function look() {
  if (isLooking || document.hidden) return;
  isLooking = true;
  try {
    const { path, query } = pay.dataset;
    const answer = await fetch(`${path}/data?${query}`, { cache: "no-cache" });
    if (!answer.ok) return;
    const text = await answer.text();
    if (text !== known) {
      const page = await fetch(`${path}?${query}`);
      if (page.ok) {
        replaceParts(new DOMParser().parseFromString(await page.text(), "text/html"));
        known = text;
      }
    }
  } catch {
    // the next look comes by itself
  } finally {
    isLooking = false;
  }
}

function isOver() {
  return ENDS.includes(pay.dataset.status);
}

if (pay) {
  setInterval(countDown, 1000);
  countDown();
  if (!isOver()) {
    const source = new EventSource(`${pay.dataset.path}/events?${pay.dataset.query}`);
    source.onmessage = () => look();
    const poll = setInterval(async () => {
      await look();
      if (!isOver()) return;
      clearInterval(poll);
      source.close();
    }, POLL_MILLISECONDS);
    window.addEventListener("pagehide", () => source.close());
    document.addEventListener("visibilitychange", look);
    document.addEventListener("pay:look", look);
  }
}
