// Package jsonl reads and writes JSON Lines: one object of RFC 8259 a line.
//
// A column is a member, or a member of a nested object by its dotted path
// (person.income); an array is one column. Types are inferred from
// every value of every file: int64, float64, bool, string; a column of arrays,
// or of values of several types, is text that holds JSON. Of an input that can
// be read only once (stdin, a pipe) the columns and types are inferred from the
// first MiB; a later value that does not fit makes its record malformed, and a
// member that occurs only later is not released. A missing member is null.
//
// From JSON Lines to JSON Lines, values that no mask changes keep their text. The records around
// them are written anew, all alike: without white space between members, the members in the order
// of the columns, and each masked one there, null if it has no value. So a record shows neither
// which of its values a mask has changed nor which were missing in the source. Objects without
// released members are left out.
//
// A line that is not an object of valid JSON in UTF-8, that has a member twice, or
// in which a value does not have its column's type is rejected; an incomplete line
// at the end of a file means that the file is truncated, which is an error. Blank
// lines are not records and are left out, as is a byte order mark.
//
// Columns of other formats with dotted names are written as nested objects. NaN
// and infinities, which JSON does not have, are written as null.
package jsonl
