/* SPDX-License-Identifier: GPL-2.0-or-later */
import { bus } from "./bus.js";
import { badge, become, busy, drawer, h, notice, problem } from "./draw.js";

const TABS = ["overview", "doctor", "history"];
const $ = id => document.getElementById(id);

/* ---- light or dark, as the user set it in Cockpit; each frame follows by itself ---- */

const dark = window.matchMedia("(prefers-color-scheme: dark)");

function dress(style) {
	style ||= localStorage.getItem("shell:style") || "auto";
	document.documentElement.classList.toggle("pf-theme-dark",
		style === "dark" || (style === "auto" && dark.matches));
}

dress();
dark.addEventListener("change", () => dress());
window.addEventListener("storage", event => event.key === "shell:style" && dress());
window.addEventListener("cockpit-style", event => dress(event.detail.style));

/* ---- tabs ---- */

const opened = new Set();

async function start(name) {
	opened.add(name);
	try {
		const page = await import(`./${name}.js`);

		page.start($(name));
	} catch (error) {
		console.error(error);
		become($(name), h("p", { class: "empty", role: "alert" },
			`This part could not be loaded: ${error.message}. `,
			"If gpupass was upgraded, log out of Cockpit and in again."));
	}
}

function current() {
	const name = window.location.hash.replace(/^#\/?/, "");

	return TABS.includes(name) ? name : TABS[0];
}

function show() {
	const name = current();

	for (const tab of TABS) {
		$(`tab-${tab}`).setAttribute("aria-selected", String(tab === name));
		$(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
		$(tab).hidden = tab !== name || !bus.model.up;
	}
	if (bus.model.up && !opened.has(name))
		start(name);
}

for (const [i, name] of TABS.entries()) {
	$(`tab-${name}`).addEventListener("click", () => { window.location.hash = `/${name}`; });
	$(`tab-${name}`).addEventListener("keydown", event => {
		const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: TABS.length - 1 }[event.key];

		if (to === undefined)
			return;
		event.preventDefault();
		const next = TABS.at(to % TABS.length);

		window.location.hash = `/${next}`;
		$(`tab-${next}`).focus();
	});
}
window.addEventListener("hashchange", show);

/* ---- the connection ---- */

const [drawConnection, drawDaemon, drawNotes] = ["connection", "daemon", "notes"].map(id => drawer($(id)));

/* What the page does about it, or Cockpit. */
function hint(failure) {
	if (/\.AccessDenied$/.test(failure.name))
		return "Or turn on administrative access, at the top of Cockpit.";
	if (/\.(ServiceUnknown|NameHasNoOwner|Spawn\.\w+)$|systemd1/.test(failure.name))
		return "This page comes back by itself when gpupassd does.";
	return null;
}

function connection(model) {
	const { up, failure, manager } = model;

	const lost = manager.DomainsFrom === "libvirt" && !manager.LibvirtConnected;

	/* Another life of the daemon may fail alike, and is told of. */
	drawConnection([up, failure && [model.epoch, failure]], () => !up && (failure
		? [problem(failure), h("div", { class: "row" },
			h("button", { type: "button", "data-key": "again", onclick: bus.connect }, "Try again"),
			h("p", { class: "hint" }, hint(failure)))]
		: busy("Connecting to gpupassd …")));
	drawDaemon([up, manager.Version, lost], () => up && [`gpupassd ${manager.Version || ""}`,
		lost && badge("bad", "libvirt is not connected", "Nothing can be assigned or released.")]);
	drawNotes(manager.Notes ?? [], () =>
		manager.Notes?.map(note => h("p", {}, h("strong", {}, "Note: "), note)));
	show();
}

bus.watch(connection);
/* It loads this page again when the user turns administrative access on or off. */
window.cockpit.permission({ admin: true });

function unforeseen(event, error) {
	event.preventDefault();
	console.error(error);
	notice(error?.what ? problem(error) : String(error));
}

window.addEventListener("unhandledrejection", event => unforeseen(event, event.reason));
window.addEventListener("error", event => unforeseen(event, event.error ?? event.message));
bus.connect();
