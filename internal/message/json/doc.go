// Package json reads and writes messages that are JSON objects (RFC 8259), one per
// message, on any number of lines.
//
// JSON has no schema; the listed columns replace it. A column is a member or, with a
// dotted path, a member of a nested object; everything below a listed member belongs to
// it. A column that masks compute with, or for which decimals are configured, is
// float64. A column that identifies the respondent is a dense union of string, number,
// boolean and decimal (integers that float64 cannot represent), so that its digest
// equals that of the same value in a typed file. Every other column is unchanged JSON
// text. Null and missing are null.
//
// From JSON to JSON, values that no mask changes keep their text. The message around them is
// written anew, always in the same way (members.Writer.Append), so that it does not show which values
// a mask has changed or set missing. From other formats, columns with dotted names become nested
// objects.
//
// A message is rejected if it is not an object of valid JSON in UTF-8, if it has a
// listed member twice, if it has an object or array in a column of single values, or if
// a decoded number column has a value that cannot be a float64.
package json
