// SPDX-License-Identifier: MIT OR GPL-2.0
// Stands in for a driver's second module: it needs the first one, and one of the kernel's own that is not loaded yet.
#include <linux/crc-itu-t.h>
#include <linux/module.h>

int nvidia_stand_in(void);

static int __init load(void)
{
	const u8 number = nvidia_stand_in();

	pr_info("nvidia-uvm: stand-in %s, %04x\n", STAND_IN_VERSION, crc_itu_t(0, &number, 1));
	return 0;
}

static void __exit unload(void)
{
}

module_init(load);
module_exit(unload);
MODULE_VERSION(STAND_IN_VERSION);
MODULE_DESCRIPTION("Gantry's stand-in for a GPU driver");
MODULE_LICENSE("Dual MIT/GPL");
