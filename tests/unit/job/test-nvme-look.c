/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A look at functions asks who uses the NVMes among them, and what they say of themselves. */
#include "rig/test.h"

#include <errno.h>
#include <string.h>

#include "host/host/questions.h"
#include "rig/bdf.h"
#include "rig/fake-host.h"

#define NVME "0000:1b:00.0"

/* The second of the looks: the first one is at all functions. */
static const FakeFault nobody_says = { .op = FAKE_INSPECT, .nth = 2, .error = -EIO };

static Inspection *look(FakeHost *fake)
{
	const Bdf functions[] = { bdf_of(NVME) };
	Inspection *in = NULL;

	assert_int_equal(host_inspect(&fake->host, functions, 1, INSPECT_CONFIG_NOT, &in, NULL), 0);
	return in;
}

TEST(a_look_has_who_uses_the_nvmes_and_what_they_say)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	FakeHost fake;

	fake_init(&fake, "h100-nvl-nics");
	fake.nvme.mount = "/srv";
	in = look(&fake);
	assert_int_equal(in->n_nvmes, 1);
	assert_string_equal(in->nvmes[0].holds[0].who, "/srv");
	assert_int_equal(in->n_nvme_states, 1);
	assert_string_equal(in->nvme_states[0].model, "Model X");
	fake_done(&fake);
}

TEST(one_that_the_host_does_not_have_is_not_asked)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	FakeHost fake;

	fake_init(&fake, "h100-nvl-nics");
	fake_set_driver(&fake, NVME, "vfio-pci", "vfio-pci");
	in = look(&fake);
	assert_int_equal(in->n_nvmes + in->n_nvme_states, 0);
	fake_done(&fake);
}

/* A controller that hangs must not hide what is known of all else. */
TEST(of_one_that_does_not_answer_nothing_is_known)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	FakeHost fake;

	fake_init(&fake, "h100-nvl-nics");
	fake_fail(&fake, &nobody_says);
	in = look(&fake);
	assert_int_equal(in->n_nvmes, 1);
	assert_string_equal(BDF_TEXT(&in->nvmes[0].bdf), NVME);
	assert_non_null(strstr(in->nvmes[0].unread[0], "all of it (it fails"));
	assert_non_null(strstr(in->nvme_states[0].unread[0], "all of it (it fails"));
	fake_done(&fake);
}

/* They may be a tenant's, made for whoever reads them. */
/* promise M6 */
TEST(labels_are_read_only_where_it_is_known_that_no_tenant_left_them)
{
	static const struct {
		bool known;
		TenantState state;
		size_t n_holds;
	} rows[] = { { false, TENANT_NONE, 0 },
		     { true, TENANT_DIRTY, 0 },
		     { true, TENANT_NONE, 1 } };
	const Bdf nvme = bdf_of(NVME);

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(inspection_freep) Inspection *in = NULL;
		NvmeReceipt erase = { 0 };
		TenantMark mark = {
			.bdf = nvme, .state = rows[i].state, .erases = &erase, .n_erases = 1
		};
		TenantFile file = { .bdf = nvme, .mark = &mark };
		const Tenants tenants = { .items = &file, .n_items = rows[i].state != TENANT_NONE };
		FakeHost fake;

		fake_init(&fake, "h100-nvl-nics");
		fake.nvme.labelled = true;
		assert_int_equal(host_inspect_marked(&fake.host, rows[i].known ? &tenants : NULL,
						     &nvme, 1, INSPECT_CONFIG_NOT, &in, NULL),
				 0);
		assert_int_equal(in->nvmes[0].n_holds, rows[i].n_holds);
		fake_done(&fake);
	}
}
