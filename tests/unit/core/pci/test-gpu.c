/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/host-model.h"

TEST(a_gpu_is_one_slot_led_by_its_display_function)
{
	Bdf usb = bdf_of("0000:41:00.2"), absent = bdf_of("0000:41:00.3");
	_cleanup_(host_done) HostModel h = host_new();

	host_gpu(&h, "0000:61:00", 0x2204, "nvidia");
	host_gpu(&h, "0000:41:00", 0x1e30, "nvidia");
	host_function(&h, "0000:41:00.2", 0x0c0330, 0x1ad6, NULL);
	host_function(&h, "0000:41:01.0", 0x040300, 0x1aef, NULL); /* another slot, no GPU */
	host_seal(&h);
	assert_int_equal(h.set->n_gpus, 2);
	assert_string_equal(BDF_TEXT(&h.set->gpus[0].lead->bdf), "0000:41:00.0");
	assert_int_equal(h.set->gpus[0].n_functions, 3);
	assert_string_equal(BDF_TEXT(&h.set->gpus[0].functions[2]->bdf), "0000:41:00.2");
	assert_string_equal(h.set->gpus[0].board->name, "Quadro RTX 6000/8000");
	assert_int_equal(h.set->gpus[1].n_functions, 2);
	assert_ptr_equal(gpu_set_find(h.set, &usb), &h.set->gpus[0]);
	assert_null(gpu_set_find(h.set, &absent));
}

TEST(the_class_leads_not_the_number)
{
	_cleanup_(host_done) HostModel h = host_new();

	host_function(&h, "0000:41:00.0", 0x040300, 0x1aef, NULL);
	host_function(&h, "0000:41:00.1", 0x030200, 0x2204, NULL);
	host_seal(&h);
	assert_int_equal(h.set->n_gpus, 1);
	assert_string_equal(BDF_TEXT(&h.set->gpus[0].lead->bdf), "0000:41:00.1");
	assert_int_equal(h.set->gpus[0].n_functions, 2);
}

TEST(virtual_functions_are_neither_gpus_nor_parts_of_one)
{
	_cleanup_(host_done) HostModel h = host_new();

	host_function(&h, "0000:41:00.0", 0x030200, 0x2235, "nvidia");
	host_function(&h, "0000:41:00.4", 0x030200, 0x2235, "nvidia")->virtual_function = true;
	host_function(&h, "0000:41:01.0", 0x030200, 0x2235, "nvidia")->virtual_function = true;
	host_seal(&h);
	assert_int_equal(h.set->n_gpus, 1);
	assert_int_equal(h.set->gpus[0].n_functions, 1);
}
