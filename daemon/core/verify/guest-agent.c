/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/guest-agent.h"

#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#include "guest-agent.inc"

/* --- base64 --- */

static int sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes one quad to three bytes. The last `padding` bytes are missing. */
static int decode_quad(const char *quad, unsigned padding, unsigned char *ret)
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < 4; i++) {
		int value = i < 4 - padding ? sextet(quad[i]) : quad[i] == '=' ? 0 : -1;

		if (value < 0)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)value;
	}
	if (bits & ((UINT32_C(1) << 8 * padding) - 1))
		return -EBADMSG;
	ret[0] = (unsigned char)(bits >> 16);
	ret[1] = (unsigned char)(bits >> 8);
	ret[2] = (unsigned char)bits;
	return 0;
}

int base64_decode(const char *text, size_t size, size_t max, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *bytes = NULL;
	unsigned padding = 0;
	size_t n = 0;

	if (size % 4 != 0)
		return -EBADMSG;
	if (size / 4 * 3 > max + 2)
		return -EFBIG;
	bytes = xmalloc(size / 4 * 3 + 1);
	for (size_t i = 0; i < size; i += 4) {
		if (i + 4 == size)
			padding = text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
		if (decode_quad(text + i, padding, (unsigned char *)bytes + n) < 0)
			return -EBADMSG;
		n += 3;
	}
	n -= padding;
	if (n > max)
		return -EFBIG;
	bytes[n] = '\0';
	*ret = TAKE_PTR(bytes);
	*ret_size = n;
	return 0;
}

/* --- messages --- */

char *agent_exec_message(const char *const *argv)
{
	_cleanup_json_ json_t *arguments = json_array(), *message = NULL;

	for (size_t i = 1; argv[i]; i++)
		json_append(arguments, json_text(argv[i]));
	message = json_build("{s:s, s:{s:s, s:O, s:b}}", "execute", "guest-exec", "arguments",
			     "path", argv[0], "arg", arguments, "capture-output", 1);
	return json_dumps(message, JSON_COMPACT);
}

char *agent_status_message(int64_t pid)
{
	return strf("{\"execute\":\"guest-exec-status\",\"arguments\":{\"pid\":%lld}}",
		    (long long)pid);
}

/* The object "return" of the reply, borrowed from *ret_reply. */
static int read_reply(const char *reply, json_t **ret_reply, const json_t **ret)
{
	_cleanup_json_ json_t *parsed = NULL;
	size_t size = strnlen(reply, AGENT_REPLY_MAX + 1);
	json_t *value;

	if (size > AGENT_REPLY_MAX)
		return -EFBIG;
	if (json_parse(reply, size, &parsed, NULL) < 0)
		return -EBADMSG;
	value = json_object_get(parsed, "return");
	if (!json_is_object(value))
		return -EBADMSG;
	*ret = value;
	*ret_reply = TAKE_PTR(parsed);
	return 0;
}

int agent_parse_info(const char *reply, bool *ret_may_exec)
{
	_cleanup_json_ json_t *parsed = NULL;
	const json_t *value = NULL;
	const json_t *commands, *command;
	bool exec = false, status = false;
	size_t i;
	int r = read_reply(reply, &parsed, &value);

	if (r < 0)
		return r;
	commands = json_object_get(value, "supported_commands");
	if (!json_is_array(commands))
		return -EBADMSG;
	json_array_foreach (commands, i, command) {
		const char *name = json_string_value(json_object_get(command, "name"));
		bool enabled = json_is_true(json_object_get(command, "enabled"));

		exec |= enabled && str_equal(name, "guest-exec");
		status |= enabled && str_equal(name, "guest-exec-status");
	}
	*ret_may_exec = exec && status;
	return 0;
}

int agent_parse_pid(const char *reply, int64_t *ret_pid)
{
	_cleanup_json_ json_t *parsed = NULL;
	const json_t *value = NULL, *pid;
	int r = read_reply(reply, &parsed, &value);

	if (r < 0)
		return r;
	pid = json_object_get(value, "pid");
	if (!json_is_integer(pid))
		return -EBADMSG;
	*ret_pid = json_integer_value(pid);
	return 0;
}

/* A stream without output has no member. Of one that is too long, the begin is read. */
static int read_stream(const json_t *value, const char *key, char **ret, size_t *ret_size,
		       GuestRun *run)
{
	static const size_t most = AGENT_STREAM_MAX / 3 * 4;
	const json_t *data = json_object_get(value, key);
	size_t length = json_string_length(data);

	if (!data)
		return 0;
	if (!json_is_string(data))
		return -EBADMSG;
	if (length > most)
		run->outcome = GUEST_TOO_MUCH;
	return base64_decode(json_string_value(data), length < most ? length : most,
			     AGENT_STREAM_MAX, ret, ret_size);
}

static int read_end(const json_t *value, GuestRun *run)
{
	const json_t *code = json_object_get(value, "exitcode");
	const json_t *signal = json_object_get(value, "signal");

	if (!json_is_integer(code) && !json_is_integer(signal))
		return -EBADMSG;
	run->signalled = !code;
	run->exit_code = json_integer_value(code ? code : signal);
	if (json_is_true(json_object_get(value, "out-truncated")) ||
	    json_is_true(json_object_get(value, "err-truncated")))
		run->outcome = GUEST_TOO_MUCH;
	return 0;
}

int agent_parse_status(const char *reply, bool *ret_ended, GuestRun *ret)
{
	_cleanup_(guest_run_clear) GuestRun run = { .outcome = GUEST_RAN };
	_cleanup_json_ json_t *parsed = NULL;
	const json_t *value = NULL, *exited;
	int r = read_reply(reply, &parsed, &value);

	if (r < 0)
		return r;
	exited = json_object_get(value, "exited");
	if (!json_is_boolean(exited))
		return -EBADMSG;
	if (json_is_true(exited)) {
		r = read_end(value, &run);
		if (r == 0)
			r = read_stream(value, "out-data", &run.out, &run.out_size, &run);
		if (r == 0)
			r = read_stream(value, "err-data", &run.err, &run.err_size, &run);
		if (r < 0)
			return r;
		*ret = run;
		run = (GuestRun){ 0 };
	}
	*ret_ended = json_is_true(exited);
	return 0;
}
