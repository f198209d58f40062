// Package json reads and writes messages that are JSON objects (RFC 8259), one a
// message, over as many lines as it likes.
//
// JSON has no schema: the listed columns are it. A column is a member, or by a
// dotted path a member of a nested object; what lies below a listed member
// belongs to it. A column that masks compute with, or of which decimals are
// given, is float64. One that identifies the respondent is a dense union of
// string, number, boolean and decimal (integers that no float64 is), so that its
// digest is that of the same value in a file with types. Every other column is
// JSON text, as it came. Null and missing are null.
//
// From JSON to JSON a message stays as it came, white space included: values of
// masked columns are replaced in their place, members that are not released are
// cut out with their comma. From other formats columns with dotted names become
// nested objects.
//
// A message is rejected that is no object of valid JSON in UTF-8, that has a
// listed member twice, an object or array where the column has single values, or
// a value in a decoded number column that no float64 can be.
package json
