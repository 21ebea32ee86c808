/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The picture of the host, as `gpupass topology --svg` draws it. Where things are is asked for when it has
 * changed; how they are comes with the model's signals, and changes only what is drawn already.
 */
import { bus, Failure } from "./bus.js";
import { become, h, printable, problem, s } from "./draw.js";
import { groupState } from "./states.js";

const NEAR = ["PIX", "PXB", "PHB", "NODE", "SYS"];
const BRIDGES = { "root-port": "root port", "upstream-port": "switch" };
export const WHY_ALONE = { none: "no NVLink", sxm: "SXM board", unknown: "unknown board" };
export const NOUNS = { gpu: "GPU", nic: "NIC", vf: "VF", nvme: "NVMe" };

const LOOKS = { free: "free", bound: "bound", assigned: "held", degraded: "bad", foreign: "bad",
	quarantined: "closed", binding: "moving", attaching: "moving", detaching: "moving", releasing: "moving",
	"rolling-back": "moving", unready: "moving" };
const ring = r => `M-${r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0-${2 * r} 0z`;
/* A sign for each look: nothing is told by colour alone. */
const SIGNS = { none: ring(5) + ring(3), free: ring(5) + ring(3), bound: ring(5) + ring(3.4) + ring(2),
	held: ring(5), moving: "M-4-5l9 5l-9 5z", unsure: "M0-6l6 6l-6 6l-6-6zM0-3l-3 3l3 3l3-3z",
	bad: "M0-6l6 11h-12z", closed: "M-5-3l2-2l3 3l3-3l2 2l-3 3l3 3l-2 2l-3-3l-3 3l-2-2l3-3z" };
const COLOURS = 6;
const coloured = new Map();

function lookOf(group) {
	return group ? LOOKS[group.State] ?? "unsure" : "none";
}

/* Classes of colour and pattern. A domain keeps its colour as long as the page is open. */
export function look(group) {
	const name = lookOf(group);

	if (name !== "held")
		return `look-${name}`;
	if (!coloured.has(group.DomainUuid))
		coloured.set(group.DomainUuid, coloured.size % COLOURS);
	return `look-held held${coloured.get(group.DomainUuid)}`;
}

/* "NV2 of 4": what is up where the board has more. */
export function linkText(group) {
	const some = group.Links > 0 && group.Links < group.LinksExpected;

	return some ? `${group.Link} of ${group.LinksExpected}` : group.Link || "?";
}

export function plural(n, word, end = "s") {
	return `${n} ${word}${n === 1 ? "" : end}`;
}

export function joined(items, between = ", ") {
	return items.filter(Boolean).join(between);
}

const isGpu = device => device.kind === "gpu";
const noun = device => NOUNS[device.kind] ?? device.kind;
const linked = group => group.GpuAddresses.length > 1 && group.Provenance && group.Provenance !== "none";
const nodeName = (t, node) => node < Infinity ? `NUMA node ${node}`
	: t.numa_nodes.length > 0 ? "NUMA node not known" : "No NUMA";

/* [[key, items]…], in the order of the first of each. */
function split(items, keyOf) {
	return [...new Set(items.map(keyOf))].map(key => [key, items.filter(one => keyOf(one) === key)]);
}

/* ---- drawing ---- */

/* By node; in it the GPUs of each group, then the rest. Each below the last bridge that it shares. */
function devicesOf(t) {
	const kinds = new Map(t.bridges.map(bridge => [bridge.address, bridge.kind]));
	const all = [...t.gpus.map(gpu => ({ ...gpu, kind: "gpu" })), ...t.companions];
	const isShared = bridge => all.filter(d => d.upstream_path.includes(bridge)).length > 1;
	const nameOf = bridge => `${BRIDGES[kinds.get(bridge)] ?? "bridge"} ${bridge}`;

	return all.map(d => {
		const path = d.upstream_path.filter(bridge => kinds.get(bridge) !== "downstream-port");
		const bridge = path.findLast(isShared) ?? path.at(-1);

		return {
			kind: d.kind, address: d.address, driver: d.driver, group: d.group, rail: isGpu(d) && d.group,
			node: d.numa_node ?? Infinity, model: d.model || `${d.vendor_id}:${d.device_id}`,
			alone: isGpu(d) ? WHY_ALONE[d.nvlink?.kind] ?? "no group" : "in no group",
			near: (d.distances ?? []).filter(one => t.gpus.some(gpu => gpu.address === one.to))
				.sort((a, b) => NEAR.indexOf(a.pcie) - NEAR.indexOf(b.pcie))[0],
			bridge: bridge && nameOf(bridge), bridgeKind: kinds.get(bridge),
			path: path.map(nameOf).join(" › "),
		};
	}).sort((a, b) => a.node - b.node || !a.rail - !b.rail);
}

function boxOf(d, pick) {
	const props = { class: "box", "data-key": `box ${d.address}` };

	d.element = isGpu(d) || d.group ? h("a", { ...props, href: "#/overview", onclick: event => {
		event.preventDefault();
		pick(d.group, d.address);
	} }) : h("div", { ...props, role: "img" });
	return d.element;
}

/* Devices side by side, and a bar over all that hang on one bridge. */
function boxesOf(devices, pick) {
	return h("div", { class: "boxes" }, split(devices, d => d.bridge).map(([bridge, below]) => h("div", {},
		bridge && h("div", { class: `bar ${below[0].bridgeKind}` }, bridge.replace(" 0000:", " ")),
		h("div", { class: "boxes" }, below.map(d => boxOf(d, pick))))));
}

