/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every dialog that acts is made of: it lets choose, shows the plan, calls, follows the job. All
 * ways out of it (closed, refused, another plan, a daemon that is gone) are here, so that no dialog
 * forgets one.
 */
import { bus, Failure, rightText } from "./bus.js";
import { become, busy, dialog, h, notice, problem } from "./draw.js";
import { jobView, wentWell } from "./jobs.js";

const ACTION = {
	Plan: "read", Assign: "assign", Release: "release", Verify: "probe", Probe: "probe",
	Declare: "manage", Clear: "manage",
};

/* ---- the plan, as gpupass plan prints it ---- */

const ADDRESS = /[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]/;

function list(tag, items, row) {
	return h(tag, {}, items.map(item => h("li", {}, row(item))));
}

function section(title, items, content) {
	return items?.length > 0 && h("section", {}, h("h4", {}, title), content(items));
}

/* Functions move in parallel: only the writes of one function have an order. */
function writesOf(functions, writes) {
	const of = new Map(functions.map(one => [one.address, []]));

	for (const write of writes) {
		const [address] = ADDRESS.exec(write.path) || ADDRESS.exec(write.value) || ["others"];

		of.set(address, [...of.get(address) || [], write]);
	}
	return of;
}

function functionsView(functions, writes) {
	return [...writesOf(functions, writes)].map(([address, own]) => {
		const one = functions.find(f => f.address === address);
		const from = one?.from.driver || "none", to = one?.to.driver || "none";

		return [h("h5", {}, address, one && h("span", { class: "hint" },
			` IOMMU group ${one.iommu_group ?? "-"}, `,
			from === to ? `${to}, as it is` : `${from} → ${to}`)),
		own.length > 0 && list("ol", own, ({ path, value }) => h("code", {}, path, " ← ",
			value === "\n" ? h("i", {}, "empty line") : value))];
	});
}

function diffView(text) {
	const kinds = { "+": "act-added", "-": "act-removed", "@": "hint" };

	return h("pre", { tabindex: "0", role: "group", "aria-label": "Domain XML" },
		text.trimEnd().split("\n").map(line => h("span", { class: kinds[line[0]] }, line)));
}

function treeView(tree) {
	const depth = node => node.parent === null ? 0 : 1 + depth(tree[node.parent]);
	const number = (word, value) => Number.isInteger(value) ? `, ${word} ${value}` : "";

	return h("pre", { tabindex: "0", role: "group", "aria-label": "PCIe tree of the guest" }, tree.map(node =>
		h("span", {}, `${"  ".repeat(depth(node))}${node.role} ${node.address}${number("cell", node.cell)}`,
			node.host_address && `  ⇐ ${node.host_address}${number("NUMA node", node.host_node)}`)));
}

function planView(plan) {
	const { operation, group, domain, live, config, changed, steps, functions, writes, warnings } = plan;
	const where = live && config ? "running domain and definition" : live ? "running domain" : "definition";

	return h("div", { class: "act-plan" },
		h("h3", { tabindex: "-1", "data-key": "plan" }, `Plan: ${operation} ${group} `,
			operation === "release" ? "from " : "to ", domain.name || domain.uuid,
			(live || config) && ` (${where})`),
		h("p", { class: "hint" }, "Domain ", domain.name, domain.name && ", ", h("code", {}, domain.uuid)),
		!changed && h("p", {}, "Nothing to do: everything is already as it should be."),
		operation === "assign" && live && !config &&
			h("p", {}, "The definition stays as it is: after its next start it does not have the group."),
		warnings.length > 0 && h("div", { class: "act-warnings" },
			section("Warnings", warnings, all => list("ul", all, one => one))),
		section("Steps", steps, all => list("ol", all, one => [h("b", {}, one.name), ` ${one.detail}`])),
		section("Functions, and the writes of each in their order", functions,
			all => functionsView(all, writes)),
		section("PCIe tree of the guest, and what of the host it stands for", plan.guest_tree, treeView),
		section("Domain XML", plan.xml_diff, diffView),
		section("Fit", plan.findings?.filter(one => one.severity === "info"), all => list("ul", all, one =>
			[one.what, one.remedy && `; ${one.remedy}`])));
}

