// SPDX-License-Identifier: MIT OR GPL-2.0
// Stands in for a driver's first module in a machine without a GPU: its name, its version, its device numbers and its
// file in /proc, so that a driver's container treats it as the real one. Whoever has /dev/nvidiactl open keeps it in
// the kernel.
#include <linux/cdev.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#define MAJOR_NUMBER 195
#define MINORS 256

static char *registry = "";
module_param_named(NVreg_RegistryDwords, registry, charp, 0444);
MODULE_PARM_DESC(NVreg_RegistryDwords, "a text that can be read back");

int nvidia_stand_in(void)
{
	return MAJOR_NUMBER;
}
EXPORT_SYMBOL(nvidia_stand_in);

static int show_version(struct seq_file *file, void *unused)
{
	seq_puts(file, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " STAND_IN_VERSION "  Gantry's stand-in\n");
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
};
static struct cdev device;
static struct proc_dir_entry *folder;

static int __init load(void)
{
	const dev_t first = MKDEV(MAJOR_NUMBER, 0);
	int failed = register_chrdev_region(first, MINORS, "nvidia-frontend");

	if (failed)
		return failed;
	cdev_init(&device, &operations);
	device.owner = THIS_MODULE;
	failed = cdev_add(&device, first, MINORS);
	if (failed) {
		unregister_chrdev_region(first, MINORS);
		return failed;
	}
	folder = proc_mkdir("driver/nvidia", NULL);
	proc_create_single("version", 0444, folder, show_version);
	return 0;
}

static void __exit unload(void)
{
	proc_remove(folder);
	cdev_del(&device);
	unregister_chrdev_region(MKDEV(MAJOR_NUMBER, 0), MINORS);
}

module_init(load);
module_exit(unload);
MODULE_VERSION(STAND_IN_VERSION);
MODULE_DESCRIPTION("Gantry's stand-in for a GPU driver");
MODULE_LICENSE("Dual MIT/GPL");
