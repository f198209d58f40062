// Package jsonl reads and writes JSON Lines: one object of RFC 8259 a line.
//
// A column is a member, a member of a nested object by its dotted path
// (person.income); what is in an array stays one column. Types are found from
// every value of every file: int64, float64, bool, string; a column of arrays,
// or of values of several types, is text that holds JSON. Of an input that can
// be read only once (stdin, a pipe) the columns and types are found from the
// first MiB; a later value that does not fit makes its record malformed, and a
// member that was not there then is left out of the release. A member that is
// missing is null.
//
// On the way from JSON Lines to JSON Lines the text of a record stays as it
// came, in the order in which it came: values of masked columns are replaced in
// their place, members that are not released are cut out with their comma,
// whatever their columns are.
//
// A line that is no object of valid JSON in UTF-8, that has a member twice, or
// of which a value is not of its column's type is rejected by itself; one that
// breaks off at the end of a file is a truncated file, which is an error.
// Blank lines are no records and are left out, as a byte order mark is.
//
// Columns of other formats with dotted names are written as nested objects. NaN
// and infinities, which JSON cannot say, are written as null.
package jsonl
