/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The picture of the host, as `gpupass topology --svg` draws it. Where things are is asked for when it has
 * changed; how they are comes with the model's signals, and changes only what is drawn already.
 */
import { bus } from "./bus.js";
import { become, drawer, h, joined, plural, printable, problem, s } from "./draw.js";
import { groupState } from "./states.js";

const SCHEMA = "org.gpupass1.topology/1";
const W = 132, H = 82, GAP = 12, PAD = 12, HEAD = 34, BAR = 18, LEVEL = 28, STUB = 14, LANE = 28;
/* Of bold letters, with room for a wider font. */
const LETTER = 7;
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

const isGpu = device => device.kind === "gpu";
const noun = device => NOUNS[device.kind] ?? device.kind;
const linked = group => group.GpuAddresses.length > 1 && group.Provenance && group.Provenance !== "none";
const cut = (text, room) => [...text].length > room ? `${[...text].slice(0, room - 1).join("")}…` : text;
const nodeName = (l, node) => node < Infinity ? `NUMA node ${node}`
	: l.t.numa_nodes.length > 0 ? "NUMA node not known" : "No NUMA";
const bridgeName = (l, address) => `${BRIDGES[l.kinds.get(address)] ?? "bridge"} ${address}`;

/* ---- where things are ---- */

/* Of bridges above the same devices only the lowest is drawn: of a root port and its switch the switch. */
function devicesOf(t, kinds) {
	const below = new Map();
	const all = [...t.gpus.map(d => ({ ...d, kind: "gpu" })), ...t.companions];
	const devices = all.map((d, index) => ({
		index, kind: d.kind, address: d.address, driver: d.driver, group: d.group,
		node: d.numa_node ?? Infinity, model: d.model || `${d.vendor_id}:${d.device_id}`,
		alone: WHY_ALONE[d.nvlink?.kind] ?? "no group",
		near: (d.distances ?? []).filter(one => t.gpus.some(gpu => gpu.address === one.to))
			.sort((a, b) => NEAR.indexOf(a.pcie) - NEAR.indexOf(b.pcie))[0],
		path: d.upstream_path.filter(bridge => kinds.get(bridge) !== "downstream-port"),
	}));

	for (const bridge of devices.flatMap(d => d.path))
		below.set(bridge, (below.get(bridge) ?? 0) + 1);
	for (const d of devices)
		d.chain = d.path.filter((bridge, i) => below.get(bridge) !== below.get(d.path[i + 1]));
	return devices;
}

/* A companion stands behind the last GPU with which it shares most bridges; of its group, if it can be. */
function anchorOf(device, gpus) {
	let best = 1, anchor = null;

	for (const gpu of gpus) {
		const shared = gpu.node === device.node &&
			device.path.filter((bridge, i) => gpu.path[i] === bridge).length;
		const weight = shared && 2 * shared + (device.group && device.group === gpu.group ? 1 : 0);

		if (weight >= best)
			[best, anchor] = [weight, gpu];
	}
	return anchor;
}

/* By node; in it groups that reach into other nodes first, and the GPUs of a group side by side. */
function sorted(devices) {
	const gpus = devices.filter(isGpu);

	for (const d of devices) {
		const anchor = isGpu(d) ? d : anchorOf(d, gpus);
		const group = anchor?.group ? gpus.filter(gpu => gpu.group === anchor.group) : [];
		const here = group.filter(gpu => gpu.node === d.node);

		d.beside = anchor?.group;
		d.key = [d.node, !anchor ? 2 : here.length < group.length ? 0 : 1, (here[0] ?? anchor)?.index ?? 0,
			anchor?.index ?? 0, d.index];
	}
	return devices.sort((a, b) => {
		const i = a.key.findIndex((part, k) => part !== b.key[k]);

		return i < 0 ? 0 : a.key[i] - b.key[i];
	});
}

/* Row by row. A group that would break over two rows begins a new one, if it fits in one. */
function flow(devices) {
	const nodes = [...new Set(devices.map(d => d.node))], limit = [8, 8, 4][nodes.length] ?? 2;
	const rows = new Map();
	const panels = nodes.map((node, i) => ({ node, band: Math.floor(i / 4), columns: 0 }));

	for (const panel of panels) {
		const cards = devices.filter(d => d.node === panel.node);
		let n = 0, column = 0;

		for (const [i, d] of cards.entries()) {
			const begins = d.beside && cards[i - 1]?.beside !== d.beside;
			const run = begins ? cards.filter(one => isGpu(one) && one.group === d.beside).length : 1;

			if (column === limit || (column > 0 && run <= limit && column + run > limit))
				[n, column] = [n + 1, 0];
			const key = panel.band * devices.length + n;
			const row = rows.get(key) ?? { key, band: panel.band, levels: 0, rails: [] };

			rows.set(key, row);
			row.levels = Math.max(row.levels, d.chain.length);
			Object.assign(d, { panel, row, column: column++ });
			panel.columns = Math.max(panel.columns, column);
		}
	}
	return { panels, rows: [...rows.values()].sort((a, b) => a.key - b.key) };
}

