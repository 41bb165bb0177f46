// Copies the text of a button; `data-copied` is the confirmation in the page's language.
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
  if (label) button.textContent = button.dataset.copied || "Copied";
  setTimeout(() => {
    button.classList.remove("copied");
    if (label) button.textContent = label;
  }, 1500);
});
