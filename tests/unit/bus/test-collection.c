/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Views and sets of them: a server and a client at the two ends of one socket, no bus between. */
#include "rig/test.h"

#include <string.h>
#include <sys/socket.h>

#include "bus/collection.h"
#include "util/text.h"

#define PREFIX "/org/test/things"
#define INTERFACE "org.test.Thing"
#define PROPERTIES "org.freedesktop.DBus.Properties"
#define OBJECT_MANAGER "org.freedesktop.DBus.ObjectManager"

/* One member of every kind. */
#define THING(X)                                                                                   \
	X("Name", STRING, name, CONST, MAY)                                                        \
	X("Tags", STRINGS, tags, CHANGES, MAY)                                                     \
	X("Peer", PATH, peer, CHANGES, MAY)                                                        \
	X("Peers", PATHS, peers, CHANGES, MAY)                                                     \
	X("On", BOOL, on, CHANGES, MAY)                                                            \
	X("Id", UINT16, id, CHANGES, MAY)                                                          \
	X("Count", UINT32, count, CHANGES, MAY)                                                    \
	X("Node", INT32, node, CHANGES, MAY)                                                       \
	X("Size", UINT64, size, CHANGES, MAY)                                                      \
	X("Nodes", INT32S, nodes, CHANGES, MAY)                                                    \
	X("Sizes", UINT64S, sizes, CHANGES, MAY)                                                   \
	X("Functions", FUNCTIONS, functions, CHANGES, MAY)                                         \
	X("Steps", STEPS, steps, CHANGES, MAY)

typedef struct Thing {
	THING(PROPERTY_MEMBER)
} Thing;

#define THING_PROPERTY(...) VIEW_PROPERTY(Thing, __VA_ARGS__)

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	THING(THING_PROPERTY) SD_BUS_VTABLE_END,
};

/* ---- comparing ---- */

static void fill(Thing *thing, const char *name)
{
	*thing = (Thing){
		.name = strdup(name),
		.peer = strdup("/a"),
		.id = 1,
		.count = 2,
		.node = -1,
		.size = 4,
		.nodes = { calloc(2, sizeof(int32_t)), 2 },
		.sizes = { calloc(1, sizeof(uint64_t)), 1 },
		.functions = { calloc(1, sizeof(BusFunction)), 1 },
		.steps = { calloc(1, sizeof(BusStep)), 1 },
	};
	strv_append(&thing->tags, "t");
	strv_append(&thing->peers, "/p");
	thing->nodes.items[1] = 1;
	thing->functions.items[0] =
		(BusFunction){ strdup("0000:41:00.0"), strdup("nvidia"), 65, 0x030000 };
	thing->steps.items[0] = (BusStep){ strdup("bind"), strdup("done"), strdup("4"), 7 };
}

/* X(the property that differs then, what is done to a Thing) */
#define CHANGE_OF_ON 6
#define CHANGES(X)                                                                                 \
	X("Name", *t->name = 'X')                                                                  \
	X("Tags", *t->tags[0] = 'X')                                                               \
	X("Tags", strv_append(&t->tags, "u"))                                                      \
	X("Tags", t->tags = strv_free(t->tags))                                                    \
	X("Peer", t->peer[1] = 'b')                                                                \
	X("Peers", t->peers[0][1] = 'q')                                                           \
	X("On", t->on = 1)                                                                         \
	X("Id", t->id = 0x101)                                                                     \
	X("Count", t->count = 3)                                                                   \
	X("Node", t->node = 0)                                                                     \
	X("Size", t->size |= 1ULL << 40)                                                           \
	X("Nodes", t->nodes.items[1] = 2)                                                          \
	X("Nodes", t->nodes.n_items = 1)                                                           \
	X("Sizes", t->sizes.items[0] = 1ULL << 40)                                                 \
	X("Functions", *t->functions.items[0].driver = 'X')                                        \
	X("Functions", t->functions.items[0].class_code++)                                         \
	X("Steps", *t->steps.items[0].detail = '3')                                                \
	X("Steps", t->steps.items[0].duration_usec++)

