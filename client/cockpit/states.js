/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words, colours and one sentence for each state of include/gpupass/states.h. */

/* word: [kind, sentence] */
const GROUP = {
	unknown: ["warn", "Nothing proves how these GPUs are bridged. Look at the bridges and declare each group."],
	inferred: ["warn", "Only one pairing is possible, but nobody has seen the links. Declare it to use it."],
	free: ["none", "No domain has it."],
	unready: ["busy", "No domain may have it before it has been prepared."],
	binding: ["busy", "A job moves its functions to vfio-pci."],
	bound: ["none", "It is on vfio-pci, in no domain."],
	attaching: ["busy", "A job puts it into a domain."],
	assigned: ["ok", "All of it is in one domain."],
	detaching: ["busy", "A job takes it out of its domain."],
	releasing: ["busy", "A job gives it back to the host's drivers."],
	"rolling-back": ["busy", "A job failed and is being undone."],
	degraded: ["bad", "A member, a link or a binding is missing."],
	quarantined: ["bad", "A job could neither be completed nor undone. A person has to look at it."],
	foreign: ["bad", "A domain has it, or a driver override, that gpupass did not set."],
};

const JOB = {
	planning: ["busy", "It looks at the machine. Nothing is changed yet."],
	running: ["busy", "It works through its steps."],
	"rolling-back": ["busy", "It puts back what it changed."],
	cancelling: ["busy", "It stops as soon as the running step has ended."],
	done: ["ok", "It is done."],
	failed: ["bad", "Everything was put back, or nothing was touched."],
	incomplete: ["bad", "Not everything could be put back. The group is quarantined."],
	cancelled: ["warn", "Somebody cancelled it. Everything is as before."],
};

const STEP = {
	pending: ["none", "Not begun."],
	running: ["busy", "At work."],
	done: ["ok", "Done."],
	unchanged: ["ok", "It was so already."],
	"not-done": ["warn", "Not all of it was done, which is no failure."],
	failed: ["bad", "It failed."],
	undone: ["warn", "It was put back."],
	"undo-failed": ["bad", "It could not be put back."],
};

const HEALTH = {
	unknown: ["none", "It sleeps, or could not be looked at."],
	ok: ["ok", "It answers, with all its lanes, without errors."],
	degraded: ["bad", "Lanes are missing, or errors were counted."],
	lost: ["bad", "It does not answer any more."],
};

const VERDICT = {
	unknown: ["warn", "The guest could not be asked, or its answer was not understood."],
	verified: ["ok", "All links work, and so does peer-to-peer."],
	degraded: ["bad", "Fewer links than there should be."],
	broken: ["bad", "No NVLink between two of its GPUs."],
};

const PROVENANCE = {
	none: ["none", "Nothing proves the links."],
	inferred: ["warn", "sysfs leaves only one pairing."],
	single: ["ok", "One GPU, and none that it could be linked to."],
	cached: ["ok", "An earlier probe of the same boards saw them."],
	mmio: ["ok", "The link registers show them."],
	probed: ["ok", "NVML sees them."],
	guest: ["ok", "nvidia-smi in the guest sees them."],
	declared: ["ok", "The operator declared them."],
};

/* Of a check of the doctor. */
const FINDING = {
	fail: ["bad", "A fault: something does not work before it is mended."],
	warn: ["warn", "Doubtful: it works, but look at it."],
	pass: ["ok", "All that this check is about was seen, and nothing was found."],
	unknown: ["none", "A fact was missing, so that nothing can be said."],
	skipped: ["none", "This host does not have what it is about."],
};

const TENANT = {
	none: ["none", "No domain is known to have had it."],
	dirty: ["warn", "A domain has it, or had it and it was not reset since."],
	clean: ["ok", "It was reset since a domain had it."],
};

/* A word of a newer daemon is shown as it is. */
function look(table, word) {
	const [kind, title] = (Object.hasOwn(table, word) && table[word]) || ["none", ""];

	return { kind, text: word || "unknown", title };
}

/* The sentence is the daemon's reason where there is one. */
export function groupState(group) {
	const state = look(GROUP, group.State), domain = group.DomainName || group.DomainUuid;

	return { ...state, title: group.Reason || state.title,
		text: !domain ? state.text : group.State === "assigned" ? `assigned to ${domain}`
			: `${state.text} (domain ${domain})` };
}

export function jobState(job) {
	const stops = job.CancelRequested && ["planning", "running"].includes(job.State);

	return look(JOB, stops ? "cancelling" : job.State);
}

export const stepState = word => look(STEP, word);
export const healthState = word => look(HEALTH, word);
export const verdictState = word => look(VERDICT, word);
export const provenanceState = word => look(PROVENANCE, word);
export const findingState = word => look(FINDING, word);
export const tenantState = word => look(TENANT, word);

/* Where the group goes to, or comes from; as client/show/progress.c says it. */
const WORDING = {
	assign: ["Assigning", "Assigned", "to", "is already assigned to"],
	release: ["Releasing", "Released", "from", "is already released from"],
	bind: ["Binding", "Bound", "to", "is already bound to", "vfio-pci"],
	unbind: ["Giving back", "Gave back", "to", "is already given back to", "the host's drivers"],
	reconcile: ["Reconciling", "Reconciled", "with", "is as recorded for"],
	verify: ["Verifying", "Verified", "in", "is verified in"],
	probe: ["Probing", "Probed", "of", "is already probed", "this host"],
	prepare: ["Preparing", "Prepared", "for", "is already prepared for", "a domain"],
};

export function jobSentence(job) {
	const { Operation: verb } = job;
	const [doing, done, link, already, driver] = WORDING[verb] || [verb, verb, "", ""];
	const group = job.Operation === "probe" ? "the links" : job.GroupName || "a group";
	const domain = driver || job.DomainName || job.DomainUuid;

	if (job.State === "done" && !job.Changed && !["verify", "probe"].includes(job.Operation))
		return `${group} ${already} ${domain || "its domain"}; nothing to do`;
	return [job.State === "done" ? done : doing, group, domain && link, domain].filter(Boolean).join(" ");
}
