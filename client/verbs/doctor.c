/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass doctor: what is wrong, why, and what to do; nothing is changed. */
#include <fcntl.h>
#include <sys/utsname.h>

#include "base/json.h"
#include "base/text.h"
#include "bundle/archive.h"
#include "bundle/journal.h"
#include "bundle/secrets.h"
#include "bus/document.h"
#include "model/model.h"
#include "util/file.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

#define DOCTOR_INDENT 8 /* below the title */

static int request_report(Client *c, const char *domain, json_t **ret)
{
	static const DocumentKind kind = DOCUMENT_KIND("the report", DOCTOR);
	const BusOption symptom = BUS_TEXT(GPUPASS_OPTION_SYMPTOM, c->options->symptom);
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = bus_new_manager_call(c, "Doctor", &call, "s", domain);

	if (r >= 0)
		r = bus_append_options(c, call, &symptom, 1);
	/* A GPU that does not answer uses its whole deadline. */
	return r < 0 ? r : document_call(c, call, BUS_TIMEOUT_ACT_USEC, &kind, ret);
}

static void print_wrapped(const Terminal *t, size_t indent, const char *label, const char *text)
{
	fprintf(t->stream, "%*s%s", (int)indent, "", label);
	terminal_prose(t, indent + strlen(label), indent + strlen(label), text);
}

static Colour status_colour(const char *status)
{
	static const struct {
		const char *status;
		Colour colour;
	} colours[] = {
		{ "fail", COLOUR_BAD },
		{ "warn", COLOUR_MOVING },
		{ "unknown", COLOUR_NONE },
		{ "pass", COLOUR_GOOD },
	};

	for (size_t i = 0; i < ELEMENTS(colours); i++)
		if (strcmp(colours[i].status, status) == 0)
			return colours[i].colour;
	return COLOUR_DIM;
}

/* A heading of the installed file: with spaces less finds it, whatever the case. */
static void print_see(Client *c, const char *anchor)
{
	_cleanup_free_ char *line = strf("%s/TROUBLESHOOTING.md, \"%s\"", c->doc_directory, anchor);

	for (char *at = strrchr(line, ','); *at; at++)
		if (*at == '-')
			*at = ' ';
	print_wrapped(&c->out, DOCTOR_INDENT, "See:    ", line);
}

/* What is not in order, and what is not known although something can be done about it. */
static bool is_told(const char *status, const char *remedy)
{
	return strcmp(status, "fail") == 0 || strcmp(status, "warn") == 0 ||
	       (strcmp(status, "unknown") == 0 && *remedy);
}

/* True: it was printed. */
static bool print_check(Client *c, const json_t *check)
{
	const char *status = json_text_of(check, "status"), *remedy = json_text_of(check, "remedy");
	const char *see = json_text_of(check, "see"), *evidence = json_text_of(check, "evidence");
	bool told = is_told(status, remedy);
	const Terminal *t = &c->out;
	const json_t *line;

	if (!told && !(c->options->given & OPTION_VERBOSE))
		return false;
	fprintf(t->stream, "%s%-7s%s %s%s%s (%s)\n", terminal_colour(t, status_colour(status)),
		status, terminal_plain(t), terminal_colour(t, COLOUR_BOLD),
		json_text_of(check, "title"), terminal_plain(t), json_text_of(check, "id"));
	JSON_EACH (line, check, "what")
		print_wrapped(t, DOCTOR_INDENT, "", str_or_empty(json_string_value(line)));
	if (*remedy)
		print_wrapped(t, DOCTOR_INDENT, "Remedy: ", remedy);
	if (*see && told)
		print_see(c, see);
	else if (*evidence && strcmp(status, "skipped") != 0)
		print_wrapped(t, DOCTOR_INDENT, "By:     ", evidence);
	return true;
}

static void print_suspects(const Terminal *t, const json_t *symptom)
{
	_cleanup_strv_ char **ids = NULL;
	_cleanup_free_ char *joined = NULL;
	const json_t *item;

	JSON_EACH (item, symptom, "suspects")
		strv_append(&ids, str_or_empty(json_string_value(item)));
	joined = strv_join(ids, ", ");
	if (ids)
		print_wrapped(t, 2, "Look first at: ", joined);
	else
		print_wrapped(t, 2, "", "Nothing that was found on the host explains it.");
}

