/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The audit trail, newest first; the daemon says when there is more. */
import { bus, Failure, refusal } from "./bus.js";
import { badge, become, busy, h, plural, problem, time } from "./draw.js";

const SCHEMA = "org.gpupass1.audit-page/1";
/* About what the daemon gives in one answer. */
const STEP = 256;
/* A page that is left open does not grow without end. */
const ROOM = 2000;
const BAD = new Set(["denied", "limited", "failed", "incomplete", "undone"]);
const COLUMNS = ["Time", "Who", "What", "Group", "Domain", "Verdict", "Words"];

/* ---- a record, in the words of gpupass audit ---- */

function whoText({ uid, login_uid: login }) {
	return login === null || login === uid ? `${uid ?? "-"}` : `${uid ?? "-"} (${login})`;
}

function whatText({ kind, verb }) {
	return !verb || kind === "call" ? verb || kind : `${verb} ${kind.replace(/^job-/, "")}`;
}

function rowView(record) {
	const { verdict, group, domain, functions } = record;
	const cells = [
		time(record.time_usec),
		[whoText(record), record.command && h("div", { class: "hint" }, record.command)],
		[whatText(record), record.job > 0 && h("div", { class: "hint" }, `job ${record.job}`)],
		group || (!domain && functions.join(", ")) || "-",
		domain || "-",
		verdict === "none" ? "-" : badge(BAD.has(verdict) ? "bad" : "ok", verdict),
		record.reason || "-",
	];

	return h("tr", { role: "row", "data-sequence": record.sequence },
		cells.map((cell, i) => h("td", { role: "cell", class: cell === "-" && "none",
			"data-column": COLUMNS[i] }, cell)));
}

/* ---- the tab ---- */

/*
 * Of one filter, the records behind `low` up to `top` are shown. Reads are one at a time: two at once
 * could show a record twice, or pass one over.
 */