/* A rail for each row of a group, in a lane of its own where two would touch. A trunk joins several. */
function railsOf(devices, right) {
	const rails = [], trunks = [];

	for (const d of devices.filter(one => isGpu(one) && one.group)) {
		let rail = rails.find(one => one.group === d.group && one.row === d.row);

		if (!rail) {
			if (rails.some(one => one.group === d.group) && !trunks.includes(d.group))
				trunks.push(d.group);
			rails.push(rail = { group: d.group, row: d.row, stubs: [], lane: 0 });
		}
		rail.stubs.push(d.x + W / 2);
	}
	for (const rail of rails) {
		const touches = other => other.lane === rail.lane &&
			other.from < rail.to + W && rail.from < other.to + W;

		rail.from = Math.min(...rail.stubs);
		rail.last = Math.max(...rail.stubs);
		rail.joined = trunks.includes(rail.group);
		rail.to = rail.joined ? right + GAP * (trunks.indexOf(rail.group) + 1) : rail.last;
		while (rail.row.rails.some(touches))
			rail.lane++;
		rail.row.rails.push(rail);
	}
	return { rails, width: right + GAP * trunks.length };
}

function layout(t) {
	const kinds = new Map(t.bridges.map(bridge => [bridge.address, bridge.kind]));
	const devices = sorted(devicesOf(t, kinds)), { panels, rows } = flow(devices);
	let y = 0;

	for (const [i, panel] of panels.entries()) {
		const left = panels[i - 1];

		panel.x = left?.band === panel.band ? left.x + left.w + GAP : 0;
		panel.w = panel.columns * (W + GAP) - GAP + 2 * PAD;
	}
	for (const d of devices)
		d.x = d.panel.x + PAD + d.column * (W + GAP);
	const { rails, width } = railsOf(devices, Math.max(0, ...panels.map(panel => panel.x + panel.w)));

	for (const [i, row] of rows.entries()) {
		const lanes = Math.max(0, ...row.rails.map(rail => rail.lane + 1));

		if (row.band !== rows[i - 1]?.band)
			y += HEAD + (i > 0 ? GAP : 0);
		row.y = y;
		row.cards = y + row.levels * LEVEL;
		y = row.cards + H + (lanes > 0 ? STUB + lanes * LANE : PAD);
		for (const panel of panels.filter(one => one.band === row.band)) {
			panel.y ??= row.y - HEAD;
			panel.h = y - panel.y;
		}
		for (const rail of row.rails)
			rail.y = row.cards + H + STUB + rail.lane * LANE;
	}
	return { t, kinds, devices, panels, rails, width, height: y };
}

/* ---- drawing ---- */

function panelOf(l, panel) {
	const node = l.t.numa_nodes.find(one => one.node === panel.node);
	const memory = Math.floor((node?.memory_bytes ?? 0) / 2 ** 30);
	const facts = joined([node?.cpus && `CPUs ${node.cpus}`, memory > 0 && `${memory} GiB`], " · ");
	const right = panel.x + panel.w - PAD, y = panel.y + 22;

	return s("g", {},
		s("rect", { class: "panel", x: panel.x, y: panel.y, width: panel.w, height: panel.h, rx: 10 }),
		s("text", { class: "strong", x: panel.x + PAD, y }, nodeName(l, panel.node)),
		/* Half of a list of CPUs misleads less than no list. */
		s("text", { class: "dim", x: right, y, "text-anchor": "end" },
			cut(facts, Math.floor((panel.w - 150) / 6))));
}

