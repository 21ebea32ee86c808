/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host has: groups as cards with their acts, GPUs in no group, the picture, jobs. */
import * as dialogs from "./assign.js";
import { bus, byAddress, byName, endedJob, rightText } from "./bus.js";
import {
	badge, become, copyButton, drawer, h, headings, joined, lock, part, plural, stateBadge, time,
} from "./draw.js";
import { jobsList } from "./jobs.js";
import * as states from "./states.js";
import { linkText, look, NOUNS, topology, WHY_ALONE } from "./topology.js";

const has = group => group.DomainUuid !== "" && ["assigned", "degraded"].includes(group.State);
const unsure = group => ["unknown", "inferred"].includes(group.State);

const ACTS = [
	{ verb: "Assign", open: dialogs.openAssign, by: "libvirt",
		fits: group => !group.DomainUuid && ["free", "bound", "inferred", "degraded"].includes(group.State),
		bar: group => group.Assignable ? "" : group.State === "degraded" ? "it is degraded"
			: "its links are not proven well enough" },
	{ verb: "Release", open: dialogs.openRelease, by: "libvirt", fits: has },
	{ verb: "Verify", open: dialogs.openVerify, by: "libvirt",
		fits: group => has(group) && group.GpuAddresses.length > 1 },
	{ verb: "Clear", open: dialogs.openClear, fits: group => group.State === "quarantined" },
	{ verb: "Declare", open: dialogs.openDeclare, fits: unsure },
	/* Of the whole host: polkit is asked without a group, as by the call itself. */
	{ verb: "Probe", open: dialogs.openProbe, fits: unsure, ofHost: true },
];

/* What can be done where there is no group for it yet. */
const HOST = { path: "host", Name: "", DomainUuid: "", State: "unknown" };
const SEVERITY = ["bad", "warn", "busy", "ok", "none"];

/* ---- what polkit would say ---- */

/* Question to answer; null: not answered yet. */
const answers = new Map();

/* It is drawn with all that changes: not while a button is held down. */
async function ask(key, ...about) {
	const answer = await bus.allowed(...about).catch(failure => ({ failure }));

	answers.set(key, answer);
	bus.changed();
	if (answer.failure)
		setTimeout(() => answers.delete(key) && bus.changed(), 5000);
}

/* {Assign: "yes"…} of the acts that fit; what is not known yet is absent, and asked for. */
function rightsOf(group) {
	const fitting = ACTS.filter(act => act.fits(group)), found = {};

	for (const ofHost of [false, true]) {
		const verbs = fitting.filter(act => Boolean(act.ofHost) === ofHost).map(act => act.verb);
		const about = [verbs, ...ofHost ? ["", ""] : [group.DomainUuid, group.Name]];
		const key = JSON.stringify([bus.model.epoch, ...about]);

		if (verbs.length === 0)
			continue;
		if (!answers.has(key)) {
			answers.set(key, null);
			ask(key, ...about);
		}
		Object.assign(found, answers.get(key));
	}
	return found;
}

/* Why one may not; null: one may; "": it is not known yet. */
function barOf(act, group, rights, manager) {
	if (act.by === "libvirt" && manager.DomainsFrom !== "libvirt")
		return "gpupassd runs without libvirt";
	if (act.by === "libvirt" && !manager.LibvirtConnected)
		return "libvirt is not connected";
	if (act.bar?.(group))
		return act.bar(group);
	/* A rule may permit it of the domain or the name that the dialog has; it asks again. */
	if (["yes", "password"].includes(rights[act.verb]))
		return null;
	return rightText(rights[act.verb]) ||
		(rights.failure ? `what polkit says is not known, ${rights.failure.what}` : "");
}

