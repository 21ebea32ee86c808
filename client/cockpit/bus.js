/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's objects, kept by its signals, and its methods. One connection is for one life of the
 * daemon: when its name changes hands, a new one begins with nothing of the old.
 */
import { printable } from "./draw.js";

const cockpit = window.cockpit;
const NAME = "org.gpupass1";
const ROOT = "/org/gpupass1";
const MANAGER = `${NAME}.Manager`;
const BUS_ERROR = "org.freedesktop.DBus.Error.";
const KINDS = { Group: "groups", Gpu: "gpus", Assignment: "assignments", Job: "jobs" };
const JOB_ENDS = new Set(["done", "failed", "cancelled", "incomplete"]);

/* ---- failures ---- */

const VERSIONS = "gpupass and gpupassd are of different versions; install one version of both, then: " +
	"systemctl restart gpupassd";
const NOT_KNOWN = "not known; a job may be running";
const UNCHANGED = "nothing was changed";
export const NOT_KEPT = "this job has ended, and gpupassd keeps it no longer";

/* Words of client/base/errors.c: names, what, state, remedy. */
const BUS_ERRORS = [
	[["ServiceUnknown", "NameHasNoOwner"], "gpupassd is not running", UNCHANGED,
		"start it with: systemctl start gpupassd"],
	[["Spawn.", "org.freedesktop.systemd1."], "gpupassd could not be started", UNCHANGED,
		"see: systemctl status gpupassd"],
	[["NoReply", "Timeout", "TimedOut"], "gpupassd did not answer", NOT_KNOWN,
		"see: systemctl status gpupassd; then: gpupass jobs"],
	[["Disconnected"], "the connection to the bus was lost", NOT_KNOWN, "look at it with: gpupass jobs"],
	[["AccessDenied"], "only root and members of the group gpupass may use it: " +
		"usermod -aG gpupass USER, then a new login"],
	[["InteractiveAuthorizationRequired"], "not permitted without a password", UNCHANGED],
	[["AuthFailed"], "not permitted to use the bus", UNCHANGED, "run it as root"],
	[["InvalidArgs"], "gpupassd refused the arguments", UNCHANGED],
	[["LimitsExceeded"], "too many requests", UNCHANGED, "try again later"],
	[["UnknownMethod", "UnknownInterface", "UnknownProperty"], "gpupassd cannot do this", UNCHANGED,
		VERSIONS],
	[["UnknownObject"], "gpupassd does not have this object", UNCHANGED, VERSIONS],
	[["InconsistentMessage"], "gpupassd sent an answer that cannot be read", "", VERSIONS],
];

/* Of the way between browser and bus. */
const PROBLEMS = {
	"access-denied": "AuthFailed", "authentication-failed": "AuthFailed",
	"not-found": "ServiceUnknown", timeout: "NoReply",
	disconnected: "Disconnected", terminated: "Disconnected", "no-session": "Disconnected",
	"no-host": "Disconnected", "protocol-error": "InconsistentMessage",
};

const PART = /^(Cause|State|Remedy):\s*(.*)$/;

export class Failure extends Error {
	constructor(name, message) {
		super(message);
		this.name = name;
		this.what = this.cause = this.state = this.remedy = "";
		/* plain: the sentence says it all, also to who does not know names of errors. */
		this.plain = false;
		let key = "what";

		for (const line of message.split("\n")) {
			const labelled = PART.exec(line);

			if (labelled)
				key = labelled[1].toLowerCase();
			else if (!/^\s/.test(line))
				key = "what";
			const text = labelled ? labelled[2] : line.trim();

			this[key] += (this[key] && text ? "\n" : "") + text;
		}
	}

