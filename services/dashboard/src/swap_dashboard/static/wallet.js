// Pays the swap with a wallet of this browser (EIP-6963), with exactly the actions of the api.
const REJECTED = 4001; // EIP-1193: the user declined
const CHAIN_UNKNOWN = 4902; // EIP-3085: the wallet does not have the network
const TRANSFER = "0xa9059cbb"; // transfer(address,uint256)
const STEPS_MAX = 3;
const RECEIPT_MILLISECONDS = 1000;
const RECEIPT_LOOKS = 180;

const pay = document.getElementById("pay");
const wallets = new Map();
let isBusy = false;
let lastText = "";
let isWarned = false; // the payer is asked whether the payment really never left
let lastTexts = {};

class Stopped extends Error {}

// A payment that was passed to a wallet is not offered again, also after a reload and in other tabs.
// On a slow network it is detected only minutes later, and a second payment would also be sent.
// "asked": a wallet has it, and the outcome is unknown; "sent": the wallet returned a hash.
const memory = {
  here: "", // for a browser without storage
  get key() { return `sent:${pay.dataset.path}`; },
  get state() {
    try { return localStorage.getItem(this.key) ?? this.here; } catch { return this.here; }
  },
  set state(value) {
    this.here = value;
    try {
      if (value) localStorage.setItem(this.key, value);
      else localStorage.removeItem(this.key);
    } catch { /* without storage it holds for this page alone */ }
  },
};

const hex = (number) => `0x${BigInt(number).toString(16)}`;
const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

function panel() {
  return document.getElementById("wallet");
}

// The panel is removed when the page shows another action; an open payment still needs its texts.
function texts() {
  const shown = panel();
  if (shown) lastTexts = JSON.parse(shown.dataset.texts);
  return lastTexts;
}

function say(text) {
  lastText = text;
  const shown = panel()?.querySelector("[role=status]");
  if (shown) shown.textContent = text;
}

function button(wallet) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button";
  made.dataset.wallet = wallet.info.rdns;
  made.disabled = isBusy;
  if (/^data:image\//.test(wallet.info.icon ?? "")) {
    const icon = document.createElement("img");
    icon.src = wallet.info.icon;
    icon.alt = "";
    made.append(icon);
  }
  made.append(wallet.info.name);
  made.addEventListener("click", () => start(wallet));
  return made;
}