static const char *const changes[] = {
#define X(property, done) property,
	CHANGES(X)
#undef X
};

static void change(Thing *t, size_t row)
{
	size_t i = 0;

#define X(property, done)                                                                          \
	if (i++ == row)                                                                            \
		done;
	CHANGES(X)
#undef X
}

TEST(empty_views_are_equal_and_can_be_cleared)
{
	Thing a = { 0 }, b = { 0 };

	assert_null(view_differences(vtable, &a, &b));
	view_clear(vtable, &a);
}

/* ---- showing ---- */

typedef struct Pair {
	sd_bus *server, *client;
	Collection things;
	char **signals; /* "PropertiesChanged /org/test/things/a On" */
} Pair;

/* Both ends act until neither has anything to do. */
static void pump(Pair *pair)
{
	int busy;

	do {
		busy = 0;
		for (int i = 0; i < 2; i++) {
			int r = sd_bus_process(i ? pair->server : pair->client, NULL);

			assert_true(r >= 0);
			busy |= r;
		}
	} while (busy);
}

static int append_changed(sd_bus_message *m, char **line)
{
	const char *name, *interface;
	int r;

	assert_true(sd_bus_message_read(m, "s", &interface) > 0);
	assert_string_equal(interface, INTERFACE);
	r = sd_bus_message_enter_container(m, 'a', "{sv}");
	while (r >= 0 && (r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
		char *longer;

		assert_true(sd_bus_message_read(m, "s", &name) > 0);
		longer = strf("%s %s", *line, name);
		free(*line);
		*line = longer;
		assert_true(sd_bus_message_skip(m, "v") >= 0);
		r = sd_bus_message_exit_container(m);
	}
	return r;
}

static int on_signal(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	Pair *pair = userdata;
	const char *path = sd_bus_message_get_path(m);
	_cleanup_free_ char *line = NULL;

	if (sd_bus_message_is_signal(m, OBJECT_MANAGER, NULL))
		assert_true(sd_bus_message_read(m, "o", &path) > 0);
	line = strf("%s %s", sd_bus_message_get_member(m), path);
	if (sd_bus_message_is_signal(m, PROPERTIES, "PropertiesChanged"))
		assert_true(append_changed(m, &line) >= 0);
	strv_append(&pair->signals, line);
	return 0;
}

static sd_bus *bus_new(int fd, bool server)
{
	sd_bus *bus = NULL;
	sd_id128_t id = { .bytes = { 1 } };

	assert_true(sd_bus_new(&bus) >= 0);
	assert_true(sd_bus_set_fd(bus, fd, fd) >= 0);
	if (server)
		assert_true(sd_bus_set_server(bus, true, id) >= 0);
	assert_true(sd_bus_set_anonymous(bus, true) >= 0);
	assert_true(sd_bus_start(bus) >= 0);
	return bus;
}

#define ON_A_BUS(test) TEST_ON(test, Pair, setup, teardown)
static int setup(void **state)
{
	Pair *pair = calloc(1, sizeof(*pair));
	int ends[2];

	assert_non_null(pair);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
			 0);
	pair->server = bus_new(ends[0], true);
	pair->client = bus_new(ends[1], false);
	pair->things = (Collection){
		.bus = pair->server,
		.prefix = PREFIX,
		.interface = INTERFACE,
		.vtable = vtable,
		.view_size = sizeof(Thing),
	};
	assert_true(sd_bus_add_object_manager(pair->server, NULL, "/org/test") >= 0);
	assert_true(collection_register(&pair->things) >= 0);
	assert_true(sd_bus_add_match(pair->client, NULL, "type='signal'", on_signal, pair) >= 0);
	pump(pair);
	*state = pair;
	return 0;
}

static int teardown(void **state)
{
	ShownObjects nothing = { 0 };
	Pair *pair = *state;

	collection_set_told(&pair->things, true, false);
	collection_replace(&pair->things, &nothing);
	sd_bus_flush_close_unref(pair->client);
	sd_bus_flush_close_unref(pair->server);
	strv_free(pair->signals);
	free(pair);
	return 0;
}

