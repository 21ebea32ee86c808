/* SPDX-License-Identifier: GPL-2.0-or-later */
import { bus, endedJob, Failure, rightText } from "./bus.js";
import { badge, become, copyButton, duration, h, lock, notice, problem, prose, time } from "./draw.js";
import { jobSentence, jobState, stepState, verdictState } from "./states.js";

function stateBadge({ kind, text, title }) {
	return badge(kind, text, title);
}

/* ---- what a verification found ---- */

function speed(mbps) {
	return `${(mbps / 1000).toFixed(1)} GB/s`;
}

function said(label, text, more) {
	return text && h("div", { class: "part" }, h("dt", {}, label), h("dd", more, text));
}

function remedy(text) {
	return text && said("Remedy", [h("div", {}, prose(text)), copyButton(text)], { class: "copied" });
}

/* Of a part of it: links' speed, memory reached. */
function partState(verdict) {
	const kind = ["pass", "proved"].includes(verdict) ? "ok"
		: verdict === "unknown" || verdict.startsWith("not-") ? "warn" : "bad";

	return { kind, text: verdict };
}

function links(result, address) {
	const gpu = result.gpus?.find(one => one.address === address);

	return gpu?.listed ? gpu.links_active : "?";
}

function reportText(report) {
	if (report.state === "unreadable")
		return "not readable";
	const whose = { "earlier-boot": "of an earlier boot, ",
		"other-domain": "of another machine, " }[report.state] || "";
	const age = typeof report.age_usec === "number" ? `${duration(report.age_usec)} old`
		: "written in the future by the guest's clock";
	const stage = report.stage === "checked"
		? `${report.gpus} GPU${report.gpus === 1 ? "" : "s"}, ` +
			`active links ${report.links?.join(" ") || "none"}, driver ${report.driver}: ` +
			(report.as_expected ? "as expected" : "not what the host gave it")
		: report.stage;

	return `${whose}${age}: ${stage}${report.detail ? `: ${report.detail}` : ""}`;
}

function workloadView(work) {
	return [
		said("Workload", [stateBadge(partState(work.verdict)), work.program && ` by ${work.program}`,
			work.ring_mbps > 0 && `, bus bandwidth ${speed(work.ring_mbps)}`]),
		work.copies?.map(copy => said("", [`${copy.from} to ${copy.to}: ${speed(copy.mbps)} `,
			work.nominal_mbps > 0 && `(${Math.floor(copy.mbps * 100 / work.nominal_mbps)} % of ` +
				`${speed(work.nominal_mbps)}) `,
			stateBadge(partState(copy.verdict))])),
		said("", work.reason), remedy(work.remedy),
	];
}

/* `result`: org.gpupass1.verify/1, as JSON or parsed. */
export function verdictView(result) {
	if (typeof result === "string")
		try {
			result = JSON.parse(result);
		} catch {
			return problem(new Failure("", "the job's result is not a verdict"));
		}
	const { guest_report: report, topology, workload, peer_access: peers } = result;

	return h("div", { class: "verdict" },
		h("p", {}, `${result.group} in ${result.domain?.name}: `, stateBadge(verdictState(result.verdict))),
		h("div", { class: "scroll" }, h("table", {},
			h("thead", {}, h("tr", {}, ["GPUs", "Path", "Links", "Peer to peer", "Verdict"].map(head =>
				h("th", { scope: "col" }, head)))),
			h("tbody", {}, result.links?.map(link => h("tr", {},
				h("th", { scope: "row", class: "mono" }, link.gpus.map(one => h("div", {}, one))),
				h("td", {}, link.paths.map(one => h("div", {}, one || "-"))),
				h("td", {}, link.gpus.map(one => h("div", {}, links(result, one)))),
				h("td", {}, link.peer_to_peer.map(one => h("div", {}, one || "-"))),
				h("td", {}, stateBadge(verdictState(link.verdict)),
					link.reason && h("div", { class: "hint" }, link.reason))))))),
		h("dl", {},
			said("Reason", result.reason), remedy(result.remedy), said("Note", result.note),
			report && report.state !== "none" && said("Guest's report", reportText(report)),
			topology && [said("Topology", topology.seen), said("NCCL's file", topology.file_told),
				said("NCCL", topology.nccl), remedy(topology.remedy)],
			workload && workloadView(workload),
			peers && [said("Peer access over PCIe", stateBadge(partState(peers.verdict))),
				said("", peers.reason), remedy(peers.remedy)]));
}

/* ---- a job ---- */

function stepRow(step) {
	const [name, state, detail, usec] = step;
	const over = !["pending", "running"].includes(state);

	return h("li", { class: "step" }, stateBadge(stepState(state)), h("span", { class: "name" }, name),
		h("span", { class: "detail" }, detail), h("span", { class: "took" }, over && duration(usec)));
}

function jobEnd(job) {
	if (job.ErrorMessage)
		return problem(Failure.of(job.ErrorName, job.ErrorMessage));
	if (job.State === "done" && job.Operation === "verify" && job.Result)
		return verdictView(job.Result);
	return null;
}

