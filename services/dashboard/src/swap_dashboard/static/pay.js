// Counts the time down, and shows changes without a reload of the page.
const pay = document.getElementById("pay");
const POLL_MILLISECONDS = 3000;
const WAIT_MILLISECONDS = 5000; // at first, and twice as long after each failure
const WAIT_MAX_MILLISECONDS = 60000;
const UNKNOWN = 404;
const BUSY = [429, 503];
const ENDS = ["completed", "failed", "expired", "refunded"];

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
  if (rest > 0 || shown.dataset.isOver) return;
  // Once: the data does not change, but the page offers no payment after the deadline.
  shown.dataset.isOver = "1";
  known = null;
  look();
}

// The content of a part without its countdown.
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
let isStopped = false;
let looksFrom = 0;
let lookWait = WAIT_MILLISECONDS;

// Return whether an answer can be used. Poll a busy service less often, and stop if there is
// no swap.
function heed(answer) {
  if (answer.status === UNKNOWN) isStopped = true;
  if (BUSY.includes(answer.status)) {
    const asked = Number(answer.headers.get("retry-after")) * 1000 || 0;
    looksFrom = performance.now() + Math.min(Math.max(asked, lookWait), WAIT_MAX_MILLISECONDS);
    lookWait = Math.min(lookWait * 2, WAIT_MAX_MILLISECONDS);
  } else {
    lookWait = WAIT_MILLISECONDS;
  }
  return answer.ok;
}

// Request the data, which is small and often unchanged; then the page, if the data changed.
async function look() {
  if (isLooking || isStopped || document.hidden || performance.now() < looksFrom) return;
  isLooking = true;
  try {
    const { path, query } = pay.dataset;
    const answer = await fetch(`${path}/data?${query}`, { cache: "no-cache" });
    if (!heed(answer)) return;
    const text = await answer.text();
    if (text !== known) {
      const page = await fetch(`${path}?${query}`);
      if (heed(page)) {
        replaceParts(new DOMParser().parseFromString(await page.text(), "text/html"));
        known = text;
      }
    }
  } catch {
    // the next poll retries
  } finally {
    isLooking = false;
  }
}

function isOver() {
  return ENDS.includes(pay.dataset.status);
}

let source = null;
let streamWait = WAIT_MILLISECONDS;

// The browser reconnects unless the connection was refused; then the page polls meanwhile.
function follow() {
  source = new EventSource(`${pay.dataset.path}/events?${pay.dataset.query}`);
  source.onopen = () => { streamWait = WAIT_MILLISECONDS; };
  source.onmessage = () => look();
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED || isStopped) return;
    setTimeout(() => { if (!isStopped) follow(); }, streamWait);
    streamWait = Math.min(streamWait * 2, WAIT_MAX_MILLISECONDS);
  };
}

if (pay) {
  setInterval(countDown, 1000);
  countDown();
  if (!isOver()) {
    follow();
    const poll = setInterval(async () => {
      await look();
      if (!isOver() && !isStopped) return;
      isStopped = true;
      clearInterval(poll);
      source.close();
    }, POLL_MILLISECONDS);
    window.addEventListener("pagehide", () => source.close());
    document.addEventListener("visibilitychange", look);
    document.addEventListener("pay:look", look);
  }
}