/* A bar over all neighbours that hang on a bridge, and wires down to what is below it. */
function bridgesOf(l) {
	const bars = [], wires = [];
	const share = (a, b, level) => b && a.row === b.row && a.panel === b.panel &&
		a.chain[level] === b.chain[level];

	for (let level = 0; l.devices.some(d => d.chain.length >= level); level++)
		for (let i = 0, end; i < l.devices.length; i = end) {
			const d = l.devices[i], bridge = d.chain[level], y = d.row.y + level * LEVEL;

			for (end = i + 1; bridge && share(d, l.devices[end], level);)
				end++;
			const width = l.devices[end - 1].x + W - d.x, x = d.x + width / 2;

			if (d.chain[level - 1])
				wires.push(s("path", { class: "wire",
					d: `M${x} ${y - LEVEL + BAR}V${bridge ? y : d.row.cards}` }));
			if (bridge)
				bars.push(s("g", {}, s("title", {}, d.path.slice(0, d.path.indexOf(bridge) + 1)
					.map(one => bridgeName(l, one)).join(" › ")),
				s("rect", { class: l.kinds.get(bridge), x: d.x, y, width, height: BAR, rx: 4 }),
				s("text", { class: "dim", x, y: y + 13, "text-anchor": "middle" },
					cut(bridgeName(l, bridge).replace(" 0000:", " "), Math.floor((width - 8) / 6)))));
		}
	return [wires, bars];
}

function railOf(l, rail) {
	const top = rail.row.cards + H, of = l.rails.filter(other => other.group === rail.group);
	const d = rail.stubs.map(x => `M${x} ${top}V${rail.y}`).join("") + `M${rail.from} ${rail.y}H${rail.to}` +
		(of[0] === rail && rail.joined ? `V${of.at(-1).y}` : "");

	rail.line = s("path", { d });
	rail.pill = s("rect", { class: "pill", y: rail.y - 10, height: 20, rx: 10 });
	rail.text = s("text", { class: "strong", x: (rail.from + rail.last) / 2, y: rail.y + 4,
		"text-anchor": "middle" });
	rail.label = s("g", {}, rail.pill, rail.text);
	rail.element = s("g", {}, s("path", { class: "halo", d }), rail.line);
	return rail.element;
}

const HATCH = Array.from({ length: Math.floor((W + H) / 14) }, (_, i) =>
	`M${14 * (i + 1) - H} ${H}l${H}-${H}`).join("");

function boxOf(d, pick) {
	const text = (kind, y) => s("text", { class: kind, x: 10, y });

	d.title = s("title");
	d.driven = text("dim", 51);
	d.sign = s("path", { class: "sign", "fill-rule": "evenodd", transform: "translate(15 67)" });
	d.state = s("text", { class: "strong", x: 25, y: 71 });
	const model = text("strong", 19), address = text("mono", 35);

	model.append(printable(cut(isGpu(d) ? d.model : `${noun(d)} ${d.model}`, 17)));
	address.append(printable(d.address));
	d.element = s(isGpu(d) || d.group ? "a" : "g", { href: "#/overview", "data-key": `box ${d.address}`,
		onclick: event => {
			event.preventDefault();
			pick(d.group, d.address);
		} },
	d.title, s("svg", { x: d.x, y: d.row.cards, width: W, height: H },
		s("rect", { class: "face", width: W, height: H, rx: 8 }),
		s("rect", { class: "tint", width: W, height: H, rx: 8 }),
		s("path", { class: "hatch", d: HATCH }),
		s("rect", { class: "edge", x: 1, y: 1, width: W - 2, height: H - 2, rx: 7 }),
		model, address, d.driven, d.sign, d.state));
	return d.element;
}

/* ---- what changes ---- */

function change(element, name, value) {
	if (element.getAttribute(name) !== value)
		element.setAttribute(name, value);
}

function say(element, text) {
	if (element.textContent !== text)
		element.textContent = text;
}

function paintBox(l, d, group, gpu) {
	const name = lookOf(group), driver = (isGpu(d) ? gpu?.Driver : d.driver) || "no driver";
	const state = group ? groupState(group).text : isGpu(d) ? d.alone : "in no group";

	d.words = printable(joined([`${noun(d)} ${d.address}`, d.model, group && `group ${group.Name}`, state,
		`driver ${driver}`, d.near && `${d.near.pcie} to ${d.near.to}`,
		d.path.map(bridge => bridgeName(l, bridge)).join(" › ")]));
	change(d.element, "class", `box ${look(group)}`);
	change(d.element, "aria-label", d.words);
	change(d.sign, "d", SIGNS[name]);
	say(d.title, d.words);
	say(d.driven, printable(cut(driver, 18)));
	say(d.state, cut(printable(name !== "held" ? group?.State ?? state
		: group.DomainName || group.DomainUuid), 14));
}

