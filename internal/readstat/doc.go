// Package readstat reads and writes the files of statistical packages: SPSS (.sav, .zsav), Stata
// (.dta) and SAS (.xpt, .sas7bdat; reading only).
//
// The formats are those of ReadStat, a library in C, which is compiled to WebAssembly
// (wasm/build.sh) and runs in wazero. A file is read within a memory of its own, of at most
// MemoryLimit, without access to files, network, clock or environment: whatever a malformed file does to
// the library, it ends as an error of that file.
//
// Rows cross the border in chunks (Chunk; the layout is in wasm/glue.c). Errors are sentences of the
// library, which contain no values.
package readstat
