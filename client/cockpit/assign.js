/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The dialogs: assign, release, verify, declare, probe, clear. */
import { Act } from "./acts.js";
import { bus, byAddress, byName } from "./bus.js";
import { become, h, joined, options, problem, prose } from "./draw.js";

let fields = 0;

/* A label with its field; `hint` is read with it. */
function field(label, input, hint) {
	const id = `act-${++fields}`;

	input.id = id;
	if (hint)
		input.setAttribute("aria-describedby", `${id}-hint`);
	return h("div", {}, h("label", { for: id }, label), input,
		hint && h("p", { id: `${id}-hint`, class: "hint" }, hint));
}

function checkbox(label, props) {
	const input = h("input", { type: "checkbox", ...props });

	return { input, row: h("label", { class: "act-check" }, input, h("span", {}, label)) };
}

function select(key, items, chosen, onchange) {
	return h("select", { "data-key": key, onchange }, options(items, chosen));
}

function text(key, value, changed) {
	let later = 0;

	return h("input", { type: "text", "data-key": key, value, required: true,
		autocomplete: "off", spellcheck: "false",
		oninput: () => {
			clearTimeout(later);
			later = setTimeout(changed, 300);
		} });
}

function given(pairs) {
	return Object.fromEntries(Object.entries(pairs).filter(([, value]) => value));
}

function companionsOf(group) {
	return group.Companions.map(([kind, address]) => `${kind}:${address}`);
}

/* ---- assign ---- */

function groupOptions(wanted) {
	const groups = byName(bus.model.groups).filter(group => group.Assignable || group.Name === wanted);

	const line = group => joined([`${group.GpuAddresses.length}× ${group.Model || "GPU"}`, group.Link,
		...companionsOf(group), group.State]);

	const gone = wanted && !groups.some(group => group.Name === wanted);

	return [["", "any that is free: gpupassd chooses"], gone && [wanted, `${wanted}: gone`],
		...groups.map(group => [group.Name, `${group.Name}: ${line(group)}`])].filter(Boolean);
}

function domainOptions(domains) {
	const groups = byName(bus.model.groups).filter(group => group.DomainUuid);

	return [["", "choose a domain"], ...domains.map(({ name, uuid, runs, deceives }) => {
		const has = groups.filter(one => one.DomainUuid === uuid).map(one => one.Name);
		const notes = joined([runs && "running", has.length && `has ${has.join(", ")}`,
			deceives && uuid], "; ");

		return [uuid, joined([name, notes && `(${notes})`], " ")];
	})];
}

/* A select of the domains; where there is no list, a name or UUID is typed. */
function domainField(changed) {
	const place = h("div", {});
	let input = null, turn = 0;
	const show = (now, hint, failure) => {
		input = now;
		input.required = true;
		become(place, field("Domain", input, hint), failure && problem(failure));
		changed();
	};
	const refresh = async () => {
		const mine = ++turn;
		let why;
		const domains = await bus.domains().catch(failure => {
			why = failure;
		});

		if (mine !== turn)
			return;
		/* What was typed meanwhile counts. */
		const word = input.value;

		if (domains) {
			const chosen = domains.find(({ name, uuid }) => word === uuid || word === name);

			show(select("domain", domainOptions(domains), chosen?.uuid, changed));
		} else {
			show(text("domain", word, changed), "Its name or UUID: there is no list to choose from", why);
		}
	};

	show(select("domain", [["", "looking which there are …"]]));
	return { place, refresh, value: () => input.value };
}