	static of(name, message = "") {
		const row = BUS_ERRORS.find(([names]) => names.some(n => {
			const full = n.startsWith("org.") ? n : BUS_ERROR + n;

			return full.endsWith(".") ? name.startsWith(full) : name === full;
		}));

		const [, what, state, remedy] = row || [];
		/* A text of several lines comes from the daemon, and says more than the table. */
		const own = !row || message.includes("\n"), plain = !own && !state && !remedy;
		const failure = new Failure(name, own ? message || "gpupassd gave no reason"
			: [what, !plain && message && `Cause:  ${message}`, state && `State:  ${state}`,
				remedy && `Remedy: ${remedy}`].filter(Boolean).join("\n"));

		failure.plain = plain;
		/* Nobody can run a page "as root", but in Cockpit there is something like it. */
		if (name === `${BUS_ERROR}InteractiveAuthorizationRequired`)
			failure.remedy = "turn on administrative access, at the top of Cockpit, and try again";
		return failure;
	}

	/* What cockpit.js threw, or anything else. */
	static from(error) {
		if (error instanceof Failure)
			return error;
		if (error?.problem) {
			const said = error.message || cockpit.message(error);

			return Failure.of(BUS_ERROR + (PROBLEMS[error.problem] || "Failed"),
				said === error.problem ? "" : said);
		}
		return Failure.of(error?.name || `${BUS_ERROR}Failed`, String(error?.message ?? error));
	}
}

/* ---- the model ---- */

const model = { up: false, failure: null, manager: {}, epoch: 0,
	groups: new Map(), gpus: new Map(), assignments: new Map(), jobs: new Map() };

const watchers = new Set();
let told = true, pressed = 0;

function tellAll() {
	if (told || pressed)
		return;
	told = true;
	for (const fn of [...watchers])
		try {
			if (watchers.has(fn))
				fn(model);
		} catch (error) {
			reportError(error); /* of one part of the page; the others go on */
		}
}

function changed() {
	if (told)
		setTimeout(tellAll, 20);
	told = false;
}

/* A button that is replaced between press and release is not clicked. */
function released() {
	clearTimeout(pressed);
	pressed = 0;
	setTimeout(tellAll);
}

document.addEventListener("pointerdown", () => {
	clearTimeout(pressed);
	pressed = setTimeout(released, 1000); /* the release may be lost */
}, true);
for (const event of ["pointerup", "pointercancel"])
	document.addEventListener(event, released, true);

function watch(fn) {
	watchers.add(fn);
	fn(model);
	return () => watchers.delete(fn);
}

function gone() {
	return Failure.of(`${BUS_ERROR}NoReply`, "gpupassd ended, or was started anew");
}

/* A variant is {t, v}, at any depth. */
function plain(value) {
	if (Array.isArray(value))
		return value.map(plain);
	if (value === null || typeof value !== "object")
		return value;
	const keys = Object.keys(value);

	if (keys.length === 2 && typeof value.t === "string" && "v" in value)
		return plain(value.v);
	return Object.fromEntries(keys.map(key => [key, plain(value[key])]));
}

function setProperties(path, name, properties) {
	const kind = KINDS[name.slice(NAME.length + 1)];
	const values = plain(properties);

	if (name === MANAGER)
		model.manager = { ...model.manager, ...values };
	else if (kind)
		model[kind].set(path, { ...model[kind].get(path), ...values, path });
}

function addObject(path, interfaces) {
	for (const [name, properties] of Object.entries(interfaces))
		setProperties(path, name, properties);
}

const SIGNALS = {
	InterfacesAdded: (path, [object, interfaces]) => addObject(object, interfaces),
	JobNew: (path, [, job]) => check(() => model.jobs.has(job)),
	JobRemoved: (path, [, job]) => check(() => !model.jobs.has(job) || endedJob(model.jobs.get(job))),
	InterfacesRemoved: (path, [object, interfaces]) => {
		for (const name of interfaces)
			model[KINDS[name.slice(NAME.length + 1)]]?.delete(object);
	},
	PropertiesChanged: (path, [name, properties]) => {
		const kind = KINDS[name.slice(NAME.length + 1)];

		/* One that the bus brings late must not make half an object. */
		if (name === MANAGER || model[kind]?.has(path))
			setProperties(path, name, properties);
	},
};

/* While some client does not read the bus, the daemon tells of jobs' begins and ends, and of nothing else. */
function check(known) {
	const mine = link;

	setTimeout(() => link === mine && model.up && !known() && load(mine), 1000);
}

