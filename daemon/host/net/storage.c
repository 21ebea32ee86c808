/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/net/storage.h"

#include <arpa/inet.h>

#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define NFS_SERVERS "net/nfsfs/servers"
#define NFS_SERVERS_MAX (1024U * 1024)
#define CLASS_NVME "class/nvme"
#define ADDRESS_OF "traddr="

typedef struct Teller {
	const Roots *roots;
	const Netlink *netlink;
	const NetLinks *links;
	NicUse *use;
} Teller;

static int tell_way(const Teller *teller, int family, const void *address, const char *peer,
		    const char *what)
{
	const NetLink *link;
	int r = net_links_way(teller->netlink, teller->links, family, address, &link);

	if (r >= 0 && link)
		nic_use_add(teller->use, (NicUser){ .kind = NIC_STORAGE,
						    .device = net_link_text(teller->links, link),
						    .what = xstrdup(what),
						    .peer = xstrdup(peer) });
	return r;
}

/* RPC_DISPLAY_HEX_ADDR of net/sunrpc: 8 digits, or 32 of an IPv6 address. */
static int family_of_hex(const char *hex, unsigned char address[sizeof(struct in6_addr)])
{
	size_t n = strlen(hex) / 2;

	if (n != sizeof(struct in_addr) && n != sizeof(struct in6_addr))
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &address[i]) != 1)
			return -EBADMSG;
	return n == sizeof(struct in_addr) ? AF_INET : AF_INET6;
}

/* Of all mount name spaces of this network name space: "v4 0a000009  801   1 filer". */
static int tell_nfs(const Teller *teller)
{
	_cleanup_free_ char *text = NULL;
	char *save = NULL;
	int r = file_read_at(teller->roots->proc_fd, NFS_SERVERS, NFS_SERVERS_MAX, &text, NULL);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned char address[sizeof(struct in6_addr)];
		char hex[33], host[256] = "";
		int family;

		if (sscanf(line, "v%*u %32s %*s %*s %255s", hex, host) < 1)
			continue; /* the heading */
		family = family_of_hex(hex, address);
		r = family < 0 ? family
			       : tell_way(teller, family, address, *host ? host : hex, "NFS");
		if (r < 0)
			return r;
	}
	return 0;
}

/* Its attribute address: "traddr=10.0.0.9,trsvcid=4420"; of a PCI controller it has none. */
static int tell_nvme(const char *name, void *userdata)
{
	const Teller *teller = userdata;
	_cleanup_free_ char *path = strf(CLASS_NVME "/%s/address", name), *text = NULL;
	unsigned char address[sizeof(struct in6_addr)];
	_cleanup_free_ char *remote = NULL, *what = NULL;
	const char *at;
	int family, r = sysfs_line_if_any(teller->roots->sysfs_fd, path, &text);

	if (r < 0 || !text || !(at = strstr(text, ADDRESS_OF)))
		return r == -ENODEV ? 0 : r;
	at += strlen(ADDRESS_OF);
	remote = xstrndup(at, strcspn(at, ",%"));
	what = strf("NVMe over fabrics, %s", name);
	family = strchr(remote, ':') ? AF_INET6 : AF_INET;
	/* Fibre Channel has names. */
	return inet_pton(family, remote, address) == 1
		       ? tell_way(teller, family, address, remote, what)
		       : 0;
}

int storage_tell(const Roots *roots, const Netlink *netlink, const NetLinks *links, NicUse *use)
{
	Teller teller = { roots, netlink, links, use };
	int r = tell_nfs(&teller);

	if (r >= 0)
		r = sysfs_each_name(roots->sysfs_fd, CLASS_NVME, false, tell_nvme, &teller);
	return r == -ENOENT ? 0 : r;
}
