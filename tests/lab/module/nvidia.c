// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stand-in for NVIDIA's kernel driver, as far as giving a GPU away goes:
 * it claims display functions of vendor 10de, makes /dev/nvidiaN, nvidiactl,
 * nvidia-modeset and nvidia-uvm, lists each GPU under /proc/driver/nvidia, and
 * its remove() waits without limit for the last user of the GPU, as the real one's does. What else
 * remove() does is that of the release which it is told to play.
 */
#include <linux/cdev.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "labpci.h"

#define MAJOR_NVIDIA 195
#define MINOR_UVM 253 /* the real one has a major of its own */
#define MINOR_MODESET 254
#define MINOR_CTL 255

static bool unbind_lock;
module_param(unbind_lock, bool, 0644); /* of GPUs that are bound from then on */
MODULE_PARM_DESC(unbind_lock, "offer unbindLock (the real driver does so on vGPU hosts only)");

static char release[16] = "0.0.0";
module_param_string(release, release, sizeof(release), 0644);
MODULE_PARM_DESC(release, "the version that it tells, and plays (0.0.0: as 595, and unknown)");

struct gpu {
	struct kref ref;
	struct list_head list;
	struct pci_dev *pdev;
	struct lab_function *lab;
	struct proc_dir_entry *dir;
	int minor;
	bool locked, removing, delisted;
	bool modeset; /* nvidia_drm has it */
};

static LIST_HEAD(gpus);
static DEFINE_MUTEX(gpus_lock); /* the list, and every GPU's users, locked and delisted */
static DEFINE_IDA(minors);
static struct class *nvidia_class;
static struct cdev nvidia_cdev;
static struct proc_dir_entry *proc_root, *proc_gpus;
static struct page *shared_page;

static void gpu_release(struct kref *ref)
{
	kfree(container_of(ref, struct gpu, ref));
}

static bool in_use(struct gpu *g)
{
	return READ_ONCE(g->lab->hold) > 0 || READ_ONCE(g->lab->opens) > 0 || READ_ONCE(g->modeset);
}

/* The release is MAJOR.MINOR or later. */
static bool plays(unsigned int major, unsigned int minor)
{
	unsigned int a = 0, b = 0;

	return sscanf(release, "%u.%u", &a, &b) == 2 && (a > major || (a == major && b >= minor));
}

/* Of NVIDIA's open modules: nv_pci_remove() takes the GPU off the list first since 595. */
static bool delists_first(void)
{
	return !plays(1, 0) || plays(595, 0);
}

/* What nvidia_drm, loaded with modeset=1, does to every GPU on the list; and when it goes. */
static void modeset_all(bool on)
{
	struct gpu *g;

	mutex_lock(&gpus_lock);
	list_for_each_entry(g, &gpus, list) WRITE_ONCE(g->modeset, on && !g->removing);
	mutex_unlock(&gpus_lock);
}

void lab_modeset_take(void)
{
	modeset_all(true);
}
EXPORT_SYMBOL_GPL(lab_modeset_take);

void lab_modeset_release(void)
{
	modeset_all(false);
}
EXPORT_SYMBOL_GPL(lab_modeset_release);

/* The device files. */

static struct gpu *find_gpu(int minor)
{
	struct gpu *g;

	list_for_each_entry(g, &gpus, list) if (g->minor == minor) return g;
	return NULL;
}

static int nvidia_open(struct inode *inode, struct file *file)
{
	struct gpu *g;
	int r = -ENODEV;

	if (iminor(inode) >= MINOR_UVM)
		return 0;
	mutex_lock(&gpus_lock);
	g = find_gpu(iminor(inode));
	if (g && g->locked)
		dev_err(&g->pdev->dev, "NVRM: Open failed as GPU is locked for unbind operation\n");
	if (g && !g->locked && !g->removing) {
		kref_get(&g->ref);
		g->lab->opens++;
		file->private_data = g;
		r = 0;
	}
	mutex_unlock(&gpus_lock);
	return r;
}

/* Once a GPU is delisted its users can no longer let go of it, as with the real driver. */
static int nvidia_release(struct inode *inode, struct file *file)
{
	struct gpu *g = file->private_data;

	if (!g)
		return 0;
	mutex_lock(&gpus_lock);
	if (g->lab->opens > 0 && !(g->delisted && g->lab->lost_closes))
		g->lab->opens--;
	mutex_unlock(&gpus_lock);
	kref_put(&g->ref, gpu_release);
	return 0;
}

static int nvidia_mmap(struct file *file, struct vm_area_struct *vma)
{
	return vm_insert_page(vma, vma->vm_start, shared_page);
}

static const struct file_operations nvidia_fops = {
	.owner = THIS_MODULE,
	.open = nvidia_open,
	.release = nvidia_release,
	.mmap = nvidia_mmap,
};

