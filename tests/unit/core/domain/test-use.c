/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rig/host-model.h"

static void domains_are_found_by_uuid_and_by_what_they_use(_unused_ void **state)
{
	Bdf a = bdf_of("0000:41:00.0"), b = bdf_of("0000:61:00.0"), absent = bdf_of("0000:81:00.0");
	size_t position = 0;
	HostModel h;

	host_init(&h);
	host_domain(&h, "vm1", true, (const char *const[]){ "0000:41:00.0", NULL });
	host_domain(&h, "vm2", false, (const char *const[]){ NULL });
	host_domain(&h, "vm3", false,
		    (const char *const[]){ "0000:61:00.0", "0000:41:00.0", NULL });
	assert_string_equal(domain_uses_find(h.uses, h.uses->items[1].uuid)->name, "vm2");
	assert_null(domain_uses_find(h.uses, "none"));
	assert_null(domain_uses_find(h.uses, NULL));
	assert_string_equal(domain_uses_holding(h.uses, &a, &position)->name, "vm1");
	assert_string_equal(domain_uses_holding(h.uses, &a, &position)->name, "vm3");
	assert_null(domain_uses_holding(h.uses, &a, &position));
	position = 0;
	assert_string_equal(domain_uses_holding(h.uses, &b, &position)->name, "vm3");
	assert_null(domain_use_hostdev(&h.uses->items[2], &absent));
	assert_ptr_equal(domain_use_hostdev(&h.uses->items[2], &a), &h.uses->items[2].hostdevs[1]);
	host_done(&h);
}

static void a_copy_is_whole_and_stands_alone(_unused_ void **state)
{
	DomainUse copy = { 0 }, *use;
	HostModel h;

	host_init(&h);
	use = host_domain(&h, "vm1", true,
			  (const char *const[]){ "0000:41:00.0", "0000:41:00.1", NULL });
	assert_int_equal(strv_append(&use->gpupass_groups, "pair0"), 0);
	use->hostdevs[1].alias = strdup("ua-gpupass-pair0-1");
	use->hostdevs[1].managed = true;
	assert_int_equal(
		domain_use_add_mdev(use, "4b20d080-1b54-4048-85b3-a6a62d165c01", true, false), 0);
	assert_int_equal(domain_use_copy(use, &copy), 0);
	host_done(&h);
	assert_string_equal(copy.name, "vm1");
	assert_true(domain_use_names(&copy, "pair0"));
	assert_true(copy.active && copy.persistent);
	assert_int_equal(copy.n_hostdevs, 2);
	assert_null(copy.hostdevs[0].alias);
	assert_true(copy.hostdevs[0].live && copy.hostdevs[0].config);
	assert_string_equal(copy.hostdevs[1].alias, "ua-gpupass-pair0-1");
	assert_true(copy.hostdevs[1].managed);
	assert_int_equal(copy.n_mdevs, 1);
	assert_true(copy.mdevs[0].live && !copy.mdevs[0].config);
	domain_use_clear(&copy);
	assert_null(copy.name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(domains_are_found_by_uuid_and_by_what_they_use),
		cmocka_unit_test(a_copy_is_whole_and_stands_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