static void print_symptom(const Terminal *t, const json_t *symptom)
{
	const json_t *hint;

	fprintf(t->stream, "\n%sSymptom:%s %s\n", terminal_colour(t, COLOUR_BOLD),
		terminal_plain(t), json_text_of(symptom, "title"));
	print_suspects(t, symptom);
	print_wrapped(t, 2, "", "Only the guest can show:");
	JSON_EACH (hint, symptom, "hints") {
		print_wrapped(t, 2, "- ", json_text_of(hint, "cause"));
		print_wrapped(t, 4, "Remedy: ", json_text_of(hint, "remedy"));
	}
}

static long long count(const json_t *report, const char *status)
{
	return json_number_of(json_object_get(report, "counts"), status);
}

static void print_counts(Client *c, const json_t *report, bool printed)
{
	bool verbose = c->options->given & OPTION_VERBOSE;
	long long unknown = count(report, "unknown"), skipped = count(report, "skipped");
	_cleanup_free_ char *not_known =
		unknown > 0 ? strf(", %lld unknown", unknown) : xstrdup("");
	_cleanup_free_ char *left_out = skipped > 0 ? strf(", %lld skipped", skipped) : xstrdup("");
	_cleanup_free_ char *line =
		strf("%zu checks: %lld failed, %lld with a warning, %lld passed%s%s.%s",
		     json_array_size(json_object_get(report, "checks")), count(report, "fail"),
		     count(report, "warn"), count(report, "pass"), not_known, left_out,
		     unknown + skipped > 0 && !verbose ? " Why: --verbose" : "");

	if (printed)
		fputc('\n', c->out.stream);
	print_wrapped(&c->out, 0, "", line);
}

static void print_report(Client *c, const json_t *report)
{
	const json_t *symptom = json_object_get(report, "symptom"), *check;
	bool printed = json_is_object(symptom);

	JSON_EACH (check, report, "checks")
		printed |= print_check(c, check);
	if (json_is_object(symptom))
		print_symptom(&c->out, symptom);
	if (c->options->legend)
		print_counts(c, report, printed);
}

/* ---- --bundle=FILE: what a person who cannot reach this host needs to see of it ---- */

#define DIRECTORY "gpupass-bundle/"
#define SMALL_FILE_MAX (64U * 1024 * 1024)

/* In the order of the archive. */
typedef enum BundleFile {
	FILE_DOCTOR,
	FILE_EVIDENCE,
	FILE_FACTS,
	FILE_LIST,
	FILE_SNAPSHOT,
	FILE_TOPOLOGY,
	FILE_VERSIONS,
	FILES_,
} BundleFile;

static const char *const file_names[FILES_] = {
	[FILE_DOCTOR] = DIRECTORY "doctor.json",     [FILE_EVIDENCE] = DIRECTORY "evidence.json",
	[FILE_FACTS] = DIRECTORY "facts.json",	     [FILE_LIST] = DIRECTORY "list.json",
	[FILE_SNAPSHOT] = DIRECTORY "snapshot.json", [FILE_TOPOLOGY] = DIRECTORY "topology.json",
	[FILE_VERSIONS] = DIRECTORY "versions.json",
};

typedef struct Excerpt {
	const char *name;    /* in the archive */
	const char *trouble; /* why it is empty; NULL: it is as it was read */
	char *text;
} Excerpt;

typedef struct Bundle {
	json_t *documents[FILES_];
	Excerpt excerpts[JOURNAL_KERNEL + 1];
	StandIns *stand_ins;
	char **devices; /* addresses in the snapshot */
} Bundle;

static void bundle_clear(Bundle *b)
{
	for (size_t i = 0; i < ELEMENTS(b->documents); i++)
		json_decref(b->documents[i]);
	for (size_t i = 0; i < ELEMENTS(b->excerpts); i++)
		free(b->excerpts[i].text);
	stand_ins_free(b->stand_ins);
	strv_free(b->devices);
}

static const char readme_about[] =
	"A capture of a host, by: gpupass doctor --bundle\n"
	"\n"
	"doctor.json          what doctor found\n"
	"facts.json           what it was found from: settings, drivers, domains, holders, health\n"
	"snapshot.json        the PCI functions of GPUs and of what goes with them, of the bridges\n"
	"                     above them, and of what shares their IOMMU group or bus; attributes\n"
	"                     as sysfs shows them\n"
	"evidence.json        what NVML, registers and guests reported about NVLinks, at the last look\n"
	"list.json            gpupass list\n"
	"topology.json        gpupass topology\n"
	"versions.json        of gpupass, libvirt, QEMU, the kernel, NVIDIA's driver, the distribution\n"
	"journal-gpupass.txt  what gpupassd and its parts logged last\n"
	"journal-kernel.txt   what the kernel logged about these functions, NVIDIA's driver and the\n"
	"                     IOMMU since it was booted\n"
	"\n"
	"Replaced, each word by the same stand-in in all files: names of the host, of its users\n"
	"(those of people in /etc/passwd), and of domains that libvirt or gpupass knows; UUIDs, MAC\n"
	"addresses, serial numbers, ids of 32 or more hex digits, names and UUIDs of what is on\n"
	"NVMes, servers and addresses that a NIC is used for. Not replaced: addresses of PCI\n"
	"functions, names of groups and of drivers, versions, names of programs. A name that is a\n"
	"word of these texts (gpu, assigned, vfio-pci) or a number has a stand-in where it is the\n"
	"name of something, and stays in sentences. The journal may name a domain that has been\n"
	"undefined since; look through it before you send it.\n"
	"\n";

