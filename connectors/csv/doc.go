// Package csv reads and writes comma-separated values, RFC 4180: a delimiter of
// one byte, fields in quotes that may hold delimiters, line ends and doubled
// quotes, a header, null strings, UTF-8 with or without a byte order mark.
//
// Fields of columns without a mask keep exactly the same bytes from CSV to CSV. Those of a masked
// column are all written anew, the missing ones with one text, so that none shows whether a mask has
// changed it or set it missing. The
// header's fields, a byte order mark and each record's line end are kept too; the
// last record gets a line end if it had none, and blank lines are left out. A field
// in quotes is never null, except "" in a column that is not of text.
//
// Blank lines are not records, except in files of one column, where each is a
// record with an empty field.
//
// Types are inferred from every value of every file before anything is written: a
// column gets the narrowest type that has all its values unchanged, of int64,
// float64, bool, date, timestamp, otherwise string. So a column with 007, +5, or an
// integer beyond int64 is of type string, unless the configuration declares its
// type. NaN and Inf count as numbers in a column that also has numbers (masks reject
// such records). If an input can be read only once (stdin, a pipe), the types are
// inferred from the first MiB; a later value that does not fit makes its record
// malformed.
//
// A record that cannot be read (it has another number of fields than the header, a
// quote in the middle of a field, or, in a column that is read, a value that is not
// of the column's type) is rejected. Text that ends within quotes, or whose last line
// has no line end and too few fields, is a truncated file, which is an error.
//
// Folders key=value of a path are not columns: their values are not released.
package csv
