/* glue.c joins ReadStat to its host. Values cross in chunks, column by column:
 *
 *   uint32 rows, uint32 0; then for each column, each part filled up to a multiple of 8 bytes:
 *   numbers: double[rows], then uint8 state[rows]
 *   texts:   uint32 offset[rows + 1], then the bytes of all texts, each with a NUL behind it
 *
 * A state is 0 for a value, 1 for a missing value, and otherwise the letter of a tagged one.
 * All memory is little-endian.
 */
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include "readstat.h"
#include "readstat_io_unistd.h"

#define HOST(name) __attribute__((import_module("host"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

HOST("read") int32_t host_read(void *to, int32_t n);
HOST("seek") int64_t host_seek(int64_t offset, int32_t whence);
HOST("write") int32_t host_write(const void *from, int32_t n);
HOST("metadata") int32_t host_metadata(int64_t rows, int32_t columns, int32_t version, const char *encoding);
HOST("variable") int32_t host_variable(int32_t index, int32_t type, int32_t width, int32_t display, int32_t measure,
	int32_t alignment, const char *name, const char *label, const char *format, const char *set);
HOST("missing") void host_missing(int32_t index, double lo, double hi, const char *text);
HOST("label") void host_label(const char *set, int32_t type, int32_t tag, double number, const char *text, const char *label);
HOST("weight") void host_weight(int32_t index);
HOST("chunk") int32_t host_chunk(const void *chunk, int32_t n, int32_t rows);

EXPORT("alloc") void *rs_alloc(size_t n) { return malloc(n); }
EXPORT("free") void rs_free(void *p) { free(p); }

/* The files of the host are the only ones: there is no file system. */
static int on_open(const char *path, void *ctx) { return 0; }
static int on_close(void *ctx) { return 0; }
static ssize_t on_read(void *to, size_t n, void *ctx) { return host_read(to, (int32_t)n); }
static readstat_off_t on_seek(readstat_off_t offset, readstat_io_flags_t whence, void *ctx) {
	return host_seek(offset, whence);
}
static readstat_error_t on_update(long size, readstat_progress_handler progress, void *user, void *ctx) { return READSTAT_OK; }

readstat_error_t unistd_io_init(readstat_parser_t *parser) {
	static readstat_io_t io = { on_open, on_close, on_seek, on_read, on_update, NULL, 0 };
	static readstat_io_t *copy;
	if ((copy = malloc(sizeof io)) == NULL)
		return READSTAT_ERROR_MALLOC;
	*copy = io;
	parser->io = copy;
	return READSTAT_OK;
}

typedef struct {
	int      text;
	double  *numbers;
	uint8_t *states;
	uint32_t *offsets;
	char    *bytes;
	size_t   used, room;
} column_t;

typedef struct {
	column_t *columns; /* the wanted ones, in order */
	int32_t   count, room, first_row, rows, batch, last;
	size_t    limit, used;
} reading_t;

static size_t up(size_t n) { return (n + 7) & ~(size_t)7; }

static int on_metadata(readstat_metadata_t *m, void *ctx) {
	return host_metadata(readstat_get_row_count(m), readstat_get_var_count(m), readstat_get_file_format_version(m),
		readstat_get_file_encoding(m)) ? READSTAT_HANDLER_ABORT : READSTAT_HANDLER_OK;
}

static int is_text(readstat_type_t t) { return t == READSTAT_TYPE_STRING || t == READSTAT_TYPE_STRING_REF; }

static double number_of(readstat_value_t v) { return readstat_double_value(v); }