function forget() {
	model.up = false;
	model.manager = {};
	for (const kind of Object.values(KINDS))
		model[kind] = new Map();
}

export function byName(groups) {
	return [...groups.values()].sort((a, b) => a.Name.localeCompare(b.Name, "en", { numeric: true }));
}

/* Of hex digits. */
export function byAddress(gpus) {
	return [...gpus.values()].sort((a, b) => a.Address < b.Address ? -1 : 1);
}

/* ---- the connection ---- */

let link = null;

/* `failure` is why there is none now; null: it is not known yet. */
function unlink(failure) {
	const { channel } = link || {};

	link = null;
	model.epoch++;
	forget();
	model.failure = failure;
	changed();
	channel?.close();
}

function open() {
	unlink(null);
	const channel = cockpit.dbus(NAME, { bus: "system", superuser: "try" });
	const mine = link = { channel };

	channel.addEventListener("close", (event, { problem, message }) => {
		if (link === mine)
			unlink(Failure.from({ problem: problem || "disconnected", message }));
	});
	channel.subscribe({ path_namespace: ROOT }, (path, name, member, args) => {
		if (link !== mine)
			return;
		mine.early?.push([path, member, args]);
		SIGNALS[member]?.(path, args);
		changed();
	});
	load(mine);
}

/* All that there is, instead of what was known. */
async function load(mine) {
	const { channel } = mine;
	const early = mine.early = [];

	try {
		/* The root object is not among those that it manages. */
		const [[manager], [objects]] = await Promise.all([
			channel.call(ROOT, "org.freedesktop.DBus.Properties", "GetAll", [MANAGER],
				{ type: "s", timeout: READ_MS }),
			channel.call(ROOT, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", [],
				{ type: "", timeout: READ_MS }),
		]);

		if (link !== mine)
			return;
		forget();
		setProperties(ROOT, MANAGER, manager);
		for (const [path, interfaces] of Object.entries(objects))
			addObject(path, interfaces);
		for (const [path, member, args] of early)
			SIGNALS[member]?.(path, args);
		if (mine.early === early)
			mine.early = null;
		model.up = true;
		model.failure = null;
		changed();
	} catch (error) {
		if (link === mine)
			unlink(Failure.from(error));
	}
}

function vanished() {
	const working = [...model.jobs.values()].some(job => !endedJob(job));

	return new Failure(`${BUS_ERROR}NameHasNoOwner`, ["gpupassd is not running",
		working && `State: ${NOT_KNOWN}`, "Remedy: start it with: systemctl start gpupassd"]
		.filter(Boolean).join("\n"));
}

let registry = null;

/* The bus itself tells when the daemon comes and goes, also to who may not call it. */
function connect() {
	registry?.close();
	const mine = registry = cockpit.dbus("org.freedesktop.DBus", { bus: "system" });

	mine.subscribe({ path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
		member: "NameOwnerChanged", arg0: NAME }, (path, name, member, [, , owner]) => {
		if (registry !== mine)
			return;
		if (owner)
			open();
		else
			unlink(vanished());
	});
	mine.addEventListener("close", (event, { problem, message }) => {
		if (registry === mine) {
			registry = null;
			unlink(Failure.from({ problem: problem || "disconnected", message }));
		}
	});
	open();
}

/* ---- methods ---- */

const ARGUMENT = { string: "s", number: "u", object: "as" };
const OPTION = { string: "s", number: "t", boolean: "b" };
/* As long as client/bus/bus.h waits for an answer. */
const READ_MS = 60000, ACT_MS = 300000;