function actsOf(group, rights, manager) {
	const barred = new Map(), idOf = n => `bar-${n}-${group.path}`;
	const buttons = ACTS.filter(act => act.fits(group)).map(act => {
		const bar = barOf(act, group, rights, manager);
		const asks = bar === null && rights[act.verb] === "password";

		if (bar)
			barred.set(bar, [...barred.get(bar) ?? [], act.verb]);
		/* Not `disabled`, so that whoever comes by keyboard hears the reason. */
		return h("button", { type: "button", "data-key": `${act.verb} ${group.path}`,
			title: asks ? rightText("password") : bar, "aria-disabled": bar !== null && "true",
			"aria-describedby": bar && idOf([...barred.keys()].indexOf(bar)),
			onclick: () => bar === null && act.open(group) },
		`${act.verb}…`, asks && lock());
	});

	return buttons.length > 0 && h("footer", {}, buttons, [...barred].map(([bar, verbs], i) =>
		h("p", { class: "hint", id: idOf(i) }, `${verbs.join(", ")}: ${bar}`)));
}

/* ---- a card ---- */

/* Words of client/show/describe.c, and of a plan's refusal: what to do, and what to type. */
function remedyOf(group) {
	const gpus = group.GpuAddresses.map(address => address.replace(/^0000:/, "")).join(" ");

	if (group.State === "quarantined")
		return ["when its cause is gone: ", `gpupass clear ${group.Name}`];
	return group.Assignable ? null : {
		unknown: ["look at the bridges and declare each group with: ", "gpupass declare NAME GPU GPU"],
		unready: ["gpupassd does so by itself (gpupass jobs), or: ", `gpupass prepare ${group.Name}`],
		inferred: ["declare it with: ", `gpupass declare ${group.Name} ${gpus}`],
	}[group.State];
}

function healthOf(gpu) {
	const state = states.healthState(gpu.Health);
	const title = gpu.HealthReason || state.title;

	return gpu.Health === "unknown" ? h("span", { class: "hint", title }, state.text)
		: gpu.Health && badge(state.kind, state.text, title);
}

function gpuCells(gpu) {
	return [gpu.Driver || "no driver", gpu.NumaNode >= 0 ? gpu.NumaNode : "-", healthOf(gpu)].map(cell =>
		h("td", {}, cell));
}

function gpuRow(address, gpu) {
	return h("tr", {}, h("th", { scope: "row", class: "mono" }, address), gpu
		? gpuCells(gpu)
		: h("td", { colspan: 3 }, badge("bad", "missing")));
}

function companionRow([kind, address, driver, , vendor, , vlan]) {
	return h("tr", {}, h("th", { scope: "row", class: "mono" }, address),
		vendor ? h("td", {}, driver || "no driver") : h("td", {}, badge("bad", "missing")),
		h("td", { colspan: 2 }, NOUNS[kind] ?? kind, vlan > 0 && `, VLAN ${vlan}`));
}

/* A board that its own domain made dirty is no news. */
function dirtyOf(group, gpus) {
	const gpu = gpus.find(one => one?.TenantState === "dirty" &&
		(!one.Tenant || one.Tenant !== group.DomainUuid));

	return gpu && h("p", {}, stateBadge(states.tenantState("dirty")), ` ${gpu.Address} was last used by ${
		joined([gpu.TenantName, gpu.Tenant]) || "a tenant that is not known"}, and not reset since${
		gpu.TenantReason ? `; ${gpu.TenantReason}` : ""}`);
}

function moreOf(group, gpus, assignment) {
	const rows = [
		["State", states.groupState({ ...group, Reason: "" }).title],
		["Links", group.Links > 0 ? joined([group.Links, group.LinksExpected], " of ")
			: group.LinksExpected > 0 && `not observed; the board has ${group.LinksExpected}`],
		["Evidence", joined([group.Provenance, group.Source && `(${group.Source})`], " ")],
		["", group.Source && group.Reasoning.includes(group.Source) ? "" : group.Reasoning],
		...(group.Evidence ?? []).filter(([, , at]) => at > 0).map(([how, links, at, source]) =>
			["Seen", `${how}, ${plural(links, "link")}, ${time(at)}${source && ` (${source})`}`]),
		["History", group.PastGuestWord],
		["Domain", joined([group.DomainName, group.DomainUuid])],
		...assignment ? [["Assigned", `${time(assignment.CreatedAt)}, by uid ${assignment.CreatedByUid}`],
			["Applies", assignment.Applies?.join(", ")], ["Topology", assignment.Topology]] : [],
		["IOMMU", group.IommuGroups?.map(n => n < 0 ? "none" : n).join(", ")],
		["Kept", { asked: "on vfio-pci (bind --persist)", setting: "on vfio-pci (KeepBound=)" }[group.Kept]],
		...gpus.filter(gpu => gpu?.HealthReason).map(gpu =>
			["Health", `${gpu.Address}: ${gpu.HealthReason}`]),
	];

	return h("details", { "data-key": `more ${group.path}` },
		h("summary", { "data-key": `summary ${group.path}` }, "More",
			h("span", { class: "offscreen" }, ` about ${group.Name}`)),
		h("dl", {}, rows.map(([name, text]) => part(name, text))));
}