/* ---- the dialog ---- */

const ANEW = "gpupassd was started anew. What was shown here was of the earlier one: look again.";
const CHANGED = "What was shown here is so no longer: look again.";

/*
 * spec: verb, the method; label, of its button; fields, of the form; about() → [domain, group] that
 * polkit is asked about; plan() → {args, options} of Plan, where it has one; call(plan, options) →
 * {args, options} of the verb; done(result) → what to say, where the verb starts no job;
 * refused(failure), where a field answers one; refresh(), for another daemon; same() → whether what the
 * fields tell is so still, which they tell anew.
 */
export class Act {
	constructor(title, spec) {
		this.title = title;
		this.spec = spec;
		this.turn = 0;
		this.open = true;
		this.epoch = bus.model.epoch;
		this.dialog = dialog(title, { wide: Boolean(spec.plan) });
		this.form = h("form", { id: "act-form", onsubmit: event => {
			event.preventDefault();
			this.submit();
		} }, spec.fields);
		this.may = h("div", { id: "act-may", role: "status" });
		this.choosing();
		const stop = bus.watch(model => this.heed(model));

		this.dialog.onclose = () => {
			this.open = false;
			stop();
		};
	}

	/* What was asked in an earlier stage is not heard in a later one. */
	stage(name, body, ...buttons) {
		this.at = name;
		this.turn++;
		become(this.dialog.body, body);
		become(this.may);
		become(this.dialog.foot, this.may, buttons, h("button", { type: "button", "data-key": "close",
			onclick: () => this.dialog.close() }, "Close"));
		this.dialog.foot.querySelector("[data-key=close]").focus();
	}

	button(label, props) {
		return h("button", { class: "primary", "data-key": "act", "aria-describedby": "act-may", ...props },
			label);
	}

	choosing(...why) {
		this.go = this.button(this.spec.plan ? "Show the plan" : this.spec.label,
			{ type: "submit", form: "act-form" });
		this.stage("choosing", [why.filter(Boolean).map(one =>
			one instanceof Failure ? problem(one) : alarm(one)), this.form], this.go);
		this.ask();
		this.form.querySelector("input, select")?.focus();
	}

	ask() {
		const [domain, group] = this.spec.about();

		if (this.at !== "choosing")
			return;
		/* To assign is asked about a domain. */
		this.permit(this.go,
			!this.spec.plan ? [this.spec.verb] : domain ? ["Plan", this.spec.verb] : ["Plan"], domain, group);
	}

	/* A button is shut until polkit's answer about what is chosen now is there. */
	async permit(button, verbs, domain, group) {
		const turn = ++this.turn;
		let rights = {}, said;
		const slow = setTimeout(() =>
			turn === this.turn && become(this.may, "Asking what you may do …"), 500);

		button.disabled = true;
		try {
			rights = await bus.allowed(verbs, domain, group);
			said = verbs.map(verb => this.right(verb, rights[verb] ?? "no"));
		} catch (failure) {
			said = [failure.what];
		}
		clearTimeout(slow);
		if (turn !== this.turn)
			return;
		button.disabled = rights[verbs[0]] !== "yes";
		become(this.may, said.filter(Boolean).map(text => h("p", {}, text)));
	}

	right(verb, word) {
		const why = rightText(word);

		return why && `${verb === "Plan" ? "Show the plan" : this.spec.label}: ${why}` +
			(word === "no" ? ` (org.gpupass1.${ACTION[verb]})` : "");
	}

	/* What this dialog shows is of one daemon, and nothing of it is asked of the next one. */
	heed(model) {
		if (this.at === "ended")
			return;
		if (model.epoch === this.epoch) {
			if (model.up && this.at === "choosing")
				this.isSame();
		} else if (model.up) {
			this.epoch = model.epoch;
			this.spec.refresh?.();
			this.choosing(this.failed, ANEW);
		} else if (this.at !== "choosing" || !this.go.disabled) {
			this.choosing(this.failed || model.failure);
		}
	}