export function openAssign({ Name: wanted }) {
	let act = null;
	const changed = () => act?.ask();
	const which = select("group", groupOptions(wanted), wanted, changed), whose = domainField(changed);
	const change = select("change", [["", "the definition, and the running domain if it runs"],
		["live", "only the running domain"], ["config", "only the definition"]]);
	const topology = select("topology", [["", "as it was last assigned; otherwise flat"],
		["mirror", "mirror: the guest sees the host's distances"],
		["flat", "flat: each on a port of its own"]]);
	const modes = [["", "advise: say what does not suit"],
		["apply", "apply: change the definition so that it suits"],
		["strict", "strict: refuse what does not suit"]];
	const numa = select("numa", modes), fit = select("fit", modes);

	act = new Act("Assign a group to a domain", {
		verb: "Assign", label: "Assign",
		fields: [whose.place, field("Group", which),
			h("details", { "data-key": "more" }, h("summary", {}, "More options"),
				field("What is changed", change), field("Topology in the guest", topology),
				field("NUMA nodes of memory and vCPUs", numa),
				field("Address space, firmware, memory", fit))],
		about: () => [whose.value(), which.value],
		refresh: () => {
			become(which, options(groupOptions(which.value), which.value));
			whose.refresh();
		},
		plan: () => ({ args: [whose.value(), which.value],
			options: given({ live: change.value === "live", config: change.value === "config",
				topology: topology.value, numa: numa.value, fit: fit.value }) }),
		call: (plan, chosen) => ({ args: [plan.domain.uuid, plan.group], options: chosen }),
	});
	whose.refresh();
}

/* ---- release ---- */

export function openRelease(group) {
	/* Of the domain that the page showed: another one may have got the group meanwhile. */
	const { Name: name, DomainUuid: uuid, DomainName: domain } = group;
	const keep = checkbox("Leave its functions on vfio-pci", { "data-key": "keep-vfio" });

	new Act(`Release ${name}`, {
		verb: "Release", label: "Release",
		fields: [h("p", {}, `Takes ${name} out of `, h("b", {}, domain || uuid),
			", resets its functions, and gives them back to the drivers that they came from."), keep.row],
		about: () => [uuid, name],
		plan: () => ({ args: [uuid, name],
			options: { operation: "release", ...given({ "keep-vfio": keep.input.checked }) } }),
		call: (plan, { operation, ...chosen }) => ({ args: [plan.domain.uuid],
			options: { group: plan.group, ...chosen } }),
	});
}

/* ---- verify, probe, clear ---- */

export function openVerify(group) {
	const { Name: name, DomainUuid: uuid, DomainName: domain } = group;
	const workload = checkbox(["Also measure how fast the links are", h("br"), h("span", { class: "hint" },
		"With programs that the guest has, on the tenant's GPUs: what else runs there is slower meanwhile.")],
	{ "data-key": "workload" });

	new Act(`Verify ${name}`, {
		verb: "Verify", label: "Verify",
		fields: [h("p", {}, "Asks in the guest of ", h("b", {}, domain || uuid),
			` whether NVLink works between the GPUs of ${name}. Nothing is changed.`), workload.row],
		about: () => [uuid, name],
		call: () => ({ args: [uuid],
			options: { group: name, ...given({ workload: workload.input.checked }) } }),
	});
}

export function openProbe() {
	const mmio = checkbox("Also read the link registers of Hopper GPUs that are awake and not on nvidia",
		{ "data-key": "mmio" });

	new Act("Probe the links", {
		verb: "Probe", label: "Probe",
		fields: [h("p", {}, "Observes the NVLinks of all GPUs that are on the nvidia driver. Which groups " +
			"there are follows from what it sees. For other GPUs, earlier observations are kept."), mmio.row],
		about: () => ["", ""],
		call: () => ({ args: [], options: given({ mmio: mmio.input.checked }) }),
	});
}

export function openClear(group) {
	const { Name: name, path } = group;
	const gone = checkbox("I have looked: this cause is gone", { "data-key": "gone", required: true });
	const cause = h("blockquote", {});
	let told = null;
	const now = () => {
		const { State, Reason } = bus.model.groups.get(path) ?? {};

		return State === "quarantined" ? Reason : "it is quarantined no longer";
	};
	const tell = () => {
		told = now();
		become(cause, prose(told));
		gone.input.checked = false;
	};
	const same = () => told === now() || tell();

	tell();
	new Act(`Lift the quarantine of ${name}`, {
		verb: "Clear", label: "Lift the quarantine",
		fields: [h("p", {}, `${name} is quarantined, because:`),
			cause,
			h("p", {}, "Afterwards gpupassd moves its functions again, and domains may have it."), gone.row],
		about: () => ["", name],
		refresh: tell,
		same,
		call: () => ({ args: [name] }),
		done: () => `Lifted the quarantine of ${name}.`,
	});
}

/* ---- declare ---- */

