/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/declare.h"

#include "core/group/companion.h"
#include "job/prepare.h"
#include "manager/config.h"
#include "manager/look.h"
#include "manager/state.h"
#include "util/xalloc.h"

typedef enum DeclareMode {
	DECLARE,
	FORGET,
	RELOAD, /* reads groups.d again */
} DeclareMode;

typedef struct DeclareTask {
	Inquiry inquiry; /* its rules are those that jobs go by now */
	DeclareMode mode;
	bool claimed;
	DeclareWish wish;    /* to forget: its name alone */
	bool no_bridge_seen; /* of the only one, the caller says so */
	/* outcome */
	Rules *rules;
	char **notes;
} DeclareTask;
LOCAL_FREE(DeclareTask, declare_task_free)

static const Declaration *find_declaration(const Rules *rules, const char *name)
{
	return rules ? FIND(rules->declarations->items, rules->declarations->n_items,
			    strcmp(it->name, name) == 0)
		     : NULL;
}

/*
 * Keeps "GPU-…" as given, and writes addresses in the kernel's form, so that all files look alike.
 */
static int normalise(const char *text, DeclareWish *wish, Problem **ret_problem)
{
	Selector selector = { 0 };
	Member member;

	if (member_parse(text, &member) >= 0) {
		strv_append(&wish->companions, MEMBER_TEXT(&member));
		return 0;
	}
	if (selector_parse(text, &selector) < 0)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
			.reason = strf("\"%s\" names no GPU, NIC, VF or NVMe", text),
			.remedy = xstrdup(
				"give a PCI address (0000:41:00.0), a UUID (GPU-…), serial:NUMBER "
				"or slot:NAME; or nic:, vf: or nvme: with an address"));
	strv_append(&wish->members,
		    selector.kind == SELECTOR_ADDRESS ? BDF_TEXT(&selector.address) : text);
	selector_clear(&selector);
	return 0;
}

static int refuse_vfs(DeclareTask *task, const PciFunction *nic)
{
	const char *bdf = BDF_TEXT(&nic->bdf);
	bool all = nic->vfs_max > 0 && nic->vf_offset > 0;

	return problem_refuse(
		&task->inquiry.problem, GPUPASS_ERROR_NOT_BRIDGED,
		.reason = all ? strf("all %u VFs of %s are in groups", nic->vfs_max, bdf)
			      : strf("%s offers no VFs", bdf),
		.cause = all ? NULL
			     : strf("sriov_totalvfs and sriov_offset: %u, %u", nic->vfs_max,
				    nic->vf_offset),
		.remedy = all ? xstrdup("take another NIC, or more VFs by its firmware's setting")
			      : strf("turn SR-IOV on, in the firmware's setup and in the NIC's: "
				     "mlxconfig -d %s set SRIOV_EN=1 NUM_OF_VFS=8; then reboot",
				     bdf));
}

/* Where a VF is given as its NIC, one that no group has takes that one's place. */
static int choose_vfs(DeclareTask *task, const Assignments *assignments, DeclareWish *wish)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	Host *host = task->inquiry.place.host;

	for (char **text = wish->companions; text && *text; text++) {
		const PciFunction *nic;
		Member member;
		int r = 0;

		if (member_parse(*text, &member) < 0 || member.kind != MEMBER_VF)
			continue;
		if (!snapshot)
			r = host->ops->scan(host, &snapshot);
		if (r < 0)
			return r;
		nic = pci_snapshot_find(snapshot, &member.bdf);
		if (!nic || nic->virtual_function)
			continue;
		if (!companions_choose_vf(nic, task->rules->declarations, assignments,
					  wish->companions, &member.bdf))
			return refuse_vfs(task, nic);
		free(*text);
		*text = xstrdup(MEMBER_TEXT(&member));
	}
	return 0;
}

static int check_name(const char *name, Problem **ret_problem)
{
	if (group_name_valid(name))
		return 0;
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
		.reason = strf("\"%s\" is no group name", name),
		.remedy = strf("use letters, digits, '-', '_' and '.', starting with a letter; at "
			       "most %d",
			       GROUP_NAME_MAX));
}