/* Told to who does not see it: when the job changes what it does, not each step's detail. */
function spoken(job) {
	const running = job.Steps?.find(step => step[1] === "running");

	return `${jobSentence(job)}: ${running && !endedJob(job) ? running[0] : jobState(job).text}`;
}

/* Of the list: a view that is open stays the same one while the list is drawn anew. */
const views = new Map();

/* Follows one job of this life of the daemon: the next one counts from 1 again. */
export function jobView(path) {
	const { epoch } = bus.model;
	const word = h("p", { class: "offscreen", role: "status" });
	const content = h("div", {});
	const clock = h("span", { class: "took" });
	const element = h("div", { class: "job" }, word, content);
	let was = "", right = "", asked = null, cancelling = false;
	let placed = false, job = null, ticking = null;

	const stop = () => {
		clearInterval(ticking);
		unwatch?.();
		if (views.get(path) === element)
			views.delete(path);
	};
	const cancel = async () => {
		cancelling = true;
		draw();
		try {
			await bus.call("Cancel", [job.Id], {}, { ask: true });
		} catch (failure) {
			(element.isConnected ? element : notice("bad")).append(problem(failure));
		}
		cancelling = false;
		draw();
	};
	const ask = async () => {
		asked = `${job.DomainUuid} ${job.GroupName}`;
		try {
			right = (await bus.allowed(["Cancel"], "", "", { job: job.Id })).Cancel;
		} catch {
			right = "password";
		}
		draw();
	};
	const cancelButton = () => {
		if (!["planning", "running"].includes(job.State) || job.CancelRequested)
			return null;
		return [right === "no" && h("span", { class: "hint" },
			job.CallerUid === 0 ? "root began it, and only root may cancel it" : rightText(right)),
			h("button", { type: "button", class: "small", "data-key": "cancel", onclick: cancel,
				title: rightText(right), disabled: !["yes", "password"].includes(right) || cancelling },
			"Cancel", right === "password" && lock())];
	};
	/* The clocks of host and browser may differ. */
	const tick = () => {
		const seconds = Math.max(0, Math.round(Date.now() / 1000 - job.CreatedAt / 1e6));

		clock.textContent = endedJob(job) ? duration(job.DurationUsec)
			: seconds < 100 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
	};
	const draw = () => {
		if (!job)
			return;
		const said = spoken(job);

		if (said !== was)
			word.textContent = was = said;
		tick();
		become(content, h("div", { class: "job-head" }, stateBadge(jobState(job)),
			h("strong", {}, jobSentence(job)), clock, cancelButton()),
		h("p", { class: "hint" }, `Job ${job.Id}, begun ${time(job.CreatedAt)}`,
			job.CallerUid !== 0xffffffff && `, by uid ${job.CallerUid}`,
			job.CancelRequested && `, cancelled by uid ${job.CancelledByUid}`,
			["failed", "cancelled"].includes(job.State) && !job.Changed && ", nothing was changed"),
		h("ol", { class: "steps" }, job.Steps?.map(stepRow)),
		job.Warnings?.map(warning => h("div", { class: "warning" }, badge("warn", "warning"), prose(warning))),
		endedJob(job) && jobEnd(job));
	};
	let unwatch = null;

	unwatch = bus.watch(model => {
		placed ||= element.isConnected;
		if (placed && !element.isConnected)
			return stop();
		if (model.epoch !== epoch || !model.up) {
			if (!job || !endedJob(job))
				become(content, h("p", { role: "alert", class: "hint" }, "gpupassd ended while this job " +
					"was running. See the group's state once it is back."));
			return stop();
		}
		if (!model.jobs.has(path) || job === model.jobs.get(path))
			return undefined;
		job = model.jobs.get(path);
		if (!endedJob(job) && asked !== `${job.DomainUuid} ${job.GroupName}`)
			ask();
		draw();
		return endedJob(job) && clearInterval(ticking);
	});
	ticking = setInterval(() => job && !endedJob(job) && tick(), 1000);
	return element;
}

/* All jobs that the daemon keeps, the newest first. One opens by its summary. */
export function jobsList(model) {
	const jobs = [...model.jobs.values()].sort((a, b) => b.Id - a.Id);

	if (jobs.length === 0)
		return h("p", { class: "empty" }, "No job since gpupassd was started.");
	return h("div", { class: "jobs" }, jobs.map(job => h("details", { "data-key": `${model.epoch} ${job.path}`,
		ontoggle: event => {
			const { currentTarget: own } = event;

			if (!own.open || own.querySelector(".job"))
				return;
			if (!views.has(job.path))
				views.set(job.path, jobView(job.path));
			own.append(views.get(job.path));
		} },
	h("summary", {}, stateBadge(jobState(job)), ` ${job.Id} `, jobSentence(job),
		h("span", { class: "took" }, endedJob(job) && duration(job.DurationUsec))))));
}
