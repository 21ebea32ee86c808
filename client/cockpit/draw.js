/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Elements, never markup: whatever a guest or a file calls itself stays text. */

const SVG = "http://www.w3.org/2000/svg";

/* Attributes that people see or hear. Others, such as a value, stay as they are, byte for byte. */
const SHOWN = new Set(["title", "aria-label", "aria-description", "alt", "label", "placeholder"]);
/* What would make code or styles of a text. */
const NEVER = /^(style|srcdoc|on.*)$/i;

/* As daemon/util/printable.c writes it: the page and the client show one name alike. */
const HIDDEN = /[\u2800\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
const NO_BASE = /[\p{Z}\p{P}]/u;
const MARK = /\p{M}/u;

function escaped(c) {
	if (c === "\n" || c === "\t")
		return c === "\n" ? "\\n" : "\\t";
	const hex = c.codePointAt(0).toString(16);
	return hex.length <= 2 ? "\\x" + hex.padStart(2, "0")
		: hex.length <= 4 ? "\\u" + hex.padStart(4, "0") : "\\U" + hex.padStart(8, "0");
}

export function printable(text) {
	let before = "", out = "";

	for (const c of String(text)) {
		const plain = (c >= " " && c <= "~") ||
			(MARK.test(c) ? before !== "" && !NO_BASE.test(before) : !HIDDEN.test(c));

		out += plain ? c : escaped(c);
		before = plain ? c : "";
	}
	return out;
}

/* The same of each line: an array of strings. */
function lines(text) {
	return String(text).split("\n").map(printable);
}

/* Letters that run from right to left carry numbers and signs beside them along. */
const LEFTWARD = "[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]";
const WORD = `[\\p{L}\\p{M}\\p{N}_]*${LEFTWARD}[\\p{L}\\p{M}\\p{N}_]*`;
const LEFTWARDS = new RegExp(`(${WORD}(?:[ .-]+${WORD})*)`, "u");

/* Words of them are apart from the sentence that they stand in. */
function isolated(text) {
	return text.split(LEFTWARDS).map((piece, i) => {
		const node = document.createTextNode(piece);

		if (i % 2 === 0)
			return node;
		const apart = document.createElement("bdi");

		apart.append(node);
		return apart;
	});
}

function append(parent, children) {
	for (const child of children.flat(Infinity))
		if (child instanceof Node)
			parent.append(child);
		else if (child !== null && child !== undefined && child !== false && child !== true)
			parent.append(...parent instanceof HTMLElement ? isolated(printable(child)) : [printable(child)]);
}

function fill(element, props, children) {
	for (const [name, value] of Object.entries(props || {})) {
		if (value === null || value === undefined || value === false)
			continue;
		if (name.startsWith("on") && typeof value === "function")
			element.addEventListener(name.slice(2), value);
		else if (NEVER.test(name))
			throw new TypeError(`${name} is not for a page made of elements`);
		else
			element.setAttribute(name, value === true ? ""
				: SHOWN.has(name) ? printable(value) : value);
	}
	append(element, children);
	return element;
}

export function h(tag, props, ...children) {
	return fill(document.createElement(tag), props, children);
}

export function s(tag, props, ...children) {
	return fill(document.createElementNS(SVG, tag), props, children);
}

/* ---- replacing what is shown ---- */

function byKey(root, key) {
	return root.querySelector(`[data-key="${CSS.escape(key)}"]`);
}

/* Where the focus is, by the keys of the element and of what is around it. */
function keysOf(element) {
	const keys = [];

	for (let at = element; at; at = at.parentElement?.closest("[data-key]"))
		if (at.dataset.key)
			keys.unshift(at.dataset.key);
	return keys;
}

function find(root, keys) {
	let at = root;

	for (const key of keys)
		at = byKey(at, key) || at;
	return at !== root && at.dataset.key === keys.at(-1) ? at : null;
}

export function become(place, ...children) {
	const active = place.contains(document.activeElement) && document.activeElement !== place
		? document.activeElement : null;
	const within = element => keysOf(element).filter(key => byKey(place, key));
	const keys = active ? within(active) : [];
	const details = [...place.querySelectorAll("details[data-key]")].map(d => [within(d), d.open]);

	place.replaceChildren();
	append(place, children);
	for (const [path, open] of details) {
		const now = find(place, path);

		if (now)
			now.open = open;
	}
	if (!active)
		return;
	if (active.dataset.key)
		find(place, keys)?.focus({ preventScroll: true });
	/* Without a key, or shut now, it falls to the place, if that can have it, and not to the top of the page. */
	if (!place.contains(document.activeElement))
		place.focus({ preventScroll: true });
}

/* Replaces what is in a place only if it says something else: what a person has selected stays so. */
export function drawer(place) {
	let told = null;

	return (about, make) => {
		const now = JSON.stringify(about);

		if (now !== told)
			become(place, make());
		told = now;
	};
}

/* ---- parts of pages ---- */

/* Of a <select>: items [value, text]. */
export function options(items, chosen) {
	return items.map(([value, text]) => h("option", { value, selected: value === chosen }, text));
}

export function headings(names) {
	return h("thead", {}, h("tr", {}, names.map(name => h("th", { scope: "col" }, name))));
}

export function badge(kind, text, title) {
	return h("span", { class: `badge ${kind}`, title }, text);
}

export function stateBadge({ kind, text, title }) {
	return badge(kind, text, title);
}

/* On a button for which polkit wants a password. */
export function lock() {
	return [s("svg", { class: "lock", viewBox: "0 0 12 14", "aria-hidden": "true" },
		s("path", { d: "M2 6V4a4 4 0 0 1 8 0v2h1v8H1V6zM4 6h4V4a2 2 0 0 0-4 0z", "fill-rule": "evenodd" })),
	h("span", { class: "offscreen" }, " (wants a password)")];
}

export function busy(text) {
	return h("p", { class: "busy-line", role: "status" },
		h("span", { class: "spinner", "aria-hidden": "true" }), text);
}

/* Without https the browser has no clipboard for us, but still obeys a selection. Whether it did. */
async function copy(text, button) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });

		area.value = text;
		button.after(area);
		area.select();
		const copied = document.execCommand("copy");

		area.remove();
		button.focus();
		return copied;
	}
}