static int check_count(const DeclareWish *wish, Problem **ret_problem)
{
	if (strv_length(wish->members) >= GROUP_MEMBERS_MIN)
		return 0;
	return problem_refuse(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
			      .reason = xstrdup("a group has at least one GPU"),
			      .remedy = xstrdup("name each of the GPUs that the bridge ties "
						"together, or one that has no bridge"));
}

/* Half of a bridged pair is never declared alone by mistake. */
static int check_alone(DeclareTask *task, const Group *group)
{
	const PciFunction *lead = group->gpus[0]->lead;
	_cleanup_free_ char *model = NULL;

	if (!group->single || task->no_bridge_seen ||
	    !board_may_be_bridged(lead->vendor, lead->device))
		return 0;
	model = gpu_model(group->gpus[0]);
	return problem_refuse(
		&task->inquiry.problem, GPUPASS_ERROR_LINKS_UNKNOWN,
		.reason = strf("a bridge may tie %s (%s) to another board", BDF_TEXT(&lead->bdf),
			       model),
		.cause = xstrdup("its GPU can have NVLink, and the host cannot see a bridge"),
		.remedy = strf("look at the board; if no bridge is on it: gpupass declare %s %s "
			       "--no-bridge-seen; if there is one, name both boards",
			       task->wish.name, BDF_TEXT(&lead->bdf)));
}

static int look(DeclareTask *task, const Assignments *assignments, Inventory **ret)
{
	return inventory_take(task->inquiry.place.host, task->rules, assignments,
			      task->inquiry.known, INSPECT_CONFIG_ALL, ret);
}

/* Checks that the declared group would be complete on this machine. */
static int check_group(DeclareTask *task, const Inventory *inventory)
{
	const Group *group = group_set_find(inventory->groups, task->wish.name);
	bool companion = group && group->companion_fault;

	if (group && group->state != GROUP_DEGRADED)
		return check_alone(task, group);
	return problem_refuse(
		&task->inquiry.problem, GPUPASS_ERROR_NOT_BRIDGED,
		.reason = xstrdup(companion ? "these cannot be a group on this host"
					    : "these GPUs cannot be a group on this host"),
		.cause = xstrdup(group && group->reason ? group->reason
							: "not all of them were found"),
		.remedy = xstrdup(companion ? "see where the NICs and NVMes of this host are: "
					      "gpupass topology"
					    : "see the GPUs of this host: gpupass list"));
}

/* No job would begin on it: claims_take(). */
static int check_quarantine(DeclareTask *task, const Inventory *inventory)
{
	const Group *group = group_set_find(inventory->groups, task->wish.name);
	size_t n;
	_cleanup_free_ Bdf *functions = group_addresses(group, &n);

	return claims_check_name(task->inquiry.place.claims, task->wish.name, functions, n,
				 &task->inquiry.problem);
}

/*
 * Claims what becomes another group by it, until jobs go by the new rules. A job works with the
 * rules of its start, and its assignment stands in no file before it ends: so a file alone does not
 * tell whether a group may change.
 */
static int claim(DeclareTask *task, const Inventory *inventory, const Assignments *assignments,
		 uint64_t looked)
{
	_cleanup_(group_set_freep) GroupSet *before =
		inventory_groups(inventory, task->inquiry.place.rules, assignments);
	_cleanup_(footprint_clear) Footprint changes =
		footprint_of_change(before, inventory->groups);

	int r = claims_take(task->inquiry.place.claims,
			    &(ClaimRequest){
				    .kind = CLAIM_DECLARATION,
				    .group = task->wish.name,
				    .footprint = &changes,
				    .looked = looked,
			    },
			    &task->inquiry.problem);

	task->claimed = r == 0;
	return r;
}

