// Package xlsx reads and writes workbooks of Excel (.xlsx, Office Open XML): one sheet of records, whose first
// row names the columns.
//
// A cell keeps what it is: a number, a text, a truth value, or a number that its format shows as a date. Formulas
// count as the value that they had when the file was saved; errors (#N/A) and empty texts as missing values. The sheet
// is read and written in a stream; texts that cells share are in memory. The reader is our own, as the library that
// writes workbooks of tables gives cells as texts, without their types, unless the whole sheet is in memory.
//
// A release is a workbook of one sheet, and of a second one, Codebook, if the source has labels: those of codes that
// occur (internal/labels). Nothing else of the source's workbook is read or written: no author, comment, other sheet
// or hidden name.
//
// Map of the files: config, book (the parts of a workbook), sheet (cells of a sheet), source (types), reader, sink,
// write.
package xlsx
