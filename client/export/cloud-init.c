/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "base/text.h"
#include "export/export.h"
#include "util/xalloc.h"

/* client/export/gpupass-guest, as one string */
static const char script[] =
#include "export/gpupass-guest.h"
	;

static const char unit[] = "[Unit]\n"
			   "Description=Report whether the links of the NVIDIA GPUs work\n"
			   "After=nvidia-persistenced.service\n"
			   "\n"
			   "[Service]\n"
			   "Type=oneshot\n"
			   "ExecStart=/usr/local/sbin/gpupass-guest check\n"
			   "TimeoutStartSec=15min\n"
			   "\n"
			   "[Install]\n"
			   "WantedBy=multi-user.target\n";

/* With one member there are no distances. */
static bool has_tree(const ExportGuest *guest)
{
	return guest->n_members > 1 && !guest->treeless;
}

/* "0000:05:00.0=00/02.3/00.0=0x10de:0x2230": the script finds the address that each has by then. */
static char *places_text(const ExportGuest *guest)
{
	_cleanup_strv_ char **places = NULL;

	EACH (const ExportMember, it, guest->members, has_tree(guest) ? guest->n_members : 0)
		strv_appendf(&places, "%s=%s=0x%04llx:0x%04llx", BDF_TEXT(&it->guest), it->path,
			     it->vendor_id, it->device_id);
	return strv_join(places, " ");
}

static char *config_text(const ExportGuest *guest)
{
	_cleanup_free_ char *links = strv_join(guest->links, " ");
	_cleanup_free_ char *models = strv_join(guest->models, ", ");
	_cleanup_free_ char *plain = export_plain_text(models);
	_cleanup_free_ char *domain = export_plain_text(guest->domain_uuid);
	_cleanup_free_ char *places = places_text(guest);

	return strf("# What the host gave domain %s: %s\n"
		    "DISTRIBUTION=%s\n"
		    "GPUS=%u\n"
		    "LINKS='%s'\n"
		    "PLACES='%s'\n",
		    domain, plain, guest->distribution, guest->n_gpus, links, places);
}

/* A file as a YAML block, each line indented. An empty line stays empty. */
static void print_file(FILE *to, const char *path, const char *mode, const char *text)
{
	fprintf(to,
		"- path: %s\n"
		"  owner: root:root\n"
		"  permissions: '%s'\n"
		"  content: |\n",
		path, mode);
	while (*text) {
		int length = (int)strcspn(text, "\n");

		fprintf(to, "%s%.*s\n", length > 0 ? "    " : "", length, text);
		text += length + (text[length] == '\n');
	}
}

static void print_tree(FILE *to, const Export *e)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *memory = xmemstream(&text, &size);

	export_nccl(memory, e);
	xmemstream_end(&memory);
	print_file(to, "/usr/local/share/gpupass-guest/nccl-topo.xml", "0644", text);
}

/*
 * User-data: a script that installs the driver and checks the links, what the script should find,
 * and a unit that checks at each boot.
 */
void export_cloud_init(FILE *to, const Export *e)
{
	_cleanup_free_ char *config = config_text(&e->guest);

	print_file(to, "/usr/local/sbin/gpupass-guest", "0755", script);
	print_file(to, "/etc/gpupass-guest.conf", "0644", config);
	print_file(to, "/etc/systemd/system/gpupass-guest.service", "0644", unit);
	if (has_tree(&e->guest))
		print_tree(to, e);
	fprintf(to, "runcmd:\n"
		    "- [systemctl, daemon-reload]\n"
		    "- [systemctl, enable, gpupass-guest.service]\n"
		    "- [/usr/local/sbin/gpupass-guest, install]\n"
		    "- [/usr/local/sbin/gpupass-guest, check]\n");
}