/* Renaming a group under a domain would orphan the domain's record. */
static int check_unassigned(DeclareTask *task, const Assignments *assignments)
{
	const Declaration *mine = find_declaration(task->rules, task->wish.name);

	for (size_t i = 0; mine && i < mine->n_members; i++) {
		const Assignment *a;

		if (mine->members[i].kind != SELECTOR_ADDRESS)
			continue;
		a = assignments_find_function(assignments, &mine->members[i].address);
		if (!a || strcmp(a->group_name, task->wish.name) == 0)
			continue;
		return problem_refuse(
			&task->inquiry.problem, GPUPASS_ERROR_GROUP_BUSY,
			.reason = strf("%s is assigned to %s as %s",
				       BDF_TEXT(&mine->members[i].address), a->domain_name,
				       a->group_name),
			.remedy = strf("keep the name %s, or release it first: gpupass release %s",
				       a->group_name,
				       domain_ref_word(a->domain_name, a->domain_uuid)));
	}
	return 0;
}

static int read_rules(DeclareTask *task)
{
	char **notes = NULL;
	Rules *rules = NULL;
	int r = config_load_rules(task->inquiry.manager->place.config_directory,
				  &task->inquiry.manager->place.policy, &rules, &notes);

	if (r < 0)
		return r;
	rules_unref(task->rules);
	task->rules = rules;
	strv_free(task->notes);
	task->notes = notes;
	return 0;
}

/* The claim comes last, when nothing but the disk can refuse any more. */
static int declare(DeclareTask *task)
{
	uint64_t looked = claims_now(task->inquiry.place.claims);
	_cleanup_(assignments_freep) Assignments *assignments = NULL;
	_cleanup_(inventory_freep) Inventory *inventory = NULL;
	_cleanup_(declare_wish_clear) DeclareWish wish = {
		.name = xstrdup(task->wish.name),
		.whole_nic = task->wish.whole_nic,
		.erase = task->wish.erase,
		.vlan = task->wish.vlan,
	};
	_cleanup_free_ char *file = NULL, *text = NULL;
	int r;

	r = check_name(wish.name, &task->inquiry.problem);
	for (char **member = task->wish.members; r == 0 && member && *member; member++)
		r = normalise(*member, &wish, &task->inquiry.problem);
	if (r == 0)
		r = check_count(&wish, &task->inquiry.problem);
	if (r == 0)
		r = read_rules(task);
	if (r == 0)
		assignments = assignment_store_load(task->inquiry.place.store);
	if (r == 0)
		r = choose_vfs(task, assignments, &wish);
	if (r != 0)
		return r;
	file = strf("groups.d/%s.conf", task->wish.name);
	text = declaration_to_text(&wish);
	/* No other code has these rules yet, so we may still add to them. */
	r = declarations_parse(task->rules->declarations, file, text, &task->inquiry.problem);
	if (r == 0)
		r = check_unassigned(task, assignments);
	if (r == 0)
		r = look(task, assignments, &inventory);
	if (r == 0)
		r = check_group(task, inventory);
	if (r == 0)
		r = check_quarantine(task, inventory);
	if (r == 0)
		r = claim(task, inventory, assignments, looked);
	return r == 0 ? config_store_group(task->inquiry.manager->place.config_directory,
					   task->wish.name, text)
		      : r;
}

static int check_own_file(DeclareTask *task, const Declaration *declaration)
{
	_cleanup_free_ char *expected = strf("groups.d/%s.conf:", task->wish.name);
	size_t in_file = COUNT(task->rules->declarations->items, task->rules->declarations->n_items,
			       str_starts_with(it->source, expected));

	if (in_file == 1 && str_starts_with(declaration->source, expected))
		return 0;
	return problem_refuse(&task->inquiry.problem, GPUPASS_ERROR_INVALID_ARGUMENT,
			      .reason = xstrdup("its declaration was not made by gpupass declare"),
			      .cause = xstrdup(declaration->source),
			      .remedy = xstrdup("edit that file, then: systemctl reload gpupassd"));
}

