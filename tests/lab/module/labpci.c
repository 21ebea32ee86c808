// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * labpci: emulated PCI functions under another name, and faults on demand.
 *
 * The lab's init describes each function in a line written to
 * /sys/kernel/gpupass-lab/define, then writes 1 to .../apply. From there on the
 * config space of those functions is read through this module: vendor, device,
 * class, revision, subsystem, serial number and the PCI Express registers are
 * ours; BARs, interrupts and the requester id stay the emulated device's.
 * The functions are removed and found again once, so that the kernel, and so
 * vfio-pci, libpci, QEMU and a guest, all know them by the new identity only.
 *
 * /sys/kernel/gpupass-lab/<bdf>/ holds the knobs: see tests/lab/README.md.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "labpci.h"

#define LAB_EXPRESS 0x40 /* free in every base device that needs it */

static LIST_HEAD(functions);
static struct kobject *lab_kobj;
static struct pci_ops *inner, outer;

static struct lab_function *find(u8 bus, u8 devfn)
{
	struct lab_function *f;

	list_for_each_entry(f, &functions, list) if (f->bus == bus && f->devfn == devfn) return f;
	return NULL;
}

struct lab_function *lab_function_of(struct pci_dev *pdev)
{
	return pci_domain_nr(pdev->bus) ? NULL : find(pdev->bus->number, pdev->devfn);
}
EXPORT_SYMBOL_GPL(lab_function_of);

/* Sleeps as NVIDIA's driver does: interruptible until a signal is pending. */
void lab_nap(unsigned int ms)
{
	if (signal_pending(current))
		msleep(ms);
	else
		msleep_interruptible(ms);
}
EXPORT_SYMBOL_GPL(lab_nap);

/* Config space. Called under the kernel's pci_lock: nothing here may sleep. */

static bool is_gone(struct lab_function *f)
{
	unsigned long until = READ_ONCE(f->gone_until);

	return READ_ONCE(f->gone) || (until && time_before(jiffies, until));
}

static int overlay_read(struct pci_bus *b, unsigned int devfn, int where, int size, u32 *val)
{
	struct lab_function *f = find(b->number, devfn);
	int r = inner->read(b, devfn, where, size, val);

	if (!f || (r && !f->mask[where]))
		return r;
	if (is_gone(f)) {
		*val = ~0u;
		return r;
	}
	for (int k = 0; k < size && where + k < PCI_CFG_SPACE_EXP_SIZE; k++) {
		u32 m = f->mask[where + k], v = f->value[where + k];

		*val = (*val & ~(m << 8 * k)) | ((v & m) << 8 * k);
	}
	return 0;
}

/* A function level reset: the device stays silent for reset_ms, for ever if that is negative. */
static void start_reset(struct lab_function *f)
{
	int ms = READ_ONCE(f->reset_ms);

	if (ms < 0)
		WRITE_ONCE(f->gone, 1);
	else if (ms)
		WRITE_ONCE(f->gone_until, jiffies + msecs_to_jiffies(ms));
}

static int overlay_write(struct pci_bus *b, unsigned int devfn, int where, int size, u32 val)
{
	struct lab_function *f = find(b->number, devfn);
	bool ours = f;

	for (int k = 0; f && k < size && where + k < PCI_CFG_SPACE_EXP_SIZE; k++) {
		u8 *v = &f->value[where + k], w = f->writable[where + k], n = val >> 8 * k;

		if (is_gone(f))
			return 0;
		ours = ours && f->mask[where + k] == 0xff;
		if (f->express && where + k == f->express + PCI_EXP_DEVCTL + 1 && (n & 0x80))
			start_reset(f);
		*v = (*v & ~w) | (n & w);
	}
	return ours ? 0 : inner->write(b, devfn, where, size, val);
}

/* Building the overlay. */

static void put(struct lab_function *f, int where, int size, u32 val)
{
	for (int k = 0; k < size; k++) {
		f->value[where + k] = val >> 8 * k;
		f->mask[where + k] = 0xff;
	}
}

static void allow(struct lab_function *f, int where, u16 bits)
{
	f->writable[where] = bits;
	f->writable[where + 1] = bits >> 8;
}

