/* SPDX-License-Identifier: GPL-2.0-or-later */
import { bus, endedJob, Failure, NOT_KEPT, rightText } from "./bus.js";
import {
	badge, become, duration, h, headings, joined, notice, part, problem, prose, stateBadge, time,
} from "./draw.js";
import { jobSentence, jobState, stepState, verdictState } from "./states.js";

/* ---- what a verification found ---- */

function speed(mbps) {
	return `${(mbps / 1000).toFixed(1)} GB/s`;
}

function copyText({ from, to, mbps, verdict }, nominal) {
	const share = nominal > 0 ? ` (${Math.floor(mbps * 100 / nominal)} % of ${speed(nominal)})` : "";

	return `${from} to ${to}: ${speed(mbps)}${share}, ${verdict}`;
}

function reportText({ state, age_usec: age, stage, gpus, links, driver, as_expected: expected, detail }) {
	return joined([state, typeof age === "number" && `${duration(age)} old`, stage,
		gpus > 0 && `GPUs: ${gpus}`, links?.length > 0 && `active links: ${links.join(" ")}`,
		driver && `driver ${driver}`,
		stage === "checked" && (expected ? "as expected" : "not what the host gave it"), detail]);
}

function linkRow({ gpus, paths, peer_to_peer: peers, verdict, reason }, all) {
	const cell = texts => h("td", {}, texts.map(one => h("div", {}, one || "-")));
	const active = address => all?.find(one => one.address === address && one.listed)?.links_active ?? "?";

	return h("tr", {}, h("th", { scope: "row", class: "mono" }, gpus.map(one => h("div", {}, one))),
		cell(paths), cell(gpus.map(one => String(active(one)))), cell(peers),
		h("td", {}, stateBadge(verdictState(verdict)), reason && h("div", { class: "hint" }, reason)));
}

/* `result`: org.gpupass1.verify/1. */
function verdictOf(job) {
	try {
		return JSON.parse(job.Result);
	} catch {
		return null;
	}
}

export function verdictView(result) {
	if (!result)
		return problem(new Failure("", "the job's result is not a verdict"));
	const { guest_report: report, topology, workload: work, peer_access: peers } = result;
	const rows = [
		["Reason", result.reason], ["Remedy", result.remedy], ["Note", result.note],
		["Guest's report", report && report.state !== "none" && reportText(report)],
		["Topology", topology?.seen], ["NCCL's file", topology?.file_told], ["NCCL", topology?.nccl],
		["Remedy", topology?.remedy],
		["Workload", work && joined([work.verdict, work.program,
			work.ring_mbps > 0 && `bus bandwidth ${speed(work.ring_mbps)}`])],
		...work?.copies?.map(copy => ["", copyText(copy, work.nominal_mbps)]) ?? [],
		["", work?.reason], ["Remedy", work?.remedy],
		["Peer access over PCIe", peers && joined([peers.verdict, peers.reason])], ["Remedy", peers?.remedy],
	];

	return h("div", { class: "verdict" },
		h("p", {}, `${result.group} in ${result.domain?.name}: `, stateBadge(verdictState(result.verdict))),
		h("div", { class: "scroll" }, h("table", {},
			headings(["GPUs", "Path", "Links", "Peer to peer", "Verdict"]),
			h("tbody", {}, result.links?.map(link => linkRow(link, result.gpus))))),
		h("dl", {}, rows.map(([label, text]) => part(label, text))));
}

/* ---- a job ---- */

function isVerdict(job) {
	return job.State === "done" && job.Operation === "verify" && Boolean(job.Result);
}

const WELL = ["pass", "proved", "not-used"];

/* As is_well() of the command has it: not there, not asked for, or as it has to be. */
function isWell(part) {
	return !part || WELL.includes(part.verdict) || part.cause === "not-asked";
}

/* Whether it ended as one wished it would: otherwise it is told also to who has closed its dialog. */
export function wentWell(job) {
	const result = isVerdict(job) && verdictOf(job);

	if (!isVerdict(job))
		return job.State === "done";
	return result?.verdict === "verified" && isWell(result.workload) && isWell(result.peer_access);
}

function stepRow([name, state, detail, usec]) {
	const over = !["pending", "running"].includes(state);

	return h("li", { class: "step" }, stateBadge(stepState(state)), h("span", { class: "name" }, name),
		h("span", { class: "detail" }, detail), h("span", { class: "took" }, over && duration(usec)));
}

function jobEnd(job) {
	if (job.ErrorMessage)
		return problem(Failure.of(job.ErrorName, job.ErrorMessage));
	return isVerdict(job) && verdictView(verdictOf(job));
}

/* Told to who does not see it: when the job changes what it does, not each step's detail. */
function spoken(job) {
	const running = job.Steps?.find(step => step[1] === "running");

	return `${jobSentence(job)}: ${running && !endedJob(job) ? running[0] : jobState(job).text}`;
}