static int forget(DeclareTask *task)
{
	uint64_t looked = claims_now(task->inquiry.place.claims);
	_cleanup_(assignments_freep) Assignments *assignments = NULL;
	_cleanup_(inventory_freep) Inventory *inventory = NULL;
	const Declaration *declaration;
	const Assignment *assignment;
	int r = read_rules(task);

	if (r == 0)
		assignments = assignment_store_load(task->inquiry.place.store);
	if (r != 0)
		return r;
	declaration = find_declaration(task->rules, task->wish.name);
	if (!declaration)
		return problem_refuse(&task->inquiry.problem, GPUPASS_ERROR_NO_SUCH_GROUP,
				      .reason =
					      strf("no declaration names \"%s\"", task->wish.name),
				      .remedy = xstrdup("see: gpupass list"));
	assignment = assignments_find_group(assignments, task->wish.name);
	if (assignment)
		return problem_refuse(&task->inquiry.problem, GPUPASS_ERROR_GROUP_BUSY,
				      .reason =
					      strf("it is assigned to %s", assignment->domain_name),
				      .remedy = strf("release it first: gpupass release %s",
						     domain_ref_word(assignment->domain_name,
								     assignment->domain_uuid)));
	r = check_own_file(task, declaration);
	if (r != 0)
		return r;
	declarations_remove(task->rules->declarations, task->wish.name);
	r = look(task, assignments, &inventory);
	if (r == 0)
		r = claim(task, inventory, assignments, looked);
	return r == 0 ? config_remove_group(task->inquiry.manager->place.config_directory,
					    task->wish.name)
		      : r;
}

/* As long as jobs of the same functions end under its look. */
static int settle(DeclareTask *task, int (*change)(DeclareTask *task))
{
	int r = -ESTALE;

	for (unsigned looks = 0; r == -ESTALE && looks < PREPARE_LOOKS_MAX; looks++)
		r = change(task);
	return r == -ESTALE ? prepare_too_busy(&task->inquiry.problem) : r;
}

static void declare_work(void *data)
{
	DeclareTask *task = data;

	if (task->mode == DECLARE)
		task->inquiry.result = settle(task, declare);
	else if (task->mode == FORGET)
		task->inquiry.result = settle(task, forget);
	/* Read what the files have now, and not what we meant to write. */
	if (task->inquiry.result == 0)
		task->inquiry.result = read_rules(task);
}

/* Answers the caller once the picture shows the declared group. */
static void declare_visible(void *userdata)
{
	_cleanup_(declare_task_freep) DeclareTask *task = userdata;

	if (task->inquiry.done)
		inquiry_answer(&task->inquiry);
}

static void declare_done(void *data)
{
	DeclareTask *task = data;
	Manager *m = task->inquiry.manager;

	if (task->inquiry.result == 0 && task->mode != RELOAD)
		declarations_find_edits(task->rules->declarations, m->rules->declarations,
					task->wish.name);
	if (task->inquiry.result == 0)
		manager_set_rules(m, TAKE_PTR(task->rules), TAKE_PTR(task->notes));
	if (task->claimed)
		claims_release_declaration(m->place.job.claims, task->wish.name);
	if (task->inquiry.result == 0)
		manager_rescan(m, declare_visible, task);
	else
		declare_visible(task);
}

static void start(Manager *m, DeclareMode mode, const DeclareWish *wish, bool no_bridge_seen,
		  ManagerAnswered done, void *userdata)
{
	_cleanup_(declare_task_freep) DeclareTask *task = xcalloc(1, sizeof(DeclareTask));

	inquiry_begin(&task->inquiry, m,
		      strf("cannot %s %s", mode == DECLARE ? "declare" : "forget", wish->name),
		      done, userdata);
	task->inquiry.changes = true;
	task->mode = mode;
	task->no_bridge_seen = no_bridge_seen;
	task->wish = declare_wish_copy(wish);
	mailbox_run(m->place.mailbox, declare_work, declare_done, TAKE_PTR(task));
}

void manager_declare(Manager *m, const DeclareWish *wish, bool no_bridge_seen, ManagerAnswered done,
		     void *userdata)
{
	start(m, DECLARE, wish, no_bridge_seen, done, userdata);
}

void manager_forget(Manager *m, const char *name, ManagerAnswered done, void *userdata)
{
	_cleanup_(declare_wish_clear) DeclareWish wish = { .name = xstrdup(name) };

	start(m, FORGET, &wish, false, done, userdata);
}

void manager_reload(Manager *m)
{
	_cleanup_(declare_wish_clear) DeclareWish wish = { .name = xstrdup("") };

	start(m, RELOAD, &wish, false, NULL, NULL);
}

#include "declare.inc"