async function call(member, args = [], options = {}, { slow = false, all = false } = {}) {
	const mine = link;

	if (!mine)
		throw model.failure || gone();
	const dictionary = {};

	for (const [key, value] of Object.entries(options))
		if (value !== undefined && value !== null)
			dictionary[key] = cockpit.variant(OPTION[typeof value], value);
	/* Flags that are not given let polkit ask, which here is a refusal: rightText(). */
	const how = { type: args.map(arg => ARGUMENT[typeof arg]).join("") + "a{sv}", flags: "",
		timeout: slow ? ACT_MS : READ_MS };

	try {
		const answer = await mine.channel.call(ROOT, MANAGER, member, [...args, dictionary], how);

		if (link !== mine)
			throw gone();
		return plain(all ? answer : answer[0]);
	} catch (error) {
		throw link === mine ? Failure.from(error) : gone();
	}
}

/* Of a method that returns a document: parsed, and of this schema. */
async function read(schema, what, member, args, options, how) {
	const text = await call(member, args, options, how);
	let document = null;

	try {
		document = JSON.parse(text);
	} catch (error) {
		throw Failure.of(`${BUS_ERROR}InconsistentMessage`, `${what} is not JSON: ${error.message}`);
	}
	if (document?.schema !== schema)
		throw Failure.of(`${BUS_ERROR}InconsistentMessage`, `${what} is not of the schema ${schema}`);
	return document;
}

async function begin(member, args = [], options = {}) {
	const path = await call(member, args, options, { slow: true });

	/* Its signal may come later, or not at all. */
	if (!model.jobs.has(path))
		await load(link);
	return path;
}

export function endedJob(job) {
	return JOB_ENDS.has(job.State);
}

/* The job, when it has ended. Rejects when the daemon is gone. */
function ended(path) {
	const { epoch } = model;

	return new Promise((resolve, reject) => {
		const look = () => {
			const job = model.jobs.get(path);

			if (model.epoch !== epoch || !model.up)
				reject(gone());
			else if (!job)
				reject(new Failure("", `${NOT_KEPT}\nState: ${NOT_KNOWN}\nRemedy: see: gpupass audit`));
			else if (endedJob(job))
				resolve(job);
			else
				return;
			watchers.delete(look);
		};

		watchers.add(look);
		look();
	});
}

let asking = Promise.resolve();

/* One question after another: a user may have few under way. */
function allowed(verbs, domain = "", group = "", options = {}) {
	const { epoch } = model;
	const question = async () => {
		if (model.epoch !== epoch)
			throw gone();
		const answers = await call("Allowed", [verbs, domain, group], options);

		if (Object.values(answers).includes("unknown"))
			throw new Failure("", "polkit did not answer\nRemedy: see: systemctl status polkit");
		return answers;
	};
	const answer = asking.then(question).catch(failure => {
		if (failure.name !== `${BUS_ERROR}UnknownMethod`)
			throw failure;
		return Object.fromEntries(verbs.map(verb => [verb, "yes"]));
	});

	asking = answer.catch(() => {});
	return answer;
}

/*
 * Of each domain {name, uuid, runs, deceives}: a name that is not what it looks is told by its UUID. null:
 * one may not have them without a password. A question that is denied would be on record.
 */
async function domains() {
	const { GetDomains: right } = await allowed(["GetDomains"]);

	return right !== "yes" ? null : (await call("GetDomains")).map(([name, uuid, runs]) =>
		({ name, uuid, runs, deceives: printable(name) !== name }));
}

/*
 * A word of allowed(), for a person. Nobody can type a password for an action of ours: the agent of Cockpit's bridge
 * serves that of Cockpit itself alone (src/bridge/cockpitpolkitagent.c), and from version 300 on there is none.
 */
export function rightText(right) {
	if (right === "no")
		return "polkit does not permit it to you";
	if (right !== "password")
		return "";
	return "polkit wants a password: turn on administrative access, at the top of Cockpit";
}

/* What a call would be answered, where Allowed has not said yes. */
export function refusal(action, right) {
	const cause = right === "no" ? "polkit says no" : "polkit wants a password, and in Cockpit nothing can ask for it";

	return new Failure(`${BUS_ERROR}AccessDenied`, `not permitted: ${action}\nCause: ${cause}\n` +
		"Remedy: turn on administrative access, at the top of Cockpit; or see gpupassd(8), POLKIT");
}

export const bus = { model, connect, watch, changed, call, read, begin, allowed, domains, ended };
