/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libxml2 for the hook, loaded when a domain's XML is to be read. It brings ICU and the C++ runtime
 * along, which takes several times as long as all else that the hook does; and most calls are about
 * domains without a device of the host, or about what has happened already.
 *
 * The functions here have the names of libxml2's, their parameters too, and hand on to it, so that
 * core/domain is the same as in the daemon. What lacks here does not link.
 */
#include "hook/late-xml.h"

#include <dlfcn.h>
#include <libxml/SAX2.h>

#include "core/domain/xml.h"
#include "gpupass/cleanup.h"

/* Its name changes with its ABI. */
#if LIBXML_VERSION < 21400
#define LIBRARY "libxml2.so.2"
#else
#define LIBRARY "libxml2.so.16"
#endif

/* What core/domain calls to read a domain. X(type, name, parameters, arguments) */
#define FUNCTIONS(X)                                                                               \
	X(LastError, xmlCtxtGetLastError, (void *ctx), (ctx))                                      \
	X(xmlDoc *, xmlCtxtReadMemory,                                                             \
	  (xmlParserCtxt * ctxt, const char *buffer, int size, const char *URL,                    \
	   const char *encoding, int options),                                                     \
	  (ctxt, buffer, size, URL, encoding, options))                                            \
	X(xmlNode *, xmlDocGetRootElement, (const xmlDoc *doc), (doc))                             \
	X(void, xmlFreeDoc, (xmlDoc * cur), (cur))                                                 \
	X(void, xmlFreeParserCtxt, (xmlParserCtxt * ctxt), (ctxt))                                 \
	X(long, xmlGetLineNo, (const xmlNode *node), (node))                                       \
	X(xmlAttr *, xmlHasNsProp,                                                                 \
	  (const xmlNode *node, const xmlChar *name, const xmlChar *nameSpace),                    \
	  (node, name, nameSpace))                                                                 \
	X(int, xmlMemSetup,                                                                        \
	  (xmlFreeFunc freeFunc, xmlMallocFunc mallocFunc, xmlReallocFunc reallocFunc,             \
	   xmlStrdupFunc strdupFunc),                                                              \
	  (freeFunc, mallocFunc, reallocFunc, strdupFunc))                                         \
	X(xmlParserCtxt *, xmlNewParserCtxt, (void), ())                                           \
	X(xmlChar *, xmlNodeGetContent, (const xmlNode *cur), (cur))                               \
	X(void, xmlSAX2CDataBlock, (void *ctx, const xmlChar *value, int len), (ctx, value, len))  \
	X(void, xmlSAX2Characters, (void *ctx, const xmlChar *ch, int len), (ctx, ch, len))        \
	X(void, xmlSAX2EndElementNs,                                                               \
	  (void *ctx, const xmlChar *localname, const xmlChar *prefix, const xmlChar *URI),        \
	  (ctx, localname, prefix, URI))                                                           \
	X(void, xmlSAX2StartElementNs,                                                             \
	  (void *ctx, const xmlChar *localname, const xmlChar *prefix, const xmlChar *URI,         \
	   int nb_namespaces, const xmlChar **namespaces, int nb_attributes, int nb_defaulted,     \
	   const xmlChar **attributes),                                                            \
	  (ctx, localname, prefix, URI, nb_namespaces, namespaces, nb_attributes, nb_defaulted,    \
	   attributes))                                                                            \
	X(void, xmlStopParser, (xmlParserCtxt * ctxt), (ctxt))

/* Other versions return another type. */
typedef __typeof__(xmlCtxtGetLastError(NULL)) LastError;

#define MEMBER(type, name, parameters, arguments) type(*name) parameters;
#define NAME(type, name, parameters, arguments) #name,
#define FORWARD(type, name, parameters, arguments)                                                 \
	type name parameters                                                                       \
	{                                                                                          \
		return library.functions.name arguments;                                           \
	}

typedef struct Functions {
	FUNCTIONS(MEMBER)
} Functions;

static const char *const names[] = { FUNCTIONS(NAME) };

/*
 * A function that hands on has no other place to look at. The addresses are in an array, too: POSIX
 * lets dlsym() return a function in a void *, and C has no cast for that.
 */
static union {
	Functions functions;
	void *symbols[ELEMENTS(names)];
} library;

_Static_assert(sizeof(Functions) == sizeof(library.symbols), "a function is not as a pointer");

FUNCTIONS(FORWARD)

/* A variable of libxml2's, by which it frees what it gives away: this is its value. */
xmlFreeFunc xmlFree = free;

int late_xml_load(void)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; handle && i < ELEMENTS(names); i++) {
		library.symbols[i] = dlsym(handle, names[i]);
		if (!library.symbols[i])
			return -ELIBBAD;
	}
	if (!handle)
		return -ELIBACC;
	xml_use_xalloc();
	return 0;
}
