// Package csv reads and writes comma-separated values, RFC 4180: a delimiter of
// one byte, fields in quotes that may hold delimiters, line ends and doubled
// quotes, a header, null strings, UTF-8 with or without a byte order mark.
//
// Fields that no mask changes keep their very bytes on the way from CSV to CSV.
// The header's fields, a byte order mark and each record's line end are kept
// too; the last record gets a line end where it had none, and blank lines are
// left out. A field in quotes is never null, other than "" in a column that is not
// of text.
//
// Blank lines are no records, except in files of one column, where each is a
// record with an empty field.
//
// Types are found from every value of every file before anything is written,
// by the narrowest type that holds all of them unchanged: int64, float64, bool,
// date, timestamp, else string. So a column with 007, +5, or an integer beyond
// int64 is of type string, unless the configuration declares its type. NaN and
// Inf count as numbers beside numbers (masks reject such records). Of an input
// that can be read only once (stdin, a pipe) the types are found from the first
// MiB; a later value that does not fit makes its record malformed.
//
// A record that cannot be read (another number of fields than the header, a
// quote in the middle of a field, a value that is not of its column's type where
// that column is read) is rejected by itself. Text that ends within quotes, or
// whose last line has no line end and too few fields, is a truncated file, which
// is an error.
//
// Folders key=value of a path are no columns: what they say is not released.
package csv