static u32 peek(struct pci_dev *p, int where, int size)
{
	u32 val = ~0u;

	overlay_read(p->bus, p->devfn, where, size, &val);
	return size == 1 ? (u8)val : size == 2 ? (u16)val : val;
}

static void overlay_ids(struct lab_function *f)
{
	unsigned int a, b;

	if (sscanf(f->id, "%4x:%4x", &a, &b) == 2)
		put(f, PCI_VENDOR_ID, 4, a | b << 16);
	if (sscanf(f->subsystem, "%4x:%4x", &a, &b) == 2)
		put(f, PCI_SUBSYSTEM_VENDOR_ID, 4, a | b << 16);
	if (!kstrtouint(f->class, 16, &a))
		put(f, PCI_CLASS_PROG, 3, a);
	if (!kstrtouint(f->revision, 16, &a))
		put(f, PCI_REVISION_ID, 1, a);
}

/* Takes a capability out of the list of the first 256 bytes. */
static void hide_capability(struct lab_function *f, struct pci_dev *p, u8 id)
{
	int at = PCI_CAPABILITY_LIST, pos, left = 48;

	if (!(peek(p, PCI_STATUS, 2) & PCI_STATUS_CAP_LIST))
		return;
	for (pos = peek(p, at, 1); pos >= 0x40 && left--; pos = peek(p, at, 1)) {
		if (peek(p, pos, 1) == id)
			put(f, at, 1, peek(p, pos + PCI_CAP_LIST_NEXT, 1));
		else
			at = pos + PCI_CAP_LIST_NEXT;
	}
}

/* "4x16": generation and width. The link registers read as such. */
static void overlay_link(struct lab_function *f, int pos)
{
	unsigned int gen, width;

	if (sscanf(f->link, "%ux%u", &gen, &width) != 2 || !gen || gen > 6)
		return;
	put(f, pos + PCI_EXP_LNKCAP, 2, gen | width << 4);
	put(f, pos + PCI_EXP_LNKSTA, 2, gen | width << 4);
	put(f, pos + PCI_EXP_LNKCAP2, 2, ((1u << gen) - 1) << 1);
}

/* An endpoint's capability, version 2, of our own: the base devices have version 1 or none. */
static void overlay_express(struct lab_function *f, struct pci_dev *p)
{
	int pos = pci_find_capability(p, PCI_CAP_ID_EXP), next;

	if (p->bus->self && pci_pcie_type(p->bus->self) == PCI_EXP_TYPE_PCI_BRIDGE)
		return;
	if (pos && (peek(p, pos + PCI_EXP_FLAGS, 2) & PCI_EXP_FLAGS_VERS) >= 2) {
		overlay_link(f, pos);
		return;
	}
	hide_capability(f, p, PCI_CAP_ID_EXP);
	next = (peek(p, PCI_STATUS, 2) & PCI_STATUS_CAP_LIST) ? peek(p, PCI_CAPABILITY_LIST, 1) : 0;
	f->express = pos = LAB_EXPRESS;
	for (int k = 0; k < 0x3c; k += 4)
		put(f, pos + k, 4, 0);
	put(f, pos, 4, PCI_CAP_ID_EXP | next << 8 | 2 << 16);
	put(f, pos + PCI_EXP_DEVCAP, 4,
	    PCI_EXP_DEVCAP_RBER | 1 | (f->flr ? PCI_EXP_DEVCAP_FLR : 0));
	allow(f, pos + PCI_EXP_DEVCTL, 0x7fff);
	allow(f, pos + PCI_EXP_LNKCTL, 0xffff);
	allow(f, pos + PCI_EXP_DEVCTL2, 0xffff);
	allow(f, pos + PCI_EXP_LNKCTL2, 0xffff);
	overlay_link(f, pos);
	put(f, PCI_CAPABILITY_LIST, 1, pos);
	f->value[PCI_STATUS] |= PCI_STATUS_CAP_LIST;
	f->mask[PCI_STATUS] |= PCI_STATUS_CAP_LIST;
}

/* Finds an extended capability and the one before it. */
static int find_extended(struct pci_dev *p, u16 id, int *before)
{
	int pos = PCI_CFG_SPACE_SIZE, left = 64;

	for (*before = 0; pos >= PCI_CFG_SPACE_SIZE && left--;) {
		u32 header = peek(p, pos, 4);

		if (!header || header == ~0u)
			return 0;
		if (PCI_EXT_CAP_ID(header) == id)
			return pos;
		*before = pos;
		pos = PCI_EXT_CAP_NEXT(header);
	}
	return 0;
}

