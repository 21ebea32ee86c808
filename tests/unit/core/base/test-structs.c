/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What include/structs.py writes of a struct. */
#include "rig/test.h"

#include <stdatomic.h>
#include <string.h>

#include "core/base/json-struct.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define COLOURS(X)                                                                                 \
	X(COLOUR_NONE, "none")                                                                     \
	X(COLOUR_RED, "red")                                                                       \
	X(COLOUR_BLUE, "blue")

NAMED_ENUM(Colour, COLOURS, COLOUR_MAX_);

typedef struct Wheel {
	Bdf bdf;
	uint16_t vendor, device _json_(hex 4);
	char *maker _json_(if_any);
} Wheel;

typedef struct Engine {
	char *name;
	int error _json_(errno);
} Engine;

typedef struct Car {
	char *owner _json_(as "whose");
	Colour colour _json_(not_0);
	bool sold _json_(if_any);
	uint64_t since_usec;
	uint32_t seller _json_(id);
	int garage _json_(index, or_null);
	char **extras;
	Wheel *wheels _json_(max 8);
	size_t n_wheels;
	Engine engine;
	Bdf *ways _json_(max 4, if_any);
	size_t n_ways;
	Bdf home _json_(if_any);
	Wheel spare _json_(no);
	uint32_t *prices _json_(no);
	size_t n_prices;
	char plate[8] _json_(no);
	const char *brand _json_(no);
	struct Car *trailer _borrowed_ _json_(no);
} Car;

typedef struct Garage {
	char *name;
	atomic_uint shared;
} Garage;

LOCAL_REF(Garage, garage_ref)
LOCAL_FREE(Garage, garage_free)
LOCAL_JSON(Wheel, wheel_members)
LOCAL_JSON(Engine, engine_members)
LOCAL_JSON(Car, car_members)
LOCAL_JSON_OF(Car, sale_members, owner, colour(if_any), "rest"(ignored))
LOCAL_CLEAR(Car, car_clear)
LOCAL_COPY(Car, car_copy)
LOCAL_DUP(Car, car_dup)
LOCAL_EQUAL(Car, car_equal)
LOCAL_FREE(Car, car_free)
#include "test-structs.inc"

static Car make(void)
{
	Car car = { .colour = COLOUR_BLUE, .sold = true, .since_usec = 7, .seller = UINT32_MAX };

	car.owner = xstrdup("vm42");
	car.garage = -1;
	strv_append(&car.extras, "radio");
	car.wheels = xcalloc(2, sizeof(Wheel));
	car.n_wheels = 2;
	car.wheels[1] = (Wheel){ .bdf = { .bus = 0x41 }, .vendor = 0x10de, .maker = xstrdup("m") };
	car.engine = (Engine){ xstrdup("e"), -5 };
	car.ways = xcalloc(2, sizeof(Bdf));
	car.n_ways = 2;
	car.ways[1].bus = 0x41;
	car.spare.maker = xstrdup("s");
	car.prices = xcalloc(1, sizeof(uint32_t));
	car.n_prices = 1;
	car.brand = "b";
	return car;
}

/* One change a member that car_equal() looks at, and how many there are. */
static int change(Car *car, int which)
{
	int at = 0;
#define CHANGE(what)                                                                               \
	if (at++ == which)                                                                         \
	what
	CHANGE(car->owner[0] = 'x');
	CHANGE(car->colour = COLOUR_RED);
	CHANGE(car->sold = false);
	CHANGE(car->since_usec++);
	CHANGE(car->extras[0][0] = 'x');
	CHANGE(strv_append(&car->extras, "roof"));
	CHANGE(car->wheels[1].maker[0] = 'x');
	CHANGE(car->wheels[0].bdf.bus = 1);
	CHANGE(car->engine.error = -6);
	CHANGE(car->spare.maker[0] = 'x');
	CHANGE(car->prices[0]++);
	CHANGE(car->plate[7] = 'x');
	CHANGE(car->brand = NULL);
	CHANGE(car->trailer = car);
	CHANGE(car->ways[1].bus = 0x42);
	return at;
}

TEST(a_copy_owns_its_own_members_and_differs_by_each_of_them)
{
	for (int i = 0, n = 1; i < n; i++) {
		_cleanup_(car_freep) Car *copy = NULL;
		Car car = make();

		copy = car_dup(&car);
		assert_true(car_equal(&car, copy));
		n = change(copy, i);
		assert_false(car_equal(&car, copy));
		car_clear(&car);
		assert_null(car.owner);
		assert_int_equal(car.n_wheels, 0);
	}
}

TEST(a_struct_is_written_to_json_and_read_back)
{
	Car car = make(), back = { 0 }, sale = { 0 };
	_cleanup_json_ json_t *o = json_struct_write(car_members, &car), *again = NULL;
	_cleanup_json_ json_t *wanted = json_build(
		"{s:s, s:s, s:b, s:i, s:n, s:n, s:[s], s:[{s:s, s:s, s:s}, {s:s, s:s, s:s, s:s}],"
		" s:{s:s, s:i}, s:[s, s]}",
		"whose", "vm42", "colour", "blue", "sold", true, "since_usec", 7, "seller",
		"garage", "extras", "radio", "wheels", "bdf", "0000:00:00.0", "vendor", "0000",
		"device", "0000", "bdf", "0000:41:00.0", "vendor", "10de", "device", "0000",
		"maker", "m", "engine", "name", "e", "error", 5, "ways", "0000:00:00.0",
		"0000:41:00.0");

	assert_true(json_equal(o, wanted));
	assert_int_equal(json_struct_read(car_members, o, NULL, &back, NULL), 0);
	again = json_struct_write(car_members, &back);
	assert_true(json_equal(again, wanted));
	/* What the table has read of it, it frees. */
	json_struct_clear(car_members, &back);
	json_object_set_new(o, "colour", json_string("none"));
	assert_int_equal(json_struct_read(car_members, o, NULL, &back, NULL), -EBADMSG);
	assert_int_equal(json_struct_read(sale_members, wanted, NULL, &sale, NULL), -EBADMSG);
	car_clear(&back);
	car_clear(&sale);
	car_clear(&car);
}

TEST(a_table_of_some_members_knows_those_alone)
{
	_cleanup_json_ json_t *o = json_build("{s:s, s:i}", "whose", "vm42", "rest", 1);
	Car sale = { 0 };

	assert_int_equal(json_struct_read(sale_members, o, NULL, &sale, NULL), 0);
	assert_string_equal(sale.owner, "vm42");
	assert_int_equal(sale.colour, COLOUR_NONE);
	car_clear(&sale);
}

TEST(what_is_shared_lives_until_its_last_reference)
{
	Garage *garage = xcalloc(1, sizeof(Garage));

	garage->name = xstrdup("g");
	assert_null(garage_ref(NULL));
	assert_ptr_equal(garage_ref(garage), garage);
	assert_null(garage_free(garage));
	assert_string_equal(garage->name, "g");
	assert_null(garage_free(garage));
	assert_null(garage_free(NULL));
}
