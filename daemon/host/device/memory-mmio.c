/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/memory-mmio.h"

#include <endian.h>
#include <poll.h>
#include <sys/mman.h>

#include "host/device/bar0.h"
#include "host/scan/function.h"
#include "host/scan/sysfs.h"
#include "util/xalloc.h"

#define PAUSE_MSEC 10
#define PMC_BOOT_0 0U
#define BAR0_BYTES (16 << 20) /* of every chip that memory_registers() knows */

/* Turing clears several times, and the last time begins before it has booted. */
typedef struct Poll {
	int fd; /* of BAR 0 */
	MemoryRegisters registers;
	bool open, booted, readable;
} Poll;

/* Maps for one read, so that nothing stays mapped of a device that goes to sleep or away. */
static int read_register(int fd, uint32_t address, uint32_t *ret)
{
	const volatile uint32_t *page = NULL;
	int r = bar0_map(fd, BAR0_PAGE, address & ~(BAR0_PAGE - 1), &page);

	if (r < 0)
		return r;
	*ret = le32toh(page[address % BAR0_PAGE / sizeof(uint32_t)]);
	munmap((void *)page, BAR0_PAGE);
	return 0;
}

static void not_known(MemoryReport *report, const char *why)
{
	report->state = MEMORY_NOT_KNOWN;
	report->why = xstrdup(why);
}

static int check_driver(int sysfs_fd, const Bdf *bdf, const char **ret_why)
{
	_cleanup_free_ char *driver = NULL;
	int r = sysfs_read_driver(sysfs_fd, bdf, &driver);

	if (r < 0 || sysfs_on_vfio(sysfs_fd, bdf, driver))
		return r;
	*ret_why = "it is not on vfio-pci";
	return -ENODATA;
}

static int begin(int sysfs_fd, const Bdf *bdf, Poll *p, const char **ret_why)
{
	PciFunction ids = { 0 };
	uint32_t boot_0 = 0;
	int r = check_driver(sysfs_fd, bdf, ret_why);

	if (r >= 0)
		r = scan_ids(sysfs_fd, bdf, &ids);
	if (r >= 0)
		r = bar0_open(sysfs_fd, bdf, BAR0_BYTES, &p->fd, ret_why);
	if (r < 0)
		return r;
	p->open = true;
	r = read_register(p->fd, PMC_BOOT_0, &boot_0);
	if (r < 0 || memory_registers(ids.device, boot_0, &p->registers))
		return r;
	*ret_why = memory_unreadable(boot_0) ? "its registers cannot be read"
					     : "no register of this chip is known to tell";
	return -ENODATA;
}

/* Whether the board has said that its memory is cleared. */
static bool is_cleared(Poll *p)
{
	uint32_t value = 0;

	if (!p->booted && read_register(p->fd, p->registers.boot, &value) >= 0)
		p->booted = value == p->registers.booted;
	if (!p->booted || read_register(p->fd, p->registers.clear, &value) < 0)
		return false;
	p->readable = !memory_unreadable(value);
	return value == MEMORY_CLEAR_DONE;
}

static void end(const Poll *p, MemoryReport *report)
{
	if (!p->booted)
		not_known(report, "its firmware did not say that it has booted");
	else if (!p->readable)
		not_known(report, "its register cannot be read");
	else
		report->state = MEMORY_NOT_CLEARED;
}

static void begin_all(int sysfs_fd, const Bdf *boards, size_t n, Poll *polls, MemoryReport *reports)
{
	for (size_t i = 0; i < n; i++) {
		const char *why = NULL;
		int r = begin(sysfs_fd, &boards[i], &polls[i], &why);

		if (r >= 0)
			continue;
		if (polls[i].open)
			close_fd(polls[i].fd);
		polls[i].open = false;
		not_known(&reports[i], why ? why : bar0_error(r));
	}
}

/* true: some board has not yet said it. */
static bool look_at_all(Poll *polls, size_t n, MemoryReport *reports)
{
	bool waits = false;

	for (size_t i = 0; i < n; i++) {
		if (!polls[i].open)
			continue;
		if (is_cleared(&polls[i])) {
			reports[i].state = MEMORY_CLEARED;
			close_fd(polls[i].fd);
			polls[i].open = false;
		}
		waits |= polls[i].open;
	}
	return waits;
}

void memory_mmio_poll(int sysfs_fd, const Bdf *boards, size_t n, unsigned timeout_msec,
		      MemoryReport *ret)
{
	_cleanup_free_ Poll *polls = xcalloc(n + 1, sizeof(Poll));

	for (size_t i = 0; i < n; i++)
		ret[i] = (MemoryReport){ .bdf = boards[i] };
	begin_all(sysfs_fd, boards, n, polls, ret);
	for (unsigned waited = 0; look_at_all(polls, n, ret); waited += PAUSE_MSEC) {
		if (waited >= timeout_msec)
			break;
		poll(NULL, 0, PAUSE_MSEC);
	}
	for (size_t i = 0; i < n; i++) {
		if (!polls[i].open)
			continue;
		close_fd(polls[i].fd);
		end(&polls[i], &ret[i]);
	}
}