static Thing *append(Pair *pair, ShownObjects *set, const char *name)
{
	Thing *thing = collection_append(&pair->things, set, strf(PREFIX "/%s", name));

	assert_non_null(thing);
	fill(thing, name);
	return thing;
}

/* Shows things of these names, a letter each; the first of them is changed so, row by row of
 * changes[], -1: as it is filled. */
static void show(Pair *pair, const char *names, int row)
{
	ShownObjects set = { 0 };

	for (const char *name = names; *name; name++) {
		Thing *thing = append(pair, &set, (char[]){ *name, '\0' });

		if (row >= 0 && name == names)
			change(thing, (size_t)row);
	}
	collection_replace(&pair->things, &set);
	assert_int_equal(set.n, 0);
}

/* NULL: any. */
static void expect_signals(Pair *pair, const char *expected)
{
	_cleanup_free_ char *is = NULL;

	pump(pair);
	is = strv_join(pair->signals, "; ");
	assert_string_equal(is, expected ? expected : is);
	pair->signals = strv_free(pair->signals);
}

/* Whose signal has all properties, each of its own type, or sd-bus does not take it. */
ON_A_BUS(what_comes_and_goes_is_told)
{
	show(rig, "ab", -1);
	expect_signals(rig, "InterfacesAdded " PREFIX "/a; InterfacesAdded " PREFIX "/b");
	show(rig, "bc", -1);
	expect_signals(rig, "InterfacesRemoved " PREFIX "/a; InterfacesAdded " PREFIX "/c");
	assert_null(collection_find(&rig->things, PREFIX "/a"));
	assert_non_null(collection_find(&rig->things, PREFIX "/b"));
	show(rig, "", -1);
	expect_signals(rig, "InterfacesRemoved " PREFIX "/b; InterfacesRemoved " PREFIX "/c");
}

/* Before the bus name is taken nobody can know whom to listen to. */
ON_A_BUS(what_changes_untold_is_shown_and_told_later_or_never)
{
	collection_set_told(&rig->things, false, false);
	show(rig, "ab", -1);
	show(rig, "a", CHANGE_OF_ON);
	expect_signals(rig, "");
	assert_non_null(collection_find(&rig->things, PREFIX "/a"));
	assert_null(collection_find(&rig->things, PREFIX "/b"));
	collection_set_told(&rig->things, true, false);
	expect_signals(rig, "");
	collection_set_told(&rig->things, false, false);
	show(rig, "c", CHANGE_OF_ON);
	show(rig, "c", -1);
	expect_signals(rig, "");
	collection_set_told(&rig->things, true, true);
	expect_signals(rig, "InterfacesRemoved " PREFIX "/a; InterfacesAdded " PREFIX "/c");
	show(rig, "", -1);
	expect_signals(rig, "InterfacesRemoved " PREFIX "/c");
}

ON_A_BUS(a_property_is_told_when_its_value_differs_and_no_other)
{
	for (size_t i = 0; i < ELEMENTS(changes); i++) {
		_cleanup_free_ char *expected =
			strf("PropertiesChanged " PREFIX "/a %s", changes[i]);

		show(rig, "ab", -1);
		expect_signals(rig, NULL);
		show(rig, "ab", -1);
		expect_signals(rig, "");
		show(rig, "ab", (int)i);
		/* A constant property does not change in the life of its object. */
		expect_signals(rig, str_equal(changes[i], "Name") ? "" : expected);
	}
}

ON_A_BUS(all_changes_of_an_object_come_in_one_signal)
{
	ShownObjects set = { 0 };
	Thing *thing;

	show(rig, "a", -1);
	expect_signals(rig, NULL);
	thing = append(rig, &set, "a");
	thing->on = 1;
	*thing->name = 'X'; /* constant: not told */
	thing->count = 3;
	thing->steps.items[0].duration_usec++;
	collection_replace(&rig->things, &set);
	expect_signals(rig, "PropertiesChanged " PREFIX "/a On Count Steps");
}
