// Package statfile reads the files of SPSS (.sav, .zsav), Stata (.dta) and SAS (.xpt, .sas7bdat),
// and writes those of SPSS and Stata. internal/readstat has the formats themselves.
//
// A column keeps its type: Stata's integers and floats, dates and times where its display format
// makes it one, texts. A value that is missing is a null, as is an empty text, which all three programs
// take for missing; the letter of a missing value of its own kind (.a to .z) stays with a column that is
// released unchanged. Codes that SPSS declares as missing are values, and part of the column's
// description (microdata.Description), with its labels.
//
// Of what a file says of itself, a release has the columns' names, types and formats; labels of values that
// occur in it; and what its configuration lists. Notes, file labels, times and users are never read.
//
// Map of the files: config (the formats and their parameters), column (types, dates), source, reader,
// sink, encode (values), target (what the release says of its columns).
package statfile