static int on_variable(int index, readstat_variable_t *v, const char *set, void *ctx) {
	reading_t *r = ctx;
	readstat_type_t type = readstat_variable_get_type(v);
	int32_t want = host_variable(index, type, readstat_variable_get_storage_width(v), readstat_variable_get_display_width(v),
		readstat_variable_get_measure(v), readstat_variable_get_alignment(v), readstat_variable_get_name(v),
		readstat_variable_get_label(v), readstat_variable_get_format(v), set);
	int n = readstat_variable_get_missing_ranges_count(v);
	for (int i = 0; i < n; i++) {
		readstat_value_t lo = readstat_variable_get_missing_range_lo(v, i), hi = readstat_variable_get_missing_range_hi(v, i);
		if (is_text(type))
			host_missing(index, 0, 0, readstat_string_value(lo));
		else
			host_missing(index, number_of(lo), number_of(hi), NULL);
	}
	if (want < 0)
		return READSTAT_HANDLER_ABORT;
	if (want == 0)
		return READSTAT_HANDLER_SKIP_VARIABLE;
	if (r->count == r->room) {
		int32_t room = r->room * 2 + 16;
		column_t *more = realloc(r->columns, room * sizeof(column_t));
		if (more == NULL)
			return READSTAT_HANDLER_ABORT;
		r->columns = more;
		r->room = room;
	}
	column_t *c = &r->columns[r->count++];
	memset(c, 0, sizeof *c);
	c->text = is_text(type);
	if (c->text)
		c->offsets = calloc(r->batch + 1, sizeof(uint32_t));
	else {
		c->numbers = calloc(r->batch, sizeof(double));
		c->states = calloc(r->batch, 1);
	}
	return c->text ? (c->offsets ? 0 : 1) : (c->numbers && c->states ? 0 : 1);
}

static int on_weight(readstat_variable_t *v, void *ctx) {
	host_weight(readstat_variable_get_index(v));
	return READSTAT_HANDLER_OK;
}

static int on_label(const char *set, readstat_value_t v, const char *label, void *ctx) {
	readstat_type_t type = readstat_value_type(v);
	if (is_text(type))
		host_label(set, type, 0, 0, readstat_string_value(v), label);
	else
		host_label(set, type, readstat_value_is_tagged_missing(v) ? readstat_value_tag(v) : readstat_value_is_system_missing(v) ? 1 : 0,
			number_of(v), NULL, label);
	return READSTAT_HANDLER_OK;
}

/* flush hands the rows collected so far to the host. */
static int flush(reading_t *r) {
	if (r->rows == 0)
		return 0;
	size_t n = 8;
	for (int i = 0; i < r->count; i++) {
		column_t *c = &r->columns[i];
		n += c->text ? up((r->rows + 1) * sizeof(uint32_t)) + up(c->used) : r->rows * sizeof(double) + up(r->rows);
	}
	char *chunk = calloc(1, n), *p = chunk;
	if (chunk == NULL)
		return 1;
	memcpy(p, &r->rows, 4);
	p += 8;
	for (int i = 0; i < r->count; i++) {
		column_t *c = &r->columns[i];
		if (c->text) {
			memcpy(p, c->offsets, (r->rows + 1) * sizeof(uint32_t));
			p += up((r->rows + 1) * sizeof(uint32_t));
			memcpy(p, c->bytes, c->used);
			p += up(c->used);
			c->used = 0;
		} else {
			memcpy(p, c->numbers, r->rows * sizeof(double));
			p += r->rows * sizeof(double);
			memcpy(p, c->states, r->rows);
			p += up(r->rows);
		}
	}
	int stop = host_chunk(chunk, (int32_t)n, r->rows);
	free(chunk);
	r->first_row += r->rows;
	r->rows = 0;
	r->used = 0;
	return stop;
}

static int on_value(int row, readstat_variable_t *v, readstat_value_t x, void *ctx) {
	reading_t *r = ctx;
	int at = readstat_variable_get_index_after_skipping(v);
	if (at < 0 || at >= r->count)
		return READSTAT_HANDLER_ABORT;
	if (at == 0) {
		if ((r->rows == r->batch || r->used >= r->limit) && flush(r))
			return READSTAT_HANDLER_ABORT;
		r->rows++;
	}
	column_t *c = &r->columns[at];
	int k = r->rows - 1;
	if (k < 0)
		return READSTAT_HANDLER_ABORT;
	if (!c->text) {
		int missing = readstat_value_is_system_missing(x), tagged = readstat_value_is_tagged_missing(x);
		c->states[k] = tagged ? readstat_value_tag(x) : missing ? 1 : 0;
		c->numbers[k] = missing || tagged ? 0 : number_of(x);
		return READSTAT_HANDLER_OK;
	}
	const char *s = readstat_string_value(x);
	size_t n = s ? strlen(s) + 1 : 1;
	if (c->used + n > c->room) {
		size_t room = c->room * 2 + n + 256;
		char *more = realloc(c->bytes, room);
		if (more == NULL)
			return READSTAT_HANDLER_ABORT;
		c->bytes = more;
		c->room = room;
	}
	memcpy(c->bytes + c->used, s ? s : "", n);
	c->offsets[k] = (uint32_t)c->used;
	c->used += n;
	c->offsets[k + 1] = (uint32_t)c->used;
	r->used += n;
	return READSTAT_HANDLER_OK;
}