/* To it in the list of jobs, where it is followed live. */
function jobButton(job) {
	return h("button", { type: "button", class: "small plain", "data-key": `job ${job.path}`, onclick: () => {
		const found = document.querySelector(`[data-key="${CSS.escape(`${bus.model.epoch} ${job.path}`)}"]`);

		if (found) {
			found.open = true;
			found.querySelector("summary").focus();
		}
	} }, `Job ${job.Id}: ${states.jobSentence(job)}`);
}

function cardOf(group, gpus, assignment, job, rights, manager) {
	const state = states.groupState(group), how = states.provenanceState(group.Provenance);
	const remedy = remedyOf(group);
	/* Other reasons end in their own remedy. */
	const ownRemedy = group.Reason && !["quarantined", "unready"].includes(group.State);

	return [
		h("header", {}, h("h3", {}, group.Name), badge(state.kind, state.text),
			h("span", { title: how.title }, `${group.GpuAddresses.length}× ${group.Model || "GPU"}`,
				group.Link === "-" ? "" : how.text === "none" ? " · links not known"
					: ` · ${linkText(group)}, ${how.text}`)),
		/* Of a group in a job's hand the reason is the number of the job. */
		group.Reason && !job && h("p", {}, group.Reason, " ",
			remedy && ownRemedy && copyButton(remedy[1], "Copy the remedy")),
		job && h("p", {}, jobButton(job)),
		remedy && !ownRemedy && h("p", { class: "remedy" }, "Remedy: ", remedy[0], h("code", {}, remedy[1]),
			" ", copyButton(remedy[1])),
		dirtyOf(group, gpus),
		group.VerifiedAt > 0 && h("p", {}, "In the guest ", stateBadge(states.verdictState(group.Verified)),
			` ${time(group.VerifiedAt)}`),
		h("table", {}, h("caption", { class: "offscreen" }, `Members of ${group.Name}`),
			headings(["Member", "Driver", "NUMA", "Health"]), h("tbody", {},
			group.GpuAddresses.map((address, i) => gpuRow(address, gpus[i])),
			group.Companions?.map(companionRow))),
		moreOf(group, gpus, assignment),
		actsOf(group, rights, manager),
	];
}

/* ---- around the cards ---- */

function headOf(model, groups, working, go) {
	const rank = group => SEVERITY.indexOf(states.groupState(group).kind);
	const order = [...new Set([...groups].sort((a, b) => rank(a) - rank(b)).map(group => group.State))];
	const { manager } = model;

	return [
		h("div", { class: "row" }, `${plural(model.gpus.size, "GPU")}, ${plural(groups.length, "group")}`,
			order.map(state => {
				const those = groups.filter(group => group.State === state);

				return h("button", { type: "button", class: "small plain", "data-key": `go ${state}`,
					title: `Go to ${those[0].Name}`, onclick: () => go(those[0]) },
				badge(states.groupState(those[0]).kind, `${those.length} ${state}`));
			}),
			working.length > 0 ? working.map(jobButton) : h("span", { class: "hint" }, "No job is at work.")),
		manager.DomainsFrom === "libvirt" && !manager.LibvirtConnected && h("p", { class: "problem" },
			"libvirt is not connected. Without it nothing can be assigned or released."),
		manager.IommuEnabled === false && h("p", { class: "problem" },
			"The kernel has no IOMMU groups: the IOMMU is off."),
	];
}