export function start(place) {
	let trail = null, turn = Promise.resolve(), epoch = 0, right = "no";
	const field = (name, label, props, ...more) =>
		h("label", {}, label, h("input", { name, ...props }), ...more);
	const groups = h("datalist", { id: "history-groups" });
	const domains = h("datalist", { id: "history-domains" });
	const fields = h("fieldset", { disabled: true },
		field("group", "Group", { list: "history-groups" }, groups),
		field("domain", "Domain", { list: "history-domains" }, domains),
		field("user", "User (uid)", { type: "number", min: 0, max: 4294967294 }),
		field("job", "Job", { type: "number", min: 1, max: 4294967295 }),
		h("button", { class: "primary" }, "Show"), h("button", { type: "reset" }, "All"));
	const form = h("form", { class: "ask",
		onsubmit: event => {
			event.preventDefault();
			begin();
		},
		onreset: () => setTimeout(begin) }, fields);
	/* It holds the focus of a button that goes away. */
	const told = h("div", { tabindex: "-1" }), count = h("p", { class: "hint", role: "status" });
	const body = h("tbody", { role: "rowgroup" });
	const table = h("table", { class: "history", role: "table", "aria-label": "Audit trail" },
		h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
			COLUMNS.map(name => h("th", { scope: "col", role: "columnheader" }, name)))), body);
	const more = h("button", { type: "button", onclick: () => inTurn(older) }, "Older records");

	function filterNow() {
		const given = [...new FormData(form)].filter(([, value]) => value !== "");

		return Object.fromEntries(given.map(([name, value]) =>
			[name, name === "user" || name === "job" ? Number(value) : value]));
	}

	function begin() {
		/* top: null before anything was read */
		trail = { filter: filterNow(), top: null, low: bus.model.manager.AuditSequence ?? 0, step: STEP,
			room: ROOM, stopped: false, queued: false };
		/* It does not wait for an answer that nobody wants any more. */
		turn = Promise.resolve();
		become(body);
		tell();
		inTurn(older);
	}

	/* What an earlier filter or daemon answers changes nothing. */
	function inTurn(work) {
		const mine = trail;

		turn = turn.then(async () => {
			const life = bus.model.epoch;

			if (mine !== trail)
				return;
			try {
				await work(mine);
				if (mine === trail)
					become(told);
			} catch (failure) {
				if (mine === trail && life === bus.model.epoch)
					stop(mine, Failure.from(failure));
			}
		});
	}

	/* A read that is denied is on record itself: to try again at each record would never end. */
	function stop(mine, failure) {
		mine.stopped = true;
		become(told, problem(failure), h("button", { type: "button", "data-key": "again",
			onclick: () => again(mine) }, "Try again"));
	}

	function again(mine) {
		mine.stopped = false;
		if (mine.top === null)
			begin();
		else
			inTurn(newer);
	}

	async function read(mine, after, to) {
		const records = [];

		for (let on = true; on && after < to && mine === trail;) {
			const page = await bus.read(SCHEMA, "the audit trail", "GetAudit", [],
				{ ...mine.filter, after });

			records.push(...page.records.filter(({ sequence }) => sequence <= to));
			/* A page that does not come further would be asked for without end. */
			on = page.more && page.last > after;
			after = Math.max(after, page.last);
		}
		return { rows: records.reverse().map(rowView), after };
	}

	/* Where a filter leaves little, each look goes four times as far back as the one before. */
	async function older(mine) {
		let found = 0;

		become(told, busy("Reading the audit trail."));
		do {
			const from = Math.max(0, mine.low - mine.step);
			/* The first time all that is there: the sequence is of what is on disk already. */
			const to = mine.top === null ? Infinity : mine.low;
			const { rows, after } = await read(mine, from, to);

			if (mine !== trail)
				return;
			mine.top ??= after;
			found += rows.length;
			mine.low = from;
			mine.step = rows.length < STEP / 4 ? mine.step * 4 : STEP;
			body.append(...rows);
			tell();
		} while (mine.low > 0 && found < STEP / 4);
		mine.stopped = false;
		mine.room = Math.max(mine.room, body.rows.length);
		follow();
	}

	async function newer(mine) {
		const { rows, after } = await read(mine, mine.top, Infinity);

		if (mine !== trail)
			return;
		mine.top = after;
		body.prepend(...rows);
		/* What goes at the end can be read again. */
		while (body.rows.length > mine.room) {
			body.lastElementChild.remove();
			mine.low = Number(body.lastElementChild.dataset.sequence) - 1;
		}
		tell();
	}

	function follow() {
		const mine = trail, sequence = bus.model.manager.AuditSequence ?? 0;

		if (right !== "yes" || !mine || mine.top === null || mine.stopped || mine.queued ||
			sequence <= mine.top)
			return;
		if (sequence - mine.top > ROOM) {
			begin();
			return;
		}
		mine.queued = true;
		inTurn(() => {
			mine.queued = false;
			return newer(mine);
		});
	}

	function tell() {
		const n = body.rows.length, all = trail.low === 0, begun = trail.top !== null;
		const end = all ? "" : "; there may be older ones";

		table.hidden = n === 0;
		more.hidden = all || !begun;
		become(count, begun && [
			n > 0 ? `${plural(n, "record")}, newest first${end}.` : all && "There are no such records."]);
	}

	/* Nothing waits for it: without it a name is typed, and libvirt may hang. */
	async function suggest() {
		const known = await bus.domains().catch(() => null) ?? [];

		/* The box shows values as they are: one that deceives is named by its UUID. */
		become(domains, known.map(({ name, uuid, deceives }) =>
			h("option", { value: deceives ? uuid : name, label: name })));
	}

	/* The daemon is there, for the first time or again. */
	async function arrive(model) {
		const life = epoch = model.epoch;

		right = "no";
		const may = await bus.allowed(["GetAudit"]).catch(failure => {
			if (life === bus.model.epoch)
				become(told, problem(failure));
			return {};
		});

		if (life !== bus.model.epoch || !may.GetAudit)
			return;
		right = may.GetAudit;
		suggest();
		become(groups, [...model.groups.values()].map(({ Name }) => h("option", { value: Name })));
		fields.disabled = right !== "yes";
		if (right !== "yes") {
			trail = null;
			become(body);
			become(count);
			table.hidden = more.hidden = true;
			become(told, problem(refusal("org.gpupass1.audit", right)));
		} else if (trail && trail.top !== null && trail.top <= model.manager.AuditSequence) {
			trail.stopped = false;
			/* What an earlier daemon was asked, it does not answer. */
			become(told);
			tell();
			follow();
		} else {
			begin();
		}
	}

	table.hidden = more.hidden = true;
	place.append(h("section", { class: "card" }, form, told, count, table, more));
	bus.watch(model => {
		if (!model.up)
			return;
		if (model.epoch !== epoch)
			arrive(model);
		else
			follow();
	});
}