static int add_extended(struct lab_function *f, struct pci_dev *p, u16 id, int pos)
{
	int last;

	find_extended(p, 0xffff, &last);
	if (!last)
		pos = PCI_CFG_SPACE_SIZE;
	else
		put(f, last, 4, (peek(p, last, 4) & 0xfffff) | (u32)pos << 20);
	put(f, pos, 4, id | 1 << 16);
	return pos;
}

/* Serial number: "none" hides the emulated device's own. */
static void overlay_dsn(struct lab_function *f, struct pci_dev *p)
{
	int before, pos = find_extended(p, PCI_EXT_CAP_ID_DSN, &before);
	u64 dsn;

	if (!kstrtou64(f->dsn, 16, &dsn)) {
		if (!pos)
			pos = add_extended(f, p, PCI_EXT_CAP_ID_DSN, 0xe00);
		put(f, pos + 4, 4, dsn);
		put(f, pos + 8, 4, dsn >> 32);
	} else if (pos && before) {
		put(f, before, 4, (peek(p, before, 4) & 0xfffff) | (peek(p, pos, 4) & 0xfff00000));
	}
}

/* Access Control Services: on a switch's downstream port it keeps IOMMU groups apart. */
static void overlay_acs(struct lab_function *f, struct pci_dev *p)
{
	int before, pos;

	if (!f->acs || find_extended(p, PCI_EXT_CAP_ID_ACS, &before))
		return;
	pos = add_extended(f, p, PCI_EXT_CAP_ID_ACS, 0xe40);
	put(f, pos + PCI_ACS_CAP, 2,
	    PCI_ACS_SV | PCI_ACS_TB | PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_UF);
	put(f, pos + PCI_ACS_CTRL, 2, 0);
	allow(f, pos + PCI_ACS_CTRL, 0xffff);
}

static void overlay_sriov(struct lab_function *f, struct pci_dev *p)
{
	int before, pos = find_extended(p, PCI_EXT_CAP_ID_SRIOV, &before);
	unsigned int id;

	if (pos && !kstrtouint(f->vf, 16, &id))
		put(f, pos + PCI_SRIOV_VF_DID, 2, id);
}

static void overlay(struct lab_function *f, struct pci_dev *p)
{
	if (!pci_is_bridge(p)) {
		overlay_ids(f);
		overlay_express(f, p);
		overlay_dsn(f, p);
		overlay_sriov(f, p);
	}
	overlay_acs(f, p);
}

static int hook_bus(struct pci_bus *b)
{
	if (b->ops == &outer)
		return 0;
	if (inner && b->ops != inner)
		return -EBUSY;
	inner = b->ops;
	outer = *inner;
	outer.read = overlay_read;
	outer.write = overlay_write;
	pci_bus_set_ops(b, &outer);
	return 0;
}

static int overlay_all(void)
{
	struct lab_function *f;
	struct pci_dev *p;
	int r = 0;

	list_for_each_entry(f, &functions, list)
	{
		if (f->late) {
			overlay_ids(f);
			continue;
		}
		p = pci_get_domain_bus_and_slot(0, f->bus, f->devfn);
		if (!p || hook_bus(p->bus)) {
			pr_err("labpci: no function at %s\n", f->bdf);
			r = -ENODEV;
		} else {
			overlay(f, p);
		}
		pci_dev_put(p);
	}
	return r;
}

static void find_again(void)
{
	struct lab_function *f;
	struct pci_bus *b = NULL;

	list_for_each_entry(f, &functions, list)
	{
		struct pci_dev *p = pci_get_domain_bus_and_slot(0, f->bus, f->devfn);

		if (p)
			pci_stop_and_remove_bus_device(p);
		pci_dev_put(p);
	}
	while ((b = pci_find_next_bus(b)))
		pci_rescan_bus(b);
}

/* Failing and slow binds. */

bool lab_bind_fails(struct pci_dev *pdev, const char *driver)
{
	struct lab_function *f = lab_function_of(pdev);

	if (!f || strcmp(f->fail_bind, driver))
		return false;
	if (f->fail_times > 0 && --f->fail_times == 0)
		f->fail_bind[0] = 0;
	return true;
}
EXPORT_SYMBOL_GPL(lab_bind_fails);