function aloneOf(gpus) {
	const rows = gpus.map(gpu => h("tr", { tabindex: -1, "data-key": `gpu ${gpu.Address}` },
		h("th", { scope: "row", class: "mono" }, gpu.Address), h("td", {}, gpu.Model || gpu.Name),
		gpuCells(gpu),
		h("td", {}, joined([WHY_ALONE[gpu.Nvlink] ?? "no group", gpu.NvlinkNote], ": "))));

	return gpus.length > 0 && [h("h2", {}, "GPUs in no group"), h("div", { class: "card scroll", tabindex: 0,
		role: "group", "aria-label": "GPUs in no group", "data-key": "alone" }, h("table", {},
		headings(["GPU", "Model", "Driver", "NUMA", "Health", "Why"]), h("tbody", {}, rows)))];
}

/* ---- the page ---- */

export function start(place) {
	const head = h("section", { class: "head", "aria-label": "Summary" });
	const cards = h("div", { class: "cards" });
	const none = h("p", { class: "empty" }), alone = h("section", {}), picture = h("div", {});
	const jobs = h("div", { class: "card" });
	const host = h("div", {}), drawHost = drawer(host);
	const drawHead = drawer(head), drawAlone = drawer(alone), drawJobs = drawer(jobs);
	const shown = new Map();

	place.classList.add("overview");
	become(place, head,
		h("section", {}, h("div", { class: "row" }, h("h2", {}, "Groups"), host), none, cards), alone,
		h("section", {}, h("h2", {}, "Topology"), picture), h("section", {}, h("h2", {}, "Jobs"), jobs));

	function drawCard(group, at, model, found, manager) {
		if (!shown.has(group.path)) {
			const card = h("article", { class: "card", tabindex: -1, "data-key": group.path,
				"aria-label": `Group ${group.Name}` });

			shown.set(group.path, { card, draw: drawer(card) });
		}
		const { card, draw: drawInside } = shown.get(group.path);
		const gpus = group.GpuAddresses.map(address => found.get(address));
		const assignment = [...model.assignments.values()].find(one => one.Group === group.path);
		const { path, Id, Operation, DomainName } = model.jobs.get(group.Job) ?? {};
		const job = path && { path, Id, Operation, DomainName, GroupName: group.Name };
		const about = [group, gpus, assignment, job, rightsOf(group), manager];

		card.className = `card ${look(group)}`;
		drawInside(about, () => cardOf(...about));
		if (cards.children[at] !== card)
			cards.insertBefore(card, cards.children[at] ?? null);
	}

	function draw() {
		const { model } = bus;
		const groups = byName(model.groups);
		const gpus = byAddress(model.gpus);
		const found = new Map(gpus.map(gpu => [gpu.Address, gpu]));
		const free = gpus.filter(gpu => !model.groups.has(gpu.Group));

		const working = [...model.jobs.values()].filter(job => !endedJob(job));
		/* Of the rest something changes at each record of the audit trail. */
		const { DomainsFrom, LibvirtConnected, IommuEnabled } = model.manager;
		const manager = { DomainsFrom, LibvirtConnected, IommuEnabled };

		drawHead([groups.map(({ Name, State }) => [Name, State]), gpus.length, manager,
			working.map(job => [job.Id, states.jobSentence(job)])],
		() => headOf(model, groups, working, group => shown.get(group.path)?.card.focus()));
		const rights = rightsOf(HOST);

		drawHost(rights, () => actsOf(HOST, rights, manager));
		for (const [path, { card }] of shown)
			if (!model.groups.has(path) && shown.delete(path))
				card.remove();
		groups.forEach((group, i) => drawCard(group, i, model, found, manager));
		none.hidden = groups.length > 0;
		none.textContent = gpus.length > 0 ? "No GPU of this host is in a group."
			: "This host has no NVIDIA GPU.";
		drawAlone(free, () => aloneOf(free));
		drawJobs([model.epoch, [...model.jobs.values()].map(job => [job.Id, job.State, job.CancelRequested,
			job.DomainName, job.GroupName, job.DurationUsec])], () => jobsList(model));
	}

	/* Without the daemon the tab is hidden: what is shown stays until it is there again. */
	bus.watch(model => model.up && draw());
	topology(picture, (name, address) => {
		const group = [...bus.model.groups.values()].find(one => one.Name === name);

		(shown.get(group?.path)?.card ??
			alone.querySelector(`[data-key="gpu ${CSS.escape(address)}"]`))?.focus();
	});
}
