/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's checks of the way between a group's GPUs and its NIC. */
#include "rig/test.h"

#include "checks-rig.h"

#define ROOT "0000:40:01.0"
#define UP "0000:3f:00.0"
#define PORT_A "0000:3e:00.0"
#define PORT_B "0000:3e:01.0"
#define PORT_N "0000:3e:02.0"

static void place(Rig *r, const char *bdf, const char *port)
{
	PciFunction *f = model_function(&r->m, bdf);
	const char *const above[] = { ROOT, UP, port };

	free(f->upstream);
	f->upstream = xcalloc(3, sizeof(Bdf));
	f->n_upstream = 3;
	for (size_t i = 0; i < 3; i++)
		f->upstream[i] = bdf_of(above[i]);
}

static PcieConfig port_of(unsigned type, unsigned capability, unsigned control)
{
	PcieConfig config = good_link(type);

	config.acs = capability > 0;
	config.acs_capability = capability;
	config.acs_control = control;
	return config;
}

static void ports(Rig *r, GpuHealth *health, const char *bdf, const char *port)
{
	gpu_health_clear(health);
	*health = (GpuHealth){ .bdf = bdf_of(bdf),
			       .power_state = strdup("D0"),
			       .config = good_link(0),
			       .aer = true,
			       .ports = xcalloc(3, sizeof(HealthPort)),
			       .n_ports = 3 };
	health->ports[0] = (HealthPort){ bdf_of(ROOT), port_of(4, 0x5f, 0x1d) };
	health->ports[1] = (HealthPort){ bdf_of(UP), port_of(5, 0, 0) };
	health->ports[2] = (HealthPort){ bdf_of(port), port_of(6, 0x5f, 0x5d) };
	place(r, bdf, port);
}

/* pair0 has a ConnectX-7 below its switch, with all set as NVIDIA wants it. */
static GpuHealth *with_nic(Rig *r)
{
	PciFunction *nic = model_function(&r->m, NIC);

	r->with_nic = true;
	model_facts(&r->m, NIC)->vpd_read = true;
	model_facts(&r->m, NIC)->network = true;
	*GROW(r->m.inspection.nics, r->m.inspection.n_nics) = (NicUse){ .bdf = bdf_of(NIC) };
	if (r->m.host.declarations->n_items == 0)
		model_declare_both(&r->m);
	host_companion(&r->m.host, "pair0", MEMBER_NIC, NIC);
	nic->vendor = 0x15b3;
	nic->device = 0x1021;
	ports(r, &r->health[0], GPU, PORT_A);
	ports(r, &r->health[1], "0000:61:00.0", PORT_B);
	ports(r, &r->health[GPUS], NIC, PORT_N);
	r->health[GPUS].config.ats = r->health[GPUS].config.ats_on = true;
	return &r->health[GPUS];
}

static void no_ats(Rig *r, bool there)
{
	GpuHealth *nic = with_nic(r);

	nic->config.ats = there;
	nic->config.ats_on = false;
}

static void port_is(Rig *r, size_t health, unsigned capability, unsigned control)
{
	with_nic(r);
	r->health[health].ports[2].config = port_of(6, capability, control);
}

static void in_a_guest(Rig *r)
{
	host_domain(&r->m.host, "vm7", true, (const char *const[]){ NIC, NULL });
}

static void kernel(Rig *r, unsigned major, unsigned minor)
{
	r->machine.kernel_major = major;
	r->machine.kernel_minor = minor;
}

#define RR 0x1d
#define ALL 0x5f

TEST(what_keeps_a_nic_from_its_gpus_is_found_with_its_remedy)
{
	_cleanup_strv_ char **cases = NULL;

	TOLD("ATS off in the firmware", "nic-ats", "warn", NIC " offers no ATS",
	     "mlxconfig -d " NIC " set ATS_ENABLED=true, then reboot the host", no_ats(r, false));
	/* A plan does not know of the kernel's command line. */
	STANDS("nic-ats", "warn", "the kernel runs with pci=realloc,noats", no_ats(r, true),
	       add(&r->host->cmdline, "pci=realloc,noats"));
	TOLD("a port that redirects", "peer-path", "warn",
	     "pair0: what its NIC sends to its GPUs goes over the root complex, since ACS "
	     "Direct Translated is off at " PORT_N,
	     "boot with 'pci=config_acs=1xxxxxx@" PORT_N "'; what it costs: a device below",
	     port_is(r, GPUS, ALL, RR), kernel(r, 6, 11));
	TOLD("two of them, and an old kernel", "peer-path", "warn", PORT_N ", " PORT_A,
	     "'pci=config_acs=1xxxxxx@" PORT_N ";1xxxxxx@" PORT_A "'; before: setpci -s PORT "
	     "ECAP_ACS+6.w=40:40",
	     port_is(r, GPUS, ALL, RR), kernel(r, 6, 1),
	     r->health[0].ports[2].config.acs_control = RR);
	TOLD("a port without the way", "peer-path", "warn",
	     "there is no ACS Direct Translated at " PORT_A, "a switch that have it",
	     port_is(r, 0, 0x1f, RR));
	TOLD("a port that blocks", "peer-path", "warn",
	     "ends with an error, since ACS Translation Blocking is on", "pci=noats",
	     port_is(r, GPUS, ALL, 0x1f));
	all_had_cases(cases, checks_of_peers, "");
}