function gpuBoxes(likely) {
	const { gpus, groups } = bus.model;

	return byAddress(gpus).map(gpu => checkbox(
		[h("code", {}, gpu.Address), " ", joined([gpu.Model || gpu.Name,
			gpu.NumaNode >= 0 && `NUMA ${gpu.NumaNode}`, gpu.PhysicalSlot && `slot ${gpu.PhysicalSlot}`,
			groups.has(gpu.Group) && `in ${groups.get(gpu.Group).Name}`])],
		{ value: gpu.Address, checked: likely.includes(gpu.Address), "data-key": `gpu ${gpu.Address}` }));
}

/* The companions' part of the form. chosen() are the GPUs that one is to be near to. */
function companionFields(chosen) {
	const list = h("input", { type: "text", "data-key": "with", autocomplete: "off", spellcheck: "false" });
	const near = h("div", { role: "status" });
	const erase = checkbox("Unknown data on an NVMe may be erased; until then nobody gets the group",
		{ "data-key": "erase" });
	const whole = checkbox("A tenant may have a whole NIC, and can re-flash it", { "data-key": "whole-nic" });
	/* The browser can say what is wrong with it only where it can be seen. */
	const vlan = h("input", { type: "number", min: "1", max: "4094", "data-key": "vlan",
		oninvalid: event => { event.currentTarget.closest("details").open = true; } });
	const members = () => list.value.split(/[\s,]+/).filter(Boolean);
	const nearest = async kind => {
		try {
			const gpus = [...chosen(), ...members()];
			const [member, reason] = await bus.call("Nearest", [kind, gpus], {}, { all: true });

			list.value = [...members(), member].join(" ");
			become(near, reason);
		} catch (failure) {
			become(near, problem(failure));
		}
	};

	return {
		members,
		options: () => ({ "whole-nic": whole.input.checked, erase: erase.input.checked,
			vlan: Number(vlan.value) }),
		part: h("details", { "data-key": "companions" },
			h("summary", {}, "NICs, VFs and NVMes that go with them"),
			field("Companions", list, "nic:ADDRESS, vf:ADDRESS, nvme:ADDRESS, with blanks between them"),
			h("p", { class: "row" }, [["nic", "NIC"], ["vf", "VF"], ["nvme", "NVMe"]].map(([kind, word]) =>
				h("button", { type: "button", class: "small", "data-key": `nearest ${kind}`,
					onclick: () => nearest(kind) }, `Add the nearest ${word}`))),
			near, whole.row, erase.row,
			field("VLAN of its VFs", vlan, "1 to 4094; the guest does not see it")),
	};
}

/* Where one pairing is likely, it is what the form begins with. */
export function openDeclare(group = null) {
	const likely = group?.State === "inferred" ? group : { Name: "", GpuAddresses: [] };
	let act = null;
	const name = text("name", likely.Name, () => act.ask()), boxes = gpuBoxes(likely.GpuAddresses);
	const chosen = () => boxes.filter(box => box.input.checked).map(box => box.input.value);
	const companions = companionFields(chosen);
	const unbridged = checkbox("I have looked at this board: no bridge is on it",
		{ "data-key": "no-bridge-seen" });

	/* It was said of the GPUs that were chosen then, and of the boards of that time. */
	const unsay = () => {
		unbridged.row.hidden = true;
		unbridged.input.checked = false;
	};

	unsay();
	act = new Act("Declare a group", {
		verb: "Declare", label: "Declare",
		fields: [
			h("p", {}, "Your word counts more than what gpupassd sees. Half of a bridged pair would reach " +
				"the memory of the domain that has the other half, so name all that the bridge ties. " +
				"gpupass forget withdraws it."),
			field("Name", name, "Letters, digits, -, _ and ., beginning with a letter"),
			h("fieldset", { onchange: unsay },
				h("legend", {}, "GPUs that a bridge ties, or one that has none"),
				boxes.map(box => box.row)),
			unbridged.row, companions.part,
		],
		refresh: unsay,
		about: () => ["", name.value],
		call: () => ({ args: [name.value, [...chosen(), ...companions.members()]],
			options: given({ "no-bridge-seen": unbridged.input.checked, ...companions.options() }) }),
		/* Only of a GPU alone which may have a bridge somebody has to look at the board. */
		refused: failure => {
			unsay();
			unbridged.row.hidden = !failure.name.endsWith(".LinksUnknown");
		},
		done: () => `Declared ${name.value}.`,
	});
}