/* Follows one job of this life of the daemon: the next one counts from 1 again. */
export function jobView(path) {
	const { epoch } = bus.model;
	const word = h("p", { class: "offscreen", role: "status" });
	/* It holds the focus of a button that goes away. */
	const content = h("div", { tabindex: "-1" });
	const clock = h("span", { class: "took" });
	const element = h("div", { class: "job" }, word, content);
	let job = null, was = "", may = {}, drawn = may, asked = null;
	let cancelling = false, over = false, first = true;

	const isOver = () => over || bus.model.epoch !== epoch;
	const stop = why => {
		over = true;
		clearInterval(ticking);
		unwatch?.();
		if (why && !(job && endedJob(job)))
			become(content, h("p", { role: "alert", class: "hint" }, why));
	};
	const cancel = async () => {
		if (isOver())
			return;
		cancelling = true;
		draw();
		try {
			await bus.call("Cancel", [job.Id], {}, { slow: true });
		} catch (failure) {
			if (element.isConnected)
				element.append(problem(failure));
			else
				notice(problem(failure));
		}
		cancelling = false;
		draw();
	};
	/* Anew when the job has found its domain or group; only the newest answer counts. */
	const ask = async () => {
		const about = asked = `${job.DomainUuid} ${job.GroupName}`;
		const now = await bus.allowed(["Cancel"], "", "", { job: job.Id }).then(
			({ Cancel: right }) => ({ right, why: job.CallerUid === 0 && right === "no"
				? "root began it, and only root may cancel it" : rightText(right) }),
			failure => ({ why: failure.what }));

		if (about !== asked)
			return;
		may = now;
		asked = now.right ? asked : null;
		bus.changed();
	};
	const cancelButton = () => {
		if (!["planning", "running"].includes(job.State) || job.CancelRequested)
			return null;
		const shut = may.right !== "yes";

		return [shut && h("span", { class: "hint" }, may.why),
			h("button", { type: "button", class: "small", "data-key": "cancel", onclick: cancel,
				title: may.why, disabled: shut || cancelling },
			"Cancel")];
	};
	/* The clocks of host and browser may differ. */
	const tick = () => {
		const seconds = Math.max(0, Math.round(Date.now() / 1000 - job.CreatedAt / 1e6));

		clock.textContent = endedJob(job) ? duration(job.DurationUsec)
			: seconds < 100 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
	};
	const draw = () => {
		if (isOver())
			return;
		const said = spoken(job);

		drawn = may;
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
		job.Warnings?.map(warning =>
			h("div", { class: "warning" }, badge("warn", "warning"), prose(warning))),
		endedJob(job) && jobEnd(job));
	};
	const ticking = setInterval(() => job && !endedJob(job) && tick(), 1000);
	let unwatch = null;

	unwatch = bus.watch(model => {
		const now = model.jobs.get(path);

		/* It is placed only after the first time. */
		if (!first && !element.isConnected)
			return stop();
		first = false;
		if (model.epoch !== epoch || !model.up)
			return stop("gpupassd ended while this job was running. See the group's state once it is back.");
		if (job && !now)
			return stop(`${NOT_KEPT}.`);
		if (!now || (now === job && may === drawn))
			return undefined;
		const before = job;

		job = now;
		if (now !== before && !endedJob(job) && asked !== `${job.DomainUuid} ${job.GroupName}`)
			ask();
		return draw();
	});
	return element;
}

/* By their paths, of one life of the daemon: what is unfolded stays while the list is drawn anew. */
let rows = new Map(), rowsOf = 0;

function rowOf({ path }) {
	const summary = h("summary", {});
	const row = h("details", { "data-key": `${rowsOf} ${path}`,
		ontoggle: () => row.open && !row.querySelector(".job") && row.append(jobView(path)) }, summary);

	return { row, summary };
}

/* All jobs that the daemon keeps, the newest first. One opens by its summary. */
export function jobsList(model) {
	const jobs = [...model.jobs.values()].sort((a, b) => b.Id - a.Id);
	const known = rowsOf === model.epoch ? rows : new Map();

	rowsOf = model.epoch;
	rows = new Map(jobs.map(job => [job.path, known.get(job.path) ?? rowOf(job)]));
	for (const job of jobs)
		become(rows.get(job.path).summary, stateBadge(jobState(job)), ` ${job.Id} `, jobSentence(job),
			h("span", { class: "took" }, endedJob(job) && duration(job.DurationUsec)));
	return jobs.length === 0 ? h("p", { class: "empty" }, "No job since gpupassd was started.")
		: h("div", { class: "jobs" }, [...rows.values()].map(({ row }) => row));
}