/* ---- what goes in ---- */

static int get_capture(Client *c, Bundle *b)
{
	static const DocumentKind kind = DOCUMENT_KIND("the capture", CAPTURE, .raw = true);
	_cleanup_(json_decrefp) json_t *capture = NULL;
	_cleanup_message_ sd_bus_message *call = NULL;
	json_t *facts;
	int r = bus_new_manager_call(c, "Doctor", &call, "sa{sv}", "", 1, GPUPASS_OPTION_CAPTURE,
				     "b", 1);

	if (r >= 0)
		r = document_call(c, call, BUS_TIMEOUT_ACT_USEC, &kind, &capture);
	if (r < 0)
		return r;
	facts = json_object_get(capture, "facts");
	b->documents[FILE_DOCTOR] = json_incref(json_object_get(capture, "report"));
	b->documents[FILE_FACTS] = json_incref(facts);
	b->documents[FILE_SNAPSHOT] = json_incref(json_object_get(facts, "snapshot"));
	if (!b->documents[FILE_DOCTOR] || !b->documents[FILE_SNAPSHOT])
		return bus_bad_reply(c, "the capture lacks its report or its facts");
	json_object_del(facts, "snapshot");
	return 0;
}

static void list_devices(Bundle *b)
{
	const json_t *function;

	JSON_EACH (function, b->documents[FILE_SNAPSHOT], "functions")
		if (*json_text_of(function, "bdf"))
			strv_append(&b->devices, json_text_of(function, "bdf"));
}

/* The whole file where it is small; "" where it cannot be read, which is no reason to fail. */
static char *read_small(const char *path)
{
	char *text;

	return file_read_at(AT_FDCWD, path, SMALL_FILE_MAX, &text, NULL) < 0 ? xstrdup("") : text;
}

/* A value of os-release(5), with its quotes off. `key` ends with "=". */
static char *os_release(const char *key)
{
	_cleanup_free_ char *text = read_small("/etc/os-release"), *name = NULL;
	const char *at, *end = "\n";

	for (at = text; *at && !str_starts_with(at, key); at += *at == '\n')
		at += strcspn(at, "\n");
	at += *at ? strlen(key) : 0;
	if (*at == '"' || *at == '\'')
		end = *at++ == '"' ? "\"\n" : "'\n";
	name = xstrndup(at, strcspn(at, end));
	return text_printable(name);
}

/* As libvirt counts: 9001000 is 9.1.0. null: gpupassd does not tell. */
static json_t *libvirt_version(const json_t *machine, const char *key)
{
	long long version = json_number_of(machine, key);

	if (version <= 0)
		return json_null();
	return json_sprintf("%lld.%lld.%lld", version / 1000000, version / 1000 % 1000,
			    version % 1000);
}

static void make_versions(Bundle *b, const World *w, const struct utsname *machine)
{
	const json_t *host = json_object_get(b->documents[FILE_FACTS], "host");
	const json_t *facts = json_object_get(b->documents[FILE_FACTS], "machine");
	_cleanup_free_ char *system = os_release("PRETTY_NAME=");
	/* NULL: no driver is loaded, or nobody could look. */
	json_t *nvidia = json_incref(json_object_get(host, "nvidia_version"));

	b->documents[FILE_VERSIONS] = json_build(
		"{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "gpupass", GPUPASS_VERSION, "gpupassd",
		w->manager.version, "kernel", machine->release, "architecture", machine->machine,
		"distribution", system, "libvirt", libvirt_version(facts, "libvirt_version"),
		"qemu", libvirt_version(facts, "hypervisor_version"), "nvidia",
		nvidia ? nvidia : json_null());
}

