/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/domain/ref.h"
#include "util/text.h"
#include "util/xalloc.h"

DEFINE_STRING_TABLE(verdict, Verdict, GPUPASS_VERDICTS)
DEFINE_STRING_TABLE(verify_cause, VerifyCause, VERIFY_CAUSES)
DEFINE_STRING_TABLE(verify_match, VerifyMatch, VERIFY_MATCHES)

VerifyReport *verify_report_new(const VerifyInput *input)
{
	VerifyReport *report = xcalloc(1, sizeof(VerifyReport));
	size_t n = input->n_group;

	report->verdict = VERDICT_UNKNOWN;
	report->links_expected = input->links_expected;
	report->gpus = xcalloc(n + 1, sizeof(VerifiedGpu));
	report->links = xcalloc(n * n + 1, sizeof(VerifiedLink));
	for (size_t i = 0; i < n; i++)
		report->gpus[report->n_gpus++].bdf = input->gpus[i].bdf;
	for (size_t a = 0; a < n; a++)
		for (size_t b = a + 1; b < n; b++)
			report->links[report->n_links++] = (VerifiedLink){
				.a = a,
				.b = b,
				.verdict = VERDICT_UNKNOWN,
			};
	return report;
}

static void verify_report_clear(VerifyReport *report)
{
	free(report->reason);
	free(report->remedy);
	free(report->note);
	free(report->gpus);
	free(report->links);
}

DEFINE_FREE(VerifyReport, verify_report_free, verify_report_clear)

char *verify_remedy(const char *form, const VerifyInput *in)
{
	const char *const names[] = { domain_ref_word(in->domain, in->domain_uuid), in->group };
	const char *at;
	_cleanup_free_ char *text = xstrdup("");

	while ((at = strchr(form, '%'))) {
		char *more = strf("%s%.*s%s", text, (int)(at - form), form, names[at[1] - '1']);

		free(text);
		text = more;
		form = at + strlen("%1$s");
	}
	return strf("%s%s", text, form);
}