function choice(name, text, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button small";
  made.dataset.choice = name;
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

function notice(role, kind, text) {
  const made = document.createElement("p");
  made.setAttribute("role", role);
  made.className = `notice ${kind}`;
  made.textContent = text;
  return made;
}

function warn(isShown) {
  isWarned = isShown;
  show();
}

function forget() {
  memory.state = "";
  lastText = "";
  warn(false);
}

// Only the payer knows that a payment was never sent: the mark is removed after a warning, never automatically.
function showSent(shown) {
  const words = texts();
  if (isWarned) {
    shown.replaceChildren(
      notice("alert", "notice-warning", words.again_warning),
      choice("confirm", words.again_confirm, forget),
      choice("back", words.again_back, () => warn(false)),
    );
    return;
  }
  const state = memory.state === "asked"
    ? notice("status", "notice-warning", [lastText, words.asked].filter(Boolean).join(" "))
    : notice("status", "notice-good", words.sent);
  shown.replaceChildren(state, choice("again", words.again, () => warn(true)));
}

function show() {
  const shown = panel();
  if (!shown) return;
  if (memory.state && !isBusy) {
    showSent(shown);
    return;
  }
  const list = document.createElement("ul");
  list.className = "wallets";
  list.setAttribute("aria-label", texts().choose);
  for (const wallet of wallets.values()) {
    const item = document.createElement("li");
    item.append(button(wallet));
    list.append(item);
  }
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  status.className = "muted";
  status.textContent = lastText || (wallets.size ? texts().choose : texts().none);
  shown.replaceChildren(...(wallets.size ? [list] : []), status);
}

async function read(from) {
  const { path, query } = pay.dataset;
  const source = encodeURIComponent(from);
  const answer = await fetch(`${path}/data?${query}&source_address=${source}`, { cache: "no-store" });
  const { data, error } = await answer.json();
  if (error) throw new Error(error.message || error.code);
  // Use the service's clock if its answer has a time: a payer's clock may be wrong.
  const now = Date.parse(answer.headers.get("date") ?? "") || Date.now();
  if (Date.parse(data.expires_at) <= now) throw new Stopped(texts().late);
  const { status, detail, action } = data.next_action ?? {};
  if (!action || status !== "action_required") throw new Stopped(detail || texts().changed);
  return data;
}

// Switch to the swap's network; offer to add it if the wallet does not have it.
async function useNetwork(provider, network) {
  const chainId = hex(network.chain_id);
  const current = async () => BigInt(await provider.request({ method: "eth_chainId" }));
  if (await current() !== BigInt(chainId)) {
    say(texts().network);
    try {
      await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
    } catch (error) {
      if (error.code !== CHAIN_UNKNOWN) throw error;
      const { symbol, decimals } = network.token;
      await provider.request({
        method: "wallet_addEthereumChain",
        params: [{
          chainId,
          chainName: network.display_name,
          nativeCurrency: { name: symbol, symbol, decimals },
          rpcUrls: network.nodes,
        }],
      });
    }
  }
  if (await current() !== BigInt(chainId)) throw new Stopped(texts().wrong_network);
}

// A deposit address needs a plain transfer; the other actions are already encoded.
function transactionOf(action, from, chainId) {
  if (action.type !== "manual_transfer") {
    return {
      chainId,
      from,
      to: action.to_address,
      value: hex(action.amount_in_base_units),
      data: action.call_data ?? "0x",
      ...(action.gas_limit ? { gas: hex(action.gas_limit) } : {}),
    };
  }
  const token = action.token.contract;
  if (token === null) {
    return { chainId, from, to: action.to_address, value: hex(action.amount_in_base_units) };
  }
  const words = [action.to_address, hex(action.amount_in_base_units)];
  const encoded = words.map((word) => word.slice(2).toLowerCase().padStart(64, "0"));
  return { chainId, from, to: token, value: "0x0", data: TRANSFER + encoded.join("") };
}

async function mined(provider, hash) {
  for (let look = 0; look < RECEIPT_LOOKS; look += 1) {
    const receipt = await provider.request({ method: "eth_getTransactionReceipt", params: [hash] });
    if (receipt) {
      if (BigInt(receipt.status) !== 1n) throw new Stopped(texts().reverted);
      return;
    }
    await pause(RECEIPT_MILLISECONDS);
  }
}

async function sign(provider, from, action) {
  say(texts().sign);
  const signature = await provider.request({
    method: "eth_signTypedData_v4",
    params: [from, JSON.stringify(action.typed_data)],
  });
  say(texts().submitting);
  const { path, query } = pay.dataset;
  const body = new URLSearchParams({ signature, signer_address: from });
  const answer = await fetch(`${path}/authorize?${query}`, { method: "POST", body });
  const { error } = await answer.json();
  if (error) throw new Error(error.message || error.code);
  memory.state = "sent";
}

// Hold the swap's lock, so that only one of two tabs pays. Without locks, only the stored mark protects.
async function alone(act) {
  if (!navigator.locks) return act();
  let isCalled = false;
  try {
    return await navigator.locks.request(memory.key, { ifAvailable: true }, (lock) => {
      isCalled = true;
      if (!lock) throw new Stopped(texts().elsewhere);
      return act();
    });
  } catch (error) {
    // A frame with an opaque origin has neither locks nor storage, so there is no other tab.
    if (isCalled || error?.name !== "SecurityError") throw error;
    return act();
  }
}

// The mark is set before the wallet is called: the page may be closed before the wallet answers.
// Only the user's refusal clears it; after any other error the payment may have been sent.
async function sendOnce(provider, transaction) {
  if (memory.state) throw new Stopped(texts().elsewhere);
  memory.state = "asked";
  try {
    await provider.request({ method: "eth_sendTransaction", params: [transaction] });
  } catch (error) {
    if (error?.code === REJECTED) memory.state = "";
    throw error;
  }
  memory.state = "sent";
}

async function send(provider, from, action, chainId) {
  const transaction = transactionOf(action, from, chainId);
  if (action.type !== "approve") {
    say(texts().transfer);
    await alone(() => sendOnce(provider, transaction));
    return;
  }
  say(texts().approve);
  const hash = await provider.request({ method: "eth_sendTransaction", params: [transaction] });
  say(texts().approving);
  await mined(provider, hash);
}

// Execute the actions of the api with this wallet, in order.
async function payWith(provider) {
  say(texts().connecting);
  const [from] = await provider.request({ method: "eth_requestAccounts" });
  for (let step = 0; step < STEPS_MAX; step += 1) {
    say(texts().loading);
    const { source_network: network } = await read(from);
    await useNetwork(provider, network);
    // Switching the network may take minutes, so the actions are read from the api again afterwards.
    const { action } = (await read(from)).next_action;
    if (action.type === "sign") await sign(provider, from, action);
    else await send(provider, from, action, hex(network.chain_id));
    if (action.type !== "approve") return;
  }
  throw new Stopped(texts().changed);
}

async function start(wallet) {
  if (isBusy) return;
  if (memory.state) {
    show();
    return;
  }
  isBusy = true;
  show();
  const words = texts();
  let end = words.sent;
  try {
    await payWith(wallet.provider);
  } catch (error) {
    if (error instanceof Stopped) end = error.message;
    else end = error?.code === REJECTED ? words.rejected : `${words.failed} ${error?.message ?? error}`;
  }
  isBusy = false;
  say(end);
  show();
  document.dispatchEvent(new Event("pay:look"));
}

if (pay) {
  window.addEventListener("eip6963:announceProvider", (event) => {
    const { info, provider } = event.detail ?? {};
    if (!info?.uuid || !info.name || !provider) return;
    wallets.set(info.uuid, { info, provider });
    if (!isBusy) show();
  });
  document.addEventListener("pay:shown", show);
  window.addEventListener("storage", ({ key, newValue }) => {
    if (key !== null && key !== memory.key) return;
    if (!isBusy) memory.here = newValue ?? ""; // a payment under way keeps its own mark
    lastText = isBusy ? lastText : "";
    show();
  });
  window.dispatchEvent(new Event("eip6963:requestProvider"));
  show();
}