static void acs_off(PcieConfig *config)
{
	config->acs = true;
	config->acs_capability = RR;
	config->acs_control = 0;
}

TEST(acs_that_was_turned_off_is_found_at_nics_and_between_functions)
{
	_cleanup_strv_ char **cases = NULL;

	TOLD("above a NIC", "acs", "fail",
	     PORT_N ", above " NIC ", has ACS turned off (0x0 of 0x1d): devices behind it",
	     "setpci", with_nic(r), r->health[GPUS].ports[2].config.acs_control = 0);
	TOLD("of a board with several functions", "acs", "fail",
	     GPU " has ACS turned off (0x0 of 0x1d): its functions can reach", "setpci",
	     with_nic(r), acs_off(&r->health[0].config));
	/* There is nobody to be kept from. */
	STANDS("acs", "pass", "at 11 ports", acs_off(&with_nic(r)->config));
}

TEST(a_nic_with_a_direct_way_passes)
{
	STANDS("nic-ats", "pass", NIC ": on", with_nic(r));
	STANDS("peer-path", "pass", "pair0: directly at " PORT_N ", " PORT_A ", " PORT_B,
	       with_nic(r));
	STANDS("nic-ats", "pass", "no group has a NIC", (void)0);
	STANDS("peer-path", "pass", "no group has a NIC", (void)0);
	/* A port without ACS redirects nothing: the IOMMU groups say so. */
	STANDS("peer-path", "pass", "directly at " PORT_N, port_is(r, GPUS, 0, 0));
}

TEST(what_no_setting_changes_is_no_fault)
{
	/* Only ConnectX hides the capability until it is turned on. */
	STANDS("nic-ats", "pass", NIC " has none", no_ats(r, false),
	       model_function(&r->m, NIC)->vendor = 0x8086);
	STANDS("peer-path", "pass", "no group has a NIC that sends any", port_is(r, GPUS, ALL, RR),
	       r->health[GPUS].config.ats = false, model_function(&r->m, NIC)->vendor = 0x8086);
	STANDS("peer-path", "pass", NIC " to " GPU ": over the root complex in any case",
	       with_nic(r), model_function(&r->m, NIC)->n_upstream = 0);
}

TEST(without_its_registers_a_way_is_not_known)
{
	_cleanup_strv_ char **cases = NULL;

	LACKS("nic-ats", NIC " sleeps or could not be read",
	      with_nic(r)->config = (PcieConfig){ .read = true });
	LACKS("nic-ats", NIC " sleeps or could not be read", with_nic(r)->error = -EPROTO);
	LACKS("nic-ats", "is seen while a guest runs", no_ats(r, true));
	LACKS("peer-path", "not read: " PORT_N, with_nic(r)->error = -EPROTO);
	LACKS("peer-path", "not read: " PORT_A, with_nic(r), r->health[0].n_ports = 2);
	LACKS("peer-path", "not read: " PORT_B, with_nic(r),
	      r->health[1].ports[2].config = (PcieConfig){ 0 });
	all_had_cases(cases, checks_of_peers, "");
}

TEST(ats_that_stays_off_in_a_guest_is_a_fault)
{
	STANDS("nic-ats", "warn", NIC " has ATS, and it is off while vm7 runs", no_ats(r, true),
	       in_a_guest(r));
}

TEST(a_guest_that_is_slow_leads_to_the_way_to_its_nic)
{
	_cleanup_(rig_done) Rig rig;
	_cleanup_free_ char *suspects = NULL;

	rig_init(&rig);
	rig.with_domain = true;
	rig.symptom = SYMPTOM_SLOW;
	port_is(&rig, GPUS, ALL, RR);
	rig.health[GPUS].config.ats = rig.health[GPUS].config.ats_on = false;
	assign_pair0(&rig);
	rig_report(&rig);
	suspects = json_dumps(json_object_get(json_object_get(rig.report, "symptom"), "suspects"),
			      JSON_COMPACT);
	/* And that the domain has no NIC in it. */
	assert_non_null(strstr(suspects, "\"peer-path\",\"nic-ats\""));
}