static void make_node(struct device *parent, int minor, const char *format)
{
	struct device *d = device_create(nvidia_class, parent, MKDEV(MAJOR_NVIDIA, minor), NULL,
					 format, minor);

	if (IS_ERR(d))
		pr_err("NVRM: cannot make the device file of minor %d\n", minor);
}

/* /proc/driver/nvidia */

static int information_show(struct seq_file *s, void *v)
{
	struct gpu *g = s->private;
	struct pci_dev *p = g->pdev;

	seq_printf(s, "Model: \t\t %s\n", g->lab->model);
	seq_printf(s, "IRQ:   \t\t %d\n", p->irq);
	seq_printf(s, "GPU UUID: \t %s\n", g->lab->uuid);
	seq_printf(s, "Video BIOS: \t %s\n", g->lab->vbios);
	seq_printf(s, "Bus Type: \t %s\n", pci_is_pcie(p) ? "PCIe" : "PCI");
	seq_printf(s, "DMA Size: \t %d bits\n", fls64(p->dma_mask));
	seq_printf(s, "DMA Mask: \t 0x%llx\n", p->dma_mask);
	seq_printf(s, "Bus Location: \t %s\n", pci_name(p));
	seq_printf(s, "Device Minor: \t %d\n", g->minor);
	seq_puts(s, "GPU Firmware: \t N/A\n");
	seq_puts(s, "GPU Excluded:\t No\n");
	return 0;
}

static int unbind_lock_show(struct seq_file *s, void *v)
{
	struct gpu *g = s->private;

	seq_printf(s, "%d\n", READ_ONCE(g->locked));
	return 0;
}

static int unbind_lock_open(struct inode *inode, struct file *file)
{
	return single_open(file, unbind_lock_show, pde_data(inode));
}

static ssize_t unbind_lock_write(struct file *file, const char __user *buf, size_t count,
				 loff_t *pos)
{
	struct gpu *g = pde_data(file_inode(file));
	unsigned int val;
	int r = kstrtouint_from_user(buf, count, 10, &val);

	if (r)
		return r;
	mutex_lock(&gpus_lock);
	if (val == 1 && !g->locked) {
		g->locked = !in_use(g);
		dev_info(&g->pdev->dev, g->locked ? "NVRM: UnbindLock acquired\n"
						  : "NVRM: Could not acquire UnbindLock\n");
	} else if (val == 0) {
		g->locked = false;
	}
	mutex_unlock(&gpus_lock);
	return count;
}

static const struct proc_ops unbind_lock_ops = {
	.proc_open = unbind_lock_open,
	.proc_read = seq_read,
	.proc_write = unbind_lock_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static int version_show(struct seq_file *s, void *v)
{
	seq_printf(s, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  gpupass lab stand-in\n",
		   release);
	return 0;
}

static void list_gpu(struct gpu *g)
{
	g->dir = proc_mkdir(pci_name(g->pdev), proc_gpus);
	if (!g->dir)
		return;
	proc_create_single_data("information", 0444, g->dir, information_show, g);
	if (unbind_lock)
		proc_create_data("unbindLock", 0644, g->dir, &unbind_lock_ops, g);
}

/* The driver. */

static struct gpu *gpu_new(struct pci_dev *p, struct lab_function *lab)
{
	struct gpu *g = kzalloc(sizeof(*g), GFP_KERNEL);

	if (!g)
		return NULL;
	kref_init(&g->ref);
	g->pdev = p;
	g->lab = lab;
	g->minor = ida_alloc_max(&minors, MINOR_UVM - 1, GFP_KERNEL);
	if (g->minor >= 0)
		return g;
	kfree(g);
	return NULL;
}

static int nvidia_probe(struct pci_dev *p, const struct pci_device_id *id)
{
	struct lab_function *lab = lab_function_of(p);
	struct gpu *g;
	int r;

	if (!lab || p->is_virtfn)
		return -ENODEV;
	if (lab_bind_fails(p, "nvidia"))
		return -EIO;
	r = pcim_enable_device(p);
	if (r)
		return r;
	g = gpu_new(p, lab);
	if (!g)
		return -ENOMEM;
	dma_set_mask(&p->dev, DMA_BIT_MASK(47));
	lab->opens = 0;
	pci_set_drvdata(p, g);
	mutex_lock(&gpus_lock);
	list_add_tail(&g->list, &gpus);
	mutex_unlock(&gpus_lock);
	list_gpu(g);
	make_node(&p->dev, g->minor, "nvidia%d");
	return 0;
}

static void wait_for_users(struct gpu *g)
{
	if (!in_use(g))
		return;
	dev_err(&g->pdev->dev, "NVRM: Attempting to remove device %s with non-zero usage count!\n",
		pci_name(g->pdev));
	while (in_use(g))
		lab_nap(500);
	dev_err(&g->pdev->dev, "NVRM: Continuing with GPU removal for device %s\n",
		pci_name(g->pdev));
}

static void delist(struct gpu *g)
{
	mutex_lock(&gpus_lock);
	g->delisted = true;
	list_del(&g->list);
	mutex_unlock(&gpus_lock);
	proc_remove(g->dir);
}

static void nvidia_remove(struct pci_dev *p)
{
	struct gpu *g = pci_get_drvdata(p);
	bool first = delists_first();

	pci_disable_sriov(p);
	mutex_lock(&gpus_lock);
	g->removing = true;
	/* nvidia_modeset_remove(): since 580.105.08, and before it there is none. */
	if (plays(580, 105))
		WRITE_ONCE(g->modeset, false);
	mutex_unlock(&gpus_lock);
	if (first)
		delist(g);
	wait_for_users(g);
	if (!first)
		delist(g);
	if (g->lab->persistence)
		dev_warn(&p->dev, "lab: removed with persistence mode on\n");
	WRITE_ONCE(g->lab->persistence, 0);
	if (g->lab->unbind_delay_ms)
		msleep(g->lab->unbind_delay_ms);
	device_destroy(nvidia_class, MKDEV(MAJOR_NVIDIA, g->minor));
	ida_free(&minors, g->minor);
	kref_put(&g->ref, gpu_release);
}

static const struct pci_device_id nvidia_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID), .class = PCI_CLASS_DISPLAY_VGA << 8,
	  .class_mask = ~0 },
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID), .class = PCI_CLASS_DISPLAY_3D << 8,
	  .class_mask = ~0 },
	{}
};
MODULE_DEVICE_TABLE(pci, nvidia_ids);