enum { SAV, DTA, XPT, SAS7BDAT };

/* rs_parse reads a file; without values only what it says of its columns. */
EXPORT("parse") int32_t rs_parse(int32_t kind, int32_t values, int32_t batch, int32_t limit, const char *encoding) {
	reading_t r = { .batch = batch, .limit = limit };
	setlocale(LC_CTYPE, "C.UTF-8"); /* without it, iconv loses each character beyond ASCII and the one before it */
	readstat_parser_t *p = readstat_parser_init();
	if (p == NULL)
		return READSTAT_ERROR_MALLOC;
	readstat_set_metadata_handler(p, on_metadata);
	readstat_set_variable_handler(p, on_variable);
	readstat_set_fweight_handler(p, on_weight);
	readstat_set_value_label_handler(p, on_label);
	if (values)
		readstat_set_value_handler(p, on_value);
	if (encoding && *encoding)
		readstat_set_file_character_encoding(p, encoding);
	readstat_error_t e;
	switch (kind) {
	case SAV: e = readstat_parse_sav(p, "", &r); break;
	case DTA: e = readstat_parse_dta(p, "", &r); break;
	case XPT: e = readstat_parse_xport(p, "", &r); break;
	default: e = readstat_parse_sas7bdat(p, "", &r);
	}
	readstat_parser_free(p);
	if (e == READSTAT_OK && flush(&r))
		e = READSTAT_ERROR_USER_ABORT;
	for (int i = 0; i < r.count; i++) {
		free(r.columns[i].numbers); free(r.columns[i].states); free(r.columns[i].offsets); free(r.columns[i].bytes);
	}
	free(r.columns);
	return e;
}

EXPORT("message") const char *rs_message(int32_t code) { return readstat_error_message(code); }

/* Writing: one file in each instance. */
static readstat_writer_t *writer;
static readstat_string_ref_t **refs;
static int32_t refs_count, refs_room, refs_next;

static ssize_t on_data(const void *data, size_t n, void *ctx) { return host_write(data, (int32_t)n); }

EXPORT("begin") int32_t rw_begin(void) {
	setlocale(LC_CTYPE, "C.UTF-8");
	if ((writer = readstat_writer_init()) == NULL)
		return READSTAT_ERROR_MALLOC;
	readstat_writer_set_file_timestamp(writer, 0);
	return readstat_set_data_writer(writer, on_data);
}
EXPORT("set") readstat_label_set_t *rw_set(int32_t type, const char *name) { return readstat_add_label_set(writer, type, name); }
EXPORT("set_number") void rw_set_number(readstat_label_set_t *s, double x, const char *label) { readstat_label_double_value(s, x, label); }
EXPORT("set_integer") void rw_set_integer(readstat_label_set_t *s, int32_t x, const char *label) { readstat_label_int32_value(s, x, label); }
EXPORT("set_text") void rw_set_text(readstat_label_set_t *s, const char *x, const char *label) { readstat_label_string_value(s, x, label); }
EXPORT("set_tag") void rw_set_tag(readstat_label_set_t *s, int32_t tag, const char *label) { readstat_label_tagged_value(s, (char)tag, label); }
EXPORT("column") readstat_variable_t *rw_column(const char *name, int32_t type, int32_t width, int32_t display, int32_t measure,
	int32_t alignment, const char *label, const char *format, readstat_label_set_t *set) {
	readstat_variable_t *v = readstat_add_variable(writer, name, type, width);
	if (v == NULL)
		return NULL;
	if (*label) readstat_variable_set_label(v, label);
	if (*format) readstat_variable_set_format(v, format);
	if (set) readstat_variable_set_label_set(v, set);
	if (display > 0) readstat_variable_set_display_width(v, display);
	readstat_variable_set_measure(v, measure);
	readstat_variable_set_alignment(v, alignment);
	return v;
}
EXPORT("column_missing") int32_t rw_missing(readstat_variable_t *v, double lo, double hi) {
	return lo == hi ? readstat_variable_add_missing_double_value(v, lo) : readstat_variable_add_missing_double_range(v, lo, hi);
}
EXPORT("column_missing_text") int32_t rw_missing_text(readstat_variable_t *v, const char *s) { return readstat_variable_add_missing_string_value(v, s); }
EXPORT("column_weight") int32_t rw_weight(readstat_variable_t *v) { return readstat_writer_set_fweight_variable(writer, v); }
EXPORT("ref") int32_t rw_ref(const char *s) {
	if (refs_count == refs_room) {
		int32_t room = refs_room * 2 + 64;
		void *more = realloc(refs, room * sizeof *refs);
		if (more == NULL)
			return READSTAT_ERROR_MALLOC;
		refs = more;
		refs_room = room;
	}
	return (refs[refs_count++] = readstat_add_string_ref(writer, s)) ? READSTAT_OK : READSTAT_ERROR_MALLOC;
}
EXPORT("head") int32_t rw_head(int32_t kind, int32_t version, int32_t compressed, int32_t rows) {
	readstat_error_t e = READSTAT_OK;
	if (kind == SAV && compressed)
		e = readstat_writer_set_compression(writer, compressed == 2 ? READSTAT_COMPRESS_BINARY : READSTAT_COMPRESS_ROWS);
	if (e == READSTAT_OK && version)
		e = readstat_writer_set_file_format_version(writer, version);
	if (e == READSTAT_OK)
		e = kind == SAV ? readstat_begin_writing_sav(writer, NULL, rows) : readstat_begin_writing_dta(writer, NULL, rows);
	return e == READSTAT_OK ? readstat_validate_metadata(writer) : e;
}
EXPORT("valid") int32_t rw_valid(readstat_variable_t *v) { return readstat_validate_variable(writer, v); }

