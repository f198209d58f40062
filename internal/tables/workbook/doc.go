// Package workbook writes published tables as an Excel workbook (Office Open XML): one sheet for each table,
// with the last variable in columns and the others in rows, and a legend. It is a sink of the rows
// that every sink of tables gets, so it has nothing that is not published.
package workbook