static struct pci_driver nvidia_driver = {
	.name = "nvidia",
	.id_table = nvidia_ids,
	.probe = nvidia_probe,
	.remove = nvidia_remove,
	.sriov_configure = pci_sriov_configure_simple,
};

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
static char *nvidia_devnode(struct device *d, umode_t *mode)
#else
static char *nvidia_devnode(const struct device *d, umode_t *mode)
#endif
{
	if (mode)
		*mode = 0666;
	return NULL;
}

static int make_class(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	nvidia_class = class_create(THIS_MODULE, "nvidia");
#else
	nvidia_class = class_create("nvidia");
#endif
	if (IS_ERR(nvidia_class))
		return PTR_ERR(nvidia_class);
	nvidia_class->devnode = nvidia_devnode;
	make_node(NULL, MINOR_CTL, "nvidiactl");
	make_node(NULL, MINOR_MODESET, "nvidia-modeset");
	make_node(NULL, MINOR_UVM, "nvidia-uvm");
	return 0;
}

static void undo_class(void)
{
	for (int m = MINOR_UVM; m <= MINOR_CTL; m++)
		device_destroy(nvidia_class, MKDEV(MAJOR_NVIDIA, m));
	class_destroy(nvidia_class);
}

static void make_proc(void)
{
	proc_root = proc_mkdir("driver/nvidia", NULL);
	proc_create_single("version", 0444, proc_root, version_show);
	proc_gpus = proc_mkdir("gpus", proc_root);
}

static int __init nvidia_init(void)
{
	int r = register_chrdev_region(MKDEV(MAJOR_NVIDIA, 0), 256, "nvidia");

	if (r)
		return r;
	r = -ENOMEM;
	shared_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!shared_page)
		goto no_page;
	cdev_init(&nvidia_cdev, &nvidia_fops);
	r = cdev_add(&nvidia_cdev, MKDEV(MAJOR_NVIDIA, 0), 256);
	if (r)
		goto no_cdev;
	r = make_class();
	if (r)
		goto no_class;
	make_proc();
	r = pci_register_driver(&nvidia_driver);
	if (!r)
		return 0;
	proc_remove(proc_root);
	undo_class();
no_class:
	cdev_del(&nvidia_cdev);
no_cdev:
	__free_page(shared_page);
no_page:
	unregister_chrdev_region(MKDEV(MAJOR_NVIDIA, 0), 256);
	return r;
}
module_init(nvidia_init);

static void __exit nvidia_exit(void)
{
	pci_unregister_driver(&nvidia_driver);
	proc_remove(proc_root);
	undo_class();
	cdev_del(&nvidia_cdev);
	__free_page(shared_page);
	unregister_chrdev_region(MKDEV(MAJOR_NVIDIA, 0), 256);
	ida_destroy(&minors);
}
module_exit(nvidia_exit);

MODULE_DESCRIPTION("gpupass lab: a stand-in for NVIDIA's driver");
MODULE_LICENSE("GPL");