	/* A person agrees to what is so, not to what was. */
	isSame() {
		const same = !this.spec.same || this.spec.same();

		if (!same)
			this.choosing(CHANGED);
		return same;
	}

	/* It is told where somebody still looks. */
	fail(failure) {
		this.failed = failure;
		this.spec.refused?.(failure);
		if (this.open)
			this.choosing(failure);
		else
			notice(h("b", {}, this.title), problem(failure));
	}

	submit() {
		if (this.at !== "choosing" || this.go.disabled || this.epoch !== bus.model.epoch || !this.isSame())
			return;
		this.failed = null;
		if (this.spec.plan)
			this.plan(this.spec.plan());
		else
			this.run(this.spec.call());
	}

	/* ---- the plan, and whether it is still the same ---- */

	async plan({ args, options }) {
		this.stage("planning", busy("gpupassd makes the plan …"));
		const { turn } = this;

		try {
			const plan = await planOf(args, options);

			if (turn === this.turn && this.open)
				this.show(plan, options);
		} catch (failure) {
			if (turn === this.turn && this.open)
				this.choosing(failure);
		}
	}

	show(plan, options, why) {
		const go = this.button(this.spec.label,
			{ type: "button", onclick: () => this.confirm(plan, options) });

		this.stage("plan", [why && alarm(why), planView(plan)], plan.changed && go,
			h("button", { type: "button", "data-key": "back", onclick: () => this.choosing() }, "Back"));
		this.dialog.body.querySelector("[data-key=plan]").focus();
		if (plan.changed)
			this.permit(go, [this.spec.verb], plan.domain.uuid, plan.group);
	}

	/* What is done is what was shown: for the domain of that UUID and that group, and by the same plan. */
	async confirm(plan, options) {
		let now = null, failure = null;

		if (this.epoch !== bus.model.epoch)
			return;
		this.stage("calling", busy("Looking whether the plan is still the same …"));
		try {
			now = await planOf([plan.domain.uuid, plan.group], options);
		} catch (error) {
			failure = error;
		}
		if (!this.open)
			this.fail(new Failure("", "it was not done: its dialog was closed before gpupassd was asked\n" +
				"State: nothing was changed"));
		else if (failure)
			this.fail(failure);
		else if (JSON.stringify(now) === JSON.stringify(plan))
			this.run(this.spec.call(plan, options), plan.warnings);
		else
			this.show(now, options,
				"Nothing was done, because the plan is no longer the one that you saw. This is the new one.");
	}

	/* ---- the call; from here on it goes on without the dialog, too ---- */

	/* known: warnings that the plan has shown */
	async run({ args, options }, known = []) {
		const { verb, done } = this.spec;

		this.stage("calling", busy("gpupassd was asked …"));
		try {
			if (done)
				this.end(done(await bus.call(verb, args, options, { slow: true })));
			else
				await this.follow(await bus.begin(verb, args, options), known);
		} catch (failure) {
			this.fail(failure);
		}
	}

	async follow(path, known) {
		if (this.open)
			this.stage("job", jobView(path));
		const job = await bus.ended(path);

		this.at = "ended";
		if (!this.open && !(wentWell(job) && (job.Warnings ?? []).every(one => known.includes(one))))
			notice(h("b", {}, this.title), jobView(path));
		else if (this.open && job.State !== "done")
			this.dialog.foot.prepend(h("button", { type: "button", "data-key": "back", onclick: () => {
				this.choosing();
				this.heed(bus.model);
			} }, "Choose again"));
	}

	end(said) {
		this.stage("ended", h("p", { role: "status" }, said));
	}
}

function planOf(args, options) {
	return bus.read("org.gpupass1.plan/1", "the plan", "Plan", args, options, { slow: true });
}

function alarm(text) {
	return h("p", { class: "act-alarm", role: "alert" }, text);
}
