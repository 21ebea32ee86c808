/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpupass doctor finds, and its bundle as a download. */
import { bus, Failure, refusal, rightText } from "./bus.js";
import { become, busy, h, joined, options, part, problem, prose, stateBadge, time } from "./draw.js";
import { findingState } from "./states.js";

const cockpit = window.cockpit;
const SCHEMA = "org.gpupass1.doctor/1";
const SYMPTOMS = [
	["", "No symptom"],
	["no-nvlink", "nvidia-smi shows no NVLink"],
	["one-gpu", "only one of the GPUs is visible"],
	["no-p2p", "peer-to-peer between the GPUs is disabled"],
	["slow", "bandwidth is low"],
];

/* ---- the report ---- */

/* What is not in order, and what is not known although something can be done about it. */
function isTold({ status, remedy }) {
	return status === "fail" || status === "warn" || (status === "unknown" && Boolean(remedy));
}

function remedyLine(text) {
	return text && h("dl", {}, part("Remedy", text));
}

function findingView(check) {
	const told = isTold(check);

	return h("li", { "data-check": check.id, "data-status": check.status },
		h("div", { class: "row" }, stateBadge(findingState(check.status)), h("strong", {}, check.title),
			h("span", { class: "hint" }, check.id)),
		check.what.map(line => h("p", { class: "what" }, line)),
		remedyLine(check.remedy),
		/* With spaces it is found in the file. */
		told && check.see && h("p", { class: "hint" },
			`See: TROUBLESHOOTING.md, "${check.see.replaceAll("-", " ")}"`),
		!told && check.evidence && check.status !== "skipped" &&
			h("p", { class: "hint" }, `By: ${check.evidence}`));
}

function symptomView({ title, suspects, hints }) {
	return h("section", { class: "symptom" },
		h("h3", {}, `Symptom: ${title}`),
		h("p", {}, suspects.length > 0 ? `Look first at: ${suspects.join(", ")}`
			: "Nothing that was found on the host explains it."),
		h("p", {}, "Only the guest can show:"),
		h("ul", {}, hints.map(({ cause, remedy }) =>
			h("li", {}, h("p", {}, cause), remedyLine(remedy)))));
}

function reportView({ domain, symptom, counts, checks }) {
	const ofStatus = (status, told) =>
		checks.filter(check => check.status === status && isTold(check) === told);
	const found = ["fail", "warn", "unknown"].flatMap(status => ofStatus(status, true));

	return [
		h("h2", {}, `${domain ? `Domain ${domain.name}` : "This host"}, ${time(Date.now() * 1000)}`),
		h("p", { role: "status" }, `${checks.length} checks: ${counts.fail} failed, `,
			joined([`${counts.warn} with a warning`, `${counts.pass} passed`,
				counts.unknown > 0 && `${counts.unknown} unknown`,
				counts.skipped > 0 && `${counts.skipped} skipped`]), "."),
		h("ul", { class: "findings" }, found.map(findingView)),
		symptom && symptomView(symptom),
		["unknown", "pass", "skipped"].map(status => {
			const rest = ofStatus(status, false);

			return rest.length > 0 && h("details", { "data-key": status },
				h("summary", {}, `${rest.length} ${status === "pass" ? "passed" : status}`),
				h("ul", { class: "findings" }, rest.map(findingView)));
		}),
	];
}

