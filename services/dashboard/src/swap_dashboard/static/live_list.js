// Shows changes of a list of swaps without a reload. Rows stay in place, so that the reader's
// scroll, selection and focus do.
"use strict";

const UPDATE_PAUSE = 1000;
const list = document.querySelector("[data-list]");
const changes = document.querySelector("[data-list-changes]");
let wanted = "";
let isUpdating = false;

const rowsOf = (root) => [...root.querySelectorAll("tr[data-swap]")];
const statesOf = (root) =>
  JSON.stringify(rowsOf(root).map((row) => [row.dataset.swap, row.dataset.status]));

function updateRow(row, fresh) {
  row.dataset.status = fresh.dataset.status;
  updateCells(row, fresh);
}

function removeRow(row) {
  const hasFocus = row.contains(document.activeElement);
  row.remove();
  if (hasFocus) list.querySelector(".scroll").focus({ preventScroll: true });
}

// Returns how many swaps are new and how many have another status.
function updateRows(body, fresh) {
  const known = new Map(rowsOf(body).map((row) => [row.dataset.swap, row]));
  const stay = new Set(rowsOf(fresh).map((row) => row.dataset.swap));
  known.forEach((row, id) => { if (!stay.has(id)) removeRow(row); });
  let at = body.firstElementChild;
  let added = 0;
  let changed = 0;
  rowsOf(fresh).forEach((next) => {
    const row = known.get(next.dataset.swap);
    if (!row) {
      if (at) added += 1; // at the end stands an earlier swap that moved up
      body.insertBefore(next, at);
      return;
    }
    if (row.dataset.status !== next.dataset.status) changed += 1;
    updateRow(row, next);
    at = row.nextElementSibling;
  });
  return { added, changed };
}

function replacePart(selector, fresh) {
  const part = document.querySelector(selector);
  const next = fresh.querySelector(selector);
  const isUsed = part?.contains(document.activeElement) || part?.querySelector("[data-running]");
  if (part && next && !isUsed && part.innerHTML !== next.innerHTML) {
    part.replaceChildren(...next.childNodes);
  }
}

// Keeps the row at the top of the window where it is: browsers do not do so inside of a part that
// scrolls sideways.
function keepingScroll(update) {
  const seen = rowsOf(list).find((row) => row.getBoundingClientRect().bottom > 0);
  const before = seen?.getBoundingClientRect().top;
  const counts = update();
  if (seen?.isConnected && scrollY > 0) {
    scrollBy(0, seen.getBoundingClientRect().top - before);
  }
  return counts;
}

function announce({ added, changed }) {
  const parts = [];
  if (added) parts.push(added === 1 ? "1 new swap" : `${added} new swaps`);
  if (changed) parts.push(changed === 1 ? "1 swap changed" : `${changed} swaps changed`);
  if (parts.length) changes.textContent = `${parts.join(", ")}.`;
}

async function fetchList() {
  let answer;
  try {
    answer = await fetch(location.href, { headers: BACKGROUND });
  } catch {
    return; // the stream sends the states again when it is opened again
  }
  if (!answer.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = fresh.querySelector("[data-list]");
  if (!next) return;
  const body = list.querySelector("tbody");
  if (!body || !next.querySelector("tbody")) {
    const added = rowsOf(next).length;
    list.replaceChildren(...next.childNodes);
    announce({ added, changed: 0 });
  } else {
    announce(keepingScroll(() => updateRows(body, next)));
    replacePart("[data-list] .pager", fresh);
  }
  replacePart("[data-total]", fresh);
}

// One request at a time, and a pause after it: a busy app changes more often than a reader looks.
async function update() {
  if (isUpdating) return;
  isUpdating = true;
  try {
    while (wanted !== statesOf(list)) {
      const asked = wanted;
      await fetchList();
      await new Promise((resume) => setTimeout(resume, UPDATE_PAUSE));
      if (asked === wanted) break;
    }
  } finally {
    isUpdating = false;
  }
}

if (list.dataset.list) {
  followStream(list.dataset.list, (event) => {
    wanted = JSON.stringify(JSON.parse(event.data).map(({ id, status }) => [id, status]));
    update();
  });
}