static bool is_stand_in(struct device *dev)
{
	return dev->driver && (!strcmp(dev->driver->name, "nvidia") ||
			       !strcmp(dev->driver->name, "snd_hda_intel"));
}

/* vfio-pci refuses anything that is not a plain function, so for one probe it sees a bridge. */
static void before_bind(struct lab_function *f, struct pci_dev *p)
{
	if (f->bind_delay_ms)
		msleep(f->bind_delay_ms);
	if (is_stand_in(&p->dev) || !lab_bind_fails(p, p->dev.driver->name))
		return;
	f->hdr_type = p->hdr_type;
	f->hdr_hidden = true;
	p->hdr_type = PCI_HEADER_TYPE_BRIDGE;
}

static void after_bind(struct lab_function *f, struct pci_dev *p)
{
	if (f->hdr_hidden)
		p->hdr_type = f->hdr_type;
	f->hdr_hidden = false;
}

/* The nvidia stand-in waits in its own remove(), after it has delisted the GPU. */
static void before_unbind(struct lab_function *f, struct pci_dev *p)
{
	if (!strcmp(p->dev.driver->name, "nvidia"))
		return;
	while (READ_ONCE(f->hold) > 0)
		lab_nap(500);
	if (f->unbind_delay_ms)
		msleep(f->unbind_delay_ms);
}

static int on_bus_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct pci_dev *p = to_pci_dev(data);
	struct lab_function *f = lab_function_of(p);

	if (!f)
		return NOTIFY_DONE;
	if (event == BUS_NOTIFY_BIND_DRIVER)
		before_bind(f, p);
	else if (event == BUS_NOTIFY_BOUND_DRIVER || event == BUS_NOTIFY_DRIVER_NOT_BOUND)
		after_bind(f, p);
	else if (event == BUS_NOTIFY_UNBIND_DRIVER)
		before_unbind(f, p);
	return NOTIFY_DONE;
}

static struct notifier_block bus_events = { .notifier_call = on_bus_event };

/* The knobs. */

struct lab_knob {
	struct kobj_attribute attr;
	size_t offset;
};

static int *knob_of(struct kobject *kobj, struct kobj_attribute *attr)
{
	struct lab_function *f = container_of(kobj, struct lab_function, kobj);

	return (void *)f + container_of(attr, struct lab_knob, attr)->offset;
}

static ssize_t knob_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(*knob_of(kobj, attr)));
}

static ssize_t knob_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			  size_t count)
{
	int val, r = kstrtoint(buf, 0, &val);

	if (r)
		return r;
	WRITE_ONCE(*knob_of(kobj, attr), val);
	return count;
}

#define KNOB(name, mode)                                                                           \
	static struct lab_knob knob_##name = {                                                     \
		.attr = __ATTR(name, mode, knob_show, knob_store),                                 \
		.offset = offsetof(struct lab_function, name),                                     \
	}

KNOB(bind_delay_ms, 0644);
KNOB(unbind_delay_ms, 0644);
KNOB(hold, 0644);
KNOB(gone, 0644);
KNOB(reset_ms, 0644);
KNOB(lost_closes, 0644);
KNOB(persistence, 0644);
KNOB(opens, 0644);

static ssize_t fail_bind_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct lab_function *f = container_of(kobj, struct lab_function, kobj);

	return sysfs_emit(buf, "%s\n", f->fail_bind);
}

/* "DRIVER [TIMES]": the next TIMES binds to DRIVER fail, all of them without TIMES; empty: none. */
static ssize_t fail_bind_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			       size_t count)
{
	struct lab_function *f = container_of(kobj, struct lab_function, kobj);
	char driver[sizeof(f->fail_bind)] = "";
	int times = 0;

	if (sscanf(buf, "%31s %d", driver, &times) < 1)
		driver[0] = 0;
	f->fail_times = times;
	strscpy(f->fail_bind, driver, sizeof(f->fail_bind));
	return count;
}

static struct kobj_attribute knob_fail_bind =
	__ATTR(fail_bind, 0644, fail_bind_show, fail_bind_store);