/* permit: is told what polkit says of the host. */
function startReport(place, permit) {
	let question = 0, answered = false, epoch = 0, listed = "", right = "no";
	const domain = h("select", { id: "doctor-domain", onfocus: list, onchange: look },
		options([["", "This host"]]));
	const symptom = h("select", { id: "doctor-symptom", disabled: true }, options(SYMPTOMS));
	const button = h("button", { class: "primary", disabled: true }, "Examine");
	const why = h("div", {}), told = h("div", {});

	/* The answer to the newest question stays, whichever comes last. */
	async function ask() {
		const mine = ++question;
		let shown = null, failed = false;

		become(told, busy("The checks run: a second, or 40 where a device does not answer."));
		try {
			shown = reportView(await bus.read(SCHEMA, "the report", "Doctor", [domain.value],
				{ symptom: domain.value ? symptom.value || null : null }, { slow: true }));
		} catch (failure) {
			failed = true;
			shown = problem(Failure.from(failure));
		}
		if (mine !== question)
			return;
		answered = !failed;
		become(told, shown);
	}

	/* Of the domain that is chosen: polkit may tell one from another. */
	async function look() {
		const chosen = domain.value, life = bus.model.epoch;
		let failure = null;

		symptom.disabled = !chosen;
		button.disabled = true;
		const { Doctor: now } = await bus.allowed(["Doctor"], chosen).catch(error => {
			failure = error;
			return {};
		});

		if (chosen !== domain.value || life !== bus.model.epoch)
			return;
		right = now;
		button.disabled = right !== "yes";
		if (!chosen)
			permit(right);
		if (right && right !== "yes")
			failure = refusal("org.gpupass1.read", right);
		become(why, failure && problem(failure));
	}

	/* A list that is as before stays: it may be open. */
	async function list() {
		const domains = await bus.domains().catch(failure => become(why, problem(failure)));
		const now = JSON.stringify(domains), chosen = domain.value;

		if (!domains || now === listed)
			return;
		listed = now;
		domain.replaceChildren(...options([["", "This host"], ...domains.map(({ name, uuid, deceives }) =>
			[uuid, `Domain ${name}${deceives ? ` (${uuid})` : ""}`])], chosen));
		if (domain.value !== chosen)
			look();
	}

	place.append(
		h("form", { class: "ask", onsubmit: event => {
			event.preventDefault();
			ask();
		} },
		h("label", {}, "Host or domain", domain), h("label", {}, "Seen in the guest", symptom),
		button),
		why, told);
	bus.watch(async model => {
		if (!model.up || model.epoch === epoch)
			return;
		epoch = model.epoch;
		await look();
		if (epoch !== bus.model.epoch)
			return;
		list();
		/* Also when the answer was lost with an earlier daemon. */
		if (right === "yes" && !answered)
			ask();
	});
}

/* ---- the bundle ---- */

/* What the client printed, without its indents. */
function clientFailure(error) {
	const text = String(error.message || "");

	if (error.problem === "not-found")
		return new Failure("", "gpupass is not installed\nRemedy: install the package gpupass");
	if (!text.startsWith("gpupass: "))
		return Failure.from(error);
	const [, name = ""] = /^ {2}Error: {2}(\S+)$/m.exec(text) || [];

	return new Failure(name,
		text.replace(/^ {2}Error: .*$/m, "").replace(/^gpupass: |^ {2}/gm, "").trimEnd());
}

/* What it prints needs no file that would have to be removed again. */
function makeBundle() {
	const process = cockpit.spawn(["gpupass", "doctor", "--bundle=-"],
		{ superuser: "try", binary: true, err: "message" });

	return new Promise((resolve, reject) => {
		process.then((bytes, said) => resolve({ bytes, said }),
			error => reject(clientFailure(error)));
	});
}

function offer(bytes) {
	const name = `gpupass-bundle-${time(Date.now() * 1000).replace(/[-:]/g, "").replace(" ", "-")}.tar`;
	const url = URL.createObjectURL(new Blob([bytes], { type: "application/x-tar" }));

	h("a", { href: url, download: name }).click();
	setTimeout(() => URL.revokeObjectURL(url), 60000);
	return name;
}

function startBundle(place) {
	const told = h("div", {});
	let making = false;
	const button = h("button", { type: "button", disabled: true, onclick: make }, "Make and download");

	async function make() {
		if (making)
			return;
		making = true;
		become(told, busy("The bundle is being made."));
		try {
			const { bytes, said } = await makeBundle();
			const name = offer(bytes);

			become(told, h("p", { role: "status" },
				prose(said ? said.trim().replace("the bundle", name) : `${name}: written.`)));
		} catch (failure) {
			become(told, problem(failure));
		}
		making = false;
	}

	place.append(
		h("h2", {}, "Bundle"),
		h("p", {}, "A tar for somebody who cannot reach this host: what doctor found, and from what, ",
			"the PCI functions of GPUs and of what goes with them, evidence, list, topology and ",
			"versions, and what gpupassd and the kernel logged, as far as you may read it."),
		h("p", {}, "The names of the host, of its people, and of all domains that libvirt or ",
			"gpupass knows, and UUIDs, MAC and network addresses, serial numbers, names of what ",
			"is on NVMes, and ids of 32 or more hex digits are replaced before anything is ",
			"written. The journal may have names that nobody knows any more: look through the ",
			"archive before you send it."),
		button, told);
	return right => {
		button.disabled = right !== "yes";
		button.title = rightText(right);
	};
}

export function start(place) {
	const report = h("section", { class: "card doctor" });
	const bundle = h("section", { class: "card doctor" });

	place.append(report, bundle);
	startReport(report, startBundle(bundle));
}