static int get_documents(Client *c, Bundle *b, const struct utsname *machine)
{
	static const DocumentKind topology = DOCUMENT_KIND("the topology", TOPOLOGY, .raw = true);
	static const DocumentKind evidence = DOCUMENT_KIND("the evidence", EVIDENCE, .raw = true);
	_cleanup_(world_clear) World w = { 0 };
	int r = get_capture(c, b);

	if (r >= 0)
		list_devices(b);
	if (r >= 0)
		r = document_get(c, "GetEvidence", BUS_TIMEOUT_READ_USEC, &evidence,
				 &b->documents[FILE_EVIDENCE]);
	if (r >= 0)
		r = document_get(c, "GetTopology", BUS_TIMEOUT_READ_USEC, &topology,
				 &b->documents[FILE_TOPOLOGY]);
	if (r >= 0)
		r = world_load(c, &w);
	if (r < 0)
		return r;
	b->documents[FILE_LIST] = list_json(&w);
	make_versions(b, &w, machine);
	return 0;
}

static void read_journal(Bundle *b)
{
	static const char *const names[] = {
		[JOURNAL_GPUPASS] = DIRECTORY "journal-gpupass.txt",
		[JOURNAL_KERNEL] = DIRECTORY "journal-kernel.txt",
	};

	for (size_t i = 0; i < ELEMENTS(b->excerpts); i++) {
		Excerpt *excerpt = &b->excerpts[i];
		int r = journal_excerpt((JournalPart)i, b->devices, &excerpt->text);

		excerpt->name = names[i];
		excerpt->trouble = r < 0		    ? strerror(-r)
				   : *excerpt->text == '\0' ? "the caller can read no such line"
							    : NULL;
		if (r < 0)
			excerpt->text = xstrdup("");
	}
}

static int find_secrets(Bundle *b, const struct utsname *machine)
{
	_cleanup_free_ char *users = read_small("/etc/passwd"), *system = os_release("ID=");
	int r = 0;

	b->stand_ins = stand_ins_new();
	for (size_t i = 0; r >= 0 && i < ELEMENTS(b->documents); i++)
		r = secrets_of_json(b->stand_ins, b->documents[i]);
	for (size_t i = 0; i < ELEMENTS(b->excerpts); i++)
		secrets_of_text(b->stand_ins, b->excerpts[i].text);
	secrets_of_passwd(b->stand_ins, users);
	secrets_of_system(b->stand_ins, system);
	secrets_of_host(b->stand_ins, machine->nodename);
	stand_ins_settle(b->stand_ins);
	return r;
}

/* ---- the archive ---- */

static void print_troubles(FILE *f, const Bundle *b)
{
	for (size_t i = 0; i < ELEMENTS(b->excerpts); i++)
		if (b->excerpts[i].trouble)
			fprintf(f, "%s is empty: %s\n", b->excerpts[i].name + strlen(DIRECTORY),
				b->excerpts[i].trouble);
}

static int add_readme(FILE *f, const Bundle *b)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *t = xmemstream(&text, &size);

	fputs(readme_about, t);
	for (size_t i = 0; i < SECRET_KIND_MAX_; i++)
		fprintf(t, "replaced, %s: %zu\n", secret_kind_to_string((SecretKind)i),
			stand_ins_count(b->stand_ins, (SecretKind)i));
	print_troubles(t, b);
	xmemstream_end(&t);
	return archive_add(f, DIRECTORY "README", text, size);
}