function panelOf({ t, rails }, [node, devices], pick) {
	const { cpus, memory_bytes: bytes = 0 } = t.numa_nodes.find(one => one.node === node) ?? {};
	const memory = Math.floor(bytes / 2 ** 30);

	return h("section", { class: "panel" },
		h("div", { class: "row" }, h("h3", {}, nodeName(t, node)), h("span", { class: "hint" },
			joined([cpus && `CPUs ${cpus}`, memory > 0 && `${memory} GiB`], " · "))),
		h("div", { class: "boxes" }, split(devices, d => d.rail).map(([group, members]) => {
			const boxes = boxesOf(members, pick);

			if (!group)
				return boxes;
			const label = h("div", { class: "label" }), rail = h("div", {}, boxes, label);

			rails.push({ group, label, element: rail });
			return rail;
		})));
}

/* ---- what changes ---- */

function say(element, text) {
	if (element.textContent !== printable(text))
		element.textContent = printable(text);
}

function paintBox(d, group, gpu) {
	const name = lookOf(group), classes = `box ${look(group)}`;
	const driver = (isGpu(d) ? gpu?.Driver : d.driver) || "no driver";
	const state = group ? groupState(group).text : d.alone;
	const words = printable(joined([`${noun(d)} ${d.address}`, d.model, group && `group ${group.Name}`, state,
		`driver ${driver}`, d.near && `${d.near.pcie} to ${d.near.to}`, d.path]));

	if (d.words === words && d.element.className === classes)
		return;
	d.words = words;
	d.element.className = classes;
	d.element.title = words;
	d.element.setAttribute("aria-label", words);
	become(d.element, h("b", {}, isGpu(d) ? d.model : `${noun(d)} ${d.model}`),
		h("code", {}, d.address), h("small", {}, driver),
		h("b", {}, s("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" },
			s("path", { d: SIGNS[name], "fill-rule": "evenodd" })),
		name === "held" ? group.DomainName || group.DomainUuid : group?.State ?? state));
}

function paintRail({ element, label }, group) {
	const single = group.Link === "-", known = single || linked(group);
	const inferred = group.Provenance === "inferred";

	element.className = `rail ${look(group)} ${known ? inferred ? "inferred" : "" : "not-known"}`;
	say(label, joined([group.Name, !single && (known ? linkText(group) : "links not known"),
		inferred && "inferred"], " · "));
}

function summaryOf({ t, devices }, groups) {
	const some = (n, word, end) => n > 0 && plural(n, word, end);
	const of = kind => some(devices.filter(d => d.kind === kind).length, NOUNS[kind]);

	return joined([...Object.keys(NOUNS).map(of), some(groups.filter(linked).length, "NVLink group"),
		some(t.numa_nodes.length, "NUMA node"), some(t.nvswitches, "NVSwitch", "es")], " · ");
}

function listOf({ t, devices }, groups) {
	return h("ul", {}, split(devices, d => d.node).map(([node, those]) => h("li", {}, nodeName(t, node),
		h("ul", {}, those.map(d => h("li", {}, d.words))))),
	groups.filter(linked).map(group => h("li", {},
		`NVLink of ${group.Name}: ${joined(group.GpuAddresses)}: ${linkText(group)}, ${group.Provenance}`)));
}

/* What the places in the picture depend on. */
function shapeOf({ gpus, groups }) {
	return JSON.stringify([[...gpus.values()].map(gpu => [gpu.Address, gpu.UpstreamPath, gpu.NumaNode]),
		[...groups.values()].map(group => [group.Name, group.GpuAddresses, group.Companions])]);
}

/* Draws into this place, and keeps it so. pick(name of a group or null, address) is called for a box. */
export function topology(place, pick) {
	let wanted = null, underWay = null, drawn = null, epoch = null;

	function paint(model) {
		const groups = [...model.groups.values()], gpus = [...model.gpus.values()];

		for (const d of drawn.devices)
			paintBox(d, groups.find(one => one.Name === d.group), gpus.find(one => one.Address === d.address));
		for (const rail of drawn.rails) {
			const group = groups.find(one => one.Name === rail.group);

			if (group)
				paintRail(rail, group);
		}
		say(drawn.summary, summaryOf(drawn, groups));
		const list = listOf(drawn, groups);

		if (list.textContent !== drawn.list.textContent)
			become(drawn.list, list);
	}

	function draw(t) {
		drawn = { t, devices: devicesOf(t), rails: [], summary: h("p", { class: "hint" }), list: h("div", {}) };
		become(place, drawn.summary,
			h("div", { class: "picture", role: "group",
				"aria-label": `GPUs of ${t.host || "this host"}, and how they reach each other` },
			split(drawn.devices, d => d.node).map(node => panelOf(drawn, node, pick))),
			h("details", { "data-key": "list" },
				h("summary", { "data-key": "as list" }, "The same as a list"), drawn.list));
		paint(bus.model);
	}

	/* One call at a time: what changes meanwhile is asked for afterwards, once. */
	async function ask() {
		const mine = underWay = {}, want = wanted;
		let t = null, failure = null;

		try {
			t = JSON.parse(await bus.call("GetTopology"));
		} catch (error) {
			failure = Failure.from(error);
		}
		if (mine !== underWay)
			return; /* it was asked of a daemon that is gone */
		underWay = null;
		if (want !== wanted)
			ask();
		else if (failure)
			become(place, problem(failure));
		else
			draw(t);
	}

	bus.watch(model => {
		if (model.epoch !== epoch)
			wanted = underWay = null;
		({ epoch } = model);
		if (!model.up)
			return;
		const before = wanted;

		wanted = shapeOf(model);
		if (wanted !== before && !underWay)
			ask();
		if (drawn)
			paint(model);
	});
}