export function copyButton(text, label = "Copy") {
	const shown = lines(text).join("\n");
	const word = h("span", { "aria-live": "polite" }, label);

	return h("button", { type: "button", class: "small copy", title: `Copy: ${lines(text).join(" ")}`,
		"data-key": `copy ${shown}`,
		onclick: async event => {
			word.textContent = await copy(shown, event.currentTarget) ? "Copied" : "Not copied";
			setTimeout(() => { word.textContent = label; }, 2000);
		} }, word);
}

/* Sentences of the daemon, a line each; what stands in `backquotes` is to be typed. */
export function prose(text) {
	return String(text).split("\n").map(line => h("div", {},
		line.split(/`([^`]*)`/).map((piece, i) => i % 2 ? h("code", {}, piece) : piece)));
}

/* A row of a <dl>, if there is a text. A remedy can be copied. */
export function part(label, text) {
	const copied = label === "Remedy";

	return text && h("div", { class: "part" }, h("dt", {}, label),
		h("dd", { class: copied && "copied" }, h("div", {}, prose(text)), copied && copyButton(text)));
}

export function problem(failure) {
	return h("div", { class: "problem", role: "alert" },
		h("div", { class: "what" }, prose(failure.what)),
		h("dl", {}, part("Cause", failure.cause), part("State", failure.state),
			part("Remedy", failure.remedy), !failure.plain && part("Error", failure.name)));
}

/* Of what went wrong. Stays at the top of the page until somebody dismisses it, or the same is told again. */
export function notice(...children) {
	const place = document.getElementById("notices");
	const element = h("div", { class: "notice", role: "alert" },
		h("div", { class: "said" }, ...children),
		h("button", { type: "button", class: "small plain", "aria-label": "Dismiss",
			onclick: () => element.remove() }, "✕"));

	[...place.children].find(one => one.textContent === element.textContent)?.remove();
	place.append(element);
}

export function dialog(title, { wide = false } = {}) {
	const opener = document.activeElement, keys = opener ? keysOf(opener) : [];
	const d = { body: h("div", { class: "body" }), foot: h("div", { class: "foot" }), onclose: null };
	const element = h("dialog", { class: wide && "wide", "aria-label": title,
		onclose: () => {
			element.remove();
			/* Where an act has removed its own button: what that was in. */
			(opener?.isConnected ? opener : keys.map((key, i) =>
				find(document, keys.slice(0, keys.length - i))).find(Boolean))?.focus();
			d.onclose?.();
		} },
	h("header", {}, h("h2", {}, title), h("button", { type: "button", class: "plain", "aria-label": "Close",
		onclick: () => d.close() }, "✕")),
	d.body, d.foot);

	d.close = () => element.close();
	document.body.append(element);
	element.showModal();
	return d;
}

/* ---- texts ---- */

export function plural(n, word, end = "s") {
	return `${n} ${word}${n === 1 ? "" : end}`;
}

/* Of those that there are. */
export function joined(items, between = ", ") {
	return items.filter(Boolean).join(between);
}

export function duration(usec) {
	const ms = Math.floor(usec / 1000), secs = Math.floor(usec / 1e6);

	return secs < 1 ? `${ms} ms`
		: secs < 100 ? `${secs}.${String(Math.floor(usec % 1e6 / 1e4)).padStart(2, "0")} s`
			: `${Math.floor(secs / 60)} min ${secs % 60} s`;
}

/* 2026-01-31 14:02:11, as the client writes it; in the browser's time zone. */
export function time(usec) {
	const at = new Date(usec / 1000), two = n => String(n).padStart(2, "0");

	return usec === 0 ? "-" : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ` +
		`${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
