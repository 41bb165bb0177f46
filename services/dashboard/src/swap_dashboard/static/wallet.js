// Pays the swap with a wallet of this browser (EIP-6963): what the api says, to the last byte.
const REJECTED = 4001; // EIP-1193: the user declined
const CHAIN_UNKNOWN = 4902; // EIP-3085: the wallet does not have the network
const TRANSFER = "0xa9059cbb"; // transfer(address,uint256)
const STEPS_MAX = 3;
const RECEIPT_MILLISECONDS = 1000;
const RECEIPT_LOOKS = 180;

const pay = document.getElementById("pay");
const wallets = new Map();
let isBusy = false;
let lastSaid = "";

class Stopped extends Error {}

// A payment that is sent is not offered again, also after the page was loaded anew: on a slow
// network it is seen only minutes later, and a second one would be paid, too.
const memory = {
  get key() { return `sent:${pay.dataset.path}`; },
  get isSent() {
    try { return localStorage.getItem(this.key) !== null; } catch { return false; }
  },
  set isSent(value) {
    try {
      if (value) localStorage.setItem(this.key, "1");
      else localStorage.removeItem(this.key);
    } catch { /* without storage the page remembers nothing */ }
  },
};

const hex = (number) => `0x${BigInt(number).toString(16)}`;
const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

function panel() {
  return document.getElementById("wallet");
}

function texts() {
  return JSON.parse(panel().dataset.texts);
}

function say(text) {
  lastSaid = text;
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

function again() {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button small";
  made.textContent = texts().again;
  made.addEventListener("click", () => {
    memory.isSent = false;
    lastSaid = "";
    show();
  });
  return made;
}

function showSent(shown) {
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  status.className = "notice notice-good";
  status.textContent = texts().sent;
  shown.replaceChildren(status, again());
}

function show() {
  const shown = panel();
  if (!shown) return;
  if (memory.isSent && !isBusy) {
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
  status.textContent = lastSaid || (wallets.size ? texts().choose : texts().none);
  shown.replaceChildren(...(wallets.size ? [list] : []), status);
}

async function read(from) {
  const { path, query } = pay.dataset;
  const source = encodeURIComponent(from);
  const answer = await fetch(`${path}/data?${query}&source_address=${source}`, { cache: "no-store" });
  const { data, error } = await answer.json();
  if (error) throw new Error(error.message || error.code);
  return data;
}

// Change to the swap's network; a wallet that does not have it is offered it.
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

// A deposit address takes a plain transfer; the other actions come encoded.
function transactionOf(action, from) {
  if (action.type !== "manual_transfer") {
    return {
      from,
      to: action.to_address,
      value: hex(action.amount_in_base_units),
      data: action.call_data ?? "0x",
      ...(action.gas_limit ? { gas: hex(action.gas_limit) } : {}),
    };
  }
  const token = action.token.contract;
  if (token === null) return { from, to: action.to_address, value: hex(action.amount_in_base_units) };
  const words = [action.to_address, hex(action.amount_in_base_units)];
  const encoded = words.map((word) => word.slice(2).toLowerCase().padStart(64, "0"));
  return { from, to: token, value: "0x0", data: TRANSFER + encoded.join("") };
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
}

async function send(provider, from, action) {
  const isApproval = action.type === "approve";
  say(isApproval ? texts().approve : texts().transfer);
  const hash = await provider.request({
    method: "eth_sendTransaction",
    params: [transactionOf(action, from)],
  });
  if (!isApproval) return;
  say(texts().approving);
  await mined(provider, hash);
}

// Do what the api asks of this wallet, one step after the other.
async function payWith(provider) {
  say(texts().connecting);
  const [from] = await provider.request({ method: "eth_requestAccounts" });
  for (let step = 0; step < STEPS_MAX; step += 1) {
    say(texts().loading);
    const swap = await read(from);
    const action = swap.next_action?.action;
    if (!action || swap.next_action.status !== "action_required") {
      throw new Stopped(swap.next_action?.detail || texts().changed);
    }
    await useNetwork(provider, swap.source_network);
    if (action.type === "sign") await sign(provider, from, action);
    else await send(provider, from, action);
    if (action.type !== "approve") return;
  }
  throw new Stopped(texts().changed);
}

async function start(wallet) {
  if (isBusy) return;
  isBusy = true;
  show();
  const words = texts();
  let end = words.sent;
  try {
    await payWith(wallet.provider);
    memory.isSent = true;
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
  window.dispatchEvent(new Event("eip6963:requestProvider"));
  show();
}