function paintRail(rail, group) {
	const single = group.Link === "-", known = single || linked(group);
	const inferred = group.Provenance === "inferred";
	const label = printable(joined([group.Name, !single && (known ? linkText(group) : "links not known"),
		inferred && "inferred"], " · "));
	const text = cut(label, Math.floor((rail.last - rail.from + W) / LETTER) - 3);
	const width = [...text].length * LETTER + 20;

	change(rail.element, "class", look(group));
	change(rail.label, "class", look(group));
	change(rail.line, "class", `rail ${known ? inferred ? "inferred" : "" : "not-known"}`);
	change(rail.pill, "x", String((rail.from + rail.last - width) / 2));
	change(rail.pill, "width", String(width));
	say(rail.text, text);
}

function summaryOf(l, groups) {
	const some = (n, word, end) => n > 0 && plural(n, word, end);
	const of = kind => some(l.devices.filter(d => d.kind === kind).length, NOUNS[kind]);

	return joined([...Object.keys(NOUNS).map(of), some(groups.filter(linked).length, "NVLink group"),
		some(l.t.numa_nodes.length, "NUMA node"), some(l.t.nvswitches, "NVSwitch", "es")], " · ");
}

function listOf(l, links) {
	return h("ul", {}, l.panels.map(panel => h("li", {}, nodeName(l, panel.node), h("ul", {},
		l.devices.filter(d => d.panel === panel).map(d => h("li", {}, d.words))))),
	links.map(link => h("li", {}, link)));
}

/* What the places in the picture depend on. */
function shapeOf({ gpus, groups }) {
	return JSON.stringify([[...gpus.values()].map(gpu => [gpu.Address, gpu.UpstreamPath, gpu.NumaNode]),
		[...groups.values()].map(group => [group.Name, group.GpuAddresses, group.Companions])]);
}

/* Draws into this place, and keeps it so. pick(name of a group or null, address) is called for a box. */
export function topology(place, pick) {
	let wanted = null, underWay = null, drawn = null, epoch = null;

	function paint({ groups, gpus }) {
		const byName = new Map([...groups.values()].map(group => [group.Name, group]));
		const byAddress = new Map([...gpus.values()].map(gpu => [gpu.Address, gpu]));

		for (const d of drawn.devices)
			paintBox(drawn, d, byName.get(d.group), byAddress.get(d.address));
		for (const rail of drawn.rails)
			if (byName.has(rail.group))
				paintRail(rail, byName.get(rail.group));
		say(drawn.summary, summaryOf(drawn, [...groups.values()]));
		change(drawn.image, "aria-label", printable(`GPUs of ${drawn.t.host || "this host"}, and how they ` +
			`reach each other: ${drawn.summary.textContent}`));
		const links = [...groups.values()].filter(linked).map(group => `NVLink of ${group.Name}: ` +
			`${joined(group.GpuAddresses)}: ${linkText(group)}, ${group.Provenance}`);

		drawn.drawList([drawn.devices.map(d => d.words), links], () => listOf(drawn, links));
	}

	function draw(t) {
		const l = drawn = layout(t);
		const width = l.width + 2, height = l.height + 2;

		l.summary = h("p", { class: "hint" });
		const list = h("div", {});

		l.drawList = drawer(list);
		/* Links have no place inside an image: the image is what lies below and between them. */
		l.image = s("g", { role: "img" }, l.panels.map(panel => panelOf(l, panel)), bridgesOf(l),
			l.rails.map(rail => railOf(l, rail)), l.rails.map(rail => rail.label));
		become(place, l.summary,
			h("div", { class: "picture", tabindex: 0, role: "group", "aria-label": "Picture of the topology",
				"data-key": "picture" }, s("svg", { width, height, viewBox: `-1 -1 ${width} ${height}` },
				l.image, l.devices.map(d => boxOf(d, pick)))),
			h("details", { "data-key": "list" },
				h("summary", { "data-key": "as list" }, "The same as a list"), list));
		paint(bus.model);
	}

	/* One call at a time: what changes meanwhile is asked for afterwards, once. */
	async function ask() {
		const mine = underWay = {}, want = wanted;
		let t = null, failure = null;

		try {
			t = await bus.read(SCHEMA, "the topology", "GetTopology");
		} catch (error) {
			failure = error;
		}
		if (mine !== underWay)
			return; /* it was asked of a daemon that is gone */
		underWay = null;
		if (want !== wanted) {
			ask();
		} else if (failure) {
			drawn = null;
			become(place, problem(failure));
		} else {
			draw(t);
		}
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