static struct attribute *function_attrs[] = {
	&knob_fail_bind.attr,
	&knob_bind_delay_ms.attr.attr,
	&knob_unbind_delay_ms.attr.attr,
	&knob_hold.attr.attr,
	&knob_gone.attr.attr,
	&knob_reset_ms.attr.attr,
	&knob_lost_closes.attr.attr,
	&knob_opens.attr.attr,
	&knob_persistence.attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(function);

static void function_release(struct kobject *kobj)
{
	kvfree(container_of(kobj, struct lab_function, kobj));
}

static const struct kobj_type function_type = {
	.sysfs_ops = &kobj_sysfs_ops,
	.release = function_release,
	.default_groups = function_groups,
};

/* Describing functions. */

#define TEXT(name)                                                                                 \
	{                                                                                          \
#name, offsetof(struct lab_function, name),                                        \
			sizeof_field(struct lab_function, name)                                    \
	}

static const struct {
	const char *key;
	size_t offset, size;
} texts[] = {
	TEXT(id),   TEXT(subsystem), TEXT(class), TEXT(revision), TEXT(dsn),
	TEXT(link), TEXT(vf),	     TEXT(model), TEXT(uuid),	  TEXT(vbios),
};

static int describe(struct lab_function *f, char *key, const char *value)
{
	for (int i = 0; i < ARRAY_SIZE(texts); i++)
		if (!strcmp(key, texts[i].key))
			return strscpy((char *)f + texts[i].offset, value, texts[i].size);
	if (!strcmp(key, "acs"))
		f->acs = *value == '1';
	else if (!strcmp(key, "flr"))
		f->flr = *value == '1';
	else if (!strcmp(key, "late"))
		f->late = *value == '1';
	else
		return -EINVAL;
	return 0;
}

static int parse(struct lab_function *f, char *line)
{
	char *bdf = strsep(&line, "\t"), *word;
	unsigned int bus, slot, fn;
	int r = 0;

	if (sscanf(bdf, "0000:%2x:%2x.%1x", &bus, &slot, &fn) != 3)
		return -EINVAL;
	strscpy(f->bdf, bdf, sizeof(f->bdf));
	f->bus = bus;
	f->devfn = PCI_DEVFN(slot, fn);
	f->lost_closes = 1;
	while (r >= 0 && (word = strsep(&line, "\t"))) {
		char *key = strsep(&word, "=");

		r = word ? describe(f, key, word) : -EINVAL;
	}
	return r < 0 ? r : 0;
}

/* One line: the BDF and then key=value, parted by tabs. */
static ssize_t define_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			    size_t count)
{
	struct lab_function *f = kvzalloc(sizeof(*f), GFP_KERNEL);
	char *line = kstrndup(buf, count, GFP_KERNEL);
	int r = -ENOMEM;

	if (!f || !line)
		goto fail;
	r = parse(f, strim(line));
	if (r)
		goto fail;
	r = kobject_init_and_add(&f->kobj, &function_type, lab_kobj, "%s", f->bdf);
	kfree(line);
	if (r) {
		kobject_put(&f->kobj);
		return r;
	}
	list_add_tail(&f->list, &functions);
	return count;
fail:
	kvfree(f);
	kfree(line);
	return r;
}

static ssize_t apply_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			   size_t count)
{
	int r;

	if (inner)
		return -EBUSY;
	pci_lock_rescan_remove();
	r = overlay_all();
	find_again();
	pci_unlock_rescan_remove();
	return r ?: count;
}

static struct kobj_attribute define_attr = __ATTR_WO(define), apply_attr = __ATTR_WO(apply);

static int __init labpci_init(void)
{
	int r;

	lab_kobj = kobject_create_and_add("gpupass-lab", kernel_kobj);
	if (!lab_kobj)
		return -ENOMEM;
	r = sysfs_create_file(lab_kobj, &define_attr.attr);
	if (!r)
		r = sysfs_create_file(lab_kobj, &apply_attr.attr);
	if (!r)
		r = bus_register_notifier(&pci_bus_type, &bus_events);
	if (r)
		kobject_put(lab_kobj);
	return r;
}
module_init(labpci_init); /* no exit: the overlay stays for as long as the lab runs */

MODULE_DESCRIPTION("gpupass lab: other identities for emulated PCI functions");
MODULE_LICENSE("GPL");