static int add_document(FILE *f, const Bundle *b, BundleFile file)
{
	_cleanup_(json_decrefp) json_t *clean =
		secrets_replace_json(b->stand_ins, b->documents[file]);
	_cleanup_free_ char *text = json_dumps(clean, JSON_INDENT(2) | JSON_SORT_KEYS |
							      JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
	_cleanup_free_ char *line = strf("%s\n", text);

	return archive_add(f, file_names[file], line, strlen(line));
}

static int add_excerpt(FILE *f, const Bundle *b, const Excerpt *excerpt)
{
	_cleanup_free_ char *clean = stand_ins_replace(b->stand_ins, excerpt->text);

	return archive_add(f, excerpt->name, clean, strlen(clean));
}

/*
 * Sorted by name: README, *.json up to the facts, the journal, the rest. Of NFS a close may be what
 * fails. Takes f.
 */
static int write_archive(FILE *f, const Bundle *b)
{
	int r = add_readme(f, b);

	for (size_t i = 0; r >= 0 && i < FILES_; i++) {
		for (size_t k = 0; r >= 0 && i == FILE_LIST && k < ELEMENTS(b->excerpts); k++)
			r = add_excerpt(f, b, &b->excerpts[k]);
		if (r >= 0)
			r = add_document(f, b, (BundleFile)i);
	}
	if (r >= 0)
		r = archive_end(f);
	return fclose(f) != 0 && r >= 0 ? -errno : r;
}

/* ---- the file ---- */

static int check_request(Client *c, const char *path, size_t n_arguments)
{
	if (n_arguments > 0 || (c->options->given & (OPTION_SYMPTOM | OPTION_VERBOSE)) ||
	    c->options->json != JSON_OFF)
		return client_usage(c, "--bundle is of the host as a whole, and prints no report\n"
				       "Remedy: write it as: gpupass doctor --bundle=FILE");
	if (c->options->host)
		return client_usage(c,
				    "--bundle also reads the journal and versions of this "
				    "machine, not of %s\n"
				    "Remedy: ssh %s gpupass doctor --bundle=- >FILE",
				    c->options->host, c->options->host);
	if (strcmp(path, "-") == 0 && c->out.tty)
		return client_usage(c, "a bundle is an archive, and no text for a terminal\n"
				       "Remedy: name a file, or redirect the output");
	return 0;
}

/* O_EXCL: never what is there already, nor through a link, whoever may write to the directory. */
static int open_file(Client *c, const char *path, FILE **ret)
{
	int fd = strcmp(path, "-") == 0
			 ? fcntl(fileno(c->out.stream), F_DUPFD_CLOEXEC, 3)
			 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error = errno;

	if (fd < 0)
		return client_error(c, GPUPASS_ERROR_INVALID_ARGUMENT,
				    "%s cannot be created: %s\nState:  nothing was written\n"
				    "Remedy: name a file that does not exist, in a directory that "
				    "you may write to",
				    path, strerror(error));
	*ret = fdopen(fd, "w");
	if (!*ret)
		no_memory();
	return 0;
}

static int fail_write(Client *c, const char *path, int error)
{
	return client_error(c, GPUPASS_ERROR_FILE_FAILED,
			    "%s cannot be written: %s\nState:  what was written of it %s\n"
			    "Remedy: make room there, or name another file",
			    path, strerror(-error),
			    strcmp(path, "-") == 0 ? "is not whole" : "was removed");
}

static void tell(Client *c, const char *path, const Bundle *b)
{
	size_t n = 0;

	if (c->options->quiet)
		return;
	for (size_t i = 0; i < SECRET_KIND_MAX_; i++)
		n += stand_ins_count(b->stand_ins, (SecretKind)i);
	fprintf(c->err.stream,
		"%s: written. %zu names, UUIDs, addresses and serial numbers have stand-ins; look "
		"through it before you send it.\n",
		path, n);
	print_troubles(c->err.stream, b);
}

static int write_bundle(Client *c, const char *path, size_t n_arguments)
{
	_cleanup_(bundle_clear) Bundle b = { 0 };
	_cleanup_fclose_ FILE *f = NULL;
	struct utsname machine;
	int r = check_request(c, path, n_arguments);

	if (r < 0)
		return r;
	if (uname(&machine) < 0)
		return -errno;
	r = open_file(c, path, &f);
	if (r < 0)
		return r;
	r = get_documents(c, &b, &machine);
	if (r >= 0)
		read_journal(&b);
	if (r >= 0)
		r = find_secrets(&b, &machine);
	if (r >= 0) {
		r = write_archive(TAKE_PTR(f), &b);
		r = r < 0 ? fail_write(c, path, r) : 0;
	}
	if (r < 0) {
		if (strcmp(path, "-") != 0)
			unlink(path);
		return r;
	}
	tell(c, strcmp(path, "-") == 0 ? "the bundle" : path, &b);
	return GPUPASS_EXIT_DONE;
}

/* ---- the verb ---- */

int verb_doctor(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_(json_decrefp) json_t *report = NULL;
	int r;

	if (c->options->given & OPTION_BUNDLE)
		return write_bundle(c, c->options->bundle, n_arguments);
	if (c->options->symptom && n_arguments == 0)
		return client_usage(c,
				    "--symptom needs a domain\nRemedy: name it: gpupass doctor "
				    "DOMAIN --symptom=%s",
				    c->options->symptom);
	r = request_report(c, n_arguments > 0 ? arguments[0] : "", &report);
	if (r >= 0)
		r = json_show(c, report, print_report);
	if (r < 0)
		return r;
	return count(report, "fail") > 0 ? GPUPASS_EXIT_FAILED : GPUPASS_EXIT_DONE;
}
