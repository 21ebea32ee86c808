/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A look at functions asks who uses the NICs among them, and knows nothing where that fails. */
#include "rig/test.h"

#include <errno.h>

#include "host/host/questions.h"
#include "rig/bdf.h"
#include "rig/fake-host.h"

#define NIC "0000:1a:00.0"

/* The second of the looks: the first one is at all functions. */
static const FakeFault nobody_says = { .op = FAKE_INSPECT, .nth = 2, .error = -EIO };

TEST(a_look_has_who_uses_the_nics_among_the_functions)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	const Bdf functions[] = { bdf_of(NIC) };
	FakeHost fake;

	fake_init(&fake, "h100-nvl-nics");
	fake.nic_address = "10.0.0.5/24";
	assert_int_equal(host_inspect(&fake.host, functions, 1, INSPECT_CONFIG_NOT, &in, NULL), 0);
	assert_int_equal(in->n_nics, 1);
	assert_int_equal(in->nics[0].users[0].kind, NIC_ADDRESS);
	fake_done(&fake);
}

TEST(one_on_vfio_is_not_asked_about)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	const Bdf functions[] = { bdf_of(NIC) };
	FakeHost fake;

	fake_init(&fake, "h100-nvl-nics");
	fake_set_driver(&fake, NIC, "vfio-pci", "vfio-pci");
	assert_int_equal(host_inspect(&fake.host, functions, 1, INSPECT_CONFIG_NOT, &in, NULL), 0);
	assert_int_equal(in->n_nics, 0);
	fake_done(&fake);
}

TEST(without_that_nothing_is_known_of_them)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	const Bdf functions[] = { bdf_of(NIC) };
	FakeHost fake;

	fake_init(&fake, "h100-nvl-nics");
	fake_fail(&fake, &nobody_says);
	assert_int_equal(host_inspect(&fake.host, functions, 1, INSPECT_CONFIG_NOT, &in, NULL), 0);
	assert_int_equal(in->n_nics, 1);
	assert_non_null(in->nics[0].why);
	fake_done(&fake);
}