static readstat_error_t put(const readstat_variable_t *v, double x, uint8_t state) {
	if (state == 1)
		return readstat_insert_missing_value(writer, v);
	if (state)
		return readstat_insert_tagged_missing_value(writer, v, (char)state);
	switch (readstat_variable_get_type(v)) {
	case READSTAT_TYPE_INT8: return readstat_insert_int8_value(writer, v, (int8_t)x);
	case READSTAT_TYPE_INT16: return readstat_insert_int16_value(writer, v, (int16_t)x);
	case READSTAT_TYPE_INT32: return readstat_insert_int32_value(writer, v, (int32_t)x);
	case READSTAT_TYPE_FLOAT: return readstat_insert_float_value(writer, v, (float)x);
	default: return readstat_insert_double_value(writer, v, x);
	}
}

/* rw_rows appends the rows of a chunk; *failed_row and *failed_column say where it could not. */
EXPORT("rows") int32_t rw_rows(const char *chunk, int32_t *failed) {
	int32_t rows;
	memcpy(&rows, chunk, 4);
	int n = (int)writer->variables_count;
	const char **at = malloc((n + 1) * sizeof *at), *p = chunk + 8;
	if (at == NULL)
		return READSTAT_ERROR_MALLOC;
	for (int i = 0; i < n; i++) {
		at[i] = p;
		if (is_text(writer->variables[i]->type)) {
			const uint32_t *offsets = (const uint32_t *)p;
			p += up((rows + 1) * sizeof(uint32_t)) + up(offsets[rows]);
		} else
			p += rows * sizeof(double) + up(rows);
	}
	readstat_error_t e = READSTAT_OK;
	for (int32_t k = 0; k < rows && e == READSTAT_OK; k++) {
		if ((e = readstat_begin_row(writer)) != READSTAT_OK)
			break;
		for (int i = 0; i < n && e == READSTAT_OK; i++) {
			const readstat_variable_t *v = writer->variables[i];
			failed[0] = k;
			failed[1] = i;
			if (!is_text(v->type)) {
				e = put(v, ((const double *)at[i])[k], ((const uint8_t *)at[i] + rows * sizeof(double))[k]);
				continue;
			}
			const uint32_t *offsets = (const uint32_t *)at[i];
			const char *s = at[i] + up((rows + 1) * sizeof(uint32_t)) + offsets[k];
			if (v->type == READSTAT_TYPE_STRING)
				e = readstat_insert_string_value(writer, v, s);
			else if (*s == 0)
				e = readstat_insert_missing_value(writer, v);
			else
				e = refs_next < refs_count ? readstat_insert_string_ref(writer, v, refs[refs_next++]) : READSTAT_ERROR_STRING_REF_IS_REQUIRED;
		}
		if (e == READSTAT_OK && (e = readstat_end_row(writer)) != READSTAT_OK)
			failed[1] = -1;
	}
	free(at);
	return e;
}
EXPORT("end") int32_t rw_end(void) { return readstat_end_writing(writer); }
